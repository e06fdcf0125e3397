//! The task that listens to the link on behalf of an agent.

use std::sync::Arc;

use lineup_link::Event;
use lineup_model::AgentId;
use lineup_wire::{decode_reply, relay::Party};
use tokio::sync::oneshot;

use crate::{AgentError, Connection, Inner};

/// Listens until the connection has ended for good.
pub(crate) async fn run(inner: Arc<Inner>, identity: oneshot::Sender<AgentId>) {
    let mut identity = Some(identity);
    let error = listen(&inner, &mut identity).await;
    // In this order: whoever is told that it is over finds out why.
    inner.connection.send_replace(Connection::Ended(error));
    inner.state.end();
    drop(identity);
}

async fn listen(inner: &Inner, identity: &mut Option<oneshot::Sender<AgentId>>) -> AgentError {
    loop {
        let event = match inner.link.next().await {
            Ok(event) => event,
            Err(error) => return AgentError::Link(error),
        };
        match event {
            Event::Connected { identity: Party::Runtime, .. } => return AgentError::NotAnAgent,
            Event::Connected { connection, identity: Party::Agent(id) } => {
                inner.connection.send_replace(Connection::Up);
                if let Err(error) = inner.link.send(connection, inner.state.resend(connection)).await {
                    return AgentError::Link(error);
                }
                if let Some(identity) = identity.take() {
                    // The caller of `connect` may have gone; then the task is about to be ended.
                    let _ = identity.send(id);
                }
            }
            Event::Disconnected { reason } => {
                tracing::debug!(reason, "the agent is offline");
                inner.connection.send_replace(Connection::Down);
            }
            Event::Acknowledged(id) => inner.state.safe(&id),
            Event::Refused(id, reason) => inner.state.undeliverable(id, reason),
            Event::Delivered { token, from, payload, .. } => {
                take_in(inner, &from, &payload).await;
                if let Err(error) = inner.link.acknowledge(vec![token]).await {
                    return AgentError::Link(error);
                }
            }
        }
    }
}

async fn take_in(inner: &Inner, from: &Party, payload: &[u8]) {
    let reply = match decode_reply(payload) {
        Ok(reply) if *from == Party::Runtime => reply,
        refused => {
            tracing::warn!(%from, error = ?refused.err(), "an envelope that is no reply is ignored");
            return inner.state.count(|counters| counters.malformed += 1);
        }
    };
    if let Some(message) = inner.state.reply(reply)
        && let Some(incoming) = inner.state.incoming()
    {
        // A subscriber that has gone wants nothing.
        let _ = incoming.send(message).await;
    }
}
