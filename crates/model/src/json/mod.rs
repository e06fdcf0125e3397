//! The strict reading of JSON: the first thing that reads a byte from outside.
//!
//! [`decode`] is the one decoder of the workspace. It accepts a subset of RFC 8259 in which two
//! readers can never see two different values:
//!
//! - size, then UTF-8 of the whole buffer, are checked before anything is allocated;
//! - keys are unique after unescaping, U+0000 occurs nowhere, surrogates come in pairs;
//! - arrays and objects nest at most [`crate::limits::JSON_DEPTH`] deep, and the stack does not grow
//!   with the input;
//! - an **integer literal** (no fraction, no exponent) lies within ±(2^53−1) and is kept exactly;
//!   `-0` is read as `0`;
//! - any **other literal** is a `number` with the meaning of an IEEE 754 double: the nearest one
//!   is kept (`0.1`, `1e300`, `1e-400` as zero), one that overflows (`1e400`) is refused. It never
//!   becomes an integer: `5.0` and `5e0` stay fractional numbers, which a schema of type `integer`
//!   refuses (INV-5).
//!
//! [`Fields`] reads a decoded object field by field and refuses what nobody asked for.

mod fields;
mod number;
mod reader;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use fields::{Fields, RESERVED, is_reserved};

/// The most bytes of a refused input that an error repeats.
pub const ECHO_BYTES: usize = 64;

/// The largest integer that every JSON reader keeps exactly: 2^53 − 1. The smallest is its negative.
pub const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// Why bytes are not JSON that LineUp accepts (the reasons of `envelope_invalid`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Not UTF-8.
    BadUtf8,
    /// Not JSON (RFC 8259).
    BadJson,
    /// An object holds the same key twice.
    DuplicateKey,
    /// Nested too deeply.
    TooDeep,
    /// A number that cannot be kept exactly or at all.
    NumberRange,
    /// A string holds U+0000.
    BadString,
    /// Over the size limit; on the wire this one is `payload_too_large`.
    TooLarge,
    /// Not an object, or a field is missing or of the wrong type.
    BadEnvelope,
    /// A field that this message does not have.
    UnknownField,
    /// A field that only the Runtime may set, see [`RESERVED`].
    ReservedField,
    /// An id that does not have the shape of its kind.
    BadId,
}

impl Reason {
    /// The stable word, as in `envelope_invalid`'s `reason`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadUtf8 => "bad_utf8",
            Self::BadJson => "bad_json",
            Self::DuplicateKey => "duplicate_key",
            Self::TooDeep => "too_deep",
            Self::NumberRange => "number_range",
            Self::BadString => "bad_string",
            Self::TooLarge => "too_large",
            Self::BadEnvelope => "bad_envelope",
            Self::UnknownField => "unknown_field",
            Self::ReservedField => "reserved_field",
            Self::BadId => "bad_id",
        }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal of bytes. The message and the pointer each repeat at most [`ECHO_BYTES`] of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    /// The reason.
    pub reason: Reason,
    /// What is wrong, for people.
    pub message: String,
    /// The place, as a JSON pointer (RFC 6901), as far as it was read; it stops at the parent of a
    /// key that is too long to repeat.
    pub pointer: String,
}

impl JsonError {
    /// A refusal at the root of the document.
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), pointer: String::new() }
    }

    /// The same refusal at this place.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }
}

/// Reads one JSON value from `bytes`, at most `max_bytes` long and [`crate::limits::JSON_DEPTH`] deep.
///
/// # Errors
/// With the first thing that is wrong: [`Reason::TooLarge`], [`Reason::BadUtf8`], then in reading
/// order [`Reason::BadJson`], [`Reason::DuplicateKey`], [`Reason::TooDeep`],
/// [`Reason::NumberRange`], [`Reason::BadString`].
pub fn decode(bytes: &[u8], max_bytes: usize) -> Result<Value, JsonError> {
    if bytes.len() > max_bytes {
        return Err(JsonError::new(
            Reason::TooLarge,
            format!("{} bytes are over the limit of {max_bytes}", bytes.len()),
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        JsonError::new(Reason::BadUtf8, format!("the byte at offset {} is not UTF-8", error.valid_up_to()))
    })?;
    reader::read(text)
}

/// Reads one JSON object, as [`decode`] does.
///
/// # Errors
/// As [`decode`], and [`Reason::BadEnvelope`] when there is no value or it is not an object (H5).
pub fn decode_object(bytes: &[u8], max_bytes: usize) -> Result<Map<String, Value>, JsonError> {
    if bytes.iter().all(u8::is_ascii_whitespace) && bytes.len() <= max_bytes {
        return Err(JsonError::new(Reason::BadEnvelope, "expected an object, found nothing"));
    }
    match decode(bytes, max_bytes)? {
        Value::Object(fields) => Ok(fields),
        other => Err(JsonError::new(
            Reason::BadEnvelope,
            format!("expected an object at the top level, found {}", type_name(&other)),
        )),
    }
}

/// What kind of value this is, with its article, for messages.
#[must_use]
pub const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The place of `segment` inside `parent`, as a JSON pointer; `parent` itself when the result would
/// repeat more than [`ECHO_BYTES`].
#[must_use]
pub fn pointer_to(parent: &str, segment: &str) -> String {
    let escaped = segment.replace('~', "~0").replace('/', "~1");
    if parent.len() + 1 + escaped.len() > ECHO_BYTES {
        return parent.to_owned();
    }
    format!("{parent}/{escaped}")
}

/// The longest start of `text` of at most `max` bytes that ends between two characters.
#[must_use]
pub fn shortened(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
