//! For every invariant, ways to spoil a correct history that must be caught.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::schema::valid;
use super::story::{History, history, invoke, refusal};
use super::{INVARIANTS, Oracle};

type Spoil = fn(&mut History);

/// The invariant that must be reported, and what breaks it.
const FAULTS: &[(&str, Spoil)] = &[
    ("I1", |h| {
        let twin = h.copy("starting")["calls"][0].clone();
        h.at("starting")["calls"].as_array_mut().unwrap().push(twin);
    }),
    ("I2", |h| h.row("started", "calls", 0)["input"] = json!({"n":2})),
    ("I3", |h| {
        let mut twin = h.copy("started")["operations"][0].clone();
        twin["id"] = json!("o9");
        h.at("started")["operations"].as_array_mut().unwrap().push(twin);
    }),
    ("I3", |h| h.at("draw second again")["generation"] = json!(1)),
    ("I4", |h| {
        let mut again = h.copy("starting")["outbox"][0].clone();
        again["seq"] = json!(99);
        h.at("show waits")["outbox"].as_array_mut().unwrap().push(again);
    }),
    ("I4", |h| h.row("show waits", "calls", 1)["instance"] = json!("i9")),
    ("I5", |h| h.drop("hear calm repeat")),
    ("I6", |h| {
        let early = h.copy("hear started");
        h.before("started", "got", early);
    }),
    ("I7", |h| {
        let mut receipt = h.copy("hear ready");
        receipt["id"] = json!("r99");
        h.before("late", "got", receipt);
    }),
    ("I8", |h| h.at("conflict")["input"] = json!({"n":2})),
    ("I9", |h| h.row("drawn", "calls", 1)["status"] = json!("running")),
    ("I10", |h| h.row("quiet", "calls", 1)["journal"][2]["result"] = json!({"status":"completed"})),
    ("I11", |h| h.row("show fails", "calls", 3)["journal"][2]["code"] = json!("oops")),
    ("I12", |h| h.at("hear drawn")["seq"] = json!(1)),
    ("I12", |h| h.at("hear started")["status"] = json!("completed")),
    ("I12", |h| h.row("started", "calls", 0)["journal"][1]["stage"] = json!("completed")),
    ("I13", |h| h.row("started", "calls", 0)["journal"][1]["seq"] = json!(3)),
    ("I13", |h| {
        let late = json!({"kind":"receipt","seq":3,"stage":"app","message_id":"r5"});
        h.row("quiet", "calls", 1)["journal"].as_array_mut().unwrap().push(late);
    }),
    ("I14", |h| {
        let second =
            json!({"message_id":"r62","recipient":"a","conversation":"c","seq":99,"kind":"outcome","call":"K2"});
        h.at("quiet")["outbox"] = json!([second]);
    }),
    ("I14", |h| h.row("drawn", "outbox", 0)["message_id"] = json!("r60")),
    ("I16", |h| h.at("starting")["audit"] = json!([])),
    ("I16", |h| h.at("second dies")["focus"] = json!([])),
    ("I24", |h| h.row("show waits", "activations", 1)["state"] = json!("failed")),
    ("I24", |h| h.row("starting", "activations", 0)["state"] = json!("ready")),
    ("I24", |h| h.row("starting", "activations", 0)["states"] = json!(["ready", "starting"])),
    ("I24", |h| h.row("starting", "activations", 0)["states"] = json!(["starting", "closed", "starting"])),
    ("I24", |h| h.row("starting", "activations", 0)["states"] = json!(["starting", "ready"])),
    ("I25", |h| h.row("show waits", "activations", 2)["instance"] = json!("i2")),
    ("I26", |h| h.row("board ready", "activations", 1)["waiting"] = json!(["K3"])),
    ("I27", |h| h.row("completed", "calls", 4)["order"] = json!(0)),
    ("I28", |h| h.row("show fails", "calls", 3)["journal"].as_array_mut().unwrap().truncate(2)),
    ("I29", |h| h.row("drawing waits", "activations", 1)["waiting"] = json!(vec!["K2"; 101])),
    ("I29", |h| h.row("drawing waits", "activations", 1)["waiting"] = json!(vec!["K2"; 10_001])),
    ("I30", |h| h.before("calm", "invoke", json!({"id":"K4"}))),
    ("I31", |h| h.row("left", "operations", 0)["state"] = json!("interrupted")),
    ("I32", |h| h.row("started", "operations", 0)["state"] = json!("interrupted")),
    ("I32", |h| h.row("completed", "operations", 0)["state"] = json!("running")),
    ("I33", |h| h.row("drawn", "operations", 0)["deadline_at"] = json!(200)),
    ("I33", |h| h.row("started", "operations", 0)["deadline_at"] = json!(86_400_001)),
    ("I34", |h| *h.at("the deadline") = json!(99)),
    ("I35", |h| {
        h.row("left", "operations", 0)["state"] = json!("running");
    }),
    ("I36", |h| h.row("quiet", "operations", 0)["state"] = json!("running")),
    ("I37", |h| h.row("show waits", "calls", 1)["journal"][2]["result"] = json!({"status":"not_started"})),
    ("I38", |h| h.at("left")["effective_ms"] = json!(99)),
    ("I39", |h| h.row("recovered", "operations", 0)["state"] = json!("failed")),
    // Not by an agent that asked meanwhile, nor a moment early.
    ("I39", |h| {
        h.before("recovered", "sent", invoke("s77", "k77", "board.draw", 2));
        h.row("recovered", "operations", 0)["state"] = json!("interrupted");
    }),
    ("I39", |h| h.row("recovered", "operations", 0)["state"] = json!("completed")),
    ("I44", |h| h.row("started", "outbox", 0)["call"] = json!("K7")),
    ("I44", |h| {
        let twin = h.copy("starting")["outbox"][0].clone();
        h.at("starting")["outbox"].as_array_mut().unwrap().push(twin);
    }),
    ("I45", |h| {
        let mut other = h.copy("starting")["outbox"][0].clone();
        other["seq"] = json!(77);
        h.at("started")["outbox"].as_array_mut().unwrap().push(other);
    }),
    ("I45", |h| h.at("hear repeat")["note"] = json!(1)),
    ("I46", |h| h.at("starting")["outbox"] = json!([{"message_id":"gone","kind":"other","seq":0}])),
    ("I47", |h| {
        let at = h.0.iter().position(|step| step.0 == "hear waits").unwrap();
        h.0.swap(at, at + 1);
    }),
    ("I56", |h| h.at("started")["focus"] = json!(["i1", "i1"])),
    ("I56", |h| h.row("drawn", "instances", 0)["state"] = json!("closed")),
    ("I58", |h| h.at("recovered")["focus"] = json!(["i2"])),
    ("I58", |h| h.at("recovered")["focus"] = json!([])),
    ("I61", |h| h.at("inventory again")["revision"] = json!("R2")),
    ("I61", |h| h.at("inventory again")["sequence"] = json!(0)),
    ("I62", |h| h.row("starting", "calls", 0)["revision"] = json!("OLD")),
    ("I62", |h| h.before("calm", "invoke", json!({"id":"K99"}))),
    ("I63", |h| h.drop("ask start")),
    ("I63", |h| h.row("starting", "audit", 0)["source"] = json!("ui_action")),
    ("I63", |h| h.row("starting", "audit", 0)["actor"] = json!(null)),
    ("I63", |h| h.row("starting", "audit", 0)["happened"] = json!("intent_done")),
    ("I63", |h| {
        h.at("left")["audit"].as_array_mut().unwrap().push(json!({"seq":9,"source":"host_lifecycle","actor":"a"}))
    }),
    ("I63", |h| h.at("left")["audit"].as_array_mut().unwrap().push(json!({"seq":9,"source":"miniapp","actor":"s"}))),
    ("I64", |h| h.at("ask start")["instance_id"] = json!("i1")),
    ("I65", |h| h.at("hear started")["conversation_id"] = json!("c-2")),
    // A refusal says nothing of what its request did not name, and nothing of another's.
    ("I65", |h| h.at("hear conflict")["conversation_id"] = json!("c-2")),
    ("I65", |h| h.at("hear conflict")["call_id"] = json!("k7")),
    ("I65", |h| h.at("hear stale")["current_revision"] = json!("R of another")),
    ("I65", |h| {
        h.at("conflict")["conversation_id"] = json!("c-2");
        h.at("hear conflict")["conversation_id"] = json!("c-2");
    }),
    ("ENT-1", |h| h.at("hear stale")["type"] = json!("lineup.v1.tool.invoke")),
    ("WIRE-1", |h| h.before("calm", "noise", json!(null))),
    ("ACT-2", |h| h.before("show fails", "invoke", json!({"id":"K4"}))),
    ("CALL-1", |h| {
        h.at("ask start")["input"] = json!({"n":0});
        h.row("starting", "calls", 0)["input"] = json!({"n":0});
    }),
    ("CALL-3", |h| h.at("hear repeat")["note"] = json!(1)),
    ("CALL-3", |h| *h.at("hear calm repeat") = refusal("m9", "s9", "tool_not_advertised")),
    ("CALL-4", |h| h.at("hear conflict")["code"] = json!("tool_input_invalid")),
    ("CALL-5", |h| {
        let second = json!({"kind":"outcome","message_id":"r62","status":"completed","result":{"status":"drawn"}});
        h.row("drawn", "calls", 1)["journal"].as_array_mut().unwrap().push(second);
    }),
    ("CALL-5", |h| {
        let mut second = h.copy("hear drawn");
        second["id"] = json!("r61");
        h.before("late", "got", second);
    }),
    ("CALL-6", |h| h.row("drawn", "calls", 1)["journal"][2]["result"] = json!({"status":"nice"})),
    ("CALL-7", |h| h.at("hear conflict")["final"] = json!(true)),
    ("CALL-7", |h| h.at("hear drawn")["final"] = json!(false)),
    ("CALL-14", |h| h.row("starting", "calls", 0)["journal"][0]["stage"] = json!("app")),
    ("CALL-14", |h| {
        let told = json!({"kind":"receipt","seq":2,"stage":"activation_ready","message_id":"r5"});
        h.row("board ready", "calls", 2)["journal"].as_array_mut().unwrap().push(told);
    }),
    ("CALL-14", |h| h.row("starting", "calls", 0)["journal"][0]["stage"] = json!("accepted")),
    ("CALL-14", |h| h.row("starting", "calls", 0)["journal"] = json!([])),
    ("CALL-14", |h| h.row("starting", "calls", 0)["change"] = json!(99)),
    ("CALL-14", |h| h.row("started", "calls", 0)["journal"][1]["stage"] = json!("accepted")),
    ("CALL-14", |h| h.row("drawing waits", "calls", 2)["journal"][0]["stage"] = json!("starting")),
    ("CALL-14", |h| h.row("started", "calls", 0)["journal"][1]["stage"] = json!("activation_failed")),
    ("INV-7", |h| h.at("inventory")["tools"] = json!([{"id":"pomo.start","executor":"runtime"}])),
    ("INV-8", |h| h.at("hear stale")["current_revision"] = json!("OLD")),
    ("ACT-3", |h| h.drop("draw first")),
    ("ACT-3", |h| {
        // Also not if the later one caused the activation.
        h.row("drawing waits", "activations", 1)["causing"] = json!("K3");
        h.row("drawing waits", "activations", 1)["waiting"] = json!(["K3", "K2"]);
        h.drop("draw first");
    }),
    ("CALL-14", |h| h.row("drawn", "calls", 1)["journal"][2]["change"] = json!(5)),
    ("CALL-14", |h| h.row("show fails", "calls", 3)["journal"].as_array_mut().unwrap().truncate(2)),
    ("CALL-14", |h| h.row("show fails", "calls", 3)["journal"][0]["change"] = json!(9)),
    ("ACT-1", |h| h.row("show waits", "instances", 2)["app_scope"] = json!("i1")),
    ("ACT-10", |h| h.at("show waits")["focus"] = json!(["i1", "i3"])),
    ("OP-2", |h| h.row("completed", "calls", 0)["journal"][2]["result"]["status"] = json!("interrupted")),
    ("OP-3", |h| {
        let twin = json!({"id":"o8","call":"K2","state":"running","app_scope":"pomo","exclusive":"workspace"});
        h.at("board ready")["operations"].as_array_mut().unwrap().push(twin);
    }),
    ("OP-4", |h| h.row("completed", "operations", 0)["ended_at"] = json!(99)),
    ("OP-4", |h| h.at("drawn")["effective_ms"] = json!(50)),
    ("OP-4", |h| {
        // Down at the deadline: the recovered image still runs it, recovery completes it, not late.
        h.at("second dies")["clock"] = json!(101);
        h.row("recovered", "operations", 0)["state"] = json!("completed");
    }),
    ("OP-5", |h| {
        let outcome = json!({"kind":"outcome","message_id":"r14","status":"failed","code":"host_unavailable"});
        h.row("left", "calls", 4)["journal"][2] = outcome;
    }),
    ("SUR-3", |h| h.drop("patched")),
    ("SUR-3", |h| h.row("drawing waits", "shown", 0)["revision"] = json!(2)),
    ("SUR-3", |h| h.row("drawing waits", "shown", 0)["data"] = json!({"a":2})),
    ("SUR-3", |h| {
        h.at("patched")["patch"] = json!({"constructor":1});
        h.row("drawing waits", "shown", 0)["data"] = json!({"constructor":1});
    }),
    ("SUR-4", |h| h.at("recovered")["surfaces"] = json!([])),
    ("HST-2", |h| h.drop("leave")),
    ("HST-2", |h| *h.at("leave") = json!("hide")),
    ("HST-2", |h| {
        h.row("left", "operations", 1)["state"] = json!("running");
        h.row("left", "calls", 4)["journal"].as_array_mut().unwrap().truncate(2);
    }),
    ("HST-3", |h| h.drop("visible")),
    ("HST-3", |h| h.at("confirmed")["attempt"] = json!(2)),
    // What one saw before a restart, or before another app covered it, does not count.
    ("HST-3", |h| h.drop("confirmed again")),
    ("HST-3", |h| {
        h.drop("confirmed again");
        h.before("second dies", "confirmed", json!({"id":"i1","attempt":1}));
    }),
    ("HST-3", |h| {
        let mut covered = h.copy("show fails");
        (covered["focus"], covered["outbox"]) = (json!([]), json!([]));
        h.before("the deadline", "commit", covered);
    }),
    ("ACT-2", |h| h.row("show waits", "calls", 3)["status"] = json!("running")),
    ("DUR-2", |h| {
        let row = json!({"message_id":"r98","recipient":"a","conversation":"c","seq":98,"kind":"other"});
        h.at("left")["outbox"].as_array_mut().unwrap().push(row);
    }),
    ("DUR-2", |h| h.drop("hear left")),
    ("DUR-2", |h| h.row("started", "outbox", 0)["seq"] = json!(1)),
    ("DUR-4", |h| h.at("second drawn")["generation"] = json!(1)),
    ("DUR-4", |h| (3..5).for_each(|n| h.before("second drawn", "invoke", json!({"id":"K3","generation":n})))),
    ("DUR-4", |h| h.at("drawn")["calls"].as_array_mut().unwrap().truncate(2)),
    ("DUR-4", |h| {
        h.before("calm", "sent", invoke("s10", "k10", "board.draw", 1));
        h.before("calm", "taken", json!({"id":"s10"}));
    }),
    ("DUR-5", |h| h.at("left")["audit"].as_array_mut().unwrap().push(json!({"seq":0,"source":"runtime"}))),
    ("DUR-5", |h| h.row("left", "audit", 0)["source"] = json!("runtime")),
];

#[test]
fn a_correct_history_passes_and_exercises_every_invariant() {
    let oracle = history().told();
    assert!(oracle.violations().is_empty(), "{:#?}", oracle.violations());
    let exercised = oracle.exercised();
    let vacuous: Vec<_> = FAULTS.iter().filter(|(id, _)| !exercised.contains_key(id)).map(|(id, _)| id).collect();
    // A correct history of this size starts no handler in the foreground.
    let vacuous: Vec<_> = vacuous.into_iter().filter(|id| **id != "ACT-2").collect();
    assert!(vacuous.is_empty(), "{vacuous:?} of {exercised:?}");
}

#[test]
fn call_7_a_torn_request_may_be_called_unreadable_and_nothing_else() {
    let torn = &b"{\"type\":\"lineup.v1.tool.invoke\",\"id\":\"s1\",\"conversation_id\":\"c\",\"call_id\":\"k\xff"[..];
    let told = |sent: &[u8], code: &str, reason: &str| {
        let mut oracle = Oracle::new(&json!([]), &[("a", "c")]);
        oracle.sent("a", sent, 0);
        let mut answer = refusal("m1", "s1", code);
        answer["reason"] = json!(reason);
        // What could not be read named no revision that could be compared with a current one.
        answer.as_object_mut().expect("an envelope").remove("current_revision");
        oracle.received("a", answer.to_string().as_bytes(), 1);
        oracle.violations().iter().map(|v| v.invariant).collect::<Vec<_>>()
    };
    assert_eq!(told(torn, "envelope_invalid", "bad_utf8"), [""; 0]);
    assert_eq!(told(&torn[..torn.len() - 1], "envelope_invalid", "bad_json"), [""; 0]);
    // Not for another reason, not if nobody can read whose it is, not if it is no request.
    assert_eq!(told(torn, "envelope_invalid", "bad_id"), ["CALL-7"]);
    assert_eq!(told(torn, "tool_not_advertised", "bad_utf8"), ["CALL-7"]);
    assert_eq!(told(&torn[..38], "envelope_invalid", "bad_json"), ["CALL-7"]);
    let other = String::from_utf8_lossy(torn).replace("tool.invoke", "tool.result");
    assert_eq!(told(&other.as_bytes()[..70], "envelope_invalid", "bad_json"), ["CALL-7"]);
}

#[test]
fn dur_4_an_answer_that_is_of_no_delivery_is_of_no_older_one() {
    let mut told = history();
    told.at("second drawn")["generation"] = json!(1);
    told.at("second drawn")["outside"] = json!(true);
    let oracle = told.told();
    assert!(oracle.violations().is_empty(), "{:#?}", oracle.violations());
}

#[test]
fn i64_a_tool_that_declares_a_reserved_name_is_reported() {
    let tool = json!({"id":"x.y","input_schema":{"properties":{"instance_id":{"type":"string"}}}});
    let oracle = Oracle::new(&json!([{"tools":[tool]}]), &[]);
    assert_eq!(oracle.violations().iter().map(|v| v.invariant).collect::<Vec<_>>(), ["I64"]);
}

#[test]
fn i70_every_id_that_can_be_reported_has_a_fault_that_shows_it() {
    let shown: BTreeSet<_> = FAULTS.iter().map(|(id, _)| *id).collect();
    let listed: BTreeSet<_> = INVARIANTS.split_ascii_whitespace().collect();
    assert_eq!(listed, shown);
}

#[test]
fn every_spoilt_history_is_caught_by_the_invariant_it_breaks() {
    let missed: Vec<_> = FAULTS
        .iter()
        .enumerate()
        .filter(|(_, (id, spoil))| {
            let mut told = history();
            spoil(&mut told);
            !told.told().violations().iter().any(|violation| violation.invariant == *id)
        })
        .map(|(row, (id, _))| format!("{id} (row {row})"))
        .collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn op_4_a_deadline_missed_while_down_passes_when_it_is_completed_late() {
    let mut told = history();
    told.at("second dies")["clock"] = json!(101);
    let done = json!({"status":"completed"});
    let row = told.row("recovered", "operations", 0);
    for (field, value) in [("state", json!("completed")), ("ended_at", json!(100)), ("late", json!(true))] {
        row[field] = value;
    }
    told.at("recovered")["effective_ms"] = json!(101);
    let oracle = {
        let last = told.0.iter().position(|step| step.0 == "recovered").expect("a step");
        told.0.truncate(last + 1);
        told.row("recovered", "calls", 0)["status"] = json!("completed");
        let outcome = json!({"kind":"outcome","message_id":"r90","status":"completed","result":done});
        told.row("recovered", "calls", 0)["journal"].as_array_mut().expect("rows").push(outcome);
        told.at("recovered")["outbox"] = json!([{"message_id":"r90","conversation":"c","recipient":"a","seq":90,"kind":"outcome","call":"K1","dead":true}]);
        told.told()
    };
    assert!(oracle.violations().iter().all(|v| v.invariant == "DUR-2"), "{:#?}", oracle.violations());
    assert!(oracle.exercised().contains_key("OP-4") && oracle.exercised().contains_key("I39"));
}

#[test]
fn i58_a_call_that_ended_while_down_gives_the_focus_back_if_its_tool_says_so_and_nothing_else_does() {
    let recovered = |restores: bool, held: bool, focus: Value, code: Option<&str>| {
        let tool =
            json!({"id":"b.open","input_schema":{},"output_schema":{},"target":{"restore_previous_focus":restores}});
        let mut oracle = Oracle::new(&json!([{"tools":[tool]}]), &[("a", "c")]);
        let instance = |id: &str| json!({"id":id,"conversation":id,"app_scope":"b","state":"background"});
        let operation = json!({"id":"o","call":"K2","instance":"i2","conversation":"i2","app_scope":"b","state":"running",
            "created_at":0,"needs_foreground":true,"ends_on_leaving":false});
        let call = json!({"key":"K1","conversation":"c","agent":"a","call_id":"k1","tool":"b.open","instance":"i2",
            "status":"running","order":1,"journal":[]});
        let mut tables = json!({"commit":1,"effective_ms":0,"inventories":[],"calls":[call],"activations":[],
            "instances":[instance("i1"), instance("i2")],"focus":["i1","i2"],"outbox":[],"audit":[],
            "operations": if held { json!([operation]) } else { json!([]) }});
        oracle.commit(&tables, 0);
        oracle.crashed(1);
        oracle.restarted(&tables, 2);
        tables["commit"] = json!(2);
        tables["focus"] = focus;
        if let Some(code) = code {
            let row = json!({"kind":"outcome","message_id":"m","status":"expired","code":code});
            tables["calls"][0]["journal"] = json!([row]);
        }
        oracle.commit(&tables, 3);
        oracle.violations().iter().any(|violation| violation.invariant == "I58")
    };
    let expired = Some("call_expired");
    assert!(!recovered(true, false, json!(["i1"]), expired));
    assert!(!recovered(true, false, json!(["i1", "i2"]), None));
    assert!(recovered(true, false, json!(["i1"]), None), "no call ended");
    assert!(recovered(false, false, json!(["i1"]), expired), "its tool declares nothing of the kind");
    assert!(recovered(true, true, json!(["i1"]), expired), "an operation holds it there");
    assert!(recovered(true, false, json!(["i2"]), expired), "not from the middle");
    assert!(recovered(true, false, json!([]), expired), "not the one below");
}

#[test]
fn wire_1_the_golden_envelopes_are_read_as_they_are_meant() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/wire/fixtures/");
    let read = |file: &str| std::fs::read(format!("{folder}{file}")).expect("a fixture");
    let index: Value = serde_json::from_slice(&read("index.json")).expect("an index");
    let fixtures = index["fixtures"].as_array().expect("fixtures");
    for fixture in fixtures.iter().filter(|fixture| fixture["direction"] == "runtime_to_agent") {
        let tools = json!([{"tools":[{"id":"pomodoro.start","input_schema":{},"output_schema":{}}]}]);
        let mut oracle = Oracle::new(&tools, &[("a", "c-1")]);
        let mut invoke: Value = serde_json::from_slice(&read("tool.invoke.valid.json")).expect("an envelope");
        invoke["inventory_revision"] = json!("an older one");
        oracle.sent("a", invoke.to_string().as_bytes(), 0);
        oracle.received("a", &read(fixture["file"].as_str().expect("a file")), 1);
        // What is sent here was never stored, and the unknown type names no conversation.
        let beside = ["I6", "I65", "CALL-4", "I8", "CALL-6"];
        let found: Vec<_> = oracle.violations().iter().filter(|v| !beside.contains(&v.invariant)).collect();
        assert_eq!(found.is_empty(), fixture["valid"] == true, "{fixture} {found:?}");
    }
}

#[test]
fn call_6_the_schema_subset_is_checked_keyword_by_keyword() {
    let schema = json!({"type":"object","required":["a"],"additionalProperties":false,"properties":{
        "a":{"type":"string","minLength":1,"maxLength":2}, "b":{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2},
        "c":{"type":"number","minimum":0,"maximum":1}, "d":{"enum":["x"]}, "e":{"type":"boolean"}}});
    for good in [json!({"a":"二字","b":[1],"c":0.5,"d":"x","e":true}), json!({"a":"1"})] {
        assert!(valid(&schema, &good), "{good}");
    }
    for bad in [
        json!({}),
        json!({"a":""}),
        json!({"a":"123"}),
        json!({"a":1}),
        json!({"a":"1","z":1}),
        json!({"a":"1","b":[]}),
        json!({"a":"1","b":[1.0]}),
        json!({"a":"1","b":[1,2,3]}),
        json!({"a":"1","c":-1}),
        json!({"a":"1","c":2}),
        json!({"a":"1","d":"y"}),
        json!({"a":"1","e":null}),
        json!([]),
    ] {
        assert!(!valid(&schema, &bad), "{bad}");
    }
    assert!(!valid(&json!({"$ref":"#"}), &json!(1)));
}
