//! Golden fixtures (WIRE-1): one file per type and case, with an index that other languages read.
//!
//! A valid fixture is decoded to the value that stands here and encoded back to the same bytes; a
//! bad one is refused with the code, reason and pointer that the index names.

mod common;

use lineup_model::{
    AppScope, CallId, ConversationId, Digest, ErrorCode, Inventory, MessageId, Revision, ToolId, Wall,
    message::{AgentBody, AgentMessage, End, Fault, Outcome, Progress, Receipt, Refusal, Stage},
};
use lineup_wire::{
    Invoke, Malformed, Reply, Request, RequestBody, decode_reply, decode_request, encode, encode_refusal,
    encode_request,
};
use serde_json::{Value, json};

/// What a fixture decodes to.
enum Means {
    Request(Request),
    Reply(Reply),
    BadRequest { code: ErrorCode, reason: &'static str, pointer: Option<&'static str>, answered: bool },
    BadReply { reason: &'static str },
}

struct Fixture {
    kind: &'static str,
    case: &'static str,
    bytes: Vec<u8>,
    means: Means,
}

impl Fixture {
    fn file(&self) -> String {
        format!("{}.{}.json", self.kind, self.case)
    }

    fn index_entry(&self) -> Value {
        let entry = match &self.means {
            Means::Request(_) | Means::BadRequest { .. } => "agent_to_runtime",
            Means::Reply(_) | Means::BadReply { .. } => "runtime_to_agent",
        };
        let mut line = json!({
            "file": self.file(), "direction": entry, "type": format!("lineup.v1.{}", self.kind), "case": self.case,
            "valid": matches!(self.means, Means::Request(_) | Means::Reply(_)),
        });
        match &self.means {
            Means::BadRequest { code, reason, pointer, answered } => {
                line["code"] = code.as_str().into();
                line["reason"] = (*reason).into();
                line["answered"] = (*answered).into();
                if let Some(pointer) = pointer {
                    line["pointer"] = (*pointer).into();
                }
            }
            Means::BadReply { reason } => line["reason"] = (*reason).into(),
            Means::Request(_) | Means::Reply(_) => {}
        }
        line
    }
}

#[test]
fn wire_1_the_committed_fixtures_are_those_of_the_code() {
    let fixtures = fixtures();
    for fixture in &fixtures {
        common::holds(&format!("fixtures/{}", fixture.file()), &fixture.bytes);
    }
    let index = json!({ "version": 1, "fixtures": fixtures.iter().map(Fixture::index_entry).collect::<Vec<_>>() });
    let mut bytes = serde_json::to_vec_pretty(&index).unwrap();
    bytes.push(b'\n');
    common::holds("fixtures/index.json", &bytes);
}

#[test]
fn wire_1_every_committed_fixture_stands_in_the_index() {
    let known: Vec<String> = fixtures().iter().map(Fixture::file).collect();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "index.json" || known.contains(&name), "fixtures/{name} is in no case; delete it");
    }
}

#[test]
fn wire_1_valid_fixtures_decode_to_their_meaning_and_encode_byte_equal() {
    for fixture in fixtures() {
        let (file, bytes) = (fixture.file(), &fixture.bytes);
        match fixture.means {
            Means::Request(expected) => {
                assert_eq!(decode_request(bytes).as_ref(), Ok(&expected), "{file}");
                assert_eq!(text(&encode_request(&expected)), text(bytes), "{file}");
            }
            Means::Reply(expected) => {
                assert_eq!(decode_reply(bytes).as_ref(), Ok(&expected), "{file}");
                match expected {
                    Reply::Message(message) => {
                        assert_eq!(text(&encode(&message)), text(bytes), "{file}")
                    }
                    Reply::Refused { id, conversation, refusal } => {
                        assert_eq!(text(&encode_refusal(&id, &conversation, &refusal)), text(bytes), "{file}");
                    }
                    Reply::Unknown { .. } => {}
                }
            }
            Means::BadRequest { .. } | Means::BadReply { .. } => {}
        }
    }
}

#[test]
fn wire_5_bad_fixtures_are_refused_with_their_code_and_only_requests_are_answered() {
    for fixture in fixtures() {
        let file = fixture.file();
        match fixture.means {
            Means::BadRequest { code, reason, pointer, answered } => {
                let Malformed { fault, reason: found, is_request, in_reply_to, conversation, .. } =
                    decode_request(&fixture.bytes).unwrap_err();
                assert_eq!((fault.code, found.as_str(), fault.pointer.as_deref()), (code, reason, pointer), "{file}");
                assert_eq!(fault.reason.as_deref(), Some(reason), "{file}");
                assert_eq!(is_request && in_reply_to.is_some() && conversation.is_some(), answered, "{file}");
            }
            Means::BadReply { reason } => {
                assert_eq!(decode_reply(&fixture.bytes).unwrap_err().reason.as_str(), reason, "{file}");
            }
            Means::Request(_) | Means::Reply(_) => {}
        }
    }
}

fn fixtures() -> Vec<Fixture> {
    let mut all = requests();
    all.extend(replies());
    all.extend(bad_requests());
    all.extend(bad_replies());
    all
}

fn requests() -> Vec<Fixture> {
    let request = |kind, case, body| {
        let request = Request { id: message_id("m-1"), conversation: conversation(), body };
        Fixture { kind, case, bytes: encode_request(&request), means: Means::Request(request) }
    };
    let invoke = Invoke {
        call_id: call_id(),
        tool: ToolId::new("pomodoro.start").unwrap(),
        input: json!({ "minutes": 20, "title": "写作" }).as_object().unwrap().clone(),
        inventory_revision: revision(),
        expires_at: None,
    };
    let expiring = Invoke { expires_at: Some(Wall(1_796_000_000_000)), ..invoke.clone() };
    vec![
        request("agent.hello", "valid", RequestBody::Hello),
        request("tool.invoke", "valid", RequestBody::Invoke(invoke)),
        request("tool.invoke", "valid_expiring", RequestBody::Invoke(expiring)),
        request("tool.status", "valid", RequestBody::Status { call_id: call_id() }),
        request("tool.cancel", "valid", RequestBody::Cancel { call_id: call_id() }),
        request("message.text", "valid_from_agent", RequestBody::Text { text: "Ready when you are.".into() }),
    ]
}

fn replies() -> Vec<Fixture> {
    let message = |kind, case, body| {
        let message = AgentMessage { id: message_id("r-1"), conversation: conversation(), body };
        Fixture { kind, case, bytes: encode(&message), means: Means::Reply(Reply::Message(message)) }
    };
    let receipt = |case, seq, stage, reason: Option<&str>, progress| {
        let (call_id, app_scope) = (call_id(), AppScope::new("pomodoro").unwrap());
        let reason = reason.map(str::to_owned);
        let receipt = Receipt { call_id, seq, stage, app_scope, reason, progress };
        message("miniapp.tool.progress", case, AgentBody::Receipt(receipt))
    };
    let ended = |kind, case, end| message(kind, case, AgentBody::Outcome(Outcome { call_id: call_id(), end }));
    let refused = |case, refusal: Refusal| Fixture {
        kind: "miniapp.tool.result",
        case,
        bytes: encode_refusal(&message_id("r-1"), &conversation(), &refusal),
        means: Means::Reply(Reply::Refused { id: message_id("r-1"), conversation: conversation(), refusal }),
    };
    let refusal =
        |error| Refusal { in_reply_to: message_id("m-1"), call_id: Some(call_id()), error, current_revision: None };
    let fault = |code| Fault::new(code, "what happened, for people");
    let (tools, detail) = (inventory(), Some(json!({ "step": 2, "of": 5 })));
    vec![
        message("client.inventory", "valid", AgentBody::Inventory { sequence: 7, inventory: tools.into() }),
        message("client.inventory", "empty", AgentBody::Inventory { sequence: 8, inventory: Inventory::of([]).into() }),
        receipt("accepted", 1, Stage::Accepted, None, None),
        receipt("starting", 1, Stage::Starting, None, None),
        receipt("activation_ready", 2, Stage::ActivationReady, None, None),
        receipt("started", 2, Stage::Started, None, None),
        receipt("app", 3, Stage::App, None, Some(Progress { label: "shown".into(), detail })),
        receipt("activation_failed", 2, Stage::ActivationFailed, Some("timeout"), None),
        receipt("activation_cancelled", 2, Stage::ActivationCancelled, Some("closed"), None),
        ended("miniapp.tool.result", "completed", End::Completed { result: json!({ "status": "completed" }) }),
        ended("miniapp.tool.result", "failed", End::Failed { error: fault(ErrorCode::ToolFailed) }),
        ended(
            "miniapp.tool.result",
            "failed_output",
            End::Failed { error: fault(ErrorCode::ToolOutputInvalid).because("schema_violation").at("/status") },
        ),
        ended("miniapp.tool.result", "expired", End::Expired { error: fault(ErrorCode::CallExpired) }),
        ended("miniapp.tool.result", "rejected_final", End::Rejected { error: fault(ErrorCode::AppDisabled) }),
        ended("miniapp.tool.cancel", "valid", End::Cancelled { error: fault(ErrorCode::AppActivationCancelled) }),
        refused(
            "refused_stale_revision",
            Refusal { current_revision: Some(revision()), ..refusal(fault(ErrorCode::InventoryRevisionMismatch)) },
        ),
        refused(
            "refused_bad_schema",
            refusal(fault(ErrorCode::ToolInputInvalid).because("schema_violation").at("/minutes")),
        ),
        refused("refused_scope_mismatch", refusal(fault(ErrorCode::AppScopeMismatch))),
        refused("refused_call_id_conflict", refusal(fault(ErrorCode::CallIdConflict))),
        refused("refused_repeated_final", refusal(fault(ErrorCode::CallAlreadyFinal))),
        refused("refused_without_call", Refusal { call_id: None, ..refusal(fault(ErrorCode::RateLimited)) }),
        message("message.text", "valid_from_person", AgentBody::Text { text: "你好".into() }),
        Fixture {
            kind: "miniapp.tool.applause",
            case: "unknown_type",
            bytes: br#"{"type":"lineup.v1.miniapp.tool.applause","id":"r-1","volume":11}"#.to_vec(),
            means: Means::Reply(Reply::Unknown { type_name: "lineup.v1.miniapp.tool.applause".into() }),
        },
    ]
}

fn bad_requests() -> Vec<Fixture> {
    use ErrorCode::{EnvelopeInvalid, ToolInputInvalid, ToolNotAdvertised};
    let invoke = |case, change: &dyn Fn(&str) -> String, code, reason, pointer| {
        let good = text(&requests().swap_remove(1).bytes).to_owned();
        let bad = change(&good);
        assert_ne!(good, bad, "{case} changes nothing");
        let means = Means::BadRequest { code, reason, pointer, answered: true };
        Fixture { kind: "tool.invoke", case, bytes: bad.into_bytes(), means }
    };
    let with = |field: &'static str| move |good: &str| good.replacen('{', &format!("{{{field},"), 1);
    let swap = |from: &'static str, to: &'static str| move |good: &str| good.replacen(from, to, 1);
    let dropped = |kind, case, bytes: &str, reason, pointer| Fixture {
        kind,
        case,
        bytes: bytes.as_bytes().to_vec(),
        means: Means::BadRequest { code: EnvelopeInvalid, reason, pointer, answered: false },
    };
    vec![
        invoke("bad_unknown_field", &with(r#""note":1"#), EnvelopeInvalid, "unknown_field", Some("/note")),
        invoke(
            "bad_reserved_field",
            &with(r#""instance_id":"i-1""#),
            EnvelopeInvalid,
            "reserved_field",
            Some("/instance_id"),
        ),
        invoke("bad_call_id", &swap(r#""k-1""#, r#""k 1""#), EnvelopeInvalid, "bad_id", Some("/call_id")),
        invoke("bad_missing_call_id", &swap(r#""call_id":"k-1","#, ""), EnvelopeInvalid, "bad_envelope", None),
        invoke(
            "bad_input",
            &swap(r#"{"minutes":20,"title":"写作"}"#, "[20]"),
            EnvelopeInvalid,
            "bad_envelope",
            Some("/input"),
        ),
        invoke(
            "bad_revision",
            &swap(r#""inventory_revision":""#, r#""inventory_revision":"F"#),
            EnvelopeInvalid,
            "bad_envelope",
            Some("/inventory_revision"),
        ),
        invoke("bad_tool", &swap("pomodoro.start", "Pomodoro.start"), ToolNotAdvertised, "unknown_tool", Some("/tool")),
        invoke("bad_number_in_input", &swap("20", "1e400"), ToolInputInvalid, "number_range", Some("/minutes")),
        invoke(
            "bad_duplicate_in_input",
            &swap(r#""title""#, r#""minutes":1,"title""#),
            ToolInputInvalid,
            "duplicate_key",
            Some("/minutes"),
        ),
        dropped(
            "miniapp.tool.result",
            "bad_wrong_entry",
            r#"{"type":"lineup.v1.miniapp.tool.result","id":"m-1","conversation_id":"c-1","call_id":"k-1","status":"completed","final":true,"result":{}}"#,
            "wrong_entry",
            Some("/type"),
        ),
        dropped(
            "interaction.submit",
            "bad_wrong_entry",
            r#"{"type":"lineup.v1.interaction.submit","id":"m-1","conversation_id":"c-1"}"#,
            "wrong_entry",
            Some("/type"),
        ),
        dropped(
            "tool.applaud",
            "bad_unknown_type",
            r#"{"type":"lineup.v1.tool.applaud","id":"m-1","conversation_id":"c-1"}"#,
            "unknown_type",
            Some("/type"),
        ),
    ]
}

fn bad_replies() -> Vec<Fixture> {
    let bad = |kind, case, bytes: &str, reason| Fixture {
        kind,
        case,
        bytes: bytes.as_bytes().to_vec(),
        means: Means::BadReply { reason },
    };
    vec![
        bad(
            "miniapp.tool.result",
            "bad_status",
            r#"{"type":"lineup.v1.miniapp.tool.result","id":"r-1","conversation_id":"c-1","call_id":"k-1","status":"cancelled","final":true,"code":"call_expired","message":"m"}"#,
            "bad_envelope",
        ),
        bad(
            "miniapp.tool.result",
            "bad_unknown_field",
            r#"{"type":"lineup.v1.miniapp.tool.result","id":"r-1","conversation_id":"c-1","call_id":"k-1","status":"completed","final":true,"result":{},"seq":1}"#,
            "unknown_field",
        ),
        bad(
            "miniapp.tool.progress",
            "bad_stage",
            r#"{"type":"lineup.v1.miniapp.tool.progress","id":"r-1","conversation_id":"c-1","call_id":"k-1","seq":1,"stage":"completed","app_scope":"pomodoro"}"#,
            "bad_envelope",
        ),
        bad(
            "client.inventory",
            "bad_revision",
            r#"{"type":"lineup.v1.client.inventory","id":"r-1","conversation_id":"c-1","sequence":1,"revision":"","tools":[]}"#,
            "bad_envelope",
        ),
        bad(
            "tool.invoke",
            "bad_not_a_reply",
            r#"{"type":"lineup.v1.tool.invoke","id":"r-1","conversation_id":"c-1"}"#,
            "wrong_entry",
        ),
    ]
}

fn inventory() -> Inventory {
    let tools = json!([{
        "id": "pomodoro.start", "app_scope": "pomodoro", "method": "start", "contract_version": 1,
        "description": "Start a focus period and keep the time.",
        "input_schema": {
            "type": "object", "additionalProperties": false, "required": ["minutes"],
            "properties": { "minutes": { "type": "integer", "minimum": 1, "maximum": 180 }, "title": { "type": "string" } }
        },
        "output_schema": {
            "type": "object", "additionalProperties": false, "required": ["status"],
            "properties": { "status": { "type": "string", "enum": ["completed", "interrupted", "not_started"] } }
        },
        "invocation": "operation", "readiness": "foreground_required", "risk": "low",
        "timeout_ms": 60000, "cancellable": false
    }]);
    let revision = Revision(Digest::of(&tools));
    Inventory { revision, tools: serde_json::from_value(tools).unwrap() }
}

fn revision() -> Revision {
    Revision(Digest::of_bytes(b"an inventory"))
}

fn call_id() -> CallId {
    CallId::new("k-1").unwrap()
}

fn message_id(text: &str) -> MessageId {
    MessageId::new(text).unwrap()
}

fn conversation() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
