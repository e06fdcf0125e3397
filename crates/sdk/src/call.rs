//! What a handler is given: one call of a Tool, or one UI Action.

use lineup_model::{ActionId, CallKey, Generation, message::Progress};
use lineup_ports::inbound::MiniAppRequest;
use serde_json::Value;

use crate::{Request, Sdk, cancel, request};

/// One Tool Call, with its checked input.
#[derive(Clone, Debug)]
pub struct Call<T> {
    /// What the agent asked for; it fits the declared input type.
    pub input: T,
    /// The Runtime's name of the call. The agent's own id of it is not shown to a MiniApp.
    pub key: CallKey,
    pub(crate) generation: Generation,
    pub(crate) attempt: u32,
    pub(crate) token: cancel::Token,
    pub(crate) sdk: Sdk,
}

impl<T> Call<T> {
    /// Counts the invocations of the handler for this call: 1, at most 3 (DUR-4). A higher one means
    /// that an earlier run was cut off; its writes stand, and its steps answer as they did.
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Tells the agent where the work stands: a short word and free detail of at most 8 KiB
    /// (CALL-12). Detail that is not needed is `None`.
    pub fn progress(&self, label: impl Into<String>, detail: impl Into<Option<Value>>) -> Request<()> {
        let (call, progress) = (self.key.clone(), Progress { label: label.into(), detail: detail.into() });
        Request::new(&self.sdk, "call.progress", request::done, |step| {
            Ok(MiniAppRequest::ReportProgress { call, step, progress })
        })
    }

    /// Resolves once the call is to be cancelled: the handler has 5 seconds to return, then it is
    /// dropped at its next `await`.
    #[must_use]
    pub fn cancelled(&self) -> cancel::Cancelled {
        self.token.cancelled()
    }

    /// Whether the call is to be cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(crate) fn with<U>(self, input: U) -> Call<U> {
        let Self { input: _, key, generation, attempt, token, sdk } = self;
        Call { input, key, generation, attempt, token, sdk }
    }
}

/// One UI Action: a request of the user's, made in the MiniApp's own UI (UIA-1).
#[derive(Clone, Debug)]
pub struct Action<T> {
    /// What the user asked for; it fits the declared input type.
    pub input: T,
    /// The action's name.
    pub id: ActionId,
    pub(crate) attempt: u32,
    pub(crate) token: cancel::Token,
}

impl<T> Action<T> {
    /// See [`Call::attempt`].
    #[must_use]
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// See [`Call::cancelled`].
    #[must_use]
    pub fn cancelled(&self) -> cancel::Cancelled {
        self.token.cancelled()
    }

    /// See [`Call::is_cancelled`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(crate) fn with<U>(self, input: U) -> Action<U> {
        let Self { input: _, id, attempt, token } = self;
        Action { input, id, attempt, token }
    }
}
