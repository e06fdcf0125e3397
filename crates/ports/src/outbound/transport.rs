//! The transport port: the Runtime's end of AppServer (WIRE-4, DUR-2).

use async_trait::async_trait;
use lineup_model::{AgentId, MessageId};

/// Names one delivery of one envelope to this Runtime, for the acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryToken(pub u64);

/// Names one connection to AppServer. A later one is greater; 0 never stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub u32);

/// One envelope as AppServer handed it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// What [`Transport::acknowledge`] takes.
    pub token: DeliveryToken,
    /// Who sent it: AppServer's word, never the payload's.
    pub sender: AgentId,
    /// The envelope, unread and unchecked.
    pub payload: Vec<u8>,
}

/// One envelope for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The envelope's id, the same on every attempt.
    pub id: MessageId,
    /// The agent that gets it.
    pub recipient: AgentId,
    /// The envelope.
    pub payload: Vec<u8>,
}

/// What the transport has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportEvent {
    /// AppServer is reachable; everything unacknowledged is to be sent again, in order.
    Connected(Connection),
    /// AppServer is out of reach; sends are in vain until [`TransportEvent::Connected`].
    Disconnected,
    /// An envelope came in. It comes again, with another token, until it is acknowledged.
    Delivered(Delivery),
    /// AppServer has taken responsibility for this message.
    Acknowledged(MessageId),
    /// AppServer will never take this message; the reason is for people.
    Undeliverable(MessageId, String),
}

/// Why the transport cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("transport {operation} failed")]
pub struct TransportError {
    /// What was tried: `next`, `send` or `acknowledge`.
    pub operation: &'static str,
    /// Whether trying again later can help.
    pub retryable: bool,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The Runtime's end of AppServer. At least once in both directions; one connection at a time.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Transport: Send + Sync {
    /// The next event. Called by one task at a time; dropping the future loses no event. Reconnects
    /// by itself, with growing, jittered pauses.
    ///
    /// # Errors
    /// Only when it can never connect again, for example because the credential was refused.
    async fn next(&self) -> Result<TransportEvent, TransportError>;

    /// Hands messages to this connection, in this order. Returns once they are handed over, which is
    /// not once they are acknowledged. If the connection is not the one that stands it drops them: on
    /// a newer one they would overtake what is sent again there (I47). Waits while the connection is
    /// slow.
    ///
    /// # Errors
    /// As [`Transport::next`].
    async fn send(&self, connection: Connection, messages: Vec<Outgoing>) -> Result<(), TransportError>;

    /// Tells AppServer that these deliveries are safe here. An unknown token is ignored.
    ///
    /// # Errors
    /// As [`Transport::next`].
    async fn acknowledge(&self, deliveries: Vec<DeliveryToken>) -> Result<(), TransportError>;
}
