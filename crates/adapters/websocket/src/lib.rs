//! The Runtime's end of AppServer over a WebSocket: [`Transport`] on a [`lineup_link::Link`].
//!
//! It knows the relay's frames through the link and nothing of envelopes. Deliveries that are not
//! from an agent are acknowledged and dropped: a relay that follows `docs/wire.md` sends none.
//!
//! ```no_run
//! # async fn example() -> Result<(), lineup_ports::outbound::TransportError> {
//! use lineup_ports::outbound::{Transport as _, TransportEvent};
//! use lineup_websocket::WebSocketTransport;
//!
//! let transport = WebSocketTransport::to("ws://127.0.0.1:7777/relay", "the runtime's token");
//! while let event = transport.next().await? {
//!     if let TransportEvent::Delivered(delivery) = event {
//!         // … commit it, then:
//!         transport.acknowledge(vec![delivery.token]).await?;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

use async_trait::async_trait;
use lineup_failpoint::{Point, hit};
use lineup_link::{Event, Link, LinkError, Options, Token};
use lineup_ports::outbound::{
    Connection, Delivery, DeliveryToken, Outgoing, Transport, TransportError, TransportEvent,
};
use lineup_wire::relay::Party;

/// A [`Transport`] that keeps one WebSocket to the relay. Must be made inside a tokio runtime.
pub struct WebSocketTransport(Link);

impl WebSocketTransport {
    /// Connects to the relay at `url` (such as `ws://127.0.0.1:7777/relay`) with the Runtime's token.
    /// Returns at once; [`Transport::next`] tells when the connection stands.
    #[must_use]
    pub fn to(url: impl Into<String>, token: impl Into<String>) -> Self {
        Self::with(Options::new(url, token))
    }

    /// As [`WebSocketTransport::to`], with pauses of one's own.
    #[must_use]
    pub fn with(options: Options) -> Self {
        Self(Link::open(options))
    }
}

#[async_trait]
impl Transport for WebSocketTransport {
    async fn next(&self) -> Result<TransportEvent, TransportError> {
        loop {
            let event = self.0.next().await.map_err(|error| failed("next", error))?;
            return Ok(match event {
                Event::Connected { connection, .. } => {
                    hit(Point::TransportConnected);
                    TransportEvent::Connected(Connection(connection.number()))
                }
                Event::Disconnected { .. } => TransportEvent::Disconnected,
                Event::Acknowledged(id) => {
                    hit(Point::TransportAccepted);
                    TransportEvent::Acknowledged(id)
                }
                Event::Refused(id, reason) => TransportEvent::Undeliverable(id, reason.to_string()),
                Event::Delivered { token, from: Party::Agent(sender), payload, .. } => {
                    hit(Point::TransportDelivered);
                    TransportEvent::Delivered(Delivery { token: DeliveryToken(token.number()), sender, payload })
                }
                Event::Delivered { token, from: Party::Runtime, .. } => {
                    self.0.acknowledge(vec![token]).await.map_err(|error| failed("next", error))?;
                    continue;
                }
            });
        }
    }

    async fn send(&self, connection: Connection, messages: Vec<Outgoing>) -> Result<(), TransportError> {
        let messages = messages.into_iter().map(|Outgoing { id, recipient, payload }| lineup_link::Outgoing {
            id,
            to: Party::Agent(recipient),
            payload,
        });
        self.0
            .send(lineup_link::Connection::from_number(connection.0), messages.collect())
            .await
            .map_err(|error| failed("send", error))
    }

    async fn acknowledge(&self, deliveries: Vec<DeliveryToken>) -> Result<(), TransportError> {
        let tokens = deliveries.into_iter().map(|DeliveryToken(number)| Token::from_number(number));
        self.0.acknowledge(tokens.collect()).await.map_err(|error| failed("acknowledge", error))
    }
}

/// The link ends only when no later attempt can do better.
fn failed(operation: &'static str, error: LinkError) -> TransportError {
    TransportError { operation, retryable: false, source: Some(Box::new(error)) }
}
