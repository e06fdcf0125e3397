//! What a MiniApp may ask of the Runtime, and what it is answered (SDK-1 to SDK-9).

use lineup_model::{
    ActionId, AppScope, CallKey, ConversationId, Generation, InstanceId, MessageId, Method, OperationId, ToolId,
    WorkspaceId,
    message::{Fault, OutcomeClass, Progress},
};
use serde_json::Value;

/// Who asks. Built by the hosting adapter, never by app code (SDK-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MiniAppContext {
    /// The workspace that the instance runs in.
    pub workspace: WorkspaceId,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The instance.
    pub instance: InstanceId,
    /// The conversation that it runs in.
    pub conversation: ConversationId,
    /// What is being handled, when the request is made by a handler.
    pub work: Option<Work>,
}

/// What a handler was invoked for. Writes of an older generation are refused (DUR-4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A Tool Call.
    Call {
        /// The call.
        call: CallKey,
        /// Which delivery of it.
        generation: Generation,
    },
    /// A UI Action.
    Action {
        /// The action.
        action: ActionId,
        /// Which delivery of it.
        generation: Generation,
    },
}

/// The key of a write inside the handling of one call or action: its kind and a count, as in
/// `session.write#2`, or the name that the author gave it (DUR-4). 1 to 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step(pub String);

/// One request of a MiniApp. `step` is present when the request is made by a handler.
#[derive(Clone, Debug, PartialEq)]
pub enum MiniAppRequest {
    /// Reports progress of a call (CALL-12). Answer: [`MiniAppAnswer::Done`].
    ReportProgress {
        /// The call.
        call: CallKey,
        /// The key of the write.
        step: Option<Step>,
        /// The report.
        progress: Progress,
    },
    /// Completes a call; the output is checked against the tool's schema (CALL-6). Answer:
    /// [`MiniAppAnswer::Done`].
    Complete {
        /// The call.
        call: CallKey,
        /// Which delivery's result it is; `None` outside a handler.
        generation: Option<Generation>,
        /// The result.
        output: Value,
    },
    /// Ends a call as failed. Answer: [`MiniAppAnswer::Done`].
    Fail {
        /// The call.
        call: CallKey,
        /// Which delivery's result it is; `None` outside a handler.
        generation: Option<Generation>,
        /// Why. The code is the author's word; the Runtime sends `tool_failed` with its reason
        /// unless the code is one that a MiniApp may give.
        fault: Fault,
    },
    /// Ends a call as cancelled, as answer to the cancellation token or by the MiniApp's own will.
    /// Answer: [`MiniAppAnswer::Done`].
    Cancel {
        /// The call.
        call: CallKey,
        /// Which delivery's result it is; `None` outside a handler.
        generation: Option<Generation>,
        /// Why, for the agent.
        reason: Option<String>,
    },
    /// Ends a UI Action (UIA-1). Answer: [`MiniAppAnswer::Done`].
    ActionDone {
        /// The action.
        action: ActionId,
        /// Which delivery's result it is.
        generation: Generation,
        /// Why it failed; `None` when it succeeded.
        fault: Option<Fault>,
    },
    /// Reads one call of this instance. Answer: [`MiniAppAnswer::Call`].
    GetCall {
        /// The call.
        call: CallKey,
    },
    /// Reads the operations of this app in this conversation (SDK-8). Answer:
    /// [`MiniAppAnswer::Operations`].
    ListOperations,
    /// Reads the session data (SES-1). Answer: [`MiniAppAnswer::Session`].
    ReadSession,
    /// Replaces the session data: with the outcome inside a call's handler (CALL-6), at once elsewhere. Answer: [`MiniAppAnswer::Written`].
    WriteSession {
        /// The key of the write.
        step: Option<Step>,
        /// The revision that the author saw.
        base_revision: u64,
        /// The new data: a JSON object of at most [`lineup_model::limits::DOCUMENT_BYTES`].
        data: Value,
    },
    /// Patches what a Surface shows, at once (SUR-3, SDK-6). Answer: [`MiniAppAnswer::Updated`].
    UpdateSurface {
        /// The key of the write.
        step: Option<Step>,
        /// Which of the Surfaces that the manifest declares.
        surface: Method,
        /// The revision that the author saw; without one the patch goes onto whatever is there.
        base_revision: Option<u64>,
        /// A JSON Merge Patch (RFC 7396): an object.
        patch: Value,
    },
    /// Asks to come to the foreground (ACT-6, ACT-10). Answer: [`MiniAppAnswer::Done`].
    RequestForeground {
        /// The key of the write.
        step: Option<Step>,
    },
    /// Asks to leave the foreground. Answer: [`MiniAppAnswer::Done`].
    RequestBackground {
        /// The key of the write.
        step: Option<Step>,
    },
    /// Asks to be closed (ACT-7). Answer: [`MiniAppAnswer::Done`].
    RequestClose {
        /// The key of the write.
        step: Option<Step>,
    },
    /// Sends a text of the person's into the conversation; system MiniApps only (SDK-9). Answer:
    /// [`MiniAppAnswer::Sent`].
    SendText {
        /// The key of the write.
        step: Option<Step>,
        /// The text, at most [`lineup_model::limits::TEXT_BYTES`].
        text: String,
    },
    /// Reads the unacknowledged messages of the inbox, oldest first, at most 100 (DUR-3). Answer:
    /// [`MiniAppAnswer::Inbox`].
    ListInbox {
        /// Only messages at a higher position; 0 lists from the oldest.
        after: u64,
    },
    /// Takes a message off the inbox. An unknown or taken id changes nothing. Answer:
    /// [`MiniAppAnswer::Done`].
    AcknowledgeInbox {
        /// The message.
        id: MessageId,
    },
}

/// The Runtime's answer to a request that it granted.
#[derive(Clone, Debug, PartialEq)]
pub enum MiniAppAnswer {
    /// It is done and durable.
    Done,
    /// The session data.
    Session {
        /// Counts the writes; 0 before the first.
        revision: u64,
        /// The data; an empty object before the first write.
        data: Value,
    },
    /// The session data was written.
    Written {
        /// Its revision now.
        revision: u64,
    },
    /// What the Surface shows was changed, or was like this before.
    Updated {
        /// Its document's revision now.
        revision: u64,
    },
    /// The text is in the outbox.
    Sent {
        /// The message that carries it.
        message: MessageId,
    },
    /// Messages of the inbox, oldest first.
    Inbox {
        /// The messages.
        messages: Vec<InboxMessage>,
    },
    /// A call.
    Call(CallView),
    /// The operations, oldest first.
    Operations(Vec<OperationView>),
}

/// A message for a MiniApp (DUR-3).
#[derive(Clone, Debug, PartialEq)]
pub struct InboxMessage {
    /// Its id; the same on every delivery.
    pub id: MessageId,
    /// Its place in the inbox; grows.
    pub position: u64,
    /// Its type, one of the manifest's `subscriptions`, such as `message.text`.
    pub kind: String,
    /// Its content, as its type says.
    pub body: Value,
}

/// What a MiniApp may know of a call of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct CallView {
    /// The call.
    pub call: CallKey,
    /// Its tool.
    pub tool: ToolId,
    /// Its input.
    pub input: Value,
    /// How it ended; `None` while it is open.
    pub outcome: Option<OutcomeClass>,
    /// Whether its cancellation was asked for.
    pub cancelling: bool,
}

/// What a MiniApp may know of an operation (SDK-8): a projection that it shows and never counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationView {
    /// The operation.
    pub operation: OperationId,
    /// The call that it runs for.
    pub call: CallKey,
    /// Where it stands.
    pub state: OperationState,
    /// Its whole length in milliseconds, when it has a deadline.
    pub length_ms: Option<u64>,
    /// What was left of it when the answer was made, in milliseconds.
    pub remaining_ms: Option<u64>,
}

/// Where an operation stands (OP-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationState {
    /// It runs.
    Running,
    /// It reached its end.
    Completed,
    /// It was ended before.
    Interrupted,
    /// It failed.
    Failed,
}
