//! What is read while the workspace runs: facts for a batch, the audit, App sessions.

use std::{collections::BTreeSet, sync::Arc};

use lineup_core::{
    Known, Needs, Seq,
    call::CallFacts,
    session::AppSession,
    workspace::{
        change_set::EntryKey,
        facts::{Fetched, FinishedCall},
    },
};
use lineup_model::{CallKey, ConversationId, message::AgentBody};
use lineup_ports::{
    inbound::Range,
    outbound::{AuditQuery, AuditRow, StoreError},
};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, SqliteConnection, sqlite::SqliteRow};

use super::{
    batch::{hex, journal_id, place},
    error::{corrupt, failed, unreadable},
    open::instant,
    stored::StoredBody,
};

const FETCH: &str = "fetch what was asked for";
const AUDIT: &str = "read the audit";
const SESSIONS: &str = "read the App sessions";

/// One query for everything: entries with the rows that took them in and ended them, calls the same
/// way, documents.
pub(super) const NEEDS: &str = "\
SELECT 0 AS what, wanted.key AS idx, taking.id, taking.effective, taking.wall, taking.conversation, taking.body, \
 endings.ended, ending.conversation AS ended_in, ending.body AS ending \
FROM json_each(?1, '$.entries') AS wanted \
CROSS JOIN entries ON entries.workspace = ?2 AND entries.lookup = unhex(wanted.value) \
LEFT JOIN journal AS taking ON taking.id = ?3 + entries.taken \
LEFT JOIN endings ON endings.id = ?3 + entries.taken \
LEFT JOIN journal AS ending ON ending.id = ?3 + endings.ended \
UNION ALL \
SELECT 1, wanted.key, taking.id, taking.effective, taking.wall, taking.conversation, taking.body, \
 endings.ended, ending.conversation, ending.body \
FROM json_each(?1, '$.calls') AS wanted \
CROSS JOIN journal AS taking ON taking.id = ?3 + wanted.value \
CROSS JOIN endings ON endings.id = taking.id \
LEFT JOIN journal AS ending ON ending.id = ?3 + endings.ended \
UNION ALL \
SELECT 2, wanted.key, documents.revision, NULL, NULL, NULL, documents.body, NULL, NULL, NULL \
FROM json_each(?1, '$.documents') AS wanted \
CROSS JOIN documents ON documents.workspace = ?2 AND documents.session = wanted.value";

struct Found {
    what: i64,
    idx: i64,
    id: Option<i64>,
    effective: Option<i64>,
    wall: Option<i64>,
    conversation: Option<String>,
    body: Option<String>,
    ended: Option<i64>,
    ended_in: Option<String>,
    ending: Option<String>,
}

columns!(Found { what, idx, id, effective, wall, conversation, body, ended, ended_in, ending });

/// Reads what a batch of inputs needs.
pub(super) async fn fetch(connection: &mut SqliteConnection, no: i64, needs: &Needs) -> Result<Fetched, StoreError> {
    let base = journal_id(no, Seq(0)).map_err(|error| corrupt(FETCH, error))?;
    let wanted = json!({
        "entries": needs.entries.iter().map(|key| hex(&key.lookup())).collect::<Vec<_>>(),
        "calls": needs.calls,
        "documents": needs.documents,
    });
    let rows: Vec<Found> = sqlx::query_as(NEEDS)
        .bind(wanted.to_string())
        .bind(no)
        .bind(base)
        .fetch_all(connection)
        .await
        .map_err(|error| failed(FETCH, error))?;
    let mut fetched = Fetched::default();
    for row in rows {
        let asked = usize::try_from(row.idx).unwrap_or(usize::MAX);
        match row.what {
            0 => {
                let Some(key) = needs.entries.get(asked) else { continue };
                if let Some(known) = row.known(key)? {
                    fetched.entries.insert(key.clone(), known);
                }
            }
            1 => {
                let Some(seq) = needs.calls.get(asked) else { continue };
                let (mut body, seq) = (row.taking()?, *seq);
                // A text or an action that has ended is no call.
                if let Some(facts) = body.facts(seq, row.at()) {
                    fetched.calls.insert(seq, row.finished(facts)?);
                }
            }
            _ => {
                let Some(session) = needs.documents.get(asked) else { continue };
                let data = serde_json::from_str(row.body.as_deref().unwrap_or_default())
                    .map_err(|error| unreadable(FETCH, "documents", format!("{no}/{session}"), error))?;
                let revision = row.id.unwrap_or_default().unsigned_abs();
                fetched.documents.insert(session.clone(), (revision, Arc::new(data)));
            }
        }
    }
    Ok(fetched)
}

impl Found {
    fn at(&self) -> lineup_model::Instant {
        instant(self.effective.unwrap_or_default(), self.wall.unwrap_or_default())
    }

    /// The body of the row that took the entry in.
    fn taking(&self) -> Result<StoredBody, StoreError> {
        let (Some(id), Some(body)) = (self.id, &self.body) else {
            return Err(corrupt(FETCH, "an entry refers to a journal row that is missing; restore from a backup"));
        };
        StoredBody::read(body, self.conversation.as_deref()).map_err(|error| unreadable(FETCH, "journal", id, error))
    }

    /// What is known of the entry; `None` if it is another entry's, or a call's that is still open.
    fn known(&self, key: &EntryKey) -> Result<Option<Known>, StoreError> {
        let mut body = self.taking()?;
        if body.entries.contains(key) {
            return Ok(Some(Known::Taken));
        }
        let facts = body.facts(place(self.id.unwrap_or_default()), self.at());
        match (key, facts) {
            (EntryKey::Call(address), Some(facts)) if *address == facts.address && self.ended.is_some() => {
                Ok(Some(Known::Call(self.finished(facts)?)))
            }
            // The digest of another key, or an open call, which the workspace itself knows.
            _ => Ok(None),
        }
    }

    /// The call with the outcome in the row that ended it.
    fn finished(&self, facts: Arc<CallFacts>) -> Result<Arc<FinishedCall>, StoreError> {
        let ended = Seq(self.ended.unwrap_or_default().unsigned_abs());
        let text = self.ending.as_deref().ok_or_else(|| unreadable(FETCH, "journal", ended, "the row is missing"))?;
        let mut body = StoredBody::read(text, self.ended_in.as_deref())
            .map_err(|error| unreadable(FETCH, "journal", ended, error))?;
        let outcome = body.messages(ended).into_iter().find_map(|addressed| match &addressed.message.body {
            AgentBody::Outcome(outcome) if outcome.call_id == facts.address.call_id => {
                Some((outcome.end.class(), addressed.message.clone()))
            }
            _ => None,
        });
        let (class, outcome) = match (outcome, body.class) {
            (Some((class, message)), _) => (class, Some(message)),
            (None, Some(class)) => (class, None),
            (None, None) => return Err(unreadable(FETCH, "journal", ended, "it holds no outcome")),
        };
        Ok(Arc::new(FinishedCall { facts, class, outcome }))
    }
}

const COLUMNS: &str = "id, source, actor, happened, subject, call, conversation, code, wall, effective, body";

struct Told {
    id: i64,
    source: String,
    actor: String,
    happened: String,
    subject: String,
    call: Option<String>,
    conversation: Option<String>,
    code: Option<String>,
    wall: i64,
    effective: i64,
    body: String,
}

columns!(Told { id, source, actor, happened, subject, call, conversation, code, wall, effective, body });

impl Told {
    fn row(self) -> Result<AuditRow, StoreError> {
        let seq = place(self.id);
        let wrong = |error| unreadable(AUDIT, "journal", self.id, error);
        let stored = StoredBody::read(&self.body, self.conversation.as_deref()).map_err(wrong)?;
        let class = stored.class;
        let mut body = serde_json::to_value(stored.body(seq, instant(self.effective, self.wall))).map_err(wrong)?;
        if let Some(class) = class {
            body["class"] = json!(class);
        }
        let call = self.call.map(CallKey::new).transpose();
        Ok(AuditRow {
            seq,
            source: self.source,
            actor: self.actor,
            happened: self.happened,
            subject: self.subject,
            call: call.map_err(|error| unreadable(AUDIT, "journal", self.id, error))?,
            code: self.code,
            wall: self.wall,
            effective: self.effective.unsigned_abs(),
            body,
            ended: None,
        })
    }
}

/// A row that people see, and the row that ended what it took in.
struct Seen {
    row: Told,
    ended: Option<Told>,
}

impl<'r> sqlx::FromRow<'r, SqliteRow> for Seen {
    fn from_row(row: &'r SqliteRow) -> sqlx::Result<Self> {
        let first = COLUMNS.split(", ").count();
        let ended: Option<i64> = row.try_get(first)?;
        Ok(Self { row: Told::read(row, 0)?, ended: ended.map(|_| Told::read(row, first)).transpose()? })
    }
}

impl Seen {
    fn row(self) -> Result<AuditRow, StoreError> {
        let ended = self.ended.map(Told::row).transpose()?.map(Box::new);
        Ok(AuditRow { ended, ..self.row.row()? })
    }
}

/// Reads the audit of a workspace.
pub(super) async fn audit(
    connection: &mut SqliteConnection,
    no: i64,
    query: AuditQuery,
) -> Result<Vec<AuditRow>, StoreError> {
    let id = |seq| journal_id(no, seq).map_err(|error| corrupt(AUDIT, error));
    let (base, end) = (id(Seq(0))?, journal_id(no + 1, Seq(0)).map_err(|error| corrupt(AUDIT, error))?);
    let (condition, argument) = match query {
        AuditQuery::Latest { limit } => ("id > ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3", i64::from(limit)),
        AuditQuery::Calls { limit } => {
            ("id > ?1 AND id < ?2 AND happened = 'call_accepted' ORDER BY id DESC LIMIT ?3", i64::from(limit))
        }
        AuditQuery::Story { call } => (
            // Each row names the one before it; the last is named by the ending or by the open call.
            "?3 > ?1 AND ?3 < ?2 AND (SELECT happened FROM journal WHERE id = ?3) = 'call_accepted' \
             AND id IN (WITH RECURSIVE story (id) AS ( \
              SELECT ?1 + coalesce((SELECT ended FROM endings WHERE id = ?3), \
               (SELECT body->>'$.last' FROM open_calls WHERE id = ?3)) \
              UNION SELECT ?1 + previous FROM story JOIN journal ON journal.id = story.id WHERE previous IS NOT NULL) \
             SELECT id FROM story) ORDER BY id",
            id(call)?,
        ),
        AuditQuery::Conversation { conversation, range, limit } => {
            return seen(connection, no, &conversation, range, limit).await;
        }
        AuditQuery::Refusals { limit } => return refusals(connection, no, limit).await,
    };
    let text = format!("SELECT {COLUMNS} FROM journal WHERE {condition}");
    let rows: Vec<Told> = sqlx::query_as(AssertSqlSafe(text))
        .bind(base)
        .bind(end)
        .bind(argument)
        .fetch_all(connection)
        .await
        .map_err(|error| failed(AUDIT, error))?;
    rows.into_iter().map(Told::row).collect()
}

/// How the rows that people see in a conversation are read: newest first, oldest first, and those at
/// the ids of a list. `?1` is the workspace's first id, `?2` the conversation.
pub(super) fn seen_queries() -> [String; 3] {
    let columns = |of: &str| COLUMNS.split(", ").map(|column| format!("{of}.{column}")).collect::<Vec<_>>().join(", ");
    let query = |from: &str, rest: &str| {
        format!(
            "SELECT {}, {} FROM {from} LEFT JOIN endings ON endings.id = seen.id \
             LEFT JOIN journal AS ending ON ending.id = ?1 + endings.ended WHERE seen.conversation = ?2 {rest}",
            columns("seen"),
            columns("ending"),
        )
    };
    [
        query("journal AS seen", "AND seen.id > ?3 AND seen.id < ?4 ORDER BY seen.id DESC LIMIT ?5"),
        query("journal AS seen", "AND seen.id > ?3 AND seen.id < ?4 ORDER BY seen.id LIMIT ?5"),
        query(
            "json_each(?3) AS wanted CROSS JOIN journal AS seen ON seen.id = wanted.value",
            "ORDER BY seen.id LIMIT ?4",
        ),
    ]
}

/// Reads rows that people see in a conversation.
async fn seen(
    connection: &mut SqliteConnection,
    no: i64,
    conversation: &ConversationId,
    range: Range,
    limit: u32,
) -> Result<Vec<AuditRow>, StoreError> {
    let id = |no, seq| journal_id(no, seq).map_err(|error| corrupt(AUDIT, error));
    let (base, end) = (id(no, Seq(0))?, id(no + 1, Seq(0))?);
    // A place that no journal can have is behind all that are there.
    let bound = |place| journal_id(no, place).unwrap_or(end);
    let [before, after, at] = seen_queries();
    let query = |text| sqlx::query_as(AssertSqlSafe(text)).bind(base).bind(conversation.as_str());
    let query = match range {
        Range::Before(place) => query(before).bind(base).bind(place.map_or(end, bound)),
        Range::After(place) => query(after).bind(bound(place)).bind(end),
        Range::At(places) => {
            let ids: BTreeSet<i64> = places.into_iter().filter_map(|place| journal_id(no, place).ok()).collect();
            query(at).bind(json!(ids).to_string())
        }
    };
    let rows: Vec<Seen> = query.bind(limit).fetch_all(connection).await.map_err(|error| failed(AUDIT, error))?;
    rows.into_iter().map(Seen::row).collect()
}

async fn refusals(connection: &mut SqliteConnection, no: i64, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
    let rows: Vec<(i64, String, String, String, i64)> = sqlx::query_as(
        "SELECT minute, source, actor, code, count FROM refusals WHERE workspace = ? \
         ORDER BY minute DESC, source, actor, code LIMIT ?",
    )
    .bind(no)
    .bind(limit)
    .fetch_all(connection)
    .await
    .map_err(|error| failed(AUDIT, error))?;
    let rows = rows.into_iter().map(|(minute, source, actor, code, count)| AuditRow {
        seq: Seq(0),
        source,
        subject: actor.clone(),
        actor,
        happened: "refused".to_owned(),
        call: None,
        code: Some(code),
        wall: minute.saturating_mul(60_000),
        effective: 0,
        body: json!({ "count": count }),
        ended: None,
    });
    Ok(rows.collect())
}

/// Reads the App sessions of a conversation, newest first.
pub(super) async fn sessions(
    connection: &mut SqliteConnection,
    no: i64,
    conversation: &ConversationId,
    limit: u32,
) -> Result<Vec<AppSession>, StoreError> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT id, body FROM app_sessions WHERE workspace = ? AND conversation = ? \
         ORDER BY opened DESC, rowid DESC LIMIT ?",
    )
    .bind(no)
    .bind(conversation.as_str())
    .bind(limit)
    .fetch_all(connection)
    .await
    .map_err(|error| failed(SESSIONS, error))?;
    rows.into_iter()
        .map(|(id, body)| {
            serde_json::from_str(&body)
                .map_err(|error| unreadable(SESSIONS, "app_sessions", format!("{no}/{id}"), error))
        })
        .collect()
}
