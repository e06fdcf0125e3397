//! Interact: the conversation itself, as a MiniApp (APP-1).
//!
//! The texts of the conversation come from the inbox, the person's own texts leave through
//! `sdk.conversation()`. What the view shows is kept in the session data, see [`timeline`].
use lineup_sdk::prelude::*;

pub mod timeline;

use timeline::{Delivery, Timeline};

/// A text that the person wrote.
#[derive(Deserialize, JsonSchema)]
pub struct SendText {
    /// The text.
    #[schemars(length(min = 1, max = 4000))]
    pub text: String,
    /// The view's own name of the text, under which it is shown at once and then marked as sent.
    #[schemars(length(min = 1, max = 64))]
    pub echo_id: String,
}

/// A text of the conversation, as the inbox brings it.
#[derive(Deserialize)]
struct Text {
    text: String,
}

define_agent_tools! {
    /// The Interact MiniApp.
    app Interact in "chat" {
        kind: system,
        subscriptions: ["message.text"],
    }

    /// Send a text of the person's to the agents of the conversation.
    action send_text(SendText) { handler: Interact::send_text }
}

impl Interact {
    /// Shows the text at once, sends it, and marks it. Every step can be run again: an echo that is
    /// there is not added twice, and the Runtime answers the named step `send` as it did before.
    async fn send_text(&self, sdk: &Sdk, action: Action<SendText>) -> ActionResult {
        let SendText { text, echo_id } = action.input;
        sdk.session().update("echo", |timeline: &mut Timeline| timeline.echo(&echo_id, &text)).await?;
        match sdk.conversation().send_text(text).step("send").await {
            Ok(message) => mark(sdk, "sent", &echo_id, Delivery::Sent { message: message.to_string() }).await,
            // The handler is invoked again: the text is still on its way.
            Err(error) if error.is_transient() => Err(error),
            Err(error) => {
                mark(sdk, "failed", &echo_id, Delivery::Failed { reason: error.code.to_string() }).await?;
                Err(error)
            }
        }
    }
}

async fn mark(sdk: &Sdk, step: &str, echo_id: &str, delivery: Delivery) -> ActionResult {
    sdk.session().update(step, |timeline: &mut Timeline| timeline.mark(echo_id, &delivery)).await?;
    Ok(())
}

impl MiniApp for Interact {
    async fn on_message(&self, sdk: &Sdk, message: &InboxMessage) -> Result<(), SdkError> {
        // A message of another type, or in a form of a later version, is acknowledged unread: it
        // would come for ever.
        let Ok(Text { text }) = Text::deserialize(&message.body) else {
            return Ok(());
        };
        let id = message.id.to_string();
        sdk.session().update("receive", |timeline: &mut Timeline| timeline.receive(&id, &text)).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
