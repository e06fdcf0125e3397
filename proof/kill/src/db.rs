//! What the database says, read with queries of our own: nothing here is the product's code.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// A row of the journal.
#[derive(Clone, Debug)]
pub struct Fact {
    pub place: i64,
    pub happened: String,
    pub subject: String,
    pub call: Option<String>,
    pub wall: i64,
    pub effective: i64,
    pub body: Value,
}

/// A message in the journal.
#[derive(Clone, Debug)]
pub struct Message {
    pub id: String,
    pub place: i64,
    pub index: i64,
    pub body: Value,
}

/// The whole database of one workspace.
#[derive(Clone, Debug, Default)]
pub struct Database {
    pub journal: Vec<Fact>,
    /// Places of unfinished calls.
    pub open_calls: Vec<i64>,
    /// Place and index of every message that is to be sent.
    pub outbox: Vec<(i64, i64)>,
    /// Where taken in, and where ended.
    pub endings: Vec<(i64, i64)>,
    /// By kind and id.
    pub records: BTreeMap<(String, String), Value>,
    /// The bodies of session data.
    pub documents: Vec<Value>,
    /// Effective time as it was last stored.
    pub effective: i64,
}

/// The place of a journal id in its workspace.
const fn place(id: i64) -> i64 {
    id & ((1 << 40) - 1)
}

impl Database {
    /// Copies the files of a database that nobody has open, and reads the copy. The files of the
    /// round stay as the kill left them.
    pub async fn read(data: &Path) -> Result<Self, String> {
        let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
        for name in ["lineup.sqlite", "lineup.sqlite-wal"] {
            let from = data.join(name);
            if from.exists() {
                std::fs::copy(&from, copy.path().join(name)).map_err(|error| format!("{name}: {error}"))?;
            }
        }
        if !copy.path().join("lineup.sqlite").exists() {
            return Ok(Self::default());
        }
        Self::load(&copy.path().join("lineup.sqlite")).await.map_err(|error| format!("the database: {error}"))
    }

    async fn load(file: &Path) -> sqlx::Result<Self> {
        let mut connection = SqliteConnectOptions::new().filename(file).disable_statement_logging().connect().await?;
        let mut database = Self::default();
        let check: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut connection).await?;
        if check != "ok" {
            return Err(sqlx::Error::Protocol(format!("integrity_check: {check}")));
        }
        let laid_out: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'probe'")
            .fetch_one(&mut connection)
            .await?;
        if laid_out == 1 {
            database.fill(&mut connection).await?;
        }
        connection.close().await?;
        Ok(database)
    }

    async fn fill(&mut self, connection: &mut SqliteConnection) -> sqlx::Result<()> {
        let rows = sqlx::query("SELECT id, happened, subject, call, wall, effective, body FROM journal ORDER BY id");
        for row in rows.fetch_all(&mut *connection).await? {
            self.journal.push(Fact {
                place: place(row.try_get(0)?),
                happened: row.try_get(1)?,
                subject: row.try_get(2)?,
                call: row.try_get(3)?,
                wall: row.try_get(4)?,
                effective: row.try_get(5)?,
                body: json(row.try_get(6)?)?,
            });
        }
        let ids: Vec<i64> = sqlx::query_scalar("SELECT id FROM open_calls").fetch_all(&mut *connection).await?;
        self.open_calls = ids.into_iter().map(place).collect();
        let rows: Vec<(i64, i64)> =
            sqlx::query_as("SELECT journal, idx FROM outbox").fetch_all(&mut *connection).await?;
        self.outbox = rows.into_iter().map(|(id, index)| (place(id), index)).collect();
        let rows: Vec<(i64, i64)> = sqlx::query_as("SELECT id, ended FROM endings").fetch_all(&mut *connection).await?;
        self.endings = rows.into_iter().map(|(id, ended)| (place(id), ended)).collect();
        for row in sqlx::query("SELECT kind, id, body FROM records").fetch_all(&mut *connection).await? {
            self.records.insert((row.try_get(0)?, row.try_get(1)?), json(row.try_get(2)?)?);
        }
        let bodies: Vec<String> = sqlx::query_scalar("SELECT body FROM documents").fetch_all(&mut *connection).await?;
        self.documents = bodies.into_iter().map(json).collect::<Result<_, _>>()?;
        let time: Option<Option<String>> =
            sqlx::query_scalar("SELECT time FROM workspaces").fetch_optional(&mut *connection).await?;
        if let Some(Some(time)) = time {
            self.effective = json(time)?["effective"].as_i64().unwrap_or_default();
        }
        Ok(())
    }

    /// Every message of the journal, in order.
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        self.journal.iter().flat_map(|fact| {
            let messages = fact.body["messages"].as_array().into_iter().flatten();
            messages.enumerate().map(|(index, message)| Message {
                id: message["id"].as_str().map_or_else(|| format!("m{}-{index}", fact.place), str::to_owned),
                place: fact.place,
                index: i64::try_from(index).unwrap_or(i64::MAX),
                body: message["body"].clone(),
            })
        })
    }

    /// How far the wall clock moved from the first row of the journal to the last, in milliseconds.
    pub fn wall_range(&self) -> i64 {
        let at = |fact: Option<&Fact>| fact.map_or(0, |fact| fact.wall);
        at(self.journal.last()) - at(self.journal.first())
    }

    /// The records of a kind.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.records.iter().filter(move |((of, _), _)| of == kind).map(|((_, id), body)| (id.as_str(), body))
    }

    /// The facts of this name.
    pub fn facts(&self, happened: &str) -> impl Iterator<Item = &Fact> {
        self.journal.iter().filter(move |fact| fact.happened == happened)
    }
}

fn json(text: String) -> sqlx::Result<Value> {
    serde_json::from_str(&text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}
