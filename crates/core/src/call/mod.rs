//! One remote invocation, from acceptance to its one outcome (contract section 4).

mod decide;
mod state;
#[cfg(test)]
mod tests;

pub use decide::{CallInput, Transition, decide};
pub use state::{Address, Call, CallFacts, CallState, Staged, Status, Step};
