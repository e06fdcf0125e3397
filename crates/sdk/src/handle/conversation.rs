use lineup_model::MessageId;
use lineup_ports::inbound::{MiniAppAnswer, MiniAppRequest};

use crate::{Request, Sdk};

/// The conversation, for system MiniApps (SDK-9).
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'sdk> {
    pub(super) sdk: &'sdk Sdk,
}

impl Conversation<'_> {
    /// Sends a text of the person's to the agents of the conversation, at most 16 KiB. Answers with
    /// the message that carries it once the text is in the outbox (DUR-2).
    pub fn send_text(self, text: impl Into<String>) -> Request<MessageId> {
        let text = text.into();
        Request::new(
            self.sdk,
            "conversation.send_text",
            |answer| {
                if let MiniAppAnswer::Sent { message } = answer { Some(message) } else { None }
            },
            |step| Ok(MiniAppRequest::SendText { step, text }),
        )
    }
}
