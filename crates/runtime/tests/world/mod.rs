//! A Runtime in a test: real engine, real store, no network, no time of its own.
#![allow(dead_code, reason = "each test file uses its part of the world")]

use std::sync::Arc;

use lineup_core::{
    policy::Conversation,
    workspace::input::{HostReport, Report, Setup},
};
use lineup_model::{AgentId, HostSessionId, message::AgentBody};
use lineup_ports::{
    inbound::{HostIntents, Inspect, InspectQuery, SetUp},
    outbound::{Hosts, MiniApps, Outgoing, Store, Surfaces},
};
use lineup_runtime::Runtime;
use lineup_testkit::{InMemoryTransport, RecordingHosts, ScriptedMiniApps, VirtualClock, manifests::id};
use lineup_wire::{Invoke, Reply, Request, RequestBody, decode_reply, encode_request};
use serde_json::Value;

pub struct World {
    pub runtime: Runtime,
    pub transport: Arc<InMemoryTransport>,
    pub hosts: Arc<RecordingHosts>,
    pub miniapps: Arc<ScriptedMiniApps>,
    pub clock: Arc<VirtualClock>,
}

/// What the Runtime is plugged to.
struct Outside {
    hosts: Arc<dyn Hosts>,
    surfaces: Arc<dyn Surfaces>,
    miniapps: Arc<dyn MiniApps>,
}

impl World {
    pub async fn start(store: Arc<dyn Store>, miniapps: Arc<ScriptedMiniApps>, clock: Arc<VirtualClock>) -> Self {
        Self::hosting(store, miniapps.clone(), miniapps, clock).await
    }

    /// With MiniApps that are not hosted as their script says.
    pub async fn hosting(
        store: Arc<dyn Store>,
        miniapps: Arc<ScriptedMiniApps>,
        hosted: Arc<dyn MiniApps>,
        clock: Arc<VirtualClock>,
    ) -> Self {
        let hosts = Arc::new(RecordingHosts::default());
        let outside = Outside { hosts: hosts.clone(), surfaces: hosts.clone(), miniapps: hosted };
        Self::with(store, miniapps, hosts, outside, clock).await
    }

    /// With Hosts that do not take all that they are told.
    pub async fn shown(
        store: Arc<dyn Store>,
        miniapps: Arc<ScriptedMiniApps>,
        hosts: Arc<RecordingHosts>,
        shell: Arc<dyn Hosts>,
        surfaces: Arc<dyn Surfaces>,
    ) -> Self {
        let outside = Outside { hosts: shell, surfaces, miniapps: miniapps.clone() };
        Self::with(store, miniapps, hosts, outside, Arc::default()).await
    }

    async fn with(
        store: Arc<dyn Store>,
        miniapps: Arc<ScriptedMiniApps>,
        hosts: Arc<RecordingHosts>,
        outside: Outside,
        clock: Arc<VirtualClock>,
    ) -> Self {
        let transport = InMemoryTransport::acknowledging();
        let runtime = Runtime::builder()
            .store(store)
            .transport(transport.clone())
            .hosts(outside.hosts)
            .surfaces(outside.surfaces)
            .miniapps(outside.miniapps)
            .clock(clock.clone())
            .start()
            .await
            .expect("it starts");
        let main = Conversation { id: id("main"), title: "Main".into(), agents: [id("ann")].into() };
        runtime.set_up(Setup::Conversation(main)).await.expect("it is set up");
        Self { runtime, transport, hosts, miniapps, clock }
    }

    pub async fn revision(&self) -> lineup_model::Revision {
        let seen = self.runtime.inspect(InspectQuery::Inventories).await.unwrap();
        serde_json::from_value(seen["rows"][0]["inventory"]["revision"].clone()).unwrap()
    }

    pub async fn invoke(&self, tool: &str, call_id: &str, input: Value) {
        let Value::Object(input) = input else { panic!("an input is an object") };
        let request = Request {
            id: id(&format!("x-{call_id}")),
            conversation: id("main"),
            body: RequestBody::Invoke(Invoke {
                call_id: id(call_id),
                tool: id(tool),
                input,
                inventory_revision: self.revision().await,
                expires_at: None,
            }),
        };
        self.transport.deliver(&id::<AgentId>("ann"), encode_request(&request));
    }

    /// Waits for the outcome of a call, as JSON.
    pub async fn outcome(&self, call_id: &str) -> Value {
        let sent =
            self.transport.until(|sent| word(sent, call_id).is_some_and(|(word, _)| word.starts_with("outcome"))).await;
        word(&sent, call_id).unwrap().1
    }

    /// Waits for a receipt of this stage.
    pub async fn stage(&self, call_id: &str, stage: &str) {
        self.transport.until(|sent| word(sent, call_id).is_some_and(|(word, _)| word == stage)).await;
    }

    /// The words of a call so far.
    pub fn words(&self, call_id: &str) -> Vec<String> {
        self.transport.sent().iter().filter_map(|sent| word(sent, call_id)).map(|(word, _)| word).collect()
    }

    pub async fn host(&self, report: Report) {
        self.runtime.report(HostReport { session: id("tab"), report }).await.unwrap();
    }

    pub async fn rows(&self, query: InspectQuery) -> Vec<Value> {
        self.runtime.inspect(query).await.unwrap()["rows"].as_array().unwrap().clone()
    }

    pub async fn status(&self) -> Value {
        self.runtime.inspect(InspectQuery::Status).await.unwrap()
    }

    pub async fn runtime_audit(&self) -> Value {
        self.runtime.inspect(InspectQuery::Audit { limit: 100 }).await.unwrap()
    }

    /// The asked-for foreground is confirmed, Surface included.
    pub async fn confirm(&self) {
        let session: HostSessionId = id("tab");
        let view = self
            .hosts
            .until(&session, |view| view.foreground.as_ref().is_some_and(|asked| asked.activation.is_some()))
            .await;
        let asked = view.foreground.unwrap();
        self.host(Report::SurfaceReady { instance: asked.instance }).await;
        self.host(Report::Foreground { activation: asked.activation.unwrap() }).await;
    }
}

/// What a message says about a call: a stage, or `outcome:<status>`, with the whole of it.
fn word(sent: &Outgoing, call_id: &str) -> Option<(String, Value)> {
    let whole: Value = serde_json::from_slice(&sent.payload).unwrap();
    if whole["call_id"] != call_id {
        return None;
    }
    match decode_reply(&sent.payload).unwrap() {
        Reply::Message(message) => match message.body {
            AgentBody::Receipt(receipt) => {
                Some((serde_json::to_value(receipt.stage).unwrap().as_str().unwrap().to_owned(), whole))
            }
            AgentBody::Outcome(outcome) => Some((format!("outcome:{}", outcome.end.class().as_str()), whole)),
            AgentBody::Inventory { .. } | AgentBody::Text { .. } => None,
        },
        _ => Some(("refused".into(), whole)),
    }
}
