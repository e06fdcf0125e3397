//! What can go wrong in a handler, as an author sees it.

use lineup_model::{ErrorCode, message::Fault};

/// What a Tool's handler returns.
pub type ToolResult<T> = Result<T, SdkError>;

/// What a UI Action's handler returns.
pub type ActionResult = Result<(), SdkError>;

/// A request that the Runtime refused, or the handler's own failure.
///
/// Returned from a handler it ends the call: [`SdkError::failed`] as `tool_failed`,
/// [`SdkError::cancelled`] as cancelled. A refusal passed on with `?` ends it as `tool_failed` with
/// the refusal's code as reason, but for `storage_unavailable` and `workspace_moved`, after which
/// the handler is invoked again (DUR-4).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SdkError {
    /// The stable code (CALL-11).
    pub code: ErrorCode,
    /// A stable word that narrows the code down.
    pub reason: Option<String>,
    /// What happened, for people.
    pub message: String,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Author,
    Cancelled,
    Runtime,
}

impl SdkError {
    /// The handler's own failure: a stable word that programs can read, and a sentence for people.
    #[must_use]
    pub fn failed(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::ToolFailed,
            reason: Some(reason.into()),
            message: message.into(),
            origin: Origin::Author,
        }
    }

    /// The handler gave the call up; usually after [`crate::Call::cancelled`] resolved.
    #[must_use]
    pub fn cancelled(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self {
            code: ErrorCode::ToolFailed,
            message: format!("cancelled: {reason}"),
            reason: Some(reason),
            origin: Origin::Cancelled,
        }
    }

    pub(crate) const fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether the Runtime could not take the request now. Passed on with `?`, the handler is invoked
    /// again; there is nothing to clean up.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.origin == Origin::Runtime && matches!(self.code, ErrorCode::StorageUnavailable | ErrorCode::WorkspaceMoved)
    }

    /// The fault that ends the call.
    pub(crate) fn into_fault(self) -> Fault {
        match self.origin {
            Origin::Author | Origin::Cancelled => {
                Fault { code: self.code, reason: self.reason, message: self.message, pointer: None }
            }
            Origin::Runtime => Fault::new(ErrorCode::ToolFailed, self.message).because(self.code.as_str()),
        }
    }
}

impl From<Fault> for SdkError {
    fn from(fault: Fault) -> Self {
        Self { code: fault.code, reason: fault.reason, message: fault.message, origin: Origin::Runtime }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_passed_on_ends_the_call_as_tool_failed_with_its_code_as_reason() {
        let error = SdkError::from(Fault::new(ErrorCode::LifecycleDenied, "a focus period is running"));
        assert!(!error.is_transient());
        let fault = error.into_fault();
        assert_eq!((fault.code, fault.reason.as_deref()), (ErrorCode::ToolFailed, Some("lifecycle_denied")));
    }

    #[test]
    fn dur_4_a_store_that_is_away_for_a_moment_does_not_fail_the_call() {
        assert!(SdkError::from(Fault::new(ErrorCode::StorageUnavailable, "busy")).is_transient());
        assert!(!SdkError::failed("storage_unavailable", "the author's own word").is_transient());
    }
}
