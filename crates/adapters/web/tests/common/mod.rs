//! A served adapter, a Runtime that remembers what it was asked, and a client.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod history;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use lineup_core::workspace::input::{HostIntentInput, HostReport, Setup, UiActionInput};
use lineup_model::message::Fault;
use lineup_ports::inbound::{HostIntents, Inspect, InspectQuery, SetUp, UiActions};
use lineup_web::{Advance, Entries, Tokens, WebAdapter};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async, connect_async,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest as _,
        http::{HeaderName, HeaderValue, Request},
    },
};

pub const HOST: &str = "host-0123456789abcdef";
pub const USER: &str = "user-0123456789abcdef";
pub const OWNER: &str = "owner-0123456789abcdef";
pub const PAGE: &str = "page-0123456789abcdef";

pub fn tokens() -> Tokens {
    Tokens::new(HOST, USER, OWNER, PAGE).unwrap()
}

use history::History;

/// What the Runtime was asked, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Report(HostReport),
    Intent(HostIntentInput),
    Act(UiActionInput),
    SetUp(Setup),
    Inspect(InspectQuery),
    Advance(u64),
}

/// Remembers what it is asked, and refuses what it was told to refuse next.
pub struct Runtime {
    asked: mpsc::UnboundedSender<Asked>,
    refusals: Mutex<Vec<Fault>>,
}

impl Runtime {
    pub fn refuse_next(&self, fault: Fault) {
        self.refusals.lock().unwrap().push(fault);
    }

    fn take(&self, asked: Asked) -> Result<(), Fault> {
        let refusal = self.refusals.lock().unwrap().pop();
        self.asked.send(asked).expect("the test listens");
        refusal.map_or(Ok(()), Err)
    }
}

#[async_trait]
impl HostIntents for Runtime {
    async fn intend(&self, input: HostIntentInput) -> Result<(), Fault> {
        self.take(Asked::Intent(input))
    }

    async fn report(&self, input: HostReport) -> Result<(), Fault> {
        self.take(Asked::Report(input))
    }
}

#[async_trait]
impl UiActions for Runtime {
    async fn act(&self, input: UiActionInput) -> Result<(), Fault> {
        self.take(Asked::Act(input))
    }
}

#[async_trait]
impl SetUp for Runtime {
    async fn set_up(&self, setup: Setup) -> Result<(), Fault> {
        self.take(Asked::SetUp(setup))
    }
}

#[async_trait]
impl Inspect for Runtime {
    async fn inspect(&self, query: InspectQuery) -> Result<Value, Fault> {
        self.take(Asked::Inspect(query))?;
        Ok(json!({ "rows": [] }))
    }
}

impl Advance for Runtime {
    fn advance(&self, millis: u64) {
        self.take(Asked::Advance(millis)).expect("advancing is never refused");
    }
}

/// A served adapter.
pub struct World {
    pub address: SocketAddr,
    pub web: WebAdapter,
    pub runtime: Arc<Runtime>,
    pub history: Arc<History>,
    asked: mpsc::UnboundedReceiver<Asked>,
}

impl World {
    pub async fn new() -> Self {
        let world = Self::without_runtime(true).await;
        world.attach();
        world
    }

    pub async fn without_runtime(manual_clock: bool) -> Self {
        let (sender, asked) = mpsc::unbounded_channel();
        let runtime = Arc::new(Runtime { asked: sender, refusals: Mutex::default() });
        let mut web = WebAdapter::new(tokens());
        if manual_clock {
            web = web.with_manual_clock(runtime.clone());
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = web.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, web, runtime, history: Arc::default(), asked }
    }

    pub fn attach(&self) {
        self.web.attach(Entries {
            hosts: self.runtime.clone(),
            actions: self.runtime.clone(),
            setup: self.runtime.clone(),
            inspect: self.runtime.clone(),
            conversations: self.history.clone(),
        });
    }

    /// The next thing that the Runtime is asked.
    pub async fn asked(&mut self) -> Asked {
        self.asked.recv().await.expect("the Runtime lives")
    }

    /// Whether the Runtime was asked nothing more so far.
    pub fn asked_nothing(&mut self) -> bool {
        self.asked.try_recv().is_err()
    }

    pub fn request(&self, path: &str, token: &str) -> Request<()> {
        let mut request = format!("ws://{}{path}", self.address).into_client_request().unwrap();
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
        request.headers_mut().insert("authorization", bearer);
        request
    }

    pub fn request_with(&self, path: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut request = format!("ws://{}{path}", self.address).into_client_request().unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
        }
        request
    }

    /// A page's request: with its cookie, from this server's own origin.
    pub fn page_request(&self, path: &str) -> Request<()> {
        let (cookie, origin) = (format!("lineup_page={PAGE}"), format!("http://{}", self.address));
        self.request_with(path, &[("cookie", &cookie), ("origin", &origin)])
    }

    /// Opens an entry: a client, or the status and the code of the refusal.
    pub async fn open(&self, request: Request<()>) -> Result<Client<MaybeTlsStream<TcpStream>>, (u16, String)> {
        refusal(connect_async(request).await.map(|(socket, _)| Client { socket }))
    }

    /// As [`World::open`], with the request as it stands: its `Host` header too.
    pub async fn open_as_is(&self, request: Request<()>) -> Result<Client<TcpStream>, (u16, String)> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        refusal(client_async(request, stream).await.map(|(socket, _)| Client { socket }))
    }

    pub async fn host(&mut self, session: &str) -> Client<MaybeTlsStream<TcpStream>> {
        let mut client = self.open(self.request("/host", HOST)).await.expect("the host token opens /host");
        client.send(json!({ "type": "hello", "id": "h", "session": session, "visible": true })).await;
        assert_eq!(client.next().await, json!({ "type": "ok", "id": "h" }));
        client
    }
}

fn refusal<T>(result: Result<T, Error>) -> Result<T, (u16, String)> {
    result.map_err(|error| match error {
        Error::Http(response) => {
            let body: Value =
                serde_json::from_slice(response.body().as_deref().unwrap_or_default()).unwrap_or_default();
            (response.status().as_u16(), body["code"].as_str().unwrap_or_default().to_owned())
        }
        other => panic!("not refused but broken: {other}"),
    })
}

/// A client of an entry.
pub struct Client<S> {
    pub socket: WebSocketStream<S>,
}

impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin> Client<S> {
    pub async fn send(&mut self, frame: Value) {
        self.raw(Message::text(frame.to_string())).await;
    }

    pub async fn raw(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    /// The next frame.
    pub async fn next(&mut self) -> Value {
        loop {
            match self.socket.next().await.expect("the entry is open").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(frame) => panic!("closed: {frame:?}"),
                _ => {}
            }
        }
    }

    /// The close code, after any frames that are still on the way.
    pub async fn closed(&mut self) -> u16 {
        while let Some(Ok(message)) = self.socket.next().await {
            if let Message::Close(frame) = message {
                return frame.expect("a close with a code").code.into();
            }
        }
        panic!("the connection broke without a close");
    }
}
