//! Reads everything live. No query here walks the journal: rows in it are met by their id.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use lineup_core::{
    Records, Seq, TimeLine,
    call::Call,
    focus::FocusStack,
    instance::Instance,
    outbox::{OutboxKey, OutboxRow},
    registry::Installed,
    session::{AppSession, DocumentHead},
};
use lineup_failpoint::{Point, hit};
use lineup_model::{AppSessionId, Descriptor, Digest, Effective, Instant, Wall};
use lineup_ports::outbound::StoreError;
use serde::de::DeserializeOwned;
use sqlx::SqliteConnection;

use super::{
    batch::{journal_id, kind, place},
    error::{corrupt, failed, unreadable},
    stored::StoredBody,
};

const OPERATION: &str = "open the workspace";

/// Unfinished calls with the rows that accepted them.
pub(super) const CALLS: &str = "\
SELECT open_calls.id, 0 AS idx, open_calls.body, effective, wall, conversation, journal.body AS journal \
FROM open_calls LEFT JOIN journal ON journal.id = open_calls.id \
WHERE open_calls.id > ? AND open_calls.id < ? ORDER BY open_calls.id";

/// Messages to be sent with the rows that hold them.
pub(super) const OUTBOX: &str = "\
SELECT outbox.journal AS id, idx, NULL AS body, effective, wall, conversation, journal.body AS journal \
FROM outbox LEFT JOIN journal ON journal.id = outbox.journal \
WHERE outbox.journal > ? AND outbox.journal < ? ORDER BY outbox.journal, idx";

/// A live row and the journal row that it refers to.
struct Live {
    id: i64,
    idx: i64,
    body: Option<String>,
    effective: Option<i64>,
    wall: Option<i64>,
    conversation: Option<String>,
    journal: Option<String>,
}

columns!(Live { id, idx, body, effective, wall, conversation, journal });

impl Live {
    /// The body of the journal row.
    fn stored(&self) -> Result<StoredBody, StoreError> {
        let wrong = |cause: Box<dyn std::error::Error + Send + Sync>| unreadable(OPERATION, "journal", self.id, cause);
        let body = self.journal.as_deref().ok_or_else(|| wrong("the row is missing".into()))?;
        StoredBody::read(body, self.conversation.as_deref()).map_err(|error| wrong(error.into()))
    }

    fn at(&self) -> Instant {
        instant(self.effective.unwrap_or_default(), self.wall.unwrap_or_default())
    }
}

pub(super) fn instant(effective: i64, wall: i64) -> Instant {
    Instant { effective: Effective(effective.unsigned_abs()), wall: Wall(wall) }
}

fn parse<T: DeserializeOwned>(table: &str, id: impl std::fmt::Display, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| unreadable(OPERATION, table, id, error))
}

/// Reads the live records of the workspace with this number. `queries` counts what was asked.
pub(super) async fn records(
    connection: &mut SqliteConnection,
    no: i64,
    time: Option<String>,
    queries: &mut u64,
) -> Result<Records, StoreError> {
    let range = (first(no)?, first(no + 1)?);
    let mut records = Records {
        time: time.map(|text| parse::<TimeLine>("workspaces", no, &text)).transpose()?,
        last: last(connection, range, queries).await?,
        ..Records::default()
    };
    live(connection, no, &mut records, queries).await?;
    calls(connection, range, &mut records, queries).await?;
    outbox(connection, range, &mut records, queries).await?;
    sessions(connection, no, &mut records, queries).await?;
    descriptors(connection, &mut records, queries).await?;
    hit(Point::SqlRecordsRead);
    Ok(records)
}

fn first(no: i64) -> Result<i64, StoreError> {
    journal_id(no, Seq(0)).map_err(|error| corrupt(OPERATION, error))
}

async fn last(connection: &mut SqliteConnection, range: (i64, i64), queries: &mut u64) -> Result<Seq, StoreError> {
    *queries += 1;
    let last: Option<i64> = sqlx::query_scalar("SELECT max(id) FROM journal WHERE id > ? AND id < ?")
        .bind(range.0)
        .bind(range.1)
        .fetch_one(connection)
        .await
        .map_err(|error| failed(OPERATION, error))?;
    Ok(last.map_or(Seq(0), place))
}

async fn live(
    connection: &mut SqliteConnection,
    no: i64,
    records: &mut Records,
    queries: &mut u64,
) -> Result<(), StoreError> {
    *queries += 1;
    let rows: Vec<(String, String, String)> =
        sqlx::query_as("SELECT kind, id, body FROM records WHERE workspace = ? ORDER BY kind, id")
            .bind(no)
            .fetch_all(connection)
            .await
            .map_err(|error| failed(OPERATION, error))?;
    for (kind, id, body) in rows {
        let row = format!("{no}/{kind}/{id}");
        match kind.as_str() {
            kind::ACTION => records.actions.push(parse("records", row, &body)?),
            kind::INSTANCE => records.instances.push(parse("records", row, &body)?),
            kind::ACTIVATION => records.activations.push(parse("records", row, &body)?),
            kind::OPERATION => records.operations.push(parse("records", row, &body)?),
            kind::FOCUS => records.focus = parse::<FocusStack>("records", row, &body)?,
            kind::SURFACE => records.surfaces.push(parse("records", row, &body)?),
            kind::INBOX => records.inbox.push(parse("records", row, &body)?),
            kind::CONVERSATION => records.conversations.push(parse("records", row, &body)?),
            kind::POLICY => records.policy = parse("records", row, &body)?,
            kind::HOST_PROFILE => records.host_profile = parse("records", row, &body)?,
            kind::APP => records.apps.push(parse::<Installed>("records", row, &body)?),
            kind::PUBLICATION => records.publications.push(parse("records", row, &body)?),
            _ => return Err(unreadable(OPERATION, "records", row, "no such kind")),
        }
    }
    // Ids are stored as text, which sorts 10 before 9.
    records.actions.sort_by_key(|action| action.seq);
    records.inbox.sort_by_key(|row| row.seq);
    Ok(())
}

async fn calls(
    connection: &mut SqliteConnection,
    range: (i64, i64),
    records: &mut Records,
    queries: &mut u64,
) -> Result<(), StoreError> {
    *queries += 1;
    let rows: Vec<Live> = sqlx::query_as(CALLS)
        .bind(range.0)
        .bind(range.1)
        .fetch_all(connection)
        .await
        .map_err(|error| failed(OPERATION, error))?;
    for row in rows {
        let seq = place(row.id);
        let mut call: Call = parse("open_calls", row.id, row.body.as_deref().unwrap_or_default())?;
        call.facts = row
            .stored()?
            .facts(seq, row.at())
            .ok_or_else(|| unreadable(OPERATION, "journal", row.id, "it accepts no call"))?;
        records.calls.push(call);
    }
    Ok(())
}

async fn outbox(
    connection: &mut SqliteConnection,
    range: (i64, i64),
    records: &mut Records,
    queries: &mut u64,
) -> Result<(), StoreError> {
    *queries += 1;
    let rows: Vec<Live> = sqlx::query_as(OUTBOX)
        .bind(range.0)
        .bind(range.1)
        .fetch_all(connection)
        .await
        .map_err(|error| failed(OPERATION, error))?;
    let mut read: Option<(i64, Vec<lineup_core::journal::Addressed>)> = None;
    for row in rows {
        let seq = place(row.id);
        let messages = match &read {
            Some((id, messages)) if *id == row.id => messages,
            _ => {
                let messages = row.stored()?.messages(seq);
                &read.insert((row.id, messages)).1
            }
        };
        let message = usize::try_from(row.idx).ok().and_then(|index| messages.get(index)).ok_or_else(|| {
            unreadable(OPERATION, "outbox", format!("{}/{}", row.id, row.idx), "the journal row has no such message")
        })?;
        records.outbox.push(OutboxRow {
            key: OutboxKey { seq, index: u32::try_from(row.idx).unwrap_or(u32::MAX) },
            recipient: message.recipient.clone(),
            message: message.message.clone(),
        });
    }
    Ok(())
}

/// The App sessions of live instances and their documents' heads.
async fn sessions(
    connection: &mut SqliteConnection,
    no: i64,
    records: &mut Records,
    queries: &mut u64,
) -> Result<(), StoreError> {
    if records.instances.is_empty() {
        return Ok(());
    }
    let ids: Vec<&AppSessionId> = records.instances.iter().map(|Instance { session, .. }| session).collect();
    let ids = serde_json::to_string(&ids).expect("ids are plain texts");
    *queries += 2;
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT app_sessions.id, body FROM json_each(?) AS live \
         CROSS JOIN app_sessions ON workspace = ? AND app_sessions.id = live.value ORDER BY app_sessions.id",
    )
    .bind(&ids)
    .bind(no)
    .fetch_all(&mut *connection)
    .await
    .map_err(|error| failed(OPERATION, error))?;
    for (id, body) in rows {
        records.sessions.push(parse::<AppSession>("app_sessions", format!("{no}/{id}"), &body)?);
    }
    let rows: Vec<(String, i64, i64, String)> = sqlx::query_as(
        "SELECT session, revision, bytes, digest FROM json_each(?) \
         CROSS JOIN documents ON workspace = ? AND session = value ORDER BY session",
    )
    .bind(&ids)
    .bind(no)
    .fetch_all(connection)
    .await
    .map_err(|error| failed(OPERATION, error))?;
    for (session, revision, bytes, digest) in rows {
        let wrong = || unreadable(OPERATION, "documents", format!("{no}/{session}"), "its columns are malformed");
        records.documents.push(DocumentHead {
            session: AppSessionId::new(&session).map_err(|_| wrong())?,
            revision: revision.unsigned_abs(),
            bytes: bytes.unsigned_abs(),
            digest: Digest::parse(&digest).ok_or_else(wrong)?,
        });
    }
    Ok(())
}

/// The descriptors of installed tools, from their manifests, and of unfinished calls.
async fn descriptors(
    connection: &mut SqliteConnection,
    records: &mut Records,
    queries: &mut u64,
) -> Result<(), StoreError> {
    let mut found: BTreeMap<Digest, Arc<Descriptor>> = records
        .apps
        .iter()
        .flat_map(|app| app.manifest.tools.iter())
        .map(|tool| (tool.digest(), Arc::new(tool.clone())))
        .collect();
    let missing: BTreeSet<&Digest> =
        records.calls.iter().map(|call| &call.facts.descriptor).filter(|digest| !found.contains_key(digest)).collect();
    if !missing.is_empty() {
        let asked = serde_json::to_string(&missing).expect("digests are plain texts");
        *queries += 1;
        let rows: Vec<(String, Option<String>)> =
            sqlx::query_as("SELECT value, body FROM json_each(?) LEFT JOIN descriptors ON digest = value")
                .bind(asked)
                .fetch_all(connection)
                .await
                .map_err(|error| failed(OPERATION, error))?;
        for (digest, body) in rows {
            let body = body.ok_or_else(|| unreadable(OPERATION, "descriptors", &digest, "the row is missing"))?;
            let descriptor: Descriptor = parse("descriptors", &digest, &body)?;
            found.insert(descriptor.digest(), Arc::new(descriptor));
        }
    }
    records.descriptors = found.into_values().collect();
    Ok(())
}
