use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;
use crate::{Digest, canonical};

fn call() -> CallId {
    CallId::new("c1").unwrap()
}

fn fault() -> Fault {
    Fault::new(ErrorCode::ToolInputInvalid, "must be at most 480").because("schema_violation").at("/minutes")
}

fn ends() -> Vec<End> {
    vec![
        End::Completed { result: json!({ "status": "completed", "share": 1.0, "n": -7, "none": null, "kind": "x" }) },
        End::Completed { result: json!({}) },
        End::Failed { error: fault() },
        End::Cancelled { error: Fault::new(ErrorCode::AppDisabled, "off") },
        End::Expired { error: fault() },
        End::Rejected { error: fault() },
    ]
}

fn receipt(stage: Stage) -> Receipt {
    let progress = (stage == Stage::App).then(|| Progress { label: "shown".into(), detail: Some(json!({ "a": 1.5 })) });
    let reason = (stage == Stage::ActivationFailed).then(|| "host_unavailable".to_owned());
    Receipt { call_id: call(), seq: 1, stage, app_scope: AppScope::new("pomodoro").unwrap(), reason, progress }
}

const STAGES: [Stage; 7] = [
    Stage::Accepted,
    Stage::Starting,
    Stage::ActivationReady,
    Stage::Started,
    Stage::App,
    Stage::ActivationFailed,
    Stage::ActivationCancelled,
];

fn bodies() -> Vec<AgentBody> {
    let inventory = std::sync::Arc::new(Inventory::of([]));
    let mut bodies =
        vec![AgentBody::Inventory { sequence: 3, inventory }, AgentBody::Text { text: "kind: text\n\"".into() }];
    bodies.extend(STAGES.map(|stage| AgentBody::Receipt(receipt(stage))));
    bodies.extend(ends().into_iter().map(|end| AgentBody::Outcome(Outcome { call_id: call(), end })));
    bodies
}

/// Reads back as itself, from text and from a tree, and is written the same way again.
fn comes_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(fact: &T) {
    let text = serde_json::to_string(fact).unwrap();
    let back: T = serde_json::from_str(&text).unwrap();
    assert_eq!(&back, fact);
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
    let tree: T = serde_json::from_value(serde_json::to_value(fact).unwrap()).unwrap();
    assert_eq!(canonical::to_string(&tree), canonical::to_string(fact));
}

#[test]
fn call_3_every_durable_message_comes_back_byte_equal() {
    for body in bodies() {
        comes_back(&AgentMessage {
            id: MessageId::new("m1").unwrap(),
            conversation: ConversationId::new("k1").unwrap(),
            body,
        });
    }
}

#[test]
fn call_7_a_refusal_comes_back_with_and_without_what_it_may_hold() {
    let whole = Refusal {
        in_reply_to: MessageId::new("m1").unwrap(),
        call_id: Some(call()),
        error: fault(),
        current_revision: Some(Revision(Digest::of(&1))),
    };
    comes_back(&whole);
    let bare =
        Refusal { call_id: None, current_revision: None, error: Fault::new(ErrorCode::RateLimited, "later"), ..whole };
    comes_back(&bare);
    assert_eq!(
        serde_json::to_value(&bare).unwrap(),
        json!({ "in_reply_to": "m1", "error": { "code": "rate_limited", "message": "later" } }),
        "what is not there is not written"
    );
}

#[test]
fn call_5_an_end_and_its_class_say_the_same_word() {
    for end in ends() {
        let class = end.class();
        assert_eq!(serde_json::to_value(&end).unwrap()["status"], class.as_str());
        assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
        assert_eq!(end.code().is_none(), class == OutcomeClass::Completed);
        comes_back(&class);
    }
}

#[test]
fn the_stored_form_of_a_message_does_not_change() {
    insta::assert_json_snapshot!(bodies());
}

#[test]
fn what_no_one_writes_is_not_read() {
    let outcome = |end: Value| serde_json::from_value::<Outcome>(end);
    assert!(outcome(json!({ "call_id": "c1", "status": "done", "result": {} })).is_err());
    assert!(outcome(json!({ "call_id": "c1", "status": "completed" })).is_err());
    assert!(
        outcome(json!({ "call_id": "c1", "status": "failed", "error": { "code": "no_such_code", "message": "" } }))
            .is_err()
    );
    assert!(outcome(json!({ "call_id": "c 1", "status": "completed", "result": {} })).is_err());
    assert!(serde_json::from_value::<Progress>(json!({ "label": "a", "status": "completed" })).is_err(), "CALL-12");
    assert!(serde_json::from_value::<Stage>(json!("completed")).is_err(), "a receipt is never an outcome");
}
