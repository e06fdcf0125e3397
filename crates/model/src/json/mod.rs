//! The strict reading of JSON: the first thing that reads a byte from outside.

use serde_json::Value;

/// Why bytes are not JSON that LineUp accepts (the reasons of `envelope_invalid`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Over the size limit.
    TooLarge,
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
        }
    }
}

/// A refusal of bytes; never holds more than 64 bytes of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonError {
    /// The reason.
    pub reason: Reason,
    /// What is wrong and where, for people.
    pub message: String,
    /// The place, as a JSON pointer, as far as it was read.
    pub pointer: String,
}

/// Reads one JSON value from `bytes`, at most `max_bytes` long and [`crate::limits::JSON_DEPTH`] deep.
///
/// # Errors
/// See [`Reason`].
pub fn decode(bytes: &[u8], max_bytes: usize) -> Result<Value, JsonError> {
    let fail = |reason, message: String| JsonError { reason, message, pointer: String::new() };
    if bytes.len() > max_bytes {
        return Err(fail(Reason::TooLarge, format!("{} bytes are over the limit of {max_bytes}", bytes.len())));
    }
    serde_json::from_slice(bytes).map_err(|error| fail(Reason::BadJson, error.to_string()))
}
