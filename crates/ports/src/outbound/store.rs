//! The store port: what a workspace is remembered by (contract section 8).

use async_trait::async_trait;
use lineup_core::{
    ChangeSet, Records, Seq,
    workspace::facts::{Fetched, Needs},
};
use lineup_model::{CallKey, ConversationId, WorkspaceId};
use serde::Serialize;
use serde_json::Value;

use crate::inbound::Range;

/// Grows with each owner of a workspace; a commit of an older owner is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// What one workspace wants to commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its owner's epoch, from [`Store::open`].
    pub epoch: Epoch,
    /// The batch's number in its workspace: 1 more than the one before.
    pub number: u64,
    /// The changes, in the order in which they were decided.
    pub changes: Vec<ChangeSet>,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Committed {
    /// Everything in it is durable.
    Committed,
    /// Nothing in it is, and nothing else changed.
    NothingChanged(Cause),
    /// Nobody knows: an I/O error at the moment of commit. [`Store::reopen`] tells (F3).
    Unknown,
    /// Another process owns a workspace of the batch; nothing in it is durable. Final.
    Fenced,
}

/// Why nothing was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An entry of the batch was taken in before: fetch and decide again.
    EntryKnown,
    /// One of the changes cannot be stored, whatever the weather: decide its inputs one by one.
    Refused(String),
    /// The store cannot take anything now: full, busy, or an I/O error before the commit.
    Unavailable(String),
}

/// What a workspace is opened with.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The epoch that this owner commits under.
    pub epoch: Epoch,
    /// The number of the last batch that is durable; 0 for a new workspace.
    pub last_batch: u64,
    /// Everything live.
    pub records: Records,
}

/// What kind of failure a store error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another process owns the data.
    Owned,
    /// The store cannot be reached or is full; trying again later can help.
    Unavailable,
    /// What is stored cannot be read, or was written by a newer version. Nothing was changed.
    Corrupt,
}

/// Why the store could not do what was asked. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("store cannot {operation}: {detail}")]
pub struct StoreError {
    /// What kind of failure it is.
    pub kind: StoreErrorKind,
    /// What was tried, as a verb and a noun.
    pub operation: &'static str,
    /// What stands in the way and what to do about it.
    pub detail: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// One row of the audit, newest first in answers (DUR-5).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditRow {
    /// Its place in the journal.
    pub seq: Seq,
    /// The entry.
    pub source: String,
    /// Who.
    pub actor: String,
    /// What happened.
    pub happened: String,
    /// To what.
    pub subject: String,
    /// The call that it belongs to.
    pub call: Option<CallKey>,
    /// The code, if something was refused or failed.
    pub code: Option<String>,
    /// The wall clock, in milliseconds since 1970 (UTC).
    pub wall: i64,
    /// Effective time, in milliseconds.
    pub effective: u64,
    /// What the row keeps: the call's facts, messages, detail; of an outcome that is no longer kept
    /// its `class` (CALL-13).
    pub body: Value,
    /// The row that ended what this one took in; only with [`AuditQuery::Conversation`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Box<Self>>,
}

/// Which audit rows are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditQuery {
    /// The newest rows.
    Latest {
        /// At most so many.
        limit: u32,
    },
    /// The newest acceptances of calls.
    Calls {
        /// At most so many.
        limit: u32,
    },
    /// The whole story of a call, oldest first; empty if there is no such call.
    Story {
        /// The call.
        call: Seq,
    },
    /// The rows that people see in a conversation, each with the row that ended what it took in:
    /// newest first for [`Range::Before`], else oldest first. A place of another conversation is
    /// not found.
    Conversation {
        /// The conversation.
        conversation: ConversationId,
        /// Which of its rows.
        range: Range,
        /// At most so many.
        limit: u32,
    },
    /// The counted refusals, newest first, as rows with `happened = refused`.
    Refusals {
        /// At most so many.
        limit: u32,
    },
}

/// What a store can do beyond the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCapabilities {
    /// Whether several processes may share the data, each owning other workspaces.
    pub shared_across_processes: bool,
}

impl StoreCapabilities {
    /// A store whose data belongs to one process at a time.
    #[must_use]
    pub const fn single_process() -> Self {
        Self { shared_across_processes: false }
    }
}

/// Remembers workspaces. One process owns a workspace; the Runtime calls `commit` one at a time.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Store: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> StoreCapabilities;

    /// Takes ownership of a workspace, creating it if it is new, and reads everything live. The
    /// cost follows what is live, not what was ever stored.
    ///
    /// # Errors
    /// `Owned`, `Unavailable`, `Corrupt` (with table and id).
    async fn open(&self, workspace: &WorkspaceId) -> Result<Opened, StoreError>;

    /// Makes a batch durable, all of it or nothing. When it returns `Committed`, everything survives
    /// power loss. Every message of the journal rows is in the outbox from then on. The work goes
    /// on when the future is dropped; the next commit waits for it.
    async fn commit(&self, batch: Vec<Commit>) -> Committed;

    /// After [`Committed::Unknown`]: closes and opens the data again, makes one fence commit so
    /// that nothing in flight can still land, and answers the number of the workspace's last
    /// durable batch.
    ///
    /// # Errors
    /// As [`Store::open`].
    async fn reopen(&self, workspace: &WorkspaceId) -> Result<u64, StoreError>;

    /// Gives up ownership: when it returns, another process can open what this one had open, and
    /// finds everything that was committed. What is asked afterwards is refused as `Unavailable`.
    /// The second time does nothing.
    async fn close(&self);

    /// Whether a commit would be taken now, after [`Cause::Unavailable`]. Writes and removes
    /// something small.
    ///
    /// # Errors
    /// `Unavailable` while it would not.
    async fn probe(&self, workspace: &WorkspaceId) -> Result<(), StoreError>;

    /// Reads what a batch of inputs needs, in one query, never through the writer. Sees at least
    /// every commit that had been answered when it was called.
    ///
    /// # Errors
    /// `Unavailable`, `Corrupt`.
    async fn fetch(&self, workspace: &WorkspaceId, needs: &Needs) -> Result<Fetched, StoreError>;

    /// Reads the audit, never through the writer.
    ///
    /// # Errors
    /// `Unavailable`, `Corrupt`.
    async fn audit(&self, workspace: &WorkspaceId, query: AuditQuery) -> Result<Vec<AuditRow>, StoreError>;

    /// Reads the App sessions of a conversation, newest first, at most `limit`.
    ///
    /// # Errors
    /// `Unavailable`, `Corrupt`.
    async fn sessions(
        &self,
        workspace: &WorkspaceId,
        conversation: &ConversationId,
        limit: u32,
    ) -> Result<Vec<lineup_core::session::AppSession>, StoreError>;
}
