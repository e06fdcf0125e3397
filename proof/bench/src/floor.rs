//! The floor: the same lifecycle by the thinnest client, without a Runtime (R1, R64).
//!
//! Accepting a call writes a journal row, an entry, an open call and an outbox row; its result
//! writes a journal row, ends the entry, removes the open call and writes an outbox row.

use std::{path::Path, time::Instant};

use rusqlite::{Connection, params};

/// A database with the floor's tables.
pub struct Floor {
    connection: Connection,
    next: i64,
    accepted: String,
    finished: String,
}

impl Floor {
    /// A new database.
    pub fn create(file: &Path, accepted: usize, finished: usize) -> rusqlite::Result<Self> {
        let connection = Connection::open(file)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA mmap_size = 0;
             CREATE TABLE journal (id INTEGER PRIMARY KEY, happened TEXT NOT NULL, body TEXT NOT NULL);
             CREATE TABLE entries (lookup BLOB PRIMARY KEY, taken INTEGER NOT NULL, ended INTEGER) WITHOUT ROWID;
             CREATE TABLE open_calls (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
             CREATE TABLE outbox (id INTEGER PRIMARY KEY, journal INTEGER NOT NULL);",
        )?;
        Ok(Self { connection, next: 1, accepted: "a".repeat(accepted), finished: "f".repeat(finished) })
    }

    /// Carries out a number of calls in two commits; answers the microseconds of the first commit
    /// and of both.
    pub fn lifecycle(&mut self, calls: i64) -> rusqlite::Result<(f64, f64)> {
        let started = Instant::now();
        let first = self.next;
        self.next += calls * 2;
        let lookup = |id: i64| lineup_model::Digest::of_bytes(&id.to_be_bytes()).prefix();
        let connection = &self.connection;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut journal = connection.prepare_cached("INSERT INTO journal VALUES (?, ?, ?)")?;
        let mut outbox = connection.prepare_cached("INSERT INTO outbox VALUES (?, ?)")?;
        {
            let mut entries = connection.prepare_cached("INSERT INTO entries VALUES (?, ?, NULL)")?;
            let mut open = connection.prepare_cached("INSERT INTO open_calls VALUES (?, ?)")?;
            for id in first..first + calls {
                journal.execute(params![id, "call_accepted", self.accepted])?;
                entries.execute(params![lookup(id), id])?;
                open.execute(params![id, self.finished])?;
                outbox.execute(params![id, id])?;
            }
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        let accepted = started.elapsed().as_secs_f64() * 1e6;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut entries = connection.prepare_cached("UPDATE entries SET ended = ? WHERE lookup = ?")?;
        let mut open = connection.prepare_cached("DELETE FROM open_calls WHERE id = ?")?;
        for call in first..first + calls {
            let id = call + calls;
            journal.execute(params![id, "call_ended", self.finished])?;
            entries.execute(params![id, lookup(call)])?;
            open.execute(params![call])?;
            outbox.execute(params![id, id])?;
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok((accepted, started.elapsed().as_secs_f64() * 1e6))
    }

    /// Rows in the journal, ended entries, open calls: what proves that the work was done.
    pub fn rows(&self) -> rusqlite::Result<(i64, i64, i64)> {
        let count = |sql| self.connection.query_row(sql, [], |row| row.get(0));
        Ok((
            count("SELECT count(*) FROM journal")?,
            count("SELECT count(*) FROM entries WHERE ended IS NOT NULL")?,
            count("SELECT count(*) FROM open_calls")?,
        ))
    }
}
