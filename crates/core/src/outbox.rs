//! Messages that an agent has not been shown to have (DUR-2).

use std::sync::Arc;

use lineup_model::{AgentId, MessageId, message::AgentMessage};
use serde::{Deserialize, Serialize};

use crate::Seq;

/// A message's place: the journal row that sends it, and its place in that row. First sends happen
/// in this order, per conversation and recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OutboxKey {
    /// The journal row.
    pub seq: Seq,
    /// The place among the row's messages, from 0.
    pub index: u32,
}

/// A message that is to be sent until AppServer acknowledges it. The body is the journal row's.
#[derive(Clone, Debug, PartialEq)]
pub struct OutboxRow {
    /// Its place.
    pub key: OutboxKey,
    /// The agent that gets it.
    pub recipient: AgentId,
    /// The message.
    pub message: Arc<AgentMessage>,
}

/// The place that a message id names, in the outbox or the inbox: the way back from
/// [`Seq::message_id`]. `None` if the id was never minted by a Runtime.
pub(crate) fn place(message: &MessageId) -> Option<OutboxKey> {
    let (seq, index) = message.as_str().strip_prefix('m')?.split_once('-')?;
    let key = OutboxKey { seq: Seq(seq.parse().ok()?), index: index.parse().ok()? };
    // One spelling only.
    (key.seq.message_id(key.index as usize) == *message).then_some(key)
}
