//! Canonical JSON (RFC 8785) and digests of it.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// SHA-256 of canonical JSON, written as 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(Arc<str>);

impl Digest {
    /// The digest of a value's canonical JSON.
    ///
    /// # Panics
    /// When the value has no canonical JSON (a map with keys that are not strings, a number that
    /// is not finite): every type that the workspace digests has one.
    #[must_use]
    pub fn of(value: &impl Serialize) -> Self {
        Self::of_bytes(to_string(value).as_bytes())
    }

    /// The digest of these bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
            hex.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        Self(Arc::from(hex))
    }

    /// Reads a digest; `None` unless it is 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
            .then(|| Self(Arc::from(text)))
    }

    /// Its first 16 bytes, for a narrow key.
    #[must_use]
    pub fn prefix(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        for (byte, digits) in bytes.iter_mut().zip(self.0.as_bytes().chunks(2)) {
            let digit = |d: u8| {
                if d.is_ascii_digit() {
                    d - b'0'
                } else {
                    d - b'a' + 10
                }
            };
            *byte = digit(digits[0]) << 4 | digit(digits[1]);
        }
        bytes
    }

    /// The 64 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A value as canonical JSON.
///
/// # Panics
/// See [`Digest::of`].
#[must_use]
pub fn to_string(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value)
        .expect("the workspace digests only values with canonical JSON")
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a digest is 64 lower-case hexadecimal digits")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0.as_ref().to_owned()
    }
}
