//! A Host session from its hello to its end.
mod common;

use common::{Asked, HOST, World};
use lineup_core::{
    desired::{Foreground, HostView},
    workspace::input::{HostIntentInput, HostReport, Intent, Report},
};
use lineup_model::{ErrorCode, message::Fault};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

fn report(session: &str, report: Report) -> Asked {
    Asked::Report(HostReport { session: session.parse().unwrap(), report })
}

fn view(activation: &str) -> HostView {
    let foreground = Foreground {
        instance: "i1".parse().unwrap(),
        app_scope: "pomodoro".parse().unwrap(),
        conversation: "main".parse().unwrap(),
        activation: Some(activation.parse().unwrap()),
    };
    HostView { foreground: Some(foreground), instances: Vec::new() }
}

#[tokio::test]
async fn hst_3_a_session_connects_reports_and_its_end_is_reported() {
    let mut world = World::new().await;
    let mut page = world.host("tab-1").await;
    assert_eq!(world.asked().await, report("tab-1", Report::Connected { visible: true }));
    page.send(json!({ "type": "foreground", "id": "1", "activation": "a1" })).await;
    assert_eq!(page.next().await, json!({ "type": "ok", "id": "1" }));
    let activation = "a1".parse().unwrap();
    assert_eq!(world.asked().await, report("tab-1", Report::Foreground { activation }));
    page.send(json!({ "type": "intent", "id": "2", "intent_id": "n1", "intent": "back" })).await;
    assert_eq!(page.next().await, json!({ "type": "ok", "id": "2" }));
    let (session, intent_id) = ("tab-1".parse().unwrap(), "n1".parse().unwrap());
    assert_eq!(world.asked().await, Asked::Intent(HostIntentInput { session, intent_id, intent: Intent::Back }));
    drop(page);
    assert_eq!(world.asked().await, report("tab-1", Report::Disconnected));
}

#[tokio::test]
async fn act_8_a_view_reaches_the_session_and_show_returns_once_it_was_told() {
    let mut world = World::new().await;
    let mut page = world.host("tab-1").await;
    let session = "tab-1".parse().unwrap();
    world.web.hosts().show(&session, view("a1")).await.unwrap();
    let told = page.next().await;
    assert_eq!(told["type"], "view");
    assert_eq!(told["host"]["foreground"]["activation"], "a1");
    assert_eq!(told.get("surfaces"), None, "nothing was said about Surfaces yet");
    world.web.surfaces().show(&session, Vec::new()).await.unwrap();
    let told = page.next().await;
    assert_eq!((&told["surfaces"], &told["host"]["foreground"]["activation"]), (&json!([]), &json!("a1")));
}

#[tokio::test]
async fn a_session_that_is_not_connected_cannot_be_told_anything() {
    let world = World::new().await;
    let error = world.web.hosts().show(&"nobody".parse().unwrap(), HostView::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "host session nobody: it is not connected");
}

#[tokio::test]
async fn hst_2_a_page_that_connects_again_replaces_its_old_connection() {
    let mut world = World::new().await;
    let mut old = world.host("tab-1").await;
    assert_eq!(world.asked().await, report("tab-1", Report::Connected { visible: true }));
    let mut new = world.host("tab-1").await;
    assert_eq!(world.asked().await, report("tab-1", Report::Disconnected));
    assert_eq!(world.asked().await, report("tab-1", Report::Connected { visible: true }));
    assert_eq!(old.closed().await, 1008);
    world.web.hosts().show(&"tab-1".parse().unwrap(), view("a2")).await.unwrap();
    assert_eq!(new.next().await["host"]["foreground"]["activation"], "a2");
    // The old connection's end is not the session's.
    new.send(json!({ "type": "visible", "id": "1", "visible": false })).await;
    assert_eq!(world.asked().await, report("tab-1", Report::Visible(false)));
}

#[tokio::test]
async fn a_refusal_of_the_runtime_is_the_answer_with_its_code() {
    let mut world = World::new().await;
    let mut page = world.host("tab-1").await;
    world.runtime.refuse_next(Fault::new(ErrorCode::LifecycleDenied, "a focus period is running").because("focus"));
    page.send(json!({ "type": "intent", "id": "1", "intent_id": "n1", "intent": "back" })).await;
    assert_eq!(
        page.next().await,
        json!({ "type": "error", "id": "1", "code": "lifecycle_denied", "reason": "focus", "message": "a focus period is running" })
    );
}

#[tokio::test]
async fn a_hello_that_the_runtime_cannot_take_is_answered_and_the_connection_ends() {
    let mut world = World::new().await;
    world.runtime.refuse_next(Fault::new(ErrorCode::StorageUnavailable, "the disk is full"));
    let mut page = world.open(world.request("/host", HOST)).await.unwrap();
    page.send(json!({ "type": "hello", "id": "h", "session": "tab-1", "visible": true })).await;
    assert_eq!(page.next().await["code"], "storage_unavailable");
    assert_eq!(page.closed().await, 1000);
    assert_eq!(world.asked().await, report("tab-1", Report::Connected { visible: true }));
    assert_eq!(world.asked().await, report("tab-1", Report::Disconnected));
}

#[tokio::test]
async fn the_end_of_a_session_is_reported_again_until_the_runtime_takes_it() {
    let mut world = World::new().await;
    let page = world.host("tab-1").await;
    assert_eq!(world.asked().await, report("tab-1", Report::Connected { visible: true }));
    world.runtime.refuse_next(Fault::new(ErrorCode::StorageUnavailable, "busy"));
    drop(page);
    assert_eq!(world.asked().await, report("tab-1", Report::Disconnected));
    assert_eq!(world.asked().await, report("tab-1", Report::Disconnected));
}

#[tokio::test]
async fn a_first_frame_that_is_no_hello_ends_the_connection_and_asks_nothing() {
    for frame in [
        json!({ "type": "foreground", "id": "1", "activation": "a1" }),
        json!({ "type": "hello", "id": "1", "session": "tab-1" }),
        json!({ "type": "hello", "id": "1", "session": "../tab", "visible": true }),
        json!({ "type": "hello", "id": "1", "session": "tab-1", "visible": true, "owner": "me" }),
        json!([]),
    ] {
        let mut world = World::new().await;
        let mut page = world.open(world.request("/host", HOST)).await.unwrap();
        page.send(frame.clone()).await;
        assert_eq!(page.next().await["code"], "envelope_invalid", "{frame}");
        assert_eq!(page.closed().await, 1008, "{frame}");
        assert!(world.asked_nothing());
    }
}

#[tokio::test]
async fn h42_frames_of_other_entries_are_refused_and_change_nothing() {
    let mut world = World::new().await;
    let mut page = world.host("tab-1").await;
    assert_eq!(world.asked().await, report("tab-1", Report::Connected { visible: true }));
    for kind in ["act", "inspect", "conversation", "pair", "advance", "hello", "lineup.v1.tool.invoke"] {
        page.send(json!({ "type": kind, "id": "1" })).await;
        let answer = page.next().await;
        assert_eq!((&answer["code"], &answer["reason"]), (&json!("envelope_invalid"), &json!("wrong_entry")), "{kind}");
    }
    assert!(world.asked_nothing());
}

#[tokio::test]
async fn hostile_bytes_are_answered_and_the_session_goes_on() {
    let mut world = World::new().await;
    let mut page = world.host("tab-1").await;
    let deep = "[".repeat(100_000);
    for bytes in ["", "{", "nul", deep.as_str(), r#"{"type":"visible","id":"1","visible":1e400}"#] {
        page.raw(Message::text(bytes)).await;
        let answer = page.next().await;
        assert_eq!(answer["code"], "envelope_invalid");
        assert!(answer.to_string().len() < 400, "an answer echoes at most 64 bytes");
    }
    let big = format!(r#"{{"type":"visible","id":"1","x":"{}"}}"#, "x".repeat(300_000));
    page.raw(Message::text(big)).await;
    assert_eq!(page.next().await["code"], "payload_too_large");
    page.send(json!({ "type": "visible", "id": "2", "visible": true })).await;
    assert_eq!(page.next().await, json!({ "type": "ok", "id": "2" }));
}

#[tokio::test]
async fn a_binary_message_ends_the_connection() {
    let mut world = World::new().await;
    let mut page = world.host("tab-1").await;
    page.raw(Message::binary(vec![1, 2, 3])).await;
    assert_eq!(page.closed().await, 1003);
}

#[tokio::test]
async fn a_clean_stop_tells_every_session_that_the_runtime_goes_away() {
    let mut world = World::new().await;
    let (mut one, mut other) = (world.host("tab-1").await, world.host("tab-2").await);
    world.web.close();
    assert_eq!((one.closed().await, other.closed().await), (1001, 1001));
}

#[tokio::test]
async fn the_sixty_fifth_session_is_refused_and_a_known_one_may_come_back() {
    let mut world = World::new().await;
    let mut pages = Vec::new();
    for number in 0..64 {
        pages.push(world.host(&format!("tab-{number}")).await);
    }
    let mut late = world.open(world.request("/host", HOST)).await.unwrap();
    late.send(json!({ "type": "hello", "id": "h", "session": "tab-64", "visible": true })).await;
    let answer: Value = late.next().await;
    assert_eq!(answer["code"], "rate_limited");
    assert_eq!(late.closed().await, 1013);
    world.host("tab-0").await;
}
