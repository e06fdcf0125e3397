//! What the store was asked and has not answered yet: at most one fetch, one commit, and one attempt
//! to get it to serve again. Polled by the actor itself; no task stands between them.

use std::{
    future::{Future, pending, poll_fn},
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use lineup_core::workspace::facts::{Fetched, Needs};
use lineup_model::WorkspaceId;
use lineup_ports::outbound::{Commit, Committed, Store, StoreError};
use tokio::time::sleep;

/// How often a store that takes nothing is probed.
const PROBE: Duration = Duration::from_millis(250);

/// The most changes of a batch that the actor writes out itself.
const SMALL: usize = 4;

type Asked<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// An answer of the store's.
pub(crate) enum FromStore {
    Settled(Committed),
    Fetched(Result<Fetched, StoreError>),
    Probed(Result<(), StoreError>),
    Reopened(Result<u64, StoreError>),
}

/// The open questions to a store.
pub(crate) struct Questions {
    store: Arc<dyn Store>,
    workspace: WorkspaceId,
    fetch: Asked<Result<Fetched, StoreError>>,
    commit: Asked<Committed>,
    help: Asked<FromStore>,
}

impl Questions {
    pub(crate) fn new(store: Arc<dyn Store>, workspace: WorkspaceId) -> Self {
        Self { store, workspace, fetch: None, commit: None, help: None }
    }

    /// Asks for facts. A store that need not read for them answers at once.
    pub(crate) async fn fetch(&mut self, needs: Needs) -> Option<Result<Fetched, StoreError>> {
        let (store, workspace) = (self.store.clone(), self.workspace.clone());
        begin(&mut self.fetch, async move { store.fetch(&workspace, &needs).await }).await
    }

    /// Asks for a commit, which begins now. A large one is written out by another thread, beside the
    /// decisions of the next; for a small one the way there and back costs more than it saves.
    pub(crate) async fn commit(&mut self, commit: Commit) -> Option<Committed> {
        let store = self.store.clone();
        let large = commit.changes.len() > SMALL;
        let work = async move { store.commit(vec![commit]).await };
        if large {
            let work = tokio::spawn(work);
            begin(&mut self.commit, async move { work.await.unwrap_or(Committed::Unknown) }).await
        } else {
            begin(&mut self.commit, work).await
        }
    }

    /// Asks, after a pause, whether a store that takes nothing would take something again.
    pub(crate) fn probe(&mut self) {
        let (store, workspace) = (self.store.clone(), self.workspace.clone());
        self.help.get_or_insert_with(|| {
            Box::pin(async move {
                sleep(PROBE).await;
                FromStore::Probed(store.probe(&workspace).await)
            })
        });
    }

    /// Asks what became of a commit with an unknown outcome; `again` waits before it asks.
    pub(crate) fn reopen(&mut self, again: bool) {
        let (store, workspace) = (self.store.clone(), self.workspace.clone());
        self.help.get_or_insert_with(|| {
            Box::pin(async move {
                if again {
                    sleep(PROBE).await;
                }
                FromStore::Reopened(store.reopen(&workspace).await)
            })
        });
    }

    /// The next answer; waits for ever while nothing was asked. Dropping the future loses none.
    pub(crate) async fn answer(&mut self) -> FromStore {
        let Self { fetch, commit, help, .. } = self;
        tokio::select! {
            biased;
            answer = answered(commit) => FromStore::Settled(answer),
            answer = answered(fetch) => FromStore::Fetched(answer),
            answer = answered(help) => answer,
        }
    }
}

/// Starts the work; it is kept unless it is done already.
async fn begin<T>(asked: &mut Asked<T>, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let mut work: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(work);
    match poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => {
            *asked = Some(work);
            None
        }
    }
}

async fn answered<T>(asked: &mut Asked<T>) -> T {
    let Some(work) = asked else { return pending().await };
    let answer = work.await;
    *asked = None;
    answer
}
