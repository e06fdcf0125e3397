//! The three entries, never confused (ENT-1), and what the owner of the workspace may ask.

use async_trait::async_trait;
use lineup_core::workspace::{
    decision::Answer,
    input::{AgentInput, HostIntentInput, HostReport, Setup, UiActionInput},
};
use lineup_model::{
    ConversationId,
    message::{Fault, Refusal},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The agents' entry. Who the agent is, is the transport's word.
#[async_trait]
pub trait Agents: Send + Sync {
    /// Decides an agent's request and answers once the decision is durable. Receipts and outcomes
    /// are not the answer: they go through the outbox.
    ///
    /// # Errors
    /// The refusal, as it is to be sent (CALL-7).
    async fn receive(&self, input: AgentInput) -> Result<Answer, Box<Refusal>>;
}

/// The entry of the user, in MiniApps' own UIs (UIA-1).
#[async_trait]
pub trait UiActions: Send + Sync {
    /// Takes a UI Action in and answers once it is durable, before it is executed.
    ///
    /// # Errors
    /// A stable code: among others `ui_action_not_declared`, `ui_action_invalid`,
    /// `app_instance_not_found`, `lifecycle_denied`.
    async fn act(&self, input: UiActionInput) -> Result<(), Fault>;
}

/// The Hosts' entry: local facts (HST-1) and reports about what a Host shows.
#[async_trait]
pub trait HostIntents: Send + Sync {
    /// Takes an intent in and answers once what follows from it is durable. A repeat answers the
    /// same and changes nothing.
    ///
    /// # Errors
    /// A stable code: among others `app_instance_not_found`, `lifecycle_denied`.
    async fn intend(&self, input: HostIntentInput) -> Result<(), Fault>;

    /// Takes a report in. One about an attempt that is over changes nothing and is no error.
    ///
    /// # Errors
    /// `storage_unavailable`: report again.
    async fn report(&self, input: HostReport) -> Result<(), Fault>;
}

/// What the owner of the workspace sets up.
#[async_trait]
pub trait SetUp: Send + Sync {
    /// Makes a change and answers once it is durable.
    ///
    /// # Errors
    /// A stable code that says what is wrong with it.
    async fn set_up(&self, setup: Setup) -> Result<(), Fault>;
}

/// What the owner of the workspace may look at. Reads only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "inspect", rename_all = "snake_case", deny_unknown_fields)]
pub enum InspectQuery {
    /// The newest calls.
    Calls {
        /// At most so many.
        limit: u32,
    },
    /// A call's whole story, by its key or by the agent's id of it.
    Call {
        /// Either id.
        id: String,
    },
    /// The running operations.
    Operations,
    /// The live instances and their activations.
    Instances,
    /// The focus stack.
    Focus,
    /// The messages that are to be sent.
    Outbox,
    /// The newest audit rows.
    Audit {
        /// At most so many.
        limit: u32,
    },
    /// The App sessions of a conversation.
    Sessions {
        /// The conversation.
        conversation: ConversationId,
        /// At most so many.
        limit: u32,
    },
    /// What agents see, per agent and conversation.
    Inventories,
    /// The connected Hosts, the load, the counters.
    Status,
}

/// Looks into a running workspace.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// Answers from what is durable, as JSON for people and machines; lists are under `rows`.
    ///
    /// # Errors
    /// `call_not_found`, `storage_unavailable`, `storage_corrupt`.
    async fn inspect(&self, query: InspectQuery) -> Result<Value, Fault>;
}
