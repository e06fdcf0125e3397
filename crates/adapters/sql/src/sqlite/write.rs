//! The one query that writes a batch.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::TryStreamExt;
use lineup_failpoint::{Point, hit};
use sqlx::{AssertSqlSafe, Either, Executor, SqliteConnection, query::Query, sqlite::SqliteArguments};

use super::{batch::Batch, list::List};

/// Each part: its list and its statement. A statement's arguments are its own: the list's bodies,
/// if it names them, then its JSON. (Statements that share numbered arguments are a trap: one that
/// names `?3` but not `?1` and `?2` gets NULL.)
///
/// `OR FAIL`: whoever sends the query rolls back, so SQLite need not keep a journal per statement.
pub(super) const PARTS: [Part; 14] = [
    (
        |batch| &mut batch.workspaces,
        Bodies::Inline,
        "UPDATE OR FAIL workspaces SET epoch = value->>1, last_batch = value->>2, time = coalesce(value->>3, time) \
         FROM json_each(?) WHERE no = value->>0",
    ),
    (
        |batch| &mut batch.journal,
        Bodies::Beside,
        "INSERT OR FAIL INTO journal (body, id, source, actor, happened, subject, call, previous, code, wall, effective) \
         SELECT CAST(substr(?, value->>10, value->>11) AS TEXT), value->>0, value->>1, value->>2, value->>3, value->>4, \
         value->>5, value->>6, value->>7, value->>8, value->>9 FROM json_each(?)",
    ),
    (
        |batch| &mut batch.entries,
        Bodies::Inline,
        "INSERT OR FAIL INTO entries (workspace, lookup, taken) \
         SELECT value->>0, unhex(value->>1), value->>2 FROM json_each(?)",
    ),
    (
        |batch| &mut batch.endings,
        Bodies::Inline,
        "INSERT OR FAIL INTO endings (id, ended) SELECT value->>0, value->>1 FROM json_each(?)",
    ),
    (
        |batch| &mut batch.calls,
        Bodies::Beside,
        "INSERT OR REPLACE INTO open_calls (body, id) \
         SELECT CAST(substr(?, value->>1, value->>2) AS TEXT), value->>0 FROM json_each(?)",
    ),
    (
        |batch| &mut batch.calls_gone,
        Bodies::Inline,
        "DELETE FROM open_calls WHERE id IN (SELECT value FROM json_each(?))",
    ),
    (
        |batch| &mut batch.outbox,
        Bodies::Inline,
        "INSERT OR FAIL INTO outbox (journal, idx) SELECT value->>0, value->>1 FROM json_each(?)",
    ),
    (
        |batch| &mut batch.outbox_gone,
        Bodies::Inline,
        "DELETE FROM outbox WHERE (journal, idx) IN (SELECT value->>0, value->>1 FROM json_each(?))",
    ),
    (
        |batch| &mut batch.records,
        Bodies::Beside,
        "INSERT INTO records (body, workspace, kind, id) \
         SELECT CAST(substr(?, value->>3, value->>4) AS TEXT), value->>0, value->>1, value->>2 \
         FROM json_each(?) WHERE true \
         ON CONFLICT DO UPDATE SET body = excluded.body",
    ),
    (
        |batch| &mut batch.records_gone,
        Bodies::Inline,
        "DELETE FROM records WHERE (workspace, kind, id) IN (SELECT value->>0, value->>1, value->>2 FROM json_each(?))",
    ),
    (
        |batch| &mut batch.sessions,
        Bodies::Beside,
        "INSERT INTO app_sessions (body, workspace, id, conversation, opened) \
         SELECT CAST(substr(?, value->>4, value->>5) AS TEXT), value->>0, value->>1, value->>2, value->>3 \
         FROM json_each(?) WHERE true \
         ON CONFLICT DO UPDATE SET body = excluded.body",
    ),
    (
        |batch| &mut batch.documents,
        Bodies::Beside,
        "INSERT INTO documents (body, workspace, session, revision, bytes, digest) \
         SELECT CAST(substr(?, value->>5, value->>6) AS TEXT), value->>0, value->>1, value->>2, value->>3, value->>4 \
         FROM json_each(?) WHERE true \
         ON CONFLICT DO UPDATE SET revision = excluded.revision, bytes = excluded.bytes, digest = excluded.digest, \
         body = excluded.body",
    ),
    (
        |batch| &mut batch.descriptors,
        Bodies::Beside,
        "INSERT OR IGNORE INTO descriptors (body, digest) \
         SELECT CAST(substr(?, value->>1, value->>2) AS TEXT), value->>0 FROM json_each(?)",
    ),
    (
        |batch| &mut batch.refusals,
        Bodies::Inline,
        "INSERT INTO refusals (workspace, minute, source, actor, code, count) \
         SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5 FROM json_each(?) WHERE true \
         ON CONFLICT DO UPDATE SET count = count + excluded.count",
    ),
];

/// A list, where its bodies travel, and the statement that writes it.
pub(super) type Part = (fn(&mut Batch) -> &mut List, Bodies, &'static str);

/// Where a list's bodies travel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bodies {
    /// In the JSON.
    Inline,
    /// In an argument of their own, before the JSON.
    Beside,
}

/// The texts of the queries sent so far, by the parts in them. A batch's query holds the statements
/// that it needs; few combinations occur.
#[derive(Debug, Default)]
pub(super) struct Texts(BTreeMap<u16, Arc<str>>);

/// How a query went.
pub(super) struct Written {
    /// Rows written, if everything is durable.
    pub(super) rows: u64,
    /// What went wrong, and whether only COMMIT was left to do.
    pub(super) error: Option<(sqlx::Error, bool)>,
}

/// Sends a batch as one query.
pub(super) async fn send(connection: &mut SqliteConnection, texts: &mut Texts, mut batch: Batch) -> Written {
    let mut parts = 0;
    let mut arguments = Vec::with_capacity(PARTS.len());
    for (bit, (list, bodies, _)) in PARTS.iter().enumerate() {
        let list = std::mem::take(list(&mut batch));
        if !list.is_empty() {
            parts |= 1 << bit;
            arguments.push((*bodies, list.into_parts()));
        }
    }
    let statements = arguments.len() + 2;
    let text = texts.0.entry(parts).or_insert_with(|| text(parts)).clone();
    let mut query: Query<'_, _, SqliteArguments> = sqlx::query(AssertSqlSafe(text));
    for (place, (json, bodies)) in arguments {
        query = match place {
            Bodies::Inline => query.bind(json),
            Bodies::Beside => query.bind(bodies).bind(json),
        };
    }
    let (mut done, mut rows) = (0_usize, 0);
    let mut results = connection.fetch_many(query);
    loop {
        match results.try_next().await {
            Ok(Some(Either::Left(result))) => {
                done += 1;
                if done == 1 {
                    hit(Point::SqlBegun);
                }
                if done + 1 == statements {
                    hit(Point::SqlBeforeCommit);
                }
                // The first and the last statement repeat the count of the one before them.
                if (2..statements).contains(&done) {
                    rows += result.rows_affected();
                }
            }
            Ok(Some(Either::Right(_))) => {}
            Ok(None) => return Written { rows, error: None },
            Err(error) => return Written { rows: 0, error: Some((error, done + 1 == statements)) },
        }
    }
}

fn text(parts: u16) -> Arc<str> {
    let mut text = String::from("BEGIN IMMEDIATE;\n");
    for (bit, (_, _, statement)) in PARTS.iter().enumerate() {
        if parts & 1 << bit != 0 {
            text.push_str(statement);
            text.push_str(";\n");
        }
    }
    text.push_str("COMMIT");
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b4_every_batch_takes_the_write_lock_first_and_commits_last() {
        let all = text(u16::MAX >> 2);
        assert!(all.starts_with("BEGIN IMMEDIATE;\n"), "{all}");
        assert!(all.ends_with(";\nCOMMIT"), "{all}");
        assert_eq!(all.matches("BEGIN").count(), 1);
        assert_eq!(all.matches(';').count(), PARTS.len() + 1);
    }

    #[test]
    fn a_statement_names_no_numbered_argument_and_as_many_arguments_as_its_list_has() {
        for (_, bodies, statement) in PARTS {
            let expected = if bodies == Bodies::Beside { 2 } else { 1 };
            assert_eq!(statement.matches('?').count(), expected, "{statement}");
            assert!(!statement.contains("?1") && !statement.contains('$'), "{statement}");
        }
    }
}
