//! The one query that writes a batch.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::TryStreamExt;
use lineup_failpoint::{Point, hit};
use sqlx::{Arguments, AssertSqlSafe, Either, Executor, SqliteConnection, sqlite::SqliteArguments};

use super::{
    batch::Batch,
    list::{List, Value},
};

/// A list and the statement that writes it: `before (?, …), (?, …), … after`.
///
/// A statement takes a fixed number of rows, so that few texts occur and stay prepared; rows that
/// are left over are NULL and do nothing. Arguments are plain `?`, each statement's own. (Numbered
/// ones are a trap: a statement that names `?3` but not `?1` and `?2` gets NULL from sqlx.)
pub(super) struct Part {
    list: fn(&mut Batch) -> &mut List,
    columns: usize,
    /// Whether every call writes it. Such lists grow together, and share the size of the longest.
    hot: bool,
    before: &'static str,
    after: &'static str,
}

/// The rows that one statement takes.
const SIZES: [usize; 6] = [1, 2, 4, 16, 64, 256];

/// What lies behind the rows of an insert. `OR FAIL`: whoever sends the query rolls back, so SQLite
/// need not keep a journal per statement.
const INSERTED: &str = ") WHERE column1 IS NOT NULL";

const PARTS: [Part; 14] = [
    Part {
        list: |batch| &mut batch.workspaces,
        columns: 4,
        hot: false,
        before: "UPDATE OR FAIL workspaces SET epoch = column2, last_batch = column3, time = coalesce(column4, time) \
                 FROM (VALUES ",
        after: ") WHERE no = column1",
    },
    Part {
        list: |batch| &mut batch.journal,
        columns: 12,
        hot: true,
        before: "INSERT OR FAIL INTO journal \
                 (id, source, actor, happened, subject, call, conversation, previous, code, wall, effective, body) \
                 SELECT * FROM (VALUES ",
        after: INSERTED,
    },
    Part {
        list: |batch| &mut batch.entries,
        columns: 3,
        hot: true,
        before: "INSERT OR FAIL INTO entries (workspace, lookup, taken) SELECT * FROM (VALUES ",
        after: INSERTED,
    },
    Part {
        list: |batch| &mut batch.endings,
        columns: 2,
        hot: true,
        before: "INSERT OR FAIL INTO endings (id, ended) SELECT * FROM (VALUES ",
        after: INSERTED,
    },
    Part {
        list: |batch| &mut batch.calls,
        columns: 2,
        hot: true,
        before: "INSERT OR REPLACE INTO open_calls (id, body) SELECT * FROM (VALUES ",
        after: INSERTED,
    },
    Part {
        list: |batch| &mut batch.calls_gone,
        columns: 1,
        hot: true,
        before: "DELETE FROM open_calls WHERE id IN (VALUES ",
        after: ")",
    },
    Part {
        list: |batch| &mut batch.outbox,
        columns: 2,
        hot: true,
        before: "INSERT OR FAIL INTO outbox (journal, idx) SELECT * FROM (VALUES ",
        after: INSERTED,
    },
    Part {
        list: |batch| &mut batch.outbox_gone,
        columns: 2,
        hot: true,
        before: "DELETE FROM outbox WHERE (journal, idx) IN (VALUES ",
        after: ")",
    },
    Part {
        list: |batch| &mut batch.records,
        columns: 4,
        hot: false,
        before: "INSERT INTO records (workspace, kind, id, body) SELECT * FROM (VALUES ",
        after: ") WHERE column1 IS NOT NULL ON CONFLICT DO UPDATE SET body = excluded.body",
    },
    Part {
        list: |batch| &mut batch.records_gone,
        columns: 3,
        hot: false,
        before: "DELETE FROM records WHERE (workspace, kind, id) IN (VALUES ",
        after: ")",
    },
    Part {
        list: |batch| &mut batch.sessions,
        columns: 5,
        hot: false,
        before: "INSERT INTO app_sessions (workspace, id, conversation, opened, body) SELECT * FROM (VALUES ",
        after: ") WHERE column1 IS NOT NULL ON CONFLICT DO UPDATE SET body = excluded.body",
    },
    Part {
        list: |batch| &mut batch.documents,
        columns: 6,
        hot: false,
        before: "INSERT INTO documents (workspace, session, revision, bytes, digest, body) SELECT * FROM (VALUES ",
        after: ") WHERE column1 IS NOT NULL ON CONFLICT DO UPDATE SET revision = excluded.revision, \
                bytes = excluded.bytes, digest = excluded.digest, body = excluded.body",
    },
    Part {
        list: |batch| &mut batch.descriptors,
        columns: 2,
        hot: false,
        before: "INSERT OR IGNORE INTO descriptors (digest, body) SELECT * FROM (VALUES ",
        after: INSERTED,
    },
    Part {
        list: |batch| &mut batch.refusals,
        columns: 6,
        hot: false,
        before: "INSERT INTO refusals (workspace, minute, source, actor, code, count) SELECT * FROM (VALUES ",
        after: ") WHERE column1 IS NOT NULL ON CONFLICT DO UPDATE SET count = count + excluded.count",
    },
];

/// How a batch is spread over statements: per part the rows that a statement takes, and how many
/// statements.
type Shape = [(usize, usize); PARTS.len()];

/// The texts of the queries sent so far.
#[derive(Debug, Default)]
pub(super) struct Texts(BTreeMap<Shape, Arc<str>>);

/// Texts that are remembered. More only occur when lists are longer than the longest statement.
const REMEMBERED: usize = 256;

/// How a query went.
pub(super) struct Written {
    /// Rows written, if everything is durable.
    pub(super) rows: u64,
    /// What went wrong, and whether only COMMIT was left to do.
    pub(super) error: Option<(sqlx::Error, bool)>,
}

/// Sends a batch as one query.
pub(super) async fn send(connection: &mut SqliteConnection, texts: &mut Texts, mut batch: Batch) -> Written {
    let lists = PARTS.each_ref().map(|part| std::mem::take((part.list)(&mut batch)));
    let shape = shape(&lists.each_ref().map(List::len));
    let statements = shape.iter().map(|(_, count)| count).sum::<usize>() + 2;
    if texts.0.len() > REMEMBERED {
        texts.0.clear();
    }
    let text = texts.0.entry(shape).or_insert_with(|| text(&shape).into()).clone();
    let arguments = match arguments(lists, &shape) {
        Ok(arguments) => arguments,
        Err(error) => return Written { rows: 0, error: Some((sqlx::Error::Encode(error), false)) },
    };
    let query = sqlx::query_with(AssertSqlSafe(text), arguments);
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

fn shape(rows: &[usize; PARTS.len()]) -> Shape {
    let size_for = |rows: usize| SIZES.into_iter().find(|size| *size >= rows).unwrap_or(SIZES[SIZES.len() - 1]);
    let longest = PARTS.iter().zip(rows).filter(|(part, _)| part.hot).map(|(_, rows)| *rows).max().unwrap_or(0);
    let mut shape = [(0, 0); PARTS.len()];
    for ((shape, part), rows) in shape.iter_mut().zip(&PARTS).zip(rows) {
        if *rows > 0 {
            let size = size_for(if part.hot { longest } else { *rows });
            *shape = (size, rows.div_ceil(size));
        }
    }
    shape
}

fn arguments(lists: [List; PARTS.len()], shape: &Shape) -> Result<SqliteArguments, sqlx::error::BoxDynError> {
    let wanted: Vec<usize> = PARTS.iter().zip(shape).map(|(part, (size, count))| part.columns * size * count).collect();
    let mut arguments = SqliteArguments::default();
    arguments.reserve(wanted.iter().sum(), 0);
    for (list, wanted) in lists.into_iter().zip(wanted) {
        let values = list.into_values();
        let missing = wanted.saturating_sub(values.len());
        for value in values {
            match value {
                Value::Null => Arguments::add(&mut arguments, None::<i64>),
                Value::Integer(value) => Arguments::add(&mut arguments, value),
                Value::Text(text) => Arguments::add(&mut arguments, text),
                Value::Word(text) => Arguments::add(&mut arguments, text),
                Value::Shared(text) => Arguments::add(&mut arguments, &*text),
                Value::Bytes(bytes) => Arguments::add(&mut arguments, &bytes[..]),
            }?;
        }
        for _ in 0..missing {
            Arguments::add(&mut arguments, None::<i64>)?;
        }
    }
    Ok(arguments)
}

fn text(shape: &Shape) -> String {
    let mut text = String::from("BEGIN IMMEDIATE;\n");
    for (part, (size, count)) in PARTS.iter().zip(shape) {
        for _ in 0..*count {
            text.push_str(&part.statement(*size));
            text.push_str(";\n");
        }
    }
    text.push_str("COMMIT");
    text
}

impl Part {
    fn statement(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns].join(","));
        format!("{}{}{}", self.before, vec![row; rows].join(","), self.after)
    }
}

/// Every statement, for one row: what the tests look at.
#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    PARTS.iter().flat_map(|part| [part.statement(1), part.statement(8)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b4_every_batch_takes_the_write_lock_first_and_commits_last() {
        let all = text(&[(4, 1); PARTS.len()]);
        assert!(all.starts_with("BEGIN IMMEDIATE;\n"), "{all}");
        assert!(all.ends_with(";\nCOMMIT"), "{all}");
        assert_eq!(all.matches("BEGIN").count(), 1);
        assert_eq!(all.matches(';').count(), PARTS.len() + 1);
    }

    #[test]
    fn a_statement_has_an_argument_of_its_own_for_every_column_of_every_row() {
        for part in &PARTS {
            for size in SIZES {
                let statement = part.statement(size);
                assert_eq!(statement.matches('?').count(), size * part.columns, "{statement}");
                assert!(!statement.contains("?1") && !statement.contains('$'), "{statement}");
            }
        }
    }

    #[test]
    fn lists_that_grow_together_share_a_size_so_that_few_texts_occur() {
        let mut rows = [0; PARTS.len()];
        (rows[0], rows[1], rows[2], rows[8]) = (1, 37, 2, 1);
        let found = shape(&rows);
        assert_eq!((found[0], found[1], found[2], found[3], found[8]), ((1, 1), (64, 1), (64, 1), (0, 0), (1, 1)));
        rows[1] = 1_000;
        assert_eq!(shape(&rows)[1], (256, 4));
    }
}
