//! The MiniApps port: hosting MiniApp code (contract section 9).

use std::sync::Arc;

use async_trait::async_trait;
use lineup_core::{instance::InstanceState, miniapp::MiniAppContext};
use lineup_model::{ActionId, CallKey, Generation, InstanceId, Manifest, Method};
use serde_json::Value;

use crate::inbound::MiniAppRequests;

/// One start of an instance's MiniApp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What its SDK speaks as. Its `work` is `None`.
    pub context: MiniAppContext,
    /// Counts the starts of this instance.
    pub launch: u32,
    /// Where the instance stands.
    pub state: InstanceState,
}

/// Work for a handler.
#[derive(Clone, Debug, PartialEq)]
pub struct Handover {
    /// The instance.
    pub instance: InstanceId,
    /// What is handed over.
    pub item: Item,
    /// Which delivery of it.
    pub generation: Generation,
    /// The declared method: of a tool or of a UI Action.
    pub method: Method,
    /// Its input, valid against the declared schema.
    pub input: Arc<Value>,
}

/// What is handed to a handler.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// A Tool Call.
    Call(CallKey),
    /// A UI Action.
    Action(ActionId),
}

/// Why a MiniApp cannot be hosted.
#[derive(Debug, thiserror::Error)]
#[error("{app_scope}: {detail}")]
pub struct MiniAppError {
    /// The MiniApp.
    pub app_scope: String,
    /// What stands in the way and what to do about it.
    pub detail: String,
}

/// Hosts MiniApps. Handlers run at least once; what they ask of the Runtime goes through the
/// requests given to [`MiniApps::attach`], in the context that this port was given.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait MiniApps: Send + Sync {
    /// The verified manifests of the MiniApps that it hosts, sorted by scope.
    ///
    /// # Errors
    /// When a bundle's descriptors differ from its manifest (INV-2): the Runtime does not start.
    fn manifests(&self) -> Result<Vec<Arc<Manifest>>, MiniAppError>;

    /// Where requests of MiniApps go from now on. Called once, before anything else is asked.
    fn attach(&self, requests: Arc<dyn MiniAppRequests>);

    /// Starts an instance's MiniApp and returns once it says that it is ready. A second start of
    /// the same instance replaces the first, whose handlers are stopped.
    ///
    /// # Errors
    /// When it does not start: it fails, panics, or is not hosted here.
    async fn launch(&self, launch: Launch) -> Result<(), MiniAppError>;

    /// Hands work to a handler of a started instance and returns once the handler has it, which is
    /// not once it is done: the handler reports by a request of its own. The same delivery twice
    /// runs once. A handler that panics is reported as `tool_failed`, reason `handler_panicked`.
    ///
    /// # Errors
    /// When the instance is not started here or declares no such method.
    async fn deliver(&self, work: Handover) -> Result<(), MiniAppError>;

    /// Tells a handler that its work is over or no longer wanted: its cancellation token is set,
    /// and after 5 s it is stopped. Unknown work is ignored.
    async fn withdraw(&self, instance: &InstanceId, item: &Item);

    /// Tells a started instance where it stands now. An unknown instance is ignored.
    async fn moved(&self, instance: &InstanceId, state: InstanceState);

    /// Tells a started instance that its inbox holds something. An unknown instance is ignored.
    async fn inbox(&self, instance: &InstanceId);

    /// Stops an instance's MiniApp and its handlers. An unknown instance is ignored.
    async fn close(&self, instance: &InstanceId);
}
