//! The store in one SQLite file.

/// Reads a private row struct from the columns of a query, in the order of the fields.
macro_rules! columns {
    ($row:ident { $($field:ident),* $(,)? }) => {
        impl $row {
            fn read(row: &sqlx::sqlite::SqliteRow, first: usize) -> sqlx::Result<Self> {
                let mut column = first..;
                Ok(Self { $($field: sqlx::Row::try_get(row, column.next().unwrap_or_default())?),* })
            }
        }

        impl<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> for $row {
            fn from_row(row: &'r sqlx::sqlite::SqliteRow) -> sqlx::Result<Self> {
                Self::read(row, 0)
            }
        }
    };
}

mod absent;
mod batch;
mod connect;
mod counters;
mod error;
mod list;
mod location;
mod open;
mod read;
mod schema;
mod stored;
#[cfg(test)]
mod tests;
mod write;
mod writer;

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    path::Path,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock, Weak},
    task::{Context, Poll, ready},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{FutureExt as _, future::BoxFuture};
use lineup_core::{Needs, session::AppSession, workspace::facts::Fetched};
use lineup_model::{ConversationId, WorkspaceId};
use lineup_ports::outbound::{
    AuditQuery, AuditRow, Commit, Committed, Opened, Store, StoreCapabilities, StoreError, StoreErrorKind,
};
use sqlx::SqliteConnection;
use tokio::{
    runtime::Handle,
    sync::{Mutex, MutexGuard, Notify, OwnedMutexGuard},
};

pub use counters::CounterValues;

use absent::Absent;
use counters::Counters;
use location::Location;
use writer::Writer;

/// Marks a LineUp database, `PRAGMA application_id`: 'LnUp'.
const APPLICATION: i64 = 0x4c6e_5570;

/// How long nothing must have been committed before the log is copied into the database.
const IDLE: Duration = Duration::from_millis(500);

/// Workspaces in one SQLite file, owned by this process.
///
/// Commits are durable through power loss (write-ahead log, `synchronous=FULL`). One connection
/// writes; reads go through others.
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    location: Location,
    writer: Arc<Mutex<Writer>>,
    /// For [`Store::fetch`], which the next batch waits for.
    facts: Mutex<Option<SqliteConnection>>,
    /// For people: the audit and App sessions, which may take long.
    people: Mutex<Option<SqliteConnection>>,
    numbers: RwLock<BTreeMap<WorkspaceId, i64>>,
    counters: Counters,
    absent: Absent,
    committed: Arc<Notify>,
}

impl SqliteStore {
    /// Opens the database `lineup.sqlite` in a directory, or the file if the path has an extension.
    /// What is missing is created. Nobody else can open it until this is closed or dropped.
    ///
    /// # Errors
    /// `Owned` when another process has it; `Corrupt` when the file, or what is beside it, is not
    /// what a store of this version left there (nothing is changed then); `Unavailable` when the
    /// files cannot be reached.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        const OPERATION: &str = "open the database";
        let location = Location::take(path.as_ref())?;
        let file = location.file.clone();
        if location.application().is_some_and(|found| found != APPLICATION) {
            stranger(&file).await?;
        }
        let failed = |error| error::failed(OPERATION, error);
        let mut connection = connect::writer(&file, true).await.map_err(failed)?;
        if let Err(version) = connect::version_is_sound(&mut connection).await.map_err(failed)? {
            return Err(error::corrupt(
                OPERATION,
                format!("SQLite {version} can damage its log; link 3.51.3 or newer"),
            ));
        }
        schema::migrate(&mut connection).await?;
        connect::identify(&mut connection).await.map_err(failed)?;
        location.note().map_err(|error| error::io(OPERATION, &file, error))?;
        let (facts, people) =
            (connect::reader(&file).await.map_err(failed)?, connect::reader(&file).await.map_err(failed)?);
        let inner = Arc::new(Inner {
            location,
            writer: Arc::new(Mutex::new(Writer::new(connection))),
            facts: Mutex::new(Some(facts)),
            people: Mutex::new(Some(people)),
            numbers: RwLock::default(),
            counters: Counters::default(),
            absent: Absent::filling(),
            committed: Arc::default(),
        });
        tokio::spawn(checkpoint_when_idle(Arc::downgrade(&inner), inner.committed.clone()));
        // A small table is known at once; a start does not wait for a large one.
        if inner.fill_page().await? {
            tokio::spawn(fill(Arc::downgrade(&inner)));
        }
        Ok(Self { inner })
    }

    /// What the store has done since it was opened.
    #[must_use]
    pub fn counters(&self) -> CounterValues {
        self.inner.counters.values()
    }
}

/// Refuses a database that is somebody else's. One without a single table is a store whose creation
/// was interrupted, or one whose header is still in its log.
async fn stranger(file: &Path) -> Result<(), StoreError> {
    const OPERATION: &str = "open the database";
    let failed = |error| error::failed(OPERATION, error);
    let mut connection = connect::stranger(file).await.map_err(failed)?;
    let found = connect::identity(&mut connection).await.map_err(failed);
    connect::close(connection).await;
    match found? {
        (APPLICATION, _) | (0, 0) => Ok(()),
        _ => Err(error::corrupt(
            OPERATION,
            format!("{} is another program's database; name another place", file.display()),
        )),
    }
}

/// Copies the log into the database while nobody waits for a commit, so that a later start has
/// little to recover. Under load the commits themselves do it, every [`connect`] pages.
async fn checkpoint_when_idle(inner: Weak<Inner>, committed: Arc<Notify>) {
    loop {
        committed.notified().await;
        while tokio::time::timeout(IDLE, committed.notified()).await.is_ok() {}
        let Some(inner) = inner.upgrade() else { return };
        inner.writer.lock().await.checkpoint().await;
    }
}

/// Reads the rest of the table of entries, a page at a time, so that what is not in it is known. If
/// a page cannot be read, every entry is looked for.
async fn fill(inner: Weak<Inner>) {
    while let Some(inner) = inner.upgrade() {
        match inner.fill_page().await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return tracing::warn!(%error, "it is not known which calls are new"),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.committed.notify_one();
    }
}

impl Inner {
    fn number(&self, workspace: &WorkspaceId, operation: &'static str) -> Result<i64, StoreError> {
        let numbers = self.numbers.read().unwrap_or_else(PoisonError::into_inner);
        numbers.get(workspace).copied().ok_or_else(|| StoreError {
            kind: StoreErrorKind::Unavailable,
            operation,
            detail: format!("workspace {workspace} is not open"),
            source: None,
        })
    }

    async fn open(&self, workspace: &WorkspaceId) -> Result<Opened, StoreError> {
        let owned = self.writer.lock().await.own(workspace, &self.location, &self.counters).await?;
        let numbers = || self.numbers.write().unwrap_or_else(PoisonError::into_inner);
        numbers().insert(workspace.clone(), owned.no);
        let mut queries = 0;
        let mut reading = self.reader(&self.people, "open the workspace").await?;
        let records = open::records(&mut reading.connection, owned.no, owned.time, &mut queries).await;
        self.counters.read(queries);
        Ok(Opened { epoch: owned.epoch, last_batch: owned.last_batch, records: reading.done(records)? })
    }

    async fn commit(&self, mut writer: OwnedMutexGuard<Writer>, batch: Vec<Commit>) -> Committed {
        let committed = writer.commit(batch, &self.location, &self.counters, &self.absent).await;
        if committed == Committed::Committed {
            self.committed.notify_one();
        }
        committed
    }

    /// Adds a page of the entries to what is known to be there; says whether there may be more.
    async fn fill_page(&self) -> Result<bool, StoreError> {
        const OPERATION: &str = "read the entries";
        let mut reading = self.reader(&self.people, OPERATION).await?;
        let page = absent::page(&mut reading.connection, self.absent.last()).await;
        let page = reading.done(page.map_err(|error| error::failed(OPERATION, error)))?;
        Ok(self.absent.add_page(&page))
    }

    async fn reopen(&self, workspace: &WorkspaceId) -> Result<u64, StoreError> {
        for reader in [&self.facts, &self.people] {
            if let Some(connection) = reader.lock().await.take() {
                connect::close(connection).await;
            }
        }
        self.writer.lock().await.reopen(workspace, &self.location, &self.counters).await
    }

    /// Takes a reading connection, or makes a new one.
    async fn reader<'a>(
        &self,
        reader: &'a Mutex<Option<SqliteConnection>>,
        operation: &'static str,
    ) -> Result<Reading<'a>, StoreError> {
        let mut home = reader.lock().await;
        if self.location.is_given_up() {
            return Err(error::closed(operation));
        }
        let connection = match home.take() {
            Some(connection) => connection,
            None => connect::reader(&self.location.file).await.map_err(|error| error::failed(operation, error))?,
        };
        Ok(Reading { home, connection })
    }
}

/// A connection that one read has to itself. It is used again only if the read did not fail.
struct Reading<'a> {
    home: MutexGuard<'a, Option<SqliteConnection>>,
    connection: SqliteConnection,
}

impl Reading<'_> {
    fn done<T>(mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if !result.as_ref().is_err_and(|error| error.kind == StoreErrorKind::Unavailable) {
            *self.home = Some(self.connection);
        }
        result
    }
}

/// Runs to its end whether or not anybody waits for it (F1, F7): work whose future is dropped goes on
/// in a task of its own. `None` when it panicked.
fn undroppable<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Undroppable<T> {
    Undroppable { work: Some(Box::pin(AssertUnwindSafe(work).catch_unwind())), runtime: Handle::current() }
}

/// Polled where it is waited for: a task between would be woken for every step of every commit.
struct Undroppable<T: Send + 'static> {
    work: Option<BoxFuture<'static, std::thread::Result<T>>>,
    runtime: Handle,
}

impl<T: Send + 'static> Future for Undroppable<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        let done = ready!(work.as_mut().poll(context));
        self.work = None;
        Poll::Ready(done.ok())
    }
}

impl<T: Send + 'static> Drop for Undroppable<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.runtime.spawn(work);
        }
    }
}

fn stopped(operation: &'static str) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Unavailable,
        operation,
        detail: "the work was stopped before its end; start the Runtime again".to_owned(),
        source: None,
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities::single_process()
    }

    async fn open(&self, workspace: &WorkspaceId) -> Result<Opened, StoreError> {
        let (inner, workspace) = (self.inner.clone(), workspace.clone());
        undroppable(async move { inner.open(&workspace).await })
            .await
            .unwrap_or_else(|| Err(stopped("open the workspace")))
    }

    async fn commit(&self, batch: Vec<Commit>) -> Committed {
        let inner = self.inner.clone();
        undroppable(async move {
            // Whoever comes later waits for what was asked for first, also if nobody waits for that.
            let writer = inner.writer.clone().lock_owned().await;
            inner.commit(writer, batch).await
        })
        .await
        .unwrap_or(Committed::Unknown)
    }

    async fn reopen(&self, workspace: &WorkspaceId) -> Result<u64, StoreError> {
        let (inner, workspace) = (self.inner.clone(), workspace.clone());
        undroppable(async move { inner.reopen(&workspace).await })
            .await
            .unwrap_or_else(|| Err(stopped("open the data again")))
    }

    async fn close(&self) {
        let inner = self.inner.clone();
        undroppable(async move {
            for reader in [&inner.facts, &inner.people] {
                if let Some(connection) = reader.lock().await.take() {
                    connect::close(connection).await;
                }
            }
            let mut writer = inner.writer.lock().await;
            writer.discard().await;
            inner.location.give_up();
        })
        .await
        .unwrap_or_default();
    }

    async fn probe(&self, _workspace: &WorkspaceId) -> Result<(), StoreError> {
        let inner = self.inner.clone();
        undroppable(async move { inner.writer.lock().await.probe(&inner.location, &inner.counters).await })
            .await
            .unwrap_or_else(|| Err(stopped("probe the store")))
    }

    async fn fetch(&self, workspace: &WorkspaceId, needs: &Needs) -> Result<Fetched, StoreError> {
        if needs.is_empty() {
            return Ok(Fetched::default());
        }
        const OPERATION: &str = "fetch what was asked for";
        let no = self.inner.number(workspace, OPERATION)?;
        if needs.calls.is_empty() && needs.documents.is_empty() && self.inner.absent.all(no, &needs.entries) {
            return Ok(Fetched::default());
        }
        self.inner.counters.read(1);
        let mut reading = self.inner.reader(&self.inner.facts, OPERATION).await?;
        let fetched = read::fetch(&mut reading.connection, no, needs).await;
        reading.done(fetched)
    }

    async fn audit(&self, workspace: &WorkspaceId, query: AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        const OPERATION: &str = "read the audit";
        let no = self.inner.number(workspace, OPERATION)?;
        let inner = self.inner.clone();
        inner.counters.read(1);
        undroppable(async move {
            let mut reading = inner.reader(&inner.people, OPERATION).await?;
            let rows = read::audit(&mut reading.connection, no, query).await;
            reading.done(rows)
        })
        .await
        .unwrap_or_else(|| Err(stopped(OPERATION)))
    }

    async fn sessions(
        &self,
        workspace: &WorkspaceId,
        conversation: &ConversationId,
        limit: u32,
    ) -> Result<Vec<AppSession>, StoreError> {
        const OPERATION: &str = "read the App sessions";
        let no = self.inner.number(workspace, OPERATION)?;
        let (inner, conversation) = (self.inner.clone(), conversation.clone());
        inner.counters.read(1);
        undroppable(async move {
            let mut reading = inner.reader(&inner.people, OPERATION).await?;
            let sessions = read::sessions(&mut reading.connection, no, &conversation, limit).await;
            reading.done(sessions)
        })
        .await
        .unwrap_or_else(|| Err(stopped(OPERATION)))
    }
}
