//! Places in a workspace's journal, and the ids that are made of them (docs/adr/0002).

use std::fmt;

use lineup_model::{ActivationId, AppSessionId, CallKey, InstanceId, MessageId, OperationId};
use serde::{Deserialize, Serialize};

/// A row's place in its workspace's journal: 1, 2, 3, … without a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Seq {
    /// The next place.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The key of the call that was accepted at this place.
    #[must_use]
    pub fn call_key(self) -> CallKey {
        CallKey::new(format!("c{self}")).expect("a letter and digits are a well-formed id")
    }

    /// The place at which a call was accepted; `None` if the key was never minted by a Runtime.
    #[must_use]
    pub fn of_call(key: &CallKey) -> Option<Self> {
        let digits = key.as_str().strip_prefix('c')?;
        let seq: u64 = digits.parse().ok()?;
        // "c007" and "c+7" name no call: a key has one spelling.
        (seq.to_string() == digits).then_some(Self(seq))
    }

    /// The id of the `index`-th message that the row at this place sends.
    #[must_use]
    pub fn message_id(self, index: usize) -> MessageId {
        MessageId::new(format!("m{self}-{index}")).expect("letters, digits and a dash are a well-formed id")
    }

    /// The id of the instance that was created at this place.
    #[must_use]
    pub fn instance_id(self) -> InstanceId {
        InstanceId::new(format!("i{self}")).expect("a letter and digits are a well-formed id")
    }

    /// The id of the activation that began at this place.
    #[must_use]
    pub fn activation_id(self) -> ActivationId {
        ActivationId::new(format!("a{self}")).expect("a letter and digits are a well-formed id")
    }

    /// The id of the App session that was opened at this place.
    #[must_use]
    pub fn app_session_id(self) -> AppSessionId {
        AppSessionId::new(format!("s{self}")).expect("a letter and digits are a well-formed id")
    }

    /// The id of the operation that was created at this place.
    #[must_use]
    pub fn operation_id(self) -> OperationId {
        OperationId::new(format!("o{self}")).expect("a letter and digits are a well-formed id")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_key_leads_back_to_its_place_and_has_one_spelling() {
        assert_eq!(Seq::of_call(&Seq(42).call_key()), Some(Seq(42)));
        for forged in ["42", "c", "c042", "c-1", "c99999999999999999999", "m42"] {
            assert_eq!(Seq::of_call(&CallKey::new(forged).unwrap()), None, "{forged}");
        }
    }
}
