//! Why a command did not do what it was asked, and the exit code that says so.

use std::process::ExitCode;

use lineup_adapters::relay::{CredentialsError, OpenError};
use lineup_agent::AgentError;
use lineup_model::message::{Fault, Refusal};
use lineup_ports::outbound::StoreErrorKind;
use lineup_runtime::StartError;
use serde_json::{Value, json};

/// A call that ended otherwise than completed, or a failure of the program's own.
pub const ENDED_OTHERWISE: u8 = 1;

/// The ways to fail. `docs/cli.md` lists the exit codes; they do not change.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Exit code 1.
    #[error("{0}")]
    Broken(String),
    /// Exit code 2, as clap's own.
    #[error("{0}")]
    Usage(String),
    /// Exit code 3.
    #[error("{message}")]
    Refused {
        /// The stable code.
        code: String,
        /// What narrows it down.
        reason: Option<String>,
        /// Where in the input, as a JSON pointer.
        pointer: Option<String>,
        /// For people.
        message: String,
    },
    /// Exit code 4.
    #[error("{0}")]
    Unreachable(String),
    /// Exit code 5.
    #[error("{0}")]
    Unusable(String),
}

impl Failure {
    /// The exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Broken(_) => ENDED_OTHERWISE,
            Self::Usage(_) => 2,
            Self::Refused { .. } => 3,
            Self::Unreachable(_) => 4,
            Self::Unusable(_) => 5,
        })
    }

    /// One sentence for people: a refusal with its code, its place in the input and what to do next.
    pub fn to_words(&self) -> String {
        let Self::Refused { code, reason, pointer, message } = self else { return self.to_string() };
        let place = pointer.as_ref().filter(|pointer| !pointer.is_empty());
        let place = place.map(|pointer| format!(" (at {pointer})")).unwrap_or_default();
        let next = next_step(code, reason.as_deref()).map(|next| format!("; {next}")).unwrap_or_default();
        format!("refused ({code}): {message}{place}{next}")
    }

    /// One line for machines.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Refused { code, reason, pointer, message } => {
                let mut line = json!({ "kind": "refused", "code": code, "message": message });
                if let Some(reason) = reason {
                    line["reason"] = json!(reason);
                }
                if let Some(pointer) = pointer {
                    line["pointer"] = json!(pointer);
                }
                line
            }
            Self::Broken(message) => json!({ "kind": "error", "error": "broken", "message": message }),
            Self::Usage(message) => json!({ "kind": "error", "error": "usage", "message": message }),
            Self::Unreachable(message) => json!({ "kind": "error", "error": "unreachable", "message": message }),
            Self::Unusable(message) => json!({ "kind": "error", "error": "unusable", "message": message }),
        }
    }
}

/// The command of this program that helps after a refusal.
fn next_step(code: &str, reason: Option<&str>) -> Option<&'static str> {
    Some(match (code, reason) {
        ("tool_not_advertised", _) => "`lineup agent tools` lists what it may call",
        ("tool_input_invalid", _) => "`lineup agent tools` shows the input of each tool",
        ("agent_unauthorized", _) => "`lineup setup conversation ID --agent A --agent B` names all who are in it",
        ("conversation_not_found", _) => "`lineup setup conversation ID --agent A` makes one",
        ("call_not_found", _) => "`lineup inspect calls` lists the calls",
        (_, Some("clock_not_manual")) => "`lineup serve --clock manual` starts one with a clock to advance",
        _ => return None,
    })
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let Fault { code, reason, message, pointer } = fault;
        Self::Refused { code: code.to_string(), reason, pointer, message }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        refusal.error.into()
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Refused(refusal) => (*refusal).into(),
            AgentError::Malformed(fault) => fault.into(),
            AgentError::NotAnAgent => Self::Refused {
                code: "credential_unknown".to_owned(),
                reason: None,
                pointer: None,
                message: "the credential is not one of an agent's".to_owned(),
            },
            other => Self::Unreachable(with_causes(&other)),
        }
    }
}

impl From<CredentialsError> for Failure {
    fn from(error: CredentialsError) -> Self {
        Self::Unusable(with_causes(&error))
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::Unusable(with_causes(&error))
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match &error {
            StartError::Store(store) if store.kind == StoreErrorKind::Owned => Self::Unusable(store.to_string()),
            StartError::Store(_) | StartError::Recovery(_) => Self::Unusable(with_causes(&error)),
            StartError::MiniApp(_) | StartError::Missing(_) => Self::Broken(with_causes(&error)),
        }
    }
}

/// An error with what led to it, in one sentence.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        sentence.push_str(": ");
        sentence.push_str(&error.to_string());
        cause = error.source();
    }
    sentence
}
