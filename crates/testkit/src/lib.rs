//! What adapters, engines and MiniApps are tested with.
//!
//! - [`store`]: what every store has to prove, and change sets to prove it with.
//! - [`MemoryStore`]: a store without a disk, for engines and simulations.
#![warn(missing_docs)]

mod memory_store;
pub mod store;

pub use memory_store::{MemoryStore, Scripted};
