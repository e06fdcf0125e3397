//! The append-only journal: one row per fact that changed, which is also the audit (DUR-5).

use std::sync::Arc;

use lineup_model::{CallKey, ConversationId, ErrorCode, Instant, message::AgentMessage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Seq, call::CallFacts};

/// Which entry an input came through (DUR-5). Set by the variant of the input, never by a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A remote agent's envelope.
    AgentTool,
    /// The user, in a MiniApp's own UI.
    UiAction,
    /// A Host's report of a local fact.
    HostLifecycle,
    /// A MiniApp, through the SDK.
    Miniapp,
    /// The Runtime itself: time, recovery, set-up.
    Runtime,
}

impl Source {
    /// The word on disk.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentTool => "agent_tool",
            Self::UiAction => "ui_action",
            Self::HostLifecycle => "host_lifecycle",
            Self::Miniapp => "miniapp",
            Self::Runtime => "runtime",
        }
    }
}

/// What a row says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    /// A call was accepted.
    CallAccepted,
    /// A call that waited was handed to its MiniApp, or was handed to it again.
    CallDelivered,
    /// A call's MiniApp reported progress, or its activation stands.
    CallProgressed,
    /// A call got its outcome.
    CallEnded,
    /// A UI Action was accepted.
    ActionAccepted,
    /// A UI Action was handed to its MiniApp again.
    ActionDelivered,
    /// A UI Action was executed, or failed.
    ActionEnded,
    /// An instance was created.
    InstanceOpened,
    /// An instance changed its state.
    InstanceMoved,
    /// An instance was closed.
    InstanceClosed,
    /// An activation began.
    ActivationStarted,
    /// An activation ended: ready, failed or cancelled.
    ActivationEnded,
    /// An operation began.
    OperationStarted,
    /// An operation ended.
    OperationEnded,
    /// The focus stack changed.
    FocusMoved,
    /// A Host intent was carried out.
    IntentDone,
    /// Session data was written.
    SessionDataWritten,
    /// What a Surface shows was changed.
    SurfaceUpdated,
    /// A message for a MiniApp was taken in.
    InboxReceived,
    /// A MiniApp acknowledged a message.
    InboxAcknowledged,
    /// A message for a MiniApp was parked after its attempts.
    InboxParked,
    /// A text was sent to the agents of a conversation.
    TextSent,
    /// An inventory was published.
    InventoryPublished,
    /// The MiniApps of this Runtime changed.
    AppsRegistered,
    /// A conversation was created or changed.
    ConversationChanged,
    /// The paired Hosts' capability profile changed.
    HostPaired,
    /// The policy changed.
    PolicyChanged,
    /// A message that can never be delivered was given up.
    MessageDead,
    /// The Runtime came back up.
    Recovered,
}

impl Happened {
    /// The word on disk.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CallAccepted => "call_accepted",
            Self::CallDelivered => "call_delivered",
            Self::CallProgressed => "call_progressed",
            Self::CallEnded => "call_ended",
            Self::ActionAccepted => "action_accepted",
            Self::ActionDelivered => "action_delivered",
            Self::ActionEnded => "action_ended",
            Self::InstanceOpened => "instance_opened",
            Self::InstanceMoved => "instance_moved",
            Self::InstanceClosed => "instance_closed",
            Self::ActivationStarted => "activation_started",
            Self::ActivationEnded => "activation_ended",
            Self::OperationStarted => "operation_started",
            Self::OperationEnded => "operation_ended",
            Self::FocusMoved => "focus_moved",
            Self::IntentDone => "intent_done",
            Self::SessionDataWritten => "session_data_written",
            Self::SurfaceUpdated => "surface_updated",
            Self::InboxReceived => "inbox_received",
            Self::InboxAcknowledged => "inbox_acknowledged",
            Self::InboxParked => "inbox_parked",
            Self::TextSent => "text_sent",
            Self::InventoryPublished => "inventory_published",
            Self::AppsRegistered => "apps_registered",
            Self::ConversationChanged => "conversation_changed",
            Self::HostPaired => "host_paired",
            Self::PolicyChanged => "policy_changed",
            Self::MessageDead => "message_dead",
            Self::Recovered => "recovered",
        }
    }
}

/// Who is behind an input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The entry.
    pub source: Source,
    /// The agent, Host session or app scope; `runtime` for the Runtime itself.
    pub actor: Arc<str>,
}

impl Origin {
    /// An origin.
    #[must_use]
    pub fn new(source: Source, actor: &str) -> Self {
        Self { source, actor: Arc::from(actor) }
    }

    /// The Runtime itself.
    #[must_use]
    pub fn runtime() -> Self {
        Self::new(Source::Runtime, "runtime")
    }
}

/// One row of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalRow {
    /// Its place.
    pub seq: Seq,
    /// The entry that caused it.
    pub origin: Origin,
    /// What happened.
    pub happened: Happened,
    /// The id of the thing that it happened to, of whatever kind `happened` implies.
    pub subject: Arc<str>,
    /// The call that it belongs to, if any.
    pub call: Option<CallKey>,
    /// The conversation in whose history people see it, for the kinds of rows that they see.
    pub conversation: Option<ConversationId>,
    /// The row before this one that belongs to the same call: the story of a call is a chain.
    pub previous: Option<Seq>,
    /// The code, if something was refused or failed.
    pub code: Option<ErrorCode>,
    /// When, on both time lines.
    pub at: Instant,
    /// What is kept of it.
    pub body: Body,
}

/// What a row keeps. Each body is stored once; everything else refers to the row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The accepted call, with [`Happened::CallAccepted`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Arc<CallFacts>>,
    /// What it tells agents; each is also put into the outbox.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Addressed>,
    /// A few words more, for the reader of the audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

/// A message and the agent it is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Addressed {
    /// The agent.
    pub recipient: lineup_model::AgentId,
    /// The message.
    pub message: Arc<AgentMessage>,
}
