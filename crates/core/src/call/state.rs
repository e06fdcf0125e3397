//! What the workspace knows of an unfinished call.

use std::{collections::BTreeMap, sync::Arc};

use lineup_model::{
    ActivationId, AgentId, AppScope, CallId, CallKey, ConversationId, Digest, Effective, Generation, InstanceId,
    Instant, OperationId, Revision, ToolId, message::AgentMessage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Seq;

/// What the agent calls the call: unique per (conversation, agent) (CALL-2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address {
    /// The conversation.
    pub conversation: ConversationId,
    /// The agent.
    pub agent: AgentId,
    /// The agent's id of the call.
    pub call_id: CallId,
}

/// What was fixed when the call was accepted. Written once, in the journal row of the acceptance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallFacts {
    /// The Runtime's key of the call.
    pub key: CallKey,
    /// The agent's words for it.
    pub address: Address,
    /// The tool.
    pub tool: ToolId,
    /// Its contract version.
    pub contract_version: u32,
    /// The digest of the descriptor that it is finished under (INV-11).
    pub descriptor: Digest,
    /// The inventory that it was made against.
    pub revision: Revision,
    /// The digest of tool, contract version and canonical input: what makes a repeat a repeat (CALL-3).
    pub content: Digest,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The input, valid against the descriptor's schema.
    pub input: Arc<Value>,
    /// When it was accepted.
    pub accepted: Instant,
    /// When it expires whatever happens, from `expires_at` (CALL-9).
    pub expires: Option<Effective>,
}

/// Where an unfinished call stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum CallState {
    /// Waits until its instance stands (ACT-3).
    Waiting {
        /// What brings the instance up or forward.
        activation: ActivationId,
    },
    /// Waits until another holder of its exclusivity is done starting (OP-3).
    WaitingForTurn,
    /// Waits until the user frees the foreground, or comes (ACT-10).
    NeedsYou,
    /// A handler has it.
    Running {
        /// The hand-over; also its attempt number, from 1.
        generation: Generation,
        /// Since when its timeout counts.
        since: Effective,
    },
    /// A built-in operation runs for it.
    Operating {
        /// The operation.
        operation: OperationId,
    },
}

/// The status words of CALL-2 that an unfinished call can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waits on an activation, its turn, or the user.
    WaitingForApp,
    /// A handler or an operation runs.
    Running,
}

/// One keyed write of a handler and what it was answered (DUR-4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The digest of the request: another one under this key is a divergence.
    pub request: Digest,
    /// What the first one was answered.
    pub answer: Value,
}

impl Step {
    /// Whether it was a write of session data.
    #[must_use]
    pub fn is_session_write(&self) -> bool {
        self.answer.get("revision").is_some()
    }

    /// Whether it changed what a Surface shows.
    #[must_use]
    pub fn is_surface_update(&self) -> bool {
        self.answer.get("surface_revision").is_some()
    }
}

/// A write that becomes durable with the call's outcome, or not at all (CALL-6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staged {
    /// The session-data revision that it was made on.
    pub base_revision: u64,
    /// The whole new document.
    pub data: Arc<Value>,
}

/// An unfinished call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Fixed at acceptance. Not in the open row: the journal keeps it.
    #[serde(skip, default = "unset")]
    pub facts: Arc<CallFacts>,
    /// The last journal row about this call.
    pub last: Seq,
    /// Where it stands.
    pub state: CallState,
    /// The instance, once resolved.
    pub instance: Option<InstanceId>,
    /// Whether it caused the activation that it waits on, or waited on.
    pub caused_activation: bool,
    /// How many receipts it has had; also the `seq` of the latest.
    pub receipts: u32,
    /// The latest receipt, as sent (CALL-3).
    pub latest: Option<Arc<AgentMessage>>,
    /// Hand-overs so far (DUR-4).
    pub attempts: u32,
    /// Keyed writes so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<Arc<str>, Step>,
    /// The session-data write that waits for the outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<Staged>,
}

/// A placeholder that the store replaces before a call reaches the workspace: the open row holds no
/// facts, the journal row of the acceptance does.
fn unset() -> Arc<CallFacts> {
    let word = |text: &str| text.to_owned();
    Arc::new(CallFacts {
        key: Seq(0).call_key(),
        address: Address {
            conversation: ConversationId::new("unset").expect("a plain word is an id"),
            agent: AgentId::new("unset").expect("a plain word is an id"),
            call_id: CallId::new("unset").expect("a plain word is an id"),
        },
        tool: ToolId::new("unset.unset").expect("two plain words are a tool id"),
        contract_version: 0,
        descriptor: Digest::of_bytes(&[]),
        revision: Revision(Digest::of_bytes(&[])),
        content: Digest::of_bytes(&[]),
        app_scope: AppScope::new(word("unset")).expect("a plain word is a scope"),
        input: Arc::new(Value::Null),
        accepted: Instant::default(),
        expires: None,
    })
}

impl Call {
    /// The Runtime's key.
    #[must_use]
    pub fn key(&self) -> &CallKey {
        &self.facts.key
    }

    /// The place of its acceptance in the journal.
    ///
    /// # Panics
    /// Never for a call that a workspace accepted: its key is made of that place.
    #[must_use]
    pub fn accepted_at(&self) -> Seq {
        Seq::of_call(&self.facts.key).expect("an accepted call's key is made of its place")
    }

    /// The status word of CALL-2.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self.state {
            CallState::Waiting { .. } | CallState::WaitingForTurn | CallState::NeedsYou => Status::WaitingForApp,
            CallState::Running { .. } | CallState::Operating { .. } => Status::Running,
        }
    }
}
