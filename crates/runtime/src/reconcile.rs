//! The reconcilers: they work the world towards what is durable, and never the other way (ACT-8).
//!
//! Each remembers only what it has last told its port. After a restart it has told nothing, and
//! tells everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use lineup_core::{
    Input, Seq, Workspace,
    call::CallState,
    desired::{HostView, SurfaceView},
    instance::{Instance, InstanceState},
    miniapp::{MiniAppContext, MiniAppRequest},
    workspace::input::{AppHappened, AppReport, MiniAppInput},
};
use lineup_failpoint::{Point, hit};
use lineup_model::{CallKey, Effective, ErrorCode, Generation, HostSessionId, InstanceId, message::Fault};
use lineup_ports::outbound::{Handover, Hosts, Item, Launch, MiniApps, Surfaces};
use tokio::sync::{mpsc, watch};

use crate::{
    actor::Told,
    effects::{Effects, Over},
};

/// How soon a session that did not take what it was told is told again.
const AGAIN: Duration = Duration::from_millis(250);

/// What an instance's MiniApp was last told.
struct Hosted {
    launch: u32,
    ready: bool,
    /// Whether this start is over: the next work starts it anew.
    stopped: bool,
    state: InstanceState,
    orders: mpsc::UnboundedSender<Order>,
}

/// What a session should show.
#[derive(Clone)]
struct Shown {
    view: HostView,
    surfaces: Vec<SurfaceView>,
}

/// What the task of an instance does next, one after the other: deliveries keep their order.
enum Order {
    Deliver(Handover),
    Withdraw(Item),
    Moved(InstanceState),
    Inbox,
    Close,
}

/// Works the world towards what is durable.
pub(crate) struct Reconciler {
    pub(crate) miniapps: Arc<dyn MiniApps>,
    pub(crate) hosts: Arc<dyn Hosts>,
    pub(crate) surfaces: Arc<dyn Surfaces>,
    pub(crate) queue: mpsc::Sender<Told>,
    apps: BTreeMap<InstanceId, Hosted>,
    /// What handlers have: which delivery of which work, on which instance.
    given: BTreeMap<Item, (Generation, InstanceId)>,
    actions: BTreeMap<Seq, Item>,
    sessions: BTreeMap<HostSessionId, watch::Sender<Shown>>,
}

impl Reconciler {
    pub(crate) fn new(
        miniapps: Arc<dyn MiniApps>,
        hosts: Arc<dyn Hosts>,
        surfaces: Arc<dyn Surfaces>,
        queue: mpsc::Sender<Told>,
    ) -> Self {
        Self {
            miniapps,
            hosts,
            surfaces,
            queue,
            apps: BTreeMap::new(),
            given: BTreeMap::new(),
            actions: BTreeMap::new(),
            sessions: BTreeMap::new(),
        }
    }

    /// Everything, after the Runtime came up.
    pub(crate) fn everything(&mut self, durable: &Workspace, now: Effective) {
        let wanted: Vec<_> = durable.wanted().cloned().collect();
        for instance in wanted {
            self.bring_up(durable, &instance);
        }
        self.show(durable, now);
    }

    /// What follows from a batch.
    pub(crate) fn follow(&mut self, durable: &Workspace, now: Effective, effects: &Effects) {
        for over in &effects.over {
            self.take_away(over);
        }
        // Before anything is handed over: a MiniApp that stopped has nothing any more.
        for id in &effects.processes {
            self.notice(durable, id);
        }
        for key in &effects.handed {
            self.hand_call(durable, key);
        }
        for seq in &effects.actions {
            self.hand_action(durable, *seq);
        }
        for id in &effects.inbox {
            if let Some(instance) = durable.instance(id).cloned() {
                if self.is_ready(id) { self.order(id, Order::Inbox) } else { self.bring_up(durable, &instance) }
            }
        }
        for id in &effects.activating {
            if let Some(instance) = durable.instance(id).cloned() {
                self.bring_up(durable, &instance);
            }
        }
        for id in &effects.moved {
            let Some(instance) = durable.instance(id).cloned() else {
                self.let_go(id);
                continue;
            };
            match self.apps.get_mut(id) {
                Some(told) if told.state != instance.state => {
                    told.state = instance.state;
                    self.order(id, Order::Moved(instance.state));
                }
                Some(_) => {}
                None if instance.state == InstanceState::Foreground => self.bring_up(durable, &instance),
                None => {}
            }
        }
        if effects.shape {
            self.show(durable, now);
        }
    }

    fn is_ready(&self, instance: &InstanceId) -> bool {
        self.apps.get(instance).is_some_and(|told| told.ready)
    }

    /// Starts an instance's MiniApp if it is not up or on its way.
    fn bring_up(&mut self, durable: &Workspace, instance: &Instance) {
        if self.apps.get(&instance.id).is_some_and(|hosted| !hosted.stopped) {
            return;
        }
        let launch = durable.app_process(&instance.id).launch + 1;
        let (orders, taken) = mpsc::unbounded_channel();
        self.apps.insert(
            instance.id.clone(),
            Hosted { launch, ready: false, stopped: false, state: instance.state, orders },
        );
        let context = MiniAppContext {
            workspace: durable.id().clone(),
            app_scope: instance.app_scope.clone(),
            instance: instance.id.clone(),
            conversation: instance.conversation.clone(),
            work: None,
        };
        let launch = Launch { context, launch, state: instance.state };
        tokio::spawn(serve(self.miniapps.clone(), self.queue.clone(), launch, taken));
    }

    /// Notices that a MiniApp came up, and gives it its work, or that it stopped.
    fn notice(&mut self, durable: &Workspace, id: &InstanceId) {
        let process = durable.app_process(id);
        let Some(told) = self.apps.get_mut(id).filter(|told| told.launch == process.launch) else { return };
        if process.stopped {
            told.stopped = true;
            told.ready = false;
            self.given.retain(|_, (_, instance)| instance != id);
        } else if process.ready && !told.ready {
            told.ready = true;
            let calls: Vec<CallKey> = durable.deliveries(id).map(|(call, _)| call.key().clone()).collect();
            let actions: Vec<Seq> = durable.action_deliveries(id).map(|action| action.seq).collect();
            for key in calls {
                self.hand_call(durable, &key);
            }
            for seq in actions {
                self.hand_action(durable, seq);
            }
            if durable.inbox().any(|row| row.instance == *id && !row.parked) {
                self.order(id, Order::Inbox);
            }
        }
    }

    fn hand_call(&mut self, durable: &Workspace, key: &CallKey) {
        let Some(call) = durable.call(key) else { return };
        let (CallState::Running { generation, .. }, Some(id)) = (&call.state, &call.instance) else { return };
        let Some(instance) = durable.instance(id).cloned() else { return };
        if !self.is_ready(id) {
            self.bring_up(durable, &instance);
            return;
        }
        let item = Item::Call(key.clone());
        if self.given.get(&item).is_some_and(|(given, _)| given == generation) {
            return;
        }
        let Some((_, method)) = call.facts.tool.as_str().split_once('.') else { return };
        let Ok(method) = lineup_model::Method::new(method) else { return };
        self.given.insert(item.clone(), (*generation, id.clone()));
        let handover =
            Handover { instance: id.clone(), item, generation: *generation, method, input: call.facts.input.clone() };
        self.order(id, Order::Deliver(handover));
    }

    fn hand_action(&mut self, durable: &Workspace, seq: Seq) {
        let Some(action) = durable.action(seq).cloned() else { return };
        let Some(instance) = durable.instance(&action.instance).cloned() else { return };
        if !self.is_ready(&instance.id) {
            self.bring_up(durable, &instance);
            return;
        }
        let item = Item::Action(action.id.clone());
        if self.given.get(&item).is_some_and(|(given, _)| *given == action.generation) {
            return;
        }
        self.given.insert(item.clone(), (action.generation, instance.id.clone()));
        self.actions.insert(seq, item.clone());
        let handover = Handover {
            instance: instance.id.clone(),
            item,
            generation: action.generation,
            method: action.method.clone(),
            input: action.input.clone(),
        };
        self.order(&instance.id, Order::Deliver(handover));
    }

    fn take_away(&mut self, over: &Over) {
        let item = match over {
            Over::Call(key) => Some(Item::Call(key.clone())),
            Over::Action(seq) => self.actions.remove(seq),
        };
        if let Some(item) = item
            && let Some((_, instance)) = self.given.remove(&item)
        {
            self.order(&instance, Order::Withdraw(item));
        }
    }

    fn let_go(&mut self, instance: &InstanceId) {
        self.order(instance, Order::Close);
        self.apps.remove(instance);
        self.given.retain(|_, (_, of)| of != instance);
    }

    fn order(&self, instance: &InstanceId, order: Order) {
        if let Some(told) = self.apps.get(instance) {
            // A task that is gone has been replaced or closed.
            let _ = told.orders.send(order);
        }
    }

    /// Tells the task of every session what to show. Level-triggered: the whole view each time.
    fn show(&mut self, durable: &Workspace, now: Effective) {
        let sessions: BTreeSet<&HostSessionId> = durable.hosts().map(|(session, _)| session).collect();
        self.sessions.retain(|session, _| sessions.contains(session));
        if sessions.is_empty() {
            return;
        }
        let shown = Shown { view: durable.host_view(), surfaces: durable.surface_views(now) };
        for session in sessions {
            if let Some(told) = self.sessions.get(session) {
                told.send_replace(shown.clone());
                continue;
            }
            let (told, wanted) = watch::channel(shown.clone());
            self.sessions.insert(session.clone(), told);
            tokio::spawn(keep_shown(self.hosts.clone(), self.surfaces.clone(), session.clone(), wanted));
        }
    }
}

/// Shows a session what it should show, one view after the other, the latest last; a session that
/// does not take it is told again until it does or is gone (ACT-8).
async fn keep_shown(
    hosts: Arc<dyn Hosts>,
    surfaces: Arc<dyn Surfaces>,
    session: HostSessionId,
    mut wanted: watch::Receiver<Shown>,
) {
    let mut seen: Option<HostView> = None;
    loop {
        let Shown { view, surfaces: mounted } = wanted.borrow_and_update().clone();
        let mut told = surfaces.show(&session, mounted).await;
        if told.is_ok() && seen.as_ref() != Some(&view) {
            told = hosts.show(&session, view.clone()).await;
        }
        hit(Point::ReconcileHostTold);
        match told {
            Ok(()) => {
                seen = Some(view);
                if wanted.changed().await.is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a host session was not told");
                // Nobody knows what it shows now.
                seen = None;
                if let Ok(Err(_)) = tokio::time::timeout(AGAIN, wanted.changed()).await {
                    return;
                }
            }
        }
    }
}

/// Starts an instance's MiniApp and carries out its orders, one after the other.
async fn serve(
    miniapps: Arc<dyn MiniApps>,
    queue: mpsc::Sender<Told>,
    launch: Launch,
    mut orders: mpsc::UnboundedReceiver<Order>,
) {
    let context = launch.context.clone();
    let instance = context.instance.clone();
    let number = launch.launch;
    let report = |happened| {
        let input = Input::App(AppReport { instance: instance.clone(), launch: number, happened });
        queue.send(Told::Input(input, None))
    };
    if report(AppHappened::Starting).await.is_err() {
        return;
    }
    hit(Point::ReconcileLaunching);
    let started = miniapps.launch(launch).await;
    hit(Point::ReconcileLaunched);
    let happened = match started {
        Ok(()) => AppHappened::Ready,
        Err(error) => {
            tracing::warn!(%instance, %error, "a MiniApp did not start");
            AppHappened::Stopped { reason: error.to_string() }
        }
    };
    let stopped = matches!(happened, AppHappened::Stopped { .. });
    if report(happened).await.is_err() || stopped {
        return;
    }
    while let Some(order) = orders.recv().await {
        match order {
            Order::Deliver(work) => {
                let refused = not_handed(&work);
                if let Err(error) = miniapps.deliver(work).await {
                    // A handler that is not there, as after an update. The other work goes on.
                    tracing::warn!(%instance, %error, "work could not be handed over");
                    let input = Input::MiniApp(MiniAppInput { from: context.clone(), request: refused });
                    if queue.send(Told::Input(input, None)).await.is_err() {
                        return;
                    }
                }
                hit(Point::ReconcileHanded);
            }
            Order::Withdraw(item) => miniapps.withdraw(&instance, &item).await,
            Order::Moved(state) => miniapps.moved(&instance, state).await,
            Order::Inbox => {
                miniapps.inbox(&instance).await;
                hit(Point::ReconcileInbox);
            }
            Order::Close => {
                miniapps.close(&instance).await;
                return;
            }
        }
    }
}

/// What is said in the name of a handler that does not exist.
fn not_handed(work: &Handover) -> MiniAppRequest {
    let fault = Fault::new(ErrorCode::ToolFailed, "the app has no handler for this").because("not_handed_over");
    match &work.item {
        Item::Call(call) => MiniAppRequest::Fail { call: call.clone(), generation: Some(work.generation), fault },
        Item::Action(action) => {
            MiniAppRequest::ActionDone { action: action.clone(), generation: work.generation, fault: Some(fault) }
        }
    }
}
