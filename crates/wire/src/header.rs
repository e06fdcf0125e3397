//! What can be told about an envelope that cannot be decoded: enough to answer it (CALL-7).

use std::fmt;

use lineup_model::{CallId, ConversationId, MessageId, limits};
use serde::{
    Deserializer as _,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use crate::Kind;

/// The readable part of an envelope.
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// The `type`, whatever it says.
    pub type_name: Option<String>,
    pub id: Option<MessageId>,
    pub conversation: Option<ConversationId>,
    pub call_id: Option<CallId>,
}

impl Header {
    /// The type, if this version knows it.
    pub fn kind(&self) -> Option<Kind> {
        self.type_name.as_deref().and_then(Kind::parse)
    }

    /// Reads the header of a decoded envelope.
    pub fn of(envelope: &Map<String, Value>) -> Self {
        let text = |key: &str| envelope.get(key).and_then(Value::as_str);
        Self {
            type_name: text("type").map(str::to_owned),
            id: text("id").and_then(|text| MessageId::new(text).ok()),
            conversation: text("conversation_id").and_then(|text| ConversationId::new(text).ok()),
            call_id: text("call_id").and_then(|text| CallId::new(text).ok()),
        }
    }

    /// Reads what stands before the first byte that cannot be read. A field that comes twice
    /// counts as unreadable: nobody can say which one was meant.
    pub fn salvage(bytes: &[u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(limits::ENVELOPE_BYTES)];
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("valid up to there"),
        };
        let mut found = Found::default();
        // The result says nothing: `found` keeps what was read before an error.
        let _ = serde_json::Deserializer::from_str(text).deserialize_map(&mut found);
        let [type_name, id, conversation, call_id] = found.0.map(|field| match field {
            Field::Once(text) => Some(text),
            Field::Absent | Field::Unreadable => None,
        });
        Self {
            type_name,
            id: id.and_then(|text| MessageId::new(text).ok()),
            conversation: conversation.and_then(|text| ConversationId::new(text).ok()),
            call_id: call_id.and_then(|text| CallId::new(text).ok()),
        }
    }
}

const KEYS: [&str; 4] = ["type", "id", "conversation_id", "call_id"];

#[derive(Debug, Default)]
enum Field {
    #[default]
    Absent,
    Once(String),
    Unreadable,
}

#[derive(Debug, Default)]
struct Found([Field; 4]);

impl<'de> Visitor<'de> for &mut Found {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an envelope")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let Some(at) = KEYS.iter().position(|known| *known == key) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let raw = map.next_value::<&RawValue>()?;
            self.0[at] = match (&self.0[at], serde_json::from_str(raw.get()).map_err(A::Error::custom)) {
                (Field::Absent, Ok(text)) => Field::Once(text),
                _ => Field::Unreadable,
            };
        }
        Ok(())
    }
}
