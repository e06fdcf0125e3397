//! Reads a decoded object field by field, and refuses what nobody asked for.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{ECHO_BYTES, JsonError, Reason, decode_object, pointer_to, shortened, type_name};
use crate::id::IdError;

/// Names that only the Runtime fills in. No message from outside may carry them beside its own
/// fields or inside a `meta` (CALL-1, cases H21 to H24), and no tool may declare them (I64).
pub const RESERVED: &[&str] = &[
    "app_owner",
    "app_session_id",
    "capability",
    "entry",
    "instance_id",
    "interaction_id",
    "operation_id",
    "owner",
    "user_id",
];

/// Whether the name is one of [`RESERVED`].
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok()
}

/// An object whose fields are taken out one by one; [`Fields::finish`] refuses what is left.
///
/// A field that the message does have may carry a reserved name (a Host's report names an
/// `interaction_id`): only fields that nobody took are held against [`RESERVED`].
///
/// ```
/// use lineup_model::{CallId, json::{Fields, Reason}};
///
/// let mut fields = Fields::decode(br#"{"call_id":"c1","owner":"me"}"#, 1024)?;
/// let call: CallId = fields.id("call_id")?;
/// assert_eq!(call.as_str(), "c1");
/// assert_eq!(fields.finish().unwrap_err().reason, Reason::ReservedField);
/// # Ok::<(), lineup_model::json::JsonError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fields {
    left: Map<String, Value>,
    at: String,
}

impl Fields {
    /// Decodes an object, see [`decode_object`].
    ///
    /// # Errors
    /// As [`decode_object`].
    pub fn decode(bytes: &[u8], max_bytes: usize) -> Result<Self, JsonError> {
        Ok(Self::of(decode_object(bytes, max_bytes)?))
    }

    /// The fields of an object that is the whole document.
    #[must_use]
    pub const fn of(object: Map<String, Value>) -> Self {
        Self { left: object, at: String::new() }
    }

    /// Takes out a field and reads it. `null` is refused; [`Fields::value`] takes it.
    ///
    /// Types that serde reads from an array as well as from an object (every derived struct) must
    /// be read with [`Fields::object`] instead.
    ///
    /// # Errors
    /// [`Reason::BadEnvelope`] when it is missing or of another type.
    pub fn required<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<T, JsonError> {
        self.optional(name)?.ok_or_else(|| self.missing(name))
    }

    /// Takes out a field and reads it, if it is there. `null` does not stand for absence.
    ///
    /// # Errors
    /// [`Reason::BadEnvelope`] when it is of another type or `null`.
    pub fn optional<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, JsonError> {
        let Some(value) = self.take(name)? else {
            return Ok(None);
        };
        if value.is_null() {
            return Err(self.wrong(name, "null stands for nothing; leave the field out"));
        }
        // Serde's sentence may quote the value, so it is cut to what an error may repeat.
        serde_json::from_value(value).map(Some).map_err(|error| {
            let sentence = error.to_string();
            self.wrong(name, shortened(&sentence, ECHO_BYTES))
        })
    }

    /// Takes out a field of any JSON type, `null` too.
    ///
    /// # Errors
    /// [`Reason::BadEnvelope`] when it is missing.
    pub fn value(&mut self, name: &'static str) -> Result<Value, JsonError> {
        self.take(name)?.ok_or_else(|| self.missing(name))
    }

    /// Takes out an id.
    ///
    /// # Errors
    /// [`Reason::BadEnvelope`] when it is missing or not a string, [`Reason::BadId`] when it does
    /// not have the shape of its kind.
    pub fn id<T: FromStr<Err = IdError>>(&mut self, name: &'static str) -> Result<T, JsonError> {
        self.optional_id(name)?.ok_or_else(|| self.missing(name))
    }

    /// Takes out an id, if it is there.
    ///
    /// # Errors
    /// As [`Fields::id`], except that it may be missing.
    pub fn optional_id<T: FromStr<Err = IdError>>(&mut self, name: &'static str) -> Result<Option<T>, JsonError> {
        match self.take(name)? {
            None => Ok(None),
            Some(Value::String(text)) => text.parse().map(Some).map_err(|error: IdError| {
                JsonError::new(Reason::BadId, error.to_string()).at(pointer_to(&self.at, name))
            }),
            Some(other) => Err(self.wrong(name, &format!("expected a string, found {}", type_name(&other)))),
        }
    }

    /// Takes out a field that is an object.
    ///
    /// # Errors
    /// [`Reason::BadEnvelope`] when it is missing or not an object.
    pub fn object(&mut self, name: &'static str) -> Result<Self, JsonError> {
        self.optional_object(name)?.ok_or_else(|| self.missing(name))
    }

    /// Takes out a field that is an object, if it is there.
    ///
    /// # Errors
    /// [`Reason::BadEnvelope`] when it is not an object.
    pub fn optional_object(&mut self, name: &'static str) -> Result<Option<Self>, JsonError> {
        match self.take(name)? {
            None => Ok(None),
            Some(Value::Object(left)) => Ok(Some(Self { left, at: pointer_to(&self.at, name) })),
            Some(other) => Err(self.wrong(name, &format!("expected an object, found {}", type_name(&other)))),
        }
    }

    /// Whether the field is there and was not taken yet.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.left.contains_key(name)
    }

    /// Refuses reserved names among the fields that were not taken, and inside their `meta`.
    /// [`Fields::finish`] does it too; ask earlier to let this refusal win over others.
    ///
    /// # Errors
    /// [`Reason::ReservedField`].
    pub fn refuse_reserved(&self) -> Result<(), JsonError> {
        for (name, value) in &self.left {
            if is_reserved(name) {
                return Err(reserved(&self.at, name));
            }
            if name == META {
                refuse_reserved_within(value, &pointer_to(&self.at, name))?;
            }
        }
        Ok(())
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`Reason::ReservedField`] or [`Reason::UnknownField`] when a field was not taken.
    pub fn finish(self) -> Result<(), JsonError> {
        self.refuse_reserved()?;
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(JsonError::new(Reason::UnknownField, "this message has no such field")
                    .at(pointer_to(&self.at, name)))
            }
        }
    }

    /// A refusal of the field with this name.
    #[must_use]
    pub fn wrong(&self, name: &'static str, message: &str) -> JsonError {
        JsonError::new(Reason::BadEnvelope, format!("`{name}`: {message}")).at(pointer_to(&self.at, name))
    }

    fn missing(&self, name: &'static str) -> JsonError {
        JsonError::new(Reason::BadEnvelope, format!("`{name}` is missing")).at(self.at.clone())
    }

    fn take(&mut self, name: &'static str) -> Result<Option<Value>, JsonError> {
        let value = self.left.remove(name);
        if let (META, Some(value)) = (name, &value) {
            refuse_reserved_within(value, &pointer_to(&self.at, name))?;
        }
        Ok(value)
    }
}

/// The field in which some clients put what they would not dare to put beside it.
const META: &str = "meta";

fn reserved(parent: &str, name: &str) -> JsonError {
    JsonError::new(Reason::ReservedField, "only the Runtime sets this field").at(pointer_to(parent, name))
}

/// Recursion is bounded: the value comes from [`decode_object`].
fn refuse_reserved_within(value: &Value, at: &str) -> Result<(), JsonError> {
    match value {
        Value::Object(object) => object.iter().try_for_each(|(name, value)| {
            if is_reserved(name) {
                return Err(reserved(at, name));
            }
            refuse_reserved_within(value, &pointer_to(at, name))
        }),
        Value::Array(items) => items.iter().try_for_each(|item| refuse_reserved_within(item, at)),
        _ => Ok(()),
    }
}
