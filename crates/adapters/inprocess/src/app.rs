//! One MiniApp: its code and its threads.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use lineup_model::{Manifest, Method, descriptor::Executor, message::Fault};
use lineup_ports::outbound::Item;
use lineup_sdk::{Sdk, VerifiedBundle, host::Delivery};

use crate::threads::Threads;

/// What can be run. A verified bundle; in tests, a closure.
pub(crate) trait Code: Send + Sync {
    fn manifest(&self) -> &Manifest;
    fn dispatch(&self, sdk: &Sdk, delivery: Delivery) -> BoxFuture<'static, Result<(), Fault>>;
}

impl Code for VerifiedBundle {
    fn manifest(&self) -> &Manifest {
        Self::manifest(self)
    }

    fn dispatch(&self, sdk: &Sdk, delivery: Delivery) -> BoxFuture<'static, Result<(), Fault>> {
        Self::dispatch(self, sdk, delivery)
    }
}

pub(crate) struct App {
    pub threads: Threads,
    pub code: Arc<dyn Code>,
}

impl App {
    /// Whether the MiniApp itself performs this.
    pub fn performs(&self, item: &Item, method: &Method) -> bool {
        let manifest = self.code.manifest();
        match item {
            Item::Call(_) => manifest
                .tools
                .iter()
                .any(|tool| tool.method == *method && matches!(tool.executor, Executor::MiniappSdk)),
            Item::Action(_) => manifest.ui_actions.iter().any(|action| action.method == *method),
        }
    }
}
