//! The SQLite store alone: the change sets of calls, without the Runtime that decides them.

use std::{path::Path, sync::Arc, time::Instant};

use lineup_core::{ChangeSet, Seq, outbox::OutboxKey};
use lineup_ports::outbound::{Committed, Store};
use lineup_sql::SqliteStore;
use lineup_testkit::store::samples::{self, Committer};

/// The store and what was put into it.
pub struct Alone {
    /// The store.
    pub store: SqliteStore,
    committer: Committer,
    next: u64,
    /// Sent, and acknowledged with the next batch.
    sent: Vec<OutboxKey>,
}

impl Alone {
    /// A new store.
    pub async fn create(directory: &Path) -> Self {
        let store = SqliteStore::open(directory).await.expect("a new store opens");
        let opened = store.open(&samples::home()).await.expect("a new workspace opens");
        let mut committer = Committer::of(samples::home(), &opened);
        let descriptors = ChangeSet { descriptors: vec![Arc::new(samples::descriptor())], ..ChangeSet::default() };
        assert_eq!(store.commit(vec![committer.next(vec![descriptors])]).await, Committed::Committed);
        committer.done();
        Self { store, committer, next: 1, sent: Vec::new() }
    }

    /// The change sets of a number of calls: of their acceptance and of their results.
    pub fn decide(&mut self, calls: u64) -> [Vec<ChangeSet>; 2] {
        let first = self.next;
        self.next += calls * 2;
        let id = |seq: u64| format!("call-{seq:08}");
        let mut accepts: Vec<_> = (first..first + calls).map(|seq| samples::accept(Seq(seq), &id(seq))).collect();
        let mut finishes: Vec<_> = (first..first + calls)
            .map(|call| samples::finish(Seq(call + calls), Seq(call), Seq(call), &id(call)))
            .collect();
        accepts[0].outbox_removed = std::mem::take(&mut self.sent);
        let key = |seq| OutboxKey { seq: Seq(seq), index: 0 };
        finishes[0].outbox_removed = (first..first + calls).map(key).collect();
        self.sent = (first + calls..self.next).map(key).collect();
        [accepts, finishes]
    }

    /// Carries out calls in two commits; answers the microseconds of the first commit and of both.
    pub async fn lifecycle(&mut self, [accepts, finishes]: [Vec<ChangeSet>; 2]) -> (f64, f64) {
        let started = Instant::now();
        self.commit(accepts).await;
        let accepted = started.elapsed().as_secs_f64() * 1e6;
        self.commit(finishes).await;
        (accepted, started.elapsed().as_secs_f64() * 1e6)
    }

    async fn commit(&mut self, changes: Vec<ChangeSet>) {
        assert_eq!(self.store.commit(vec![self.committer.next(changes)]).await, Committed::Committed);
        self.committer.done();
    }

    /// How many calls were carried out.
    pub fn calls(&self) -> u64 {
        (self.next - 1) / 2
    }
}
