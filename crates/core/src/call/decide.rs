//! How one call moves: a function of its state and one input, every pair written out.

use lineup_model::{ActivationId, Effective, Generation, OperationId, limits, message::End};

use super::CallState;

/// What can happen to an unfinished call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallInput {
    /// It has to wait for this activation.
    Wait(ActivationId),
    /// It has to wait until an exclusive holder is done starting.
    WaitForTurn,
    /// It has to wait for the user.
    AskForYou,
    /// A handler gets it.
    Deliver {
        /// Now.
        now: Effective,
        /// Hand-overs so far.
        attempts: u32,
    },
    /// A built-in operation begins for it.
    Operate(OperationId),
    /// The handler of this hand-over says that it is done.
    Finish {
        /// The hand-over that the handler was given.
        generation: Generation,
        /// What it says.
        end: End,
    },
    /// Something else ends it: an operation, a deadline, a cancelled activation, a gate.
    End(End),
}

/// What follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Transition {
    /// It stands elsewhere now.
    To(CallState),
    /// It has its outcome.
    Final(End),
    /// It has used up its hand-overs (DUR-4).
    Exhausted,
    /// Nothing changes: the input came late or from an older hand-over.
    Stale,
}

/// Decides. Total: there is no pair of state and input without an answer.
#[must_use]
pub fn decide(state: &CallState, input: CallInput) -> Transition {
    use CallInput as In;
    use CallState as At;
    match (state, input) {
        // A call that waits may come to wait for something else: its turn is over, the foreground
        // is taken, the instance has to be brought forward.
        (At::Waiting { .. } | At::WaitingForTurn | At::NeedsYou, In::Wait(activation)) => {
            Transition::To(At::Waiting { activation })
        }
        (At::Waiting { .. } | At::WaitingForTurn | At::NeedsYou, In::WaitForTurn) => Transition::To(At::WaitingForTurn),
        (At::Waiting { .. } | At::WaitingForTurn | At::NeedsYou, In::AskForYou) => Transition::To(At::NeedsYou),

        // A call that is under way never goes back to waiting.
        (At::Running { .. } | At::Operating { .. }, In::Wait(_) | In::WaitForTurn | In::AskForYou) => Transition::Stale,

        // Handing over again after a crash counts as an attempt; so does the first one.
        (
            At::Waiting { .. } | At::WaitingForTurn | At::NeedsYou | At::Running { .. },
            In::Deliver { now, attempts },
        ) => {
            if attempts >= limits::DELIVERY_ATTEMPTS {
                Transition::Exhausted
            } else {
                // The timeout counts from the first hand-over: a crash does not buy time (CALL-9).
                let since = if let At::Running { since, .. } = state { *since } else { now };
                Transition::To(At::Running { generation: Generation(attempts + 1), since })
            }
        }
        // A built-in operation has no handler to hand it to.
        (At::Operating { .. }, In::Deliver { .. }) => Transition::Stale,

        (At::Waiting { .. } | At::WaitingForTurn | At::NeedsYou, In::Operate(operation)) => {
            Transition::To(At::Operating { operation })
        }
        (At::Running { .. } | At::Operating { .. }, In::Operate(_)) => Transition::Stale,

        (At::Running { generation: current, .. }, In::Finish { generation, end }) => {
            if *current == generation {
                Transition::Final(end)
            } else {
                Transition::Stale
            }
        }
        // Nobody was handed this call: a handler of an earlier run, or a forged completion.
        (At::Waiting { .. } | At::WaitingForTurn | At::NeedsYou | At::Operating { .. }, In::Finish { .. }) => {
            Transition::Stale
        }

        (
            At::Waiting { .. } | At::WaitingForTurn | At::NeedsYou | At::Running { .. } | At::Operating { .. },
            In::End(end),
        ) => Transition::Final(end),
    }
}
