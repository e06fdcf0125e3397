//! A decision in the making: a scratch copy of the workspace and the changes so far, so that each
//! machine sees what the ones before it decided.

use std::{collections::BTreeSet, sync::Arc};

use lineup_model::{
    ActivationId, AgentId, AppScope, CallKey, ConversationId, ErrorCode, InstanceId, Instant,
    message::{AgentBody, AgentMessage, End, Fault, Outcome, Receipt, Stage},
};
use serde_json::Value;

use super::{
    AppProcess, Workspace,
    change_set::{ChangeSet, Document, EntryChange, EntryKey, Kept, Volatile},
    decision::{Answer, Decision},
};
use crate::{
    Seq,
    action::Action,
    activation::Activation,
    call::{self, Call, CallInput, CallState},
    focus::FocusStack,
    inbox::InboxRow,
    instance::{self, Instance, InstanceInput},
    journal::{Addressed, Body, Happened, JournalRow, Origin},
    operation::Operation,
    outbox::OutboxKey,
    policy::Conversation,
    registry::Compiled,
    session::AppSession,
};

/// A decision in the making.
pub(super) struct Draft {
    /// The workspace as it would be with the changes so far.
    pub(super) workspace: Workspace,
    /// Now.
    pub(super) now: Instant,
    origin: Origin,
    changes: ChangeSet,
    resend: Vec<Addressed>,
    /// Activations that a call no longer waits on: to be looked at before the decision is done.
    pub(super) deserted: Vec<ActivationId>,
    /// Apps in which an operation that excludes others began: some that wait have lost.
    pub(super) contested: BTreeSet<AppScope>,
}

impl Draft {
    pub(super) fn new(workspace: &Workspace, now: Instant, origin: Origin) -> Self {
        Self {
            workspace: workspace.clone(),
            now,
            origin,
            changes: ChangeSet::default(),
            resend: Vec::new(),
            deserted: Vec::new(),
            contested: BTreeSet::new(),
        }
    }

    pub(super) fn done(self) -> Decision {
        self.answered(Answer::Done)
    }

    pub(super) fn answered(self, answer: Answer) -> Decision {
        Decision { changes: self.changes, answer, resend: self.resend }
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Makes a piece of the change, here and in the scratch copy.
    fn make(&mut self, piece: ChangeSet) {
        self.workspace.apply(&piece);
        let ChangeSet {
            journal,
            entries,
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
            refusals,
            time,
            volatile,
        } = piece;
        let all = &mut self.changes;
        all.journal.extend(journal);
        all.entries.extend(entries);
        all.calls.extend(calls);
        all.actions.extend(actions);
        all.instances.extend(instances);
        all.activations.extend(activations);
        all.operations.extend(operations);
        all.sessions.extend(sessions);
        all.documents.extend(documents);
        all.surfaces.extend(surfaces);
        all.focus = focus.or_else(|| all.focus.take());
        all.inbox.extend(inbox);
        all.outbox_removed.extend(outbox_removed);
        all.conversations.extend(conversations);
        all.policy = policy.or_else(|| all.policy.take());
        all.host_profile = host_profile.or_else(|| all.host_profile.take());
        all.descriptors.extend(descriptors);
        all.apps.extend(apps);
        all.publications.extend(publications);
        all.refusals.extend(refusals);
        all.time = time.or_else(|| all.time.take());
        all.volatile.extend(volatile);
    }

    pub(super) fn change(&mut self, fill: impl FnOnce(&mut ChangeSet)) {
        let mut piece = ChangeSet::default();
        fill(&mut piece);
        self.make(piece);
    }

    pub(super) fn volatile(&mut self, change: Volatile) {
        self.change(|set| set.volatile.push(change));
    }

    /// The place that the next row will have; ids of what it creates are made of it.
    pub(super) fn next_seq(&self) -> Seq {
        self.workspace.last.next()
    }

    /// Writes a row that belongs to no call.
    pub(super) fn record(&mut self, happened: Happened, subject: &str, detail: Option<Value>) -> Seq {
        self.row(happened, subject, None, None, None, Body { detail, ..Body::default() })
    }

    /// Writes a row that people see in a conversation: `detail` holds what they are shown of it.
    pub(super) fn tell(
        &mut self,
        conversation: &ConversationId,
        happened: Happened,
        subject: &str,
        detail: Value,
    ) -> Seq {
        let body = Body { detail: Some(detail), ..Body::default() };
        self.row(happened, subject, Some(conversation.clone()), None, None, body)
    }

    /// Writes a row about a call; the call's record then has to point to it.
    fn call_row(&mut self, happened: Happened, call: &Call, code: Option<ErrorCode>, body: Body) -> Seq {
        let seen = body.call.as_ref().map(|facts| facts.address.conversation.clone());
        self.row(happened, call.key().as_str(), seen, Some((call.key().clone(), call.last)), code, body)
    }

    fn row(
        &mut self,
        happened: Happened,
        subject: &str,
        conversation: Option<ConversationId>,
        call: Option<(CallKey, Seq)>,
        code: Option<ErrorCode>,
        body: Body,
    ) -> Seq {
        let seq = self.next_seq();
        let (call, previous) = call.map_or((None, None), |(key, last)| (Some(key), (last != Seq(0)).then_some(last)));
        let row = JournalRow {
            seq,
            origin: self.origin.clone(),
            happened,
            subject: Arc::from(subject),
            call,
            conversation,
            previous,
            code,
            at: self.now,
            body,
        };
        self.change(|set| set.journal.push(row));
        seq
    }

    /// Writes a row that sends messages to agents and belongs to no call.
    pub(super) fn send(
        &mut self,
        happened: Happened,
        subject: &str,
        conversation: &ConversationId,
        messages: Vec<(AgentId, AgentBody)>,
    ) -> Seq {
        let seq = self.next_seq();
        let messages = messages
            .into_iter()
            .enumerate()
            .map(|(index, (recipient, body))| Addressed {
                recipient,
                message: Arc::new(AgentMessage { id: seq.message_id(index), conversation: conversation.clone(), body }),
            })
            .collect();
        self.row(happened, subject, None, None, None, Body { messages, ..Body::default() })
    }

    pub(super) fn resend(&mut self, recipient: AgentId, message: Arc<AgentMessage>) {
        self.resend.push(Addressed { recipient, message });
    }

    // ---- calls ----

    pub(super) fn call(&self, key: &CallKey) -> Option<Arc<Call>> {
        self.workspace.call(key).cloned()
    }

    pub(super) fn compiled(&self, call: &Call) -> Arc<Compiled> {
        let compiled = self.workspace.compiled.get(&call.facts.descriptor);
        compiled.expect("the descriptors of unfinished calls are kept: they are stored with the call").clone()
    }

    /// Takes a call in: its journal row, its entry, and its record in `state`, with one receipt.
    pub(super) fn accept(&mut self, mut call: Call, stage: Option<Stage>) -> CallKey {
        let key = call.key().clone();
        let body = Body { call: Some(call.facts.clone()), messages: self.receipts(&mut call, stage), detail: None };
        let seq = self.call_row(Happened::CallAccepted, &call, None, body);
        call.last = seq;
        let entry = EntryChange::Taken { key: EntryKey::Call(call.facts.address.clone()), seq };
        self.change(|set| {
            set.entries.push(entry);
            set.calls.push(Kept::Put(Arc::new(call)));
        });
        key
    }

    /// Makes the message of a receipt and counts it on the call. For the row that comes next.
    fn receipts(&self, call: &mut Call, stage: Option<Stage>) -> Vec<Addressed> {
        stage.into_iter().map(|stage| self.receipt(call, stage, None, None, 0)).collect()
    }

    fn receipt(
        &self,
        call: &mut Call,
        stage: Stage,
        reason: Option<&str>,
        progress: Option<lineup_model::message::Progress>,
        index: usize,
    ) -> Addressed {
        call.receipts += 1;
        let receipt = Receipt {
            call_id: call.facts.address.call_id.clone(),
            seq: call.receipts,
            stage,
            app_scope: call.facts.app_scope.clone(),
            reason: reason.map(str::to_owned),
            progress,
        };
        let message = Arc::new(AgentMessage {
            id: self.next_seq().message_id(index),
            conversation: call.facts.address.conversation.clone(),
            body: AgentBody::Receipt(receipt),
        });
        call.latest = Some(message.clone());
        Addressed { recipient: call.facts.address.agent.clone(), message }
    }

    /// Moves a call and writes the row that says so, with a receipt if there is something to say.
    pub(super) fn move_call(
        &mut self,
        key: &CallKey,
        input: CallInput,
        happened: Happened,
        stage: Option<Stage>,
    ) -> Option<call::Transition> {
        let call = self.call(key)?;
        let transition = call::decide(&call.state, input);
        if let call::Transition::To(state) = &transition {
            let mut call = Call::clone(&call);
            if let CallState::Running { generation, .. } = state {
                call.attempts = generation.0;
                if generation.0 > 1 {
                    // Runs from the beginning: what it staged was never done, and what it reads is
                    // what the first run read (DUR-4).
                    call.staged = None;
                    call.steps.retain(|_, step| !step.is_session_write());
                }
            }
            call.state = state.clone();
            let messages = self.receipts(&mut call, stage);
            call.last = self.call_row(happened, &call, None, Body { messages, ..Body::default() });
            self.change(|set| set.calls.push(Kept::Put(Arc::new(call))));
        }
        Some(transition)
    }

    /// Changes a call's record without a word to anyone and without a row of its own.
    pub(super) fn put_call(&mut self, call: Call) {
        self.change(|set| set.calls.push(Kept::Put(Arc::new(call))));
    }

    /// Writes progress of a call.
    pub(super) fn progress(
        &mut self,
        mut call: Call,
        stage: Stage,
        reason: Option<&str>,
        progress: Option<lineup_model::message::Progress>,
    ) {
        let message = self.receipt(&mut call, stage, reason, progress, 0);
        let body = Body { messages: vec![message], ..Body::default() };
        call.last = self.call_row(Happened::CallProgressed, &call, None, body);
        self.put_call(call);
    }

    /// Gives a call its one outcome, whatever it was doing, with an optional last receipt before it
    /// in the same row (CALL-14). The caller has decided that it may end so.
    pub(super) fn end_call(&mut self, key: &CallKey, end: End, last_word: Option<(Stage, &str)>) {
        let Some(call) = self.call(key) else { return };
        let call::Transition::Final(end) = call::decide(&call.state, CallInput::End(end)) else {
            unreachable!("every state of a call can be ended: call::decide")
        };
        if let CallState::Waiting { activation } = &call.state {
            self.deserted.push(activation.clone());
        }
        let mut call = Call::clone(&call);
        let mut messages = Vec::new();
        if let Some((stage, reason)) = last_word {
            messages.push(self.receipt(&mut call, stage, Some(reason), None, 0));
        }
        let facts = call.facts.clone();
        let code = end.code();
        messages.push(Addressed {
            recipient: facts.address.agent.clone(),
            message: Arc::new(AgentMessage {
                id: self.next_seq().message_id(messages.len()),
                conversation: facts.address.conversation.clone(),
                body: AgentBody::Outcome(Outcome { call_id: facts.address.call_id.clone(), end }),
            }),
        });
        let ended = self.call_row(Happened::CallEnded, &call, code, Body { messages, ..Body::default() });
        let seq = call.accepted_at();
        let key = facts.key.clone();
        self.change(|set| {
            set.entries.push(EntryChange::Ended { key: EntryKey::Call(facts.address.clone()), seq, ended });
            set.calls.push(Kept::Gone(key));
        });
    }

    // ---- instances, sessions, focus ----

    pub(super) fn instance_of(&self, conversation: &ConversationId, scope: &AppScope) -> Option<Arc<Instance>> {
        let id = self.workspace.by_scope.get(&(conversation.clone(), scope.clone()))?;
        self.workspace.instances.get(id.as_ref()).cloned()
    }

    pub(super) fn instance(&self, id: &InstanceId) -> Option<Arc<Instance>> {
        self.workspace.instances.get(id).cloned()
    }

    pub(super) fn open_instance(
        &mut self,
        conversation: &ConversationId,
        scope: &AppScope,
        state: instance::InstanceState,
    ) -> Arc<Instance> {
        let seq = self.next_seq();
        let opened = Arc::new(Instance {
            id: seq.instance_id(),
            conversation: conversation.clone(),
            app_scope: scope.clone(),
            session: seq.app_session_id(),
            state,
        });
        let session = Arc::new(AppSession {
            id: opened.session.clone(),
            conversation: conversation.clone(),
            app_scope: scope.clone(),
            instance: opened.id.clone(),
            opened: self.now,
            closed: None,
            runs: Vec::new(),
        });
        self.tell(conversation, Happened::InstanceOpened, opened.id.as_str(), shown(&opened));
        let put = opened.clone();
        self.change(|set| {
            set.instances.push(Kept::Put(put));
            set.sessions.push(session);
        });
        opened
    }

    pub(super) fn move_instance(&mut self, id: &InstanceId, input: InstanceInput) {
        let Some(found) = self.instance(id) else { return };
        if let Some(state) = instance::decide(found.state, input) {
            let moved = Arc::new(Instance { state, ..Instance::clone(&found) });
            self.record(Happened::InstanceMoved, id.as_str(), None);
            self.change(|set| set.instances.push(Kept::Put(moved)));
        }
    }

    pub(super) fn session(&self, instance: &Instance) -> Option<Arc<AppSession>> {
        self.workspace.sessions.get(&instance.session).cloned()
    }

    pub(super) fn put_session(&mut self, session: AppSession) {
        self.change(|set| set.sessions.push(Arc::new(session)));
    }

    /// Moves the focus and tells the instances concerned.
    pub(super) fn focus(&mut self, stack: FocusStack) {
        if stack == self.workspace.focus {
            return;
        }
        let before = self.workspace.focus.top().cloned();
        let after = stack.top().cloned();
        let subject = after.as_ref().map_or("interact", |id| id.as_str()).to_owned();
        self.record(Happened::FocusMoved, &subject, None);
        self.change(|set| set.focus = Some(stack));
        if before != after {
            if let Some(before) = before {
                self.move_instance(&before, InstanceInput::Covered);
                self.seen_in_front(&before, false);
            }
            if let Some(after) = after {
                self.move_instance(&after, InstanceInput::Raised);
            }
        }
    }

    /// Whether a Host that someone sees has this instance in the foreground.
    pub(super) fn seen_in_front(&mut self, id: &InstanceId, confirmed: bool) {
        let process = self.workspace.process(id);
        if process.confirmed != confirmed && self.workspace.instances.contains_key(id) {
            self.volatile(Volatile::App(id.clone(), AppProcess { confirmed, ..process }));
        }
    }

    pub(super) fn put_activation(&mut self, activation: Activation) {
        self.change(|set| set.activations.push(Kept::Put(Arc::new(activation))));
    }

    pub(super) fn put_operation(&mut self, operation: Operation) {
        self.change(|set| set.operations.push(Kept::Put(Arc::new(operation))));
    }

    pub(super) fn put_document(&mut self, document: Document) {
        self.record(Happened::SessionDataWritten, document.head.session.as_str(), None);
        self.change(|set| set.documents.push(document));
    }

    pub(super) fn put_action(&mut self, action: Action) {
        self.change(|set| set.actions.push(Kept::Put(Arc::new(action))));
    }

    pub(super) fn end_action(&mut self, action: &Action, fault: Option<&Fault>) {
        let body = Body { detail: fault.map(|fault| serde_json::json!({ "fault": fault })), ..Body::default() };
        let code = fault.map(|fault| fault.code);
        let ended = self.row(Happened::ActionEnded, action.id.as_str(), None, None, code, body);
        let key = EntryKey::Action { instance: action.instance.clone(), action: action.id.clone() };
        let seq = action.seq;
        self.change(|set| {
            set.entries.push(EntryChange::Ended { key, seq, ended });
            set.actions.push(Kept::Gone(seq));
        });
    }

    pub(super) fn put_inbox(&mut self, row: InboxRow) {
        self.change(|set| set.inbox.push(Kept::Put(Arc::new(row))));
    }

    pub(super) fn remove_from_outbox(&mut self, key: OutboxKey) {
        self.change(|set| set.outbox_removed.push(key));
    }

    pub(super) fn put_conversation(&mut self, conversation: Conversation) {
        self.record(Happened::ConversationChanged, conversation.id.as_str(), None);
        self.change(|set| set.conversations.push(Arc::new(conversation)));
    }
}

/// What people are shown of an instance that is opened or closed.
pub(super) fn shown(instance: &Instance) -> Value {
    serde_json::json!({ "app_scope": instance.app_scope, "session": instance.session })
}
