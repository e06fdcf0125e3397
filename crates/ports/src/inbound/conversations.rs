//! What people may read of their conversations: the history, the apps, what agents may use. Reads only.

use async_trait::async_trait;
use lineup_core::{Seq, operation::OperationEnd, session::AppSession};
use lineup_model::{
    ActionId, AgentId, AppScope, AppSessionId, CallId, CallKey, ConversationId, ErrorCode, InstanceId, Method,
    OperationId, ToolId,
    message::{Fault, OutcomeClass, Stage},
};
use serde_json::Value;

/// One thing that people see in a conversation: a row of the journal, with what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its place in the journal: names it for ever, and orders it.
    pub place: Seq,
    /// The wall clock, in milliseconds since 1970 (UTC).
    pub at: i64,
    /// What it is.
    pub what: What,
}

/// What people see.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// An agent said something.
    AgentText {
        /// The agent.
        agent: AgentId,
        /// The text, as it was sent.
        text: String,
    },
    /// The user did something in a MiniApp's view. In Interact: said something.
    Action {
        /// The user's name for it.
        action: ActionId,
        /// The MiniApp.
        app_scope: AppScope,
        /// Which of its UI Actions.
        method: Method,
        /// The input.
        input: Value,
        /// Where it stands.
        state: ActionState,
    },
    /// An agent called a tool.
    Call {
        /// The Runtime's name for it.
        call: CallKey,
        /// The agent's name for it.
        call_id: CallId,
        /// The agent.
        agent: AgentId,
        /// The tool.
        tool: ToolId,
        /// The input.
        input: Value,
        /// The last receipt, of a call that is open.
        stage: Option<Stage>,
        /// Its operation, while that runs.
        running: Option<Running>,
        /// How it ended.
        end: Option<CallEnd>,
    },
    /// A MiniApp was opened.
    Opened {
        /// The instance.
        instance: InstanceId,
        /// The MiniApp.
        app_scope: AppScope,
        /// The record of its run.
        session: AppSessionId,
    },
    /// A MiniApp was closed.
    Closed {
        /// The instance.
        instance: InstanceId,
        /// The MiniApp.
        app_scope: AppScope,
        /// The record of its run.
        session: AppSessionId,
    },
    /// An operation ended.
    Ended {
        /// The operation.
        operation: OperationId,
        /// The call that it belongs to.
        call: CallKey,
        /// The MiniApp.
        app_scope: AppScope,
        /// How.
        end: OperationEnd,
    },
    /// Something that this version has no words for.
    Other,
}

/// Where a UI Action stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionState {
    /// Taken in, and not yet executed.
    Open,
    /// Executed.
    Done,
    /// Not executed.
    Failed(ErrorCode),
}

/// The time of a running operation, in milliseconds, when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its whole length.
    pub length_ms: u64,
    /// What is left of it.
    pub remaining_ms: u64,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CallEnd {
    /// The wall clock, in milliseconds since 1970 (UTC).
    pub at: i64,
    /// The class of its outcome.
    pub class: OutcomeClass,
    /// The result, of a completed one.
    pub result: Option<Value>,
    /// Why, of any other.
    pub error: Option<Fault>,
}

/// Which items are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Range {
    /// The newest ones, or those before a place.
    Before(Option<Seq>),
    /// Those after a place, oldest first.
    After(Seq),
    /// Those at these places.
    At(Vec<Seq>),
}

/// A conversation, and who is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationView {
    /// The conversation.
    pub conversation: ConversationId,
    /// Its title.
    pub title: String,
    /// Its agents, and what each of them may use here (INV-6).
    pub agents: Vec<AgentView>,
}

/// An agent of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentView {
    /// The agent.
    pub agent: AgentId,
    /// The tools that it sees, sorted by id.
    pub tools: Vec<ToolView>,
}

/// A tool, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolView {
    /// The tool.
    pub tool: ToolId,
    /// What it does, in its author's words.
    pub description: String,
}

/// An installed MiniApp, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppView {
    /// The MiniApp.
    pub app_scope: AppScope,
    /// Its name, in its author's words.
    pub title: String,
    /// Whether the policy lets it run.
    pub enabled: bool,
}

/// What people may read. Answers from what is durable.
#[async_trait]
pub trait Conversations: Send + Sync {
    /// The conversations, by id.
    ///
    /// # Errors
    /// `storage_unavailable`.
    async fn conversations(&self) -> Result<Vec<ConversationView>, Fault>;

    /// The installed MiniApps, by scope.
    ///
    /// # Errors
    /// `storage_unavailable`.
    async fn apps(&self) -> Result<Vec<AppView>, Fault>;

    /// Items of a conversation, at most `limit`: newest first for [`Range::Before`], oldest first
    /// otherwise. A place of another conversation is not found.
    ///
    /// # Errors
    /// `storage_unavailable`, `storage_corrupt`.
    async fn items(&self, conversation: &ConversationId, range: Range, limit: u32) -> Result<Vec<Item>, Fault>;

    /// The App sessions of a conversation, newest first, at most `limit` (SES-2).
    ///
    /// # Errors
    /// `storage_unavailable`, `storage_corrupt`.
    async fn sessions(&self, conversation: &ConversationId, limit: u32) -> Result<Vec<AppSession>, Fault>;

    /// Waits until something after this place is durable, and says up to which place. It may come
    /// late and never too early; `None` when the Runtime has stopped.
    async fn changed(&self, after: Seq) -> Option<Seq>;
}
