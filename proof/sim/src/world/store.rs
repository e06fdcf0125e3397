//! The store's side: a memory store that fails as told, and answers late.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use lineup_core::{Needs, workspace::facts::Fetched};
use lineup_model::WorkspaceId;
use lineup_ports::outbound::{Cause, Commit, Committed, Opened, Store, StoreError};
use lineup_testkit::{MemoryStore, Scripted};
use rand::Rng;

use super::{Happening, World};
use crate::{plan::Fault, zoo::Mutant};

/// Runs something that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the memory store never waits"),
    }
}

/// What is at the store.
#[derive(Debug)]
struct AtStore {
    commit: Commit,
    /// What the simulation has it do with this batch, and with no later one.
    scripted: Option<Scripted>,
    /// What it said, once it has done it; it may not have said it to anyone yet.
    done: Option<Committed>,
}

/// The store, with what is on its way to and from it.
#[derive(Debug)]
pub(super) struct Gate {
    store: MemoryStore,
    at_store: Option<AtStore>,
    fetched: Option<Option<Fetched>>,
    /// The store's last answer was the simulation's refusal, and nobody has been told `internal` for it.
    refused: bool,
    mutant: Option<Mutant>,
}

impl Gate {
    pub(super) fn new(mutant: Option<Mutant>) -> Self {
        Self { store: MemoryStore::new(), at_store: None, fetched: None, refused: false, mutant }
    }

    pub(super) fn fill(&mut self, full: bool) {
        self.store.fill(full);
    }

    pub(super) fn calm(&mut self) {
        self.store.fill(false);
    }

    pub(super) fn open(&self, workspace: &WorkspaceId) -> Result<Opened, StoreError> {
        now(self.store.open(workspace))
    }
}

impl World {
    /// The engine wants facts.
    pub(super) fn fetch(&mut self, needs: &Needs) {
        let failed = self.strikes(Fault::FetchFails, 0.03);
        let read = if failed { None } else { now(self.gate.store.fetch(&self.workspace, needs)).ok() };
        let forgets = self.mutant(Mutant::FetchForgets);
        let read = read.map(|facts| if forgets { Fetched::default() } else { facts });
        self.gate.fetched = Some(read);
        if self.strikes(Fault::StoreSlow, 0.3) {
            let after = self.within(1, 400);
            self.after(after, Happening::Fetched(self.life));
        } else {
            self.store_fetched();
        }
    }

    pub(super) fn store_fetched(&mut self) {
        let Some(read) = self.gate.fetched.take() else { return };
        if read.is_none() {
            self.say("facts could not be read");
        }
        if let Some(engine) = &mut self.engine {
            engine.fetched(read);
        }
    }

    /// The engine wants a batch to be durable.
    pub(super) fn commit(&mut self, commit: Commit) {
        let scripted = if self.strikes(Fault::StoreRefuses, 0.06) {
            Some(match self.rng.random_range(0..4) {
                0 => Scripted::NothingChanged(Cause::Refused("the simulation refuses it".to_owned())),
                1 => Scripted::NothingChanged(Cause::Unavailable("the simulation is busy".to_owned())),
                _ => Scripted::NothingChanged(Cause::EntryKnown),
            })
        } else if self.strikes(Fault::StoreUnknown, 0.04) {
            Some(if self.rng.random_bool(0.5) { Scripted::UnknownAndLost } else { Scripted::UnknownAndDurable })
        } else {
            None
        };
        if let Some(scripted) = &scripted {
            self.say(&format!("the store will answer batch {} with {scripted:?}", commit.number));
        }
        let slow = self.strikes(Fault::StoreSlow, 0.4);
        let first = !slow || self.rng.random_bool(0.5);
        self.gate.at_store = Some(AtStore { commit, scripted, done: None });
        if first {
            self.store_works();
        }
        let after = if slow { self.within(1, 900) } else { 1 };
        self.after(after, Happening::Settled(self.life));
    }

    /// The store does what it was asked, whether or not anyone hears of it.
    fn store_works(&mut self) {
        let Some(AtStore { commit, scripted, done: None }) = &self.gate.at_store else { return };
        let (mut commit, scripted) = (commit.clone(), scripted.clone());
        if let Some(mutant) = self.gate.mutant {
            mutant.at_store(&mut commit, &mut self.rng);
        }
        let before = self.gate.store.commits();
        let number = commit.number;
        let lies = self.mutant(Mutant::CommitLost) && number.is_multiple_of(9);
        let answer = if lies {
            Committed::Committed
        } else {
            self.gate.store.script(scripted);
            now(self.gate.store.commit(vec![commit.clone()]))
        };
        if self.gate.store.commits() > before {
            self.coverage.durable(&commit);
            self.ledger.apply(&commit);
            self.say(&format!("batch {number} is durable"));
            let dump = self.ledger.dump();
            let at = i64::try_from(self.effective()).unwrap_or(0);
            self.oracle.commit(&dump, at);
        }
        if let Some(at_store) = &mut self.gate.at_store {
            at_store.done = Some(answer);
        }
    }

    pub(super) fn store_settles(&mut self) {
        self.store_works();
        let Some(AtStore { done: Some(answer), scripted, .. }) = self.gate.at_store.take() else { return };
        self.gate.refused = matches!(scripted, Some(Scripted::NothingChanged(Cause::Refused(_) | Cause::EntryKnown)));
        if answer != Committed::Committed {
            self.say(&format!("the store answers {answer:?}"));
        }
        self.coverage.store(&answer);
        if let Some(engine) = &mut self.engine {
            engine.settled(answer);
        }
        self.pump();
        self.reconcile();
    }

    /// Whether the simulation has brought about the one `internal` that may be answered now: a batch of one
    /// decision that the store refused.
    pub(super) fn excuses_internal(&mut self) -> bool {
        std::mem::take(&mut self.gate.refused)
    }

    /// Whether something is durable that the engine has not heard of yet.
    pub(super) fn is_ahead(&self) -> bool {
        self.gate.at_store.as_ref().is_some_and(|at_store| at_store.commit.number <= self.ledger.commit())
            || self.engine.as_ref().is_some_and(|engine| engine.standing() == lineup_runtime::Standing::Unknown)
    }

    /// The process dies while something may be at the store: it lands or it does not.
    pub(super) fn store_dies(&mut self, lands: bool) {
        if lands {
            self.store_works();
        }
        self.gate.at_store = None;
        self.gate.fetched = None;
        // Whoever comes next opens the data anew.
        self.gate.fill(false);
        let _ = now(self.gate.store.reopen(&self.workspace));
    }

    /// A probe, or a reopening.
    pub(super) fn store_helps(&mut self) {
        self.helping = false;
        let Some(engine) = &mut self.engine else { return };
        match engine.standing() {
            lineup_runtime::Standing::Unavailable => {
                if now(self.gate.store.probe(&self.workspace)).is_ok() {
                    engine.available();
                }
            }
            lineup_runtime::Standing::Unknown => {
                if let Ok(last) = now(self.gate.store.reopen(&self.workspace)) {
                    engine.reopened(last);
                    self.say(&format!("the store was reopened at batch {last}"));
                }
            }
            lineup_runtime::Standing::Serving | lineup_runtime::Standing::Fenced => {}
        }
    }

    /// Another process opens the workspace; this one finds out at its next commit.
    pub(super) fn take_over(&mut self) {
        let _ = self.gate.open(&self.workspace);
    }
}
