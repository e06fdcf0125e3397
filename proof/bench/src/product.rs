//! The product in process: a whole Runtime on its real store, called through envelopes as AppServer
//! delivers them, without a network.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex},
    time::Instant,
};

use lineup_core::{
    policy::Conversation,
    workspace::input::{Report, Setup},
};
use lineup_model::{AgentId, ConversationId, Revision};
use lineup_ports::{
    inbound::{HostIntents as _, Inspect as _, InspectQuery, SetUp as _},
    outbound::{Outgoing, Store as _},
};
use lineup_runtime::Runtime;
use lineup_sql::{CounterValues, SqliteStore};
use lineup_testkit::{
    InMemoryTransport, RecordingHosts, ScriptedMiniApps, VirtualClock,
    manifests::{id, manifest, tool},
};
use lineup_wire::{Invoke, Request, RequestBody, encode_request};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

/// Who waits for what of a call: for its first receipt and for its outcome.
type Waiting = Arc<Mutex<HashMap<String, (Option<oneshot::Sender<()>>, Option<oneshot::Sender<()>>)>>>;

/// A Runtime and those who wait for its answers.
pub struct Product {
    runtime: Runtime,
    store: Arc<SqliteStore>,
    transport: Arc<InMemoryTransport>,
    waiting: Waiting,
    agent: AgentId,
    conversation: ConversationId,
    revision: Revision,
    next: u64,
}

impl Product {
    /// A new Runtime in a directory, with one MiniApp that completes every call at once.
    pub async fn create(directory: &Path) -> Self {
        let store = Arc::new(SqliteStore::open(directory).await.expect("a new store opens"));
        let (sent, inbox) = mpsc::unbounded_channel();
        let transport = InMemoryTransport::passing_on(sent);
        let hosts = Arc::new(RecordingHosts::default());
        let miniapps =
            ScriptedMiniApps::completing(vec![manifest("notes", vec![tool("notes", "add")])], json!({ "done": true }));
        let runtime = Runtime::builder()
            .store(store.clone())
            .transport(transport.clone())
            .hosts(hosts.clone())
            .surfaces(hosts)
            .miniapps(miniapps)
            .clock(Arc::new(VirtualClock::default()))
            .start()
            .await
            .expect("it starts");
        let main = Conversation { id: id("main"), title: "Main".into(), agents: [id("ann")].into() };
        runtime.set_up(Setup::Conversation(main)).await.expect("it is set up");
        let report = Report::Connected { visible: true };
        let report = lineup_core::workspace::input::HostReport { session: id("tab"), report };
        runtime.report(report).await.expect("a host connects");
        let seen = runtime.inspect(InspectQuery::Inventories).await.expect("it can be looked at");
        let revision = serde_json::from_value(seen["rows"][0]["inventory"]["revision"].clone()).expect("a revision");
        let waiting = Waiting::default();
        tokio::spawn(dispatch(inbox, waiting.clone()));
        let mut product =
            Self { runtime, store, transport, waiting, agent: id("ann"), conversation: id("main"), revision, next: 0 };
        // The first call brings the MiniApp up.
        product.sequential(1).await;
        product
    }

    /// What the store has done.
    pub fn counters(&self) -> CounterValues {
        self.store.counters()
    }

    fn envelope(&self, call: u64) -> Vec<u8> {
        let Ok(serde_json::Value::Object(input)) = serde_json::to_value(json!({ "n": call % 1000 })) else {
            unreachable!("an object is an object")
        };
        encode_request(&Request {
            id: id(&format!("x{call}")),
            conversation: self.conversation.clone(),
            body: RequestBody::Invoke(Invoke {
                call_id: id(&format!("call-{call:08}")),
                tool: id("notes.add"),
                input,
                inventory_revision: self.revision.clone(),
                expires_at: None,
            }),
        })
    }

    /// Calls one after the other; answers the microseconds to the receipt and to the outcome of each.
    pub async fn sequential(&mut self, calls: u64) -> Vec<(f64, f64)> {
        let mut times = Vec::new();
        for _ in 0..calls {
            let call = self.next;
            self.next += 1;
            let envelope = self.envelope(call);
            let (receipt, outcome) = self.wait_for(call);
            let started = Instant::now();
            self.transport.deliver(&self.agent, envelope);
            receipt.await.expect("a call is answered");
            let received = started.elapsed().as_secs_f64() * 1e6;
            outcome.await.expect("a call is answered");
            times.push((received, started.elapsed().as_secs_f64() * 1e6));
        }
        times
    }

    /// Repeats of a finished call, one after the other; answers the microseconds of each.
    pub async fn repeats(&mut self, repeats: u64) -> Vec<f64> {
        let mut times = Vec::new();
        for _ in 0..repeats {
            let envelope = self.envelope(0);
            let (_, outcome) = self.wait_for(0);
            let started = Instant::now();
            self.transport.deliver(&self.agent, envelope);
            outcome.await.expect("a repeat is answered");
            times.push(started.elapsed().as_secs_f64() * 1e6);
        }
        times
    }

    /// A number of calls by a number of callers at once; answers the microseconds of all.
    pub async fn concurrent(&mut self, callers: u64, calls: u64) -> f64 {
        let each = calls / callers;
        let mut tasks = Vec::new();
        let started = Instant::now();
        for caller in 0..callers {
            let first = self.next + caller * each;
            let envelopes: Vec<_> = (first..first + each).map(|call| (call, self.envelope(call))).collect();
            let (transport, waiting, agent) = (self.transport.clone(), self.waiting.clone(), self.agent.clone());
            tasks.push(tokio::spawn(async move {
                for (call, envelope) in envelopes {
                    let (_, outcome) = wait_for(&waiting, call);
                    transport.deliver(&agent, envelope);
                    outcome.await.expect("a call is answered");
                }
            }));
        }
        for task in tasks {
            task.await.expect("a caller does not panic");
        }
        self.next += callers * each;
        started.elapsed().as_secs_f64() * 1e6
    }

    fn wait_for(&self, call: u64) -> (oneshot::Receiver<()>, oneshot::Receiver<()>) {
        wait_for(&self.waiting, call)
    }

    /// How many calls were made, and how many of them the store knows as ended.
    pub async fn calls(&self) -> (u64, u64) {
        let status = self.runtime.inspect(InspectQuery::Status).await.expect("it can be looked at");
        (self.next, self.next - status["open_calls"].as_u64().unwrap_or(u64::MAX))
    }

    /// Commits what is under way and closes the store.
    pub async fn stop(self) {
        self.runtime.stop().await;
        self.store.close().await;
    }
}

fn wait_for(waiting: &Waiting, call: u64) -> (oneshot::Receiver<()>, oneshot::Receiver<()>) {
    let (receipt, received) = oneshot::channel();
    let (outcome, ended) = oneshot::channel();
    let mut waiting = waiting.lock().expect("no one panics while holding the waiters");
    waiting.insert(format!("call-{call:08}"), (Some(receipt), Some(outcome)));
    (received, ended)
}

/// Wakes whoever waits for what was sent. Looks for two words instead of decoding the envelope: the
/// product is measured here, not its client.
async fn dispatch(mut inbox: mpsc::UnboundedReceiver<Outgoing>, waiting: Waiting) {
    while let Some(sent) = inbox.recv().await {
        let text = String::from_utf8_lossy(&sent.payload);
        let Some(at) = text.find("\"call-") else { continue };
        let Some(call) = text.get(at + 1..at + 14) else { continue };
        let ended = text.contains("miniapp.tool.result");
        let mut waiting = waiting.lock().expect("no one panics while holding the waiters");
        if ended {
            if let Some((receipt, Some(outcome))) = waiting.remove(call) {
                drop(receipt);
                // A caller that went away needs no answer.
                let _ = outcome.send(());
            }
        } else if let Some(receipt) = waiting.get_mut(call).and_then(|(receipt, _)| receipt.take()) {
            let _ = receipt.send(());
        }
    }
}
