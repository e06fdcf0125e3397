use lineup_ports::inbound::{MiniAppAnswer, MiniAppRequest, OperationView};

use crate::{Sdk, SdkError};

/// The operations of this app in this conversation: a projection to show (SDK-8, OP-1).
#[derive(Clone, Copy, Debug)]
pub struct Operations<'sdk> {
    pub(super) sdk: &'sdk Sdk,
}

impl Operations<'_> {
    /// The operations, oldest first. What is left of a deadline is the Runtime's word; nothing here
    /// is counted down by the MiniApp.
    ///
    /// # Errors
    /// `app_instance_not_found` once the instance has closed; `storage_unavailable`.
    pub async fn list(self) -> Result<Vec<OperationView>, SdkError> {
        let read = |answer| {
            if let MiniAppAnswer::Operations(views) = answer { Some(views) } else { None }
        };
        self.sdk.ask(MiniAppRequest::ListOperations, read).await
    }
}
