//! What a MiniApp author declares about one Agent Tool (INV-3).

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{AppScope, Digest, Method, ToolId, limits, schema::Schema};

/// What kind of work a call of the tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invocation {
    /// Reads; changes nothing.
    Query,
    /// Changes something and is done.
    Command,
    /// Waits for the person.
    Interactive,
    /// Runs for a time, with its own state machine.
    Operation,
}

/// What must stand before a call of the tool runs (ACT-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// The MiniApp reported ready; background satisfies it.
    AppReady,
    /// The MiniApp is ready and a Host confirmed it in the foreground, for this attempt.
    ForegroundRequired,
    /// Works on Runtime facts only; never starts or wakes a MiniApp.
    ActivationNotRequired,
}

/// How much harm a call can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Easily undone.
    #[default]
    Low,
    /// A nuisance when wrong.
    Medium,
    /// Cannot be undone.
    High,
}

/// Who may see the tool at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Every agent that policy lets see it.
    #[default]
    Visible,
    /// No agent, until policy shows it.
    Hidden,
}

/// Who does the work of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Executor {
    /// A handler of the MiniApp, through the SDK.
    MiniappSdk,
    /// A controlled action built into the Runtime, with declarative parameters.
    Runtime {
        /// Which one.
        action: BuiltIn,
    },
}

/// The controlled actions that the Runtime offers to declarations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum BuiltIn {
    /// Runs an operation until its deadline.
    #[serde(rename = "deadline_operation.start")]
    DeadlineStart {
        /// How long it runs.
        length: Length,
        /// The reason that a loser of the exclusivity gets in its `not_started` result (OP-3).
        when_busy: String,
    },
    /// Ends the conversation's deadline operation of this app, or a start that is under way.
    #[serde(rename = "deadline_operation.interrupt")]
    DeadlineInterrupt,
}

impl BuiltIn {
    /// What a completed call of a tool with this action returns. The Runtime writes it, so the
    /// tool's `output_schema` is this one (APP-4).
    #[must_use]
    pub fn output_schema(&self) -> Schema {
        Schema::known(match self {
            Self::DeadlineStart { .. } => json!({
                "type": "object",
                "properties": {
                    "status": { "type": "string", "enum": ["completed", "interrupted", "not_started"] },
                    "by": {
                        "description": "With `interrupted`: what ended it early.",
                        "type": "string",
                        "enum": ["agent", "left"]
                    },
                    "reason": {
                        "description": "With `not_started`: why.",
                        "type": "string",
                        "maxLength": limits::REASON_CHARS
                    }
                },
                "required": ["status"],
                "additionalProperties": false
            }),
            Self::DeadlineInterrupt => json!({
                "type": "object",
                "properties": {
                    "status": { "type": "string", "enum": ["interrupted", "start_cancelled", "nothing_running"] }
                },
                "required": ["status"],
                "additionalProperties": false
            }),
        })
    }
}

/// A length of time taken from an integer field of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Length {
    /// The unit of the field.
    pub unit: Unit,
    /// The top-level input field that holds the number.
    pub input: String,
}

/// A unit of time in a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 1,000 ms.
    Seconds,
    /// 60,000 ms.
    Minutes,
    /// 3,600,000 ms.
    Hours,
}

impl Unit {
    /// Milliseconds in one of this unit.
    #[must_use]
    pub const fn millis(self) -> u64 {
        match self {
            Self::Seconds => 1_000,
            Self::Minutes => 60_000,
            Self::Hours => 3_600_000,
        }
    }
}

/// What may end a call from outside, and what follows its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// Whether the calling agent may cancel it (CALL-10).
    #[serde(default)]
    pub agent_may_cancel: bool,
    /// Whether the instance closes once its last call is final (ACT-7).
    #[serde(default)]
    pub closes_instance: bool,
}

/// Where an operation tolerates no other of its kind (OP-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exclusive {
    /// One per conversation.
    Conversation,
    /// One per workspace.
    Workspace,
}

/// How an operation behaves (OP-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationRule {
    /// Runs only in the foreground; nothing but the user takes the foreground from it (ACT-10).
    #[serde(default)]
    pub needs_foreground: bool,
    /// Ends when the user leaves (HST-2).
    #[serde(default)]
    pub ends_on_leaving: bool,
    /// Excludes others of its app scope here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusive: Option<Exclusive>,
}

/// Where a call's work is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Whether the instance that had the foreground before gets it back when the call is final.
    #[serde(default)]
    pub restore_previous_focus: bool,
}

/// How readers of manifest v1 understand the tool; derived, never declared (INV-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handling {
    /// Answered from Runtime facts.
    Direct,
    /// Waits for the person.
    Interactive,
    /// Runs for a time.
    Operation,
    /// Comes to the foreground.
    Foreground,
    /// Starts the MiniApp.
    Launch,
}

/// One Agent Tool as its author declared it. Holds no handler and nothing executable (INV-2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptor {
    /// `<app_scope>.<method>`.
    pub id: ToolId,
    /// The MiniApp that the tool belongs to.
    pub app_scope: AppScope,
    /// The name inside the scope.
    pub method: Method,
    /// Grows when the tool's meaning changes (INV-11).
    pub contract_version: u32,
    /// What the tool does, for the agent.
    pub description: String,
    /// What a call must carry.
    pub input_schema: Schema,
    /// What a completed call returns.
    pub output_schema: Schema,
    /// What kind of work a call is.
    pub invocation: Invocation,
    /// What must stand before a call runs.
    pub readiness: Readiness,
    /// Who does the work.
    pub executor: Executor,
    /// Permissions that must be granted for the tool to be seen.
    pub permissions: Vec<String>,
    /// How much harm a call can do.
    pub risk: Risk,
    /// Who may see it.
    pub visibility: Visibility,
    /// How long a call may run, in milliseconds (CALL-9).
    pub timeout_ms: u64,
    /// What may end a call, and what follows.
    pub terminal: Terminal,
    /// How its operation behaves; only for `invocation: operation`.
    pub operation: OperationRule,
    /// Where a call's work is shown.
    pub target: Target,
    /// Host features that must be paired for the tool to be seen (INV-6).
    pub host_requirements: Vec<String>,
    /// For readers of manifest v1.
    pub handling: Handling,
}

impl Descriptor {
    /// The `handling` that readers of manifest v1 get (INV-3).
    #[must_use]
    pub const fn handling_of(invocation: Invocation, readiness: Readiness) -> Handling {
        match (readiness, invocation) {
            (Readiness::ActivationNotRequired, _) => Handling::Direct,
            (_, Invocation::Interactive) => Handling::Interactive,
            (_, Invocation::Operation) => Handling::Operation,
            (Readiness::ForegroundRequired, Invocation::Query | Invocation::Command) => Handling::Foreground,
            (Readiness::AppReady, Invocation::Query | Invocation::Command) => Handling::Launch,
        }
    }

    /// The digest that pins a call to what it was accepted with (INV-11).
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self)
    }
}

/// The timeout of a tool that declares none.
#[must_use]
pub const fn default_timeout_ms() -> u64 {
    limits::DEFAULT_TIMEOUT_MS
}
