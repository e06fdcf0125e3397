use lineup_model::MessageId;
use lineup_ports::inbound::{InboxMessage, MiniAppAnswer, MiniAppRequest};

use crate::{Sdk, SdkError, request};

/// The messages for this instance (SDK-2, DUR-3). New ones are handed to
/// [`crate::MiniApp::on_message`]; this handle is for looking at what is still unacknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Inbox<'sdk> {
    pub(super) sdk: &'sdk Sdk,
}

impl Inbox<'_> {
    /// Unacknowledged messages, oldest first, at most 100, at a higher position than `after`.
    ///
    /// # Errors
    /// `app_instance_not_found` once the instance has closed; `storage_unavailable`.
    pub async fn list(self, after: u64) -> Result<Vec<InboxMessage>, SdkError> {
        let read = |answer| {
            if let MiniAppAnswer::Inbox { messages } = answer { Some(messages) } else { None }
        };
        self.sdk.ask(MiniAppRequest::ListInbox { after }, read).await
    }

    /// Takes a message off the inbox. Doing it twice is doing it once.
    ///
    /// # Errors
    /// As [`Inbox::list`].
    pub async fn acknowledge(self, id: MessageId) -> Result<(), SdkError> {
        self.sdk.ask(MiniAppRequest::AcknowledgeInbox { id }, request::done).await
    }
}
