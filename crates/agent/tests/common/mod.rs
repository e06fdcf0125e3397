//! A relay on a loopback socket, an agent, and a Runtime that says what the test wants.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{path::Path, time::Duration};

use axum::serve::ListenerExt as _;
use lineup_agent::Agent;
use lineup_link::{Connection, Event, Link, Options, Outgoing};
use lineup_model::{
    AgentId, AppScope, CallId, ConversationId, Digest, ErrorCode, Inventory, MessageId, Revision,
    message::{AgentBody, AgentMessage, End, Fault, Outcome, Receipt, Refusal, Stage},
};
use lineup_relay::{Config, Credentials, Relay, Role};
use lineup_wire::{Invoke, Request, RequestBody, decode_request, encode, encode_refusal, relay::Party};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};

pub struct World {
    pub dir: TempDir,
    relay: Option<Relay>,
    listener: std::net::TcpListener,
    server: Option<JoinHandle<()>>,
}

impl World {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Credentials::load_or_create(dir.path()).unwrap().enrol(&demo()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut world = Self { dir, relay: None, listener, server: None };
        world.start().await;
        world
    }

    pub async fn start(&mut self) {
        let mut config = Config::default();
        // The receiver may take its time: a test never waits for the disk.
        config.grace = Duration::from_secs(3600);
        let relay = Relay::open_with(self.dir.path(), config).await.unwrap();
        let listener = TcpListener::from_std(self.listener.try_clone().unwrap()).unwrap();
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let router = relay.router();
        self.server = Some(tokio::spawn(async move { axum::serve(listener, router).await.unwrap() }));
        self.relay = Some(relay);
    }

    /// Stops the relay as a crash would.
    pub fn stop(&mut self) {
        self.server.take().unwrap().abort();
        self.relay = None;
    }

    pub fn options(&self, role: &Role) -> Options {
        let url = format!("ws://{}/relay", self.listener.local_addr().unwrap());
        let mut options = Options::new(url, token(self.dir.path(), role));
        options.first_pause = Duration::from_millis(1);
        options.longest_pause = Duration::from_millis(10);
        options
    }

    pub async fn agent(&self) -> Agent {
        Agent::connect_with(self.options(&Role::Agent(demo()))).await.unwrap()
    }

    /// A Runtime that is connected: what is sent to it takes no way over the disk.
    pub async fn runtime(&self) -> FakeRuntime {
        let mut runtime = FakeRuntime {
            link: Link::open(self.options(&Role::Runtime)),
            connection: Connection::default(),
            last_id: 0,
        };
        runtime.reconnected().await;
        runtime
    }
}

/// The Runtime's end of the relay; each test says what it answers.
pub struct FakeRuntime {
    link: Link,
    connection: Connection,
    last_id: u32,
}

impl FakeRuntime {
    /// The next request, with its bytes. It is acknowledged.
    pub async fn request(&mut self) -> (Request, Vec<u8>) {
        loop {
            if let Event::Delivered { token, from, payload, .. } = self.link.next().await.unwrap() {
                assert_eq!(from, Party::Agent(demo()));
                self.link.acknowledge(vec![token]).await.unwrap();
                return (decode_request(&payload).unwrap(), payload);
            }
        }
    }

    pub async fn hello(&mut self) -> Request {
        let (request, _) = self.request().await;
        assert_eq!(request.body, RequestBody::Hello, "{request:?}");
        request
    }

    pub async fn invoke(&mut self) -> (MessageId, Invoke, Vec<u8>) {
        let (request, bytes) = self.request().await;
        match request.body {
            RequestBody::Invoke(invoke) => (request.id, invoke, bytes),
            other => panic!("expected a call, got {other:?}"),
        }
    }

    /// Waits until the relay is reachable.
    pub async fn reconnected(&mut self) {
        loop {
            if let Event::Connected { connection, .. } = self.link.next().await.unwrap() {
                self.connection = connection;
                return;
            }
        }
    }

    pub async fn say(&mut self, body: AgentBody) {
        self.last_id += 1;
        let id = MessageId::new(format!("r{}", self.last_id)).unwrap();
        self.deliver(&AgentMessage { id, conversation: conversation(), body }).await;
    }

    pub async fn deliver(&self, message: &AgentMessage) {
        self.raw(&message.id, encode(message)).await;
    }

    pub async fn raw(&self, id: &MessageId, payload: Vec<u8>) {
        let message = Outgoing { id: id.clone(), to: Party::Agent(demo()), payload };
        self.link.send(self.connection, vec![message]).await.unwrap();
    }

    pub async fn inventory(&mut self, sequence: u64, tools: &[&str]) {
        self.say(AgentBody::Inventory { sequence, inventory: inventory(tools).into() }).await;
    }

    pub async fn receipt(&mut self, call_id: &CallId, seq: u32, stage: Stage) {
        let app_scope = AppScope::new("pomodoro").unwrap();
        let receipt = Receipt { call_id: call_id.clone(), seq, stage, app_scope, reason: None, progress: None };
        self.say(AgentBody::Receipt(receipt)).await;
    }

    pub async fn complete(&mut self, call_id: &CallId, result: Value) {
        self.say(AgentBody::Outcome(Outcome { call_id: call_id.clone(), end: End::Completed { result } })).await;
    }

    pub async fn refuse(&mut self, request: &MessageId, call_id: Option<CallId>, code: ErrorCode) {
        self.last_id += 1;
        let id = MessageId::new(format!("r{}", self.last_id)).unwrap();
        let refusal = Refusal {
            in_reply_to: request.clone(),
            call_id,
            error: Fault::new(code, "no"),
            current_revision: Some(inventory(&["start"]).revision),
        };
        self.raw(&id, encode_refusal(&id, &conversation(), &refusal)).await;
    }
}

pub fn inventory(methods: &[&str]) -> Inventory {
    let tools: Vec<Value> = methods
        .iter()
        .map(|method| {
            json!({
                "id": format!("pomodoro.{method}"), "app_scope": "pomodoro", "method": method,
                "contract_version": 1, "description": "", "input_schema": { "type": "object", "additionalProperties": false },
                "output_schema": { "type": "object", "additionalProperties": false }, "invocation": "command",
                "readiness": "app_ready", "risk": "low", "timeout_ms": 60000, "cancellable": true
            })
        })
        .collect();
    let revision = Revision(Digest::of(&tools));
    Inventory { revision, tools: serde_json::from_value(tools.into()).unwrap() }
}

pub fn conversation() -> ConversationId {
    ConversationId::new("c1").unwrap()
}

pub fn call_id(text: &str) -> CallId {
    CallId::new(text).unwrap()
}

pub fn demo() -> AgentId {
    AgentId::new("demo").unwrap()
}

fn token(dir: &Path, role: &Role) -> String {
    Credentials::load_or_create(dir).unwrap().token(role).unwrap().as_str().to_owned()
}
