use lineup_model::{ErrorCode, message::Fault};
use serde_json::json;

use super::*;
use crate::Seq;
use lineup_model::{Effective, Generation, message::End};

fn states() -> Vec<CallState> {
    vec![
        CallState::Waiting { activation: Seq(1).activation_id() },
        CallState::WaitingForTurn,
        CallState::NeedsYou,
        CallState::Running { generation: Generation(2), since: Effective(5) },
        CallState::Operating { operation: Seq(2).operation_id() },
    ]
}

fn done() -> End {
    End::Completed { result: json!({}) }
}

#[test]
fn every_state_has_an_answer_to_every_input() {
    let inputs = || {
        vec![
            CallInput::Wait(Seq(9).activation_id()),
            CallInput::WaitForTurn,
            CallInput::AskForYou,
            CallInput::Deliver { now: Effective(9), attempts: 0 },
            CallInput::Deliver { now: Effective(9), attempts: 3 },
            CallInput::Operate(Seq(9).operation_id()),
            CallInput::Finish { generation: Generation(1), end: done() },
            CallInput::Finish { generation: Generation(2), end: done() },
            CallInput::End(done()),
        ]
    };
    let table: Vec<String> = states()
        .iter()
        .flat_map(|state| {
            inputs()
                .into_iter()
                .map(move |input| format!("{state:?} + {input:?} -> {:?}", decide(state, input.clone())))
        })
        .collect();
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn dur_4_a_completion_of_an_older_delivery_changes_nothing() {
    let running = CallState::Running { generation: Generation(2), since: Effective(0) };
    let late = CallInput::Finish { generation: Generation(1), end: done() };
    assert_eq!(decide(&running, late), Transition::Stale);
}

#[test]
fn dur_4_a_call_is_handed_over_three_times_at_most() {
    let mut state = CallState::WaitingForTurn;
    for attempt in 0..3 {
        let Transition::To(next) = decide(&state, CallInput::Deliver { now: Effective(1), attempts: attempt }) else {
            panic!("attempt {attempt} is allowed")
        };
        state = next;
    }
    assert_eq!(decide(&state, CallInput::Deliver { now: Effective(1), attempts: 3 }), Transition::Exhausted);
}

#[test]
fn call_9_a_second_delivery_does_not_buy_time() {
    let running = CallState::Running { generation: Generation(1), since: Effective(7) };
    let again = decide(&running, CallInput::Deliver { now: Effective(99), attempts: 1 });
    assert_eq!(again, Transition::To(CallState::Running { generation: Generation(2), since: Effective(7) }));
}

#[test]
fn call_5_whatever_a_call_waits_for_it_can_be_ended() {
    for state in states() {
        let end = End::Failed { error: Fault::new(ErrorCode::Internal, "x") };
        assert_eq!(decide(&state, CallInput::End(end.clone())), Transition::Final(end));
    }
}
