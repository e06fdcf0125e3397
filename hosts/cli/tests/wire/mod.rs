//! An agent that speaks raw frames, and a look at every row of the database: what is compared here
//! are bytes, before any decoder.

use std::{collections::BTreeMap, path::Path, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use lineup_adapters::relay::{CREDENTIALS_FILE, Credentials, PATH, Role};
use lineup_model::{AgentId, MessageId};
use lineup_wire::relay::{ClientFrame, Party, ServerFrame, VERSION};
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{self, Message, client::IntoClientRequest as _, http::StatusCode},
};

use crate::common::World;

/// How long a frame may take before a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection of the agent `demo`.
pub struct Wire {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

/// One envelope as it came: the id that the relay was told, and the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub id: MessageId,
    pub bytes: Vec<u8>,
}

impl Envelope {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }
}

impl Wire {
    /// Connects with the agent's token of now, and is welcomed.
    pub async fn open(world: &World) -> Self {
        let credentials = Credentials::load(&world.path().join(CREDENTIALS_FILE)).unwrap();
        let token = credentials.token(&demo()).unwrap().as_str().to_owned();
        Self::open_with(world, &token).await.expect("it is let in")
    }

    /// Connects with a token; `None` if it opens nothing.
    pub async fn open_with(world: &World, token: &str) -> Option<Self> {
        let running: Value =
            serde_json::from_slice(&std::fs::read(world.path().join("runtime.json")).unwrap()).unwrap();
        let url = format!("ws://{}{PATH}", running["listen"].as_str().unwrap());
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let socket = match connect_async(request).await {
            Ok((socket, _)) => socket,
            Err(tungstenite::Error::Http(response)) if response.status() == StatusCode::UNAUTHORIZED => return None,
            Err(error) => panic!("{error}"),
        };
        let mut wire = Self { socket };
        wire.say(&ClientFrame::Hello { version: VERSION }, b"").await;
        assert!(matches!(wire.frame().await.0, ServerFrame::Welcome { .. }));
        Some(wire)
    }

    async fn say(&mut self, frame: &ClientFrame, payload: &[u8]) {
        self.socket.send(Message::binary(frame.encode(payload))).await.unwrap();
    }

    async fn frame(&mut self) -> (ServerFrame, Vec<u8>) {
        // Over all of it: pings come for ever.
        timeout(PATIENCE, self.read()).await.expect("a frame within 30 s")
    }

    async fn read(&mut self) -> (ServerFrame, Vec<u8>) {
        loop {
            match self.socket.next().await.unwrap().unwrap() {
                Message::Binary(bytes) => {
                    let (frame, payload) = ServerFrame::decode(&bytes).unwrap();
                    return (frame, payload.to_vec());
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Sends an envelope; its `id` is the frame's.
    pub async fn send(&mut self, envelope: &Value) {
        self.send_bytes(envelope["id"].as_str().unwrap(), &serde_json::to_vec(envelope).unwrap()).await;
    }

    pub async fn send_bytes(&mut self, id: &str, envelope: &[u8]) {
        let id = MessageId::new(id).unwrap();
        self.say(&ClientFrame::Send { id, to: Party::Runtime }, envelope).await;
    }

    /// Waits until the relay is responsible for what was sent last, and takes in nothing else.
    pub async fn acknowledged(&mut self) {
        while !matches!(self.frame().await.0, ServerFrame::Ack { .. }) {}
    }

    /// The next envelope, which is acknowledged at once.
    pub async fn next(&mut self) -> Envelope {
        loop {
            if let (ServerFrame::Deliver { token, from, id }, bytes) = self.frame().await {
                assert_eq!(from, Party::Runtime);
                self.say(&ClientFrame::Ack { token }, b"").await;
                return Envelope { id, bytes };
            }
        }
    }

    /// The next envelope that is no inventory.
    pub async fn answer(&mut self) -> Envelope {
        loop {
            let envelope = self.next().await;
            if envelope.json()["type"] != "lineup.v1.client.inventory" {
                return envelope;
            }
        }
    }

    /// Sends a request and takes the answer.
    pub async fn ask(&mut self, envelope: &Value) -> Envelope {
        self.send(envelope).await;
        self.answer().await
    }

    /// Joins, and gives the revision of the inventory.
    pub async fn revision(&mut self) -> String {
        self.send(&json!({ "type": "lineup.v1.agent.hello", "id": "hello", "conversation_id": "main" })).await;
        loop {
            let envelope = self.next().await.json();
            if envelope["type"] == "lineup.v1.client.inventory" {
                return envelope["revision"].as_str().unwrap().to_owned();
            }
        }
    }
}

/// The role of the agent of a first start.
pub fn demo() -> Role {
    Role::Agent(AgentId::new("demo").unwrap())
}

/// A call to Pomodoro.
pub fn invoke(message: &str, call: &str, tool: &str, input: Value, revision: &str) -> Value {
    json!({
        "type": "lineup.v1.tool.invoke", "id": message, "conversation_id": "main", "call_id": call,
        "tool": tool, "input": input, "inventory_revision": revision,
    })
}

/// Every row of every table, by table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows(BTreeMap<String, Vec<String>>);

impl Rows {
    /// Reads the database beside the process that owns it.
    pub async fn of(dir: &Path) -> Self {
        let options = SqliteConnectOptions::new().filename(dir.join("lineup.sqlite")).read_only(true);
        let mut database = options.connect().await.unwrap();
        let tables: Vec<(String,)> =
            sqlx::query_as("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
                .fetch_all(&mut database)
                .await
                .unwrap();
        let mut rows = BTreeMap::new();
        for (table,) in tables {
            rows.insert(table.clone(), rows_of(&mut database, &table).await);
        }
        assert!(rows.len() > 10, "the whole layout: {:?}", rows.keys());
        Self(rows)
    }

    /// The same, once the Runtime has nothing more to write: everything it said has arrived.
    pub async fn at_rest(world: &World) -> Self {
        // Each look goes through the Runtime, so this waits for it and not for a clock.
        for _ in 0..100 {
            if world.rows("outbox") == 0 {
                return Self::of(world.path()).await;
            }
        }
        panic!("the outbox never got empty");
    }

    /// How many rows a table has.
    pub fn count(&self, table: &str) -> usize {
        self.0[table].len()
    }

    /// How many rows of a table hold this text.
    pub fn with(&self, table: &str, text: &str) -> usize {
        self.0[table].iter().filter(|row| row.contains(text)).count()
    }

    /// The same without what counts refusals: the counters, and how many batches were written.
    pub fn apart_from_refusals(mut self) -> Self {
        self.0.remove("refusals");
        self.0.remove("workspaces");
        self
    }
}

async fn rows_of(database: &mut SqliteConnection, table: &str) -> Vec<String> {
    let columns: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM pragma_table_info(?1)").bind(table).fetch_all(&mut *database).await.unwrap();
    let columns: Vec<String> = columns.iter().map(|(name,)| format!("quote(\"{name}\")")).collect();
    // The names come from the database itself.
    let query = format!("SELECT {} FROM \"{table}\"", columns.join(" || ',' || "));
    let rows = sqlx::query(sqlx::AssertSqlSafe(query)).fetch_all(database).await.unwrap();
    let mut rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    rows.sort();
    rows
}

/// What the relay has counted for a party.
pub fn counted(world: &World, party: &str, what: &str) -> u64 {
    world.ask(&["inspect", "status"])["relay"]["parties"][party][what].as_u64().unwrap()
}
