//! What comes in without having been asked for.

use std::sync::Arc;

use lineup_model::{CallId, ConversationId, Inventory, MessageId, message::Refusal};
use tokio::sync::mpsc;

use crate::Event;

/// One thing that came in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// A person said something.
    Text {
        /// Where.
        conversation: ConversationId,
        /// The envelope's id; a text comes once.
        id: MessageId,
        /// What.
        text: String,
    },
    /// A newer inventory was adopted (INV-7).
    Inventory {
        /// Where.
        conversation: ConversationId,
        /// Its place among the publications.
        sequence: u64,
        /// The tools.
        inventory: Arc<Inventory>,
    },
    /// Something happened to a call that this handle does not follow: the agent made it before this
    /// program was restarted, or over another connection. [`crate::Agent::status`] follows it.
    Call {
        /// Where.
        conversation: ConversationId,
        /// Which.
        call_id: CallId,
        /// What; it may come more than once.
        event: Event,
    },
    /// A request was refused for which nobody waits any more, such as a text.
    Refused {
        /// Where.
        conversation: ConversationId,
        /// Which, and why.
        refusal: Refusal,
    },
}

/// A subscription to what comes in. See [`crate::Agent::incoming`].
pub struct Incoming(pub(crate) mpsc::Receiver<Message>);

impl Incoming {
    /// The next thing; `None` once the connection has ended or a newer subscriber took over.
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Message> {
        self.0.recv().await
    }
}
