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
mod view;

use std::{collections::BTreeSet, sync::Arc};

use lineup_model::{
    ActivationId, AgentId, AppScope, AppSessionId, CallKey, ConversationId, Digest, Effective, HostSessionId,
    InstanceId, Inventory, OperationId, WorkspaceId,
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
    map::Map,
    miniapp::MiniAppRequest,
    operation::Operation,
    outbox::{OutboxKey, OutboxRow},
    policy::{Conversation, HostProfile, Policy},
    registry::{App, Compiled},
    session::{AppSession, DocumentHead},
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
    /// Whether it reported ready in this start.
    pub ready: bool,
    /// Whether its Surface has done the handshake.
    pub surface_ready: bool,
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
    waiting: Map<(ActivationId, Seq), ()>,
    /// Calls that wait for their turn or for the user.
    parked: Map<Seq, ()>,
    /// When calls end by themselves.
    alarms: Map<(Effective, Seq), ()>,
    actions: Map<Seq, Action>,
    action_keys: Map<EntryKey, Seq>,

    instances: Map<InstanceId, Instance>,
    by_scope: Map<(ConversationId, AppScope), InstanceId>,
    activations: Map<ActivationId, Activation>,
    activating: Map<InstanceId, ActivationId>,
    operations: Map<OperationId, Operation>,
    sessions: Map<AppSessionId, AppSession>,
    documents: Map<AppSessionId, DocumentHead>,
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
        let calls = self.alarms.keys().next().map(|(at, _)| *at);
        let operations = self.operations.values().filter_map(|operation| operation.deadline).min();
        let connected = !self.hosts.is_empty();
        let activations = self
            .activations
            .values()
            .map(
                |activation| if activation.foreground && !connected { activation.limit } else { activation.full_limit },
            )
            .min();
        [calls, operations, activations].into_iter().flatten().min()
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
            parked,
            alarms,
            actions,
            action_keys,
            instances,
            by_scope,
            activations,
            activating,
            operations,
            sessions,
            documents,
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
            ("parked", *parked == other.parked),
            ("alarms", *alarms == other.alarms),
            ("actions", *actions == other.actions),
            ("action_keys", *action_keys == other.action_keys),
            ("instances", *instances == other.instances),
            ("by_scope", *by_scope == other.by_scope),
            ("activations", *activations == other.activations),
            ("activating", *activating == other.activating),
            ("operations", *operations == other.operations),
            ("sessions", *sessions == other.sessions),
            ("documents", *documents == other.documents),
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
