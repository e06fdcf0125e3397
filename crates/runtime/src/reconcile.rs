//! The reconcilers: they work the world towards what is durable, and never the other way (ACT-8).
//!
//! Each remembers only what it has last told its port. After a restart it has told nothing, and
//! tells everything.

use std::{collections::BTreeMap, sync::Arc};

use lineup_core::{
    Input, Seq, Workspace,
    call::CallState,
    desired::HostView,
    instance::{Instance, InstanceState},
    miniapp::MiniAppContext,
    workspace::input::{AppHappened, AppReport},
};
use lineup_failpoint::{Point, hit};
use lineup_model::{CallKey, Effective, Generation, HostSessionId, InstanceId};
use lineup_ports::outbound::{Handover, Hosts, Item, Launch, MiniApps, Surfaces};
use tokio::sync::mpsc;

use crate::{actor::Told, effects::Over};

/// What an instance's MiniApp was last told.
struct Hosted {
    launch: u32,
    ready: bool,
    state: InstanceState,
    orders: mpsc::UnboundedSender<Order>,
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
    shown: BTreeMap<HostSessionId, HostView>,
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
            shown: BTreeMap::new(),
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
    #[expect(clippy::too_many_arguments, reason = "the parts of one value, taken apart by the actor")]
    pub(crate) fn follow(
        &mut self,
        durable: &Workspace,
        now: Effective,
        handed: &[CallKey],
        actions: &[Seq],
        over: &[Over],
        inbox: &[InstanceId],
        moved: &[InstanceId],
        shape: bool,
    ) {
        for over in over {
            self.take_away(over);
        }
        for key in handed {
            self.hand_call(durable, key);
        }
        for seq in actions {
            self.hand_action(durable, *seq);
        }
        for id in inbox {
            if let Some(instance) = durable.instance(id).cloned() {
                if self.is_ready(id) { self.order(id, Order::Inbox) } else { self.bring_up(durable, &instance) }
            }
        }
        for id in moved {
            match durable.instance(id) {
                Some(instance) => {
                    let state = instance.state;
                    if let Some(told) = self.apps.get_mut(id)
                        && told.state != state
                    {
                        told.state = state;
                        self.order(id, Order::Moved(state));
                    }
                }
                None => self.let_go(id),
            }
        }
        if shape {
            let wanted: Vec<_> = durable
                .instances()
                .filter(|instance| {
                    matches!(instance.state, InstanceState::Starting | InstanceState::Foreground)
                        || durable.activations().any(|activation| activation.instance == instance.id)
                })
                .cloned()
                .collect();
            for instance in wanted {
                // One that did not start is started again when work comes for it, not in a loop.
                if !self.apps.contains_key(&instance.id) {
                    self.bring_up(durable, &instance);
                }
            }
            self.came_up(durable);
            self.show(durable, now);
        }
    }

    fn is_ready(&self, instance: &InstanceId) -> bool {
        self.apps.get(instance).is_some_and(|told| told.ready)
    }

    /// Starts an instance's MiniApp if it is not up or on its way.
    fn bring_up(&mut self, durable: &Workspace, instance: &Instance) {
        if self.apps.get(&instance.id).is_some_and(|hosted| !hosted.orders.is_closed()) {
            return;
        }
        let launch = durable.app_process(&instance.id).launch + 1;
        let (orders, taken) = mpsc::unbounded_channel();
        self.apps.insert(instance.id.clone(), Hosted { launch, ready: false, state: instance.state, orders });
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

    /// Notices MiniApps that came up or stopped, and gives those that came up their work.
    fn came_up(&mut self, durable: &Workspace) {
        let ids: Vec<InstanceId> = self.apps.keys().cloned().collect();
        for id in ids {
            let process = durable.app_process(&id);
            let Some(told) = self.apps.get_mut(&id) else { continue };
            if process.launch != told.launch || process.ready == told.ready {
                continue;
            }
            if process.ready {
                told.ready = true;
                let calls: Vec<CallKey> = durable.deliveries(&id).map(|(call, _)| call.key().clone()).collect();
                let actions: Vec<Seq> = durable.action_deliveries(&id).map(|action| action.seq).collect();
                for key in calls {
                    self.hand_call(durable, &key);
                }
                for seq in actions {
                    self.hand_action(durable, seq);
                }
                if durable.inbox().any(|row| row.instance == id && !row.parked) {
                    self.order(&id, Order::Inbox);
                }
            } else {
                // It stopped by itself: it is started again when work comes for it.
                told.ready = false;
                self.given.retain(|_, (_, instance)| *instance != id);
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

    /// Shows every session what it should show. Level-triggered: the whole view each time.
    fn show(&mut self, durable: &Workspace, now: Effective) {
        let view = durable.host_view();
        let surfaces = durable.surface_views(now);
        let sessions: Vec<HostSessionId> = durable.hosts().map(|(session, _)| session.clone()).collect();
        self.shown.retain(|session, _| sessions.contains(session));
        for session in sessions {
            let changed = self.shown.get(&session) != Some(&view);
            self.shown.insert(session.clone(), view.clone());
            let (hosts, mounted) = (self.hosts.clone(), self.surfaces.clone());
            let (view, surfaces) = (view.clone(), surfaces.clone());
            tokio::spawn(async move {
                let told = mounted.show(&session, surfaces).await;
                let shown = if changed { hosts.show(&session, view).await } else { Ok(()) };
                hit(Point::ReconcileHostTold);
                if let Err(error) = told.and(shown) {
                    // It reconnects, or says that it is gone; then it is told again.
                    tracing::debug!(%error, "a host session was not told");
                }
            });
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
    let instance = launch.context.instance.clone();
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
                if let Err(error) = miniapps.deliver(work).await {
                    tracing::warn!(%instance, %error, "work could not be handed over");
                    let _ = report(AppHappened::Stopped { reason: error.to_string() }).await;
                    return;
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
