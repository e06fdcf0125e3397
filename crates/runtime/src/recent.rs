//! What was taken in or ended lately, in memory: enough to complete a fetch that is out, and to
//! answer most repeats without one. Bounded; what it forgets is in the store.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use lineup_core::{
    Known, Needs, Seq,
    workspace::{
        change_set::EntryKey,
        facts::{Fetched, FinishedCall},
    },
};

/// How much is kept that the store could answer as well.
const KEPT: usize = 1_024;

/// What was taken in or ended lately.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// By what a repeat is known by.
    pub(crate) entries: BTreeMap<EntryKey, Known>,
    /// The calls among them, by the place of their acceptance.
    pub(crate) calls: BTreeMap<Seq, Arc<FinishedCall>>,
    /// In the order in which they were added, with the batch that makes each durable.
    order: VecDeque<(u64, EntryKey)>,
}

impl Recent {
    /// Remembers an entry that becomes durable with this batch, or a later one.
    pub(crate) fn add(&mut self, batch: u64, key: EntryKey, known: Known) {
        if let Known::Call(finished) = &known
            && let Some(seq) = Seq::of_call(&finished.facts.key)
        {
            self.calls.insert(seq, finished.clone());
        }
        if self.entries.insert(key.clone(), known).is_none() {
            self.order.push_back((batch, key));
        }
    }

    /// The facts that one input needs: what is remembered first, else what was fetched.
    pub(crate) fn complete(&self, needs: Needs, fetched: &Fetched) -> Fetched {
        let mut facts = Fetched::default();
        for key in needs.entries {
            if let Some(known) = self.entries.get(&key).or_else(|| fetched.entries.get(&key)) {
                facts.entries.insert(key, known.clone());
            }
        }
        for seq in needs.calls {
            if let Some(finished) = self.calls.get(&seq).or_else(|| fetched.calls.get(&seq)) {
                facts.calls.insert(seq, finished.clone());
            }
        }
        for session in needs.documents {
            if let Some(document) = fetched.documents.get(&session) {
                facts.documents.insert(session, document.clone());
            }
        }
        facts
    }

    /// Forgets the oldest past the bound, of what is durable up to this batch.
    pub(crate) fn forget(&mut self, durable: u64) {
        while self.order.len() > KEPT && self.order.front().is_some_and(|(batch, _)| *batch <= durable) {
            if let Some((_, key)) = self.order.pop_front() {
                self.remove(&key);
            }
        }
    }

    /// Forgets an entry whose decision did not become durable: it is decided again. What is kept by
    /// mistake here would answer for a call that the store never heard of.
    pub(crate) fn take_back(&mut self, key: &EntryKey) {
        self.remove(key);
    }

    fn remove(&mut self, key: &EntryKey) {
        if let Some(Known::Call(finished)) = self.entries.remove(key)
            && let Some(seq) = Seq::of_call(&finished.facts.key)
        {
            self.calls.remove(&seq);
        }
    }
}
