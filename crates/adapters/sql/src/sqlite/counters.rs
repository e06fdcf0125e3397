//! Counts that do not depend on the clock (G12).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a store has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterValues {
    /// Batches that became durable.
    pub commits: u64,
    /// Queries sent to the writer: one per batch.
    pub write_queries: u64,
    /// Queries sent to readers: one per fetch.
    pub reader_queries: u64,
    /// Rows written by batches.
    pub rows: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    write_queries: AtomicU64,
    reader_queries: AtomicU64,
    rows: AtomicU64,
}

impl Counters {
    pub(super) fn values(&self) -> CounterValues {
        CounterValues {
            commits: self.commits.load(Relaxed),
            write_queries: self.write_queries.load(Relaxed),
            reader_queries: self.reader_queries.load(Relaxed),
            rows: self.rows.load(Relaxed),
        }
    }

    pub(super) fn read(&self, queries: u64) {
        self.reader_queries.fetch_add(queries, Relaxed);
    }

    pub(super) fn wrote(&self) {
        self.write_queries.fetch_add(1, Relaxed);
    }

    pub(super) fn committed(&self, rows: u64) {
        self.commits.fetch_add(1, Relaxed);
        self.rows.fetch_add(rows, Relaxed);
    }
}
