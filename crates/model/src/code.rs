//! The stable codes of contract CALL-11: what went wrong, in one word that never changes.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// Why something was refused or failed (CALL-11). Codes are never renamed; each has a page
        /// in `docs/errors`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code as it is written on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

codes! {
    /// The envelope cannot be read; the reason says what is wrong with it.
    EnvelopeInvalid = "envelope_invalid",
    /// The sender is not an agent of this conversation.
    AgentUnauthorized = "agent_unauthorized",
    /// The conversation does not exist here.
    ConversationNotFound = "conversation_not_found",
    /// The call was made against another inventory than the current one.
    InventoryRevisionMismatch = "inventory_revision_mismatch",
    /// The tool is not in this agent's inventory.
    ToolNotAdvertised = "tool_not_advertised",
    /// The input does not fit the tool's input schema.
    ToolInputInvalid = "tool_input_invalid",
    /// The MiniApp's result does not fit the tool's output schema.
    ToolOutputInvalid = "tool_output_invalid",
    /// The MiniApp reported a failure.
    ToolFailed = "tool_failed",
    /// The call id is in use for another content.
    CallIdConflict = "call_id_conflict",
    /// The call has its outcome already.
    CallAlreadyFinal = "call_already_final",
    /// There is no such call.
    CallNotFound = "call_not_found",
    /// The tool does not let the agent cancel its calls.
    CallNotCancellable = "call_not_cancellable",
    /// The call's time was over before it ended.
    CallExpired = "call_expired",
    /// The MiniApp was disabled while the call was open.
    AppDisabled = "app_disabled",
    /// There is no such instance.
    AppInstanceNotFound = "app_instance_not_found",
    /// The thing belongs to another app scope.
    AppScopeMismatch = "app_scope_mismatch",
    /// The MiniApp could not be brought up.
    AppActivationFailed = "app_activation_failed",
    /// Bringing the MiniApp up was cancelled.
    AppActivationCancelled = "app_activation_cancelled",
    /// The MiniApp did not handle the call in the allowed number of attempts.
    AppDeliveryExhausted = "app_delivery_exhausted",
    /// A handler that ran again asked for something else under a step key it had used.
    HandlerDiverged = "handler_diverged",
    /// The state of the instance or of an operation forbids it.
    LifecycleDenied = "lifecycle_denied",
    /// No Host is connected that could show the MiniApp.
    HostUnavailable = "host_unavailable",
    /// The capability is not granted.
    CapabilityDenied = "capability_denied",
    /// The manifest declares no such UI Action.
    UiActionNotDeclared = "ui_action_not_declared",
    /// The UI Action's input does not fit its schema.
    UiActionInvalid = "ui_action_invalid",
    /// The interaction request or answer is malformed.
    InteractionInvalid = "interaction_invalid",
    /// There is no such interaction for this owner.
    InteractionNotFound = "interaction_not_found",
    /// The interaction is over.
    InteractionAlreadyFinal = "interaction_already_final",
    /// There is no such Surface for this owner.
    SurfaceNotFound = "surface_not_found",
    /// The Surface did not answer in time.
    SurfaceTimeout = "surface_timeout",
    /// The Surface patch cannot be applied.
    SurfacePatchInvalid = "surface_patch_invalid",
    /// The session data has moved on since the revision that the write names.
    SessionRevisionConflict = "session_revision_conflict",
    /// An operation that excludes this one is running.
    OperationConflict = "operation_conflict",
    /// The deadline is not a length of time that can be kept.
    DeadlineInvalid = "deadline_invalid",
    /// The payload is over its limit.
    PayloadTooLarge = "payload_too_large",
    /// Too many requests in too short a time, or a full queue.
    RateLimited = "rate_limited",
    /// Another process owns the workspace now.
    WorkspaceMoved = "workspace_moved",
    /// The store cannot take the change now; nothing was changed.
    StorageUnavailable = "storage_unavailable",
    /// The store holds something that cannot be read.
    StorageCorrupt = "storage_corrupt",
    /// A fault of the Runtime's own.
    Internal = "internal",
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for ErrorCode {
    type Err = UnknownCode;
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text).ok_or(UnknownCode)
    }
}

/// The text is none of the stable codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not one of the stable codes")]
pub struct UnknownCode;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_11_every_code_reads_back_as_itself() {
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
        assert_eq!(ErrorCode::ALL.len(), 40);
    }
}
