//! The only way state changes.

use std::sync::Arc;

use lineup_model::{CallKey, WorkspaceId, descriptor::Invocation, limits};

use super::{
    AppProcess, Workspace,
    change_set::{ChangeSet, EntryKey, Kept, Volatile},
    records::Records,
};
use crate::{
    Seq,
    action::Action,
    call::{Call, CallState},
    instance::{Instance, InstanceState},
    journal::JournalRow,
    map::Map,
    outbox::{OutboxKey, OutboxRow},
    registry::{self, App, Compiled},
};

impl Workspace {
    /// The workspace that these records describe.
    #[must_use]
    pub fn restore(id: WorkspaceId, records: Records) -> Self {
        let Records {
            last,
            time,
            calls,
            actions,
            instances,
            activations,
            operations,
            sessions,
            documents,
            focus,
            inbox,
            outbox,
            conversations,
            policy,
            host_profile,
            descriptors,
            apps,
            publications,
        } = records;
        let mut workspace = Self::new(id);
        workspace.last = last;
        workspace.time = time;
        workspace.policy = Arc::new(policy);
        workspace.host_profile = Arc::new(host_profile);
        for descriptor in descriptors {
            let compiled = Compiled::of(descriptor);
            workspace.compiled.insert_mut(compiled.digest.clone(), Arc::new(compiled));
        }
        for installed in apps {
            workspace.apps.insert_mut(installed.manifest.app_scope.clone(), Arc::new(App::of(installed.manifest)));
        }
        for conversation in conversations {
            workspace.conversations.insert_mut(conversation.id.clone(), Arc::new(conversation));
        }
        for publication in publications {
            let key = (publication.agent.clone(), publication.conversation.clone());
            workspace.publications.insert_mut(key, Arc::new(publication));
        }
        for instance in instances {
            workspace.put_instance(&Kept::Put(Arc::new(instance)));
        }
        for activation in activations {
            workspace.activating.insert_mut(activation.instance.clone(), Arc::new(activation.id.clone()));
            workspace.activations.insert_mut(activation.id.clone(), Arc::new(activation));
        }
        for operation in operations {
            workspace.operations.insert_mut(operation.id.clone(), Arc::new(operation));
        }
        for session in sessions {
            workspace.sessions.insert_mut(session.id.clone(), Arc::new(session));
        }
        for document in documents {
            workspace.documents.insert_mut(document.session.clone(), Arc::new(document));
        }
        workspace.focus = focus;
        for call in calls {
            workspace.put_call(&Kept::Put(Arc::new(call)));
        }
        for action in actions {
            workspace.put_action(&Kept::Put(Arc::new(action)));
        }
        for row in inbox {
            workspace.inbox.insert_mut(row.seq, Arc::new(row));
        }
        for row in outbox {
            workspace.outbox.insert_mut(row.key, Arc::new(row));
        }
        workspace.refresh_inventories();
        workspace
    }

    /// A workspace in which nothing has happened.
    #[must_use]
    pub fn new(id: WorkspaceId) -> Self {
        Self {
            id,
            last: Seq(0),
            time: None,
            calls: Map::new_sync(),
            addresses: Map::new_sync(),
            waiting: Map::new_sync(),
            parked: Map::new_sync(),
            alarms: Map::new_sync(),
            actions: Map::new_sync(),
            action_keys: Map::new_sync(),
            instances: Map::new_sync(),
            by_scope: Map::new_sync(),
            activations: Map::new_sync(),
            activating: Map::new_sync(),
            operations: Map::new_sync(),
            sessions: Map::new_sync(),
            documents: Map::new_sync(),
            focus: crate::focus::FocusStack::default(),
            inbox: Map::new_sync(),
            outbox: Map::new_sync(),
            conversations: Map::new_sync(),
            policy: Arc::default(),
            host_profile: Arc::default(),
            apps: Map::new_sync(),
            compiled: Map::new_sync(),
            publications: Map::new_sync(),
            inventories: Map::new_sync(),
            hosts: Map::new_sync(),
            processes: Map::new_sync(),
            reported: Map::new_sync(),
        }
    }

    /// Makes the changes. The only way state changes: live, in recovery and in tests.
    pub fn apply(&mut self, changes: &ChangeSet) {
        let ChangeSet {
            journal,
            entries: _, // known by the store, and to the engine while a fetch is out
            calls,
            actions,
            instances,
            activations,
            operations,
            sessions,
            documents,
            focus,
            inbox,
            outbox_removed,
            conversations,
            policy,
            host_profile,
            descriptors,
            apps,
            publications,
            refusals: _, // counters of the audit
            time,
            volatile,
        } = changes;
        let visible_changed =
            !conversations.is_empty() || policy.is_some() || host_profile.is_some() || !apps.is_empty();

        // In the order in which they build on each other: calls on descriptors, an App session's end
        // on its last document.
        for descriptor in descriptors {
            let compiled = Compiled::of(descriptor.clone());
            self.compiled.insert_mut(compiled.digest.clone(), Arc::new(compiled));
        }
        for row in journal {
            self.put_row(row);
        }
        for key in outbox_removed {
            self.outbox.remove_mut(key);
        }
        for change in calls {
            self.put_call(change);
        }
        for change in actions {
            self.put_action(change);
        }
        for change in instances {
            self.put_instance(change);
        }
        for change in activations {
            match change {
                Kept::Put(activation) => {
                    self.activating.insert_mut(activation.instance.clone(), Arc::new(activation.id.clone()));
                    self.activations.insert_mut(activation.id.clone(), activation.clone());
                }
                Kept::Gone(id) => {
                    if let Some(activation) = self.activations.get(id).cloned() {
                        self.activating.remove_mut(&activation.instance);
                        self.activations.remove_mut(id);
                        self.reported.remove_mut(id);
                    }
                }
            }
        }
        for change in operations {
            match change {
                Kept::Put(operation) => self.operations.insert_mut(operation.id.clone(), operation.clone()),
                Kept::Gone(id) => {
                    self.operations.remove_mut(id);
                }
            }
        }
        for document in documents {
            self.documents.insert_mut(document.head.session.clone(), Arc::new(document.head.clone()));
        }
        for session in sessions {
            if session.closed.is_none() {
                self.sessions.insert_mut(session.id.clone(), session.clone());
            } else {
                self.sessions.remove_mut(&session.id);
                self.documents.remove_mut(&session.id);
            }
        }
        if let Some(focus) = focus {
            self.focus = focus.clone();
        }
        for change in inbox {
            match change {
                Kept::Put(row) => self.inbox.insert_mut(row.seq, row.clone()),
                Kept::Gone(seq) => {
                    self.inbox.remove_mut(seq);
                }
            }
        }
        for conversation in conversations {
            self.conversations.insert_mut(conversation.id.clone(), conversation.clone());
        }
        if let Some(policy) = policy {
            self.policy = policy.clone();
        }
        if let Some(profile) = host_profile {
            self.host_profile = profile.clone();
        }
        for change in apps {
            match change {
                Kept::Put(installed) => self
                    .apps
                    .insert_mut(installed.manifest.app_scope.clone(), Arc::new(App::of(installed.manifest.clone()))),
                Kept::Gone(scope) => {
                    self.apps.remove_mut(scope);
                }
            }
        }
        if visible_changed {
            self.refresh_inventories();
        }
        for publication in publications {
            let key = (publication.agent.clone(), publication.conversation.clone());
            self.publications.insert_mut(key, publication.clone());
        }
        if let Some(time) = time {
            self.time = Some(time.clone());
        }
        for change in volatile {
            self.put_volatile(change);
        }
    }

    fn put_row(&mut self, row: &JournalRow) {
        self.last = self.last.max(row.seq);
        for (index, sent) in row.body.messages.iter().enumerate() {
            let index = u32::try_from(index).expect("a row sends a handful of messages");
            let key = OutboxKey { seq: row.seq, index };
            let row = OutboxRow { key, recipient: sent.recipient.clone(), message: sent.message.clone() };
            self.outbox.insert_mut(key, Arc::new(row));
        }
    }

    pub(super) fn put_call(&mut self, change: &Kept<Call, CallKey>) {
        let key = match change {
            Kept::Put(call) => call.key(),
            Kept::Gone(key) => key,
        };
        let Some(seq) = Seq::of_call(key) else { return };
        if let Some(before) = self.calls.get(&seq).cloned() {
            match &before.state {
                CallState::Waiting { activation } => {
                    self.waiting.remove_mut(&(activation.clone(), seq));
                }
                CallState::WaitingForTurn | CallState::NeedsYou => {
                    self.parked.remove_mut(&seq);
                }
                CallState::Running { .. } | CallState::Operating { .. } => {}
            }
            if let Some(at) = self.alarm(&before) {
                self.alarms.remove_mut(&(at, seq));
            }
        }
        match change {
            Kept::Put(call) => {
                match &call.state {
                    CallState::Waiting { activation } => {
                        self.waiting.insert_mut((activation.clone(), seq), Arc::new(()));
                    }
                    CallState::WaitingForTurn | CallState::NeedsYou => self.parked.insert_mut(seq, Arc::new(())),
                    CallState::Running { .. } | CallState::Operating { .. } => {}
                }
                if let Some(at) = self.alarm(call) {
                    self.alarms.insert_mut((at, seq), Arc::new(()));
                }
                self.addresses.insert_mut(call.facts.address.clone(), Arc::new(seq));
                self.calls.insert_mut(seq, call.clone());
            }
            Kept::Gone(_) => {
                if let Some(call) = self.calls.get(&seq).cloned() {
                    self.addresses.remove_mut(&call.facts.address);
                    self.calls.remove_mut(&seq);
                }
            }
        }
    }

    /// When time alone ends a call (CALL-9, ACT-10). Follows from the call and its descriptor alone,
    /// which never change apart: what was put into the index is found there again.
    pub(super) fn alarm(&self, call: &Call) -> Option<lineup_model::Effective> {
        let timeout = match &call.state {
            // ACT-1's limit counts while it waits on an activation.
            CallState::Waiting { .. } => None,
            CallState::WaitingForTurn | CallState::NeedsYou => {
                Some(call.facts.accepted.effective.plus(limits::TIMEOUT_MS))
            }
            CallState::Running { since, .. } => {
                let timeout =
                    self.compiled.get(&call.facts.descriptor).map_or(limits::DEFAULT_TIMEOUT_MS, |compiled| {
                        match compiled.descriptor.invocation {
                            // Its `timeout_ms` was for getting it started; it has no deadline of its own.
                            Invocation::Operation => limits::TIMEOUT_MS,
                            Invocation::Query | Invocation::Command | Invocation::Interactive => {
                                compiled.descriptor.timeout_ms
                            }
                        }
                    });
                Some(since.plus(timeout.min(limits::TIMEOUT_MS)))
            }
            // A built-in operation has its own deadline.
            CallState::Operating { .. } => None,
        };
        [timeout, call.facts.expires].into_iter().flatten().min()
    }

    pub(super) fn put_action(&mut self, change: &Kept<Action, Seq>) {
        match change {
            Kept::Put(action) => {
                let key = EntryKey::Action { instance: action.instance.clone(), action: action.id.clone() };
                self.action_keys.insert_mut(key, Arc::new(action.seq));
                self.actions.insert_mut(action.seq, action.clone());
            }
            Kept::Gone(seq) => {
                if let Some(action) = self.actions.get(seq).cloned() {
                    let key = EntryKey::Action { instance: action.instance.clone(), action: action.id.clone() };
                    self.action_keys.remove_mut(&key);
                    self.actions.remove_mut(seq);
                }
            }
        }
    }

    fn put_instance(&mut self, change: &Kept<Instance, lineup_model::InstanceId>) {
        match change {
            Kept::Put(instance) => {
                let scope = (instance.conversation.clone(), instance.app_scope.clone());
                self.by_scope.insert_mut(scope, Arc::new(instance.id.clone()));
                self.instances.insert_mut(instance.id.clone(), instance.clone());
                if instance.state == InstanceState::Suspended {
                    self.processes.remove_mut(&instance.id);
                }
            }
            Kept::Gone(id) => {
                if let Some(instance) = self.instances.get(id).cloned() {
                    self.by_scope.remove_mut(&(instance.conversation.clone(), instance.app_scope.clone()));
                    self.instances.remove_mut(id);
                    self.processes.remove_mut(id);
                }
            }
        }
    }

    fn put_volatile(&mut self, change: &Volatile) {
        match change {
            Volatile::HostSession(id, session) => self.hosts.insert_mut(id.clone(), Arc::new(*session)),
            Volatile::HostGone(id) => {
                self.hosts.remove_mut(id);
            }
            Volatile::App(id, process) => {
                if self.instances.contains_key(id) {
                    self.processes.insert_mut(id.clone(), Arc::new(*process));
                }
            }
            Volatile::Reported(id, reported) => {
                if self.activations.contains_key(id) {
                    self.reported.insert_mut(id.clone(), Arc::new(*reported));
                }
            }
        }
    }

    /// Works out anew what each agent may see (INV-6).
    fn refresh_inventories(&mut self) {
        let mut inventories = Map::new_sync();
        for conversation in self.conversations.values() {
            for agent in &conversation.agents {
                let seen =
                    registry::inventory(self.apps.values(), &self.policy, &self.host_profile, conversation, agent);
                inventories.insert_mut((agent.clone(), conversation.id.clone()), Arc::new(seen));
            }
        }
        self.inventories = inventories;
    }

    pub(super) fn process(&self, instance: &lineup_model::InstanceId) -> AppProcess {
        self.processes.get(instance).map(|process| **process).unwrap_or_default()
    }
}
