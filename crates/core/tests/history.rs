//! What a row keeps for people: the conversation in which they see it, and what they are shown of it.

mod scene;

use std::sync::Arc;

use lineup_core::{
    Input,
    workspace::input::{AgentRequest, Intent, Report, UiActionInput, View},
};
use lineup_testkit::manifests::interact;
use scene::{MINUTE, Scene, id, pomodoro};
use serde_json::{Value, json};

/// The rows that people see in a conversation: what happened, to what, and the detail.
fn seen(scene: &Scene, conversation: &str) -> Vec<(&'static str, String, Value)> {
    scene
        .journal
        .iter()
        .filter(|row| row.conversation.as_ref().is_some_and(|seen| seen.as_str() == conversation))
        .map(|row| (row.happened.as_str(), row.subject.to_string(), row.body.detail.clone().unwrap_or_default()))
        .collect()
}

#[test]
fn what_happens_in_a_conversation_is_seen_in_it_and_in_no_other() {
    let mut scene = Scene::new(vec![interact(), pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    let call = scene.call_in("side", "pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    let instance = scene.instance("side", "pomodoro").unwrap();
    scene.come_up(&instance);
    scene.confirm();
    scene.advance(20 * MINUTE);
    scene.intend("n1", Intent::Close { instance: instance.clone() }).unwrap();
    scene.request("ann", "main", AgentRequest::Text { text: "Hello.".into() }).unwrap();
    let action = UiActionInput {
        session: id("tab"),
        view: View::Interact(id("main")),
        action_id: id("a1"),
        method: id("send-text"),
        input: Arc::new(json!({ "text": "Hi.", "echo_id": "e1" })),
    };
    scene.put(Input::UiAction(action)).unwrap();

    let session = scene.journal.iter().find(|row| row.happened.as_str() == "instance_opened").unwrap();
    let moved = json!({ "app_scope": "pomodoro", "session": session.seq.app_session_id() });
    let operation = scene.journal.iter().find(|row| row.happened.as_str() == "operation_started").unwrap();
    let ended = json!({ "end": "completed", "ended": 20 * MINUTE, "late_by_ms": 0 });
    let ended = json!({ "call": call, "app_scope": "pomodoro", "ended": ended });
    let expected = [
        ("call_accepted", call.to_string(), Value::Null),
        ("instance_opened", instance.to_string(), moved.clone()),
        ("operation_ended", operation.subject.to_string(), ended),
        ("instance_closed", instance.to_string(), moved),
    ];
    assert_eq!(seen(&scene, "side"), expected);

    let chat = scene.instance("main", "chat").unwrap();
    let here = seen(&scene, "main");
    let kinds: Vec<_> = here.iter().map(|(happened, ..)| *happened).collect();
    assert_eq!(kinds, ["instance_opened", "inbox_received", "action_accepted"]);
    let text = json!({ "entry": { "entry": "text", "agent": "ann", "message": here[1].1 }, "text": "Hello." });
    assert_eq!(here[1].2, text);
    let done = json!({
        "entry": { "entry": "action", "instance": chat, "action": "a1" },
        "app_scope": "chat", "method": "send-text", "input": { "text": "Hi.", "echo_id": "e1" },
    });
    assert_eq!(here[2].2, done);
}
