//! The same call again, over the real binary: bytes on the socket, frames at the relay, rows on the disk.
mod common;
mod wire;

use common::World;
use futures_util::future::join_all;
use lineup_adapters::relay::{CREDENTIALS_FILE, Credentials};
use serde_json::{Value, json};
use wire::{Envelope, Rows, Wire, counted, demo, invoke};

/// A call that has ended, and its answer.
async fn finished(wire: &mut Wire, revision: &str) -> (Value, Envelope) {
    let call = invoke("m1", "k1", "pomodoro.interrupt", json!({}), revision);
    let outcome = wire.ask(&call).await;
    assert_eq!(outcome.json()["result"]["status"], "nothing_running", "{outcome:?}");
    (call, outcome)
}

/// The same envelope under another message id.
fn resent(envelope: &Value, message: &str) -> Value {
    let mut again = envelope.clone();
    again["id"] = json!(message);
    again
}

/// A refusal that settles nothing.
fn refused(answer: &Envelope, code: &str) -> Value {
    let answer = answer.json();
    assert_eq!(
        (&answer["type"], &answer["status"], &answer["final"], &answer["code"]),
        (&json!("lineup.v1.miniapp.tool.result"), &json!("rejected"), &json!(false), &json!(code)),
        "{answer}"
    );
    answer
}

#[tokio::test]
async fn call_3_a_repeat_is_answered_byte_equal_in_one_frame_each_way_and_touches_no_row() {
    let world = World::serving();
    let mut wire = Wire::open(&world).await;
    let revision = wire.revision().await;
    let (call, outcome) = finished(&mut wire, &revision).await;
    let before = Rows::at_rest(&world).await;
    assert_eq!(before.with("journal", "'call_accepted'"), 1);
    let (asked, told) = (counted(&world, "runtime", "delivered"), counted(&world, "runtime", "sent"));
    let heard = counted(&world, "agent:demo", "delivered");

    // Under its own message id and under another; written otherwise, it is the same content.
    for again in [call.clone(), resent(&call, "m2")] {
        assert_eq!(wire.ask(&again).await, outcome);
    }
    let otherwise = format!(
        r#"{{ "tool": "pomodoro.\u0069nterrupt", "input": {{ }}, "inventory_revision": "{revision}",
             "call_id": "k1", "conversation_id": "main", "id": "m3", "type": "lineup.v1.tool.invoke" }}"#
    );
    wire.send_bytes("m3", otherwise.as_bytes()).await;
    assert_eq!(wire.answer().await, outcome);
    assert_eq!(Rows::at_rest(&world).await, before, "not one row of any table");
    assert_eq!(counted(&world, "runtime", "delivered"), asked + 3);
    assert_eq!(counted(&world, "runtime", "sent"), told + 3);
    assert_eq!(counted(&world, "agent:demo", "delivered"), heard + 3);
}

#[tokio::test]
async fn call_3_a_repeat_of_an_open_call_is_answered_with_its_latest_receipt_and_touches_no_row() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut wire = Wire::open(&world).await;
    let revision = wire.revision().await;
    let call = invoke("m1", "k1", "pomodoro.start", json!({ "minutes": 20 }), &revision);
    assert_eq!(wire.ask(&call).await.json()["stage"], "starting");
    let started = wire.answer().await;
    assert_eq!(started.json()["stage"], "started");
    let before = Rows::at_rest(&world).await;
    for message in ["m1", "m2", "m3"] {
        assert_eq!(wire.ask(&resent(&call, message)).await, started);
    }
    assert_eq!(Rows::at_rest(&world).await, before);
    assert_eq!((before.count("open_calls"), world.rows("operations")), (1, 1));
}

#[tokio::test]
async fn call_3_a_repeat_after_a_stop_or_a_kill_is_answered_byte_equal() {
    let mut world = World::serving();
    let mut wire = Wire::open(&world).await;
    let revision = wire.revision().await;
    let (call, outcome) = finished(&mut wire, &revision).await;
    for kill in [false, true] {
        Rows::at_rest(&world).await;
        if kill {
            world.kill();
        } else {
            assert_eq!(world.stop(), 0);
        }
        world.serve();
        let mut wire = Wire::open(&world).await;
        assert_eq!(wire.revision().await, revision, "INV-7: the same after a restart");
        let before = Rows::at_rest(&world).await;
        assert_eq!(wire.ask(&resent(&call, "m2")).await, outcome, "killed: {kill}");
        assert_eq!(Rows::at_rest(&world).await, before);
        assert_eq!(before.with("journal", "'call_accepted'"), 1);
    }
}

#[tokio::test]
async fn call_3_inv_8_after_an_inventory_change_a_repeat_is_answered_and_a_new_call_is_not_taken() {
    let mut world = World::serving();
    let mut wire = Wire::open(&world).await;
    let old = wire.revision().await;
    let (call, outcome) = finished(&mut wire, &old).await;
    Rows::at_rest(&world).await;
    assert_eq!(world.stop(), 0);
    world.serve_without("pomodoro");

    let mut wire = Wire::open(&world).await;
    let new = wire.revision().await;
    assert_ne!(new, old);
    let before = Rows::at_rest(&world).await;
    assert_eq!(wire.ask(&resent(&call, "m2")).await, outcome, "known: whatever the revision is now");
    assert_eq!(Rows::at_rest(&world).await, before);

    let stale = wire.ask(&invoke("m3", "k2", "pomodoro.interrupt", json!({}), &old)).await;
    assert_eq!(refused(&stale, "inventory_revision_mismatch")["current_revision"], json!(new));
    let gone = wire.ask(&invoke("m4", "k2", "pomodoro.interrupt", json!({}), &new)).await;
    refused(&gone, "tool_not_advertised");
    assert_eq!(Rows::at_rest(&world).await.apart_from_refusals(), before.apart_from_refusals());

    // Back again: the same inventory, the same revision, the same answer.
    assert_eq!(world.stop(), 0);
    world.serve();
    let mut wire = Wire::open(&world).await;
    assert_eq!(wire.revision().await, old);
    assert_eq!(wire.ask(&resent(&call, "m5")).await, outcome);
}

#[tokio::test]
async fn inv_8_an_old_revision_on_a_new_id_is_refused_with_the_current_one_and_touches_no_row() {
    let world = World::serving();
    let mut wire = Wire::open(&world).await;
    let revision = wire.revision().await;
    let before = Rows::at_rest(&world).await;
    for at in 0..3 {
        let call = invoke(&format!("m{at}"), "k1", "pomodoro.start", json!({ "minutes": 20 }), &"0".repeat(64));
        let answer = refused(&wire.ask(&call).await, "inventory_revision_mismatch");
        assert_eq!((&answer["current_revision"], &answer["in_reply_to"]), (&json!(revision), &call["id"]));
    }
    assert_eq!(Rows::at_rest(&world).await.apart_from_refusals(), before.apart_from_refusals());
    // CALL-7: the id is free.
    let free = wire.ask(&invoke("m9", "k1", "pomodoro.interrupt", json!({}), &revision)).await;
    assert_eq!(free.json()["final"], true);
}

#[tokio::test]
async fn call_4_the_same_id_with_other_content_is_refused_and_the_first_call_is_untouched() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut wire = Wire::open(&world).await;
    let revision = wire.revision().await;
    let (call, outcome) = finished(&mut wire, &revision).await;
    let open = invoke("m2", "k2", "pomodoro.start", json!({ "minutes": 20 }), &revision);
    wire.ask(&open).await;
    let started = wire.answer().await;
    let before = Rows::at_rest(&world).await;
    let rows = [
        ("k1", "pomodoro.start", json!({ "minutes": 20 })),
        ("k1", "pomodoro.interrupt", json!({ "x": 1 })),
        ("k2", "pomodoro.start", json!({ "minutes": 21 })),
        ("k2", "pomodoro.start", json!({ "minutes": 20, "title": "Write" })),
        ("k2", "pomodoro.interrupt", json!({})),
    ];
    for (at, (id, tool, input)) in rows.into_iter().enumerate() {
        let answer = wire.ask(&invoke(&format!("c{at}"), id, tool, input, &revision)).await;
        refused(&answer, "call_id_conflict");
    }
    assert_eq!(Rows::at_rest(&world).await.apart_from_refusals(), before.apart_from_refusals());
    assert_eq!(wire.ask(&call).await, outcome);
    assert_eq!(wire.ask(&open).await, started);
}

#[tokio::test]
async fn call_1_an_agent_names_no_instance_anywhere() {
    let world = World::serving();
    let mut wire = Wire::open(&world).await;
    let revision = wire.revision().await;
    let before = Rows::at_rest(&world).await;
    let clean = invoke("m0", "k1", "pomodoro.start", json!({ "minutes": 20 }), &revision);
    let rows = [
        ("/instance_id", json!("i1"), "envelope_invalid"),
        ("/app_session_id", json!("s1"), "envelope_invalid"),
        ("/operation_id", json!("o1"), "envelope_invalid"),
        ("/meta", json!({ "instance_id": "i1" }), "envelope_invalid"),
        ("/meta", json!({ "deep": { "instance_id": "i1" } }), "envelope_invalid"),
        ("/input/instance_id", json!("i1"), "tool_input_invalid"),
        ("/input/app_session_id", json!("s1"), "tool_input_invalid"),
        ("/input/meta", json!({ "instance_id": "i1" }), "tool_input_invalid"),
        ("/input/title", json!({ "instance_id": "i1" }), "tool_input_invalid"),
    ];
    for (at, (place, value, code)) in rows.into_iter().enumerate() {
        let mut call = resent(&clean, &format!("m{at}"));
        let (parent, name) = place.rsplit_once('/').unwrap();
        call.pointer_mut(parent).unwrap()[name] = value;
        let answer = refused(&wire.ask(&call).await, code);
        assert_eq!(answer["in_reply_to"], call["id"], "{place}");
    }
    assert_eq!(Rows::at_rest(&world).await.apart_from_refusals(), before.apart_from_refusals());
    assert_eq!((world.rows("calls"), world.rows("operations")), (0, 0));
}

/// The same call, twenty times over each of five connections at once. Gives what each of them heard
/// until the last of the answers.
async fn a_hundred(world: &World, call: &Value, is_last: fn(&Value) -> bool) -> Vec<Vec<Envelope>> {
    let mut wires = Vec::new();
    for _ in 0..5 {
        wires.push(Wire::open(world).await);
    }
    let parallel = wires.iter_mut().enumerate().map(|(at, wire)| async move {
        for number in 0..20 {
            wire.send(&resent(call, &format!("w{at}-{number}"))).await;
        }
        let (mut heard, mut last) = (Vec::new(), 0);
        // Every connection of an agent hears every answer.
        while last < 100 {
            let envelope = wire.answer().await;
            last += usize::from(is_last(&envelope.json()));
            heard.push(envelope);
        }
        heard
    });
    join_all(parallel).await
}

#[tokio::test]
async fn h28_a_hundred_times_over_five_connections_is_one_execution_and_all_answers_are_equal() {
    let world = World::serving();
    let revision = Wire::open(&world).await.revision().await;
    let told = counted(&world, "runtime", "sent");
    let call = invoke("m", "k1", "pomodoro.interrupt", json!({}), &revision);
    let heard = a_hundred(&world, &call, |answer| answer["final"] == true).await;
    let rows = Rows::at_rest(&world).await;
    assert_eq!(rows.with("journal", "'call_accepted'"), 1, "one execution");
    assert_eq!(counted(&world, "runtime", "sent"), told + 100, "one answer for each");

    let mut wire = Wire::open(&world).await;
    let stored = wire.ask(&resent(&call, "stored")).await;
    for (at, envelope) in heard.iter().flatten().enumerate() {
        assert_eq!(*envelope, stored, "answer {at}");
    }
    assert_eq!(heard.iter().map(Vec::len).collect::<Vec<_>>(), [100; 5]);
    assert_eq!(Rows::at_rest(&world).await, rows);
}

#[tokio::test]
async fn h28_a_hundred_starts_over_five_connections_are_one_operation() {
    let world = World::serving();
    let _host = world.host(&[]);
    let revision = Wire::open(&world).await.revision().await;
    let call = invoke("m", "k1", "pomodoro.start", json!({ "minutes": 20 }), &revision);
    let heard = a_hundred(&world, &call, |answer| answer["type"] == "lineup.v1.miniapp.tool.progress").await;
    let rows = Rows::at_rest(&world).await;
    assert_eq!((rows.with("journal", "'call_accepted'"), world.rows("operations")), (1, 1));
    // Whichever receipt was the latest when a repeat came, its bytes are always the same.
    let mut receipts: Vec<&Envelope> = heard.iter().flatten().collect();
    receipts.sort_by(|one, other| one.bytes.cmp(&other.bytes));
    receipts.dedup();
    let stages: Vec<Value> = receipts.iter().map(|receipt| receipt.json()["stage"].clone()).collect();
    assert!(stages.len() <= 2 && stages.iter().all(|stage| stage == "starting" || stage == "started"), "{stages:?}");
    let latest = Wire::open(&world).await.ask(&resent(&call, "latest")).await;
    assert_eq!(latest.json()["stage"], "started");
    assert_eq!(receipts.iter().find(|receipt| receipt.id == latest.id).copied().unwrap_or(&latest), &latest);
}

#[tokio::test]
async fn b15_what_is_sent_again_under_a_rotated_token_is_not_executed_again() {
    let world = World::serving();
    let mut wire = Wire::open(&world).await;
    let revision = wire.revision().await;
    let call = invoke("m1", "k1", "pomodoro.interrupt", json!({}), &revision);
    wire.send(&call).await;
    // The relay has it; the answer is not waited for.
    wire.acknowledged().await;
    drop(wire);
    let mut credentials = Credentials::load(&world.path().join(CREDENTIALS_FILE)).unwrap();
    let old = credentials.token(&demo()).unwrap().as_str().to_owned();
    let new = credentials.rotate(&demo()).unwrap();
    assert!(Wire::open_with(&world, &old).await.is_none(), "the old token opens nothing");

    let mut wire = Wire::open_with(&world, new.as_str()).await.unwrap();
    let outcome = wire.ask(&call).await;
    assert_eq!(outcome.json()["result"]["status"], "nothing_running");
    assert_eq!(wire.ask(&call).await, outcome);
    let rows = Rows::at_rest(&world).await;
    assert_eq!(rows.with("journal", "'call_accepted'"), 1, "the agent is its identity, not its token");
}

#[tokio::test]
async fn call_11_an_open_call_of_a_miniapp_that_is_left_out_is_rejected_once_and_answered_so_for_good() {
    let mut world = World::serving();
    let host = world.host(&[]);
    let mut wire = Wire::open(&world).await;
    let revision = wire.revision().await;
    let call = invoke("m1", "k1", "pomodoro.start", json!({ "minutes": 20 }), &revision);
    wire.ask(&call).await;
    assert_eq!(wire.answer().await.json()["stage"], "started");
    Rows::at_rest(&world).await;
    drop(host);
    assert_eq!(world.stop(), 0);
    for without in [true, false] {
        if without {
            world.serve_without("pomodoro");
        } else {
            world.serve();
        }
        // The outcome itself may come before the answer to the repeat; they are one message.
        let mut wire = Wire::open(&world).await;
        let mut first = wire.ask(&resent(&call, "m2")).await;
        while first.json()["stage"].is_string() {
            // A receipt that AppServer had not been told is here comes once more (DUR-2).
            first = wire.answer().await;
        }
        let second = wire.ask(&resent(&call, "m3")).await;
        assert_eq!(first, second);
        let outcome = first.json();
        assert_eq!((&outcome["status"], &outcome["code"]), (&json!("rejected"), &json!("app_disabled")), "{outcome}");
        assert_eq!((&outcome["final"], world.rows("operations")), (&json!(true), 0));
        Rows::at_rest(&world).await;
        assert_eq!(world.stop(), 0);
    }
}

#[test]
fn only_a_miniapp_that_is_there_and_can_be_missed_is_left_out() {
    let world = World::empty();
    for app in ["chat", "nothing"] {
        let output = world.words(&["serve", "--listen", "127.0.0.1:0", "--without", app]);
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && words.contains(app), "{words}");
    }
    assert!(!world.path().join("credentials.json").exists(), "nothing was made");
}

#[test]
fn h28_an_agent_watches_beside_a_call_of_its_own_and_neither_is_in_the_way() {
    let world = World::serving();
    let _host = world.host(&[]);
    let mut watching = world.start(&["agent", "watch"]);
    watching.until(|line| line["kind"] == "watching");
    let mut call = world.start(&["agent", "call", "pomodoro.start", r#"{"minutes": 20}"#, "--call-id", "c1"]);
    call.until(|line| line["stage"] == "started");
    world.ask(&["user", "say", "How long?"]);
    assert_eq!(watching.until(|line| line["kind"] == "text")["text"], "How long?");
    world.ask(&["clock", "advance", "20m"]);
    assert_eq!(call.line()["kind"], "outcome");
    assert_eq!(call.exit_code(), 0);
    assert_eq!(counted(&world, "agent:demo", "connections"), 2);
}
