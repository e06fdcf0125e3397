//! The only way state changes.

use std::sync::Arc;

use lineup_model::{ActivationId, CallKey, OperationId, WorkspaceId, descriptor::Invocation, limits};

use super::{
    AppProcess, Workspace,
    change_set::{ChangeSet, EntryKey, Kept, Volatile},
    records::Records,
};
use crate::{
    Seq,
    action::Action,
    activation::Activation,
    call::{Call, CallState},
    instance::{Instance, InstanceState},
    journal::JournalRow,
    map::{Map, Set, keep},
    operation::Operation,
    outbox::{OutboxKey, OutboxRow},
    policy::Conversation,
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
            surfaces,
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
            workspace.put_activation(&Kept::Put(Arc::new(activation)));
        }
        for operation in operations {
            workspace.put_operation(&Kept::Put(Arc::new(operation)));
        }
        for session in sessions {
            workspace.sessions.insert_mut(session.id.clone(), Arc::new(session));
        }
        for document in documents {
            workspace.documents.insert_mut(document.session.clone(), Arc::new(document));
        }
        for surface in surfaces {
            workspace.surfaces.insert_mut(surface.key(), Arc::new(surface));
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
            waiting: Set::new_sync(),
            queued: Set::new_sync(),
            turns: Set::new_sync(),
            needing: Set::new_sync(),
            contending: Set::new_sync(),
            calls_of: Set::new_sync(),
            alarms: Set::new_sync(),
            actions: Map::new_sync(),
            action_keys: Map::new_sync(),
            instances: Map::new_sync(),
            by_scope: Map::new_sync(),
            activations: Map::new_sync(),
            activating: Map::new_sync(),
            limits: Set::new_sync(),
            graces: Set::new_sync(),
            operations: Map::new_sync(),
            operation_of: Map::new_sync(),
            operations_of: Set::new_sync(),
            excluding_in: Set::new_sync(),
            excluding: Set::new_sync(),
            deadlines: Set::new_sync(),
            sessions: Map::new_sync(),
            documents: Map::new_sync(),
            surfaces: Map::new_sync(),
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
            surfaces,
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
        let visible_changed = policy.is_some() || host_profile.is_some() || !apps.is_empty();

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
            self.put_activation(change);
        }
        for change in operations {
            self.put_operation(change);
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
        for change in surfaces {
            match change {
                Kept::Put(document) => self.surfaces.insert_mut(document.key(), document.clone()),
                Kept::Gone(key) => {
                    self.surfaces.remove_mut(key);
                }
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
            let before = self.conversations.get(&conversation.id).cloned();
            self.conversations.insert_mut(conversation.id.clone(), conversation.clone());
            for gone in before.iter().flat_map(|before| before.agents.difference(&conversation.agents)) {
                self.inventories.remove_mut(&(gone.clone(), conversation.id.clone()));
            }
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
        } else {
            for conversation in conversations {
                self.refresh_inventories_in(conversation);
            }
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
            self.index_call(seq, &before, false);
        }
        match change {
            Kept::Put(call) => {
                self.index_call(seq, call, true);
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

    /// Puts a call into every index that names it, or takes it out.
    fn index_call(&mut self, seq: Seq, call: &Call, there: bool) {
        let scope = &call.facts.app_scope;
        let queued = match &call.state {
            CallState::Waiting { activation } => {
                keep(&mut self.waiting, (activation.clone(), seq), there);
                let compiled = self.compiled.get(&call.facts.descriptor);
                if compiled.is_some_and(|compiled| compiled.descriptor.operation.exclusive.is_some()) {
                    keep(&mut self.contending, (scope.clone(), seq), there);
                }
                true
            }
            CallState::WaitingForTurn => {
                keep(&mut self.turns, (scope.clone(), seq), there);
                true
            }
            CallState::NeedsYou => {
                keep(&mut self.needing, seq, there);
                true
            }
            CallState::Running { .. } | CallState::Operating { .. } => false,
        };
        if queued {
            let key = (call.facts.address.conversation.clone(), scope.clone(), seq);
            keep(&mut self.queued, key, there);
        }
        if let Some(instance) = &call.instance {
            keep(&mut self.calls_of, (instance.clone(), seq), there);
        }
        if let Some(at) = self.alarm(call) {
            keep(&mut self.alarms, (at, seq), there);
        }
    }

    fn put_activation(&mut self, change: &Kept<Activation, ActivationId>) {
        let id = match change {
            Kept::Put(activation) => &activation.id,
            Kept::Gone(id) => id,
        };
        if let Some(before) = self.activations.get(id).cloned() {
            self.index_activation(&before, false);
        }
        match change {
            Kept::Put(activation) => {
                self.index_activation(activation, true);
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

    fn index_activation(&mut self, activation: &Activation, there: bool) {
        keep(&mut self.limits, (activation.full_limit, activation.id.clone()), there);
        if activation.foreground {
            keep(&mut self.graces, (activation.limit, activation.id.clone()), there);
        }
    }

    fn put_operation(&mut self, change: &Kept<Operation, OperationId>) {
        let id = match change {
            Kept::Put(operation) => &operation.id,
            Kept::Gone(id) => id,
        };
        if let Some(before) = self.operations.get(id).cloned() {
            self.index_operation(&before, false);
            self.operations.remove_mut(id);
        }
        if let Kept::Put(operation) = change {
            self.index_operation(operation, true);
            self.operations.insert_mut(operation.id.clone(), operation.clone());
        }
    }

    fn index_operation(&mut self, operation: &Arc<Operation>, there: bool) {
        let Some(seq) = Seq::of_call(&operation.call) else { return };
        if there {
            self.operation_of.insert_mut(seq, operation.clone());
        } else {
            self.operation_of.remove_mut(&seq);
        }
        keep(&mut self.operations_of, (operation.instance.clone(), seq), there);
        if operation.rule.exclusive.is_some() {
            let here = (operation.conversation.clone(), operation.app_scope.clone(), seq);
            keep(&mut self.excluding_in, here, there);
            keep(&mut self.excluding, (operation.app_scope.clone(), seq), there);
        }
        if let Some(deadline) = operation.deadline {
            keep(&mut self.deadlines, (deadline, seq), there);
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
        let conversations: Vec<_> = self.conversations.values().cloned().collect();
        for conversation in conversations {
            self.refresh_inventories_in(&conversation);
        }
    }

    fn refresh_inventories_in(&mut self, conversation: &Conversation) {
        for agent in &conversation.agents {
            let seen = registry::inventory(self.apps.values(), &self.policy, &self.host_profile, conversation, agent);
            self.inventories.insert_mut((agent.clone(), conversation.id.clone()), Arc::new(seen));
        }
    }

    pub(super) fn process(&self, instance: &lineup_model::InstanceId) -> AppProcess {
        self.processes.get(instance).map(|process| **process).unwrap_or_default()
    }
}
