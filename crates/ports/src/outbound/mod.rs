//! What the Runtime needs of the world. Adapters implement these.

pub mod clock;
pub mod transport;

pub use clock::{Clock, ClockReading};
pub use transport::{Delivery, DeliveryToken, Outgoing, Transport, TransportError, TransportEvent};
