//! Hosts and MiniApps without a process: what the Runtime asks of them is kept, what they do is said
//! by the test.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock},
};

use async_trait::async_trait;
use lineup_core::{
    desired::{HostView, SurfaceView},
    instance::InstanceState,
    miniapp::{MiniAppContext, MiniAppRequest, Work},
};
use lineup_model::{HostSessionId, InstanceId, Manifest};
use lineup_ports::{
    inbound::MiniAppRequests,
    outbound::{Handover, HostError, Hosts, Item, Launch, MiniAppError, MiniApps, Surfaces},
};
use serde_json::Value;
use tokio::sync::watch;

/// Hosts that keep what they were told to show.
#[derive(Debug, Default)]
pub struct RecordingHosts {
    shown: Mutex<BTreeMap<HostSessionId, HostView>>,
    mounted: Mutex<BTreeMap<HostSessionId, Vec<SurfaceView>>>,
    count: watch::Sender<usize>,
}

impl RecordingHosts {
    /// Waits until a session was told to show something for which this holds.
    ///
    /// # Panics
    /// When another thread panicked while it held what was shown.
    pub async fn until(&self, session: &HostSessionId, holds: impl Fn(&HostView) -> bool) -> HostView {
        let mut count = self.count.subscribe();
        loop {
            let view = self.shown.lock().expect("no one panics while holding the views").get(session).cloned();
            if let Some(view) = view.filter(|view| holds(view)) {
                return view;
            }
            count.changed().await.expect("the sender is in self");
        }
    }

    /// How often any session was told anything.
    #[must_use]
    pub fn told(&self) -> usize {
        *self.count.borrow()
    }
}

#[async_trait]
impl Hosts for RecordingHosts {
    async fn show(&self, session: &HostSessionId, view: HostView) -> Result<(), HostError> {
        self.shown.lock().expect("no one panics while holding the views").insert(session.clone(), view);
        self.count.send_modify(|count| *count += 1);
        Ok(())
    }
}

#[async_trait]
impl Surfaces for RecordingHosts {
    async fn show(&self, session: &HostSessionId, views: Vec<SurfaceView>) -> Result<(), HostError> {
        self.mounted.lock().expect("no one panics while holding the views").insert(session.clone(), views);
        self.count.send_modify(|count| *count += 1);
        Ok(())
    }
}

/// What a scripted handler does with work: `None` leaves it open.
pub type Script = Box<dyn Fn(&Handover) -> Option<MiniAppRequest> + Send + Sync>;

/// MiniApps whose every start succeeds and whose handlers follow a script.
pub struct ScriptedMiniApps {
    manifests: Vec<Arc<Manifest>>,
    script: Script,
    requests: OnceLock<Arc<dyn MiniAppRequests>>,
    launched: Mutex<BTreeMap<InstanceId, MiniAppContext>>,
    handed: Mutex<Vec<Handover>>,
}

impl ScriptedMiniApps {
    /// MiniApps with these manifests.
    #[must_use]
    pub fn new(manifests: Vec<Arc<Manifest>>, script: Script) -> Arc<Self> {
        Arc::new(Self {
            manifests,
            script,
            requests: OnceLock::new(),
            launched: Mutex::default(),
            handed: Mutex::default(),
        })
    }

    /// Handlers that complete every call with this output at once.
    #[must_use]
    pub fn completing(manifests: Vec<Arc<Manifest>>, output: Value) -> Arc<Self> {
        Self::new(
            manifests,
            Box::new(move |work| match &work.item {
                Item::Call(call) => Some(MiniAppRequest::Complete {
                    call: call.clone(),
                    generation: Some(work.generation),
                    output: output.clone(),
                }),
                Item::Action(action) => Some(MiniAppRequest::ActionDone {
                    action: action.clone(),
                    generation: work.generation,
                    fault: None,
                }),
            }),
        )
    }

    /// Everything that handlers were handed.
    ///
    /// # Panics
    /// When another thread panicked while it held the list.
    #[must_use]
    pub fn handed(&self) -> Vec<Handover> {
        self.handed.lock().expect("no one panics while holding the list").clone()
    }

    /// Asks something in an instance's name.
    ///
    /// # Errors
    /// What the Runtime answers.
    ///
    /// # Panics
    /// When the instance was never started here.
    pub async fn ask(
        &self,
        instance: &InstanceId,
        work: Option<Work>,
        request: MiniAppRequest,
    ) -> Result<lineup_core::miniapp::MiniAppAnswer, lineup_model::message::Fault> {
        let context = self.context(instance, work);
        self.requests.get().expect("the Runtime attaches before it starts anything").request(context, request).await
    }

    fn context(&self, instance: &InstanceId, work: Option<Work>) -> MiniAppContext {
        let launched = self.launched.lock().expect("no one panics while holding the list");
        MiniAppContext { work, ..launched.get(instance).expect("the instance was started here").clone() }
    }
}

#[async_trait]
impl MiniApps for ScriptedMiniApps {
    fn manifests(&self) -> Result<Vec<Arc<Manifest>>, MiniAppError> {
        Ok(self.manifests.clone())
    }

    fn attach(&self, requests: Arc<dyn MiniAppRequests>) {
        // A second Runtime on the same MiniApps is a fault of the test.
        assert!(self.requests.set(requests).is_ok(), "attached once");
    }

    async fn launch(&self, launch: Launch) -> Result<(), MiniAppError> {
        let context = launch.context;
        self.launched.lock().expect("no one panics while holding the list").insert(context.instance.clone(), context);
        Ok(())
    }

    async fn deliver(&self, work: Handover) -> Result<(), MiniAppError> {
        let request = (self.script)(&work);
        self.handed.lock().expect("no one panics while holding the list").push(work.clone());
        if let Some(request) = request {
            let named = match &work.item {
                Item::Call(call) => Work::Call { call: call.clone(), generation: work.generation },
                Item::Action(action) => Work::Action { action: action.clone(), generation: work.generation },
            };
            let context = self.context(&work.instance, Some(named));
            let requests = self.requests.get().expect("the Runtime attaches before it starts anything").clone();
            tokio::spawn(async move {
                // The script's request may be one that is refused on purpose.
                let _ = requests.request(context, request).await;
            });
        }
        Ok(())
    }

    async fn withdraw(&self, _: &InstanceId, _: &Item) {}

    async fn moved(&self, _: &InstanceId, _: InstanceState) {}

    async fn inbox(&self, _: &InstanceId) {}

    async fn close(&self, instance: &InstanceId) {
        self.launched.lock().expect("no one panics while holding the list").remove(instance);
    }
}
