//! What is surely not in the table of entries. Nearly every call is new; knowing that without a
//! query spares each of them the way to a reading connection and back.
//!
//! A quotient filter over the lookups: it may take something absent for present, never the other way.
//! It is filled from the table in the background; until it is full, everything may be present.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lineup_core::workspace::change_set::EntryKey;
use qfilter::Filter;
use sqlx::SqliteConnection;

/// What an entry is looked up by: the workspace's number and a digest.
pub(super) type Lookup = (i64, [u8; 16]);

/// How often something absent is taken for present.
const MISTAKEN: f64 = 0.01;
/// Entries that it has room for at first.
const FIRST: u64 = 1 << 14;
/// The most entries, at about 10 bits each. With more, every entry is looked for in the table.
const MOST: u64 = 1 << 25;
/// Entries that are read from the table at a time.
const PAGE: usize = 4096;

/// The filter.
pub(super) struct Absent(Mutex<State>);

struct State {
    /// `None` once there are too many entries.
    filter: Option<Filter>,
    /// The last entry of the table that was read; `None` once all were.
    last: Option<Lookup>,
}

impl Absent {
    /// A filter that is to be filled.
    pub(super) fn filling() -> Self {
        let filter = Filter::new_resizeable(FIRST, MOST, MISTAKEN).ok();
        Self(Mutex::new(State { filter, last: Some((i64::MIN, [0; 16])) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes entries in, before they are committed: too many do no harm, one too few would.
    pub(super) fn add(&self, entries: &[Lookup]) {
        self.state().add(entries);
    }

    /// After which entry of the table the next page begins.
    pub(super) fn last(&self) -> Lookup {
        self.state().last.unwrap_or((i64::MAX, [u8::MAX; 16]))
    }

    /// Takes a page of the table in; says whether there may be another one.
    pub(super) fn add_page(&self, page: &[Lookup]) -> bool {
        let mut state = self.state();
        state.add(page);
        state.last = page.last().copied().filter(|_| page.len() == PAGE);
        state.last.is_some() && state.filter.is_some()
    }

    /// Whether none of these is in the table.
    pub(super) fn all<'a>(&self, no: i64, keys: impl IntoIterator<Item = &'a EntryKey>) -> bool {
        match &*self.state() {
            State { filter: Some(filter), last: None } => {
                keys.into_iter().all(|key| !filter.contains((no, key.lookup())))
            }
            State { .. } => false,
        }
    }
}

impl State {
    fn add(&mut self, entries: &[Lookup]) {
        let Some(filter) = &mut self.filter else { return };
        if entries.iter().any(|entry| filter.insert(entry).is_err()) {
            self.filter = None;
        }
    }
}

/// The entries of the table after one of them, a page of them.
pub(super) async fn page(connection: &mut SqliteConnection, after: Lookup) -> Result<Vec<Lookup>, sqlx::Error> {
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "SELECT workspace, lookup FROM entries WHERE (workspace, lookup) > (?, ?) ORDER BY workspace, lookup LIMIT ?",
    )
    .bind(after.0)
    .bind(&after.1[..])
    .bind(i64::try_from(PAGE).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|(no, lookup)| match lookup.try_into() {
            Ok(lookup) => Ok((no, lookup)),
            Err(_) => Err(sqlx::Error::Decode("a lookup has 16 bytes".into())),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> EntryKey {
        EntryKey::Intent { intent: name.parse().unwrap() }
    }

    #[test]
    fn call_3_nothing_counts_as_new_before_the_whole_table_was_read() {
        let absent = Absent::filling();
        assert!(!absent.all(1, [&key("n1")]));
        let full: Vec<Lookup> = (0..PAGE).map(|n| (1, key(&format!("k{n}")).lookup())).collect();
        assert!(absent.add_page(&full));
        assert_eq!(absent.last(), full[PAGE - 1]);
        assert!(!absent.all(1, [&key("n1")]));
        assert!(!absent.add_page(&full[..1]));
        assert!(absent.all(1, [&key("n1")]));
        for n in 0..PAGE {
            assert!(!absent.all(1, [&key(&format!("k{n}"))]));
        }
    }

    #[test]
    fn call_3_what_is_about_to_be_committed_is_no_longer_new() {
        let absent = Absent::filling();
        absent.add_page(&[]);
        absent.add(&[(1, key("n1").lookup())]);
        assert!(!absent.all(1, [&key("n2"), &key("n1")]));
        assert!(absent.all(1, [&key("n2")]));
    }

    #[test]
    fn a_filter_that_is_given_more_than_it_holds_knows_nothing_any_more() {
        let state = State { filter: Filter::new_resizeable(1, 16, MISTAKEN).ok(), last: None };
        let absent = Absent(Mutex::new(state));
        assert!(absent.all(1, [&key("new")]));
        let many: Vec<Lookup> = (0..10_000).map(|n| (1, key(&format!("k{n}")).lookup())).collect();
        absent.add(&many);
        assert!(!absent.all(1, [&key("new")]));
    }
}
