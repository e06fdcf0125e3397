//! Everything that can happen to a workspace: a closed list. The three entries are three variants
//! with three types; none can be built from another (ENT-1).

use std::sync::Arc;

use lineup_model::{
    ActionId, ActivationId, AgentId, CallId, ConversationId, HostSessionId, InstanceId, IntentId, Manifest, MessageId,
    Method, Revision, ToolId, Wall,
};
use serde_json::Value;

use crate::{
    miniapp::{MiniAppContext, MiniAppRequest},
    policy::{Conversation, HostProfile, Policy},
};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A remote agent's request.
    Agent(AgentInput),
    /// The user's request in a MiniApp's own UI.
    UiAction(UiActionInput),
    /// A local fact about what the user did in the shell.
    HostIntent(HostIntentInput),
    /// What a Host reports about itself and about what it shows.
    HostReport(HostReport),
    /// What a MiniApp asks, through the SDK.
    MiniApp(MiniAppInput),
    /// What the adapter that hosts MiniApps reports about one.
    App(AppReport),
    /// What AppServer reports about a message.
    Transport(TransportReport),
    /// What the owner of the workspace sets up.
    Setup(Setup),
    /// Time passed.
    Clock,
    /// The Runtime came up with these MiniApps.
    Recovered {
        /// The verified manifests of the MiniApps that it hosts.
        manifests: Vec<Arc<Manifest>>,
    },
}

/// A remote agent's request. The agent is AppServer's word, never the payload's (WIRE-4).
#[derive(Clone, Debug, PartialEq)]
pub struct AgentInput {
    /// The agent.
    pub agent: AgentId,
    /// The envelope.
    pub message: MessageId,
    /// The conversation that it names.
    pub conversation: ConversationId,
    /// What it asks.
    pub request: AgentRequest,
}

/// What an agent can ask.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentRequest {
    /// Joins the conversation; answered by the inventory and the latest word on open calls.
    Hello,
    /// Calls a tool.
    Invoke {
        /// The agent's id of the call.
        call_id: CallId,
        /// The tool.
        tool: ToolId,
        /// Its input, an object.
        input: Arc<Value>,
        /// The inventory that the agent chose from.
        revision: Revision,
        /// When the call is of no use any more.
        expires_at: Option<Wall>,
    },
    /// Asks for the latest word on a call.
    Status {
        /// The agent's id of the call.
        call_id: CallId,
    },
    /// Asks to cancel an unfinished call of its own (CALL-10).
    Cancel {
        /// The agent's id of the call.
        call_id: CallId,
    },
    /// Says something in the conversation.
    Text {
        /// The text.
        text: String,
    },
}

/// The user's request in a MiniApp's own UI (UIA-1).
#[derive(Clone, Debug, PartialEq)]
pub struct UiActionInput {
    /// The Host session in which the view is.
    pub session: HostSessionId,
    /// Whose view it is: bound by the adapter, never taken from a payload.
    pub view: View,
    /// The view's id of the action.
    pub action_id: ActionId,
    /// The declared action.
    pub method: Method,
    /// Its input.
    pub input: Arc<Value>,
}

/// Whose view a UI Action comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// The Surface of this instance.
    Surface(InstanceId),
    /// The trusted view of this conversation's Interact.
    Interact(ConversationId),
}

/// What the user did in the shell (HST-1, HST-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostIntentInput {
    /// The Host session.
    pub session: HostSessionId,
    /// The Host's id of the intent; a repeat changes nothing.
    pub intent_id: IntentId,
    /// What it was.
    pub intent: Intent,
}

/// The local facts that a Host reports. The first three are leaving, the others are not (HST-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// The user went to Interact or to another instance.
    Switch {
        /// Where to; `None` is Interact.
        to: Option<InstanceId>,
    },
    /// The user went back.
    Back,
    /// The user closed an instance.
    Close {
        /// Which.
        instance: InstanceId,
    },
    /// The page or window is hidden.
    Hide,
    /// The screen is locked.
    Lock,
    /// The machine goes to sleep.
    Sleep,
    /// The machine, page or screen is back.
    Resume,
}

/// What a Host reports about itself and about what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostReport {
    /// The Host session.
    pub session: HostSessionId,
    /// What it reports.
    pub report: Report,
}

/// A Host's report. A report about an attempt that is over changes nothing (HST-3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The session is there, and visible or not.
    Connected {
        /// Whether the user can see it.
        visible: bool,
    },
    /// The session is gone: it reloaded, closed or lost its connection. Not leaving.
    Disconnected,
    /// The session came into view, or went out of it. Not leaving.
    Visible(bool),
    /// The instance of this activation is in the foreground.
    Foreground {
        /// The attempt that the Host was asked for.
        activation: ActivationId,
    },
    /// The instance of this activation cannot be shown.
    Failed {
        /// The attempt that the Host was asked for.
        activation: ActivationId,
    },
    /// The Surface of this instance has done its handshake.
    SurfaceReady {
        /// The instance.
        instance: InstanceId,
    },
    /// The Surface of this instance is gone: it reloaded or crashed.
    SurfaceGone {
        /// The instance.
        instance: InstanceId,
    },
}

/// What a MiniApp asks, through the SDK.
#[derive(Clone, Debug, PartialEq)]
pub struct MiniAppInput {
    /// Who asks: built by the hosting adapter.
    pub from: MiniAppContext,
    /// What it asks.
    pub request: MiniAppRequest,
}

/// What the hosting adapter reports about an instance's MiniApp. `launch` names the start that it
/// belongs to; a report about an older one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppReport {
    /// The instance.
    pub instance: InstanceId,
    /// Which start of it.
    pub launch: u32,
    /// What happened.
    pub happened: AppHappened,
}

/// What happened to an instance's MiniApp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppHappened {
    /// It is being started.
    Starting,
    /// It reported ready.
    Ready,
    /// It could not be started, or it stopped.
    Stopped {
        /// Why, for people.
        reason: String,
    },
}

/// What AppServer reports about a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportReport {
    /// AppServer has taken responsibility for it.
    Acknowledged(MessageId),
    /// AppServer will never take it.
    Undeliverable {
        /// The message.
        message: MessageId,
        /// Why, for people.
        reason: String,
    },
}

/// What the owner of the workspace sets up.
#[derive(Clone, Debug, PartialEq)]
pub enum Setup {
    /// Creates or changes a conversation and who is in it.
    Conversation(Conversation),
    /// Pairs a Host, or changes what the paired Hosts can do.
    Pair(HostProfile),
    /// Replaces the policy.
    Policy(Policy),
}
