//! App sessions and session data (section 7).

use lineup_model::{AppScope, AppSessionId, ConversationId, Digest, InstanceId, Instant, OperationId};
use serde::{Deserialize, Serialize};

use crate::operation::OperationEnd;

/// What people may see of an instance's run; stays after the instance has closed (SES-2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppSession {
    /// Its id.
    pub id: AppSessionId,
    /// The conversation.
    pub conversation: ConversationId,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The instance that it records.
    pub instance: InstanceId,
    /// When it was opened.
    pub opened: Instant,
    /// When its instance closed.
    pub closed: Option<Instant>,
    /// The last operations that ran in it, oldest first; at most [`RUNS`].
    pub runs: Vec<Run>,
}

/// How many runs an App session keeps; older ones stay in the journal.
pub const RUNS: usize = 16;

/// One operation in an App session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The operation.
    pub operation: OperationId,
    /// When it began.
    pub started: Instant,
    /// How it ended; `None` while it runs.
    pub end: Option<OperationEnd>,
}

impl AppSession {
    /// The session with one more run.
    #[must_use]
    pub fn with_run(mut self, operation: OperationId, started: Instant) -> Self {
        if self.runs.len() == RUNS {
            self.runs.remove(0);
        }
        self.runs.push(Run { operation, started, end: None });
        self
    }

    /// The session with the end of a run.
    #[must_use]
    pub fn with_end(mut self, operation: &OperationId, end: OperationEnd) -> Self {
        if let Some(run) = self.runs.iter_mut().find(|run| run.operation == *operation) {
            run.end = Some(end);
        }
        self
    }
}

/// What the workspace knows of a MiniApp's document: not its body (SES-1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentHead {
    /// The App session that the document belongs to.
    pub session: AppSessionId,
    /// Counts its writes; 0 before the first.
    pub revision: u64,
    /// The length of its canonical JSON, in bytes.
    pub bytes: u64,
    /// The digest of its canonical JSON.
    pub digest: Digest,
}
