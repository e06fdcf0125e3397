//! The one connection that writes, and what it knows of the workspaces that it writes for.

use std::collections::BTreeMap;

use lineup_failpoint::{Point, hit};
use lineup_model::WorkspaceId;
use lineup_ports::outbound::{Cause, Commit, Committed, Epoch, StoreError, StoreErrorKind};
use sqlx::{Row, SqliteConnection};

use super::{
    absent::Absent,
    batch::{Batch, Collector},
    connect,
    counters::Counters,
    error,
    location::Location,
    write::{self, Texts, Written},
};

/// A workspace as its owner opened it.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) no: i64,
    pub(super) epoch: Epoch,
    pub(super) last_batch: u64,
    pub(super) time: Option<String>,
}

/// The writer. `None` for a connection that failed: the next use makes a new one (F2).
pub(super) struct Writer {
    connection: Option<SqliteConnection>,
    owned: BTreeMap<WorkspaceId, Owned>,
    texts: Texts,
    /// A COMMIT failed and nobody knows how: nothing is written before a reopen (F3).
    in_doubt: bool,
}

/// The highest number that a workspace can have in one file: the rest of a journal id is the place.
const LAST_NUMBER: i64 = (1 << 22) - 1;

impl Writer {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        Self { connection: Some(connection), owned: BTreeMap::new(), texts: Texts::default(), in_doubt: false }
    }

    /// Takes a workspace over: its epoch grows, so that commits of an older owner are refused.
    pub(super) async fn own(
        &mut self,
        workspace: &WorkspaceId,
        location: &Location,
        counters: &Counters,
    ) -> Result<Owned, StoreError> {
        const OPERATION: &str = "open the workspace";
        let row = self
            .ask(
                OPERATION,
                "BEGIN IMMEDIATE; \
                 INSERT INTO workspaces (id, epoch, last_batch, fences) VALUES (?, 1, 0, 0) \
                 ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1; \
                 SELECT no, epoch, last_batch, time FROM workspaces WHERE id = ?; \
                 COMMIT",
                &[workspace.as_str(), workspace.as_str()],
                location,
                counters,
            )
            .await?
            .ok_or_else(|| error::corrupt(OPERATION, format!("workspace {workspace} was written and is not there")))?;
        let unreadable = |cause| error::unreadable(OPERATION, "workspaces", workspace, cause);
        let owned = Owned {
            no: row.try_get(0).map_err(unreadable)?,
            epoch: Epoch(row.try_get::<i64, _>(1).map_err(unreadable)?.unsigned_abs()),
            last_batch: row.try_get::<i64, _>(2).map_err(unreadable)?.unsigned_abs(),
            time: row.try_get(3).map_err(unreadable)?,
        };
        if owned.no > LAST_NUMBER {
            return Err(StoreError {
                kind: StoreErrorKind::Unavailable,
                operation: OPERATION,
                detail: "the database has no room for another workspace; use another one".to_owned(),
                source: None,
            });
        }
        self.owned.insert(workspace.clone(), owned.clone());
        hit(Point::SqlOwned);
        Ok(owned)
    }

    pub(super) async fn commit(
        &mut self,
        batch: Vec<Commit>,
        location: &Location,
        counters: &Counters,
        absent: &Absent,
    ) -> Committed {
        let rows = match self.collect(&batch) {
            Ok(Some(rows)) => rows,
            Ok(None) => return Committed::Committed,
            Err(why) => return Committed::NothingChanged(Cause::Refused(why)),
        };
        if self.in_doubt {
            let why = "a commit has an unknown outcome; the store must be opened again".to_owned();
            return Committed::NothingChanged(Cause::Unavailable(why));
        }
        let mut connection = match self.connected(location).await {
            Ok(connection) => connection,
            Err(error) => return Committed::NothingChanged(Cause::Unavailable(error.to_string())),
        };
        counters.wrote();
        absent.add(&rows.lookups);
        hit(Point::SqlAsked);
        let Written { rows, error } = write::send(&mut connection, &mut self.texts, rows).await;
        let Some((error, at_commit)) = error else {
            hit(Point::SqlCommitted);
            self.connection = Some(connection);
            for Commit { workspace, number, .. } in batch {
                if let Some(owned) = self.owned.get_mut(&workspace) {
                    owned.last_batch = number;
                }
            }
            counters.committed(rows);
            return Committed::Committed;
        };
        // After a refused statement the transaction is open and the connection sound. After
        // anything else nobody relies on it again: closing it rolls back (F2).
        let rolled_back =
            error::is_constraint(&error) && sqlx::query("ROLLBACK").execute(&mut connection).await.is_ok();
        if rolled_back {
            self.connection = Some(connection);
        } else {
            connect::close(connection).await;
        }
        let answer = error::committed(&error, at_commit);
        self.in_doubt = answer == Committed::Unknown;
        answer
    }

    /// The rows of a batch; `None` if there is nothing in it.
    fn collect(&self, batch: &[Commit]) -> Result<Option<Batch>, String> {
        let mut collector = Collector::default();
        let mut last: BTreeMap<&WorkspaceId, u64> = BTreeMap::new();
        for Commit { workspace, epoch, number, changes } in batch {
            let owned = self.owned.get(workspace).ok_or_else(|| format!("workspace {workspace} is not open"))?;
            let before = last.insert(workspace, *number).unwrap_or(owned.last_batch);
            // The batch of an older owner counts on from another number; the database refuses it.
            if *epoch == owned.epoch && *number != before + 1 {
                return Err(format!("batch {number} of workspace {workspace} does not follow batch {before}"));
            }
            let number = |value: u64| i64::try_from(value).map_err(|error| error.to_string());
            collector.workspace(owned.no, number(epoch.0)?, number(last[workspace])?, changes)?;
        }
        if last.is_empty() { Ok(None) } else { collector.finish().map(Some) }
    }

    /// Closes and opens the database, and commits something that nothing in flight can follow (F3).
    pub(super) async fn reopen(
        &mut self,
        workspace: &WorkspaceId,
        location: &Location,
        counters: &Counters,
    ) -> Result<u64, StoreError> {
        const OPERATION: &str = "open the data again";
        self.discard().await;
        let row = self
            .ask(
                OPERATION,
                "BEGIN IMMEDIATE; \
                 UPDATE workspaces SET fences = fences + 1 WHERE id = ?; \
                 SELECT last_batch FROM workspaces WHERE id = ?; \
                 COMMIT",
                &[workspace.as_str(), workspace.as_str()],
                location,
                counters,
            )
            .await?
            .ok_or_else(|| error::corrupt(OPERATION, format!("workspace {workspace} is not in the database")))?;
        let last: i64 = row.try_get(0).map_err(|cause| error::unreadable(OPERATION, "workspaces", workspace, cause))?;
        let last = last.unsigned_abs();
        if let Some(owned) = self.owned.get_mut(workspace) {
            owned.last_batch = last;
        }
        self.in_doubt = false;
        Ok(last)
    }

    /// Writes and removes two pages, in two commits: one commit would never reach the disk with them.
    pub(super) async fn probe(&mut self, location: &Location, counters: &Counters) -> Result<(), StoreError> {
        self.ask(
            "probe the store",
            "BEGIN IMMEDIATE; INSERT OR REPLACE INTO probe (id, pad) VALUES (1, zeroblob(8192)); COMMIT; \
             BEGIN IMMEDIATE; DELETE FROM probe; COMMIT",
            &[],
            location,
            counters,
        )
        .await
        .map(|_| ())
    }

    /// Copies what it can of the log into the database. A failure is met again by the next commit.
    pub(super) async fn checkpoint(&mut self) {
        if let Some(connection) = &mut self.connection
            && let Err(error) = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(connection).await
        {
            tracing::warn!(%error, "the log could not be copied into the database");
        }
    }

    /// The connection, for tests that spoil it.
    #[cfg(test)]
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("the last commit left a connection")
    }

    /// Closes the connection; one that was in a transaction rolls back.
    pub(super) async fn discard(&mut self) {
        if let Some(connection) = self.connection.take() {
            connect::close(connection).await;
        }
    }

    /// Sends statements that end in COMMIT and answers the first row.
    async fn ask(
        &mut self,
        operation: &'static str,
        statements: &'static str,
        arguments: &[&str],
        location: &Location,
        counters: &Counters,
    ) -> Result<Option<sqlx::sqlite::SqliteRow>, StoreError> {
        let mut connection = self.connected(location).await?;
        counters.wrote();
        let query =
            arguments.iter().fold(sqlx::query(statements), |query, argument| query.bind((*argument).to_owned()));
        match query.fetch_all(&mut connection).await {
            Ok(rows) => {
                self.connection = Some(connection);
                Ok(rows.into_iter().next())
            }
            Err(error) => {
                connect::close(connection).await;
                Err(error::failed(operation, error))
            }
        }
    }

    /// Takes the connection out, or makes a new one. Refuses when the file is not the one that was
    /// opened: what is written to a file that has been moved away is lost (B8).
    async fn connected(&mut self, location: &Location) -> Result<SqliteConnection, StoreError> {
        const OPERATION: &str = "write to the database";
        if location.is_given_up() {
            return Err(error::closed(OPERATION));
        }
        if !location.is_in_place() {
            self.discard().await;
            let detail = format!("{} was moved or replaced; put it back", location.file.display());
            return Err(StoreError { kind: StoreErrorKind::Unavailable, operation: OPERATION, detail, source: None });
        }
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => connect::writer(&location.file, false).await.map_err(|error| error::failed(OPERATION, error)),
        }
    }
}
