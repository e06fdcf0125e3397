//! What the database's errors mean here.

use lineup_ports::outbound::{Cause, Committed, StoreError, StoreErrorKind};

// Primary result codes of SQLite, https://www.sqlite.org/rescode.html.
const ERROR: i32 = 1;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const CORRUPT: i32 = 11;
const TOOBIG: i32 = 18;
const CONSTRAINT: i32 = 19;
const MISMATCH: i32 = 20;
const NOTADB: i32 = 26;

/// The primary result code of a database error; `None` for an error that SQLite did not report.
fn code(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

/// Whether the statement was refused for what it says, so that the connection is as good as before.
pub(super) fn is_constraint(error: &sqlx::Error) -> bool {
    code(error) == Some(CONSTRAINT)
}

/// What a failed batch means. `at_commit`: every statement before COMMIT had succeeded.
pub(super) fn committed(error: &sqlx::Error, at_commit: bool) -> Committed {
    let text = || error.to_string();
    match code(error) {
        // COMMIT that could not get a lock has done nothing and can be rolled back.
        Some(BUSY | LOCKED) => Committed::NothingChanged(Cause::Unavailable(text())),
        _ if at_commit => Committed::Unknown,
        Some(CONSTRAINT) => {
            let message = error.as_database_error().map_or("", |error| error.message());
            if message == "fenced" {
                Committed::Fenced
            } else if message.contains("entries.") {
                Committed::NothingChanged(Cause::EntryKnown)
            } else {
                Committed::NothingChanged(Cause::Refused(text()))
            }
        }
        Some(ERROR | TOOBIG | MISMATCH) => Committed::NothingChanged(Cause::Refused(text())),
        Some(_) => Committed::NothingChanged(Cause::Unavailable(text())),
        // The thread that speaks to the database is gone: nobody knows how far it came.
        None => Committed::Unknown,
    }
}

/// What a failed read, open or probe means.
pub(super) fn failed(operation: &'static str, error: sqlx::Error) -> StoreError {
    let (kind, detail) = match code(&error) {
        Some(CORRUPT | NOTADB) => {
            (StoreErrorKind::Corrupt, "the database file is damaged; restore it from a backup, nothing was changed")
        }
        _ => (StoreErrorKind::Unavailable, "the database did not answer; free disk space or try again"),
    };
    StoreError { kind, operation, detail: detail.to_owned(), source: Some(Box::new(error)) }
}

/// A row that cannot be read.
pub(super) fn unreadable(
    operation: &'static str,
    table: &str,
    id: impl std::fmt::Display,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Corrupt,
        operation,
        detail: format!("table {table}, row {id} cannot be read; restore the database from a backup"),
        source: Some(cause.into()),
    }
}

/// Data that must not be touched.
pub(super) fn corrupt(operation: &'static str, detail: impl Into<String>) -> StoreError {
    StoreError { kind: StoreErrorKind::Corrupt, operation, detail: detail.into(), source: None }
}

/// A file that cannot be reached.
pub(super) fn io(operation: &'static str, path: &std::path::Path, source: std::io::Error) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Unavailable,
        operation,
        detail: format!("{} cannot be used; check that it exists and may be written", path.display()),
        source: Some(Box::new(source)),
    }
}

/// The store was closed by its owner.
pub(super) fn closed(operation: &'static str) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Unavailable,
        operation,
        detail: "it was closed; open it again".to_owned(),
        source: None,
    }
}
