//! One agent over several connections (H28): each answers its own calls, and is harmless to the others'.

mod common;

use common::{World, call_id, conversation, inventory};
use lineup_agent::{Agent, Call, CallOptions, Event, Message};
use lineup_model::{ErrorCode, message::Stage};
use serde_json::json;
use tokio::join;

async fn start(agent: &Agent, id: &str) -> Call {
    let options = CallOptions {
        call_id: Some(call_id(id)),
        revision: Some(inventory(&["start"]).revision),
        ..CallOptions::default()
    };
    agent.invoke_with(&conversation(), "pomodoro.start", json!({ "minutes": 20 }), options).await.unwrap()
}

/// What a subscriber hears of the call `k1` that it does not follow.
fn of_a_call(message: Option<Message>) -> Event {
    match message {
        Some(Message::Call { conversation: place, call_id: id, event }) => {
            assert_eq!((place, id), (conversation(), call_id("k1")));
            event
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn h28_the_same_call_over_five_connections_has_one_outcome_on_each() {
    let world = World::new().await;
    let mut runtime = world.runtime().await;
    let (mut agents, mut calls) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let agent = world.agent().await;
        calls.push(start(&agent, "k1").await);
        agents.push(agent);
    }
    for _ in 0..5 {
        runtime.invoke().await;
    }
    // The Runtime answers every repeat; each connection hears every answer.
    for _ in 0..5 {
        runtime.complete(&call_id("k1"), json!({ "status": "completed" })).await;
    }
    for call in &mut calls {
        assert!(matches!(call.next().await, Some(Event::Outcome(_))));
        assert_eq!(call.next().await, None);
    }
}

#[tokio::test]
async fn h28_what_is_said_about_a_call_of_another_connection_changes_nothing_here() {
    let world = World::new().await;
    let mut runtime = world.runtime().await;
    let (caller, bystander) = (world.agent().await, world.agent().await);
    let mut incoming = bystander.incoming();
    let mut own = start(&bystander, "k2").await;
    runtime.invoke().await;
    let mut call = start(&caller, "k1").await;
    let (message, _, _) = runtime.invoke().await;
    runtime.receipt(&call_id("k1"), 1, Stage::Started).await;
    runtime.refuse(&message, Some(call_id("k1")), ErrorCode::CallIdConflict).await;
    runtime.complete(&call_id("k1"), json!({})).await;
    runtime.complete(&call_id("k2"), json!({})).await;

    assert!(matches!(call.next().await, Some(Event::Receipt(_))));
    assert!(matches!(call.next().await, Some(Event::Refused(_))));
    assert!(matches!(own.next().await, Some(Event::Outcome(outcome)) if outcome.call_id == call_id("k2")));
    assert_eq!(own.next().await, None);
    // None of it is anybody's here: only a subscriber hears of it.
    assert!(matches!(of_a_call(incoming.next().await), Event::Receipt(receipt) if receipt.stage == Stage::Started));
    match incoming.next().await {
        Some(Message::Refused { refusal, .. }) => assert_eq!(refusal.in_reply_to, message),
        other => panic!("{other:?}"),
    }
    assert!(matches!(of_a_call(incoming.next().await), Event::Outcome(_)));
    assert_eq!(bystander.counters(), lineup_agent::Counters::default());
}

#[tokio::test]
async fn inv_7_an_inventory_that_one_connection_asked_for_is_adopted_by_all_that_hear_it() {
    let world = World::new().await;
    let mut runtime = world.runtime().await;
    let (asking, listening) = (world.agent().await, world.agent().await);
    let mut incoming = listening.incoming();
    let conversation = conversation();
    let (tools, ()) = join!(asking.hello(&conversation), async {
        runtime.hello().await;
        runtime.inventory(1, &["start"]).await;
    });
    assert_eq!(*tools.unwrap(), inventory(&["start"]));
    assert!(matches!(incoming.next().await, Some(Message::Inventory { sequence: 1, .. })));
    assert_eq!(listening.inventory(&conversation).as_deref(), Some(&inventory(&["start"])));
    // H39: an older one, and other content under the same number, are ignored and counted.
    runtime.inventory(1, &["interrupt"]).await;
    runtime.inventory(2, &["start", "interrupt"]).await;
    assert!(matches!(incoming.next().await, Some(Message::Inventory { sequence: 2, .. })));
    assert_eq!(listening.counters().stale_inventories, 1);
}
