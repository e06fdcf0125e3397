//! A seeded world around the engine: agents, a relay, Hosts, MiniApps, clocks and a store, all of
//! which misbehave, in one thread and without a real clock.
//!
//! [`run`] plays one seed. What happens is a function of [`Plan`] alone, so a failing seed is
//! replayed by its number. Everything that agents send and get crosses the wire codec as bytes, and
//! [`World`] tells an independent checker all of it; the checker knows the contract and nothing of
//! the Runtime. [`zoo`] breaks the world in small ways and asks whether the checker notices.
//!
//! The simulation deliberately knows nothing of tokio: it drives `lineup_runtime::Engine` itself,
//! and plays the reconcilers with a level-triggered loop of its own.

pub mod apps;
pub mod coverage;
pub mod oracle;
pub mod plan;
pub mod report;
pub mod seen;
pub mod world;
pub mod zoo;

pub use coverage::Coverage;
pub use plan::{Fault, Plan};
pub use report::{Failure, Played, run, shrink};
pub use world::World;
pub use zoo::Mutant;
