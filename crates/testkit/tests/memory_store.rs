//! The store without a disk passes the conformance suite that it comes with.

use async_trait::async_trait;
use lineup_testkit::{MemoryStore, store::StoreFixture};

struct Memory(MemoryStore);

#[async_trait]
impl StoreFixture for Memory {
    type Store = MemoryStore;

    async fn create() -> Self {
        Self(MemoryStore::new())
    }

    fn store(&self) -> &MemoryStore {
        &self.0
    }

    async fn reopen(self) -> Self {
        // The handle goes; the data is what the clone shares.
        Self(self.0.clone())
    }
}

lineup_testkit::store_conformance!(Memory);
