//! Connections to the database and their settings.

use std::path::Path;

use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Row, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

/// The first SQLite version without the WAL-reset fault (F5).
const LEAST_VERSION: (u32, u32, u32) = (3, 51, 3);

/// Pages in the log after which a commit also checkpoints: 8 MiB.
const CHECKPOINT_PAGES: &str = "2000";
/// What the log's file shrinks to after it once had to grow past it.
const LOG_BYTES: &str = "67108864";

/// The writer: the only connection that writes or checkpoints. FULL: what is committed survives
/// power loss (F4). No memory map: a truncated file must be an error and not a signal (B7).
pub(super) async fn writer(file: &Path, create: bool) -> sqlx::Result<SqliteConnection> {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(create)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("mmap_size", "0")
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("journal_size_limit", LOG_BYTES)
        .pragma("cache_size", "-8192")
        .pragma("temp_store", "MEMORY")
        .foreign_keys(false)
        .statement_cache_capacity(32)
        .disable_statement_logging()
        .connect()
        .await
}

/// A reader.
pub(super) async fn reader(file: &Path) -> sqlx::Result<SqliteConnection> {
    SqliteConnectOptions::new()
        .filename(file)
        .read_only(true)
        .pragma("query_only", "ON")
        .pragma("mmap_size", "0")
        .pragma("wal_autocheckpoint", "0")
        .pragma("temp_store", "MEMORY")
        .foreign_keys(false)
        .statement_cache_capacity(32)
        // A reader's answer fits, so that nobody who stops listening holds a snapshot open (H104).
        .row_buffer_size(4096)
        .disable_statement_logging()
        .connect()
        .await
}

/// A connection that only looks at a database that may be anybody's.
pub(super) async fn stranger(file: &Path) -> sqlx::Result<SqliteConnection> {
    SqliteConnectOptions::new().filename(file).read_only(true).disable_statement_logging().connect().await
}

/// What the database says that it is: its application id and how many tables it has.
pub(super) async fn identity(connection: &mut SqliteConnection) -> sqlx::Result<(i64, i64)> {
    let row = sqlx::query("SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id")
        .fetch_one(connection)
        .await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// Writes into an empty database that it is ours.
pub(super) async fn claim(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    if identity(connection).await? == (0, 0) {
        let statement = format!("PRAGMA application_id = {}", super::APPLICATION);
        sqlx::query(AssertSqlSafe(statement)).persistent(false).execute(connection).await?;
    }
    Ok(())
}

/// Gives a new database an identity (`PRAGMA user_version`), by which a replaced file is told, and
/// brings it into the file's own header.
pub(super) async fn identify(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let identity: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await?;
    if identity != 0 {
        return Ok(());
    }
    let identity: i64 = sqlx::query_scalar("SELECT abs(random() % 2147483646) + 1").fetch_one(&mut *connection).await?;
    let statement =
        format!("BEGIN IMMEDIATE; PRAGMA user_version = {identity}; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    sqlx::query(AssertSqlSafe(statement)).persistent(false).execute(connection).await?;
    Ok(())
}

/// Whether the SQLite that is linked in is free of the WAL-reset fault.
pub(super) async fn version_is_sound(connection: &mut SqliteConnection) -> sqlx::Result<Result<(), String>> {
    let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(connection).await?;
    Ok(if is_sound(&version) { Ok(()) } else { Err(version) })
}

fn is_sound(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next()) >= LEAST_VERSION
}

/// Closes a connection and waits until its thread has let go of the file.
pub(super) async fn close(connection: SqliteConnection) {
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "a connection to the database did not close cleanly");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f5_versions_with_the_wal_reset_fault_are_refused() {
        for bad in ["3.7.0", "3.50.4", "3.51.0", "3.51.2", "nonsense", ""] {
            assert!(!is_sound(bad), "{bad}");
        }
        for good in ["3.51.3", "3.52.0", "4.0.0"] {
            assert!(is_sound(good), "{good}");
        }
    }
}
