//! The migrations: append-only, each in a transaction of its own (H112).

use lineup_ports::outbound::StoreError;
use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::{
    connect,
    error::{corrupt, failed},
};

const MIGRATIONS: [(i64, &str, &str); 2] = [
    (1, "layout", include_str!("migrations/0001_layout.sql")),
    (2, "conversations", include_str!("migrations/0002_conversations.sql")),
];

/// Brings the database to the layout of this version.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    apply(connection, &MIGRATIONS).await
}

async fn apply(
    connection: &mut SqliteConnection,
    migrations: &[(i64, &'static str, &'static str)],
) -> Result<(), StoreError> {
    const OPERATION: &str = "migrate the database";
    // Before any table: one that is found without it is another program's.
    connect::claim(connection).await.map_err(|error| failed(OPERATION, error))?;
    let migrations: Vec<Migration> = migrations
        .iter()
        .map(|(version, name, sql)| {
            Migration::new(*version, (*name).into(), MigrationType::Simple, (*sql).into_sql_str(), false)
        })
        .collect();
    match Migrator::with_migrations(migrations).run_direct(None, connection, false).await {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(version)) => Err(corrupt(
            OPERATION,
            format!("the database was written by a newer version (layout {version}); start that version"),
        )),
        Err(error @ (MigrateError::VersionMismatch(_) | MigrateError::Dirty(_))) => {
            Err(corrupt(OPERATION, format!("the database has another history than this version: {error}")))
        }
        Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => Err(failed(OPERATION, error)),
        Err(error) => Err(corrupt(OPERATION, error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::SqliteStore, *};

    #[tokio::test(flavor = "multi_thread")]
    async fn h112_a_creation_that_was_interrupted_between_its_commits_is_gone_on_with() {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let mut connection = connect::writer(&directory.path().join("lineup.sqlite"), true).await.expect("a new file");
        // Ends where a kill after the first commit does: the list of migrations is there, nothing else.
        apply(&mut connection, &[(1, "layout", "CREATE TABLE")]).await.expect_err("half a statement");
        connect::close(connection).await;
        SqliteStore::open(directory.path()).await.expect("the store is made");
    }
}
