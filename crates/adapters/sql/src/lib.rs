//! What a workspace is remembered by, in SQL databases: [`SqliteStore`].
//!
//! Implements `lineup_ports::outbound::Store`. It knows how the records are laid out on disk
//! (docs/adr/0003-store-layout.md) and which answers of the database mean "nothing changed" and
//! which mean "nobody knows". It does not know what any record means.
//!
//! To add a record kind that is live: give it a name in `sqlite::batch` and read it back in
//! `sqlite::open`. To add one that stays: add a table in a new migration and a part in
//! `sqlite::write`. Migrations are append-only.
//!
//! ```no_run
//! # async fn example() -> Result<(), lineup_ports::outbound::StoreError> {
//! let store = lineup_sql::SqliteStore::open("/var/lib/lineup").await?;
//! # Ok(()) }
//! ```
#![warn(missing_docs)]

mod sqlite;

pub use sqlite::{CounterValues, SqliteStore};
