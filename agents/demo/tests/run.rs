//! The demo agent against a relay on a loopback socket and a Runtime that the test plays.

mod common;

use std::sync::atomic::Ordering;

use common::{World, inventory};
use lineup_model::{CallId, ErrorCode, message::Stage};
use lineup_wire::RequestBody;
use serde_json::json;

#[tokio::test]
async fn call_8_a_focus_is_talked_about_as_its_receipts_come() {
    let world = World::new().await;
    let (mut runtime, _demo) = world.joined().await;
    runtime.user("t1", "start a 20 minute focus").await;
    let (_, invoke) = runtime.invoke().await;
    assert_eq!((invoke.tool.as_str(), invoke.call_id.as_str()), ("pomodoro.start", "demo-focus-en-20-t1"));
    assert_eq!(json!(invoke.input), json!({ "minutes": 20 }));
    runtime.receipt(&invoke.call_id, 1, Stage::Starting).await;
    runtime.hears("demo-focus-en-20-t1-ready", "Getting ready").await;
    runtime.receipt(&invoke.call_id, 2, Stage::Started).await;
    runtime.hears("demo-focus-en-20-t1-timing", "Timing now: 20 minutes").await;
    world.now.fetch_add(5 * 60_000, Ordering::SeqCst);
    runtime.user("t2", "还剩多久").await;
    runtime.hears("demo-re-t2", "大约还剩 15 分钟").await;
    runtime.complete(&invoke.call_id, json!({ "status": "completed" })).await;
    runtime.hears("demo-focus-en-20-t1-end", "Done: 20 minutes").await;
}

#[tokio::test]
async fn inv_8_after_a_refused_revision_it_looks_again_and_tries_once_more() {
    let world = World::new().await;
    let (mut runtime, _demo) = world.joined().await;
    runtime.user("t1", "stop").await;
    let (request, first) = runtime.invoke().await;
    assert_eq!(first.inventory_revision, inventory(&["start", "interrupt"]).revision);
    runtime.refuse(&request, first.call_id.clone(), ErrorCode::InventoryRevisionMismatch).await;
    runtime.hello().await;
    runtime.inventory(2, &["interrupt"]).await;
    let (request, second) = runtime.invoke().await;
    assert_eq!((&second.call_id, second.inventory_revision), (&first.call_id, inventory(&["interrupt"]).revision));
    runtime.refuse(&request, second.call_id, ErrorCode::InventoryRevisionMismatch).await;
    runtime.hears("demo-stop-en-t1-end", "has just changed").await;
}

#[tokio::test]
async fn inv_6_what_it_may_no_longer_use_it_does_not_call() {
    let world = World::new().await;
    let (mut runtime, _demo) = world.joined().await;
    runtime.inventory(2, &["interrupt"]).await;
    runtime.user("t1", "start a 20 minute focus").await;
    runtime.hears("demo-re-t1", "I may not start a focus here").await;
}

#[tokio::test]
async fn a_text_that_comes_before_the_inventory_waits_for_it() {
    let world = World::new().await;
    let mut runtime = world.runtime().await;
    runtime.user("t1", "what can you do?").await;
    let _demo = world.demo().await;
    // It joins, and once more for the text.
    runtime.hello().await;
    runtime.hello().await;
    runtime.inventory(1, &["start", "interrupt"]).await;
    runtime.hears("demo-re-t1", "I can start a focus of 1 to 1440 minutes").await;
}

#[tokio::test]
async fn a_restarted_agent_finds_its_open_call_and_tells_its_end() {
    let world = World::new().await;
    let (mut runtime, demo) = world.joined().await;
    runtime.user("t1", "开始二十分钟的专注").await;
    let call = runtime.invoke().await.1.call_id;
    runtime.receipt(&call, 1, Stage::Starting).await;
    runtime.hears("demo-focus-zh-20-t1-ready", "正在准备").await;
    drop(demo);
    let _demo = world.demo().await;
    runtime.hello().await;
    runtime.inventory(1, &["start", "interrupt"]).await;
    // Joining is answered by the latest word on open calls; calls of others are left to them.
    runtime.receipt(&CallId::new("k1").unwrap(), 2, Stage::Started).await;
    runtime.receipt(&call, 2, Stage::Started).await;
    assert_eq!(runtime.request().await.body, RequestBody::Status { call_id: call.clone() });
    runtime.receipt(&call, 2, Stage::Started).await;
    // Under the same id as before the restart: the Runtime takes it in once.
    runtime.hears("demo-focus-zh-20-t1-timing", "现在开始计时").await;
    runtime.user("t2", "how long left?").await;
    runtime.hears("demo-re-t2", "at most 20 minutes").await;
    runtime.complete(&call, json!({ "status": "interrupted", "by": "left" })).await;
    runtime.hears("demo-focus-zh-20-t1-end", "你离开了").await;
}

#[tokio::test]
async fn an_end_that_came_while_the_agent_was_away_is_told() {
    let world = World::new().await;
    let (mut runtime, _demo) = world.joined().await;
    let call = CallId::new("demo-focus-en-20-t1").unwrap();
    runtime.complete(&call, json!({ "status": "completed" })).await;
    runtime.hears("demo-focus-en-20-t1-end", "Done: 20 minutes").await;
}

#[tokio::test]
async fn it_goes_on_where_it_was_after_the_relay_was_away() {
    let mut world = World::new().await;
    let (mut runtime, _demo) = world.joined().await;
    runtime.user("t1", "start a 20 minute focus").await;
    let call = runtime.invoke().await.1.call_id;
    world.stop();
    world.start().await;
    runtime.reconnected().await;
    // It joins again and sends again what has no answer.
    runtime.hello().await;
    assert_eq!(runtime.invoke().await.1.call_id, call);
    runtime.receipt(&call, 1, Stage::Starting).await;
    runtime.hears("demo-focus-en-20-t1-ready", "Getting ready").await;
}

#[tokio::test]
async fn call_3_two_demo_agents_make_one_call_and_say_one_answer() {
    let world = World::new().await;
    let (mut runtime, _one) = world.joined().await;
    let _other = world.demo().await;
    runtime.hello().await;
    runtime.inventory(1, &["start", "interrupt"]).await;
    runtime.user("t1", "hello").await;
    assert_eq!(runtime.text().await, runtime.text().await, "the Runtime takes in one text of an id");
    runtime.user("t2", "stop").await;
    let (one, other) = (runtime.invoke().await.1, runtime.invoke().await.1);
    assert_eq!(one, other, "one call, asked for twice");
    runtime.complete(&one.call_id, json!({ "status": "nothing_running" })).await;
    assert_eq!(runtime.text().await, runtime.text().await);
}
