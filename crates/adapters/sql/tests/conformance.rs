//! The SQLite store against the sentences of the store port.

use async_trait::async_trait;
use lineup_ports::outbound::Store as _;
use lineup_sql::SqliteStore;
use lineup_testkit::store::StoreFixture;
use tempfile::TempDir;

struct Sqlite {
    directory: TempDir,
    store: SqliteStore,
}

#[async_trait]
impl StoreFixture for Sqlite {
    type Store = SqliteStore;

    async fn create() -> Self {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let store = SqliteStore::open(directory.path()).await.expect("a new store opens");
        Self { directory, store }
    }

    fn store(&self) -> &SqliteStore {
        &self.store
    }

    async fn reopen(self) -> Self {
        let Self { directory, store } = self;
        store.close().await;
        let store = SqliteStore::open(directory.path()).await.expect("the store opens again");
        Self { directory, store }
    }
}

lineup_testkit::store_conformance!(Sqlite);
