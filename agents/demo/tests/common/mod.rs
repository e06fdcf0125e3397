//! A relay on a loopback socket, demo agents, and a Runtime that says what the test wants.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

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
use tokio::{
    net::TcpListener,
    task::{AbortHandle, JoinHandle},
};

pub struct World {
    dir: TempDir,
    relay: Option<Relay>,
    listener: std::net::TcpListener,
    server: Option<JoinHandle<()>>,
    /// What the demo agents' clock says, in milliseconds.
    pub now: Arc<AtomicU64>,
}

/// A demo agent that runs until this is dropped.
pub struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl World {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Credentials::load_or_create(dir.path()).unwrap().enrol(&demo()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut world = Self { dir, relay: None, listener, server: None, now: Arc::default() };
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

    fn options(&self, role: &Role) -> Options {
        let url = format!("ws://{}/relay", self.listener.local_addr().unwrap());
        let mut options = Options::new(url, token(self.dir.path(), role));
        options.first_pause = Duration::from_millis(1);
        options.longest_pause = Duration::from_millis(10);
        options
    }

    /// A demo agent; its conversation is joined by its first request.
    pub async fn demo(&self) -> Running {
        let agent = Agent::connect_listening(self.options(&Role::Agent(demo()))).await.unwrap();
        let now = Arc::clone(&self.now);
        let now = move || Duration::from_millis(now.load(Ordering::SeqCst));
        Running(tokio::spawn(lineup_demo_agent::run(agent, conversation(), now)).abort_handle())
    }

    pub async fn runtime(&self) -> FakeRuntime {
        let link = Link::open(self.options(&Role::Runtime));
        let mut runtime = FakeRuntime { link, connection: Connection::default(), last_id: 0 };
        runtime.reconnected().await;
        runtime
    }

    /// A Runtime and a demo agent that has joined.
    pub async fn joined(&self) -> (FakeRuntime, Running) {
        let mut runtime = self.runtime().await;
        let demo = self.demo().await;
        runtime.hello().await;
        runtime.inventory(1, &["start", "interrupt"]).await;
        (runtime, demo)
    }
}

/// The Runtime's end of the relay; each test says what it answers.
pub struct FakeRuntime {
    link: Link,
    connection: Connection,
    last_id: u32,
}

impl FakeRuntime {
    /// The next request. It is acknowledged.
    pub async fn request(&mut self) -> Request {
        loop {
            match self.link.next().await.unwrap() {
                Event::Delivered { token, from, payload, .. } => {
                    assert_eq!(from, Party::Agent(demo()));
                    self.link.acknowledge(vec![token]).await.unwrap();
                    return decode_request(&payload).unwrap();
                }
                Event::Connected { connection, .. } => self.connection = connection,
                _ => {}
            }
        }
    }

    pub async fn hello(&mut self) {
        let request = self.request().await;
        assert_eq!(request.body, RequestBody::Hello, "{request:?}");
    }

    pub async fn invoke(&mut self) -> (MessageId, Invoke) {
        let request = self.request().await;
        match request.body {
            RequestBody::Invoke(invoke) => (request.id, invoke),
            other => panic!("expected a call, got {other:?}"),
        }
    }

    /// The next text, with its id.
    pub async fn text(&mut self) -> (String, String) {
        let request = self.request().await;
        match request.body {
            RequestBody::Text { text } => (request.id.as_str().to_owned(), text),
            other => panic!("expected a text, got {other:?}"),
        }
    }

    pub async fn hears(&mut self, id: &str, words: &str) {
        let (found, text) = self.text().await;
        assert!(found == id && text.contains(words), "{found}: {text}");
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

    async fn say(&mut self, body: AgentBody) {
        self.last_id += 1;
        let id = MessageId::new(format!("r{}", self.last_id)).unwrap();
        self.deliver(id, body).await;
    }

    async fn deliver(&self, id: MessageId, body: AgentBody) {
        let payload = encode(&AgentMessage { id: id.clone(), conversation: conversation(), body });
        self.raw(id, payload).await;
    }

    async fn raw(&self, id: MessageId, payload: Vec<u8>) {
        let message = Outgoing { id, to: Party::Agent(demo()), payload };
        self.link.send(self.connection, vec![message]).await.unwrap();
    }

    /// The person says something.
    pub async fn user(&self, id: &str, text: &str) {
        self.deliver(MessageId::new(id).unwrap(), AgentBody::Text { text: text.into() }).await;
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

    pub async fn refuse(&mut self, request: &MessageId, call_id: CallId, code: ErrorCode) {
        self.last_id += 1;
        let id = MessageId::new(format!("r{}", self.last_id)).unwrap();
        let error = Fault::new(code, "no");
        let refusal = Refusal {
            in_reply_to: request.clone(),
            call_id: Some(call_id),
            error,
            current_revision: Some(inventory(&["start"]).revision),
        };
        self.raw(id.clone(), encode_refusal(&id, &conversation(), &refusal)).await;
    }
}

pub fn inventory(methods: &[&str]) -> Inventory {
    let object =
        |properties: Value| json!({ "type": "object", "additionalProperties": false, "properties": properties });
    let tools: Vec<Value> = methods
        .iter()
        .map(|method| {
            let input = match *method {
                "start" => json!({ "minutes": { "type": "integer", "minimum": 1, "maximum": 1440 } }),
                _ => json!({}),
            };
            json!({
                "id": format!("pomodoro.{method}"), "app_scope": "pomodoro", "method": method,
                "contract_version": 1, "description": "", "input_schema": object(input),
                "output_schema": object(json!({})), "invocation": "command", "readiness": "app_ready",
                "risk": "low", "timeout_ms": 60000, "cancellable": false
            })
        })
        .collect();
    let revision = Revision(Digest::of(&tools));
    Inventory { revision, tools: serde_json::from_value(tools.into()).unwrap() }
}

fn conversation() -> ConversationId {
    ConversationId::new("c1").unwrap()
}

fn demo() -> AgentId {
    AgentId::new("demo").unwrap()
}

fn token(dir: &Path, role: &Role) -> String {
    Credentials::load_or_create(dir).unwrap().token(role).unwrap().as_str().to_owned()
}
