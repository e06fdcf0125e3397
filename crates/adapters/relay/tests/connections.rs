//! Several connections of one agent (H28): each gets everything, and one acknowledgement is enough.

mod common;

use common::{Raw, World, acknowledged, agent, demo, hasty, patient, send, to_agent};
use lineup_relay::Role;
use lineup_wire::relay::{ClientFrame, Party, ServerFrame, VERSION};

/// The next delivery: its id and token.
async fn delivery(raw: &mut Raw) -> (String, u64) {
    match raw.frame().await {
        (ServerFrame::Deliver { id, token, .. }, _) => (id.to_string(), token),
        other => panic!("expected a delivery, got {other:?}"),
    }
}

async fn take(raw: &mut Raw, expected: &str) {
    let (id, token) = delivery(raw).await;
    assert_eq!(id, expected);
    raw.say(&ClientFrame::Ack { token }, b"").await;
}

/// Everything that a connection said before is done once this has gone round.
async fn round(raw: &mut Raw) {
    raw.send("round", &Party::Agent(demo()), b"").await;
    assert!(matches!(raw.frame().await.0, ServerFrame::Refuse { .. }));
}

#[tokio::test]
async fn h28_each_connection_of_an_agent_gets_everything_and_the_first_acknowledgement_counts() {
    let world = World::new(patient()).await;
    let runtime = world.linked(&Role::Runtime).await;
    let (mut one, mut two) = (world.raw(&agent()).await, world.raw(&agent()).await);
    send(&runtime, &to_agent(), &["m1", "m2"]).await;
    let (_, unanswered) = delivery(&mut one).await;
    take(&mut two, "m1").await;
    assert_eq!(acknowledged(&runtime).await, "m1", "the sender waits for one of them only");
    take(&mut one, "m2").await;
    assert_eq!(acknowledged(&runtime).await, "m2");
    assert_eq!(delivery(&mut two).await.0, "m2", "the other one gets it all the same");

    // A second acknowledgement of one message is no fault, and acknowledges nothing again.
    one.say(&ClientFrame::Ack { token: unanswered }, b"").await;
    round(&mut one).await;
    let mut late = world.raw(&agent()).await;
    send(&runtime, &to_agent(), &["m3"]).await;
    assert_eq!(delivery(&mut late).await.0, "m3", "what one has acknowledged does not come again");
    let stats = world.relay().stats();
    let of_agent = &stats.parties[&to_agent()];
    assert_eq!((of_agent.acknowledged, of_agent.unknown_tokens, of_agent.replaced), (3, 0, 0));
    assert_eq!(stats.written, 0);
}

#[tokio::test]
async fn h28_a_connection_that_comes_later_gets_what_nobody_has_acknowledged() {
    for config in [patient(), hasty()] {
        let world = World::new(config).await;
        let mut runtime = world.raw(&Role::Runtime).await;
        let mut first = world.raw(&agent()).await;
        for id in ["m1", "m2", "m3"] {
            runtime.send(id, &to_agent(), b"x").await;
        }
        delivery(&mut first).await;
        take(&mut first, "m2").await;
        delivery(&mut first).await;
        round(&mut first).await;

        let mut second = world.raw(&agent()).await;
        take(&mut second, "m1").await;
        take(&mut second, "m3").await;
        round(&mut second).await;
        drop((first, second));
        let mut third = world.raw(&agent()).await;
        runtime.send("m4", &to_agent(), b"x").await;
        assert_eq!(delivery(&mut third).await.0, "m4");
    }
}

#[tokio::test]
async fn i47_a_slow_connection_gets_in_order_what_a_fast_one_has_acknowledged_long_since() {
    for mut config in [patient(), hasty()] {
        config.window = 3;
        let world = World::new(config).await;
        let mut runtime = world.raw(&Role::Runtime).await;
        let (mut slow, mut fast) = (world.raw(&agent()).await, world.raw(&agent()).await);
        let ids: Vec<String> = (0..100).map(|number| format!("m{number}")).collect();
        for id in &ids {
            runtime.send(id, &to_agent(), b"x").await;
            take(&mut fast, id).await;
        }
        for id in &ids {
            take(&mut slow, id).await;
        }
        assert_eq!(world.relay().stats().parties[&to_agent()].faults, 0);
    }
}

#[tokio::test]
async fn b30_a_connection_that_is_too_far_behind_the_others_is_closed_and_they_go_on() {
    let mut config = patient();
    (config.window, config.owed_bytes) = (2, 10 * 1024);
    let world = World::new(config).await;
    let mut runtime = world.raw(&Role::Runtime).await;
    let (mut slow, mut fast) = (world.raw(&agent()).await, world.raw(&agent()).await);
    for number in 0..40 {
        let id = format!("m{number}");
        runtime.send(&id, &to_agent(), &[7; 1024]).await;
        take(&mut fast, &id).await;
        assert!(matches!(runtime.frame().await.0, ServerFrame::Ack { .. }));
    }
    assert_eq!(slow.close_code().await, 1008);
    assert_eq!(world.relay().stats().unsafe_envelopes, 0, "nobody waits for the slow one");
}

#[tokio::test]
async fn h28_an_acknowledgement_of_a_send_goes_to_the_connection_that_sent() {
    let world = World::new(patient()).await;
    let mut runtime = world.raw(&Role::Runtime).await;
    let mut connections = [world.raw(&agent()).await, world.raw(&agent()).await];
    for (at, id) in [(0, "a1"), (1, "b1"), (0, "a2"), (1, "b2")] {
        let raw = &mut connections[at];
        raw.send(id, &Party::Runtime, b"x").await;
        take(&mut runtime, id).await;
        match raw.frame().await.0 {
            ServerFrame::Ack { id: acknowledged } => assert_eq!(acknowledged.as_str(), id),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn h28_sends_of_all_connections_of_an_agent_arrive_in_the_order_of_each() {
    let world = World::new(patient()).await;
    let mut runtime = world.raw(&Role::Runtime).await;
    let mut connections = Vec::new();
    for _ in 0..5 {
        connections.push(world.raw(&agent()).await);
    }
    for number in 0..20 {
        for (at, raw) in connections.iter_mut().enumerate() {
            raw.send(&format!("c{at}-{number}"), &Party::Runtime, b"x").await;
        }
    }
    let mut next = [0; 5];
    for _ in 0..100 {
        let (id, token) = delivery(&mut runtime).await;
        let (at, number) = id[1..].split_once('-').unwrap();
        let at: usize = at.parse().unwrap();
        assert_eq!(number, next[at].to_string());
        next[at] += 1;
        runtime.say(&ClientFrame::Ack { token }, b"").await;
    }
    assert_eq!(next, [20; 5]);
}

#[tokio::test]
async fn b30_an_agent_has_sixteen_connections_and_the_next_is_refused_until_one_leaves() {
    let world = World::new(patient()).await;
    let mut standing = Vec::new();
    for _ in 0..16 {
        standing.push(world.raw(&agent()).await);
    }
    let mut more = world.socket(&world.token(&agent())).await.unwrap();
    more.say(&ClientFrame::Hello { version: VERSION }, b"").await;
    assert_eq!(more.close_code().await, 1008);
    assert_eq!(world.relay().stats().connections, 16);
    // The others, and other parties, are as they were.
    let runtime = world.linked(&Role::Runtime).await;
    send(&runtime, &to_agent(), &["m1"]).await;
    for raw in &mut standing {
        assert_eq!(delivery(raw).await.0, "m1");
    }

    let mut gone = standing.remove(0);
    gone.0.close(None).await.unwrap();
    // The relay answers the close once it has let the connection go.
    while futures_util::StreamExt::next(&mut gone.0).await.is_some() {}
    let link = world.link(&agent());
    common::reconnected(&link).await;
}

#[tokio::test]
async fn b22_what_only_one_of_several_connections_got_is_kept_when_all_are_gone() {
    let mut world = World::new(patient()).await;
    let runtime = world.linked(&Role::Runtime).await;
    let (mut one, mut two) = (world.raw(&agent()).await, world.raw(&agent()).await);
    send(&runtime, &to_agent(), &["m1"]).await;
    delivery(&mut one).await;
    delivery(&mut two).await;
    drop(one);
    drop(two);
    assert_eq!(acknowledged(&runtime).await, "m1", "written, since nobody is left to acknowledge it");
    world.crash(patient()).await;
    let mut three = world.raw(&agent()).await;
    assert_eq!(delivery(&mut three).await.0, "m1");
}

#[tokio::test]
async fn an_agent_is_present_from_its_first_connection_to_the_end_of_its_last() {
    let world = World::new(patient()).await;
    let mut presence = world.relay().presence();
    assert!(presence.borrow_and_update().is_empty());
    let _runtime = world.raw(&Role::Runtime).await;
    let one = world.raw(&agent()).await;
    assert_eq!(*presence.wait_for(|present| !present.is_empty()).await.unwrap(), [demo()].into());
    let mut two = world.raw(&agent()).await;
    drop(one);
    // The end of the first one is known once it counts no more.
    while world.relay().stats().connections > 2 {
        round(&mut two).await;
    }
    assert_eq!(*presence.borrow_and_update(), [demo()].into(), "one of two has gone");
    assert!(!presence.has_changed().unwrap());
    drop(two);
    presence.wait_for(|present| present.is_empty()).await.unwrap();
}
