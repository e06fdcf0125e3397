//! The world that fails the Runtime: MiniApps that do not start, handlers that are not there, Hosts
//! that do not take what they are told.

mod world;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use async_trait::async_trait;
use lineup_core::{
    desired::{HostView, SurfaceView},
    instance::InstanceState,
    workspace::input::Report,
};
use lineup_model::{HostSessionId, InstanceId, Manifest};
use lineup_ports::{
    inbound::{Inspect, InspectQuery, MiniAppRequests},
    outbound::{Handover, HostError, Hosts, Item, Launch, MiniAppError, MiniApps, Surfaces},
};
use lineup_testkit::{
    MemoryStore, ScriptedMiniApps, VirtualClock,
    manifests::{id, manifest, pomodoro, tool},
};
use serde_json::json;
use world::World;

/// MiniApps of which the first starts fail, and one handler is missing.
struct Stubborn {
    scripted: Arc<ScriptedMiniApps>,
    refused_starts: AtomicUsize,
    missing: &'static str,
}

fn failed() -> MiniAppError {
    MiniAppError { app_scope: "notes".into(), detail: "not this time".into() }
}

#[async_trait]
impl MiniApps for Stubborn {
    fn manifests(&self) -> Result<Vec<Arc<Manifest>>, MiniAppError> {
        self.scripted.manifests()
    }

    fn attach(&self, requests: Arc<dyn MiniAppRequests>) {
        self.scripted.attach(requests);
    }

    async fn launch(&self, launch: Launch) -> Result<(), MiniAppError> {
        if self.refused_starts.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(failed());
        }
        self.scripted.launch(launch).await
    }

    async fn deliver(&self, work: Handover) -> Result<(), MiniAppError> {
        if work.method.as_str() == self.missing {
            return Err(failed());
        }
        self.scripted.deliver(work).await
    }

    async fn withdraw(&self, instance: &InstanceId, item: &Item) {
        self.scripted.withdraw(instance, item).await;
    }

    async fn moved(&self, instance: &InstanceId, state: InstanceState) {
        self.scripted.moved(instance, state).await;
    }

    async fn inbox(&self, instance: &InstanceId) {
        self.scripted.inbox(instance).await;
    }

    async fn close(&self, instance: &InstanceId) {
        self.scripted.close(instance).await;
    }
}

fn notes() -> Vec<Arc<Manifest>> {
    vec![manifest("notes", vec![tool("notes", "add"), tool("notes", "gone")]), pomodoro()]
}

fn silent() -> Arc<ScriptedMiniApps> {
    ScriptedMiniApps::new(notes(), Box::new(|_| None))
}

fn completing() -> Arc<ScriptedMiniApps> {
    ScriptedMiniApps::completing(notes(), json!({ "done": true }))
}

/// A Runtime that comes up again over a call that a handler had.
async fn again_with(refused_starts: usize) -> (World, Arc<Stubborn>) {
    let (store, clock) = (Arc::new(MemoryStore::new()), Arc::<VirtualClock>::default());
    let world = World::start(store.clone(), silent(), clock.clone()).await;
    world.invoke("notes.add", "k1", json!({})).await;
    world.stage("k1", "activation_ready").await;
    world.runtime.stop().await;
    let stubborn = Arc::new(Stubborn {
        scripted: completing(),
        refused_starts: AtomicUsize::new(refused_starts),
        missing: "gone",
    });
    let world = World::hosting(store, stubborn.scripted.clone(), stubborn.clone(), clock).await;
    (world, stubborn)
}

#[tokio::test]
async fn dur_4_an_app_that_does_not_start_at_once_still_gets_the_call_it_had() {
    let (world, stubborn) = again_with(1).await;
    assert_eq!(world.outcome("k1").await["status"], "completed");
    assert_eq!(stubborn.scripted.handed().last().unwrap().generation.0, 3, "the third of its attempts");
}

#[tokio::test]
async fn dur_4_an_app_that_never_starts_again_ends_the_call_it_had() {
    let (world, stubborn) = again_with(usize::MAX).await;
    assert_eq!(world.outcome("k1").await["code"], "app_delivery_exhausted");
    assert_eq!(stubborn.scripted.handed().len(), 0);
}

#[tokio::test]
async fn dur_4_work_without_a_handler_fails_alone() {
    let (world, _) = again_with(0).await;
    world.invoke("notes.gone", "k2", json!({})).await;
    assert_eq!(world.outcome("k2").await["code"], "tool_failed");
    world.invoke("notes.add", "k3", json!({})).await;
    assert_eq!(world.outcome("k3").await["status"], "completed");
}

/// A Host that does not take the first views.
struct Deaf {
    hosts: Arc<lineup_testkit::RecordingHosts>,
    deaf: AtomicUsize,
}

#[async_trait]
impl Hosts for Deaf {
    async fn show(&self, session: &HostSessionId, view: HostView) -> Result<(), HostError> {
        if self.deaf.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(HostError { session: session.clone(), detail: "not this time".into() });
        }
        Hosts::show(&*self.hosts, session, view).await
    }
}

#[async_trait]
impl Surfaces for Deaf {
    async fn show(&self, session: &HostSessionId, views: Vec<SurfaceView>) -> Result<(), HostError> {
        Surfaces::show(&*self.hosts, session, views).await
    }
}

#[tokio::test]
async fn act_8_a_host_that_did_not_take_a_view_is_told_until_it_does() {
    let hosts = Arc::new(lineup_testkit::RecordingHosts::default());
    let deaf = Arc::new(Deaf { hosts: hosts.clone(), deaf: AtomicUsize::new(2) });
    let world = World::shown(Arc::new(MemoryStore::new()), silent(), hosts, deaf.clone(), deaf).await;
    world.host(Report::Connected { visible: true }).await;
    let view = world.hosts.until(&id("tab"), |_| true).await;
    assert_eq!(view.foreground, None);
}

#[tokio::test]
async fn h101_a_full_store_does_not_keep_a_runtime_from_stopping() {
    let store = Arc::new(MemoryStore::new());
    let world = World::start(store.clone(), silent(), Arc::default()).await;
    store.fill(true);
    world.invoke("notes.add", "k1", json!({})).await;
    world.transport.until(|sent| String::from_utf8_lossy(&sent.payload).contains("storage_unavailable")).await;
    let runtime = world.runtime.clone();
    // A report is kept while the store takes nothing.
    let report = tokio::spawn(async move { world.host(Report::Connected { visible: true }).await });
    while runtime.inspect(InspectQuery::Status).await.unwrap()["backlog"] == 0 {
        tokio::task::yield_now().await;
    }
    runtime.stop().await;
    assert!(report.await.is_err(), "whoever waited is told that it stopped");
}
