//! What adapters, engines and MiniApps are tested with.
//!
//! - [`store`]: what every store has to prove, and change sets to prove it with.
//! - [`MemoryStore`]: a store without a disk, for engines and simulations.
//! - [`InMemoryTransport`], [`RecordingHosts`], [`ScriptedMiniApps`], [`VirtualClock`]: the rest of
//!   a world for a Runtime, without a network, a process or time of its own.
#![warn(missing_docs)]

mod clock;
pub mod manifests;
mod memory_store;
pub mod store;
mod transport;
mod world;

pub use clock::VirtualClock;
pub use memory_store::{MemoryStore, Scripted};
pub use transport::InMemoryTransport;
pub use world::{RecordingHosts, Script, ScriptedMiniApps};
