//! One started instance: its handlers and its hooks.

use std::{
    collections::BTreeMap,
    future::{Future as _, poll_fn},
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use futures_util::FutureExt as _;
use lineup_core::{instance::InstanceState, miniapp::MiniAppContext};
use lineup_failpoint::{Point, hit};
use lineup_model::{ErrorCode, Generation, InstanceId, message::Fault};
use lineup_ports::{
    inbound::{MiniAppRequest, MiniAppRequests, Work},
    outbound::{Handover, Item, Launch, MiniAppError},
};
use lineup_sdk::{
    Sdk,
    host::{self, ActionDelivery, CallDelivery, Canceller, Delivery},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinHandle},
};

use crate::{
    Pause,
    app::App,
    error, lock,
    threads::{NoThreads, PoolNumber},
};

/// How long a withdrawn handler may take to go.
const GRACE: Duration = Duration::from_secs(5);
/// How long a stopped handler may take to reach its next `await` before its thread counts as lost.
const LAST_AWAIT: Duration = Duration::from_secs(1);
/// How long a hand-over may wait for a free thread.
const HAND_OVER: Duration = Duration::from_secs(1);
/// How often the inbox hook is tried before its message is left for the next start (DUR-3).
const INBOX_ATTEMPTS: u32 = 3;
/// Finished work that an instance remembers, so that a repeated delivery runs once.
const REMEMBERED: usize = 256;

pub(crate) struct Instance {
    app: Arc<App>,
    context: MiniAppContext,
    requests: Arc<dyn MiniAppRequests>,
    pause: Pause,
    state: Mutex<InstanceState>,
    work: Mutex<BTreeMap<Item, Handler>>,
    hooks: mpsc::UnboundedSender<Hook>,
    queue: Mutex<Option<mpsc::UnboundedReceiver<Hook>>>,
    inbox_is_due: AtomicBool,
    /// The start, then the task that runs the hooks.
    life: Mutex<Option<AbortHandle>>,
    ready: OnceLock<()>,
}

/// One delivery of one item.
struct Handler {
    generation: Generation,
    /// `None` once it is over or withdrawn.
    running: Option<Running>,
}

struct Running {
    canceller: Canceller,
    task: JoinHandle<()>,
    pool: PoolNumber,
}

/// How far a hand-over has come. The next one waits for `first_await`, so that handlers begin in the
/// order in which they were handed their work (ACT-3).
struct Begun {
    /// Whether a thread has it.
    taken: Arc<AtomicBool>,
    /// Resolves once the handler has run to its first `await`.
    first_await: oneshot::Receiver<()>,
}

enum Hook {
    Moved(InstanceState),
    Inbox,
}

impl Instance {
    pub fn new(app: Arc<App>, launch: Launch, requests: Arc<dyn MiniAppRequests>, pause: Pause) -> Arc<Self> {
        let (hooks, queue) = mpsc::unbounded_channel();
        Arc::new(Self {
            app,
            context: MiniAppContext { work: None, ..launch.context },
            requests,
            pause,
            state: Mutex::new(launch.state),
            work: Mutex::default(),
            hooks,
            queue: Mutex::new(Some(queue)),
            inbox_is_due: AtomicBool::new(false),
            life: Mutex::default(),
            ready: OnceLock::new(),
        })
    }

    pub fn id(&self) -> &InstanceId {
        &self.context.instance
    }

    /// Returns once the MiniApp says that it is ready.
    pub async fn start(self: &Arc<Self>) -> Result<(), MiniAppError> {
        let ready = self.app.code.dispatch(&self.sdk(), Delivery::Ready);
        let (task, _pool) = self.app.threads.spawn(ready).map_err(|why| self.error(&why))?;
        *lock(&self.life) = Some(task.abort_handle());
        match task.await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => return Err(error(&self.context.app_scope, fault.message)),
            Err(join) if join.is_panic() => {
                return Err(error(&self.context.app_scope, "it panicked while it started"));
            }
            Err(_stopped) => {
                return Err(error(&self.context.app_scope, "it was stopped while it started"));
            }
        }
        let queue = lock(&self.queue).take().expect("an instance is started once");
        let (hooks, _pool) =
            self.app.threads.spawn(run_hooks(Arc::clone(self), queue)).map_err(|why| self.error(&why))?;
        *lock(&self.life) = Some(hooks.abort_handle());
        let _first = self.ready.set(());
        Ok(())
    }

    /// Hands work to a handler and returns once a thread has it.
    pub async fn deliver(self: &Arc<Self>, work: Handover) -> Result<(), MiniAppError> {
        if self.ready.get().is_none() {
            return Err(error(&self.context.app_scope, "this instance is not started yet"));
        }
        if !self.app.performs(&work.item, &work.method) {
            return Err(error(&self.context.app_scope, format!("it declares no handler `{}`", work.method)));
        }
        let Some(Begun { taken, first_await }) = self.begin(work).map_err(|why| self.error(&why))? else {
            return Ok(());
        };
        tokio::select! {
            biased;
            _reached_or_stopped = first_await => Ok(()),
            () = self.pause.of(HAND_OVER) => {
                // A handler that computes for so long has its work all the same.
                if taken.load(Ordering::Acquire) {
                    return Ok(());
                }
                Err(error(&self.context.app_scope, "all of its threads are busy; the work waits for one"))
            }
        }
    }

    /// Starts a handler, unless this delivery or a later one was started before.
    fn begin(self: &Arc<Self>, work: Handover) -> Result<Option<Begun>, NoThreads> {
        let mut handlers = lock(&self.work);
        if handlers.get(&work.item).is_some_and(|known| known.generation >= work.generation) {
            return Ok(None);
        }
        let (reached, first_await) = oneshot::channel();
        let taken = Arc::new(AtomicBool::new(false));
        let (canceller, item, generation) = (Canceller::new(), work.item.clone(), work.generation);
        let run = run_handler(Arc::clone(self), work, canceller.clone(), Arc::clone(&taken), reached);
        let (task, pool) = self.app.threads.spawn(run)?;
        let running = Some(Running { canceller, task, pool });
        if let Some(earlier) = handlers.insert(item, Handler { generation, running }) {
            // Its writes are refused from now on (DUR-4).
            earlier.running.into_iter().for_each(|running| {
                running.canceller.cancel();
                running.task.abort();
            });
        }
        forget_some(&mut handlers);
        Ok(Some(Begun { taken, first_await }))
    }

    pub fn withdraw(self: &Arc<Self>, item: &Item) {
        let (running, generation) = match lock(&self.work).get_mut(item) {
            Some(handler) => (handler.running.take(), handler.generation),
            None => return,
        };
        if let Some(running) = running {
            tokio::spawn(see_off(Arc::clone(self), item.clone(), generation, running));
        }
    }

    pub fn moved(&self, state: InstanceState) {
        *lock(&self.state) = state;
        // A closed queue is an instance that stops.
        let _stopping = self.hooks.send(Hook::Moved(state));
    }

    pub fn inbox(&self) {
        if !self.inbox_is_due.swap(true, Ordering::AcqRel) {
            let _stopping = self.hooks.send(Hook::Inbox);
        }
    }

    /// Stops everything, and gives handlers their time to go.
    pub fn close(self: &Arc<Self>) {
        self.stop_hooks();
        let items: Vec<Item> = lock(&self.work).keys().cloned().collect();
        items.iter().for_each(|item| self.withdraw(item));
    }

    /// Stops everything now.
    pub fn stop_at_once(&self) {
        self.stop_hooks();
        for handler in lock(&self.work).values_mut() {
            if let Some(running) = handler.running.take() {
                running.canceller.cancel();
                running.task.abort();
            }
        }
    }

    fn stop_hooks(&self) {
        if let Some(life) = lock(&self.life).take() {
            life.abort();
        }
    }

    fn sdk(&self) -> Sdk {
        let version = &self.app.code.manifest().version;
        host::sdk(Arc::clone(&self.requests), self.context.clone(), version, *lock(&self.state))
    }

    fn error(&self, why: &NoThreads) -> MiniAppError {
        error(&self.context.app_scope, why.to_string())
    }

    fn over(&self, item: &Item, generation: Generation) {
        if let Some(handler) = lock(&self.work).get_mut(item).filter(|handler| handler.generation == generation) {
            handler.running = None;
        }
    }

    /// Reports the end of work whose handler cannot report it any more. The Runtime refuses it where
    /// it knows better: the call is over, or was handed over again.
    async fn end_for(&self, item: &Item, generation: Generation, fault: Fault, cancelled: bool) {
        let (work, request) = match item.clone() {
            Item::Call(call) if cancelled => (
                Work::Call { call: call.clone(), generation },
                MiniAppRequest::Cancel { call, generation: Some(generation), reason: fault.reason },
            ),
            Item::Call(call) => (
                Work::Call { call: call.clone(), generation },
                MiniAppRequest::Fail { call, generation: Some(generation), fault },
            ),
            Item::Action(action) => (
                Work::Action { action: action.clone(), generation },
                MiniAppRequest::ActionDone { action, generation, fault: Some(fault) },
            ),
        };
        let from = MiniAppContext { work: Some(work), ..self.context.clone() };
        if let Err(fault) = self.requests.request(from, request).await {
            tracing::debug!(instance = %self.id(), ?item, code = %fault.code, "the end of stopped work was not needed");
        }
    }
}

/// Runs one delivery. While the store cannot take its end it is run again: its steps answer as they
/// did (DUR-4).
async fn run_handler(
    instance: Arc<Instance>,
    work: Handover,
    canceller: Canceller,
    taken: Arc<AtomicBool>,
    reached: oneshot::Sender<()>,
) {
    taken.store(true, Ordering::Release);
    let mut reached = Some(reached);
    let (item, generation) = (work.item.clone(), work.generation);
    let mut wait = Duration::from_millis(250);
    loop {
        hit(Point::InprocessHandling);
        let run = instance.app.code.dispatch(&instance.sdk(), delivery(&work, &canceller));
        // Whatever panics here, the Runtime learns that the call is over.
        let mut run = Box::pin(AssertUnwindSafe(run).catch_unwind());
        let at_first_await = poll_fn(|context| Poll::Ready(run.as_mut().poll(context))).await;
        let _nobody_waits = reached.take().map(|reached| reached.send(()));
        let ended = match at_first_await {
            Poll::Ready(ended) => ended,
            Poll::Pending => run.await,
        };
        hit(Point::InprocessHandled);
        match ended {
            Ok(Ok(())) => break,
            Ok(Err(fault)) if fault.code == ErrorCode::StorageUnavailable => {
                instance.pause.of(wait).await;
                wait = (wait * 2).min(Duration::from_secs(5));
            }
            Ok(Err(fault)) => {
                tracing::warn!(instance = %instance.id(), ?item, code = %fault.code, "the end of a handler was refused");
                break;
            }
            Err(_panic) => {
                let fault = Fault::new(ErrorCode::ToolFailed, "the handler panicked").because("handler_panicked");
                instance.end_for(&item, generation, fault, false).await;
                break;
            }
        }
    }
    instance.over(&item, generation);
}

fn delivery(work: &Handover, canceller: &Canceller) -> Delivery {
    let (method, input) = (work.method.clone(), work.input.as_ref().clone());
    let (generation, attempt, canceller) = (work.generation, work.generation.0, canceller.clone());
    match work.item.clone() {
        Item::Call(call) => Delivery::Call(CallDelivery { call, method, input, generation, attempt, canceller }),
        Item::Action(action) => {
            Delivery::Action(ActionDelivery { action, method, input, generation, attempt, canceller })
        }
    }
}

/// Sees a withdrawn handler off.
async fn see_off(instance: Arc<Instance>, item: Item, generation: Generation, running: Running) {
    let Running { canceller, mut task, pool } = running;
    canceller.cancel();
    tokio::select! {
        biased;
        _gone = &mut task => return,
        () = instance.pause.of(GRACE) => task.abort(),
    }
    let lost = tokio::select! {
        biased;
        ended = &mut task => match ended {
            Ok(()) => return,
            Err(_stopped) => false,
        },
        () = instance.pause.of(LAST_AWAIT) => true,
    };
    let fault = Fault::new(ErrorCode::ToolFailed, "the handler did not stop within 5 s").because("handler_stopped");
    if lost {
        instance.app.threads.lost(pool);
        tracing::warn!(instance = %instance.id(), ?item, "a handler never reaches an await; its thread is lost");
    }
    instance.end_for(&item, generation, fault, true).await;
    if lost {
        let _ended_after_all = task.await;
        instance.app.threads.found(pool);
    }
}

/// Runs the hooks of an instance, one after the other.
async fn run_hooks(instance: Arc<Instance>, mut queue: mpsc::UnboundedReceiver<Hook>) {
    while let Some(hook) = queue.recv().await {
        match hook {
            Hook::Moved(state) => {
                if let Err(fault) = instance.app.code.dispatch(&instance.sdk(), Delivery::Lifecycle(state)).await {
                    tracing::warn!(instance = %instance.id(), code = %fault.code, "the lifecycle hook failed");
                }
            }
            Hook::Inbox => {
                instance.inbox_is_due.store(false, Ordering::Release);
                run_inbox(&instance).await;
            }
        }
    }
}

async fn run_inbox(instance: &Instance) {
    let mut wait = Duration::from_secs(1);
    for attempt in 1..=INBOX_ATTEMPTS {
        let Err(fault) = instance.app.code.dispatch(&instance.sdk(), Delivery::Inbox).await else {
            return;
        };
        tracing::warn!(instance = %instance.id(), code = %fault.code, attempt, "a message of the inbox was not taken");
        if attempt < INBOX_ATTEMPTS {
            instance.pause.of(wait).await;
            wait *= 2;
        }
    }
}

/// Bounds what is remembered; the oldest ids go first, for ids grow with time.
fn forget_some(handlers: &mut BTreeMap<Item, Handler>) {
    let over = handlers.len().saturating_sub(REMEMBERED);
    let oldest: Vec<Item> = handlers
        .iter()
        .filter(|(_, handler)| handler.running.is_none())
        .map(|(item, _)| item.clone())
        .take(over)
        .collect();
    for item in oldest {
        handlers.remove(&item);
    }
}
