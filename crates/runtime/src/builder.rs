//! Plugging a Runtime together.

use std::sync::Arc;

use lineup_core::Input;
use lineup_failpoint::{Point, hit};
use lineup_model::WorkspaceId;
use lineup_ports::{
    inbound::MiniAppRequests,
    outbound::{Clock, Hosts, MiniAppError, MiniApps, Store, StoreError, Surfaces, Transport},
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    actor::{Actor, Told},
    engine::Engine,
    gate::{ToTransport, listen},
    handle::Runtime,
    reconcile::Reconciler,
};

/// Inputs that wait for the actor before senders have to wait.
const QUEUE: usize = 4_096;

/// Collects the adapters of a Runtime.
#[derive(Clone, Default)]
pub struct Builder {
    workspace: Option<WorkspaceId>,
    store: Option<Arc<dyn Store>>,
    transport: Option<Arc<dyn Transport>>,
    hosts: Option<Arc<dyn Hosts>>,
    surfaces: Option<Arc<dyn Surfaces>>,
    miniapps: Option<Arc<dyn MiniApps>>,
    clock: Option<Arc<dyn Clock>>,
}

/// Why a Runtime did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port has no adapter.
    #[error("no {0} was given to the builder")]
    Missing(&'static str),
    /// A MiniApp's bundle is not what its manifest says (INV-2).
    #[error("a MiniApp cannot be hosted")]
    MiniApp(#[from] MiniAppError),
    /// The store did not open.
    #[error("the store did not open")]
    Store(#[from] StoreError),
    /// The store opened and did not take the first commit.
    #[error("the store did not take the first commit: {0}")]
    Recovery(String),
}

impl Builder {
    /// Which workspace it runs; `default` if none is given.
    #[must_use]
    pub fn workspace(mut self, workspace: WorkspaceId) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// What it is remembered by.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Its end of AppServer.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// The shells that show MiniApps.
    #[must_use]
    pub fn hosts(mut self, hosts: Arc<dyn Hosts>) -> Self {
        self.hosts = Some(hosts);
        self
    }

    /// The restricted views of MiniApps.
    #[must_use]
    pub fn surfaces(mut self, surfaces: Arc<dyn Surfaces>) -> Self {
        self.surfaces = Some(surfaces);
        self
    }

    /// What hosts MiniApp code.
    #[must_use]
    pub fn miniapps(mut self, miniapps: Arc<dyn MiniApps>) -> Self {
        self.miniapps = Some(miniapps);
        self
    }

    /// The clocks.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Opens the store, recovers, and starts to serve. Returns once what follows from the recovery
    /// is durable: overdue deadlines are settled then, and inventories published.
    ///
    /// # Errors
    /// See [`StartError`]; nothing was changed except by a recovery that was committed.
    pub async fn start(self) -> Result<Runtime, StartError> {
        let workspace =
            self.workspace.unwrap_or_else(|| WorkspaceId::new("default").expect("a plain word is a well-formed id"));
        let store = self.store.ok_or(StartError::Missing("store"))?;
        let transport = self.transport.ok_or(StartError::Missing("transport"))?;
        let hosts = self.hosts.ok_or(StartError::Missing("hosts"))?;
        let surfaces = self.surfaces.ok_or(StartError::Missing("surfaces"))?;
        let miniapps = self.miniapps.ok_or(StartError::Missing("miniapps"))?;
        let clock = self.clock.ok_or(StartError::Missing("clock"))?;

        let manifests = miniapps.manifests()?;
        let opened = store.open(&workspace).await?;
        let engine = Engine::new(workspace.clone(), opened, &clock.read());
        hit(Point::RecoveryLoaded);

        let (queue, told) = mpsc::channel(QUEUE);
        let (last, durable) = watch::channel(engine.durable().last());
        let runtime =
            Runtime { workspace: workspace.clone(), queue: queue.clone(), durable, store: Arc::downgrade(&store) };
        miniapps.attach(Arc::new(runtime.clone()) as Arc<dyn MiniAppRequests>);
        let to_transport = ToTransport::start(transport.clone(), queue.clone());
        let reconciler = Reconciler::new(miniapps, hosts, surfaces, queue.clone());
        let actor =
            Actor { workspace, engine, store, clock, queue: told, last, transport: to_transport.clone(), reconciler };
        tokio::spawn(actor.run());

        let (caller, recovered) = oneshot::channel();
        let recovery = Told::Input(Input::Recovered { manifests }, Some(caller));
        let gone = || StartError::Recovery("the runtime stopped".to_owned());
        queue.send(recovery).await.map_err(|_| gone())?;
        if let Err(rejected) = recovered.await.map_err(|_| gone())? {
            // Nobody holds this Runtime: it must not hold the store.
            runtime.stop().await;
            return Err(StartError::Recovery(rejected.fault.message));
        }

        tokio::spawn(listen(transport, queue, to_transport));
        Ok(runtime)
    }
}
