//! When a sender is acknowledged, and what comes again (WIRE-4).

mod common;

use common::{World, acknowledged, agent, delivered, demo, hasty, message_id, patient, reconnected, send, to_agent};
use lineup_link::Event;
use lineup_relay::{Credentials, Relay, Role};
use lineup_wire::relay::{Party, RefuseReason, ServerFrame};

#[tokio::test]
async fn wire_4_a_sender_is_acknowledged_once_its_receiver_has_acknowledged() {
    let world = World::new(patient()).await;
    let (runtime, demo) = (world.linked(&Role::Runtime).await, world.linked(&agent()).await);
    send(&demo, &Party::Runtime, &["m1", "m2"]).await;

    let (first, from, one) = delivered(&runtime).await;
    assert_eq!((first.as_str(), from), ("m1", to_agent()));
    let (second, _, two) = delivered(&runtime).await;
    assert_eq!(second, "m2");
    runtime.acknowledge(vec![two, one]).await.unwrap();

    assert_eq!(acknowledged(&demo).await, "m2");
    assert_eq!(acknowledged(&demo).await, "m1");
    assert_eq!(world.relay().stats().written, 0, "the fast path touches no disk");
}

#[tokio::test]
async fn wire_4_without_a_receiver_a_sender_is_acknowledged_once_the_disk_has_it() {
    let mut world = World::new(patient()).await;
    let demo = world.linked(&agent()).await;
    send(&demo, &Party::Runtime, &["m1"]).await;
    assert_eq!(acknowledged(&demo).await, "m1");
    assert_eq!(world.relay().stats().written, 1);

    world.crash(patient()).await;
    let runtime = world.linked(&Role::Runtime).await;
    assert_eq!(delivered(&runtime).await.0, "m1");
}

#[tokio::test]
async fn wire_4_a_receiver_that_does_not_acknowledge_in_time_does_not_keep_the_sender_waiting() {
    let world = World::new(hasty()).await;
    let (runtime, demo) = (world.linked(&Role::Runtime).await, world.linked(&agent()).await);
    send(&demo, &Party::Runtime, &["m1"]).await;
    assert_eq!(acknowledged(&demo).await, "m1");
    assert_eq!(world.relay().stats().written, 1);
    assert_eq!(delivered(&runtime).await.0, "m1", "and the receiver gets it once");
}

#[tokio::test]
async fn wire_4_what_is_not_acknowledged_comes_again_in_order_until_it_is() {
    let world = World::new(patient()).await;
    let demo = world.linked(&agent()).await;
    {
        let runtime = world.linked(&Role::Runtime).await;
        send(&demo, &Party::Runtime, &["m1", "m2", "m3"]).await;
        let (_, _, _) = delivered(&runtime).await;
        let (_, _, second) = delivered(&runtime).await;
        runtime.acknowledge(vec![second]).await.unwrap();
        assert_eq!(acknowledged(&demo).await, "m2");
    }
    // The receiver is gone: the rest is written, then acknowledged.
    assert_eq!(acknowledged(&demo).await, "m1");
    assert_eq!(acknowledged(&demo).await, "m3");

    for round in 0..2 {
        let runtime = world.linked(&Role::Runtime).await;
        send(&demo, &Party::Runtime, &["late"]).await;
        let mut tokens = Vec::new();
        for expected in ["m1", "m3"] {
            let (id, _, token) = delivered(&runtime).await;
            assert_eq!(id, expected, "round {round}");
            tokens.push(token);
        }
        let late = delivered(&runtime).await;
        assert_eq!(late.0, "late");
        if round == 1 {
            runtime.acknowledge(tokens).await.unwrap();
            // Frames of a connection are read in order: once this arrives, those are acknowledged.
            send(&runtime, &to_agent(), &["after"]).await;
            assert_eq!(delivered(&demo).await.0, "after");
        }
        drop(runtime);
        assert_eq!(acknowledged(&demo).await, "late");
    }
    let runtime = world.linked(&Role::Runtime).await;
    assert_eq!(delivered(&runtime).await.0, "late", "the acknowledged ones are gone");
}

#[tokio::test]
async fn b22_a_crash_of_the_relay_loses_nothing_that_was_acknowledged() {
    let mut world = World::new(patient()).await;
    let demo = world.linked(&agent()).await;
    let ids: Vec<String> = (0..200).map(|number| format!("m{number}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    send(&demo, &Party::Runtime, &names).await;
    for _ in &ids {
        acknowledged(&demo).await;
    }

    world.crash(patient()).await;
    let runtime = world.linked(&Role::Runtime).await;
    for id in &ids {
        let (found, _, token) = delivered(&runtime).await;
        assert_eq!(&found, id);
        runtime.acknowledge(vec![token]).await.unwrap();
    }
}

#[tokio::test]
async fn wire_4_what_was_sent_but_not_acknowledged_is_the_senders_to_send_again_after_a_crash() {
    let mut world = World::new(patient()).await;
    let (runtime, demo) = (world.linked(&Role::Runtime).await, world.linked(&agent()).await);
    send(&demo, &Party::Runtime, &["m1"]).await;
    let (_, _, old) = delivered(&runtime).await;

    world.crash(patient()).await;
    reconnected(&demo).await;
    reconnected(&runtime).await;
    send(&demo, &Party::Runtime, &["m1"]).await;
    // A token of the connection before the crash acknowledges nothing on this one.
    runtime.acknowledge(vec![old]).await.unwrap();
    let (id, _, token) = delivered(&runtime).await;
    assert_eq!(id, "m1");
    assert_eq!(world.relay().stats().parties[&Party::Runtime].acknowledged, 0);
    runtime.acknowledge(vec![token]).await.unwrap();
    assert_eq!(acknowledged(&demo).await, "m1");
}

#[tokio::test]
async fn call_3_the_relay_never_deduplicates() {
    let world = World::new(patient()).await;
    let (runtime, demo) = (world.linked(&Role::Runtime).await, world.linked(&agent()).await);
    send(&demo, &Party::Runtime, &["m1", "m1"]).await;
    for _ in 0..2 {
        let (id, _, token) = delivered(&runtime).await;
        assert_eq!(id, "m1");
        runtime.acknowledge(vec![token]).await.unwrap();
        assert_eq!(acknowledged(&demo).await, "m1");
    }
}

#[tokio::test]
async fn wire_4_messages_go_between_the_runtime_and_known_agents_only() {
    let world = World::new(patient()).await;
    let (runtime, demo_link) = (world.linked(&Role::Runtime).await, world.linked(&agent()).await);
    let nobody = Party::Agent(lineup_model::AgentId::new("nobody").unwrap());
    let rows = [
        (&runtime, nobody, RefuseReason::UnknownRecipient),
        (&runtime, Party::Runtime, RefuseReason::NotAllowed),
        (&demo_link, Party::Agent(demo()), RefuseReason::NotAllowed),
    ];
    for (link, to, reason) in rows {
        send(link, &to, &["m1"]).await;
        assert_eq!(link.next().await.unwrap(), Event::Refused(message_id("m1"), reason));
    }
    send(&runtime, &to_agent(), &["m2"]).await;
    assert_eq!(delivered(&demo_link).await.1, Party::Runtime);
}

#[tokio::test]
async fn h106_acknowledgements_of_nothing_change_nothing() {
    let world = World::new(patient()).await;
    let mut runtime = world.raw(&Role::Runtime).await;
    let demo = world.linked(&agent()).await;
    send(&demo, &Party::Runtime, &["m1"]).await;
    let (ServerFrame::Deliver { token, .. }, _) = runtime.frame().await else { panic!("not a delivery") };
    for wrong in [token + 1, 0, token + 1] {
        runtime.say(&lineup_wire::relay::ClientFrame::Ack { token: wrong }, b"").await;
    }
    runtime.say(&lineup_wire::relay::ClientFrame::Ack { token }, b"").await;
    runtime.say(&lineup_wire::relay::ClientFrame::Ack { token }, b"").await;
    assert_eq!(acknowledged(&demo).await, "m1");
    send(&demo, &Party::Runtime, &["m2"]).await;
    assert!(matches!(runtime.frame().await.0, ServerFrame::Deliver { .. }));
    let stats = &world.relay().stats().parties[&Party::Runtime];
    assert_eq!((stats.acknowledged, stats.unknown_tokens), (1, 4));
}

#[tokio::test]
async fn a_second_connection_of_a_party_replaces_the_first_and_gets_its_deliveries() {
    let world = World::new(patient()).await;
    let demo = world.linked(&agent()).await;
    let mut first = world.raw(&Role::Runtime).await;
    send(&demo, &Party::Runtime, &["m1"]).await;
    assert!(matches!(first.frame().await.0, ServerFrame::Deliver { .. }));

    let mut second = world.raw(&Role::Runtime).await;
    assert_eq!(first.close_code().await, 1008);
    let (ServerFrame::Deliver { id, .. }, _) = second.frame().await else { panic!("not a delivery") };
    assert_eq!(id.as_str(), "m1");
}

#[tokio::test]
async fn a_closed_relay_has_written_everything_and_can_be_opened_by_another() {
    let mut world = World::new(patient()).await;
    let (runtime, demo) = (world.linked(&Role::Runtime).await, world.linked(&agent()).await);
    send(&demo, &Party::Runtime, &["m1"]).await;
    delivered(&runtime).await;
    assert!(Relay::open(world.dir.path()).await.is_err(), "one process at a time");

    drop((runtime, demo));
    world.relay.take().unwrap().close().await;
    world.crash(patient()).await;
    let runtime = world.linked(&Role::Runtime).await;
    assert_eq!(delivered(&runtime).await.0, "m1");
}

#[tokio::test]
async fn b15_after_rotation_the_same_agent_goes_on_with_its_new_token() {
    let world = World::new(patient()).await;
    let old = world.token(&agent());
    let new = Credentials::load_or_create(world.dir.path()).unwrap().rotate(&agent()).unwrap();
    assert!(world.socket(&old).await.is_err());
    assert!(world.socket(new.as_str()).await.is_ok());
    let (runtime, demo) = (world.linked(&Role::Runtime).await, world.linked(&agent()).await);
    send(&demo, &Party::Runtime, &["m1"]).await;
    assert_eq!(delivered(&runtime).await.1, to_agent());
}
