//! The Hosts' entry and the user's: intents, reports, UI Actions, and what hosting adapters and
//! AppServer report (UIA-*, HST-*).

use lineup_model::{ActivationId, ErrorCode, Generation, InstanceId, limits, message::Fault};
use serde_json::json;

use super::{
    AppProcess, HostSession, Workspace,
    change_set::{EntryChange, EntryKey, Volatile},
    decision::{Decided, Decision, Rejected},
    draft::Draft,
    facts::Facts,
    input::{
        AppHappened, AppReport, HostIntentInput, HostReport, Intent, Report, TransportReport, UiActionInput, View,
    },
};
use crate::{
    action::Action,
    activation::{Activation, ActivationInput, Failure, Reported},
    focus::FocusStack,
    inbox::InboxRow,
    instance::InstanceState,
    journal::{Happened, Origin, Source},
    outbox::place,
    registry,
};

impl Workspace {
    pub(super) fn decide_ui_action(&self, asked: &UiActionInput, facts: Facts<'_>) -> Decided {
        let origin = Origin::new(Source::UiAction, asked.session.as_str());
        let refuse = |code, message: &str| Err(Rejected::new(origin.clone(), code, message));
        let mut draft = Draft::new(self, facts.now, origin.clone());
        let instance = match (&asked.view, self.viewed(&asked.view).and_then(|id| draft.instance(id))) {
            (_, Some(instance)) => instance,
            (View::Interact(conversation), None) if self.conversations.contains_key(conversation) => {
                draft.open_instance(conversation, &registry::interact(), InstanceState::Background)
            }
            (View::Interact(_), None) => {
                return refuse(ErrorCode::ConversationNotFound, "this conversation does not exist here");
            }
            (View::Surface(_), None) => {
                return refuse(ErrorCode::AppInstanceNotFound, "the app of this view is closed");
            }
        };
        let key = EntryKey::Action { instance: instance.id.clone(), action: asked.action_id.clone() };
        if self.action_keys.contains_key(&key) || facts.fetched.entries.contains_key(&key) {
            // The same click twice is one click.
            return Ok(Decision::default());
        }
        if self.policy.disabled_apps.contains(&instance.app_scope) {
            return refuse(ErrorCode::AppDisabled, "this app is switched off");
        }
        if matches!(asked.view, View::Surface(_)) && instance.state != InstanceState::Foreground {
            return refuse(ErrorCode::LifecycleDenied, "this view is not in the foreground");
        }
        let Some(validator) = self.apps.get(&instance.app_scope).and_then(|app| app.actions.get(&asked.method)) else {
            return refuse(ErrorCode::UiActionNotDeclared, "the app declares no such UI Action");
        };
        if let Err(violation) = validator.check(&asked.input) {
            let fault = Fault::new(ErrorCode::UiActionInvalid, violation.message)
                .because("schema_violation")
                .at(violation.pointer);
            return Err(Rejected::of(origin, fault));
        }
        let detail = json!({
            "entry": key, "app_scope": instance.app_scope, "method": asked.method, "input": asked.input,
        });
        let seq = draft.tell(&instance.conversation, Happened::ActionAccepted, asked.action_id.as_str(), detail);
        draft.change(|set| set.entries.push(EntryChange::Taken { key, seq }));
        draft.put_action(Action {
            seq,
            id: asked.action_id.clone(),
            instance: instance.id.clone(),
            app_scope: instance.app_scope.clone(),
            conversation: instance.conversation.clone(),
            method: asked.method.clone(),
            input: asked.input.clone(),
            accepted: facts.now,
            generation: Generation(1),
            steps: std::collections::BTreeMap::new(),
        });
        Ok(draft.done())
    }

    pub(super) fn decide_host_intent(&self, asked: &HostIntentInput, facts: Facts<'_>) -> Decided {
        let origin = Origin::new(Source::HostLifecycle, asked.session.as_str());
        let refuse = |code, message: &str| Err(Rejected::new(origin.clone(), code, message));
        let key = EntryKey::Intent { intent: asked.intent_id.clone() };
        if facts.fetched.entries.contains_key(&key) {
            return Ok(Decision::default());
        }
        if !self.hosts.contains_key(&asked.session) {
            return refuse(ErrorCode::LifecycleDenied, "this host session is not connected; connect first");
        }
        let mut draft = Draft::new(self, facts.now, origin.clone());
        let (word, about) = match &asked.intent {
            Intent::Switch { to } => ("switch", to.as_ref()),
            Intent::Back => ("back", None),
            Intent::Close { instance } => ("close", Some(instance)),
            Intent::Hide => ("hide", None),
            Intent::Lock => ("lock", None),
            Intent::Sleep => ("sleep", None),
            Intent::Resume => ("resume", None),
        };
        if let Some(instance) = about {
            match draft.instance(instance).map(|found| found.state) {
                None => return refuse(ErrorCode::AppInstanceNotFound, "there is no such instance"),
                Some(InstanceState::Starting) if word == "switch" => {
                    return refuse(ErrorCode::LifecycleDenied, "the app is still starting");
                }
                Some(_) => {}
            }
        }
        let detail = json!({ "entry": key, "intent": word, "instance": about });
        let seq = draft.record(Happened::IntentDone, asked.intent_id.as_str(), Some(detail));
        draft.change(|set| set.entries.push(EntryChange::Taken { key, seq }));
        let top = self.focus.top().cloned();
        // Where the user goes is in front by the Runtime's decision; that a Host shows it is said by the
        // Host, for an attempt that asks for it (ACT-2, HST-3).
        match &asked.intent {
            Intent::Switch { to } => {
                if let Some(top) = top
                    && Some(&top) != to.as_ref()
                {
                    draft.left(&top);
                }
                let stack = match to {
                    Some(instance) => draft.workspace.focus.raised(instance),
                    None => FocusStack::cleared(),
                };
                draft.focus(stack);
            }
            Intent::Back => {
                if let Some(top) = top {
                    draft.left(&top);
                    let stack = draft.workspace.focus.without(&top);
                    draft.focus(stack);
                }
            }
            Intent::Close { instance } => {
                draft.left(instance);
                draft.close(instance);
            }
            // Not leaving: nothing follows (HST-2).
            Intent::Hide | Intent::Lock | Intent::Sleep | Intent::Resume => {}
        }
        draft.settle();
        Ok(draft.done())
    }

    pub(super) fn decide_host_report(&self, reported: &HostReport, facts: Facts<'_>) -> Decided {
        let origin = Origin::new(Source::HostLifecycle, reported.session.as_str());
        let mut draft = Draft::new(self, facts.now, origin);
        let session = &reported.session;
        match &reported.report {
            Report::Connected { visible } | Report::Visible(visible) => {
                if matches!(reported.report, Report::Connected { .. }) || self.hosts.contains_key(session) {
                    draft.volatile(Volatile::HostSession(session.clone(), HostSession { visible: *visible }));
                }
            }
            Report::Disconnected => {
                draft.volatile(Volatile::HostGone(session.clone()));
                draft.grant_grace();
            }
            Report::Foreground { activation } => {
                let visible = self.hosts.get(session).is_some_and(|host| host.visible);
                // A report about an attempt that is over, or by a session that nobody can see,
                // changes nothing (HST-3).
                if visible && let Some(found) = self.activations.get(activation).filter(|found| found.foreground) {
                    let found = found.clone();
                    let mut all = draft.reported(&found);
                    all.foreground = true;
                    draft.volatile(Volatile::Reported(activation.clone(), all));
                    draft.consider(&found, &ActivationInput::Reported(all));
                }
            }
            Report::Failed { activation } => {
                // Another visible session may still show it.
                let alone = !self.hosts.iter().any(|(id, host)| id != session && host.visible);
                if alone
                    && self.hosts.contains_key(session)
                    && let Some(found) = self.activations.get(activation)
                {
                    draft.consider(&found.clone(), &ActivationInput::Failed(Failure::HostFailed));
                }
            }
            Report::SurfaceReady { instance } | Report::SurfaceGone { instance } => {
                if self.hosts.contains_key(session) && self.instances.contains_key(instance) {
                    let surface_ready = matches!(reported.report, Report::SurfaceReady { .. });
                    let process = AppProcess { surface_ready, ..self.process(instance) };
                    draft.volatile(Volatile::App(instance.clone(), process));
                    draft.reconsider(instance);
                }
            }
        }
        if !draft.workspace.hosts.iter().any(|(_, host)| host.visible) {
            draft.forget_confirmations();
        }
        if draft.workspace.hosts.is_empty() {
            draft.forget_surfaces();
        }
        draft.settle();
        Ok(draft.done())
    }

    pub(super) fn decide_app_report(&self, reported: &AppReport, facts: Facts<'_>) -> Decision {
        let mut draft = Draft::new(self, facts.now, Origin::runtime());
        let AppReport { instance, launch, happened } = reported;
        if !self.instances.contains_key(instance) {
            return draft.done();
        }
        let process = self.process(instance);
        match happened {
            AppHappened::Starting => {
                if *launch > process.launch {
                    draft.volatile(Volatile::App(
                        instance.clone(),
                        AppProcess { launch: *launch, ready: false, stopped: false, ..process },
                    ));
                }
            }
            // A start that was replaced reports late.
            AppHappened::Ready | AppHappened::Stopped { .. } if *launch != process.launch => {}
            AppHappened::Ready => {
                draft.volatile(Volatile::App(instance.clone(), AppProcess { ready: true, ..process }));
                draft.count_inbox_attempt(instance);
                draft.reconsider(instance);
            }
            AppHappened::Stopped { .. } => {
                draft.volatile(Volatile::App(instance.clone(), AppProcess { ready: false, stopped: true, ..process }));
                if let Some(activation) = draft.activation_of(instance) {
                    draft.consider(&activation, &ActivationInput::Failed(Failure::AppFailed));
                }
                draft.hand_over_again(Some(instance));
            }
        }
        draft.settle();
        draft.done()
    }

    pub(super) fn decide_transport(&self, reported: &TransportReport, facts: Facts<'_>) -> Decision {
        let mut draft = Draft::new(self, facts.now, Origin::runtime());
        match reported {
            TransportReport::Acknowledged(message) => {
                // An unknown id is a message that was acknowledged before, or sent again (H106).
                if let Some(key) = place(message).filter(|key| self.outbox.contains_key(key)) {
                    draft.remove_from_outbox(key);
                }
            }
            TransportReport::Undeliverable { message, reason } => {
                if let Some(key) = place(message).filter(|key| self.outbox.contains_key(key)) {
                    draft.record(Happened::MessageDead, message.as_str(), Some(json!({ "reason": reason })));
                    draft.remove_from_outbox(key);
                }
            }
        }
        draft.done()
    }
}

impl Draft {
    fn activation_of(&self, instance: &InstanceId) -> Option<std::sync::Arc<Activation>> {
        let id = self.workspace.activating.get(instance)?;
        self.workspace.activations.get(id.as_ref()).cloned()
    }

    fn reconsider(&mut self, instance: &InstanceId) {
        if let Some(activation) = self.activation_of(instance) {
            let all = self.reported(&activation);
            self.consider(&activation, &ActivationInput::Reported(all));
        }
    }

    /// No Host is connected any more. It may only reload: what asks for the foreground waits for it as
    /// long as it would for a first one (ACT-1, HST-2).
    fn grant_grace(&mut self) {
        if !self.workspace.hosts.is_empty() {
            return;
        }
        let limit = self.now.effective.plus(limits::HOST_GRACE_MS);
        let asking: Vec<_> =
            self.workspace.graces.iter().filter_map(|(_, id)| self.workspace.activations.get(id).cloned()).collect();
        for activation in asking {
            let limit = limit.min(activation.full_limit);
            if activation.limit < limit {
                self.put_activation(Activation { limit, ..Activation::clone(&activation) });
            }
        }
    }

    /// No session is visible any more: what one confirmed does not hold.
    fn forget_confirmations(&mut self) {
        let confirmed: Vec<ActivationId> = self
            .workspace
            .reported
            .iter()
            .filter(|(_, reported)| reported.foreground)
            .map(|(id, _)| id.clone())
            .collect();
        for id in confirmed {
            self.volatile(Volatile::Reported(id, Reported::default()));
        }
        if let Some(top) = self.workspace.focus.top().cloned() {
            self.seen_in_front(&top, false);
        }
    }

    /// No Host is connected any more: no Surface is mounted.
    fn forget_surfaces(&mut self) {
        let mounted: Vec<(InstanceId, AppProcess)> = self
            .workspace
            .processes
            .iter()
            .filter(|(_, process)| process.surface_ready)
            .map(|(id, process)| (id.clone(), AppProcess { surface_ready: false, ..**process }))
            .collect();
        for (id, process) in mounted {
            self.volatile(Volatile::App(id, process));
        }
    }

    /// A MiniApp that came up gets its messages again; past its attempts a message is parked and
    /// shown, so that it never blocks the others (DUR-3).
    fn count_inbox_attempt(&mut self, instance: &InstanceId) {
        let pending: Vec<_> =
            self.workspace.inbox.values().filter(|row| row.instance == *instance && !row.parked).cloned().collect();
        for row in pending {
            let attempts = row.attempts + 1;
            let parked = attempts > limits::DELIVERY_ATTEMPTS;
            if parked {
                self.record(Happened::InboxParked, row.seq.message_id(0).as_str(), None);
            }
            self.put_inbox(InboxRow { attempts, parked, ..InboxRow::clone(&row) });
        }
    }
}
