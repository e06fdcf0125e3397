//! The transport against a real relay on a loopback socket.

use std::{path::Path, time::Duration};

use axum::serve::ListenerExt as _;
use lineup_link::{Event, Link, Options};
use lineup_model::{AgentId, MessageId};
use lineup_ports::outbound::{Connection, DeliveryToken, Outgoing, Transport as _, TransportEvent};
use lineup_relay::{Config, Credentials, Relay, Role};
use lineup_websocket::WebSocketTransport;
use lineup_wire::relay::Party;
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};

#[tokio::test]
async fn dur_2_messages_arrive_in_order_and_are_acknowledged_by_their_ids() {
    let world = World::new().await;
    let transport = world.transport();
    let on = connected(&transport).await;
    transport.send(on, vec![outgoing("r1", "demo"), outgoing("r2", "demo")]).await.unwrap();
    assert_eq!(transport.next().await.unwrap(), TransportEvent::Acknowledged(id("r1")));
    assert_eq!(transport.next().await.unwrap(), TransportEvent::Acknowledged(id("r2")));

    let demo = world.agent();
    assert!(matches!(demo.next().await, Ok(Event::Connected { .. })));
    for expected in ["r1", "r2"] {
        let Ok(Event::Delivered { id, from, payload, .. }) = demo.next().await else { panic!("not a delivery") };
        assert_eq!((id.as_str(), from, payload), (expected, Party::Runtime, expected.as_bytes().to_vec()));
    }
}

#[tokio::test]
async fn wire_4_the_sender_of_a_delivery_is_the_relays_word() {
    let world = World::new().await;
    let transport = world.transport();
    connected(&transport).await;
    let demo = world.agent();
    let Ok(Event::Connected { connection, .. }) = demo.next().await else { panic!("not connected") };
    let message = lineup_link::Outgoing { id: id("m1"), to: Party::Runtime, payload: b"from: somebody else".to_vec() };
    demo.send(connection, vec![message]).await.unwrap();

    let TransportEvent::Delivered(delivery) = transport.next().await.unwrap() else { panic!("not a delivery") };
    assert_eq!((delivery.sender.as_str(), delivery.payload), ("demo", b"from: somebody else".to_vec()));
    transport.acknowledge(vec![DeliveryToken(u64::MAX), delivery.token]).await.unwrap();
    assert_eq!(demo.next().await, Ok(Event::Acknowledged(id("m1"))));
}

#[tokio::test]
async fn dur_2_a_message_for_nobody_is_undeliverable() {
    let world = World::new().await;
    let transport = world.transport();
    let on = connected(&transport).await;
    transport.send(on, vec![outgoing("r1", "nobody")]).await.unwrap();
    let reason = "unknown_recipient".to_owned();
    assert_eq!(transport.next().await.unwrap(), TransportEvent::Undeliverable(id("r1"), reason));
}

#[tokio::test]
async fn h107_it_reconnects_and_drops_what_was_handed_over_meanwhile() {
    let mut world = World::new().await;
    let transport = world.transport();
    let on = connected(&transport).await;
    world.stop();
    assert_eq!(transport.next().await.unwrap(), TransportEvent::Disconnected);
    transport.send(on, vec![outgoing("lost", "demo")]).await.unwrap();
    world.start().await;
    let on = connected(&transport).await;
    transport.send(on, vec![outgoing("r1", "demo")]).await.unwrap();
    assert_eq!(transport.next().await.unwrap(), TransportEvent::Acknowledged(id("r1")));
    assert_eq!(world.relay.as_ref().unwrap().stats().parties[&Party::Runtime].sent, 1);
}

#[tokio::test]
async fn i47_what_was_meant_for_an_older_connection_does_not_overtake_on_a_newer_one() {
    let mut world = World::new().await;
    let transport = world.transport();
    let on = connected(&transport).await;
    world.stop();
    world.start().await;
    // The relay sees the new connection, the consumer has not heard of it.
    while world.relay.as_ref().unwrap().stats().connections == 0 {
        tokio::task::yield_now().await;
    }
    transport.send(on, vec![outgoing("early", "demo")]).await.unwrap();
    assert_eq!(transport.next().await.unwrap(), TransportEvent::Disconnected);
    let newer = connected(&transport).await;
    transport.send(on, vec![outgoing("late", "demo")]).await.unwrap();
    let on = newer;
    transport.send(on, vec![outgoing("r1", "demo")]).await.unwrap();
    assert_eq!(transport.next().await.unwrap(), TransportEvent::Acknowledged(id("r1")));
}

#[tokio::test]
async fn a6_b29_dropping_next_at_any_poll_loses_no_event() {
    let world = World::new().await;
    let transport = world.transport();
    let names: Vec<String> = (0..50).map(|number| format!("r{number}")).collect();
    let (mut sent, mut acknowledged, mut turns) = (None, Vec::new(), 0);
    while acknowledged.len() < names.len() {
        turns += 1;
        let polled = tokio::select! {
            biased;
            event = transport.next() => Some(event.unwrap()),
            () = yields(turns % 3) => None,
        };
        match polled {
            Some(TransportEvent::Acknowledged(id)) => acknowledged.push(id.to_string()),
            Some(TransportEvent::Connected(connection)) => assert!(sent.replace(connection).is_none()),
            Some(other) => panic!("{other:?}"),
            None => {
                if let Some(on) = sent.take() {
                    transport.send(on, names.iter().map(|name| outgoing(name, "demo")).collect()).await.unwrap();
                }
            }
        }
    }
    assert_eq!(acknowledged, names);
}

#[tokio::test]
async fn a_wrong_token_is_an_error_that_no_retry_heals() {
    let world = World::new().await;
    let transport = WebSocketTransport::to(world.url(), "wrong");
    let error = transport.next().await.unwrap_err();
    assert!(!error.retryable);
    assert_eq!(error.operation, "next");
    assert!(transport.send(Connection(1), vec![outgoing("r1", "demo")]).await.is_err());
}

async fn connected(transport: &WebSocketTransport) -> Connection {
    match transport.next().await.unwrap() {
        TransportEvent::Connected(connection) => connection,
        other => panic!("expected a connection, got {other:?}"),
    }
}

async fn yields(count: usize) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

struct World {
    dir: TempDir,
    relay: Option<Relay>,
    listener: std::net::TcpListener,
    server: Option<JoinHandle<()>>,
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Credentials::load_or_create(dir.path()).unwrap().enrol(&AgentId::new("demo").unwrap()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut world = Self { dir, relay: None, listener, server: None };
        world.start().await;
        world
    }

    async fn start(&mut self) {
        let mut config = Config::default();
        config.grace = Duration::from_secs(3600);
        let relay = Relay::open_with(self.dir.path(), config).await.unwrap();
        let listener = TcpListener::from_std(self.listener.try_clone().unwrap()).unwrap();
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let router = relay.router();
        self.server = Some(tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }));
        self.relay = Some(relay);
    }

    fn stop(&mut self) {
        self.server.take().unwrap().abort();
        self.relay = None;
    }

    fn url(&self) -> String {
        format!("ws://{}/relay", self.listener.local_addr().unwrap())
    }

    fn transport(&self) -> WebSocketTransport {
        WebSocketTransport::with(self.options(&Role::Runtime))
    }

    fn agent(&self) -> Link {
        Link::open(self.options(&Role::Agent(AgentId::new("demo").unwrap())))
    }

    fn options(&self, role: &Role) -> Options {
        let mut options = Options::new(self.url(), token(self.dir.path(), role));
        options.first_pause = Duration::from_millis(1);
        options.longest_pause = Duration::from_millis(10);
        options
    }
}

fn token(dir: &Path, role: &Role) -> String {
    Credentials::load_or_create(dir).unwrap().token(role).unwrap().as_str().to_owned()
}

fn outgoing(name: &str, recipient: &str) -> Outgoing {
    Outgoing { id: id(name), recipient: AgentId::new(recipient).unwrap(), payload: name.as_bytes().to_vec() }
}

fn id(text: &str) -> MessageId {
    MessageId::new(text).unwrap()
}
