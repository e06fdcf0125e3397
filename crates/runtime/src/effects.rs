//! What a durable change asks of the world.

use lineup_core::{Answer, Rejected, Seq, journal::Addressed};
use lineup_model::{CallKey, InstanceId};

/// Names an offered input until it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What follows from what has become durable. Handed out once; what it asks for can be derived
/// again from the durable state (ACT-8).
#[derive(Debug, Default, PartialEq)]
pub struct Effects {
    /// What those who asked are answered, in the order of the decisions.
    pub settled: Vec<(Ticket, Result<Answer, Box<Rejected>>)>,
    /// Messages to be sent, in order: new ones of the outbox, and repeats.
    pub send: Vec<Addressed>,
    /// Calls that a handler should have.
    pub handed: Vec<CallKey>,
    /// UI Actions that a handler should have.
    pub actions: Vec<Seq>,
    /// Work that is over: a handler that still has it is to let go.
    pub over: Vec<Over>,
    /// Instances that have messages in their inbox.
    pub inbox: Vec<InstanceId>,
    /// Instances that moved, came or went.
    pub moved: Vec<InstanceId>,
    /// Instances that an activation is to bring up or forward.
    pub activating: Vec<InstanceId>,
    /// Instances whose MiniApp came up, stopped, or lost or got its Surface.
    pub processes: Vec<InstanceId>,
    /// Whether what Hosts and Surfaces should show may have changed.
    pub shape: bool,
}

/// Work that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// A call.
    Call(CallKey),
    /// A UI Action, by its place.
    Action(Seq),
}
