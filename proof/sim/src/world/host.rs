//! Hosts and the user in front of them.

use std::{collections::BTreeSet, sync::Arc};

use lineup_core::{
    Input,
    desired::HostView,
    workspace::input::{HostIntentInput, HostReport, Intent, Report, UiActionInput, View},
};
use lineup_model::{ActivationId, HostSessionId, InstanceId};
use rand::Rng;
use serde_json::{Value, json};

use super::{Happening, World, runtime::Waiter};
use crate::{apps::id, oracle::Host, plan::Fault, zoo::Mutant};

/// One Host session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: HostSessionId,
    connected: bool,
    visible: bool,
    /// What it was told last, and what is on its way.
    told: Option<HostView>,
    coming: Option<HostView>,
    surfaces: BTreeSet<InstanceId>,
    mounted: BTreeSet<InstanceId>,
    attempts: Vec<ActivationId>,
    intents: Vec<HostIntentInput>,
    actions: Vec<UiActionInput>,
}

impl Session {
    pub(super) fn new(session: &str) -> Self {
        Self {
            id: id(session),
            connected: false,
            visible: false,
            told: None,
            coming: None,
            surfaces: BTreeSet::new(),
            mounted: BTreeSet::new(),
            attempts: Vec::new(),
            intents: Vec::new(),
            actions: Vec::new(),
        }
    }

    pub(super) fn disconnect(&mut self) {
        self.connected = false;
        self.visible = false;
        self.told = None;
        self.coming = None;
        self.surfaces.clear();
        self.mounted.clear();
    }
}

impl World {
    fn report(&mut self, at: usize, report: Report) {
        let session = self.session_id(at);
        let now = self.stamp();
        let name = session.to_string();
        match &report {
            Report::Connected { visible } => {
                self.oracle.host(Host::Connected(&name), now);
                self.oracle.host(Host::Visible(&name, *visible), now);
            }
            Report::Disconnected => self.oracle.host(Host::Disconnected(&name), now),
            Report::Visible(visible) => self.oracle.host(Host::Visible(&name, *visible), now),
            Report::Foreground { activation } => {
                // One that a decision has ended is back when the store does not take the decision.
                let instance = self
                    .engine
                    .iter()
                    .flat_map(|engine| engine.head().activations().chain(engine.durable().activations()))
                    .find(|found| found.id == *activation)
                    .map(|found| found.instance.to_string());
                if let Some(instance) = instance {
                    let attempt = json!(activation);
                    self.oracle.host(Host::Confirmed { session: &name, instance: &instance, attempt: &attempt }, now);
                }
            }
            Report::Failed { .. } | Report::SurfaceReady { .. } | Report::SurfaceGone { .. } => {}
        }
        self.offer(Input::HostReport(HostReport { session, report }), Waiter::Nobody);
    }

    pub(super) fn host_acts(&mut self, at: usize) {
        if !self.serves() {
            return;
        }
        if !self.sessions[at].connected {
            let visible = self.calm || self.rng.random_bool(0.8);
            self.sessions[at].connected = true;
            self.sessions[at].visible = visible;
            self.report(at, Report::Connected { visible });
            self.reconcile_hosts();
            return self.host_acts_later(at);
        }
        if self.calm {
            if !self.sessions[at].visible {
                self.become_visible(at, true);
            }
            return;
        }
        self.host_acts_later(at);
        match self.rng.random_range(0..100) {
            0..=9 if self.strikes(Fault::HostLeaves, 0.8) => {
                let visible = !self.sessions[at].visible;
                self.become_visible(at, visible);
            }
            10..=13 if self.strikes(Fault::HostLeaves, 0.8) => {
                self.sessions[at].disconnect();
                self.report(at, Report::Disconnected);
            }
            14..=16 => {
                let mounted: Vec<InstanceId> = self.sessions[at].mounted.iter().cloned().collect();
                if !mounted.is_empty() && self.strikes(Fault::HostLeaves, 0.8) {
                    let instance = mounted[self.rng.random_range(0..mounted.len())].clone();
                    self.report(at, Report::SurfaceGone { instance: instance.clone() });
                    let after = self.within(10, 3_000);
                    self.after(after, Happening::Mounted(self.life, at, instance));
                }
            }
            // Nobody acts in a page that nobody sees.
            17..=45 if self.sessions[at].visible => self.user_intends(at),
            46..=70 => self.user_acts(at),
            _ => {}
        }
    }

    fn host_acts_later(&mut self, at: usize) {
        if !self.calm {
            let after = self.within(500, 15_000);
            self.after(after, Happening::HostActs(at));
        }
    }

    fn become_visible(&mut self, at: usize, visible: bool) {
        self.sessions[at].visible = visible;
        self.report(at, Report::Visible(visible));
        if visible {
            self.after(50, Happening::Confirm(self.life, at));
        }
    }

    fn any_instance(&mut self, at: usize) -> Option<InstanceId> {
        let listed: Vec<InstanceId> = self.sessions[at]
            .told
            .iter()
            .flat_map(|view| view.instances.iter().map(|listed| listed.instance.clone()))
            .collect();
        if listed.is_empty() || self.rng.random_bool(0.04) {
            return self.rng.random_bool(0.1).then(|| id("i99999"));
        }
        Some(listed[self.rng.random_range(0..listed.len())].clone())
    }

    fn user_intends(&mut self, at: usize) {
        if !self.sessions[at].intents.is_empty() && self.strikes(Fault::HostRepeats, 0.3) {
            let again = self.rng.random_range(0..self.sessions[at].intents.len());
            let intent = self.sessions[at].intents[again].clone();
            return self.intend(intent);
        }
        let intent = match self.rng.random_range(0..12) {
            0 | 1 => Intent::Switch { to: None },
            2 | 3 => match self.any_instance(at) {
                Some(instance) => Intent::Switch { to: Some(instance) },
                None => Intent::Switch { to: None },
            },
            4 => Intent::Back,
            5 => match self.any_instance(at) {
                Some(instance) => Intent::Close { instance },
                None => Intent::Back,
            },
            6 | 7 => Intent::Hide,
            8 => Intent::Lock,
            9 => Intent::Sleep,
            _ => Intent::Resume,
        };
        let intent_id = id(&self.mint('n'));
        let input = HostIntentInput { session: self.session_id(at), intent_id, intent };
        self.sessions[at].intents.push(input.clone());
        self.intend(input);
    }

    fn intend(&mut self, mut input: HostIntentInput) {
        let now = self.stamp();
        let word = match &input.intent {
            Intent::Switch { .. } => "switch",
            Intent::Back => "back",
            Intent::Close { .. } => "close",
            Intent::Hide => "hide",
            Intent::Lock => "lock",
            Intent::Sleep => "sleep",
            Intent::Resume => "resume",
        };
        self.oracle.host(Host::Intent(word), now);
        if self.mutant(Mutant::HideIsLeaving) && matches!(input.intent, Intent::Hide | Intent::Lock | Intent::Sleep) {
            input.intent = Intent::Switch { to: None };
        }
        self.offer(Input::HostIntent(input), Waiter::Nobody);
    }

    fn user_acts(&mut self, at: usize) {
        if !self.sessions[at].actions.is_empty() && self.strikes(Fault::HostRepeats, 0.3) {
            let again = self.rng.random_range(0..self.sessions[at].actions.len());
            let action = self.sessions[at].actions[again].clone();
            self.offer(Input::UiAction(action), Waiter::Nobody);
            return;
        }
        let front = self.sessions[at].told.as_ref().and_then(|view| view.foreground.as_ref());
        let front = front.map(|front| front.instance.clone());
        let (view, method, input): (View, &str, Value) = match self.rng.random_range(0..10) {
            0..=4 => {
                let instance = if self.rng.random_bool(0.8) { front } else { self.any_instance(at) };
                let Some(instance) = instance else { return };
                let n = self.rng.random_range(0..1_100);
                let method = ["add", "wipe", "add", "start"][self.rng.random_range(0..4)];
                (View::Surface(instance), method, json!({ "n": n }))
            }
            5 => (View::Interact(id("nowhere")), "send-text", json!({ "text": "hello", "echo_id": "e" })),
            6 => (View::Interact(id("main")), "start", json!({})),
            _ => {
                let room = ["main", "side", "work"][self.rng.random_range(0..3)];
                let text = if self.rng.random_bool(0.1) { String::new() } else { "hello".to_owned() };
                (View::Interact(id(room)), "send-text", json!({ "text": text, "echo_id": "e1" }))
            }
        };
        let action = UiActionInput {
            session: self.session_id(at),
            view,
            action_id: id(&self.mint('u')),
            method: id(method),
            input: Arc::new(input),
        };
        self.sessions[at].actions.push(action.clone());
        self.offer(Input::UiAction(action), Waiter::Nobody);
    }

    // ---- what Hosts are told ----

    pub(super) fn reconcile_hosts(&mut self) {
        let Some(engine) = &self.engine else { return };
        if !self.serving {
            return;
        }
        let view = engine.durable().host_view();
        let surfaces: BTreeSet<InstanceId> = engine
            .durable()
            .surface_views(engine.time().effective)
            .into_iter()
            .map(|surface| surface.instance)
            .collect();
        for at in 0..self.sessions.len() {
            let session = &mut self.sessions[at];
            if !session.connected {
                continue;
            }
            let shown = session.coming.as_ref().or(session.told.as_ref()) == Some(&view);
            if shown && session.surfaces == surfaces {
                continue;
            }
            session.coming = Some(view.clone());
            session.surfaces = surfaces.clone();
            let slow = self.strikes(Fault::HostSlow, 0.3);
            let after = if slow { self.within(500, 12_000) } else { self.within(1, 60) };
            self.after(after, Happening::Told(self.life, at));
        }
    }

    pub(super) fn host_told(&mut self, at: usize) {
        let session = &mut self.sessions[at];
        if !session.connected {
            return;
        }
        if let Some(view) = session.coming.take() {
            session.told = Some(view);
        }
        let wanted = session.surfaces.clone();
        session.mounted.retain(|instance| wanted.contains(instance));
        let new: Vec<InstanceId> = wanted.difference(&session.mounted).cloned().collect();
        for instance in new {
            let after = self.within(5, 300);
            self.after(after, Happening::Mounted(self.life, at, instance));
        }
        let after = self.within(5, 400);
        self.after(after, Happening::Confirm(self.life, at));
    }

    pub(super) fn host_mounted(&mut self, at: usize, instance: InstanceId) {
        if self.sessions[at].connected && self.sessions[at].surfaces.contains(&instance) {
            self.sessions[at].mounted.insert(instance.clone());
            self.report(at, Report::SurfaceReady { instance });
        }
    }

    /// A session says what it shows.
    pub(super) fn host_confirms(&mut self, at: usize) {
        let session = &self.sessions[at];
        if !session.connected {
            return;
        }
        let visible = session.visible;
        let asked = session.told.as_ref().and_then(|view| view.foreground.as_ref());
        let attempt = asked.and_then(|front| front.activation.clone());
        let old = session.attempts.first().cloned();
        if self.strikes(Fault::HostLies, 0.2) {
            let activation = old.unwrap_or_else(|| id("a1"));
            self.report(at, Report::Foreground { activation });
        }
        let Some(activation) = attempt else { return };
        self.sessions[at].attempts.push(activation.clone());
        if !visible {
            if self.mutant(Mutant::HiddenConfirms) || self.strikes(Fault::HostLies, 0.6) {
                if self.mutant(Mutant::HiddenConfirms) {
                    // The defect: a session that nobody sees counts as visible.
                    let session = self.session_id(at);
                    let seen = HostReport { session, report: Report::Visible(true) };
                    self.offer(Input::HostReport(seen), Waiter::Nobody);
                }
                self.report(at, Report::Foreground { activation });
            }
        } else if self.strikes(Fault::HostFails, 0.3) {
            self.report(at, Report::Failed { activation });
        } else {
            self.report(at, Report::Foreground { activation });
        }
    }

    /// Every session shows what is durable (I23).
    pub(super) fn check_hosts(&mut self) {
        let Some(engine) = &self.engine else { return };
        let view = engine.durable().host_view();
        let behind: Vec<String> = self
            .sessions
            .iter()
            .filter(|session| session.connected && session.told.as_ref() != Some(&view))
            .map(|session| format!("{} shows {:?}, not {view:?}", session.id, session.told))
            .collect();
        self.coverage.look("I23");
        for what in behind {
            self.fail("I23", what);
        }
    }
}
