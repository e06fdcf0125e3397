//! The way of a call: from acceptance to an activation, its turn, a handler or an operation
//! (ACT-1 to ACT-3, ACT-10, OP-1 to OP-3), and what follows when one of these ends.

use std::{collections::BTreeSet, sync::Arc};

use lineup_model::{
    ActivationId, AppScope, CallKey, ConversationId, ErrorCode, InstanceId,
    descriptor::{BuiltIn, Descriptor, Exclusive, Executor, Invocation, Length, Readiness},
    limits,
    message::{End, Fault, Stage},
};
use serde_json::{Value, json};

use super::{
    change_set::Kept,
    decision::Rejected,
    draft::{Draft, shown},
};
use crate::{
    action::{self, ActionInput},
    activation::{self, Activation, ActivationInput, Asked, Failure},
    call::{self, Call, CallFacts, CallInput, CallState},
    instance::{Instance, InstanceInput, InstanceState},
    journal::Happened,
    operation::{self, By, Operation, OperationEnd, OperationInput},
};

/// What an accepted or waiting call is to do now.
enum Way {
    /// It lost the exclusivity (OP-3).
    Lost,
    /// It waits for an exclusive holder that is starting.
    Turn,
    /// It waits for the user (ACT-10).
    NeedsYou,
    /// It waits on this activation, which is under way.
    Wait(ActivationId, InstanceId),
    /// It causes an activation: of a new instance, or to bring this one forward.
    Activate(Option<Arc<Instance>>),
    /// It can run.
    Run(Arc<Instance>),
}

impl Draft {
    /// Takes a new call in and sends it on its way, with the receipt that CALL-14 asks for.
    pub(super) fn route_new(&mut self, mut call: Call) -> Result<CallKey, Box<Rejected>> {
        let compiled = self.compiled(&call);
        let descriptor = compiled.descriptor.clone();
        if let Executor::Runtime { action: BuiltIn::DeadlineStart { length, .. } } = &descriptor.executor
            && self.length(length, &call.facts.input).is_none()
        {
            return Err(Rejected::new(
                self.origin().clone(),
                ErrorCode::DeadlineInvalid,
                format!("`{}` must give a length of more than nothing and at most 24 hours", length.input),
            ));
        }
        let way = self.way(&call, &descriptor);
        match way {
            Way::Lost => {
                let end = self.lost(&descriptor);
                let key = self.accept(call, None);
                self.end_call(&key, end, None);
                Ok(key)
            }
            Way::Turn => {
                self.room_for(&call)?;
                call.state = CallState::WaitingForTurn;
                Ok(self.accept(call, Some(Stage::Accepted)))
            }
            Way::NeedsYou => {
                self.room_for(&call)?;
                call.state = CallState::NeedsYou;
                Ok(self.accept(call, Some(Stage::Accepted)))
            }
            Way::Wait(activation, instance) => {
                self.room_for(&call)?;
                call.state = CallState::Waiting { activation: activation.clone() };
                call.instance = Some(instance);
                self.demand_foreground(&activation, &descriptor);
                Ok(self.accept(call, Some(Stage::Accepted)))
            }
            Way::Activate(instance) => {
                // The ids are those of the rows that follow the acceptance.
                call.caused_activation = true;
                let key = self.accept(call, Some(Stage::Starting));
                self.activate(&key, &descriptor, instance);
                Ok(key)
            }
            Way::Run(instance) => {
                call.instance = Some(instance.id.clone());
                // Handed over in the commit that takes it in: two commits for a whole call.
                if descriptor.executor == Executor::MiniappSdk
                    && let call::Transition::To(state) =
                        call::decide(&call.state, CallInput::Deliver { now: self.now.effective, attempts: 0 })
                {
                    call.state = state;
                    call.attempts = 1;
                }
                let operates = descriptor.invocation == Invocation::Operation;
                let key = self.accept(call, Some(Stage::Accepted));
                if descriptor.executor != Executor::MiniappSdk || operates {
                    self.run(&key, &descriptor, &instance);
                }
                Ok(key)
            }
        }
    }

    /// Whether one more call may wait for its instance, whatever it waits for: all of them may come
    /// to wait on one activation (ACT-3).
    fn room_for(&self, call: &Call) -> Result<(), Box<Rejected>> {
        let CallFacts { address, app_scope, .. } = &*call.facts;
        let waiting = self.workspace.queued_for(&address.conversation, app_scope).take(limits::WAITING_PER_INSTANCE);
        if waiting.count() < limits::WAITING_PER_INSTANCE {
            return Ok(());
        }
        let fault = Fault::new(ErrorCode::RateLimited, "too many calls wait for this app; wait for some to end");
        Err(Rejected::of(self.origin().clone(), fault.because("queue_full")))
    }

    /// Where a call that is not under way goes now.
    fn way(&self, call: &Call, descriptor: &Descriptor) -> Way {
        let conversation = &call.facts.address.conversation;
        let scope = &descriptor.app_scope;
        let instance = self.instance_of(conversation, scope);
        if let Some(exclusive) = descriptor.operation.exclusive {
            if self.is_held(exclusive, conversation, scope) {
                return Way::Lost;
            }
            // One that is starting elsewhere may come to hold it. One that is starting here is in
            // front of this call in the same queue.
            if self.starting_elsewhere(exclusive, call, scope) {
                return Way::Turn;
            }
        }
        let wants_foreground = descriptor.readiness == Readiness::ForegroundRequired;
        let Some(instance) = instance else {
            if wants_foreground && self.foreground_is_bound(None) {
                return Way::NeedsYou;
            }
            return Way::Activate(None);
        };
        if let Some(activation) = self.workspace.activating.get(&instance.id) {
            return Way::Wait(activation.as_ref().clone(), instance.id.clone());
        }
        let seen = self.workspace.process(&instance.id).confirmed;
        match instance.state {
            InstanceState::Foreground | InstanceState::Background if !wants_foreground => Way::Run(instance),
            InstanceState::Foreground if seen => Way::Run(instance),
            // One that is in front, and nobody confirmed that since it came there or since the
            // Runtime came up, is confirmed for this attempt (ACT-2).
            InstanceState::Foreground
            | InstanceState::Background
            | InstanceState::Suspended
            | InstanceState::Starting => {
                if wants_foreground && self.foreground_is_bound(Some(&instance.id)) {
                    return Way::NeedsYou;
                }
                Way::Activate(Some(instance))
            }
        }
    }

    /// Whether a running operation excludes another of its app (OP-3). Two exclude each other if either
    /// of them excludes the other: one that is alone in the workspace suffers none beside it anywhere.
    fn is_held(&self, exclusive: Exclusive, conversation: &ConversationId, scope: &AppScope) -> bool {
        match exclusive {
            Exclusive::Conversation => {
                let from = (conversation.clone(), scope.clone(), crate::Seq(0));
                let mut here = self.workspace.excluding_in.range(from..);
                here.next().is_some_and(|(of, app, _)| of == conversation && app == scope)
                    || self.excluding(scope).any(|operation| operation.rule.exclusive == Some(Exclusive::Workspace))
            }
            Exclusive::Workspace => self.is_held_anywhere(scope),
        }
    }

    fn is_held_anywhere(&self, scope: &AppScope) -> bool {
        self.excluding(scope).next().is_some()
    }

    /// The running operations of an app that exclude others.
    fn excluding(&self, scope: &AppScope) -> impl Iterator<Item = &Arc<Operation>> {
        let from = (scope.clone(), crate::Seq(0));
        self.workspace
            .excluding
            .range(from..)
            .take_while(move |(app, _)| app == scope)
            .filter_map(|(_, seq)| self.workspace.operation_of.get(seq))
    }

    /// The calls that wait on an activation and will come to exclude others.
    fn contenders(&self, scope: &AppScope) -> impl Iterator<Item = &Arc<Call>> {
        let from = (scope.clone(), crate::Seq(0));
        self.workspace
            .contending
            .range(from..)
            .take_while(move |(app, _)| app == scope)
            .filter_map(|(_, seq)| self.workspace.calls.get(seq))
    }

    /// Whether a call that this one and itself exclude waits on an activation of another instance.
    fn starting_elsewhere(&self, exclusive: Exclusive, call: &Call, scope: &AppScope) -> bool {
        let conversation = &call.facts.address.conversation;
        self.contenders(scope).filter(|other| other.facts.address.conversation != *conversation).any(|other| {
            exclusive == Exclusive::Workspace
                || self.compiled(other).descriptor.operation.exclusive == Some(Exclusive::Workspace)
        })
    }

    /// Whether the foreground belongs to a running operation of another instance (ACT-10).
    pub(super) fn foreground_is_bound(&self, except: Option<&InstanceId>) -> bool {
        self.workspace.foreground_holder().is_some_and(|holder| Some(holder) != except)
    }

    /// Begins an activation for a call that has been taken in, and lets the call wait on it.
    fn activate(&mut self, key: &CallKey, descriptor: &Descriptor, existing: Option<Arc<Instance>>) {
        let opened_instance = existing.is_none();
        let instance = match existing {
            Some(instance) => instance,
            None => {
                let Some(call) = self.call(key) else { return };
                let conversation = call.facts.address.conversation.clone();
                self.open_instance(&conversation, &descriptor.app_scope, InstanceState::Starting)
            }
        };
        let foreground = descriptor.readiness == Readiness::ForegroundRequired;
        let id = self.next_seq().activation_id();
        self.record(Happened::ActivationStarted, id.as_str(), None);
        self.put_activation(Activation {
            id: id.clone(),
            instance: instance.id.clone(),
            cause: key.clone(),
            foreground,
            limit: self.now.effective.plus(limits::HOST_GRACE_MS),
            full_limit: self.now.effective.plus(limits::ACTIVATION_MS),
            opened_instance,
        });
        self.wait(key, id, &instance.id);
    }

    /// Lets a call wait on an activation. No row of its own: the call's last row says what it is
    /// doing, and the activation's row says why.
    fn wait(&mut self, key: &CallKey, activation: ActivationId, instance: &InstanceId) {
        let Some(call) = self.call(key) else { return };
        if let call::Transition::To(state) = call::decide(&call.state, CallInput::Wait(activation)) {
            let mut call = Call::clone(&call);
            call.state = state;
            call.instance = Some(instance.clone());
            self.put_call(call);
        }
    }

    /// A call that needs the foreground joins an activation that did not ask for it: now it does.
    fn demand_foreground(&mut self, id: &ActivationId, descriptor: &Descriptor) {
        if descriptor.readiness != Readiness::ForegroundRequired {
            return;
        }
        if let Some(activation) = self.workspace.activations.get(id).cloned()
            && !activation.foreground
            && !self.foreground_is_bound(Some(&activation.instance))
        {
            self.put_activation(Activation { foreground: true, ..Activation::clone(&activation) });
        }
    }

    /// What an activation asks for.
    pub(super) fn asked(&self, activation: &Activation) -> Asked {
        let surface = self
            .instance(&activation.instance)
            .and_then(|instance| self.workspace.apps.get(&instance.app_scope).cloned())
            .is_some_and(|app| app.manifest.host.surface_required);
        Asked { surface, foreground: activation.foreground }
    }

    /// Everything reported towards an activation since the Runtime came up.
    pub(super) fn reported(&self, activation: &Activation) -> activation::Reported {
        let process = self.workspace.process(&activation.instance);
        let foreground = self.workspace.reported.get(&activation.id).is_some_and(|reported| reported.foreground);
        activation::Reported { app_ready: process.ready, surface_ready: process.surface_ready, foreground }
    }

    /// Looks at an activation again after something was reported or time passed.
    pub(super) fn consider(&mut self, activation: &Activation, input: &ActivationInput) {
        let asked = self.asked(activation);
        match activation::decide(activation, asked, input) {
            activation::Transition::Pending => {}
            activation::Transition::Ready => self.activation_ready(activation),
            activation::Transition::Failed(failure) => self.activation_failed(activation, failure),
            activation::Transition::Cancelled => self.activation_cancelled(activation),
        }
    }

    /// The instance stands: the calls that waited go on, in the order of their acceptance.
    fn activation_ready(&mut self, activation: &Activation) {
        self.record(Happened::ActivationEnded, activation.id.as_str(), Some(json!({ "end": "ready" })));
        let waiting = self.waiting_on(&activation.id);
        self.change(|set| set.activations.push(Kept::Gone(activation.id.clone())));
        self.move_instance(&activation.instance, InstanceInput::Ready { foreground: activation.foreground });
        if activation.foreground {
            let stack = self.workspace.focus.raised(&activation.instance);
            self.focus(stack);
            self.seen_in_front(&activation.instance, true);
        }
        for key in waiting {
            self.proceed(&key, Some(&activation.cause));
        }
    }

    /// Sends a call that waited on its way again. `cause` is the call that caused the activation
    /// which has just become ready: it alone hears of it (CALL-14).
    fn proceed(&mut self, key: &CallKey, cause: Option<&CallKey>) {
        let Some(call) = self.call(key) else { return };
        let descriptor = self.compiled(&call).descriptor.clone();
        // It is being answered in this very decision, and never waits or starts anything (ACT-4).
        if descriptor.readiness == Readiness::ActivationNotRequired {
            return;
        }
        match self.way(&call, &descriptor) {
            Way::Lost => {
                let end = self.lost(&descriptor);
                self.end_call(key, end, None);
            }
            Way::Turn => {
                self.park(key, CallInput::WaitForTurn);
            }
            Way::NeedsYou => {
                self.park(key, CallInput::AskForYou);
            }
            Way::Wait(id, instance) => {
                self.demand_foreground(&id, &descriptor);
                self.wait(key, id, &instance);
            }
            Way::Activate(instance) => {
                // Whichever call causes an activation hears of it, and once (CALL-14).
                if !call.caused_activation {
                    let causing = Call { caused_activation: true, ..Call::clone(&call) };
                    self.progress(causing, Stage::Starting, None, None);
                }
                self.activate(key, &descriptor, instance);
            }
            Way::Run(instance) => {
                if cause == Some(key)
                    && descriptor.executor == Executor::MiniappSdk
                    && descriptor.invocation != Invocation::Operation
                {
                    self.progress(Call::clone(&call), Stage::ActivationReady, None, None);
                }
                if let Some(call) = self.call(key)
                    && call.instance.as_ref() != Some(&instance.id)
                {
                    let mut call = Call::clone(&call);
                    call.instance = Some(instance.id.clone());
                    self.put_call(call);
                }
                self.run(key, &descriptor, &instance);
            }
        }
    }

    fn park(&mut self, key: &CallKey, input: CallInput) {
        let Some(call) = self.call(key) else { return };
        if let call::Transition::To(state) = call::decide(&call.state, input)
            && state != call.state
        {
            let mut call = Call::clone(&call);
            call.state = state;
            self.put_call(call);
        }
    }

    /// Runs a call whose conditions stand.
    fn run(&mut self, key: &CallKey, descriptor: &Descriptor, instance: &Instance) {
        match &descriptor.executor {
            Executor::MiniappSdk => {
                // A call that is taken in ready to run was handed over in that very row.
                if self.call(key).is_some_and(|call| call.attempts == 0) {
                    self.hand_over(key);
                }
                if descriptor.invocation == Invocation::Operation {
                    self.start_operation(key, descriptor, instance, None);
                    if let Some(call) = self.call(key) {
                        self.progress(Call::clone(&call), Stage::Started, None, None);
                    }
                }
            }
            Executor::Runtime { action: BuiltIn::DeadlineStart { length, .. } } => {
                let Some(call) = self.call(key) else { return };
                let Some(length) = self.length(length, &call.facts.input) else {
                    let error = Fault::new(ErrorCode::DeadlineInvalid, "the length cannot be kept");
                    self.end_call(key, End::Rejected { error }, None);
                    return;
                };
                let operation = self.start_operation(key, descriptor, instance, Some(length));
                self.move_call(key, CallInput::Operate(operation), Happened::CallProgressed, Some(Stage::Started));
            }
            Executor::Runtime { action: BuiltIn::DeadlineInterrupt } => {
                let result = self.interrupt(key);
                self.end_call(key, End::Completed { result }, None);
            }
        }
    }

    /// Hands a call to its handler, for the first time or again; past its attempts it ends.
    pub(super) fn hand_over(&mut self, key: &CallKey) {
        let Some(call) = self.call(key) else { return };
        let input = CallInput::Deliver { now: self.now.effective, attempts: call.attempts };
        if let Some(call::Transition::Exhausted) = self.move_call(key, input, Happened::CallDelivered, None) {
            let error = Fault::new(
                ErrorCode::AppDeliveryExhausted,
                format!("the app did not handle the call in {} attempts", limits::DELIVERY_ATTEMPTS),
            );
            self.finish(key, End::Failed { error });
        }
    }

    fn start_operation(
        &mut self,
        key: &CallKey,
        descriptor: &Descriptor,
        instance: &Instance,
        length: Option<u64>,
    ) -> lineup_model::OperationId {
        let id = self.next_seq().operation_id();
        let operation = Operation {
            id: id.clone(),
            call: key.clone(),
            app_scope: descriptor.app_scope.clone(),
            conversation: instance.conversation.clone(),
            instance: instance.id.clone(),
            session: instance.session.clone(),
            rule: descriptor.operation,
            started: self.now,
            deadline: length.map(|length| self.now.effective.plus(length)),
        };
        self.record(Happened::OperationStarted, id.as_str(), Some(json!({ "call": key, "length_ms": length })));
        self.put_operation(operation);
        if let Some(session) = self.session(instance) {
            let session = crate::session::AppSession::clone(&session).with_run(id.clone(), self.now);
            self.put_session(session);
        }
        if descriptor.operation.exclusive.is_some() {
            self.contested.insert(descriptor.app_scope.clone());
        }
        if descriptor.operation.needs_foreground {
            self.yield_foreground(&instance.id);
        }
        id
    }

    /// An operation holds the foreground now: what is on its way there no longer asks for it,
    /// and its calls wait for the user once their instance stands (ACT-10).
    fn yield_foreground(&mut self, holder: &InstanceId) {
        let coming: Vec<_> = self
            .workspace
            .graces
            .iter()
            .filter_map(|(_, id)| self.workspace.activations.get(id))
            .filter(|activation| activation.instance != *holder)
            .cloned()
            .collect();
        for activation in coming {
            let activation = Activation { foreground: false, ..Activation::clone(&activation) };
            self.put_activation(activation.clone());
            let reported = self.reported(&activation);
            self.consider(&activation, &ActivationInput::Reported(reported));
        }
    }

    /// The length that a declaration takes from the input, in milliseconds.
    fn length(&self, length: &Length, input: &Value) -> Option<u64> {
        let number = input.get(&length.input)?.as_u64()?;
        let millis = number.checked_mul(length.unit.millis())?;
        (1..=limits::DEADLINE_MS).contains(&millis).then_some(millis)
    }

    /// What the loser of an exclusivity gets (OP-3).
    fn lost(&self, descriptor: &Descriptor) -> End {
        let reason = match &descriptor.executor {
            Executor::Runtime { action: BuiltIn::DeadlineStart { when_busy, .. } } => when_busy.as_str(),
            Executor::Runtime { action: BuiltIn::DeadlineInterrupt } | Executor::MiniappSdk => "operation_conflict",
        };
        self.not_started(descriptor, reason).unwrap_or_else(|| End::Rejected {
            error: Fault::new(ErrorCode::OperationConflict, "an operation that excludes this one is running"),
        })
    }

    /// The declared `not_started` result of a tool, if its output has one (ACT-3).
    fn not_started(&self, descriptor: &Descriptor, reason: &str) -> Option<End> {
        let compiled = self.workspace.compiled.get(&descriptor.digest())?;
        [json!({ "status": "not_started", "reason": reason }), json!({ "status": "not_started" })]
            .into_iter()
            .find(|result| compiled.output.check(result).is_ok())
            .map(|result| End::Completed { result })
    }

    fn waiting_on(&self, activation: &ActivationId) -> Vec<CallKey> {
        self.workspace.waiting_on(activation).map(crate::Seq::call_key).collect()
    }

    /// None of the calls that waited executes, and all of them end in this commit (ACT-3).
    fn activation_failed(&mut self, activation: &Activation, failure: Failure) {
        let reason = failure.as_str();
        let error = Fault::new(ErrorCode::AppActivationFailed, "the app could not be brought up").because(reason);
        self.activation_over(activation, Stage::ActivationFailed, reason, &|| End::Failed { error: error.clone() });
    }

    pub(super) fn activation_cancelled(&mut self, activation: &Activation) {
        let error =
            Fault::new(ErrorCode::AppActivationCancelled, "bringing the app up was cancelled").because("cancelled");
        self.activation_over(activation, Stage::ActivationCancelled, "cancelled", &|| End::Cancelled {
            error: error.clone(),
        });
    }

    fn activation_over(&mut self, activation: &Activation, stage: Stage, reason: &str, others: &dyn Fn() -> End) {
        let word = if stage == Stage::ActivationFailed { "failed" } else { "cancelled" };
        self.record(Happened::ActivationEnded, activation.id.as_str(), Some(json!({ "end": word, "reason": reason })));
        let waiting = self.waiting_on(&activation.id);
        self.change(|set| set.activations.push(Kept::Gone(activation.id.clone())));
        for key in waiting {
            let Some(call) = self.call(&key) else { continue };
            if key == activation.cause {
                let descriptor = self.compiled(&call).descriptor.clone();
                let end = self.not_started(&descriptor, reason).unwrap_or_else(others);
                self.end_call(&key, end, Some((stage, reason)));
            } else {
                self.end_call(&key, others(), None);
            }
        }
        if activation.opened_instance {
            self.close(&activation.instance);
        }
    }

    // ---- ends ----

    /// Ends a call from wherever it is, with its operation and what hangs on its end.
    pub(super) fn finish(&mut self, key: &CallKey, end: End) {
        let Some(call) = self.call(key) else { return };
        let descriptor = self.compiled(&call).descriptor.clone();
        self.end_operations_of(key, matches!(end, End::Completed { .. }));
        self.end_call(key, end, None);
        if let Some(instance) = &call.instance {
            self.after_call(instance, &descriptor);
        }
    }

    /// The operations of a call end with it (OP-6, I32).
    fn end_operations_of(&mut self, key: &CallKey, completed: bool) {
        let of_call = crate::Seq::of_call(key).and_then(|seq| self.workspace.operation_of.get(&seq).cloned());
        if let Some(operation) = of_call {
            let input = OperationInput::CallEnded { now: self.now.effective, completed };
            if let Some(end) = operation::decide(&operation, input) {
                self.close_operation(&operation, end);
            }
        }
    }

    /// What a tool's declaration asks for once a call of it is final (ACT-7).
    fn after_call(&mut self, instance: &InstanceId, descriptor: &Descriptor) {
        let busy = self.workspace.calls_on(instance).next().is_some();
        // Only the user leaves an operation that holds the foreground (ACT-10).
        let holds = self.workspace.needs_foreground(instance);
        if descriptor.target.restore_previous_focus && !holds && self.workspace.focus.top() == Some(instance) {
            let stack = self.workspace.focus.without(instance);
            self.focus(stack);
        }
        if descriptor.terminal.closes_instance && !busy {
            self.close(instance);
        }
    }

    fn close_operation(&mut self, operation: &Operation, end: OperationEnd) {
        let detail = json!({ "call": operation.call, "app_scope": operation.app_scope, "ended": end });
        self.tell(&operation.conversation, Happened::OperationEnded, operation.id.as_str(), detail);
        self.change(|set| set.operations.push(Kept::Gone(operation.id.clone())));
        if let Some(session) = self.workspace.sessions.get(&operation.session).cloned() {
            let session = crate::session::AppSession::clone(&session).with_end(&operation.id, end);
            self.put_session(session);
        }
    }

    /// Ends a running operation and its call together (OP-2). `None`: its rule says that it goes on.
    pub(super) fn end_operation(&mut self, operation: &Operation, input: OperationInput) -> Option<OperationEnd> {
        let end = operation::decide(operation, input)?;
        let Some(call) = self.call(&operation.call) else {
            self.close_operation(operation, end);
            return Some(end);
        };
        let descriptor = self.compiled(&call).descriptor.clone();
        self.close_operation(operation, end);
        let built_in = matches!(descriptor.executor, Executor::Runtime { .. });
        let call_end = match end {
            OperationEnd::Completed { .. } => End::Completed { result: json!({ "status": "completed" }) },
            OperationEnd::Interrupted { by } => {
                let by = match by {
                    By::Agent => "agent",
                    By::Left => "left",
                };
                if built_in {
                    End::Completed { result: json!({ "status": "interrupted", "by": by }) }
                } else {
                    let error = Fault::new(ErrorCode::LifecycleDenied, "the operation was interrupted").because(by);
                    End::Cancelled { error }
                }
            }
            OperationEnd::Failed => End::Failed { error: Fault::new(ErrorCode::ToolFailed, "the operation failed") },
        };
        self.end_call(&operation.call, call_end, None);
        self.after_call(&operation.instance, &descriptor);
        Some(end)
    }

    /// Stops this conversation's deadline operation of the call's app, or a start that is under
    /// way, and says what it found (APP-4).
    pub(super) fn interrupt(&mut self, key: &CallKey) -> Value {
        let Some(call) = self.call(key) else { return json!({ "status": "nothing_running" }) };
        let conversation = call.facts.address.conversation.clone();
        let scope = call.facts.app_scope.clone();
        let running = self
            .workspace
            .operations
            .values()
            .find(|operation| {
                operation.app_scope == scope && operation.conversation == conversation && operation.deadline.is_some()
            })
            .cloned();
        if let Some(operation) = running {
            self.end_operation(&operation, OperationInput::Interrupted);
            // The MiniApp gets the generic lifecycle close, nothing else (APP-5).
            self.close(&operation.instance);
            return json!({ "status": "interrupted" });
        }
        let starting: Vec<Arc<Call>> = self
            .workspace
            .queued_for(&conversation, &scope)
            .filter_map(|seq| self.workspace.calls.get(&seq))
            .filter(|other| {
                let executor = &self.compiled(other).descriptor.executor;
                other.key() != key && matches!(executor, Executor::Runtime { action: BuiltIn::DeadlineStart { .. } })
            })
            .cloned()
            .collect();
        if starting.is_empty() {
            return json!({ "status": "nothing_running" });
        }
        for start in starting {
            // An earlier round may have ended it together with its activation.
            let Some(start) = self.call(start.key()) else { continue };
            if let CallState::Waiting { activation } = &start.state
                && let Some(activation) = self.workspace.activations.get(activation).cloned()
                && activation.cause == *start.key()
            {
                self.consider(&activation, &ActivationInput::Cancelled);
            } else {
                let descriptor = self.compiled(&start).descriptor.clone();
                let error = Fault::new(ErrorCode::AppActivationCancelled, "the start was cancelled");
                let end = self.not_started(&descriptor, "cancelled").unwrap_or(End::Cancelled { error });
                self.end_call(start.key(), end, None);
            }
        }
        json!({ "status": "start_cancelled" })
    }

    /// Closes an instance: its calls, actions, operations, activation and place in the focus stack
    /// end in the same commit (SES-2, I52, I56).
    pub(super) fn close(&mut self, id: &InstanceId) {
        let Some(instance) = self.instance(id) else { return };
        if let Some(activation) = self.workspace.activating.get(id).cloned()
            && let Some(activation) = self.workspace.activations.get(activation.as_ref()).cloned()
        {
            // The instance itself is closed here, below.
            let activation = Activation { opened_instance: false, ..Activation::clone(&activation) };
            self.activation_cancelled(&activation);
        }
        let open: Vec<CallKey> = self.workspace.calls_on(id).map(|call| call.key().clone()).collect();
        for key in open {
            // A deadline operation does not need its instance (OP-5).
            let operates = self.call(&key).is_some_and(|call| matches!(call.state, CallState::Operating { .. }));
            if !operates {
                self.end_operations_of(&key, false);
                let error = Fault::new(ErrorCode::AppInstanceNotFound, "the app was closed while the call was open");
                self.end_call(&key, End::Cancelled { error }, None);
            }
        }
        let actions: Vec<_> =
            self.workspace.actions.values().filter(|action| action.instance == *id).cloned().collect();
        for open in actions {
            match action::decide(open.generation, ActionInput::Close) {
                action::Transition::Final => {
                    let fault = Fault::new(ErrorCode::AppInstanceNotFound, "the app was closed");
                    self.end_action(&open, Some(&fault));
                }
                action::Transition::Delivered(_) | action::Transition::Exhausted | action::Transition::Stale => {}
            }
        }
        let inbox: Vec<_> =
            self.workspace.inbox.values().filter(|row| row.instance == *id).map(|row| row.seq).collect();
        for seq in inbox {
            self.change(|set| set.inbox.push(Kept::Gone(seq)));
        }
        self.clear_surfaces(id);
        if let Some(session) = self.session(&instance) {
            let closed =
                crate::session::AppSession { closed: Some(self.now), ..crate::session::AppSession::clone(&session) };
            self.put_session(closed);
        }
        if self.workspace.focus.entries().contains(id) {
            let stack = self.workspace.focus.without(id);
            self.focus(stack);
        }
        self.tell(&instance.conversation, Happened::InstanceClosed, id.as_str(), shown(&instance));
        self.change(|set| set.instances.push(Kept::Gone(id.clone())));
    }

    /// The user left the instance in front (HST-2): an operation whose rule says so ends.
    pub(super) fn left(&mut self, instance: &InstanceId) {
        let running: Vec<_> = self.workspace.operations_on(instance).cloned().collect();
        for operation in running {
            self.end_operation(&operation, OperationInput::Left);
        }
    }

    /// What every decision that may have freed something ends with: activations that nobody waits for
    /// are called off, calls that wait for their turn or for the user go on if they can, and what is on
    /// its way to the foreground leaves it to an operation that holds it.
    pub(super) fn settle(&mut self) {
        for id in std::mem::take(&mut self.deserted) {
            if let Some(activation) = self.workspace.activations.get(&id).cloned()
                && self.workspace.waiting_on(&id).next().is_none()
            {
                self.activation_cancelled(&activation);
            }
        }
        for seq in self.movable() {
            self.proceed(&seq.call_key(), None);
        }
        if let Some(holder) = self.workspace.foreground_holder().cloned() {
            self.yield_foreground(&holder);
        }
    }

    /// The calls that wait for their turn or for the user and may be able to go on, in the order of
    /// their acceptance. A few more than can; never all of them while nothing has changed.
    fn movable(&mut self) -> BTreeSet<crate::Seq> {
        let contested = std::mem::take(&mut self.contested);
        let workspace = &self.workspace;
        let scope_of = |seq: &crate::Seq| workspace.calls.get(seq).map(|call| &call.facts.app_scope);
        let mut movable = BTreeSet::new();
        match workspace.foreground_holder().and_then(|holder| workspace.instances.get(holder)) {
            None => movable.extend(workspace.needing.iter().copied()),
            Some(holder) => {
                // They go on where the user is; they have lost where another has begun.
                let here = workspace.queued_for(&holder.conversation, &holder.app_scope);
                movable.extend(here.filter(|seq| workspace.needing.contains(seq)));
                if !contested.is_empty() {
                    let lost = |seq: &&crate::Seq| scope_of(seq).is_some_and(|scope| contested.contains(scope));
                    movable.extend(workspace.needing.iter().filter(lost).copied());
                }
            }
        }
        let mut next = workspace.turns.first().cloned();
        while let Some((scope, first)) = next {
            let of_scope = workspace.turns.range((scope.clone(), first)..).take_while(|(app, _)| *app == scope);
            let mut contenders = self.contenders(&scope).map(|call| &call.facts.address.conversation);
            match (self.is_held_anywhere(&scope), contenders.next()) {
                (true, _) | (false, None) => movable.extend(of_scope.map(|(_, seq)| *seq)),
                // Those of the one conversation that is starting join it.
                (false, Some(conversation)) => {
                    if contenders.all(|other| other == conversation) {
                        let here = workspace.queued_for(conversation, &scope);
                        movable.extend(here.filter(|seq| workspace.turns.contains(&(scope.clone(), *seq))));
                    }
                }
            }
            next = workspace.turns.range((scope.clone(), crate::Seq(u64::MAX))..).next().cloned();
        }
        movable
    }
}
