//! Canonical JSON (RFC 8785) and digests of it.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// SHA-256 of canonical JSON, written as 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
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
                if d.is_ascii_digit() { d - b'0' } else { d - b'a' + 10 }
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
    serde_json_canonicalizer::to_string(value).expect("the workspace digests only values with canonical JSON")
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

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn inv_7_canonical_json_follows_rfc_8785() {
        let rows = [
            (json!({ "b": 1, "a": { "d": [], "c": {} } }), r#"{"a":{"c":{},"d":[]},"b":1}"#),
            (
                json!([1.0, 5e-7, 1e21, 1e20, -0.0, 0.1, 333_333_333.333_333_3]),
                "[1,5e-7,1e+21,100000000000000000000,0,0.1,333333333.3333333]",
            ),
            (json!("\u{20ac}$\u{f}\nA'B\"\\\"/"), r#""€$\u000f\nA'B\"\\\"/""#),
            // Sorted by UTF-16 code units: the surrogates of 😀 come before the letter ﬁ.
            (json!({ "\u{fb01}": 1, "😀": 2, "é": 3 }), "{\"é\":3,\"😀\":2,\"\u{fb01}\":1}"),
            (json!([9_007_199_254_740_991_i64, -9_007_199_254_740_991_i64]), "[9007199254740991,-9007199254740991]"),
        ];
        for (value, canonical) in rows {
            assert_eq!(to_string(&value), canonical);
        }
    }

    #[test]
    fn a_digest_is_sha_256_in_lower_case_hexadecimal() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of_bytes(b"").as_str(), empty);
        assert_eq!(Digest::of(&json!({ "b": 1, "a": 2 })), Digest::of_bytes(br#"{"a":2,"b":1}"#));
        assert_eq!(
            Digest::of_bytes(b"").prefix(),
            [0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24]
        );
    }

    #[test]
    fn h38_a_digest_reads_only_what_it_writes() {
        let digest = Digest::of(&1);
        assert_eq!(serde_json::from_value::<Digest>(json!(digest.as_str())).unwrap(), digest);
        assert_eq!(Digest::parse(digest.as_str()), Some(digest.clone()));
        let upper = digest.as_str().to_uppercase();
        let short = &digest.as_str()[1..];
        for bad in [
            json!(upper),
            json!(short),
            json!(""),
            json!("g".repeat(64)),
            json!("é".repeat(32)),
            json!(1),
            json!(null),
            json!([digest]),
        ] {
            assert!(serde_json::from_value::<Digest>(bad.clone()).is_err(), "{bad}");
            assert!(serde_json::from_value::<crate::Revision>(bad.clone()).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn the_order_of_keys_and_the_layout_never_change_a_digest(entries in prop::collection::btree_map(".{0,4}", any::<i32>(), 0..8)) {
            let forward: Vec<String> = entries.iter().map(|(key, n)| format!("{}:{n}", json!(key))).collect();
            let backward: Vec<String> = forward.iter().rev().cloned().collect();
            let forward: Value = serde_json::from_str(&format!("{{{}}}", forward.join(","))).unwrap();
            let backward: Value = serde_json::from_str(&format!("{{ {} }}", backward.join(" , "))).unwrap();
            prop_assert_eq!(Digest::of(&forward), Digest::of(&backward));
        }
    }
}
