//! Messages for a MiniApp that it has not acknowledged (DUR-3).

use lineup_model::{AgentId, AppScope, ConversationId, InstanceId, Instant, MessageId};
use serde::{Deserialize, Serialize};

use crate::Seq;

/// A message for a MiniApp's instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxRow {
    /// Its place; also the order in which the instance gets it.
    pub seq: Seq,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The conversation.
    pub conversation: ConversationId,
    /// The instance.
    pub instance: InstanceId,
    /// When it came in.
    pub received: Instant,
    /// What it is.
    pub item: InboxItem,
    /// How often it was handed over without being acknowledged.
    pub attempts: u32,
    /// Whether it was given up after its attempts; shown to the user, never in the way of others.
    pub parked: bool,
}

/// What a message for a MiniApp is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InboxItem {
    /// A text of an agent's in the conversation.
    Text {
        /// The agent.
        from: AgentId,
        /// The envelope that brought it; the same envelope twice is one message.
        message: MessageId,
        /// The text.
        text: String,
    },
}
