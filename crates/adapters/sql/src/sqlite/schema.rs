//! The migrations: append-only, each in a transaction of its own (H112).

use lineup_ports::outbound::StoreError;
use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

use super::error::{corrupt, failed};

const MIGRATIONS: [(i64, &str, &str); 1] = [(1, "layout", include_str!("migrations/0001_layout.sql"))];

/// Brings the database to the layout of this version.
pub(super) async fn migrate(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    const OPERATION: &str = "migrate the database";
    let migrations = MIGRATIONS.map(|(version, name, sql)| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    match Migrator::with_migrations(migrations.into()).run_direct(None, connection, false).await {
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
