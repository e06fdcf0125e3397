//! A request that the user made in a MiniApp's own UI (UIA-1).

use std::{collections::BTreeMap, sync::Arc};

use lineup_model::{ActionId, AppScope, ConversationId, Generation, InstanceId, Instant, Method, limits};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Seq, call::Step};

/// An accepted UI Action that has not ended. It is executed once and survives a crash like a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Its place in the journal, by which the SDK names it.
    pub seq: Seq,
    /// The view's own id of it; a repeat executes nothing.
    pub id: ActionId,
    /// The instance whose view it was made in.
    pub instance: InstanceId,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The conversation.
    pub conversation: ConversationId,
    /// The declared action.
    pub method: Method,
    /// Its input, valid against the declared schema.
    pub input: Arc<Value>,
    /// When it was accepted.
    pub accepted: Instant,
    /// The hand-over that counts; also the number of attempts. 0 before the first.
    pub generation: Generation,
    /// Keyed writes so far (DUR-4).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<Arc<str>, Step>,
}

/// What can happen to an unfinished UI Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionInput {
    /// Its handler gets it, or gets it again.
    Deliver,
    /// The handler of this hand-over is done.
    Finish(Generation),
    /// Its instance closed.
    Close,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// It was handed over; this hand-over counts now.
    Delivered(Generation),
    /// It is over.
    Final,
    /// It has used up its hand-overs.
    Exhausted,
    /// An older hand-over reports late; nothing changes.
    Stale,
}

/// Decides.
#[must_use]
pub fn decide(current: Generation, input: ActionInput) -> Transition {
    match input {
        ActionInput::Deliver if current.0 >= limits::DELIVERY_ATTEMPTS => Transition::Exhausted,
        ActionInput::Deliver => Transition::Delivered(Generation(current.0 + 1)),
        ActionInput::Finish(generation) if generation == current && generation.0 > 0 => Transition::Final,
        ActionInput::Finish(_) => Transition::Stale,
        ActionInput::Close => Transition::Final,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uia_1_an_action_ends_once_and_only_by_the_delivery_that_counts() {
        assert_eq!(decide(Generation(2), ActionInput::Finish(Generation(1))), Transition::Stale);
        assert_eq!(decide(Generation(0), ActionInput::Finish(Generation(0))), Transition::Stale);
        assert_eq!(decide(Generation(2), ActionInput::Finish(Generation(2))), Transition::Final);
        assert_eq!(decide(Generation(3), ActionInput::Deliver), Transition::Exhausted);
        assert_eq!(decide(Generation(0), ActionInput::Deliver), Transition::Delivered(Generation(1)));
    }
}
