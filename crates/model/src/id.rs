//! Typed ids. None of them may stand for another (contract, section 1).
//!
//! An id is cheap to clone and is checked where it is read: a value of these types is always well
//! formed. Opaque ids are `[A-Za-z0-9_-]{1,64}`; names that authors write are `[a-z0-9-]{1,32}`.
//! There is no case folding and no Unicode normalisation: ids that differ in a byte are different
//! (case H13).

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// Why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} must be {expected}")]
pub struct IdError {
    /// Which kind of id was expected, for example `call_id`.
    pub kind: &'static str,
    /// What a well-formed id of this kind looks like.
    pub expected: &'static str,
}

fn opaque(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn name(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn dotted(text: &str) -> bool {
    text.split_once('.').is_some_and(|(scope, method)| name(scope) && name(method))
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $kind:literal, $check:ident, $expected:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Reads an id.
            ///
            /// # Errors
            /// When the text does not have the shape of this kind of id.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                if $check(text) {
                    Ok(Self(Arc::from(text)))
                } else {
                    Err(IdError { kind: $kind, expected: $expected })
                }
            }

            /// The id as it is written on the wire and on disk.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        // By hand: `into = "String"` copies the id each time it is written, several times a call.
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }
    )*};
}

ids! {
    /// One user's Runtime state; one owner process at a time.
    WorkspaceId, "workspace_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// A conversation between a person and agents.
    ConversationId, "conversation_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// A remote agent, as AppServer authenticated it. Survives token rotation (CALL-2).
    AgentId, "agent_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// The agent's own id of a call; unique per (conversation, agent) (CALL-2).
    CallId, "call_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// The Runtime's id of a call, used inside the Runtime and in the SDK (CALL-2).
    CallKey, "call_key", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// One running MiniApp in one conversation.
    InstanceId, "instance_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// One attempt to bring an instance up or forward.
    ActivationId, "activation_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// The record of what happened around one instance.
    AppSessionId, "app_session_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// A business execution with its own state machine, such as a focus period.
    OperationId, "operation_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// An envelope on the wire. A re-sent envelope keeps its id (DUR-2).
    MessageId, "message_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// One request of a user's in a MiniApp's own UI (UIA-1).
    ActionId, "action_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// One local fact reported by a Host (HST-1).
    IntentId, "intent_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// One connected shell, such as a browser tab (HST-3).
    HostSessionId, "host_session_id", opaque, "1 to 64 of A-Z a-z 0-9 _ -";
    /// The scope of a MiniApp, such as `pomodoro`.
    AppScope, "app_scope", name, "1 to 32 of a-z 0-9 -";
    /// The name of a Tool or UI Action inside its scope.
    Method, "method", name, "1 to 32 of a-z 0-9 -";
    /// `<app_scope>.<method>`, such as `pomodoro.start` (INV-3).
    ToolId, "tool", dotted, "an app scope and a method joined by a dot";
}

/// Counts the deliveries of one call or action to a handler; a higher one supersedes (DUR-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u32);

impl ToolId {
    /// Joins a scope and a method.
    #[must_use]
    pub fn of(scope: &AppScope, method: &Method) -> Self {
        Self(Arc::from(format!("{scope}.{method}")))
    }

    /// The scope in front of the dot.
    #[must_use]
    pub fn app_scope(&self) -> AppScope {
        let (scope, _) = self.0.split_once('.').expect("a tool id holds one dot: checked by new");
        AppScope(Arc::from(scope))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h13_an_opaque_id_is_one_to_sixty_four_plain_characters() {
        for good in ["a", "A_b-9", &"x".repeat(64)] {
            assert!(CallId::new(good).is_ok(), "{good}");
        }
        for bad in ["", &"x".repeat(65), "a b", "a\u{200d}", "\u{202e}a", "é", "e\u{301}", "a ", "😀", "a\0"] {
            assert!(CallId::new(bad).is_err(), "{bad:?}");
        }
        assert_ne!(CallId::new("a").unwrap(), CallId::new("A").unwrap());
    }

    #[test]
    fn a_tool_id_is_two_names_joined_by_one_dot() {
        let tool = ToolId::new("task-dashboard.open").unwrap();
        assert_eq!(tool.app_scope().as_str(), "task-dashboard");
        for bad in ["open", "a.b.c", "A.b", ".b", "a.", "a/b", "../x.y"] {
            assert!(ToolId::new(bad).is_err(), "{bad}");
        }
    }
}
