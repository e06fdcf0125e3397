//! An agent against a relay on a loopback socket and a Runtime that the test plays.

mod common;

use common::{FakeRuntime, World, call_id, conversation, demo, inventory};
use lineup_agent::{Agent, AgentError, Call, CallOptions, Connection, Event, Message};
use lineup_link::LinkError;
use lineup_model::{
    ErrorCode, MessageId,
    message::{AgentBody, AgentMessage, End, Stage},
};
use lineup_relay::Role;
use lineup_wire::RequestBody;
use serde_json::json;
use tokio::join;

/// An agent that has joined the conversation, with the tool `pomodoro.start`.
async fn joined(world: &World) -> (Agent, FakeRuntime) {
    let (agent, mut runtime) = (world.agent().await, world.runtime().await);
    let conversation = conversation();
    let (tools, ()) = join!(agent.hello(&conversation), async {
        runtime.hello().await;
        runtime.inventory(1, &["start"]).await;
    });
    assert_eq!(*tools.unwrap(), inventory(&["start"]));
    (agent, runtime)
}

async fn start(agent: &Agent, id: &str) -> Call {
    let options = CallOptions { call_id: Some(call_id(id)), ..CallOptions::default() };
    agent.invoke_with(&conversation(), "pomodoro.start", json!({ "minutes": 20 }), options).await.unwrap()
}

fn seq(event: Option<Event>) -> u32 {
    match event {
        Some(Event::Receipt(receipt)) => receipt.seq,
        other => panic!("expected a receipt, got {other:?}"),
    }
}

fn is_outcome(event: Option<Event>) -> bool {
    matches!(event, Some(Event::Outcome(outcome)) if matches!(outcome.end, End::Completed { .. }))
}

#[tokio::test]
async fn call_8_a_call_gives_its_receipts_then_exactly_one_outcome() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut call = agent.invoke(&conversation(), "pomodoro.start", json!({ "minutes": 20 })).await.unwrap();

    let (_, invoke, _) = runtime.invoke().await;
    assert_eq!((invoke.tool.as_str(), &invoke.call_id), ("pomodoro.start", call.id()));
    assert_eq!(invoke.inventory_revision, inventory(&["start"]).revision);
    runtime.receipt(call.id(), 1, Stage::Starting).await;
    runtime.receipt(call.id(), 2, Stage::Started).await;
    for _ in 0..2 {
        runtime.complete(call.id(), json!({ "status": "completed" })).await;
    }
    runtime.receipt(call.id(), 3, Stage::App).await;

    assert_eq!(seq(call.next().await), 1);
    assert_eq!(seq(call.next().await), 2);
    assert!(is_outcome(call.next().await));
    assert_eq!(call.next().await, None);
}

#[tokio::test]
async fn a_first_call_joins_the_conversation_by_itself() {
    let world = World::new().await;
    let (agent, mut runtime) = (world.agent().await, world.runtime().await);
    assert_eq!(agent.identity(), &demo());
    let conversation = conversation();
    let (call, invoke) = join!(agent.invoke(&conversation, "pomodoro.start", json!({})), async {
        runtime.hello().await;
        runtime.inventory(1, &["start"]).await;
        runtime.invoke().await
    });
    assert_eq!(call.unwrap().id(), &invoke.1.call_id);
}

#[tokio::test]
async fn call_7_a_refusal_fails_the_request_that_it_names_and_settles_no_call() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut first = start(&agent, "k1").await;
    let (_, first_invoke, _) = runtime.invoke().await;
    let mut repeat = start(&agent, "k1").await;
    let (second_id, ..) = runtime.invoke().await;

    runtime.refuse(&second_id, Some(first_invoke.call_id), ErrorCode::CallIdConflict).await;
    match repeat.next().await {
        Some(Event::Refused(refusal)) => assert_eq!(refusal.error.code, ErrorCode::CallIdConflict),
        other => panic!("{other:?}"),
    }
    assert_eq!(repeat.next().await, None);
    runtime.complete(first.id(), json!({})).await;
    assert!(is_outcome(first.next().await), "the first call goes on");
}

#[tokio::test]
async fn inv_8_a_stale_revision_is_refused_with_the_current_one() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let stale = inventory(&["stop"]).revision;
    let options = CallOptions { revision: Some(stale.clone()), ..CallOptions::default() };
    let mut call = agent.invoke_with(&conversation(), "pomodoro.start", json!({}), options).await.unwrap();
    let (id, invoke, _) = runtime.invoke().await;
    assert_eq!(invoke.inventory_revision, stale);
    runtime.refuse(&id, Some(invoke.call_id), ErrorCode::InventoryRevisionMismatch).await;
    match call.outcome().await.unwrap_err() {
        AgentError::Refused(refusal) => {
            assert_eq!(refusal.error.code, ErrorCode::InventoryRevisionMismatch);
            assert_eq!(refusal.current_revision, Some(inventory(&["start"]).revision));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn call_3_a_repeat_answer_goes_to_whoever_waits_for_the_call() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut first = start(&agent, "k1").await;
    let (first_id, first_invoke, _) = runtime.invoke().await;
    runtime.complete(first.id(), json!({})).await;
    assert!(is_outcome(first.next().await));

    let mut repeat = start(&agent, "k1").await;
    let (repeat_id, repeat_invoke, _) = runtime.invoke().await;
    assert_ne!(first_id, repeat_id);
    assert_eq!(first_invoke, repeat_invoke);
    runtime.complete(repeat.id(), json!({})).await;
    assert!(is_outcome(repeat.next().await));
    assert_eq!(first.next().await, None);
}

#[tokio::test]
async fn i31_answers_of_one_conversation_are_not_those_of_another() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut call = start(&agent, "k1").await;
    runtime.invoke().await;
    let elsewhere = AgentMessage {
        id: MessageId::new("x1").unwrap(),
        conversation: lineup_model::ConversationId::new("c2").unwrap(),
        body: AgentBody::Outcome(lineup_model::message::Outcome {
            call_id: call_id("k1"),
            end: End::Completed { result: json!({}) },
        }),
    };
    runtime.deliver(&elsewhere).await;
    runtime.receipt(call.id(), 1, Stage::Accepted).await;
    assert_eq!(seq(call.next().await), 1);
}

#[tokio::test]
async fn b16_after_a_reconnect_it_joins_again_and_sends_what_is_unanswered_byte_for_byte() {
    let mut world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut open = start(&agent, "open").await;
    let mut done = start(&agent, "done").await;
    let mut before = vec![runtime.request().await.1, runtime.request().await.1];
    runtime.receipt(open.id(), 1, Stage::Starting).await;
    runtime.complete(done.id(), json!({})).await;
    assert_eq!(seq(open.next().await), 1);
    assert!(is_outcome(done.next().await));

    world.stop();
    let mut connection = agent.connection();
    connection.wait_for(|now| *now == Connection::Down).await.unwrap();
    // Made while there is no connection: it is sent once there is one.
    let offline = start(&agent, "offline").await;
    world.start().await;
    runtime.reconnected().await;
    connection.wait_for(|now| *now == Connection::Up).await.unwrap();

    runtime.hello().await;
    assert_eq!(runtime.request().await.1, before.remove(0), "the open call, byte for byte");
    assert_eq!(&runtime.invoke().await.1.call_id, offline.id());
    // The Runtime answers a repeat with the latest receipt, then the outcome.
    runtime.receipt(open.id(), 1, Stage::Starting).await;
    runtime.complete(open.id(), json!({})).await;
    assert!(is_outcome(open.next().await), "the receipt was seen before");
}

#[tokio::test]
async fn h39_only_an_inventory_with_a_higher_sequence_is_adopted() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut incoming = agent.incoming();
    let rows: [(u64, &[&str]); 5] =
        [(3, &["start", "stop"]), (2, &["start"]), (3, &["start"]), (3, &["start", "stop"]), (4, &[])];
    for (sequence, tools) in rows {
        runtime.inventory(sequence, tools).await;
    }
    for (expected, tools) in [(3, &["start", "stop"][..]), (4, &[][..])] {
        match incoming.next().await {
            Some(Message::Inventory { sequence, inventory: found, .. }) => {
                assert_eq!((sequence, &*found), (expected, &inventory(tools)));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(*agent.inventory(&conversation()).unwrap(), inventory(&[]));
    assert_eq!(agent.counters().stale_inventories, 2);
}

#[tokio::test]
async fn call_10_cancel_ends_with_the_call_or_with_a_refusal() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut call = start(&agent, "k1").await;
    runtime.invoke().await;

    let (refused, ()) = join!(call.cancel(), async {
        let (request, _) = runtime.request().await;
        assert_eq!(request.body, RequestBody::Cancel { call_id: call_id("k1") });
        runtime.refuse(&request.id, Some(call_id("k1")), ErrorCode::CallNotCancellable).await;
    });
    assert!(
        matches!(refused, Err(AgentError::Refused(refusal)) if refusal.error.code == ErrorCode::CallNotCancellable)
    );

    let (ended, ()) = join!(call.cancel(), async {
        runtime.request().await;
        runtime.complete(&call_id("k1"), json!({})).await;
    });
    assert_eq!(ended, Ok(()));
    assert!(is_outcome(call.next().await));
}

#[tokio::test]
async fn status_follows_a_call_that_this_agent_did_not_make() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut known = agent.status(&conversation(), &call_id("k1")).await.unwrap();
    assert_eq!(runtime.request().await.0.body, RequestBody::Status { call_id: call_id("k1") });
    runtime.receipt(known.id(), 4, Stage::Started).await;
    assert_eq!(seq(known.next().await), 4);
    runtime.complete(known.id(), json!({})).await;
    assert!(is_outcome(known.next().await));

    let mut unknown = agent.status(&conversation(), &call_id("k2")).await.unwrap();
    let (request, _) = runtime.request().await;
    runtime.refuse(&request.id, Some(call_id("k2")), ErrorCode::CallNotFound).await;
    assert!(matches!(unknown.next().await, Some(Event::Refused(_))));
}

#[tokio::test]
async fn call_8_after_a_restart_joining_tells_the_open_calls_and_status_follows_them() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    drop(agent);
    let agent = world.agent().await;
    let mut incoming = agent.incoming();
    let conversation = conversation();
    let (_, ()) = join!(agent.hello(&conversation), async {
        runtime.hello().await;
        runtime.inventory(1, &["start"]).await;
        runtime.receipt(&call_id("k1"), 2, Stage::Started).await;
    });
    assert!(matches!(incoming.next().await, Some(Message::Inventory { .. })));
    match incoming.next().await {
        Some(Message::Call { call_id: id, event: Event::Receipt(receipt), .. }) => {
            assert_eq!((id, receipt.stage), (call_id("k1"), Stage::Started));
        }
        other => panic!("{other:?}"),
    }
    let mut call = agent.status(&conversation, &call_id("k1")).await.unwrap();
    runtime.request().await;
    runtime.receipt(call.id(), 2, Stage::Started).await;
    runtime.complete(call.id(), json!({})).await;
    assert_eq!(seq(call.next().await), 2);
    assert!(is_outcome(call.next().await));
}

#[tokio::test]
async fn dur_2_what_was_kept_while_the_agent_was_away_is_heard_by_one_that_listens_from_the_start() {
    let world = World::new().await;
    let runtime = world.runtime().await;
    let body = AgentBody::Text { text: "early".into() };
    let id = MessageId::new("t1").unwrap();
    runtime.deliver(&AgentMessage { id, conversation: conversation(), body }).await;
    let (_agent, mut incoming) = Agent::connect_listening(world.options(&Role::Agent(demo()))).await.unwrap();
    assert!(matches!(incoming.next().await, Some(Message::Text { text, .. }) if text == "early"));
}

#[tokio::test]
async fn a_text_has_the_id_that_it_is_given_and_no_two_wait_under_one() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let (conversation, id) = (conversation(), MessageId::new("re-t1").unwrap());
    let (first, second, (request, _)) = join!(
        agent.send_text_as(&conversation, id.clone(), "one"),
        agent.send_text_as(&conversation, id.clone(), "two"),
        runtime.request()
    );
    assert_eq!((first, second), (Ok(()), Err(AgentError::IdInUse)));
    assert_eq!((&request.id, request.body), (&id, RequestBody::Text { text: "one".into() }));
    let (again, (request, _)) = join!(agent.send_text_as(&conversation, id.clone(), "one"), runtime.request());
    assert_eq!((again, request.id), (Ok(()), id));
}

#[tokio::test]
async fn texts_go_both_ways_and_a_redelivered_one_is_heard_once() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut incoming = agent.incoming();
    let conversation = conversation();
    let (sent, (request, _)) = join!(agent.send_text(&conversation, "你好"), runtime.request());
    assert_eq!(sent, Ok(()));
    assert_eq!(request.body, RequestBody::Text { text: "你好".into() });

    let text = |id: &str, text: &str| AgentMessage {
        id: MessageId::new(id).unwrap(),
        conversation: conversation.clone(),
        body: AgentBody::Text { text: text.into() },
    };
    for message in [text("t1", "one"), text("t1", "one"), text("t2", "two")] {
        runtime.deliver(&message).await;
    }
    for expected in ["one", "two"] {
        assert!(matches!(incoming.next().await, Some(Message::Text { text, .. }) if text == expected));
    }
    runtime.refuse(&request.id, None, ErrorCode::ConversationNotFound).await;
    assert!(
        matches!(incoming.next().await, Some(Message::Refused { refusal, .. }) if refusal.in_reply_to == request.id)
    );
}

#[tokio::test]
async fn wire_5_unknown_and_malformed_envelopes_are_acknowledged_and_counted() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut call = start(&agent, "k1").await;
    runtime.invoke().await;
    let rows: [&[u8]; 4] = [
        br#"{"type":"lineup.v1.miniapp.tool.applause","volume":11}"#,
        b"not json",
        br#"{"type":"lineup.v1.tool.invoke","id":"m","conversation_id":"c1"}"#,
        br#"{"type":"lineup.v1.miniapp.tool.result","id":"r","conversation_id":"c1","call_id":"k1","status":"completed","final":true,"result":{},"seq":9}"#,
    ];
    for row in rows {
        runtime.raw(&MessageId::new("x").unwrap(), row.to_vec()).await;
    }
    runtime.receipt(call.id(), 1, Stage::Accepted).await;
    assert_eq!(seq(call.next().await), 1);
    let counters = agent.counters();
    assert_eq!((counters.unknown, counters.malformed), (1, 3));
}

#[tokio::test]
async fn a_dropped_call_is_neither_followed_nor_sent_again() {
    let mut world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    drop(start(&agent, "dropped").await);
    let kept = start(&agent, "kept").await;
    world.stop();
    let mut connection = agent.connection();
    connection.wait_for(|now| *now == Connection::Down).await.unwrap();
    world.start().await;
    runtime.reconnected().await;
    connection.wait_for(|now| *now == Connection::Up).await.unwrap();
    // What had arrived before the crash may come first.
    let mut seen = Vec::new();
    while seen.last() != Some(&RequestBody::Hello) {
        seen.push(runtime.request().await.0.body);
    }
    assert_eq!(&runtime.invoke().await.1.call_id, kept.id());
}

#[tokio::test]
async fn a_request_that_the_codec_refuses_is_never_sent() {
    let world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let conversation = conversation();
    let too_large = json!({ "a": "x".repeat(64 * 1024) });
    let rows = [
        ("pomodoro.start", json!([1]), ErrorCode::ToolInputInvalid),
        ("Pomodoro", json!({}), ErrorCode::ToolNotAdvertised),
        ("pomodoro.start", too_large, ErrorCode::PayloadTooLarge),
        ("pomodoro.start", json!({ "a": "\0" }), ErrorCode::ToolInputInvalid),
    ];
    for (tool, input, code) in rows {
        match agent.invoke(&conversation, tool, input).await.err() {
            Some(AgentError::Malformed(fault)) => assert_eq!(fault.code, code),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(agent.send_text(&conversation, "").await, Err(AgentError::Malformed(_))));
    let call = start(&agent, "k1").await;
    assert_eq!(&runtime.invoke().await.1.call_id, call.id());
}

#[tokio::test]
async fn a_wrong_credential_is_a_typed_error() {
    let world = World::new().await;
    let mut options = world.options(&Role::Agent(demo()));
    options.token = "wrong".into();
    assert_eq!(Agent::connect_with(options).await.err(), Some(AgentError::Link(LinkError::Unauthorized)));
    let runtime = world.options(&Role::Runtime);
    assert_eq!(Agent::connect_with(runtime).await.err(), Some(AgentError::NotAnAgent));
}

#[tokio::test]
async fn a_connection_that_ends_for_good_ends_what_waits_with_the_reason() {
    let mut world = World::new().await;
    let (agent, mut runtime) = joined(&world).await;
    let mut call = start(&agent, "k1").await;
    runtime.invoke().await;
    lineup_relay::Credentials::load_or_create(world.dir.path()).unwrap().rotate(&Role::Agent(demo())).unwrap();
    world.stop();
    world.start().await;
    assert_eq!(call.next().await, None);
    assert_eq!(call.outcome().await, Err(AgentError::Link(LinkError::Unauthorized)));
    let after = agent.send_text(&conversation(), "anyone?").await;
    assert!(matches!(after, Err(AgentError::Link(_))));
}
