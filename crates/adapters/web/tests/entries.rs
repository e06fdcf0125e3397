//! The user's and the owner's entries.
mod common;

use std::sync::Arc;

use common::{Asked, OWNER, USER, World};
use lineup_core::{
    policy::{Conversation, HostProfile},
    workspace::input::{Setup, UiActionInput, View},
};
use lineup_model::{ErrorCode, message::Fault};
use lineup_ports::inbound::InspectQuery;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn uia_1_the_user_acts_in_interacts_own_view() {
    let mut world = World::new().await;
    let mut user = world.open(world.request("/user", USER)).await.unwrap();
    let act = json!({
        "type": "act", "id": "1", "session": "cli", "conversation": "main",
        "action_id": "x1", "method": "send-text", "input": { "text": "hello" },
    });
    user.send(act).await;
    assert_eq!(user.next().await, json!({ "type": "ok", "id": "1" }));
    assert_eq!(
        world.asked().await,
        Asked::Act(UiActionInput {
            session: "cli".parse().unwrap(),
            view: View::Interact("main".parse().unwrap()),
            action_id: "x1".parse().unwrap(),
            method: "send-text".parse().unwrap(),
            input: Arc::new(json!({ "text": "hello" })),
        })
    );
}

#[tokio::test]
async fn sur_2_the_user_entry_can_claim_no_surface_and_no_owner() {
    let mut world = World::new().await;
    let mut user = world.open(world.request("/user", USER)).await.unwrap();
    for field in ["instance_id", "app_owner", "owner", "entry", "view", "app_scope"] {
        let mut act = json!({
            "type": "act", "id": "1", "session": "cli", "conversation": "main",
            "action_id": "x1", "method": "send-text", "input": {},
        });
        act[field] = json!("i1");
        user.send(act).await;
        assert_eq!(user.next().await["code"], "envelope_invalid", "{field}");
    }
    assert!(world.asked_nothing());
}

#[tokio::test]
async fn h41_the_user_entry_takes_no_call_no_report_and_no_setup() {
    let mut world = World::new().await;
    let mut user = world.open(world.request("/user", USER)).await.unwrap();
    for kind in ["hello", "foreground", "intent", "inspect", "pair", "advance", "lineup.v1.tool.invoke"] {
        user.send(json!({ "type": kind, "id": "1" })).await;
        assert_eq!(user.next().await["reason"], "wrong_entry", "{kind}");
    }
    assert!(world.asked_nothing());
}

#[tokio::test]
async fn the_owner_looks_sets_up_and_moves_a_manual_clock() {
    let mut world = World::new().await;
    let mut owner = world.open(world.request("/control", OWNER)).await.unwrap();
    owner.send(json!({ "type": "inspect", "id": "1", "query": { "inspect": "call", "id": "k1" } })).await;
    assert_eq!(owner.next().await, json!({ "type": "ok", "id": "1", "value": { "rows": [] } }));
    assert_eq!(world.asked().await, Asked::Inspect(InspectQuery::Call { id: "k1".to_owned() }));

    let conversation = json!({
        "type": "conversation", "id": "2", "conversation": "main", "title": "Main", "agents": ["demo"],
    });
    owner.send(conversation).await;
    assert_eq!(owner.next().await, json!({ "type": "ok", "id": "2" }));
    let (id, agents) = ("main".parse().unwrap(), ["demo".parse().unwrap()].into());
    let conversation = Setup::Conversation(Conversation { id, title: "Main".to_owned(), agents });
    assert_eq!(world.asked().await, Asked::SetUp(conversation));

    owner.send(json!({ "type": "pair", "id": "3", "version": 1, "features": ["surface"] })).await;
    assert_eq!(owner.next().await, json!({ "type": "ok", "id": "3" }));
    let profile = HostProfile { paired: true, version: 1, features: ["surface".to_owned()].into() };
    assert_eq!(world.asked().await, Asked::SetUp(Setup::Pair(profile)));

    owner.send(json!({ "type": "advance", "id": "4", "ms": 1_200_000 })).await;
    assert_eq!(owner.next().await, json!({ "type": "ok", "id": "4", "value": { "advanced_ms": 1_200_000 } }));
    assert_eq!(world.asked().await, Asked::Advance(1_200_000));
}

#[tokio::test]
async fn op_4_the_machines_own_clock_is_moved_by_nobody() {
    let mut world = World::without_runtime(false).await;
    world.attach();
    let mut owner = world.open(world.request("/control", OWNER)).await.unwrap();
    owner.send(json!({ "type": "advance", "id": "1", "ms": 1 })).await;
    let answer = owner.next().await;
    assert_eq!((&answer["code"], &answer["reason"]), (&json!("capability_denied"), &json!("clock_not_manual")));
    assert!(world.asked_nothing());
}

#[tokio::test]
async fn ent_1_the_owner_entry_takes_no_call_no_action_and_no_report() {
    let mut world = World::new().await;
    let mut owner = world.open(world.request("/control", OWNER)).await.unwrap();
    for kind in ["hello", "foreground", "intent", "act", "lineup.v1.tool.invoke", "lineup.v1.tool.cancel"] {
        owner.send(json!({ "type": kind, "id": "1" })).await;
        assert_eq!(owner.next().await["reason"], "wrong_entry", "{kind}");
    }
    assert!(world.asked_nothing());
}

#[tokio::test]
async fn a_fault_of_the_runtime_names_its_code_and_the_entry_stays_open() {
    let world = World::new().await;
    let mut owner = world.open(world.request("/control", OWNER)).await.unwrap();
    world.runtime.refuse_next(Fault::new(ErrorCode::CallNotFound, "no call k9"));
    owner.send(json!({ "type": "inspect", "id": "1", "query": { "inspect": "call", "id": "k9" } })).await;
    assert_eq!(owner.next().await["code"], "call_not_found");
    owner.send(json!({ "type": "inspect", "id": "2", "query": { "inspect": "focus" } })).await;
    assert_eq!(owner.next().await["type"], "ok");
}

#[tokio::test]
async fn h1_a_binary_message_ends_the_connection() {
    let world = World::new().await;
    for (path, token) in [("/user", USER), ("/control", OWNER)] {
        let mut client = world.open(world.request(path, token)).await.unwrap();
        client.raw(Message::binary(vec![0xff])).await;
        assert_eq!(client.closed().await, 1003, "{path}");
    }
}
