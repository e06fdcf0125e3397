//! The runtime of LineUp: a thin loop around the deciding workspace.
//!
//! ```text
//! agents ─ transport ─┐                         ┌─ store (commit, fetch)
//! users, hosts ───────┼─ queue ─ Engine (sync) ─┤
//! MiniApps ───────────┘                         └─ effects ─ MiniApps, Hosts, Surfaces, transport
//! ```
//!
//! [`Engine`] decides and commits, and is driven by the actor here, by the simulation and by the
//! counters alike. The actor awaits its queue and the store and nothing else; every call of another
//! port is a task whose result comes back as an input. What the outside should look like is
//! derived from what is durable, and the reconcilers work towards it until it agrees (ACT-8).
//!
//! To plug in an adapter, hand it to [`Runtime::builder`].
#![warn(missing_docs)]

mod actor;
mod builder;
mod conversations;
pub mod effects;
pub mod engine;
mod gate;
mod handle;
mod inspect;
mod questions;
mod recent;
mod reconcile;

pub use builder::{Builder, StartError};
pub use effects::{Effects, Over, Ticket};
pub use engine::{Engine, EngineCounters, Standing};
pub use handle::Runtime;
