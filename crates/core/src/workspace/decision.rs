//! What deciding answers.

use lineup_model::{CallId, CallKey, ErrorCode, Revision, message::Fault};

use super::change_set::ChangeSet;
use crate::{
    journal::{Addressed, Origin},
    miniapp::MiniAppAnswer,
};

/// What an input changes, and what is said once that is durable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// What changes.
    pub changes: ChangeSet,
    /// What the one who asked is answered.
    pub answer: Answer,
    /// Messages that are sent once more: nothing is added to the outbox (CALL-3).
    pub resend: Vec<Addressed>,
}

/// What the one who asked is answered once the changes are durable.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Answer {
    /// It is done; there is nothing more to say.
    #[default]
    Done,
    /// The call was accepted, or had been.
    Call(CallKey),
    /// The MiniApp's request was granted.
    MiniApp(MiniAppAnswer),
    /// It was granted and something else ended by it: the request itself is refused, the changes
    /// are committed all the same (a diverged handler, an invalid output).
    Refused(Fault),
}

/// Nothing changes, and this is why.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Who asked; counted with the code (DUR-5).
    pub origin: Origin,
    /// The stable code and the sentence.
    pub fault: Fault,
    /// The call that was asked about, in the agent's words.
    pub call_id: Option<CallId>,
    /// The current revision, with `inventory_revision_mismatch` (INV-8).
    pub current_revision: Option<Revision>,
}

impl Rejected {
    /// A rejection.
    #[must_use]
    pub fn new(origin: Origin, code: ErrorCode, message: impl Into<String>) -> Box<Self> {
        Self::of(origin, Fault::new(code, message))
    }

    /// A rejection with a ready-made fault.
    #[must_use]
    pub fn of(origin: Origin, fault: Fault) -> Box<Self> {
        Box::new(Self { origin, fault, call_id: None, current_revision: None })
    }
}

/// What deciding answers: a rejection is boxed because it is rare and large.
pub type Decided = Result<Decision, Box<Rejected>>;
