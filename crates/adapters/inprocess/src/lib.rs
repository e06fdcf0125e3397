//! Hosts MiniApps in this process: the bundles that the host lists, on threads of their own.
//!
//! ```
//! use lineup_inprocess::InProcess;
//! use lineup_ports::outbound::MiniApps as _;
//!
//! // One list is all that registration takes.
//! let miniapps = InProcess::bundles([lineup_pomodoro::bundle(), lineup_interact::bundle()]);
//! assert_eq!(miniapps.manifests().unwrap().len(), 2);
//! ```
//!
//! **Threads.** Each MiniApp has a small tokio runtime of its own, so that code that blocks or never
//! ends stalls neither the Runtime nor another MiniApp. Nothing in Rust can stop a running thread: a
//! handler that never reaches an `await` keeps its thread for good. Such a thread counts as *lost*
//! once its handler was stopped and did not go; a MiniApp that has lost all of its
//! [`THREADS`] gets new ones, at most [`RENEWALS`] times, after which its launches and deliveries
//! fail with a sentence that says so. Other handlers that wait on lost threads end by the limits of
//! their calls (CALL-9).
//!
//! **Order.** A delivery counts as handed over once its handler has run to its first `await`, or has
//! computed for a second; so handlers begin in the order of their deliveries (ACT-3).
//!
//! **Time.** A withdrawn handler has 5 s to go, then it is dropped at its `await` and its end is
//! reported for it. Pauses are injected ([`InProcess::pausing_with`]).
//!
//! The crate deliberately decides nothing: which call is handed over, again or not, and what a
//! handler's requests do, is the Runtime's word.
#![warn(missing_docs)]

mod app;
mod instance;
mod pause;
#[cfg(test)]
mod tests;
mod threads;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use async_trait::async_trait;
use lineup_core::instance::InstanceState;
use lineup_failpoint::{Point, hit};
use lineup_model::{AppScope, InstanceId, Manifest};
use lineup_ports::{
    inbound::MiniAppRequests,
    outbound::{Handover, Item, Launch, MiniAppError, MiniApps},
};
use lineup_sdk::Bundle;

pub use pause::Pause;
pub use threads::{RENEWALS, THREADS};

use app::{App, Code};
use instance::Instance;
use threads::Threads;

/// The MiniApps of this process.
pub struct InProcess {
    apps: BTreeMap<AppScope, Arc<App>>,
    refused: Option<(String, String)>,
    pause: Pause,
    requests: OnceLock<Arc<dyn MiniAppRequests>>,
    instances: Mutex<BTreeMap<InstanceId, Arc<Instance>>>,
}

impl InProcess {
    /// Hosts these MiniApps. One that differs from its committed manifest is reported by
    /// [`MiniApps::manifests`], before anything is started (INV-2).
    #[must_use]
    pub fn bundles(bundles: impl IntoIterator<Item = Bundle>) -> Self {
        Self::of(bundles.into_iter().map(|bundle| match bundle.verified() {
            Ok(verified) => Ok(Arc::new(verified) as Arc<dyn Code>),
            Err(drift) => Err((bundle.app_scope().to_owned(), drift.to_string())),
        }))
    }

    /// The same, with another way to let time pass. For tests.
    #[must_use]
    pub fn pausing_with(mut self, pause: Pause) -> Self {
        self.pause = pause;
        self
    }

    fn of(codes: impl IntoIterator<Item = Result<Arc<dyn Code>, (String, String)>>) -> Self {
        let (mut apps, mut refused) = (BTreeMap::new(), None);
        for code in codes {
            match code {
                Ok(code) => {
                    let scope = code.manifest().app_scope.clone();
                    let app = Arc::new(App { threads: Threads::new(scope.as_str()), code });
                    if apps.insert(scope.clone(), app).is_some() {
                        let twice = (scope.to_string(), "two MiniApps have this scope; rename one".to_owned());
                        refused.get_or_insert(twice);
                    }
                }
                Err(why) => {
                    refused.get_or_insert(why);
                }
            }
        }
        Self { apps, refused, pause: Pause::default(), requests: OnceLock::new(), instances: Mutex::default() }
    }

    fn requests(&self) -> &Arc<dyn MiniAppRequests> {
        self.requests.get().expect("the port says that attach is called before anything else is asked")
    }

    fn instance(&self, id: &InstanceId) -> Option<Arc<Instance>> {
        lock(&self.instances).get(id).cloned()
    }

    /// Takes an instance off the list, unless another start of it has taken its place.
    fn forget(&self, instance: &Arc<Instance>) {
        let mut instances = lock(&self.instances);
        if instances.get(instance.id()).is_some_and(|current| Arc::ptr_eq(current, instance)) {
            instances.remove(instance.id());
        }
    }
}

#[async_trait]
impl MiniApps for InProcess {
    fn manifests(&self) -> Result<Vec<Arc<Manifest>>, MiniAppError> {
        if let Some((app_scope, detail)) = &self.refused {
            return Err(MiniAppError { app_scope: app_scope.clone(), detail: detail.clone() });
        }
        Ok(self.apps.values().map(|app| Arc::new(app.code.manifest().clone())).collect())
    }

    fn attach(&self, requests: Arc<dyn MiniAppRequests>) {
        let _first_wins = self.requests.set(requests);
    }

    async fn launch(&self, launch: Launch) -> Result<(), MiniAppError> {
        hit(Point::InprocessLaunch);
        let scope = &launch.context.app_scope;
        let Some(app) = self.apps.get(scope) else {
            return Err(error(scope, "it is not hosted by this process"));
        };
        let instance = Instance::new(Arc::clone(app), launch, Arc::clone(self.requests()), self.pause.clone());
        let earlier = lock(&self.instances).insert(instance.id().clone(), Arc::clone(&instance));
        if let Some(earlier) = earlier {
            earlier.stop_at_once();
        }
        // Also when the caller gives the start up half way: nothing of it stays.
        let unfinished = Unfinished { home: self, instance: Some(Arc::clone(&instance)) };
        instance.start().await?;
        unfinished.finished();
        Ok(())
    }

    async fn deliver(&self, work: Handover) -> Result<(), MiniAppError> {
        match self.instance(&work.instance) {
            Some(instance) => instance.deliver(work).await,
            None => Err(MiniAppError {
                app_scope: work.instance.to_string(),
                detail: "this instance is not started here".to_owned(),
            }),
        }
    }

    async fn withdraw(&self, instance: &InstanceId, item: &Item) {
        if let Some(instance) = self.instance(instance) {
            instance.withdraw(item);
        }
    }

    async fn moved(&self, instance: &InstanceId, state: InstanceState) {
        if let Some(instance) = self.instance(instance) {
            instance.moved(state);
        }
    }

    async fn inbox(&self, instance: &InstanceId) {
        if let Some(instance) = self.instance(instance) {
            instance.inbox();
        }
    }

    async fn close(&self, instance: &InstanceId) {
        let closed = lock(&self.instances).remove(instance);
        if let Some(instance) = closed {
            instance.close();
        }
    }
}

impl std::fmt::Debug for InProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InProcess").field("apps", &self.apps.keys()).finish_non_exhaustive()
    }
}

/// A start that has not come to its end.
struct Unfinished<'a> {
    home: &'a InProcess,
    instance: Option<Arc<Instance>>,
}

impl Unfinished<'_> {
    fn finished(mut self) {
        self.instance = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            instance.stop_at_once();
            self.home.forget(&instance);
        }
    }
}

fn error(scope: &AppScope, detail: impl Into<String>) -> MiniAppError {
    MiniAppError { app_scope: scope.to_string(), detail: detail.into() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of others runs under the locks of this crate, so a poisoned value is still a whole one.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
