//! All that deciding knows of the world.

use std::{collections::BTreeMap, sync::Arc};

use lineup_model::{
    AppSessionId, Instant,
    message::{AgentMessage, OutcomeClass},
};
use serde_json::Value;

use super::change_set::EntryKey;
use crate::{Seq, call::CallFacts};

/// What an input needs to know that the workspace does not keep in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Entries that may have been taken in before.
    pub entries: Vec<EntryKey>,
    /// Calls that are no longer open, by the place of their acceptance.
    pub calls: Vec<Seq>,
    /// Documents whose bodies are asked for.
    pub documents: Vec<AppSessionId>,
}

impl Needs {
    /// Whether nothing has to be fetched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.calls.is_empty() && self.documents.is_empty()
    }
}

/// A call that has its outcome, as the store remembers it.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedCall {
    /// What was fixed at acceptance.
    pub facts: Arc<CallFacts>,
    /// How it ended.
    pub class: OutcomeClass,
    /// The outcome as it was sent; `None` once retention has reduced it (CALL-13).
    pub outcome: Option<Arc<AgentMessage>>,
}

/// What is known of an entry that is no longer open.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// A call with its outcome.
    Call(Arc<FinishedCall>),
    /// A text, a UI Action or an intent that was taken in.
    Taken,
}

/// What was fetched for a batch of inputs, and what ended since.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fetched {
    /// Entries that are known. An entry that is missing was never taken in.
    pub entries: BTreeMap<EntryKey, Known>,
    /// Calls by the place of their acceptance.
    pub calls: BTreeMap<Seq, Arc<FinishedCall>>,
    /// Documents' bodies, with their revisions.
    pub documents: BTreeMap<AppSessionId, (u64, Arc<Value>)>,
}

/// All that deciding knows of the world.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Now.
    pub now: Instant,
    /// What was fetched for the batch.
    pub fetched: &'a Fetched,
}
