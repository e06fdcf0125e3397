//! What is durable, as JSON tables: built from nothing but the batches that the store took.

use std::collections::{BTreeMap, BTreeSet};

use lineup_core::{
    Kept, Seq, TimeLine,
    call::{Call, CallState},
    journal::{Happened, JournalRow},
    outbox::OutboxKey,
    workspace::change_set::EntryChange,
};
use lineup_model::{CallKey, message::AgentBody};
use lineup_ports::outbound::Commit;
use serde_json::{Value, json};

/// The words of an outcome.
pub(super) const ENDS: [&str; 5] = ["completed", "failed", "cancelled", "expired", "rejected"];

/// The tables that the checker looks at. Ended rows stay in.
#[derive(Debug, Default)]
pub struct Ledger {
    commit: u64,
    effective: u64,
    /// Where effective time stood at the last commit.
    pub time: Option<TimeLine>,
    change: u64,
    inventories: BTreeMap<(String, String), String>,
    calls: BTreeMap<Seq, Value>,
    waiting: BTreeMap<Seq, String>,
    activations: BTreeMap<String, Value>,
    instances: BTreeMap<String, Value>,
    focus: Vec<String>,
    operations: BTreeMap<String, Value>,
    outbox: BTreeMap<OutboxKey, Value>,
    audit: Vec<Value>,
    documents: BTreeMap<String, u64>,
    surfaces: BTreeMap<(String, String), Value>,
    /// The changes of those in the last batch.
    shown: Vec<Value>,
    entries: BTreeSet<String>,
    /// What is wrong with the batches themselves: rows that are not consecutive, revisions that skip.
    pub faults: Vec<(&'static str, String)>,
    /// How often those things were looked at.
    pub looked: BTreeMap<&'static str, u64>,
}

impl Ledger {
    fn check(&mut self, invariant: &'static str, holds: bool, what: impl FnOnce() -> String) {
        *self.looked.entry(invariant).or_default() += 1;
        if !holds {
            self.faults.push((invariant, what()));
        }
    }

    /// Takes a durable batch in.
    pub fn apply(&mut self, commit: &Commit) {
        self.check("I16", commit.number == self.commit + 1, || format!("batch {} does not follow", commit.number));
        self.commit = commit.number;
        self.audit.clear();
        self.shown.clear();
        for set in &commit.changes {
            self.change += 1;
            if let Some(time) = &set.time {
                let grows = self.time.as_ref().is_none_or(|was| was.effective <= time.effective);
                self.check("I38", grows, || format!("effective time went back to {:?}", time.effective));
                self.effective = time.effective.0;
                self.time = Some(time.clone());
            }
            // One that begins and ends in the same change has a row before its end is read.
            for change in &set.activations {
                if let Kept::Put(activation) = change {
                    let id = activation.id.to_string();
                    let row = json!({
                        "id": id, "instance": activation.instance, "state": "starting", "states": ["starting"],
                        "causing": activation.cause,
                    });
                    self.activations.entry(id).or_insert(row);
                }
            }
            let mut audited = BTreeSet::new();
            for row in &set.journal {
                self.journal(row);
                audited.insert(row.subject.to_string());
            }
            for change in &set.entries {
                if let EntryChange::Taken { key, .. } = change {
                    let name = format!("{key:?}");
                    let new = self.entries.insert(name.clone());
                    self.check("I1", new, || format!("{name} was taken in twice"));
                }
            }
            for change in &set.instances {
                let id = match change {
                    Kept::Put(instance) => {
                        let id = instance.id.to_string();
                        let row = self.instances.entry(id.clone()).or_insert_with(|| {
                            json!({
                                "id": id, "conversation": instance.conversation, "app_scope": instance.app_scope,
                            })
                        });
                        row["state"] = json!(instance.state);
                        id
                    }
                    Kept::Gone(id) => {
                        self.stand_down(id.as_str(), None);
                        if let Some(row) = self.instances.get_mut(id.as_str()) {
                            row["state"] = "closed".into();
                        }
                        id.to_string()
                    }
                };
                self.check("I18", audited.contains(&id), || format!("instance {id} changed without an audit row"));
            }
            for change in &set.calls {
                match change {
                    Kept::Put(call) => self.call(call),
                    Kept::Gone(key) => {
                        if let Some(seq) = Seq::of_call(key) {
                            self.waiting.remove(&seq);
                        }
                    }
                }
            }
            for change in &set.activations {
                if let Kept::Put(activation) = change {
                    self.stand_down(activation.instance.as_str(), Some(activation.id.as_str()));
                }
            }
            for change in &set.operations {
                if let Kept::Put(operation) = change {
                    let mut row = json!({
                        "id": operation.id, "call": operation.call, "instance": operation.instance,
                        "conversation": operation.conversation, "app_scope": operation.app_scope, "state": "running",
                        "created_at": operation.started.effective, "needs_foreground": operation.rule.needs_foreground,
                        "ends_on_leaving": operation.rule.ends_on_leaving,
                    });
                    if let Some(deadline) = operation.deadline {
                        row["deadline_at"] = json!(deadline);
                    }
                    if let Some(exclusive) = operation.rule.exclusive {
                        row["exclusive"] = json!(exclusive);
                    }
                    self.operations.insert(operation.id.to_string(), row);
                }
            }
            for document in &set.documents {
                let (id, revision) = (document.head.session.to_string(), document.head.revision);
                let was = self.documents.insert(id.clone(), revision).unwrap_or(0);
                self.check("I17", revision == was + 1, || format!("{id} goes from revision {was} to {revision}"));
                self.check("I18", audited.contains(&id), || format!("{id} changed without an audit row"));
            }
            for change in &set.surfaces {
                match change {
                    Kept::Put(document) => {
                        let (instance, surface) = (document.instance.to_string(), document.surface.to_string());
                        self.check("I18", audited.contains(&instance), || {
                            format!("what {instance} shows changed without an audit row")
                        });
                        let row = json!({
                            "instance": instance, "surface": surface, "revision": document.revision,
                            "data": document.data.as_ref(),
                        });
                        self.shown.push(row.clone());
                        self.surfaces.insert((instance, surface), row);
                    }
                    Kept::Gone((instance, surface)) => {
                        self.surfaces.remove(&(instance.to_string(), surface.to_string()));
                    }
                }
            }
            if let Some(focus) = &set.focus {
                self.focus = focus.entries().iter().map(ToString::to_string).collect();
            }
            for key in &set.outbox_removed {
                if self.outbox.get(key).is_some_and(|row| row["dead"] != true) {
                    self.outbox.remove(key);
                }
            }
            for publication in &set.publications {
                let key = (publication.conversation.to_string(), publication.agent.to_string());
                self.inventories.insert(key, publication.revision.0.to_string());
            }
        }
    }

    /// An activation that was ready is over once its instance closes, or is to be brought forward anew:
    /// all but the `newest` are.
    fn stand_down(&mut self, instance: &str, newest: Option<&str>) {
        for (id, activation) in &mut self.activations {
            if activation["instance"] == instance && activation["state"] == "ready" && newest != Some(id.as_str()) {
                enter(activation, "closed".into());
            }
        }
        if let (Some(row), Some(newest)) = (self.instances.get_mut(instance), newest) {
            row["attempt"] = json!(newest);
        }
    }

    fn call(&mut self, call: &Call) {
        let seq = call.accepted_at();
        let row = self.calls.entry(seq).or_insert_with(|| unknown(call.key()));
        // The rows of a change set are read before its records: one that ended in it has ended.
        if !ENDS.iter().any(|end| row["status"] == *end) {
            row["status"] = json!(call.status());
        }
        if let Some(instance) = &call.instance {
            row["instance"] = json!(instance);
        }
        match &call.state {
            CallState::Waiting { activation } => self.waiting.insert(seq, activation.to_string()),
            CallState::WaitingForTurn
            | CallState::NeedsYou
            | CallState::Running { .. }
            | CallState::Operating { .. } => self.waiting.remove(&seq),
        };
    }

    fn journal(&mut self, row: &JournalRow) {
        let mut told = json!({
            "seq": row.seq, "source": row.origin.source, "actor": row.origin.actor,
            "happened": row.happened.as_str(), "change": self.change,
        });
        if let Some(call) = &row.call {
            told["call"] = json!(call);
        }
        self.audit.push(told);
        if let (Happened::CallAccepted, Some(facts)) = (row.happened, &row.body.call) {
            let value = json!({
                "key": facts.key, "conversation": facts.address.conversation, "agent": facts.address.agent,
                "call_id": facts.address.call_id, "tool": facts.tool, "contract_version": facts.contract_version,
                "digest": facts.descriptor, "revision": facts.revision, "app_scope": facts.app_scope,
                "input": facts.input.as_ref(), "status": "received", "order": row.seq, "change": self.change,
                "journal": [],
            });
            self.calls.insert(row.seq, value);
        }
        let detail = row.body.detail.as_ref();
        match row.happened {
            Happened::ActivationEnded => {
                if let (Some(found), Some(detail)) = (self.activations.get_mut(row.subject.as_ref()), detail) {
                    enter(found, detail["end"].clone());
                }
            }
            Happened::OperationEnded => {
                if let (Some(found), Some(detail)) = (self.operations.get_mut(row.subject.as_ref()), detail) {
                    let ended = &detail["ended"];
                    found["state"] = ended["end"].clone();
                    found["ended_at"] =
                        if ended["ended"].is_u64() { ended["ended"].clone() } else { json!(row.at.effective) };
                    found["late"] = json!(ended["late_by_ms"].as_u64().is_some_and(|late| late > 0));
                }
            }
            Happened::MessageDead => {
                for (key, message) in &mut self.outbox {
                    if key.seq.message_id(key.index as usize).as_str() == row.subject.as_ref() {
                        message["dead"] = json!(true);
                    }
                }
            }
            _ => {}
        }
        for (index, sent) in (0_u32..).zip(&row.body.messages) {
            let key = OutboxKey { seq: row.seq, index };
            let kind = match &sent.message.body {
                AgentBody::Receipt(_) => "receipt",
                AgentBody::Outcome(_) => "outcome",
                AgentBody::Inventory { .. } => "inventory",
                AgentBody::Text { .. } => "text",
            };
            let mut queued = json!({
                "message_id": sent.message.id, "conversation": sent.message.conversation,
                "recipient": sent.recipient, "seq": row.seq.0 * 1_000 + u64::from(index), "kind": kind, "dead": false,
            });
            if let Some(call) = &row.call {
                queued["call"] = json!(call);
                let entry = match &sent.message.body {
                    AgentBody::Receipt(receipt) => Some(json!({
                        "kind": "receipt", "seq": receipt.seq, "stage": receipt.stage,
                        "message_id": sent.message.id, "change": self.change,
                    })),
                    AgentBody::Outcome(outcome) => {
                        let mut entry = serde_json::to_value(&outcome.end).expect("an end is plain JSON");
                        if let Some(code) = outcome.end.code() {
                            entry["code"] = json!(code);
                        }
                        entry["kind"] = "outcome".into();
                        entry["message_id"] = json!(sent.message.id);
                        entry["change"] = json!(self.change);
                        Some(entry)
                    }
                    AgentBody::Inventory { .. } | AgentBody::Text { .. } => None,
                };
                if let (Some(entry), Some(seq)) = (entry, Seq::of_call(call)) {
                    let found = self.calls.entry(seq).or_insert_with(|| unknown(call));
                    if entry["kind"] == "outcome" {
                        found["status"] = entry["status"].clone();
                    }
                    if let Some(journal) = found["journal"].as_array_mut() {
                        journal.push(entry);
                    }
                }
            }
            self.outbox.insert(key, queued);
        }
    }

    /// The number of the last batch.
    #[must_use]
    pub fn commit(&self) -> u64 {
        self.commit
    }

    /// The tables, as the checker wants them.
    #[must_use]
    pub fn dump(&self) -> Value {
        let rows = |table: &BTreeMap<String, Value>| table.values().cloned().collect::<Vec<_>>();
        let mut activations = rows(&self.activations);
        let instances = rows(&self.instances);
        for activation in &mut activations {
            let id = activation["id"].as_str().unwrap_or_default();
            let waiting: Vec<String> =
                self.waiting.iter().filter(|(_, on)| *on == id).map(|(seq, _)| seq.call_key().to_string()).collect();
            activation["waiting"] = json!(waiting);
        }
        let inventories: Vec<Value> = self
            .inventories
            .iter()
            .map(|((conversation, agent), revision)| {
                json!({ "conversation": conversation, "agent": agent, "revision": revision })
            })
            .collect();
        json!({
            "commit": self.commit, "effective_ms": self.effective, "inventories": inventories,
            "calls": self.calls.values().cloned().collect::<Vec<_>>(), "activations": activations,
            "instances": instances, "focus": self.focus, "operations": rows(&self.operations),
            "outbox": self.outbox.values().cloned().collect::<Vec<_>>(), "audit": self.audit,
            "surfaces": self.surfaces.values().cloned().collect::<Vec<_>>(), "shown": self.shown,
        })
    }
}

/// An activation is in this state from now on; the ones before are kept, as a batch may hold several.
fn enter(activation: &mut Value, state: Value) {
    if let Some(states) = activation["states"].as_array_mut() {
        states.push(state.clone());
    }
    activation["state"] = state;
}

fn unknown(key: &CallKey) -> Value {
    json!({ "key": key, "status": "unknown", "journal": [] })
}
