//! The loop around the engine: what the actor and the reconcilers do, in one thread.

use std::collections::BTreeSet;

use lineup_core::{
    Answer, Input, Rejected, Workspace,
    workspace::input::{AgentInput, AgentRequest},
};
use lineup_model::{
    AgentId, ConversationId, ErrorCode, InstanceId, MessageId,
    message::{AgentBody, Refusal},
};
use lineup_ports::outbound::Item;
use lineup_runtime::{Effects, Engine, Standing, Ticket};
use rand::Rng;
use serde_json::json;

use super::{Happening, World};
use crate::{coverage, plan::Fault, zoo::Mutant};

/// Whoever waits for a ticket.
#[derive(Debug)]
pub(super) enum Waiter {
    /// Nobody.
    Nobody,
    /// The recovery: until it is durable nobody is told anything.
    Recovery,
    /// A delivery of the relay's.
    Delivery { token: u64, agent: AgentId, message: MessageId, conversation: ConversationId },
    /// A handler.
    Handler { instance: InstanceId, launch: u32, item: Item },
    /// A MiniApp that reads its inbox.
    Inbox { instance: InstanceId, launch: u32 },
    /// Another process took the workspace: the request must be told so.
    Fenced,
}

impl World {
    /// The process comes up on what is durable.
    pub(super) fn come_up(&mut self) {
        if self.engine.is_some() {
            return;
        }
        self.reckon();
        let at = i64::try_from(self.effective()).unwrap_or(0);
        self.oracle.clock(at);
        if self.life > 0 {
            self.oracle.restarted(&self.ledger.dump(), at);
        }
        let mut opened = match self.gate.open(&self.workspace) {
            Ok(opened) => opened,
            Err(error) => return self.fail("I68", format!("the workspace cannot be opened: {error}")),
        };
        if self.mutant(Mutant::FocusForgotten) {
            opened.records.focus = lineup_core::focus::FocusStack::cleared();
        }
        if self.mutant(Mutant::OperationsForgotten) {
            opened.records.operations.clear();
        }
        if self.mutant(Mutant::SurfacesForgotten) {
            opened.records.surfaces.clear();
        }
        if self.mutant(Mutant::OutboxForgotten) {
            opened.records.outbox.clear();
        }
        let engine = Engine::new(self.workspace.clone(), opened, &self.reading());
        self.engine = Some(engine);
        self.say(&format!("life {} begins at batch {}", self.life, self.ledger.commit()));
        self.check_against_ledger();
        let manifests = self.manifests.clone();
        self.offer(Input::Recovered { manifests }, Waiter::Recovery);
        self.pump();
    }

    /// Offers an input and remembers who waits for the answer.
    pub(super) fn offer(&mut self, input: Input, waiter: Waiter) {
        let Some(engine) = &mut self.engine else { return };
        self.offered += 1;
        let quiet = engine.backlog() == 0;
        self.coverage.offered(&input, engine.head(), quiet);
        self.log.say(self.now, &format!("-> {}", coverage::line(&input)));
        let ticket = engine.offer(input);
        self.waiters.insert(ticket, waiter);
    }

    /// Decides, commits and carries out, as far as it goes without waiting.
    pub(super) fn pump(&mut self) {
        loop {
            let Some(engine) = &mut self.engine else { return };
            let mut moved = false;
            if let Some(needs) = engine.take_needs() {
                self.fetch(&needs);
                moved = true;
            }
            let Some(engine) = &mut self.engine else { return };
            if let Some(commit) = engine.take_batch() {
                if self.mutant(Mutant::SendsBeforeCommit) {
                    let early: Vec<_> = commit
                        .changes
                        .iter()
                        .flat_map(|set| &set.journal)
                        .flat_map(|row| row.body.messages.clone())
                        .collect();
                    self.transmit(early);
                }
                self.commit(commit);
                moved = true;
            }
            let Some(engine) = &mut self.engine else { return };
            let effects = engine.take_effects();
            if effects != Effects::default() {
                self.carry_out(effects);
                moved = true;
            }
            if !moved {
                break;
            }
        }
        let Some(engine) = &self.engine else { return };
        match engine.standing() {
            Standing::Unavailable | Standing::Unknown if !self.helping => {
                self.helping = true;
                self.after(250, Happening::Help(self.life));
            }
            Standing::Unavailable | Standing::Unknown | Standing::Serving | Standing::Fenced => {}
        }
        self.wind_up();
    }

    /// The next alarm rings a little late, never early.
    fn wind_up(&mut self) {
        let Some(engine) = &self.engine else { return };
        if engine.standing() != Standing::Serving {
            return;
        }
        let Some(alarm) = engine.durable().next_alarm() else { return };
        let due = self.now + alarm.since(engine.time().effective).max(5);
        if self.ticking.is_none_or(|at| at > due) {
            let late = if self.calm { 0 } else { self.rng.random_range(0..400) };
            self.ticking = Some(due);
            self.after(due - self.now + late, Happening::Tick(self.life));
        }
    }

    pub(super) fn tick(&mut self) {
        self.ticking = None;
        let Some(engine) = &self.engine else { return };
        if engine.durable().next_alarm().is_some_and(|at| at <= engine.time().effective)
            && !self.mutant(Mutant::ClockStopped)
        {
            // What is due may have been decided and not be durable yet: then it is asked again.
            if engine.backlog() == 0 {
                self.offer(Input::Clock, Waiter::Nobody);
            }
        }
    }

    fn carry_out(&mut self, effects: Effects) {
        let Effects { settled, mut send, handed, actions, over, inbox, moved, activating, processes, shape } = effects;
        let mut acknowledged = Vec::new();
        let life = self.life;
        for (ticket, outcome) in settled {
            self.answer(ticket, outcome, &mut acknowledged);
            if self.life != life {
                // A recovery that was refused ended the process: nothing else follows from it.
                return;
            }
        }
        let Some(engine) = &self.engine else { return };
        // A superseded inventory that was not sent yet is not worth sending.
        send.retain(|sent| match &sent.message.body {
            AgentBody::Inventory { sequence, .. } => {
                engine.durable().is_current(&sent.recipient, &sent.message.conversation, *sequence)
            }
            AgentBody::Receipt(_) | AgentBody::Outcome(_) | AgentBody::Text { .. } => true,
        });
        if !self.mutant(Mutant::SendsBeforeCommit) {
            self.transmit(send);
        }
        for token in acknowledged {
            self.relay_acknowledged(token);
        }
        let quiet = handed.is_empty()
            && actions.is_empty()
            && over.is_empty()
            && inbox.is_empty()
            && moved.is_empty()
            && activating.is_empty()
            && processes.is_empty()
            && !shape;
        if !quiet && self.serving {
            self.reconcile();
        }
    }

    fn answer(&mut self, ticket: Ticket, outcome: Result<Answer, Box<Rejected>>, acknowledged: &mut Vec<u64>) {
        let Some(waiter) = self.waiters.remove(&ticket) else {
            return self.fail("I6", format!("{ticket:?} was settled twice"));
        };
        let word = match &outcome {
            Ok(Answer::Refused(fault)) => format!("refused {}", fault.code),
            Ok(_) => "done".to_owned(),
            Err(rejected) => format!("rejected {}", rejected.fault.code),
        };
        self.say(&format!("<- {word} for {waiter:?}"));
        // Judged where the Runtime says it: on its way to the agent a refusal may be older than its cause.
        if let Err(rejected) = &outcome
            && rejected.fault.code == ErrorCode::Internal
            && !self.excuses_internal()
        {
            self.fail("CALL-3", format!("a fault of the Runtime's own without a cause: {rejected:?}"));
        }
        self.coverage.settled(&outcome);
        match waiter {
            Waiter::Nobody => {}
            Waiter::Recovery => {
                if outcome.is_err() {
                    // A process that cannot recover ends, and is started again.
                    self.after(1, Happening::Trouble);
                    return self.crash(false);
                }
                self.serving = true;
                self.reconcile();
                let after = self.within(1, 2_000);
                self.after(after, Happening::Connect(self.life));
                for at in 0..self.sessions.len() {
                    let after = self.within(1, 4_000);
                    self.after(after, Happening::HostActs(at));
                }
            }
            Waiter::Delivery { token, agent, message, conversation } => {
                if let Err(rejected) = outcome {
                    let refusal = Refusal {
                        in_reply_to: message,
                        call_id: rejected.call_id,
                        error: rejected.fault,
                        current_revision: rejected.current_revision,
                    };
                    self.refuse(agent, &conversation, &refusal);
                }
                acknowledged.push(token);
            }
            Waiter::Handler { instance, launch, item } => self.handler_hears(&instance, launch, &item, outcome),
            Waiter::Inbox { instance, launch } => self.inbox_hears(&instance, launch, outcome),
            Waiter::Fenced => {
                let told = outcome.as_ref().is_err_and(|rejected| rejected.fault.code == ErrorCode::WorkspaceMoved);
                if !told {
                    self.fail("I6", format!("a lost workspace answers {outcome:?}"));
                }
            }
        }
    }

    /// Works the world towards what is durable.
    pub(super) fn reconcile(&mut self) {
        self.reconcile_apps();
        self.reconcile_hosts();
    }

    /// What is live in memory is what the store has, and recovering twice gives the same (I68).
    pub(super) fn check_recovery(&mut self) {
        let Some(engine) = &self.engine else { return };
        let live = live(engine.durable());
        let (first, second) = match (self.gate.open(&self.workspace), self.gate.open(&self.workspace)) {
            (Ok(first), Ok(second)) => (first, second),
            _ => return self.fail("I68", "the workspace cannot be opened".to_owned()),
        };
        let recovered = self::live(Engine::new(self.workspace.clone(), first.clone(), &self.reading()).durable());
        self.coverage.look("I68");
        if recovered != live {
            self.fail("I68", format!("what is recovered is not what was live:\n{recovered}\n{live}"));
        } else if first.records != second.records || first.last_batch != second.last_batch {
            self.fail("I68", "recovering twice is not recovering once".to_owned());
        }
    }

    /// The engine's durable state agrees with the tables (when nothing is at the store).
    pub(super) fn check_against_ledger(&mut self) {
        let Some(engine) = &self.engine else { return };
        if engine.standing() != Standing::Serving || engine.backlog() > 0 {
            return;
        }
        let dump = self.ledger.dump();
        let durable = engine.durable();
        let listed = |table: &str, key: &str, keep: &dyn Fn(&serde_json::Value) -> bool| -> BTreeSet<String> {
            let rows = dump[table].as_array().map_or(&[][..], Vec::as_slice);
            rows.iter().filter(|row| keep(row)).filter_map(|row| row[key].as_str().map(str::to_owned)).collect()
        };
        let pairs = [
            (
                "calls",
                listed("calls", "key", &|row| !super::ledger::ENDS.iter().any(|word| row["status"] == *word)),
                durable.calls().map(|call| call.key().to_string()).collect::<BTreeSet<_>>(),
            ),
            (
                "instances",
                listed("instances", "id", &|row| row["state"] != "closed"),
                durable.instances().map(|instance| instance.id.to_string()).collect(),
            ),
            (
                "activations",
                listed("activations", "id", &|row| row["state"] == "starting"),
                durable.activations().map(|activation| activation.id.to_string()).collect(),
            ),
            (
                "operations",
                listed("operations", "id", &|row| row["state"] == "running"),
                durable.operations().map(|operation| operation.id.to_string()).collect(),
            ),
        ];
        let mut wrong = Vec::new();
        for (table, stored, held) in pairs {
            if stored != held {
                wrong.push(format!("{table}: the store has {stored:?}, memory has {held:?}"));
            }
        }
        if dump["focus"] != json!(durable.focus().entries()) {
            wrong.push("focus".to_owned());
        }
        self.coverage.look("I19");
        for what in wrong {
            self.fail("I19", what);
        }
    }

    /// Another process has the workspace: this one stops, and says so.
    pub(super) fn lose_the_workspace(&mut self) {
        self.take_over();
        let sends = self.relay.handed();
        let request = AgentRequest::Text { text: "is anyone there".into() };
        let asked = AgentInput {
            agent: crate::apps::id("ann"),
            message: crate::apps::id("last"),
            conversation: crate::apps::id("main"),
            request,
        };
        self.offer(Input::Agent(asked), Waiter::Fenced);
        self.pump();
        while self.step() {}
        self.coverage.look("I20");
        let standing = self.engine.as_ref().map(Engine::standing);
        if standing != Some(Standing::Fenced) || self.relay.handed() != sends || !self.waiters.is_empty() {
            self.fail("I20", format!("{standing:?} after another process took the workspace"));
        }
    }

    pub(super) fn serves(&self) -> bool {
        self.engine.is_some() && self.serving
    }

    /// A refusal goes out like any message, but is not remembered.
    pub(super) fn refuse(&mut self, agent: AgentId, conversation: &ConversationId, refusal: &Refusal) {
        let message: MessageId = crate::apps::id(&self.mint('r'));
        let bytes = lineup_wire::encode_refusal(&message, conversation, refusal);
        self.hand_over_to_relay(message, agent, bytes);
    }

    /// Whether a fault of the handler's strikes: decided by the work alone, so that it runs again the
    /// same way.
    pub(super) fn has(&self, fault: Fault) -> bool {
        self.plan.has(fault)
    }
}

/// What is live, for comparing: without what is only true as long as the process lives.
fn live(workspace: &Workspace) -> String {
    let calls: Vec<_> = workspace.calls().collect();
    let outbox: Vec<_> = workspace.outbox().collect();
    let inbox: Vec<_> = workspace.inbox().collect();
    let actions: Vec<_> = workspace.actions().collect();
    let instances: Vec<_> = workspace.instances().collect();
    let activations: Vec<_> = workspace.activations().collect();
    let operations: Vec<_> = workspace.operations().collect();
    let surfaces: Vec<_> = workspace.surfaces().collect();
    let conversations: Vec<_> = workspace.conversations().collect();
    let apps: Vec<_> = workspace.apps().map(|app| app.manifest.digest.clone()).collect();
    let inventories: Vec<_> = workspace
        .conversations()
        .flat_map(|room| room.agents.iter().map(|agent| workspace.inventory(agent, &room.id).cloned()))
        .map(|inventory| inventory.map(|found| found.revision.clone()))
        .collect();
    format!(
        "{:?}\n{calls:?}\n{outbox:?}\n{inbox:?}\n{actions:?}\n{instances:?}\n{activations:?}\n{operations:?}\n\
         {surfaces:?}\n{conversations:?}\n{apps:?}\n{inventories:?}\n{:?}\n{:?}\n{:?}",
        workspace.last(),
        workspace.focus(),
        workspace.policy(),
        workspace.host_profile(),
    )
}
