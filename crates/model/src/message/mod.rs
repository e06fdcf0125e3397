//! What the Runtime tells an agent: receipts, outcomes and refusals, as typed facts.
//!
//! The core produces these, the store keeps them, `lineup-wire` writes them as envelopes. The
//! encoding is a function of the fact, so a repeat is byte-equal (CALL-3).

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AppScope, CallId, ConversationId, ErrorCode, Inventory, MessageId, Revision};

/// A replayable protocol fact of a call (CALL-14, ACT-5). Never a business result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The call was taken in and nothing had to be started for it.
    Accepted,
    /// The call was taken in and its MiniApp is being brought up.
    Starting,
    /// The MiniApp stands.
    ActivationReady,
    /// The operation runs.
    Started,
    /// The MiniApp reported progress (CALL-12).
    App,
    /// The MiniApp could not be brought up.
    ActivationFailed,
    /// Bringing the MiniApp up was cancelled.
    ActivationCancelled,
}

/// One receipt of a call; `seq` counts 1, 2, 3, … per call without a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The call, in the agent's words.
    pub call_id: CallId,
    /// Its place among the call's receipts.
    pub seq: u32,
    /// What happened.
    pub stage: Stage,
    /// The MiniApp concerned.
    pub app_scope: AppScope,
    /// A controlled reason, for the stages that need one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The MiniApp's own report, for [`Stage::App`] only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// A MiniApp's report, held to the Runtime's fixed schema (CALL-12).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// A short word for where the work stands.
    pub label: String,
    /// Free detail, at most [`crate::limits::PROGRESS_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

/// The one final result of a call (CALL-5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The call, in the agent's words.
    pub call_id: CallId,
    /// How it ended.
    #[serde(flatten)]
    pub end: End,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum End {
    /// With a result that fits the tool's output schema (CALL-6).
    Completed {
        /// The result.
        result: Value,
    },
    /// The tool or its MiniApp failed.
    Failed {
        /// Why.
        error: Fault,
    },
    /// It was cancelled.
    Cancelled {
        /// Why.
        error: Fault,
    },
    /// Its time was over.
    Expired {
        /// Why.
        error: Fault,
    },
    /// A gate refused it after acceptance (CALL-7).
    Rejected {
        /// Why.
        error: Fault,
    },
}

/// How a call ended, without what it carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeClass {
    /// See [`End::Completed`].
    Completed,
    /// See [`End::Failed`].
    Failed,
    /// See [`End::Cancelled`].
    Cancelled,
    /// See [`End::Expired`].
    Expired,
    /// See [`End::Rejected`].
    Rejected,
}

impl OutcomeClass {
    /// The word on the wire and on disk.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
        }
    }
}

impl End {
    /// How it ended, without what it carried.
    #[must_use]
    pub const fn class(&self) -> OutcomeClass {
        match self {
            Self::Completed { .. } => OutcomeClass::Completed,
            Self::Failed { .. } => OutcomeClass::Failed,
            Self::Cancelled { .. } => OutcomeClass::Cancelled,
            Self::Expired { .. } => OutcomeClass::Expired,
            Self::Rejected { .. } => OutcomeClass::Rejected,
        }
    }

    /// The code, unless it completed.
    #[must_use]
    pub const fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Completed { .. } => None,
            Self::Failed { error } | Self::Cancelled { error } | Self::Expired { error } | Self::Rejected { error } => {
                Some(error.code)
            }
        }
    }
}

/// A stable code with what helps the reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The stable code.
    pub code: ErrorCode,
    /// A stable word that narrows the code down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What happened and what to do, for people. May change.
    pub message: String,
    /// Where in the input, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
}

impl Fault {
    /// A fault with a code and a sentence.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, reason: None, message: message.into(), pointer: None }
    }

    /// The same fault with a reason.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// The same fault with the place in the input.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }
}

/// A refusal before acceptance: nothing was persisted and the id stays free (CALL-7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The request that is refused.
    pub in_reply_to: MessageId,
    /// The call that the request was about, if it named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// Why.
    pub error: Fault,
    /// The current revision, with `inventory_revision_mismatch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_revision: Option<Revision>,
}

/// A durable message to an agent, as the outbox keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentMessage {
    /// The envelope's id; the same on every attempt (DUR-2).
    pub id: MessageId,
    /// Where it belongs.
    pub conversation: ConversationId,
    /// What it says.
    pub body: AgentBody,
}

/// What a durable message to an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentBody {
    /// A receipt or progress of a call.
    Receipt(Receipt),
    /// The outcome of a call.
    Outcome(Outcome),
    /// The inventory as it is now (INV-7).
    Inventory {
        /// Grows with each publication to this agent in this conversation.
        sequence: u64,
        /// The tools and their revision.
        inventory: std::sync::Arc<Inventory>,
    },
    /// A text of the person's in the conversation.
    Text {
        /// The text.
        text: String,
    },
}
