//! One call, as its caller follows it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lineup_model::{
    CallId, ConversationId,
    message::{Outcome, Receipt, Refusal},
};
use tokio::sync::Notify;

use crate::{Agent, AgentError};

/// What happens to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A receipt or progress; their `seq` only grows.
    Receipt(Receipt),
    /// The one outcome. Nothing follows.
    Outcome(Outcome),
    /// The request was refused before acceptance: the call was never made, or, for a repeat, it is
    /// untouched (CALL-7). Nothing follows.
    Refused(Refusal),
}

/// A call that is under way. Dropping it stops following it, and sending it again; it does not
/// cancel it.
pub struct Call {
    agent: Agent,
    conversation: ConversationId,
    call_id: CallId,
    track: Arc<Track>,
}

impl Call {
    pub(crate) const fn new(agent: Agent, conversation: ConversationId, call_id: CallId, track: Arc<Track>) -> Self {
        Self { agent, conversation, call_id, track }
    }

    /// The call's id.
    #[must_use]
    pub const fn id(&self) -> &CallId {
        &self.call_id
    }

    /// The conversation that it was made in.
    #[must_use]
    pub const fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// What happens next. `None` after the outcome or refusal, or when the connection has ended for
    /// good. Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let changed = self.track.changed.notified();
            {
                let mut line = self.track.line();
                if let Some(event) = line.events.pop_front() {
                    return Some(event);
                }
                if line.over {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Passes over the receipts, to the outcome.
    ///
    /// # Errors
    /// When the call is refused, or the connection has ended for good.
    pub async fn outcome(&mut self) -> Result<Outcome, AgentError> {
        while let Some(event) = self.next().await {
            match event {
                Event::Receipt(_) => {}
                Event::Outcome(outcome) => return Ok(outcome),
                Event::Refused(refusal) => return Err(AgentError::Refused(Box::new(refusal))),
            }
        }
        Err(self.agent.inner.ended())
    }

    /// Asks the Runtime to end this call. See [`Agent::cancel`].
    ///
    /// # Errors
    /// As [`Agent::cancel`].
    pub async fn cancel(&self) -> Result<(), AgentError> {
        self.agent.cancel(&self.conversation, &self.call_id).await
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.agent.inner.state.forget(&self.conversation, &self.call_id, &self.track);
    }
}

/// Receipts that wait for a slow caller. The oldest give way: a later one tells more, and the gap
/// shows in `seq`.
const RECEIPTS: usize = 256;

/// What a caller has not read yet, and what it has seen.
#[derive(Default)]
pub(crate) struct Track {
    line: Mutex<Line>,
    changed: Notify,
}

#[derive(Default)]
struct Line {
    events: VecDeque<Event>,
    last_seq: u32,
    over: bool,
}

impl Track {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a receipt, unless it is a repeat or comes after the end.
    pub fn receipt(&self, receipt: &Receipt) {
        let mut line = self.line();
        if line.over || receipt.seq <= line.last_seq {
            return;
        }
        line.last_seq = receipt.seq;
        if line.events.len() >= RECEIPTS {
            line.events.pop_front();
        }
        line.events.push_back(Event::Receipt(receipt.clone()));
        self.changed.notify_one();
    }

    /// Takes in the outcome or refusal, unless there was one.
    pub fn end(&self, event: Event) {
        let mut line = self.line();
        if !line.over {
            line.over = true;
            line.events.push_back(event);
            self.changed.notify_one();
        }
    }

    /// Nothing will come any more.
    pub fn cut(&self) {
        self.line().over = true;
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lineup_model::{
        AppScope,
        message::{End, Stage},
    };

    fn receipt(seq: u32) -> Receipt {
        let (call_id, app_scope) = (CallId::new("k1").unwrap(), AppScope::new("pomodoro").unwrap());
        Receipt { call_id, seq, stage: Stage::Accepted, app_scope, reason: None, progress: None }
    }

    fn outcome() -> Event {
        let end = End::Completed { result: serde_json::json!({}) };
        Event::Outcome(Outcome { call_id: CallId::new("k1").unwrap(), end })
    }

    fn drain(track: &Track) -> Vec<Event> {
        track.line().events.drain(..).collect()
    }

    #[test]
    fn i7_receipts_never_repeat_nor_go_back_nor_follow_the_outcome() {
        let track = Track::default();
        for seq in [1, 1, 3, 2, 3] {
            track.receipt(&receipt(seq));
        }
        track.end(outcome());
        track.end(outcome());
        track.receipt(&receipt(4));
        assert_eq!(drain(&track), [Event::Receipt(receipt(1)), Event::Receipt(receipt(3)), outcome()]);
    }

    #[test]
    fn i69_a_slow_caller_misses_old_receipts_and_never_the_outcome() {
        let track = Track::default();
        for seq in 1..=1000 {
            track.receipt(&receipt(seq));
        }
        track.end(outcome());
        let events = drain(&track);
        assert_eq!(events.len(), RECEIPTS + 1);
        assert_eq!(events.last(), Some(&outcome()));
        assert_eq!(events[RECEIPTS - 1], Event::Receipt(receipt(1000)));
    }
}
