//! The checker. It reads the agent's wire log and the database, and nothing else: no state of the
//! server, no word of the harness. Each violation begins with the contract's or the case's id.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    agent::{Line, is_outcome},
    db::{Database, Fact, Message},
};

/// What must hold at every moment: right after a kill, before anything is started again.
pub fn always(lines: &[Line], database: &Database) -> Vec<String> {
    let mut wrong = Vec::new();
    wire(lines, &mut wrong);
    said_is_stored(lines, database, &mut wrong);
    journal(database, &mut wrong);
    calls(database, &mut wrong);
    live(database, &mut wrong);
    wrong
}

/// What must hold once faults have stopped and everything was driven to its end.
pub fn at_the_end(lines: &[Line], database: &Database) -> Vec<String> {
    let mut wrong = always(lines, database);
    let (asked, safe) = asked(lines);
    for (message, call) in &asked {
        if !safe.contains(message.as_str()) {
            wrong.push(format!("DUR-4: the relay never took responsibility for {message}"));
        }
        if !outcomes(lines).contains_key(call.as_str()) {
            wrong.push(format!("DUR-4: call {call} was taken and has no outcome on the wire"));
        }
        if ends_of(database, call).count() != 1 {
            wrong.push(format!("I9: call {call} has {} outcomes in the database", ends_of(database, call).count()));
        }
    }
    if !database.open_calls.is_empty() {
        wrong.push(format!("I9: unfinished calls at {:?}", database.open_calls));
    }
    let got: BTreeSet<&str> = frames(lines).filter_map(|frame| frame["id"].as_str()).collect();
    for message in database.messages() {
        // A newer inventory takes the place of one that was not sent (INV-7).
        if message.body["kind"] != "inventory" && !got.contains(message.id.as_str()) {
            wrong.push(format!("I48: message {} was never received", message.id));
        }
    }
    if !database.outbox.is_empty() {
        wrong.push(format!("DUR-2: the outbox holds {:?}", database.outbox));
    }
    for kind in ["operation", "activation", "inbox", "action"] {
        for (id, _) in database.of_kind(kind) {
            wrong.push(format!("I43: {kind} {id} is left over"));
        }
    }
    texts(lines, database, &mut wrong);
    wrong
}

fn frames(lines: &[Line]) -> impl Iterator<Item = &Value> {
    lines.iter().filter_map(|line| match line {
        Line::Got { frame, .. } => Some(frame),
        Line::Sent { .. } | Line::Safe { .. } => None,
    })
}

/// The calls that the agent made, by message, and the messages that are safe.
fn asked(lines: &[Line]) -> (BTreeMap<String, String>, BTreeSet<&str>) {
    let (mut asked, mut safe) = (BTreeMap::new(), BTreeSet::new());
    for line in lines {
        match line {
            Line::Sent { id, bytes } => {
                let envelope: Value = serde_json::from_slice(bytes).unwrap_or_default();
                if envelope["type"] == "lineup.v1.tool.invoke" {
                    asked.insert(id.clone(), envelope["call_id"].as_str().unwrap_or_default().to_owned());
                }
            }
            Line::Safe { id } => {
                safe.insert(id.as_str());
            }
            Line::Got { .. } => {}
        }
    }
    (asked, safe)
}

/// The bytes of every outcome, by call.
fn outcomes(lines: &[Line]) -> BTreeMap<&str, BTreeSet<&[u8]>> {
    let mut outcomes: BTreeMap<&str, BTreeSet<&[u8]>> = BTreeMap::new();
    for line in lines {
        if let Line::Got { bytes, frame } = line
            && is_outcome(frame)
            && let Some(call) = frame["call_id"].as_str()
        {
            outcomes.entry(call).or_default().insert(bytes);
        }
    }
    outcomes
}

/// What the agent can see by itself.
fn wire(lines: &[Line], wrong: &mut Vec<String>) {
    for (call, bytes) in outcomes(lines) {
        if bytes.len() > 1 {
            wrong.push(format!("CALL-5: call {call} has {} different outcomes on the wire", bytes.len()));
        }
    }
    let mut by_id: BTreeMap<&str, &[u8]> = BTreeMap::new();
    let mut last_seq: BTreeMap<&str, i64> = BTreeMap::new();
    let mut over: BTreeSet<&str> = BTreeSet::new();
    for line in lines {
        let Line::Got { bytes, frame } = line else { continue };
        let Some(id) = frame["id"].as_str() else {
            wrong.push(format!("WIRE-1: a frame without an id: {frame}"));
            continue;
        };
        if let Some(before) = by_id.insert(id, bytes) {
            if before != bytes.as_slice() {
                wrong.push(format!("I45: message {id} came with other bytes the second time"));
            }
            // A repeat: at least once, and in any order with what is newer.
            continue;
        }
        let Some(call) = frame["call_id"].as_str().filter(|_| frame["final"] != false) else { continue };
        if is_outcome(frame) {
            over.insert(call);
        } else {
            let seq = frame["seq"].as_i64().unwrap_or_default();
            let last = last_seq.entry(call).or_default();
            if seq != *last + 1 {
                wrong.push(format!("I13: call {call} got receipt {seq} after receipt {last}"));
            }
            *last = seq;
            if over.contains(call) {
                wrong.push(format!("I7: call {call} got a new receipt after its outcome: {frame}"));
            }
        }
    }
}

/// Everything that the agent was ever told is durable (I6, I45), and says the same.
fn said_is_stored(lines: &[Line], database: &Database, wrong: &mut Vec<String>) {
    let stored: BTreeMap<String, Message> = database.messages().map(|message| (message.id.clone(), message)).collect();
    for frame in frames(lines) {
        // A refusal is no durable message (CALL-7).
        if frame["final"] == false {
            continue;
        }
        // A join is answered with the current publication, under a name of its own (INV-7).
        if frame["tools"].is_array() {
            let published = |stored: &Message| {
                stored.body["sequence"] == frame["sequence"]
                    && stored.body["inventory"]["revision"] == frame["revision"]
            };
            if !stored.values().any(published) {
                wrong.push(format!("I6: inventory {} was sent and is not durable", frame["sequence"]));
            }
            continue;
        }
        let id = frame["id"].as_str().unwrap_or_default();
        match stored.get(id) {
            None => wrong.push(format!("I6: the agent was told what is not durable: {frame}")),
            Some(message) if !says(frame, &message.body) => {
                wrong.push(format!("I45: message {id} says {frame} and is stored as {}", message.body));
            }
            Some(_) => {}
        }
    }
}

/// Whether a frame says what is stored.
fn says(frame: &Value, stored: &Value) -> bool {
    let fields: &[&str] = match stored["kind"].as_str() {
        Some("receipt") => &["call_id", "seq", "stage", "app_scope", "reason"],
        Some("outcome") => &["call_id", "status", "result"],
        Some("text") => &["text"],
        _ => return false,
    };
    fields.iter().all(|field| frame[*field] == stored[*field])
}

fn journal(database: &Database, wrong: &mut Vec<String>) {
    let mut effective = 0;
    for (index, fact) in database.journal.iter().enumerate() {
        if fact.place != i64::try_from(index).unwrap_or(i64::MAX) + 1 {
            wrong.push(format!("I18: place {} of the journal is missing", index + 1));
            return;
        }
        if fact.effective < effective {
            wrong.push(format!("OP-4: effective time went back at {}", fact.place));
        }
        effective = fact.effective;
    }
    if database.effective < effective {
        wrong.push("I38: the stored effective time is behind the journal".to_owned());
    }
    let mut texts = BTreeSet::new();
    for fact in database.facts("action_accepted").chain(database.facts("call_accepted")) {
        if !texts.insert((&fact.happened, &fact.subject)) {
            wrong.push(format!("I1: {} is there twice", fact.subject));
        }
    }
}

/// The row that accepted a call of the agent's.
fn accepted<'a>(database: &'a Database, call_id: &'a str) -> impl Iterator<Item = &'a Fact> {
    database.facts("call_accepted").filter(move |fact| fact.body["call"]["call_id"] == call_id)
}

fn ends_of<'a>(database: &'a Database, call_id: &'a str) -> impl Iterator<Item = &'a Fact> {
    database.facts("call_ended").filter(move |fact| said(fact, "outcome").any(|body| body["call_id"] == call_id))
}

/// The messages of a kind in a row.
fn said<'a>(fact: &'a Fact, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    let messages = fact.body["messages"].as_array().into_iter().flatten();
    messages.map(|message| &message["body"]).filter(move |body| body["kind"] == kind)
}

fn calls(database: &Database, wrong: &mut Vec<String>) {
    let ids: BTreeSet<&str> =
        database.facts("call_accepted").filter_map(|fact| fact.body["call"]["call_id"].as_str()).collect();
    for id in ids {
        let rows: Vec<&Fact> = accepted(database, id).collect();
        let [row] = rows[..] else {
            wrong.push(format!("I1: call {id} was accepted {} times", rows.len()));
            continue;
        };
        let key = row.subject.as_str();
        let about = || database.journal.iter().filter(|fact| fact.call.as_deref() == Some(key));
        // Receipts: 1, 2, 3, … and none after the outcome (I13).
        let (mut seq, mut ended) = (0, 0);
        for fact in about() {
            for receipt in said(fact, "receipt") {
                seq += 1;
                if receipt["seq"] != seq {
                    wrong.push(format!("I13: call {id} has receipt {} as number {seq}", receipt["seq"]));
                }
                if ended > 0 {
                    wrong.push(format!("I13: call {id} has a receipt after its outcome"));
                }
            }
            ended += said(fact, "outcome").count();
        }
        let is_open = database.open_calls.contains(&row.place);
        if ended != usize::from(!is_open) {
            wrong.push(format!("I9: call {id} has {ended} outcomes and is {}", if is_open { "open" } else { "over" }));
        }
        let endings = database.endings.iter().filter(|(taken, _)| *taken == row.place).count();
        if endings != ended {
            wrong.push(format!("CALL-3: call {id} is known to have ended {endings} times, and ended {ended} times"));
        }
        // Operations: at most one, from the commit that says `started` (APP-5), ended with the call (I32).
        let of_call = |name: &'static str| database.facts(name).filter(|fact| fact.body["detail"]["call"] == key);
        let (begun, over) = (of_call("operation_started").count(), of_call("operation_ended").count());
        let started = about().flat_map(|fact| said(fact, "receipt")).filter(|body| body["stage"] == "started").count();
        if begun > 1 || over > begun {
            wrong.push(format!("I3: call {id} began {begun} operations and ended {over}"));
        }
        if started != begun {
            wrong.push(format!("APP-5: call {id} has {started} `started` and {begun} operations"));
        }
        let runs = database.of_kind("operation").filter(|(_, body)| body["call"] == key).count();
        if runs + over != begun {
            wrong.push(format!("I31: of {begun} operations of call {id} {over} are over and {runs} run"));
        }
        if begun == 1 && over != ended {
            wrong.push(format!("I32: the operation of call {id} is over {over} times, the call {ended} times"));
        }
        // Interrupted is never shown as completed, nor the other way (OP-4, DUR-4).
        for fact in of_call("operation_ended") {
            let end = fact.body["detail"]["ended"]["end"].as_str().unwrap_or_default();
            let shown =
                about().flat_map(|fact| said(fact, "outcome")).find_map(|body| body["result"]["status"].as_str());
            if shown != Some(end) {
                wrong.push(format!("DUR-4: the operation of call {id} is {end} and shown as {shown:?}"));
            }
        }
    }
}

fn live(database: &Database, wrong: &mut Vec<String>) {
    let instances: BTreeSet<&str> = database.of_kind("instance").map(|(id, _)| id).collect();
    let mut seen = BTreeSet::new();
    for entry in database.of_kind("focus").filter_map(|(_, body)| body.as_array()).flatten() {
        let id = entry.as_str().unwrap_or_default();
        if !instances.contains(id) {
            wrong.push(format!("I56: the focus stack holds {entry}, which is no live instance"));
        }
        if !seen.insert(id) {
            wrong.push(format!("I56: the focus stack holds {id} twice"));
        }
    }
    let messages: BTreeSet<(i64, i64)> = database.messages().map(|message| (message.place, message.index)).collect();
    for row in &database.outbox {
        if !messages.contains(row) {
            wrong.push(format!("I44: the outbox holds {row:?}, which no row of the journal says"));
        }
    }
    let mut activations = BTreeSet::new();
    for (id, body) in database.of_kind("activation") {
        if !activations.insert(body["instance"].to_string()) {
            wrong.push(format!("I25: activation {id} is the second of its instance"));
        }
    }
}

/// Texts both ways: what the agent sent is in the timeline once, and what the user said too.
fn texts(lines: &[Line], database: &Database, wrong: &mut Vec<String>) {
    let shown: Vec<String> = database.documents.iter().flat_map(strings).collect();
    let times = |text: &str| shown.iter().filter(|shown| *shown == text).count();
    let mut said: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for frame in frames(lines).filter(|frame| frame["type"] == "lineup.v1.message.text") {
        if let (Some(text), Some(id)) = (frame["text"].as_str(), frame["id"].as_str()) {
            said.entry(text).or_default().insert(id);
        }
    }
    for (text, ids) in said {
        if ids.len() != 1 {
            wrong.push(format!("DUR-4: `{text}` left as {} messages", ids.len()));
        }
        if times(text) != 1 {
            wrong.push(format!("DUR-4: `{text}` is in the timeline {} times", times(text)));
        }
    }
    for line in lines {
        if let Line::Sent { bytes, .. } = line {
            let envelope: Value = serde_json::from_slice(bytes).unwrap_or_default();
            if let Some(text) = envelope["text"].as_str()
                && times(text) != 1
            {
                wrong.push(format!("DUR-3: the agent's `{text}` is in the timeline {} times", times(text)));
            }
        }
    }
}

/// Every text in a value.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(strings).collect(),
        Value::Object(all) => all.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn got(frame: Value) -> Line {
        Line::Got { bytes: frame.to_string().into_bytes(), frame }
    }

    fn fact(place: i64, happened: &str, subject: &str, call: Option<&str>, body: Value) -> Fact {
        let (happened, subject, call) = (happened.to_owned(), subject.to_owned(), call.map(str::to_owned));
        Fact { place, happened, subject, call, wall: 0, effective: place, body }
    }

    fn receipt(seq: i64, stage: &str) -> Value {
        json!({ "call_id": "k1", "seq": seq, "stage": stage, "app_scope": "pomodoro" })
    }

    fn outcome(status: &str) -> Value {
        json!({ "call_id": "k1", "status": "completed", "result": { "status": status } })
    }

    fn said(kind: &str, mut body: Value) -> Value {
        body["kind"] = json!(kind);
        json!({ "messages": [{ "to": "demo", "conversation": "main", "body": body }] })
    }

    fn framed(id: &str, is_final: bool, mut body: Value) -> Line {
        body["id"] = json!(id);
        if is_final {
            body["final"] = json!(true);
        }
        got(body)
    }

    /// A focus period that ended as it should, as the agent and the database remember it.
    fn sound() -> (Vec<Line>, Database) {
        let mut accepted = said("receipt", receipt(1, "starting"));
        accepted["call"] = json!({ "call_id": "k1" });
        let ended = json!({ "detail": { "call": "c1", "ended": { "end": "completed" } } });
        let database = Database {
            journal: vec![
                fact(1, "call_accepted", "c1", Some("c1"), accepted),
                fact(2, "operation_started", "o2", None, json!({ "detail": { "call": "c1" } })),
                fact(3, "call_progressed", "c1", Some("c1"), said("receipt", receipt(2, "started"))),
                fact(4, "operation_ended", "o2", None, ended),
                fact(5, "call_ended", "c1", Some("c1"), said("outcome", outcome("completed"))),
            ],
            endings: vec![(1, 5)],
            effective: 5,
            ..Database::default()
        };
        let bytes = json!({ "type": "lineup.v1.tool.invoke", "call_id": "k1" }).to_string().into_bytes();
        let lines = vec![
            Line::Sent { id: "call-k1".to_owned(), bytes },
            Line::Safe { id: "call-k1".to_owned() },
            framed("m1-0", false, receipt(1, "starting")),
            framed("m3-0", false, receipt(2, "started")),
            framed("m5-0", true, outcome("completed")),
        ];
        (lines, database)
    }

    #[test]
    fn what_is_sound_has_no_violation_also_when_all_of_it_comes_twice() {
        let (mut lines, database) = sound();
        assert_eq!(at_the_end(&lines, &database), Vec::<String>::new());
        lines.extend(lines.clone());
        assert_eq!(at_the_end(&lines, &database), Vec::<String>::new());
    }

    /// The id that the violation begins with, and how the sound case is spoiled.
    type Spoiled = (&'static str, fn(&mut Vec<Line>, &mut Database));

    const SPOILED: &[Spoiled] = &[
        ("I6", |lines, _| lines.push(framed("m9-0", false, receipt(3, "app")))),
        ("CALL-5", |lines, _| lines.push(framed("m6-0", true, outcome("interrupted")))),
        ("I45", |lines, _| lines.push(framed("m5-0", true, outcome("interrupted")))),
        ("I13", |lines, _| drop(lines.remove(2))),
        ("I7", |lines, _| lines.push(framed("m7-0", false, receipt(3, "app")))),
        ("DUR-4", |lines, _| drop(lines.remove(1))),
        ("I48", |lines, _| drop(lines.remove(3))),
        ("I9", |_, database| database.open_calls.push(1)),
        ("CALL-3", |_, database| database.endings.clear()),
        ("I18", |_, database| drop(database.journal.remove(1))),
        ("OP-4", |_, database| database.journal[3].effective = 0),
        ("I38", |_, database| database.effective = 0),
        ("I1", |_, database| {
            let again = Fact { place: 6, effective: 6, subject: "c6".to_owned(), ..database.journal[0].clone() };
            database.journal.push(again);
        }),
        ("I3", |_, database| {
            let again = Fact { place: 6, effective: 6, ..database.journal[1].clone() };
            database.journal.push(again);
        }),
        ("APP-5", |_, database| database.journal[1].happened = "focus_moved".to_owned()),
        ("I32", |_, database| database.journal[3].happened = "focus_moved".to_owned()),
        ("DUR-4", |_, database| database.journal[3].body["detail"]["ended"]["end"] = json!("interrupted")),
        ("DUR-2", |_, database| database.outbox.push((5, 0))),
        ("I44", |_, database| database.outbox.push((5, 1))),
        ("I43", |_, database| drop(database.records.insert(("inbox".to_owned(), "1".to_owned()), json!({})))),
        ("I56", |_, database| drop(database.records.insert(("focus".to_owned(), String::new()), json!(["i9"])))),
        ("I25", |_, database| {
            for id in ["a1", "a2"] {
                database.records.insert(("activation".to_owned(), id.to_owned()), json!({ "instance": "i1" }));
            }
        }),
        ("DUR-4", |lines, _| {
            lines.push(got(json!({ "id": "m8-0", "type": "lineup.v1.message.text", "text": "hello" })));
        }),
        ("DUR-3", |lines, _| {
            let bytes = json!({ "type": "lineup.v1.message.text", "text": "hello" }).to_string().into_bytes();
            lines.push(Line::Sent { id: "t1".to_owned(), bytes });
        }),
    ];

    #[test]
    fn every_fault_is_reported_under_its_id() {
        for (index, (id, spoil)) in SPOILED.iter().enumerate() {
            let (mut lines, mut database) = sound();
            spoil(&mut lines, &mut database);
            let wrong = at_the_end(&lines, &database);
            assert!(wrong.iter().any(|wrong| wrong.starts_with(&format!("{id}:"))), "{index}, {id}: {wrong:?}");
        }
    }
}
