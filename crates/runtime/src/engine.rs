//! The engine: a synchronous loop around the deciding workspace.
//!
//! `offer` takes inputs in, `take_needs` and `fetched` bring the facts, `take_batch` and `settled`
//! commit what was decided, `take_effects` hands out what follows from what is durable. It knows no
//! task, no socket and no clock: the actor, the simulation and the counters drive it alike.
//!
//! Two states: `head` is what was decided, `durable` is what was committed. Deciding reads `head`;
//! everything that leaves reads `durable`. A batch that was not committed takes `head` back to
//! `durable`, and its inputs are decided again.

use std::{
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use lineup_core::{
    Answer, ChangeSet, Decision, Facts, Input, Kept, Known, Needs, Rejected, Seq, TimeLine, Volatile, Workspace,
    call::CallState,
    journal::{Addressed, Origin, Source},
    outbox::OutboxKey,
    workspace::{
        change_set::{EntryChange, EntryKey, RefusalCount},
        facts::{Fetched, FinishedCall},
        input::{AppReport, TransportReport},
    },
};
use lineup_model::{
    ErrorCode, WorkspaceId,
    message::{AgentBody, Fault},
};
use lineup_ports::outbound::{Cause, ClockReading, Commit, Committed, Epoch, Opened};

use crate::{
    effects::{Effects, Over, Ticket},
    recent::Recent,
};

/// Decisions in one batch.
const BATCH_DECISIONS: usize = 64;
/// Bytes in one batch, roughly.
const BATCH_BYTES: usize = 256 * 1024;
/// How often in a row a batch may turn out to have been decided on facts that were too old.
const STALE_FACTS: u32 = 3;
/// Inputs that wait to be decided: while the store takes nothing, or while facts are on the way.
const RETAINED: usize = 100_000;

/// An input that has not been decided, or is to be decided again.
#[derive(Debug)]
struct Offered {
    ticket: Ticket,
    input: Arc<Input>,
}

/// A decision that is not durable yet.
#[derive(Debug)]
struct Decided {
    offered: Offered,
    outcome: Result<Decision, Box<Rejected>>,
    bytes: usize,
}

/// A batch at the store.
#[derive(Debug)]
struct InFlight {
    number: u64,
    decided: Vec<Decided>,
    riding: Vec<OutboxKey>,
    refusals: Vec<RefusalCount>,
    /// The state once it is durable.
    after: Workspace,
}

/// Whether the store takes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Serving,
    /// It does not; a probe tells when it does again.
    Unavailable,
    /// Nobody knows what became of the batch; the store is to be reopened.
    Unknown,
    /// Another process owns the workspace. Final.
    Fenced,
}

/// Counts what does not depend on a clock (G12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Inputs decided, also those decided again.
    pub decided: u64,
    /// Decisions that were rejections.
    pub rejected: u64,
    /// Batches committed.
    pub batches: u64,
    /// Inputs that were answered from a panic of ours.
    pub panics: u64,
}

/// The engine of one workspace.
#[derive(Debug)]
pub struct Engine {
    workspace: WorkspaceId,
    epoch: Epoch,
    head: Workspace,
    durable: Workspace,
    time: TimeLine,
    next_ticket: u64,
    /// Offered, and not yet asked about.
    arrivals: VecDeque<Offered>,
    /// Asked about; their facts are on the way. With the number of the batch that was durable then.
    fetching: Option<(Vec<Offered>, u64)>,
    /// Whether a fetch was made since the batch that is out was taken: one is enough for the next.
    fetched_meanwhile: bool,
    /// Decided, and not yet at the store.
    decided: VecDeque<Decided>,
    in_flight: Option<InFlight>,
    last_batch: u64,
    /// What was taken in or ended lately: a fetch that is out may not have seen it, and most repeats
    /// are of it.
    recent: Recent,
    /// Acknowledged messages whose removal rides the next batch.
    riding: Vec<OutboxKey>,
    refusals: BTreeMap<(Source, Arc<str>, ErrorCode, i64), u64>,
    /// How many decisions are to be committed one by one, to find the one that cannot be stored.
    singly: usize,
    /// How often in a row a batch was decided on facts that were too old.
    stale_facts: u32,
    standing: Standing,
    /// Whether what may wait is to be committed as well: at the end.
    flushing: bool,
    effects: Effects,
    counters: EngineCounters,
}

impl Engine {
    /// The engine of a workspace that was just opened, at this reading of the clocks.
    #[must_use]
    pub fn new(workspace: WorkspaceId, opened: Opened, reading: &ClockReading) -> Self {
        let Opened { epoch, last_batch, records } = opened;
        let time = match &records.time {
            Some(time) => time.at(&reading.boot, reading.boot_ms, reading.wall),
            None => TimeLine::start(reading.boot.clone(), reading.boot_ms, reading.wall),
        };
        let durable = Workspace::restore(workspace.clone(), records);
        Self {
            workspace,
            epoch,
            head: durable.clone(),
            durable,
            time,
            next_ticket: 0,
            arrivals: VecDeque::new(),
            fetching: None,
            fetched_meanwhile: false,
            decided: VecDeque::new(),
            in_flight: None,
            last_batch,
            recent: Recent::default(),
            riding: Vec::new(),
            refusals: BTreeMap::new(),
            singly: 0,
            stale_facts: 0,
            standing: Standing::Serving,
            flushing: false,
            effects: Effects::default(),
            counters: EngineCounters::default(),
        }
    }

    /// What is durable. Everything that leaves the Runtime reads this.
    #[must_use]
    pub fn durable(&self) -> &Workspace {
        &self.durable
    }

    /// What was decided. For the simulation and the checkers.
    #[must_use]
    pub fn head(&self) -> &Workspace {
        &self.head
    }

    /// Whether the store takes anything.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Effective time at the last reading of the clocks.
    #[must_use]
    pub fn time(&self) -> &TimeLine {
        &self.time
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> EngineCounters {
        self.counters
    }

    /// Inputs and decisions that are not durable yet. A batch that only tidies up counts as one.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.arrivals.len()
            + self.fetching.as_ref().map_or(0, |(inputs, _)| inputs.len())
            + self.decided.len()
            // A batch that only tidies up is not durable yet either.
            + self.in_flight.as_ref().map_or(0, |batch| batch.decided.len().max(1))
    }

    /// Moves effective time on to this reading of the clocks. It never goes back (OP-4).
    pub fn read_clock(&mut self, reading: &ClockReading) {
        self.time = self.time.at(&reading.boot, reading.boot_ms, reading.wall);
    }

    /// Takes an input in. The ticket is settled once, when what follows from it is durable.
    pub fn offer(&mut self, input: Input) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        match self.standing {
            Standing::Serving | Standing::Unknown | Standing::Unavailable => {
                let kept = self.standing != Standing::Unavailable || retained(&input);
                if !kept || self.arrivals.len() >= RETAINED {
                    self.refuse(ticket, &input, storage_unavailable());
                    return ticket;
                }
            }
            Standing::Fenced => {
                self.refuse(ticket, &input, moved());
                return ticket;
            }
        }
        self.arrivals.push_back(Offered { ticket, input: Arc::new(input) });
        ticket
    }

    /// What has to be fetched before the inputs that have arrived can be decided. With nothing to
    /// fetch they are decided at once. One fetch is out at a time, and one per batch.
    pub fn take_needs(&mut self) -> Option<Needs> {
        let enough = self.in_flight.is_some() && self.fetched_meanwhile;
        if self.fetching.is_some() || enough || self.standing != Standing::Serving {
            return None;
        }
        while !self.arrivals.is_empty() {
            let inputs: Vec<Offered> = self.arrivals.drain(..).collect();
            let mut needs = Needs::default();
            for offered in &inputs {
                let Needs { entries, calls, documents } = self.head.needs(&offered.input);
                needs.entries.extend(entries.into_iter().filter(|key| !self.recent.entries.contains_key(key)));
                needs.calls.extend(calls.into_iter().filter(|seq| !self.recent.calls.contains_key(seq)));
                needs.documents.extend(documents);
            }
            if needs.is_empty() {
                self.decide_all(inputs, &Fetched::default());
            } else {
                self.fetching = Some((inputs, self.last_batch));
                self.fetched_meanwhile = true;
                return Some(needs);
            }
        }
        None
    }

    /// As [`Engine::fetched`], with facts that the store had without reading: that was no fetch, and
    /// another one may be out beside the same batch.
    pub fn known(&mut self, fetched: Fetched) {
        self.fetched_meanwhile = false;
        self.fetched(Some(fetched));
    }

    /// Takes the facts in and decides. `None`: they could not be read; the inputs that need them are
    /// refused, the others are decided without.
    pub fn fetched(&mut self, fetched: Option<Fetched>) {
        let Some((inputs, _)) = self.fetching.take() else { return };
        let Some(fetched) = fetched else {
            for offered in inputs.into_iter().rev() {
                if self.head.needs(&offered.input).is_empty() {
                    self.arrivals.push_front(offered);
                } else {
                    self.refuse(offered.ticket, &offered.input, storage_unavailable());
                }
            }
            return;
        };
        if self.standing == Standing::Serving {
            self.decide_all(inputs, &fetched);
        } else {
            // The store stopped meanwhile: they fare like those that come in now.
            for offered in inputs.into_iter().rev() {
                self.arrivals.push_front(offered);
            }
            if self.standing == Standing::Unavailable {
                self.turn_away();
            }
        }
        self.forget_recent();
    }

    fn forget_recent(&mut self) {
        // What was durable before the oldest fetch that may still be out is in its answer. Decided
        // and in-flight ends are of later batches and stay.
        let oldest = self.fetching.as_ref().map_or(self.last_batch, |(_, batch)| *batch);
        self.recent.forget(oldest);
    }

    fn decide_all(&mut self, inputs: Vec<Offered>, fetched: &Fetched) {
        for offered in inputs {
            // What was taken in or ended since the fetch, in this very group even, is known as well.
            let needs = self.head.needs(&offered.input);
            let facts = self.recent.complete(needs, fetched);
            self.decide_one(offered, &facts);
        }
    }

    fn decide_one(&mut self, offered: Offered, fetched: &Fetched) {
        if let Input::Transport(TransportReport::Acknowledged(_)) = &*offered.input {
            self.acknowledged(offered);
            return;
        }
        self.counters.decided += 1;
        let facts = Facts { now: self.time.instant(), fetched };
        let outcome = catch_unwind(AssertUnwindSafe(|| self.head.decide(&offered.input, facts)));
        let outcome = outcome.unwrap_or_else(|_| {
            self.counters.panics += 1;
            Err(Rejected::new(origin(&offered.input), ErrorCode::Internal, "a fault of the runtime's own"))
        });
        let mut bytes = 0;
        match &outcome {
            Ok(decision) => {
                self.remember(&decision.changes);
                self.head.apply(&decision.changes);
                bytes = weight(&offered.input) + decision.changes.journal.len() * 512;
            }
            Err(rejected) => {
                self.counters.rejected += 1;
                self.count_refusal(rejected);
            }
        }
        self.decided.push_back(Decided { offered, outcome, bytes });
    }

    /// An acknowledgement only tidies up: it is true at once, and its removal rides the next batch.
    fn acknowledged(&mut self, offered: Offered) {
        let facts = Facts { now: self.time.instant(), fetched: &Fetched::default() };
        // An acknowledgement is of something that was sent, and so of something durable.
        if let Ok(decision) = self.durable.decide(&offered.input, facts) {
            self.riding.extend(&decision.changes.outbox_removed);
            self.durable.apply(&decision.changes);
            self.head.apply(&decision.changes);
        }
        self.effects.settled.push((offered.ticket, Ok(Answer::Done)));
    }

    fn count_refusal(&mut self, rejected: &Rejected) {
        let minute = self.time.wall.0.div_euclid(60_000);
        let key = (rejected.origin.source, rejected.origin.actor.clone(), rejected.fault.code, minute);
        // Bounded: one row per entry, actor, code and minute; past that the oldest kind is kept.
        if self.refusals.len() < 1_024 || self.refusals.contains_key(&key) {
            *self.refusals.entry(key).or_default() += 1;
        }
    }

    /// Keeps what a fetch that is out, or a later decision of the same group, would not see. Called
    /// before the changes are applied: the calls that end are still in `head`.
    fn remember(&mut self, changes: &ChangeSet) {
        let queued = (self.decided.len() / BATCH_DECISIONS) as u64;
        let batch = self.last_batch + 1 + u64::from(self.in_flight.is_some()) + queued;
        for change in &changes.entries {
            match change {
                // An open call is found in `head` by its address.
                EntryChange::Taken { key: EntryKey::Call(_), .. } => {}
                EntryChange::Taken { key, .. } => self.recent.add(batch, key.clone(), Known::Taken),
                EntryChange::Ended { key: key @ EntryKey::Call(_), seq, ended } => {
                    if let Some(finished) = self.finished(changes, *seq, *ended) {
                        self.recent.add(batch, key.clone(), Known::Call(Arc::new(finished)));
                    }
                }
                // Known since it was taken in.
                EntryChange::Ended { .. } => {}
            }
        }
    }

    /// A call that ends in these changes, as the store will remember it.
    fn finished(&self, changes: &ChangeSet, taken: Seq, ended: Seq) -> Option<FinishedCall> {
        let row = |seq| changes.journal.iter().find(|row| row.seq == seq);
        let open = self.head.call(&taken.call_key()).map(|call| call.facts.clone());
        let facts = open.or_else(|| row(taken)?.body.call.clone())?;
        row(ended)?.body.messages.iter().find_map(|sent| match &sent.message.body {
            AgentBody::Outcome(said) => Some(FinishedCall {
                facts: facts.clone(),
                class: said.end.class(),
                outcome: Some(sent.message.clone()),
            }),
            AgentBody::Receipt(_) | AgentBody::Inventory { .. } | AgentBody::Text { .. } => None,
        })
    }

    /// The next batch for the store, when there is one and none is out. What does not touch the
    /// store becomes durable here.
    pub fn take_batch(&mut self) -> Option<Commit> {
        if self.in_flight.is_some() || self.standing != Standing::Serving {
            return None;
        }
        let mut taken = Vec::new();
        let mut bytes = 0;
        let mut durable = false;
        let limit = if self.singly > 0 { 1 } else { BATCH_DECISIONS };
        while taken.len() < limit && bytes < BATCH_BYTES {
            let Some(next) = self.decided.pop_front() else { break };
            bytes += next.bytes;
            durable |= next.outcome.as_ref().is_ok_and(|decision| decision.changes.is_durable());
            taken.push(next);
        }
        self.singly = self.singly.saturating_sub(taken.len());
        let tidying = self.flushing && (!self.riding.is_empty() || !self.refusals.is_empty());
        if taken.is_empty() && !tidying {
            return None;
        }
        let after = if self.decided.is_empty() { self.head.clone() } else { self.after(&taken) };
        if !durable && !tidying {
            self.durable = after;
            self.release(taken);
            return None;
        }
        self.fetched_meanwhile = self.fetching.is_some();
        let number = self.last_batch + 1;
        let riding = std::mem::take(&mut self.riding);
        let refusals: Vec<RefusalCount> = std::mem::take(&mut self.refusals)
            .into_iter()
            .map(|((source, actor, code, minute), count)| RefusalCount { source, actor, code, minute, count })
            .collect();
        let mut changes: Vec<ChangeSet> = taken
            .iter()
            .filter_map(|decided| decided.outcome.as_ref().ok())
            .filter(|decision| decision.changes.is_durable())
            .map(|decision| decision.changes.clone())
            .collect();
        changes.push(ChangeSet {
            outbox_removed: riding.clone(),
            refusals: refusals.clone(),
            time: Some(self.time.clone()),
            ..ChangeSet::default()
        });
        let commit = Commit { workspace: self.workspace.clone(), epoch: self.epoch, number, changes };
        self.in_flight = Some(InFlight { number, decided: taken, riding, refusals, after });
        Some(commit)
    }

    /// The durable state with these decisions.
    fn after(&self, taken: &[Decided]) -> Workspace {
        let mut after = self.durable.clone();
        for decided in taken {
            if let Ok(decision) = &decided.outcome {
                after.apply(&decision.changes);
            }
        }
        after
    }

    /// Takes the store's answer in.
    pub fn settled(&mut self, answer: Committed) {
        match answer {
            Committed::Committed => self.committed(),
            Committed::NothingChanged(cause) => self.nothing_changed(cause),
            Committed::Unknown => self.standing = Standing::Unknown,
            Committed::Fenced => {
                self.standing = Standing::Fenced;
                self.drop_everything(&moved());
            }
        }
    }

    /// After [`Standing::Unknown`]: the store says which batch was the last to become durable (F3).
    pub fn reopened(&mut self, last_batch: u64) {
        if self.standing != Standing::Unknown {
            return;
        }
        self.standing = Standing::Serving;
        let landed = self.in_flight.as_ref().is_some_and(|batch| batch.number <= last_batch);
        if landed { self.committed() } else { self.take_back() }
    }

    /// After [`Standing::Unavailable`]: a probe commit succeeded.
    pub fn available(&mut self) {
        if self.standing == Standing::Unavailable {
            self.standing = Standing::Serving;
        }
    }

    /// From now on what may wait is committed as well: the process is about to stop.
    pub fn flush(&mut self) {
        self.flushing = true;
    }

    fn committed(&mut self) {
        let Some(batch) = self.in_flight.take() else { return };
        self.last_batch = batch.number;
        self.stale_facts = 0;
        self.counters.batches += 1;
        self.durable = batch.after;
        // Acknowledgements that came in while the batch was out are not in its state.
        for key in &self.riding {
            self.durable.apply(&ChangeSet { outbox_removed: vec![*key], ..ChangeSet::default() });
        }
        self.release(batch.decided);
        self.forget_recent();
    }

    fn nothing_changed(&mut self, cause: Cause) {
        match cause {
            // The facts were too old: fetch and decide again.
            Cause::EntryKnown if self.stale_facts < STALE_FACTS => {
                self.stale_facts += 1;
                self.take_back();
            }
            Cause::EntryKnown => self.isolate("an entry that is not there is in use"),
            Cause::Refused(reason) => self.isolate(&reason),
            Cause::Unavailable(_) => {
                self.standing = Standing::Unavailable;
                self.take_back();
                self.turn_away();
            }
        }
    }

    /// Refuses what waits and can be asked again.
    fn turn_away(&mut self) {
        let waiting: Vec<Offered> = self.arrivals.drain(..).collect();
        for offered in waiting {
            if retained(&offered.input) {
                self.arrivals.push_back(offered);
            } else {
                self.refuse(offered.ticket, &offered.input, storage_unavailable());
            }
        }
    }

    /// One decision of the batch cannot be stored: they are committed one by one, so that only the
    /// poison one is refused.
    fn isolate(&mut self, reason: &str) {
        let count = self.in_flight.as_ref().map_or(0, |batch| batch.decided.len());
        if count == 1
            && let Some(mut batch) = self.in_flight.take()
        {
            self.riding.append(&mut batch.riding);
            self.count_again(batch.refusals);
            if let Some(poison) = batch.decided.pop() {
                self.forget_decision(&poison);
                let fault = Fault::new(ErrorCode::Internal, format!("the store cannot keep this: {reason}"));
                self.refuse(poison.offered.ticket, &poison.offered.input, fault.because("not_storable"));
            }
            self.take_back();
        } else {
            self.take_back();
            self.singly = count;
        }
    }

    /// Takes `head` back to `durable`; every input that was decided since is to be decided again,
    /// in the same order.
    fn take_back(&mut self) {
        let mut again = Vec::new();
        if let Some(batch) = self.in_flight.take() {
            self.riding.extend(batch.riding);
            self.count_again(batch.refusals);
            again.extend(batch.decided);
        }
        again.extend(self.decided.drain(..));
        for decided in again.into_iter().rev() {
            self.forget_decision(&decided);
            self.arrivals.push_front(decided.offered);
        }
        self.head = self.durable.clone();
    }

    /// A decision that did not become durable leaves no trace: not in what is remembered, not in the
    /// counts.
    fn forget_decision(&mut self, decided: &Decided) {
        match &decided.outcome {
            Err(rejected) => self.uncount_refusal(rejected),
            Ok(decision) => {
                for change in &decision.changes.entries {
                    let (EntryChange::Taken { key, .. } | EntryChange::Ended { key, .. }) = change;
                    self.recent.take_back(key);
                }
            }
        }
    }

    fn count_again(&mut self, refusals: Vec<RefusalCount>) {
        for RefusalCount { source, actor, code, minute, count } in refusals {
            *self.refusals.entry((source, actor, code, minute)).or_default() += count;
        }
    }

    /// A refusal that will be decided again is not counted twice.
    fn uncount_refusal(&mut self, rejected: &Rejected) {
        let minute = self.time.wall.0.div_euclid(60_000);
        let key = (rejected.origin.source, rejected.origin.actor.clone(), rejected.fault.code, minute);
        if let Some(count) = self.refusals.get_mut(&key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.refusals.remove(&key);
            }
        }
    }

    fn drop_everything(&mut self, fault: &Fault) {
        self.take_back();
        if let Some((inputs, _)) = self.fetching.take() {
            self.arrivals.extend(inputs);
        }
        let all: Vec<Offered> = self.arrivals.drain(..).collect();
        for offered in all {
            self.refuse(offered.ticket, &offered.input, fault.clone());
        }
    }

    fn refuse(&mut self, ticket: Ticket, input: &Input, fault: Fault) {
        let mut rejected = Rejected::of(origin(input), fault);
        rejected.call_id = call_id(input);
        self.effects.settled.push((ticket, Err(rejected)));
    }

    /// What follows from decisions that have become durable.
    fn release(&mut self, decided: Vec<Decided>) {
        for Decided { offered, outcome, .. } in decided {
            match outcome {
                Ok(Decision { changes, answer, resend }) => {
                    self.follow(changes);
                    self.effects.send.extend(resend);
                    self.effects.settled.push((offered.ticket, Ok(answer)));
                }
                Err(rejected) => self.effects.settled.push((offered.ticket, Err(rejected))),
            }
        }
    }

    fn follow(&mut self, changes: ChangeSet) {
        let effects = &mut self.effects;
        effects.shape |= !changes.instances.is_empty()
            || !changes.activations.is_empty()
            || !changes.operations.is_empty()
            || changes.focus.is_some()
            || !changes.surfaces.is_empty()
            || !changes.apps.is_empty()
            || !changes.volatile.is_empty();
        for row in changes.journal {
            effects.send.extend(row.body.messages);
        }
        for change in changes.calls {
            match change {
                Kept::Put(call) => {
                    if let CallState::Running { .. } = call.state {
                        effects.handed.push(call.key().clone());
                    }
                }
                Kept::Gone(key) => effects.over.push(Over::Call(key)),
            }
        }
        for change in changes.actions {
            match change {
                Kept::Put(action) => effects.actions.push(action.seq),
                Kept::Gone(seq) => effects.over.push(Over::Action(seq)),
            }
        }
        for change in changes.inbox {
            if let Kept::Put(row) = change {
                effects.inbox.push(row.instance.clone());
            }
        }
        for change in changes.instances {
            effects.moved.push(match change {
                Kept::Put(instance) => instance.id.clone(),
                Kept::Gone(id) => id,
            });
        }
        for change in changes.activations {
            if let Kept::Put(activation) = change {
                effects.activating.push(activation.instance.clone());
            }
        }
        for change in changes.volatile {
            if let Volatile::App(instance, _) = change {
                effects.processes.push(instance);
            }
        }
    }

    /// Hands out what follows from what has become durable since the last time.
    pub fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// Everything in the outbox, in order: after a reconnect all of it is sent again (DUR-2).
    pub fn outbox(&self) -> Vec<Addressed> {
        let rows = self.durable.outbox();
        rows.map(|row| Addressed { recipient: row.recipient.clone(), message: row.message.clone() }).collect()
    }
}

/// Inputs that are kept while the store takes nothing: whoever sent them cannot send them again,
/// or would only ask in a loop.
fn retained(input: &Input) -> bool {
    match input {
        Input::HostReport(_)
        | Input::App(AppReport { .. })
        | Input::Transport(_)
        | Input::MiniApp(_)
        | Input::Recovered { .. } => true,
        Input::Agent(_) | Input::UiAction(_) | Input::HostIntent(_) | Input::Setup(_) | Input::Clock => false,
    }
}

fn storage_unavailable() -> Fault {
    Fault::new(ErrorCode::StorageUnavailable, "the store takes nothing now; nothing was changed, try again later")
}

fn moved() -> Fault {
    Fault::new(ErrorCode::WorkspaceMoved, "another process owns this workspace now")
}

fn origin(input: &Input) -> Origin {
    match input {
        Input::Agent(asked) => Origin::new(Source::AgentTool, asked.agent.as_str()),
        Input::UiAction(asked) => Origin::new(Source::UiAction, asked.session.as_str()),
        Input::HostIntent(asked) => Origin::new(Source::HostLifecycle, asked.session.as_str()),
        Input::HostReport(asked) => Origin::new(Source::HostLifecycle, asked.session.as_str()),
        Input::MiniApp(asked) => Origin::new(Source::Miniapp, asked.from.app_scope.as_str()),
        Input::App(_) | Input::Transport(_) | Input::Setup(_) | Input::Clock | Input::Recovered { .. } => {
            Origin::runtime()
        }
    }
}

fn call_id(input: &Input) -> Option<lineup_model::CallId> {
    use lineup_core::workspace::input::AgentRequest;
    match input {
        Input::Agent(asked) => match &asked.request {
            AgentRequest::Invoke { call_id, .. }
            | AgentRequest::Status { call_id }
            | AgentRequest::Cancel { call_id } => Some(call_id.clone()),
            AgentRequest::Hello | AgentRequest::Text { .. } => None,
        },
        Input::UiAction(_)
        | Input::HostIntent(_)
        | Input::HostReport(_)
        | Input::MiniApp(_)
        | Input::App(_)
        | Input::Transport(_)
        | Input::Setup(_)
        | Input::Clock
        | Input::Recovered { .. } => None,
    }
}

/// Roughly how many bytes of the batch an input brings.
fn weight(input: &Input) -> usize {
    use lineup_core::{miniapp::MiniAppRequest, workspace::input::AgentRequest};
    fn size(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => 8,
            serde_json::Value::String(text) => text.len() + 2,
            serde_json::Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
            serde_json::Value::Object(fields) => {
                fields.iter().map(|(name, field)| name.len() + 4 + size(field)).sum::<usize>() + 2
            }
        }
    }
    match input {
        Input::Agent(asked) => match &asked.request {
            AgentRequest::Invoke { input, .. } => size(input),
            AgentRequest::Text { text } => text.len(),
            AgentRequest::Hello | AgentRequest::Status { .. } | AgentRequest::Cancel { .. } => 0,
        },
        Input::MiniApp(asked) => match &asked.request {
            MiniAppRequest::Complete { output, .. } => size(output),
            MiniAppRequest::WriteSession { data, .. } => size(data),
            MiniAppRequest::UpdateSurface { patch, .. } => size(patch),
            _ => 0,
        },
        Input::UiAction(asked) => size(&asked.input),
        _ => 0,
    }
}
