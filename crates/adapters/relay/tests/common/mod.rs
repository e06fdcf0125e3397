//! A relay on a loopback socket, and clients that speak raw frames or keep a link.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    net::SocketAddr,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use axum::serve::ListenerExt as _;
use futures_util::{SinkExt as _, StreamExt as _};
use lineup_link::{Connection, Event, Link, LinkError, Options, Outgoing, Token};
use lineup_model::{AgentId, MessageId};
use lineup_relay::{Config, Credentials, Relay, Role};
use lineup_wire::relay::{ClientFrame, Party, ServerFrame, VERSION};
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{self, Message, client::IntoClientRequest as _, protocol::CloseFrame},
};

/// A hand on a relay and what it is served by.
pub struct World {
    pub dir: TempDir,
    pub relay: Option<Relay>,
    pub address: SocketAddr,
    server: JoinHandle<()>,
}

/// A receiver that is connected gets as long as it wants: nothing goes to disk behind its back.
pub fn patient() -> Config {
    let mut config = Config::default();
    config.grace = Duration::from_secs(3600);
    config
}

/// What is not acknowledged at once goes to disk.
pub fn hasty() -> Config {
    let mut config = Config::default();
    config.grace = Duration::ZERO;
    config
}

/// A link, and the connection that it last told of.
pub struct Peer {
    link: Link,
    on: AtomicU32,
}

impl Peer {
    pub async fn next(&self) -> Result<Event, LinkError> {
        let event = self.link.next().await;
        if let Ok(Event::Connected { connection, .. }) = &event {
            self.on.store(connection.number(), Ordering::Relaxed);
        }
        event
    }

    pub async fn send(&self, messages: Vec<Outgoing>) -> Result<(), LinkError> {
        self.link.send(Connection::from_number(self.on.load(Ordering::Relaxed)), messages).await
    }

    pub async fn acknowledge(&self, tokens: Vec<Token>) -> Result<(), LinkError> {
        self.link.acknowledge(tokens).await
    }
}

impl World {
    pub async fn new(config: Config) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Credentials::load_or_create(dir.path()).unwrap().enrol(&demo()).unwrap();
        let relay = Relay::open_with(dir.path(), config).await.unwrap();
        let (address, server) = serve(&relay, "127.0.0.1:0".parse().unwrap()).await;
        Self { dir, relay: Some(relay), address, server }
    }

    /// Drops the relay as a crash would, and opens it again on the same files and address.
    pub async fn crash(&mut self, config: Config) {
        self.server.abort();
        drop(self.relay.take());
        let relay = Relay::open_with(self.dir.path(), config).await.unwrap();
        (self.address, self.server) = serve(&relay, self.address).await;
        self.relay = Some(relay);
    }

    pub fn relay(&self) -> &Relay {
        self.relay.as_ref().unwrap()
    }

    pub fn url(&self) -> String {
        format!("ws://{}{}", self.address, lineup_relay::PATH)
    }

    pub fn token(&self, role: &Role) -> String {
        token(self.dir.path(), role)
    }

    pub fn link(&self, role: &Role) -> Peer {
        let mut options = Options::new(self.url(), self.token(role));
        options.first_pause = Duration::from_millis(1);
        options.longest_pause = Duration::from_millis(10);
        Peer { link: Link::open(options), on: AtomicU32::new(0) }
    }

    /// A link that stands.
    pub async fn linked(&self, role: &Role) -> Peer {
        let link = self.link(role);
        assert!(matches!(link.next().await, Ok(Event::Connected { .. })));
        link
    }

    /// A raw WebSocket that has not said hello.
    pub async fn socket(&self, token: &str) -> tungstenite::Result<Raw> {
        let mut request = self.url().into_client_request()?;
        request.headers_mut().insert("Authorization", format!("Bearer {token}").parse().unwrap());
        connect_async(request).await.map(|(socket, _)| Raw(socket))
    }

    /// A raw WebSocket that was welcomed.
    pub async fn raw(&self, role: &Role) -> Raw {
        let mut raw = self.socket(&self.token(role)).await.unwrap();
        raw.say(&ClientFrame::Hello { version: VERSION }, b"").await;
        assert!(matches!(raw.frame().await.0, ServerFrame::Welcome { .. }));
        raw
    }
}

async fn serve(relay: &Relay, address: SocketAddr) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    let router = relay.router();
    (address, tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }))
}

/// A client that speaks raw frames.
pub struct Raw(pub WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Raw {
    pub async fn say(&mut self, frame: &ClientFrame, payload: &[u8]) {
        self.0.send(Message::binary(frame.encode(payload))).await.unwrap();
    }

    pub async fn send(&mut self, id: &str, to: &Party, payload: &[u8]) {
        self.say(&ClientFrame::Send { id: message_id(id), to: to.clone() }, payload).await;
    }

    pub async fn frame(&mut self) -> (ServerFrame, Vec<u8>) {
        loop {
            match self.0.next().await.unwrap().unwrap() {
                Message::Binary(bytes) => {
                    let (frame, payload) = ServerFrame::decode(&bytes).unwrap();
                    return (frame, payload.to_vec());
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The code with which the relay closes the connection.
    pub async fn close_code(&mut self) -> u16 {
        loop {
            match self.0.next().await.expect("a close frame") {
                Ok(Message::Close(Some(CloseFrame { code, .. }))) => return code.into(),
                Ok(_) => {}
                Err(error) => panic!("no close frame: {error}"),
            }
        }
    }
}

pub fn token(dir: &Path, role: &Role) -> String {
    Credentials::load_or_create(dir).unwrap().token(role).unwrap().as_str().to_owned()
}

pub fn demo() -> AgentId {
    AgentId::new("demo").unwrap()
}

pub fn agent() -> Role {
    Role::Agent(demo())
}

pub fn to_agent() -> Party {
    Party::Agent(demo())
}

pub fn message_id(text: &str) -> MessageId {
    MessageId::new(text).unwrap()
}

pub async fn send(link: &Peer, to: &Party, ids: &[&str]) {
    let messages = ids.iter().map(|id| Outgoing {
        id: message_id(id),
        to: to.clone(),
        payload: format!("payload of {id}").into_bytes(),
    });
    link.send(messages.collect()).await.unwrap();
}

/// The next delivery, as its name, sender and token. Anything else is a fault.
pub async fn delivered(link: &Peer) -> (String, Party, Token) {
    match link.next().await.unwrap() {
        Event::Delivered { token, from, id, payload } => {
            assert_eq!(payload, format!("payload of {id}").into_bytes());
            (id.to_string(), from, token)
        }
        other => panic!("expected a delivery, got {other:?}"),
    }
}

/// The next acknowledgement. Anything else is a fault.
pub async fn acknowledged(link: &Peer) -> String {
    match link.next().await.unwrap() {
        Event::Acknowledged(id) => id.to_string(),
        other => panic!("expected an acknowledgement, got {other:?}"),
    }
}

/// Waits until the link stands again, whatever comes before.
pub async fn reconnected(link: &Peer) {
    while !matches!(link.next().await.unwrap(), Event::Connected { .. }) {}
}
