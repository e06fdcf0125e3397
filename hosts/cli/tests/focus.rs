//! A focus period with Pomodoro, end to end over the real binary.
mod common;

use common::{Process, World};
use serde_json::json;

fn start(world: &World, call_id: &str) -> Process {
    world.start(&["agent", "call", "pomodoro.start", r#"{"minutes": 20}"#, "--call-id", call_id])
}

fn receipt(call: &mut Process, stage: &str) {
    let line = call.line();
    assert_eq!((&line["kind"], &line["stage"]), (&json!("receipt"), &json!(stage)), "{line}");
}

#[test]
fn app_5_a_focus_period_is_started_by_the_right_host_and_completed_by_its_deadline() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    assert_eq!((world.rows("operations"), world.rows("focus")), (1, 1));
    world.ask(&["clock", "advance", "19m"]);
    assert_eq!(world.rows("operations"), 1);
    assert!(call.is_silent());
    world.ask(&["clock", "advance", "1m"]);
    let outcome = call.line();
    assert_eq!((&outcome["kind"], &outcome["status"]), (&json!("outcome"), &json!("completed")), "{outcome}");
    assert_eq!(outcome["result"]["status"], "completed");
    assert_eq!(call.exit_code(), 0);
    assert_eq!((world.rows("operations"), world.rows("focus")), (0, 1), "what ends stays in view until the user goes");
}

#[test]
fn hst_3_a_wrong_confirmation_starts_nothing_and_the_right_one_does() {
    let world = World::serving();
    let mut host = world.host(&["--by-hand"]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    let asked = host.until(|line| line["host"]["foreground"]["activation"].is_string());
    assert_eq!(asked["host"]["foreground"]["app_scope"], "pomodoro");
    world.ask(&["clock", "advance", "3s"]);
    host.say("confirm-wrong");
    host.until(|line| line["kind"] == "reported" && line["activation"] == "wrong-attempt");
    assert_eq!((world.rows("operations"), world.rows("focus")), (0, 0));
    assert!(call.is_silent(), "0 started frames before the right confirmation");
    host.say("confirm");
    receipt(&mut call, "started");
    assert_eq!((world.rows("operations"), world.rows("focus")), (1, 1));
}

#[test]
fn act_1_with_a_paired_host_that_is_not_there_a_start_ends_not_started_within_a_second() {
    let world = World::serving();
    world.ask(&["setup", "pair"]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    world.ask(&["clock", "advance", "1s"]);
    let outcome = call.until(|line| line["kind"] == "outcome");
    assert_eq!(
        (&outcome["status"], &outcome["result"]["status"]),
        (&json!("completed"), &json!("not_started")),
        "{outcome}"
    );
    assert_eq!((world.rows("operations"), world.rows("focus")), (0, 0));
}

#[test]
fn act_1_a_host_that_cannot_show_it_ends_the_start() {
    let world = World::serving();
    let _host = world.host(&["--fail"]);
    let mut call = start(&world, "c1");
    let outcome = call.until(|line| line["kind"] == "outcome");
    assert_eq!(outcome["result"]["status"], "not_started", "{outcome}");
    assert_eq!(call.exit_code(), 0);
}

#[test]
fn hst_2_going_back_ends_the_focus_period_and_hiding_does_not() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    world.ask(&["host", "intent", "hide"]);
    world.ask(&["host", "intent", "sleep"]);
    assert_eq!(world.rows("operations"), 1);
    world.ask(&["host", "intent", "back", "--intent-id", "n1"]);
    let outcome = call.line();
    assert_eq!(outcome["result"], json!({ "status": "interrupted", "by": "left" }), "{outcome}");
    assert_eq!(world.rows("operations"), 0);
}

#[test]
fn call_3_a_repeated_call_is_answered_from_its_record_and_runs_once() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    let mut again = start(&world, "c1");
    // What the first process has not acknowledged yet may come before the answer (DUR-2).
    again.until(|line| line["stage"] == "started");
    assert_eq!(world.rows("operations"), 1);
    let (code, lines) = world.run(&["agent", "call", "pomodoro.start", r#"{"minutes": 5}"#, "--call-id", "c1"]);
    assert_eq!((code, &lines.last().unwrap()["code"]), (3, &json!("call_id_conflict")), "{lines:?}");
}

#[test]
fn app_4_the_agent_interrupts_a_focus_period() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    let (code, lines) = world.run(&["agent", "call", "pomodoro.interrupt"]);
    let last = lines.last().unwrap();
    assert_eq!((code, &last["result"]["status"]), (0, &json!("interrupted")), "{lines:?}");
    assert_eq!(call.line()["result"]["status"], "interrupted");
    let (_, lines) = world.run(&["agent", "call", "pomodoro.interrupt"]);
    assert_eq!(lines.last().unwrap()["result"]["status"], "nothing_running");
}

#[test]
fn op_4_a_focus_period_survives_a_kill_of_the_runtime() {
    let mut world = World::serving();
    let host = world.host(&[]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    drop((host, call));
    world.kill();
    world.serve();
    assert_eq!(world.rows("operations"), 1);
    world.ask(&["clock", "advance", "20m"]);
    let (code, lines) = world.run(&["agent", "status", "c1"]);
    let outcome = lines.last().unwrap();
    assert_eq!((code, &outcome["result"]["status"]), (0, &json!("completed")), "{lines:?}");
}

#[test]
fn dur_4_an_agent_that_waits_gets_its_outcome_across_a_kill() {
    let mut world = World::empty();
    let address = world.serve()["listen"].as_str().unwrap().to_owned();
    let host = world.host(&[]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    drop(host);
    world.kill();
    world.serve_at(&address);
    world.ask(&["clock", "advance", "20m"]);
    assert_eq!(call.until(|line| line["kind"] == "outcome")["result"]["status"], "completed");
    assert_eq!(call.exit_code(), 0);
    let (_, lines) = world.run(&["agent", "status", "c1"]);
    let outcomes = lines.iter().filter(|line| line["kind"] == "outcome").count();
    assert_eq!(outcomes, 1, "{lines:?}");
}

#[test]
fn act_8_a_host_that_stays_shows_again_what_a_new_runtime_remembers() {
    let mut world = World::serving();
    let mut host = world.host(&["--session", "screen"]);
    world.kill();
    world.serve();
    host.until(|line| line["kind"] == "reported" && line["type"] == "hello" && line["session"] == "screen");
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    assert_eq!((world.rows("operations"), world.rows("focus")), (1, 1));
}

#[test]
fn hst_3_a_session_that_another_has_taken_over_ends_instead_of_taking_it_back() {
    let world = World::serving();
    let mut first = world.host(&["--session", "screen"]);
    let _second = world.host(&["--session", "screen"]);
    assert_eq!(first.exit_code(), 4);
}

#[test]
fn hst_3_a_session_out_of_sight_confirms_nothing() {
    let world = World::serving();
    let mut host = world.host(&["--by-hand", "--hidden"]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    // The Host hears of the attempt as every session does, and cannot make it the foreground.
    host.until(|line| line["host"]["foreground"]["activation"].is_string());
    host.say("confirm");
    host.until(|line| line["kind"] == "reported" && line["type"] == "foreground");
    assert_eq!((world.rows("operations"), world.rows("focus")), (0, 0));
    assert!(call.is_silent());
    host.say("show");
    host.until(|line| line["kind"] == "reported" && line["type"] == "visible");
    host.say("confirm");
    receipt(&mut call, "started");
}

#[test]
fn op_3_a_second_start_is_not_started_while_the_first_runs() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    let mut second = start(&world, "c2");
    let outcome = second.until(|line| line["kind"] == "outcome");
    assert_eq!(outcome["result"], json!({ "status": "not_started", "reason": "already_focusing" }), "{outcome}");
    assert_eq!(world.rows("operations"), 1);
}

#[test]
fn call_10_a_focus_period_is_not_cancelled_by_the_agents_cancel() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut call = start(&world, "c1");
    receipt(&mut call, "starting");
    receipt(&mut call, "started");
    let (code, lines) = world.run(&["agent", "cancel", "c1"]);
    assert_eq!((code, &lines[0]["code"]), (3, &json!("call_not_cancellable")), "{lines:?}");
    assert_eq!(world.rows("operations"), 1);
}

#[test]
fn hst_1_an_intent_that_is_sent_again_changes_nothing_more() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut first = start(&world, "c1");
    first.until(|line| line["stage"] == "started");
    world.ask(&["host", "intent", "back", "--intent-id", "n1"]);
    first.until(|line| line["kind"] == "outcome");
    let mut second = start(&world, "c2");
    second.until(|line| line["stage"] == "started");
    world.ask(&["host", "intent", "back", "--intent-id", "n1"]);
    assert_eq!(world.rows("operations"), 1, "the second period goes on");
    world.ask(&["host", "intent", "back", "--intent-id", "n2"]);
    assert_eq!(second.until(|line| line["kind"] == "outcome")["result"]["status"], "interrupted");
}
