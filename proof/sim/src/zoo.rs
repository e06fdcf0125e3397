//! Defects that are built into the world on purpose, each of which some invariant must notice.
//!
//! None of them touches the product: they sit at the seams, between the engine and its store, its
//! clock, its relay, its Hosts and its MiniApps, where a defect of the product's would show.

use std::str::FromStr;

use lineup_core::{Kept, workspace::change_set::EntryChange};
use lineup_model::{
    Effective,
    message::{AgentBody, End},
};
use lineup_ports::outbound::Commit;
use rand::{Rng, rngs::StdRng};
use serde_json::json;

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// A defect.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Mutant { $($(#[$doc])* $name,)* }

        impl Mutant {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its word on the command line.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

mutants! {
    /// An audit row is lost between the engine and the store.
    AuditRowLost = "audit-row-lost",
    /// The last change of a batch is not stored.
    BatchTorn = "batch-torn",
    /// The store says `Committed` and has stored nothing.
    CommitLost = "commit-lost",
    /// The outcome is not put into the outbox.
    OutcomeNotSent = "outcome-not-sent",
    /// A call gets its outcome twice.
    OutcomeTwice = "outcome-twice",
    /// A completed outcome does not fit its schema.
    OutcomeInvalid = "outcome-invalid",
    /// Receipts are counted wrongly.
    ReceiptMiscounted = "receipt-miscounted",
    /// An operation goes on although its call has ended.
    OperationOutlives = "operation-outlives",
    /// A deadline is stored a minute later.
    DeadlineMoves = "deadline-moves",
    /// Session data skips a revision.
    RevisionSkips = "revision-skips",
    /// The clock that is stored stands still at first and then goes back.
    StoredClockBack = "stored-clock-back",
    /// Closed instances stay in the focus stack.
    FocusKeepsClosed = "focus-keeps-closed",
    /// An agent's call is written down as the Host's.
    EntryPoses = "entry-poses",
    /// Messages leave before they are durable.
    SendsBeforeCommit = "sends-before-commit",
    /// Messages leave in the wrong order.
    SendsReversed = "sends-reversed",
    /// The outbox is not sent again after a reconnect.
    OutboxNotResent = "outbox-not-resent",
    /// The relay's acknowledgements are ignored.
    AcknowledgementsIgnored = "acknowledgements-ignored",
    /// Requests are acknowledged before they are durable.
    AcknowledgesEarly = "acknowledges-early",
    /// What was taken in before is not found.
    FetchForgets = "fetch-forgets",
    /// A call with an old revision is taken in.
    StaleRevisionAccepted = "stale-revision-accepted",
    /// Another input under a used id counts as a repeat.
    ConflictIgnored = "conflict-ignored",
    /// The sender is not the one that the relay named.
    SenderForged = "sender-forged",
    /// A result of an older delivery counts.
    GenerationIgnored = "generation-ignored",
    /// Hiding the page counts as leaving.
    HideIsLeaving = "hide-is-leaving",
    /// A session that nobody sees confirms the foreground.
    HiddenConfirms = "hidden-confirms",
    /// Time runs four times as fast.
    ClockAhead = "clock-ahead",
    /// Nothing ever happens by time alone.
    ClockStopped = "clock-stopped",
    /// The focus stack is gone after a restart.
    FocusForgotten = "focus-forgotten",
    /// Running operations are gone after a restart.
    OperationsForgotten = "operations-forgotten",
    /// The outbox is gone after a restart.
    OutboxForgotten = "outbox-forgotten",
    /// What Surfaces show is gone after a restart.
    SurfacesForgotten = "surfaces-forgotten",
    /// What a Surface shows is replaced by its patch.
    PatchReplaces = "patch-replaces",
}

impl FromStr for Mutant {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|mutant| mutant.word() == text).ok_or_else(|| format!("`{text}` is no mutant"))
    }
}

impl Mutant {
    /// Changes a batch on its way to the store.
    pub(crate) fn at_store(self, commit: &mut Commit, rng: &mut StdRng) {
        match self {
            Self::AuditRowLost => {
                if rng.random_bool(0.2)
                    && let Some(set) = commit.changes.iter_mut().find(|set| !set.instances.is_empty())
                {
                    set.journal.retain(|row| row.call.is_some());
                }
            }
            Self::BatchTorn => {
                if commit.changes.len() > 2 && rng.random_bool(0.3) {
                    let last = commit.changes.len() - 2;
                    commit.changes.remove(last);
                }
            }
            Self::OutcomeNotSent => {
                for row in commit.changes.iter_mut().flat_map(|set| &mut set.journal) {
                    row.body.messages.retain(|sent| !matches!(sent.message.body, AgentBody::Outcome(_)));
                }
            }
            Self::OutcomeTwice => {
                for row in commit.changes.iter_mut().flat_map(|set| &mut set.journal) {
                    let second = row
                        .body
                        .messages
                        .iter()
                        .find(|sent| matches!(sent.message.body, AgentBody::Outcome(_)))
                        .cloned();
                    if let Some(mut second) = second {
                        let mut message = second.message.as_ref().clone();
                        message.id = row.seq.message_id(9);
                        second.message = message.into();
                        row.body.messages.push(second);
                    }
                }
            }
            Self::OutcomeInvalid => {
                for sent in
                    commit.changes.iter_mut().flat_map(|set| &mut set.journal).flat_map(|row| &mut row.body.messages)
                {
                    let mut message = sent.message.as_ref().clone();
                    if let AgentBody::Outcome(outcome) = &mut message.body
                        && let End::Completed { result } = &mut outcome.end
                    {
                        result["extra"] = json!(1);
                        sent.message = message.into();
                    }
                }
            }
            Self::ReceiptMiscounted => {
                for sent in
                    commit.changes.iter_mut().flat_map(|set| &mut set.journal).flat_map(|row| &mut row.body.messages)
                {
                    let mut message = sent.message.as_ref().clone();
                    if let AgentBody::Receipt(receipt) = &mut message.body
                        && receipt.seq > 1
                    {
                        receipt.seq += 1;
                        sent.message = message.into();
                    }
                }
            }
            Self::OperationOutlives => {
                for set in &mut commit.changes {
                    set.operations.retain(|change| matches!(change, Kept::Put(_)));
                    set.journal.retain(|row| row.happened != lineup_core::journal::Happened::OperationEnded);
                }
            }
            Self::DeadlineMoves => {
                for set in &mut commit.changes {
                    for change in &mut set.operations {
                        if let Kept::Put(operation) = change
                            && operation.deadline.is_some()
                        {
                            let mut later = operation.as_ref().clone();
                            later.deadline = Some(Effective(later.started.effective.0 + 100_000_000));
                            *operation = later.into();
                        }
                    }
                }
            }
            Self::RevisionSkips => {
                for document in commit.changes.iter_mut().flat_map(|set| &mut set.documents) {
                    if document.head.revision > 1 {
                        document.head.revision += 1;
                    }
                }
            }
            Self::PatchReplaces => {
                for change in commit.changes.iter_mut().flat_map(|set| &mut set.surfaces) {
                    if let Kept::Put(document) = change
                        && let Some(last) = document.data.get("last")
                    {
                        let mut replaced = document.as_ref().clone();
                        replaced.data = json!({ "last": last }).into();
                        *document = replaced.into();
                    }
                }
            }
            Self::StoredClockBack => {
                for time in commit.changes.iter_mut().filter_map(|set| set.time.as_mut()) {
                    if commit.number.is_multiple_of(5) {
                        time.effective = Effective(time.effective.0 / 2);
                    }
                }
            }
            Self::FocusKeepsClosed => {
                for set in &mut commit.changes {
                    let closed = set.instances.iter().any(|change| matches!(change, Kept::Gone(_)));
                    if closed {
                        set.focus = None;
                    }
                }
            }
            Self::EntryPoses => {
                for set in &mut commit.changes {
                    let taken = set.entries.iter().any(|entry| matches!(entry, EntryChange::Taken { .. }));
                    for row in &mut set.journal {
                        if taken && row.origin.source == lineup_core::journal::Source::AgentTool {
                            row.origin.source = lineup_core::journal::Source::HostLifecycle;
                        }
                    }
                }
            }
            Self::CommitLost
            | Self::SendsBeforeCommit
            | Self::SendsReversed
            | Self::OutboxNotResent
            | Self::AcknowledgementsIgnored
            | Self::AcknowledgesEarly
            | Self::FetchForgets
            | Self::StaleRevisionAccepted
            | Self::ConflictIgnored
            | Self::SenderForged
            | Self::GenerationIgnored
            | Self::HideIsLeaving
            | Self::HiddenConfirms
            | Self::ClockAhead
            | Self::ClockStopped
            | Self::FocusForgotten
            | Self::OperationsForgotten
            | Self::OutboxForgotten
            | Self::SurfacesForgotten => {}
        }
    }
}
