//! A business execution with its own end, such as a focus period with a deadline (section 6).

use lineup_model::{
    AppScope, AppSessionId, CallKey, ConversationId, Effective, InstanceId, Instant, OperationId,
    descriptor::OperationRule,
};
use serde::{Deserialize, Serialize};

/// An operation that runs. Its end is a journal row, committed with the outcome of its call (OP-2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its id.
    pub id: OperationId,
    /// The call that it runs for.
    pub call: CallKey,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The conversation.
    pub conversation: ConversationId,
    /// The instance that it was started on. The operation does not need it to live (OP-5).
    pub instance: InstanceId,
    /// The App session that records it.
    pub session: AppSessionId,
    /// How it behaves.
    pub rule: OperationRule,
    /// When it began.
    pub started: Instant,
    /// When it completes by itself; `None` if only its handler ends it (OP-6).
    pub deadline: Option<Effective>,
}

/// What can happen to a running operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationInput {
    /// Time passed.
    Clock(Effective),
    /// The agent asked to stop it.
    Interrupted,
    /// The user left (HST-2).
    Left,
    /// Its call ended otherwise: its handler is done, it expired, the app was disabled.
    CallEnded {
        /// When.
        now: Effective,
        /// Whether the call completed.
        completed: bool,
    },
}

/// How an operation ended: final, one per operation (OP-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum OperationEnd {
    /// It ran to its deadline, or its handler completed it.
    Completed {
        /// Its end: the deadline, or now.
        ended: Effective,
        /// How many milliseconds after its end that was noticed (OP-4).
        late_by_ms: u64,
    },
    /// Someone stopped it.
    Interrupted {
        /// Who.
        by: By,
    },
    /// Its call failed.
    Failed,
}

/// Who interrupted an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The agent, through a tool.
    Agent,
    /// The user, by leaving.
    Left,
}

/// Decides: `None` means that it goes on.
#[must_use]
pub fn decide(operation: &Operation, input: OperationInput) -> Option<OperationEnd> {
    match input {
        OperationInput::Clock(now) => match operation.deadline {
            Some(deadline) if now >= deadline => {
                Some(OperationEnd::Completed { ended: deadline, late_by_ms: now.since(deadline) })
            }
            Some(_) | None => None,
        },
        OperationInput::Interrupted => Some(OperationEnd::Interrupted { by: By::Agent }),
        OperationInput::Left => operation.rule.ends_on_leaving.then_some(OperationEnd::Interrupted { by: By::Left }),
        OperationInput::CallEnded { now, completed: true } => {
            Some(OperationEnd::Completed { ended: now, late_by_ms: 0 })
        }
        OperationInput::CallEnded { completed: false, .. } => Some(OperationEnd::Failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seq;

    fn focus(ends_on_leaving: bool) -> Operation {
        Operation {
            id: Seq(1).operation_id(),
            call: Seq(1).call_key(),
            app_scope: AppScope::new("pomodoro").unwrap(),
            conversation: ConversationId::new("main").unwrap(),
            instance: Seq(1).instance_id(),
            session: Seq(1).app_session_id(),
            rule: OperationRule { needs_foreground: true, ends_on_leaving, exclusive: None },
            started: Instant::default(),
            deadline: Some(Effective(1_000)),
        }
    }

    #[test]
    fn i34_no_operation_completes_before_its_deadline() {
        assert_eq!(decide(&focus(true), OperationInput::Clock(Effective(999))), None);
        assert_eq!(
            decide(&focus(true), OperationInput::Clock(Effective(1_000))),
            Some(OperationEnd::Completed { ended: Effective(1_000), late_by_ms: 0 })
        );
    }

    #[test]
    fn op_4_a_deadline_that_passed_unseen_is_completed_at_the_deadline_with_a_late_mark() {
        assert_eq!(
            decide(&focus(true), OperationInput::Clock(Effective(61_000))),
            Some(OperationEnd::Completed { ended: Effective(1_000), late_by_ms: 60_000 })
        );
    }

    #[test]
    fn op_3_leaving_ends_only_an_operation_whose_rule_says_so() {
        assert_eq!(decide(&focus(true), OperationInput::Left), Some(OperationEnd::Interrupted { by: By::Left }));
        assert_eq!(decide(&focus(false), OperationInput::Left), None);
    }
}
