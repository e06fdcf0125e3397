//! The live state of one workspace, and how a change set changes it.

mod agent;
mod apply;
pub mod change_set;
mod clock;
pub mod decision;
mod draft;
pub mod facts;
mod host;
pub mod input;
mod miniapp;
pub mod records;
mod recovery;
mod route;
mod setup;
mod surface;
mod view;

use std::{collections::BTreeSet, sync::Arc};

use lineup_model::{
    ActivationId, AgentId, AppScope, AppSessionId, CallKey, ConversationId, Digest, Effective, HostSessionId,
    InstanceId, Inventory, Method, OperationId, WorkspaceId,
};

use self::{
    change_set::{EntryKey, Publication},
    decision::Decided,
    facts::{Facts, Needs},
    input::{AgentRequest, Input},
};
use crate::{
    Seq, TimeLine,
    action::Action,
    activation::{Activation, Reported},
    call::{Address, Call},
    focus::FocusStack,
    inbox::InboxRow,
    instance::Instance,
    map::{Map, Set},
    miniapp::MiniAppRequest,
    operation::Operation,
    outbox::{OutboxKey, OutboxRow},
    policy::{Conversation, HostProfile, Policy},
    registry::{App, Compiled},
    session::{AppSession, DocumentHead},
    surface::SurfaceDocument,
};

/// A connected Host session. Known only as long as this process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSession {
    /// Whether the user can see it.
    pub visible: bool,
}

/// What the hosting adapter does for an instance. Known only as long as this process lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppProcess {
    /// Counts the starts of its MiniApp.
    pub launch: u32,
    /// Whether it reported ready in this start, and has not stopped since.
    pub ready: bool,
    /// Whether this start is over: it failed, or the MiniApp stopped.
    pub stopped: bool,
    /// Whether its Surface has done the handshake.
    pub surface_ready: bool,
    /// Whether a Host that someone sees has confirmed it in the foreground, and it stayed there
    /// (ACT-2). A restart asks again.
    pub confirmed: bool,
}

/// One user's live state: what is live, not what ever was. A clone is a snapshot and costs
/// nanoseconds.
#[derive(Clone, Debug)]
pub struct Workspace {
    id: WorkspaceId,
    last: Seq,
    time: Option<TimeLine>,

    calls: Map<Seq, Call>,
    addresses: Map<Address, Seq>,
    /// Calls by what they wait on, in the order of their acceptance (ACT-3).
    waiting: Set<(ActivationId, Seq)>,
    /// Calls that are not under way, by the instance that they are for.
    queued: Set<(ConversationId, AppScope, Seq)>,
    /// Those of them that wait for their turn.
    turns: Set<(AppScope, Seq)>,
    /// Those of them that wait for the user.
    needing: Set<Seq>,
    /// Those of them that wait on an activation and will come to exclude others.
    contending: Set<(AppScope, Seq)>,
    /// Calls by the instance that they are on.
    calls_of: Set<(InstanceId, Seq)>,
    /// When calls end by themselves.
    alarms: Set<(Effective, Seq)>,
    actions: Map<Seq, Action>,
    action_keys: Map<EntryKey, Seq>,

    instances: Map<InstanceId, Instance>,
    by_scope: Map<(ConversationId, AppScope), InstanceId>,
    activations: Map<ActivationId, Activation>,
    activating: Map<InstanceId, ActivationId>,
    /// When activations fail.
    limits: Set<(Effective, ActivationId)>,
    /// When those that ask for the foreground fail as long as no Host is connected.
    graces: Set<(Effective, ActivationId)>,
    operations: Map<OperationId, Operation>,
    /// Operations by the place of their call, by which the following sets name them.
    operation_of: Map<Seq, Operation>,
    operations_of: Set<(InstanceId, Seq)>,
    /// Operations that exclude others: in their conversation, and anywhere.
    excluding_in: Set<(ConversationId, AppScope, Seq)>,
    excluding: Set<(AppScope, Seq)>,
    /// When operations complete by themselves.
    deadlines: Set<(Effective, Seq)>,
    sessions: Map<AppSessionId, AppSession>,
    documents: Map<AppSessionId, DocumentHead>,
    surfaces: Map<(InstanceId, Method), SurfaceDocument>,
    focus: FocusStack,

    inbox: Map<Seq, InboxRow>,
    outbox: Map<OutboxKey, OutboxRow>,

    conversations: Map<ConversationId, Conversation>,
    policy: Arc<Policy>,
    host_profile: Arc<HostProfile>,
    apps: Map<AppScope, App>,
    compiled: Map<Digest, Compiled>,
    publications: Map<(AgentId, ConversationId), Publication>,
    /// What each agent may see now; follows from the above.
    inventories: Map<(AgentId, ConversationId), Inventory>,

    hosts: Map<HostSessionId, HostSession>,
    processes: Map<InstanceId, AppProcess>,
    reported: Map<ActivationId, Reported>,
}

impl Workspace {
    /// Which workspace it is.
    #[must_use]
    pub fn id(&self) -> &WorkspaceId {
        &self.id
    }

    /// The last place of the journal.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.last
    }

    /// Where effective time stood at the last change.
    #[must_use]
    pub fn time(&self) -> Option<&TimeLine> {
        self.time.as_ref()
    }

    /// The unfinished calls, in the order of their acceptance.
    pub fn calls(&self) -> impl Iterator<Item = &Arc<Call>> {
        self.calls.values()
    }

    /// An unfinished call.
    #[must_use]
    pub fn call(&self, key: &CallKey) -> Option<&Arc<Call>> {
        self.calls.get(&Seq::of_call(key)?)
    }

    /// The unfinished UI Actions.
    pub fn actions(&self) -> impl Iterator<Item = &Arc<Action>> {
        self.actions.values()
    }

    /// The live instances.
    pub fn instances(&self) -> impl Iterator<Item = &Arc<Instance>> {
        self.instances.values()
    }

    /// The activations under way.
    pub fn activations(&self) -> impl Iterator<Item = &Arc<Activation>> {
        self.activations.values()
    }

    /// The running operations.
    pub fn operations(&self) -> impl Iterator<Item = &Arc<Operation>> {
        self.operations.values()
    }

    /// The running operation of an unfinished call.
    #[must_use]
    pub fn operation_of(&self, call: &CallKey) -> Option<&Arc<Operation>> {
        self.operation_of.get(&Seq::of_call(call)?)
    }

    /// The focus stack.
    #[must_use]
    pub fn focus(&self) -> &FocusStack {
        &self.focus
    }

    /// The messages that are to be sent, in order.
    pub fn outbox(&self) -> impl Iterator<Item = &Arc<OutboxRow>> {
        self.outbox.values()
    }

    /// The messages for MiniApps that were not acknowledged.
    pub fn inbox(&self) -> impl Iterator<Item = &Arc<InboxRow>> {
        self.inbox.values()
    }

    /// The conversations.
    pub fn conversations(&self) -> impl Iterator<Item = &Arc<Conversation>> {
        self.conversations.values()
    }

    /// The connected Host sessions.
    pub fn hosts(&self) -> impl Iterator<Item = (&HostSessionId, &Arc<HostSession>)> {
        self.hosts.iter()
    }

    /// What an agent may see in a conversation now (INV-6).
    #[must_use]
    pub fn inventory(&self, agent: &AgentId, conversation: &ConversationId) -> Option<&Arc<Inventory>> {
        self.inventories.get(&(agent.clone(), conversation.clone()))
    }

    /// The MiniApps that are installed.
    pub fn apps(&self) -> impl Iterator<Item = &Arc<App>> {
        self.apps.values()
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the paired Hosts can do.
    #[must_use]
    pub fn host_profile(&self) -> &HostProfile {
        &self.host_profile
    }

    /// What an input needs to know that is not in memory.
    #[must_use]
    pub fn needs(&self, input: &Input) -> Needs {
        let mut needs = Needs::default();
        match input {
            Input::Agent(agent) => match &agent.request {
                AgentRequest::Invoke { call_id, .. }
                | AgentRequest::Status { call_id }
                | AgentRequest::Cancel { call_id } => {
                    let address = Address {
                        conversation: agent.conversation.clone(),
                        agent: agent.agent.clone(),
                        call_id: call_id.clone(),
                    };
                    if !self.addresses.contains_key(&address) {
                        needs.entries.push(EntryKey::Call(address));
                    }
                }
                AgentRequest::Text { .. } => {
                    needs.entries.push(EntryKey::Text { agent: agent.agent.clone(), message: agent.message.clone() });
                }
                AgentRequest::Hello => {}
            },
            Input::UiAction(action) => {
                if let Some(instance) = self.viewed(&action.view) {
                    let key = EntryKey::Action { instance: instance.clone(), action: action.action_id.clone() };
                    if !self.action_keys.contains_key(&key) {
                        needs.entries.push(key);
                    }
                }
            }
            Input::HostIntent(intent) => needs.entries.push(EntryKey::Intent { intent: intent.intent_id.clone() }),
            Input::MiniApp(asked) => match &asked.request {
                MiniAppRequest::ReportProgress { call, .. }
                | MiniAppRequest::Complete { call, .. }
                | MiniAppRequest::Fail { call, .. }
                | MiniAppRequest::Cancel { call, .. }
                | MiniAppRequest::GetCall { call } => {
                    if let Some(seq) = Seq::of_call(call).filter(|seq| !self.calls.contains_key(seq)) {
                        needs.calls.push(seq);
                    }
                }
                MiniAppRequest::ReadSession => {
                    let session = self.instances.get(&asked.from.instance).map(|instance| instance.session.clone());
                    needs.documents.extend(session);
                }
                MiniAppRequest::ActionDone { .. }
                | MiniAppRequest::ListOperations
                | MiniAppRequest::WriteSession { .. }
                | MiniAppRequest::UpdateSurface { .. }
                | MiniAppRequest::RequestForeground { .. }
                | MiniAppRequest::RequestBackground { .. }
                | MiniAppRequest::RequestClose { .. }
                | MiniAppRequest::SendText { .. }
                | MiniAppRequest::ListInbox { .. }
                | MiniAppRequest::AcknowledgeInbox { .. } => {}
            },
            Input::HostReport(_)
            | Input::App(_)
            | Input::Transport(_)
            | Input::Setup(_)
            | Input::Clock
            | Input::Recovered { .. } => {}
        }
        needs
    }

    /// Decides what an input changes. Total and pure; nothing is changed until the change set is
    /// applied.
    ///
    /// # Errors
    /// When the input is refused: then nothing changes (CALL-7).
    pub fn decide(&self, input: &Input, facts: Facts<'_>) -> Decided {
        match input {
            Input::Agent(agent) => self.decide_agent(agent, facts),
            Input::UiAction(action) => self.decide_ui_action(action, facts),
            Input::HostIntent(intent) => self.decide_host_intent(intent, facts),
            Input::HostReport(report) => self.decide_host_report(report, facts),
            Input::MiniApp(asked) => self.decide_miniapp(asked, facts),
            Input::App(report) => Ok(self.decide_app_report(report, facts)),
            Input::Transport(report) => Ok(self.decide_transport(report, facts)),
            Input::Setup(setup) => self.decide_setup(setup, facts),
            Input::Clock => Ok(self.decide_clock(facts)),
            Input::Recovered { manifests } => Ok(self.decide_recovered(manifests, facts)),
        }
    }

    /// The earliest moment at which time alone changes something.
    #[must_use]
    pub fn next_alarm(&self) -> Option<Effective> {
        let calls = self.alarms.first().map(|(at, _)| *at);
        let operations = self.deadlines.first().map(|(at, _)| *at);
        let activations = self.limits.first().map(|(at, _)| *at);
        let graces = if self.hosts.is_empty() { self.graces.first().map(|(at, _)| *at) } else { None };
        [calls, operations, activations, graces].into_iter().flatten().min()
    }

    /// The parts in which two states differ. For the checkers: what is live has to be what a restart
    /// would find, its indexes included.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        let Self {
            id,
            last,
            time,
            calls,
            addresses,
            waiting,
            queued,
            turns,
            needing,
            contending,
            calls_of,
            alarms,
            actions,
            action_keys,
            instances,
            by_scope,
            activations,
            activating,
            limits,
            graces,
            operations,
            operation_of,
            operations_of,
            excluding_in,
            excluding,
            deadlines,
            sessions,
            documents,
            surfaces,
            focus,
            inbox,
            outbox,
            conversations,
            policy,
            host_profile,
            apps,
            compiled,
            publications,
            inventories,
            hosts,
            processes,
            reported,
        } = self;
        let parts = [
            ("id", *id == other.id),
            ("last", *last == other.last),
            ("time", *time == other.time),
            ("calls", *calls == other.calls),
            ("addresses", *addresses == other.addresses),
            ("waiting", *waiting == other.waiting),
            ("queued", *queued == other.queued),
            ("turns", *turns == other.turns),
            ("needing", *needing == other.needing),
            ("contending", *contending == other.contending),
            ("calls_of", *calls_of == other.calls_of),
            ("alarms", *alarms == other.alarms),
            ("actions", *actions == other.actions),
            ("action_keys", *action_keys == other.action_keys),
            ("instances", *instances == other.instances),
            ("by_scope", *by_scope == other.by_scope),
            ("activations", *activations == other.activations),
            ("activating", *activating == other.activating),
            ("limits", *limits == other.limits),
            ("graces", *graces == other.graces),
            ("operations", *operations == other.operations),
            ("operation_of", *operation_of == other.operation_of),
            ("operations_of", *operations_of == other.operations_of),
            ("excluding_in", *excluding_in == other.excluding_in),
            ("excluding", *excluding == other.excluding),
            ("deadlines", *deadlines == other.deadlines),
            ("sessions", *sessions == other.sessions),
            ("documents", *documents == other.documents),
            ("surfaces", *surfaces == other.surfaces),
            ("focus", *focus == other.focus),
            ("inbox", *inbox == other.inbox),
            ("outbox", *outbox == other.outbox),
            ("conversations", *conversations == other.conversations),
            ("policy", *policy == other.policy),
            ("host_profile", *host_profile == other.host_profile),
            ("apps", apps.values().map(|app| &app.manifest).eq(other.apps.values().map(|app| &app.manifest))),
            ("compiled", compiled.keys().eq(other.compiled.keys())),
            ("publications", *publications == other.publications),
            ("inventories", *inventories == other.inventories),
            ("hosts", *hosts == other.hosts),
            ("processes", *processes == other.processes),
            ("reported", *reported == other.reported),
        ];
        parts.into_iter().filter(|(_, same)| !same).map(|(part, _)| part).collect()
    }

    /// The agents of a conversation.
    fn agents(&self, conversation: &ConversationId) -> BTreeSet<AgentId> {
        self.conversations.get(conversation).map(|found| found.agents.clone()).unwrap_or_default()
    }
}

impl Workspace {
    /// The calls that wait on an activation, in the order of their acceptance.
    fn waiting_on(&self, activation: &ActivationId) -> impl Iterator<Item = Seq> {
        let from = (activation.clone(), Seq(0));
        self.waiting.range(from..).take_while(move |(id, _)| id == activation).map(|(_, seq)| *seq)
    }

    /// The calls for an instance of this app in this conversation that are not under way.
    fn queued_for(&self, conversation: &ConversationId, scope: &AppScope) -> impl Iterator<Item = Seq> {
        let from = (conversation.clone(), scope.clone(), Seq(0));
        self.queued
            .range(from..)
            .take_while(move |(of, app, _)| of == conversation && app == scope)
            .map(|(_, _, seq)| *seq)
    }

    /// The open calls on an instance, in the order of their acceptance.
    fn calls_on(&self, instance: &InstanceId) -> impl Iterator<Item = &Arc<Call>> {
        let from = (instance.clone(), Seq(0));
        self.calls_of.range(from..).take_while(move |(id, _)| id == instance).filter_map(|(_, seq)| self.calls.get(seq))
    }

    /// The running operations that were started on an instance.
    fn operations_on(&self, instance: &InstanceId) -> impl Iterator<Item = &Arc<Operation>> {
        let from = (instance.clone(), Seq(0));
        self.operations_of
            .range(from..)
            .take_while(move |(id, _)| id == instance)
            .filter_map(|(_, seq)| self.operation_of.get(seq))
    }

    /// Whether a running operation of this instance needs the foreground.
    fn needs_foreground(&self, instance: &InstanceId) -> bool {
        self.operations_on(instance).any(|operation| operation.rule.needs_foreground)
    }

    /// The instance whose running operation holds the foreground (ACT-10).
    fn foreground_holder(&self) -> Option<&InstanceId> {
        self.focus.top().filter(|top| self.needs_foreground(top))
    }

    /// The instance whose view a UI Action comes from.
    fn viewed(&self, view: &input::View) -> Option<&InstanceId> {
        match view {
            input::View::Surface(instance) => self.instances.get(instance).map(|found| &found.id),
            input::View::Interact(conversation) => {
                self.by_scope.get(&(conversation.clone(), crate::registry::interact())).map(AsRef::as_ref)
            }
        }
    }
}
