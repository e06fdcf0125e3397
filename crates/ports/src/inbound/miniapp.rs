//! What a MiniApp may ask of the Runtime (SDK-1 to SDK-9). The SDK speaks through this port; the
//! adapter that hosts the MiniApp hands it over together with the context, so that app code can
//! name no other instance, call or conversation.

use async_trait::async_trait;
pub use lineup_core::instance::InstanceState;
pub use lineup_core::miniapp::{
    CallView, InboxMessage, MiniAppAnswer, MiniAppContext, MiniAppRequest, OperationState, OperationView, Step, Work,
};
use lineup_model::message::Fault;

/// Takes the requests of MiniApps. Every write is a request; the Runtime decides (SDK-10).
#[async_trait]
pub trait MiniAppRequests: Send + Sync {
    /// Decides one request of the instance in `from` and answers once the decision is durable.
    ///
    /// Each request has one kind of answer, named at its variant. A write with a step that was used
    /// before in the same delivery's call or action gets the recorded answer again and changes
    /// nothing; with other content it is refused as `handler_diverged` and the call ends so (DUR-4).
    /// A write that was refused has used no step.
    /// Dropping the future does not take a request back.
    ///
    /// # Errors
    /// A stable code: among others `app_instance_not_found` (the instance has closed),
    /// `call_not_found` (the call is not this instance's), `call_already_final`,
    /// `session_revision_conflict`, `lifecycle_denied`, `capability_denied`, `payload_too_large`,
    /// `storage_unavailable` (nothing was changed; asking again is safe).
    async fn request(&self, from: MiniAppContext, request: MiniAppRequest) -> Result<MiniAppAnswer, Fault>;
}
