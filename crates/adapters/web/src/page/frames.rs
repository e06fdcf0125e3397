//! What crosses on `/page`: the frames of `docs/host.md`, as they are written.
//!
//! The page's own types are generated from these (`cargo xtask ui types`).

use lineup_core::{
    operation::{By, OperationEnd},
    session::{AppSession, Run},
};
use lineup_model::{
    ActionId, AgentId, AppScope, AppSessionId, CallId, CallKey, ConversationId, ErrorCode, InstanceId, OperationId,
    ToolId,
    message::{OutcomeClass, Stage},
};
use lineup_ports::inbound::{AppView, Running, ToolView};
use serde::Serialize;
use serde_json::Value;

/// What the Runtime says to the page without being asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum PageDown {
    /// All that the rail shows: said at once, and again when it has changed.
    State(State),
    /// Items of the followed conversation that are new or have changed, oldest first.
    Items(Items),
}

/// Everything, never a difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct State {
    /// The conversations, by id.
    pub conversations: Vec<Conversation>,
    /// The installed MiniApps, by scope.
    pub apps: Vec<App>,
}

/// A conversation, and who is in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Conversation {
    #[cfg_attr(test, ts(type = "string"))]
    pub conversation: ConversationId,
    pub title: String,
    pub agents: Vec<Agent>,
}

/// An agent of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Agent {
    #[cfg_attr(test, ts(type = "string"))]
    pub agent: AgentId,
    /// Whether it can be reached now.
    pub connected: bool,
    /// What it is allowed to see here (INV-6).
    pub tools: Vec<Tool>,
}

/// A tool, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Tool {
    #[cfg_attr(test, ts(type = "string"))]
    pub tool: ToolId,
    /// What it does, in its author's words.
    pub description: String,
}

/// An installed MiniApp, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct App {
    #[cfg_attr(test, ts(type = "string"))]
    pub app_scope: AppScope,
    /// Its name, in its author's words.
    pub title: String,
    /// Whether the policy lets it run.
    pub enabled: bool,
}

/// Items of one conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Items {
    #[cfg_attr(test, ts(type = "string"))]
    pub conversation: ConversationId,
    pub items: Vec<Item>,
}

/// The `value` of the answer to `follow` and to `history`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(optional_fields))]
pub(crate) struct Page {
    /// Oldest first.
    pub items: Vec<Item>,
    /// Whether there are older ones; missing where `after` was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older: Option<bool>,
}

/// One thing that people see in a conversation. `place` names it for ever and orders it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Item {
    pub place: u64,
    /// The wall clock, in milliseconds since 1970 (UTC).
    pub at: i64,
    #[serde(flatten)]
    pub what: What,
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(optional_fields))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum What {
    /// An agent said something.
    AgentText {
        #[cfg_attr(test, ts(type = "string"))]
        agent: AgentId,
        text: String,
        /// The text as Markdown, rendered and cleaned: the only markup that the page puts into its document.
        html: String,
    },
    /// The user said something.
    UserText {
        #[cfg_attr(test, ts(type = "string"))]
        action_id: ActionId,
        text: String,
        html: String,
        delivery: Delivery,
        /// Why it failed.
        #[cfg_attr(test, ts(optional, type = "string"))]
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<ErrorCode>,
    },
    /// An agent called a tool.
    Call(Box<Call>),
    /// A MiniApp was opened.
    Opened(Life),
    /// A MiniApp was closed.
    Closed(Life),
    /// An operation ended.
    Ended {
        #[cfg_attr(test, ts(type = "string"))]
        app_scope: AppScope,
        #[cfg_attr(test, ts(type = "string"))]
        call: CallKey,
        end: Ending,
    },
    /// Something that this version has no words for.
    Other,
}

/// Where a text of the user's stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Delivery {
    /// Taken in.
    Sending,
    /// On its way to the agents.
    Sent,
    /// Not sent.
    Failed,
}

/// A call of an agent's, as far as it has come.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(optional_fields))]
pub(crate) struct Call {
    /// The Runtime's name for it.
    #[cfg_attr(test, ts(type = "string"))]
    pub call: CallKey,
    /// The agent's name for it.
    #[cfg_attr(test, ts(type = "string"))]
    pub call_id: CallId,
    #[cfg_attr(test, ts(type = "string"))]
    pub agent: AgentId,
    #[cfg_attr(test, ts(type = "string"))]
    pub app_scope: AppScope,
    #[cfg_attr(test, ts(type = "string"))]
    pub tool: ToolId,
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub input: Value,
    /// The last receipt, while it is open.
    #[cfg_attr(test, ts(as = "Option<StageWord>"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Its running operation, when this was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// The time of a running operation, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Time {
    /// Its whole length.
    pub length_ms: u64,
    /// What is left of it.
    pub remaining_ms: u64,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(optional_fields))]
pub(crate) struct End {
    pub at: i64,
    #[cfg_attr(test, ts(as = "StatusWord"))]
    pub status: OutcomeClass,
    /// Of a completed one.
    #[cfg_attr(test, ts(optional, type = "unknown"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Of any other.
    #[cfg_attr(test, ts(optional, type = "string"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A run of a MiniApp that begins or is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Life {
    #[cfg_attr(test, ts(type = "string"))]
    pub instance: InstanceId,
    #[cfg_attr(test, ts(type = "string"))]
    pub app_scope: AppScope,
    /// The App session, which `session` asks for.
    #[cfg_attr(test, ts(type = "string"))]
    pub session: AppSessionId,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "how", rename_all = "snake_case")]
pub(crate) enum Ending {
    /// It ran to its end, which was noticed so much later.
    Completed { late_by_ms: u64 },
    /// Someone stopped it.
    Interrupted {
        #[cfg_attr(test, ts(as = "ByWord"))]
        by: By,
    },
    /// Its call failed.
    Failed,
}

/// The `value` of the answer to `session`: what people may see of one run of a MiniApp (SES-2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(optional_fields))]
pub(crate) struct Session {
    #[cfg_attr(test, ts(type = "string"))]
    pub session: AppSessionId,
    #[cfg_attr(test, ts(type = "string"))]
    pub conversation: ConversationId,
    #[cfg_attr(test, ts(type = "string"))]
    pub app_scope: AppScope,
    #[cfg_attr(test, ts(type = "string"))]
    pub instance: InstanceId,
    /// The wall clock, in milliseconds since 1970 (UTC), as of every moment here.
    pub opened: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<i64>,
    /// Its last operations, oldest first.
    pub runs: Vec<SessionRun>,
}

/// One operation of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(optional_fields))]
pub(crate) struct SessionRun {
    #[cfg_attr(test, ts(type = "string"))]
    pub operation: OperationId,
    pub started: i64,
    /// Missing while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Ending>,
}

/// One entry of `GET /surfaces`; its document is at `/surface/{app_scope}/{surface}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Surface {
    pub app_scope: String,
    pub surface: String,
}

impl From<ToolView> for Tool {
    fn from(ToolView { tool, description }: ToolView) -> Self {
        Self { tool, description }
    }
}

impl From<AppView> for App {
    fn from(AppView { app_scope, title, enabled }: AppView) -> Self {
        Self { app_scope, title, enabled }
    }
}

impl From<Running> for Time {
    fn from(Running { length_ms, remaining_ms }: Running) -> Self {
        Self { length_ms, remaining_ms }
    }
}

impl From<OperationEnd> for Ending {
    fn from(end: OperationEnd) -> Self {
        match end {
            OperationEnd::Completed { late_by_ms, .. } => Self::Completed { late_by_ms },
            OperationEnd::Interrupted { by } => Self::Interrupted { by },
            OperationEnd::Failed => Self::Failed,
        }
    }
}

impl From<AppSession> for Session {
    fn from(session: AppSession) -> Self {
        let AppSession { id, conversation, app_scope, instance, opened, closed, runs } = session;
        let run = |Run { operation, started, end }: Run| SessionRun {
            operation,
            started: started.wall.0,
            end: end.map(Ending::from),
        };
        Self {
            session: id,
            conversation,
            app_scope,
            instance,
            opened: opened.wall.0,
            closed: closed.map(|closed| closed.wall.0),
            runs: runs.into_iter().map(run).collect(),
        }
    }
}

/// The words of the model's own types, for the page.
#[cfg(test)]
pub(crate) use words::{ByWord, StageWord, StatusWord};

#[cfg(test)]
mod words {
    use serde::Serialize;

    #[derive(Serialize, ts_rs::TS)]
    #[serde(rename_all = "snake_case")]
    #[ts(rename = "Stage")]
    #[allow(dead_code, reason = "for its words only")]
    pub(crate) enum StageWord {
        Accepted,
        Starting,
        ActivationReady,
        Started,
        App,
        ActivationFailed,
        ActivationCancelled,
    }

    #[derive(Serialize, ts_rs::TS)]
    #[serde(rename_all = "snake_case")]
    #[ts(rename = "Status")]
    #[allow(dead_code, reason = "for its words only")]
    pub(crate) enum StatusWord {
        Completed,
        Failed,
        Cancelled,
        Expired,
        Rejected,
    }

    #[derive(Serialize, ts_rs::TS)]
    #[serde(rename_all = "snake_case")]
    #[ts(rename = "By")]
    #[allow(dead_code, reason = "for its words only")]
    pub(crate) enum ByWord {
        Agent,
        Left,
    }
}
