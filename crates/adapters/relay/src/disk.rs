//! The relay's own disk: what no receiver has acknowledged yet, and nothing else.

use std::{path::Path, time::Duration};

use axum::body::Bytes;
use lineup_model::MessageId;
use lineup_wire::relay::Party;
use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

/// The oldest SQLite without the WAL-reset fault.
const SQLITE_VERSION: i64 = 3_051_003;
const SCHEMA_VERSION: i64 = 1;

const SCHEMA: &str = "
    CREATE TABLE envelope (
        seq INTEGER PRIMARY KEY,
        recipient TEXT NOT NULL,
        sender TEXT NOT NULL,
        message_id TEXT NOT NULL,
        payload BLOB NOT NULL
    ) STRICT;
    CREATE INDEX envelope_of_recipient ON envelope (recipient, seq);
    PRAGMA user_version = 1;
";

/// One envelope as it lies on the disk.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// Its place among everything that the relay has taken in.
    pub seq: u64,
    pub recipient: Party,
    pub sender: Party,
    pub id: MessageId,
    pub payload: Bytes,
}

/// The one writing connection. After a failed commit it is opened anew: SQLite may have left it
/// inside the transaction.
pub(crate) struct Writer {
    options: SqliteConnectOptions,
    connection: Option<SqliteConnection>,
}

/// A connection for reading mailboxes.
pub(crate) struct Reader(SqliteConnection);

/// Opens the file, or makes it. Returns the highest `seq` in it.
pub(crate) async fn open(path: &Path) -> sqlx::Result<(Writer, Reader, u64)> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5))
        .pragma("journal_size_limit", "16777216")
        .disable_statement_logging();
    let mut connection = options.connect().await?;
    let (number,): (i64,) = sqlx::query_as(
        "SELECT 1000000 * CAST(substr(v, 1, 1) AS INTEGER)
              + 1000 * CAST(substr(v, 3) AS INTEGER)
              + CAST(substr(v, 3 + instr(substr(v, 3), '.')) AS INTEGER)
         FROM (SELECT sqlite_version() AS v)",
    )
    .fetch_one(&mut connection)
    .await?;
    if number < SQLITE_VERSION {
        return Err(sqlx::Error::Protocol(format!("SQLite {number} can lose a write-ahead log; 3.51.3 is needed")));
    }
    migrate(&mut connection).await?;
    let (highest,): (i64,) =
        sqlx::query_as("SELECT COALESCE(MAX(seq), 0) FROM envelope").fetch_one(&mut connection).await?;
    let reader = Reader(options.clone().read_only(true).connect().await?);
    Ok((Writer { options, connection: Some(connection) }, reader, highest.cast_unsigned()))
}

async fn migrate(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    let mut change = connection.begin_with("BEGIN IMMEDIATE").await?;
    let (version,): (i64,) = sqlx::query_as("PRAGMA user_version").fetch_one(&mut *change).await?;
    match version {
        0 => {
            sqlx::raw_sql(SCHEMA).execute(&mut *change).await?;
        }
        SCHEMA_VERSION => {}
        newer => {
            return Err(sqlx::Error::Protocol(format!("the file has version {newer}, this relay reads 1")));
        }
    }
    change.commit().await
}

impl Writer {
    /// Makes the additions and the removals durable, all or none.
    pub async fn commit(&mut self, added: &[Stored], removed: &[u64]) -> sqlx::Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        // On an error the connection is dropped with whatever it holds.
        change(&mut connection, added, removed).await?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Closes the file; the last connection folds the write-ahead log into it.
    pub async fn close(self) -> sqlx::Result<()> {
        match self.connection {
            Some(connection) => connection.close().await,
            None => Ok(()),
        }
    }
}

async fn change(connection: &mut SqliteConnection, added: &[Stored], removed: &[u64]) -> sqlx::Result<()> {
    let mut change = connection.begin_with("BEGIN IMMEDIATE").await?;
    if !removed.is_empty() {
        let removed = serde_json::to_string(removed).expect("integers have JSON");
        sqlx::query("DELETE FROM envelope WHERE seq IN (SELECT value FROM json_each(?1))")
            .bind(removed)
            .execute(&mut *change)
            .await?;
    }
    if !added.is_empty() {
        let mut insert = sqlx::QueryBuilder::new("INSERT INTO envelope (seq, recipient, sender, message_id, payload) ");
        insert.push_values(added, |mut row, envelope| {
            row.push_bind(envelope.seq.cast_signed())
                .push_bind(envelope.recipient.to_string())
                .push_bind(envelope.sender.to_string())
                .push_bind(envelope.id.as_str())
                .push_bind(envelope.payload.as_ref());
        });
        // Batches differ in length: caching each statement would only fill the cache.
        insert.build().persistent(false).execute(&mut *change).await?;
    }
    change.commit().await
}

impl Reader {
    /// The next envelopes of a recipient between two places, both excluded: at most `count`, and no
    /// more once `bytes` of payload are read. Also says whether there is nothing more in between.
    pub async fn page(
        &mut self,
        recipient: &Party,
        after: u64,
        before: u64,
        count: usize,
        bytes: usize,
    ) -> sqlx::Result<(Vec<Stored>, bool)> {
        use futures_util::TryStreamExt as _;
        let mut rows = sqlx::query(
            "SELECT seq, sender, message_id, payload FROM envelope
             WHERE recipient = ?1 AND seq > ?2 AND seq < ?3 ORDER BY seq",
        )
        .bind(recipient.to_string())
        .bind(after.cast_signed())
        .bind(before.min(i64::MAX as u64).cast_signed())
        .fetch(&mut self.0);
        let (mut page, mut size) = (Vec::new(), 0);
        while let Some(row) = rows.try_next().await? {
            let payload: Vec<u8> = row.try_get("payload")?;
            size += payload.len();
            page.push(Stored {
                seq: row.try_get::<i64, _>("seq")?.cast_unsigned(),
                recipient: recipient.clone(),
                sender: parsed(row.try_get("sender")?)?,
                id: parsed(row.try_get("message_id")?)?,
                payload: payload.into(),
            });
            if page.len() >= count || size >= bytes {
                return Ok((page, false));
            }
        }
        Ok((page, true))
    }
}

fn parsed<T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>>(text: &str) -> sqlx::Result<T> {
    text.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}
