//! What the Runtime needs of the world. Adapters implement these.

pub mod clock;
pub mod hosts;
pub mod miniapps;
pub mod store;
pub mod transport;

pub use clock::{Clock, ClockReading};
pub use hosts::{HostError, Hosts, Surfaces};
pub use miniapps::{Handover, Item, Launch, MiniAppError, MiniApps};
pub use store::{
    AuditQuery, AuditRow, Cause, Commit, Committed, Epoch, Opened, Store, StoreCapabilities, StoreError, StoreErrorKind,
};
pub use transport::{Connection, Delivery, DeliveryToken, Outgoing, Transport, TransportError, TransportEvent};

#[cfg(feature = "mock")]
pub use self::{
    clock::MockClock,
    hosts::{MockHosts, MockSurfaces},
    miniapps::MockMiniApps,
    store::MockStore,
    transport::MockTransport,
};
