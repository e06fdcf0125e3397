//! What a page asks.

use std::collections::BTreeSet;

use lineup_core::Seq;
use lineup_model::{
    AppSessionId, ConversationId,
    json::{Fields, JsonError},
};

use super::reader::{MOST, OPEN, USUAL};
use crate::frame::{self, Refused};

const TYPES: &[&str] = &["follow", "history", "session"];

/// One request.
#[derive(Debug, PartialEq)]
pub(crate) enum Up {
    Follow { conversation: ConversationId, after: Option<Seq>, open: BTreeSet<Seq> },
    History { conversation: ConversationId, before: Option<Seq>, limit: u32 },
    Session(AppSessionId),
}

/// Reads a frame: the request's name, and what it asks.
pub(crate) fn decode(bytes: &[u8]) -> Result<(String, Up), Refused> {
    let request = frame::decode(bytes, TYPES)?;
    match up(&request.kind, request.fields) {
        Ok(up) => Ok((request.id, up)),
        Err(error) => Err(Refused { id: Some(request.id), fault: frame::fault(&error) }),
    }
}

fn up(kind: &str, mut fields: Fields) -> Result<Up, JsonError> {
    let up = match kind {
        "follow" => {
            let (conversation, after) = (fields.id("conversation")?, fields.optional("after")?);
            let open: Vec<u64> = fields.optional("open")?.unwrap_or_default();
            if open.len() > OPEN {
                return Err(fields.wrong("open", "at most 256 places"));
            }
            Up::Follow { conversation, after: after.map(Seq), open: open.into_iter().map(Seq).collect() }
        }
        "history" => {
            let (conversation, before) = (fields.id("conversation")?, fields.optional("before")?);
            let limit = fields.optional("limit")?.unwrap_or(USUAL);
            if !(1..=MOST).contains(&limit) {
                return Err(fields.wrong("limit", "1 to 200"));
            }
            Up::History { conversation, before: before.map(Seq), limit }
        }
        _session => Up::Session(fields.id("session")?),
    };
    fields.finish()?;
    Ok(up)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(frame: &Value) -> Result<Up, String> {
        decode(frame.to_string().as_bytes())
            .map(|(_, up)| up)
            .map_err(|refused| refused.fault.reason.unwrap_or_default())
    }

    #[test]
    fn every_frame_of_a_page_is_read() {
        let conversation: ConversationId = "main".parse().unwrap();
        for (frame, up) in [
            (
                json!({ "type": "follow", "id": "1", "conversation": "main" }),
                Up::Follow { conversation: conversation.clone(), after: None, open: BTreeSet::new() },
            ),
            (
                json!({ "type": "follow", "id": "1", "conversation": "main", "after": 0, "open": [3, 2, 3] }),
                Up::Follow { conversation: conversation.clone(), after: Some(Seq(0)), open: [Seq(2), Seq(3)].into() },
            ),
            (
                json!({ "type": "history", "id": "1", "conversation": "main" }),
                Up::History { conversation: conversation.clone(), before: None, limit: 50 },
            ),
            (
                json!({ "type": "history", "id": "1", "conversation": "main", "before": 9, "limit": 200 }),
                Up::History { conversation, before: Some(Seq(9)), limit: 200 },
            ),
            (json!({ "type": "session", "id": "1", "session": "s1" }), Up::Session("s1".parse().unwrap())),
        ] {
            assert_eq!(read(&frame), Ok(up), "{frame}");
        }
    }

    #[test]
    fn ent_1_a_page_only_reads_and_a_frame_with_a_field_too_many_or_too_few_is_refused() {
        let many: Vec<u64> = (0..257).collect();
        for (frame, reason) in [
            (json!({ "type": "follow", "id": "1" }), "bad_envelope"),
            (json!({ "type": "follow", "id": "1", "conversation": "a b" }), "bad_id"),
            (json!({ "type": "follow", "id": "1", "conversation": "main", "after": null }), "bad_envelope"),
            (json!({ "type": "follow", "id": "1", "conversation": "main", "after": -1 }), "bad_envelope"),
            (json!({ "type": "follow", "id": "1", "conversation": "main", "open": many }), "bad_envelope"),
            (json!({ "type": "follow", "id": "1", "conversation": "main", "owner": "me" }), "reserved_field"),
            (json!({ "type": "history", "id": "1", "conversation": "main", "limit": 0 }), "bad_envelope"),
            (json!({ "type": "history", "id": "1", "conversation": "main", "limit": 201 }), "bad_envelope"),
            (json!({ "type": "history", "id": "1", "conversation": "main", "after": 1 }), "unknown_field"),
            (json!({ "type": "session", "id": "1", "session": "../x" }), "bad_id"),
            (json!({ "type": "act", "id": "1" }), "wrong_entry"),
            (json!({ "type": "intent", "id": "1" }), "wrong_entry"),
            (json!({ "type": "inspect", "id": "1" }), "wrong_entry"),
            (json!({ "type": "lineup.v1.tool.invoke", "id": "1" }), "wrong_entry"),
            (json!({ "type": "dance", "id": "1" }), "unknown_type"),
        ] {
            assert_eq!(read(&frame), Err(reason.to_owned()), "{frame}");
        }
    }
}
