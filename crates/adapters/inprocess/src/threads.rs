//! The threads of one MiniApp.

use std::{future::Future, sync::Mutex};

use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

use crate::lock;

/// The threads of one MiniApp.
pub const THREADS: usize = 2;
/// How often a MiniApp whose threads are all lost gets new ones.
pub const RENEWALS: usize = 3;

/// Runs the code of one MiniApp.
pub(crate) struct Threads {
    name: String,
    pools: Mutex<Vec<Pool>>,
}

struct Pool {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    lost: usize,
}

/// Names the threads that a task was given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolNumber(usize);

/// Why no code of a MiniApp can be run any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoThreads {
    /// All are lost, and all that could come in their place.
    #[error(
        "its handlers have blocked all of its threads for good, {} times over; \
         mend the handler that never reaches an await, then restart the Runtime",
        RENEWALS + 1
    )]
    Exhausted,
    /// The system gives no more.
    #[error("the system gives no thread for it: {0}")]
    System(#[from] std::io::Error),
}

impl Threads {
    /// No thread is started before there is something to run.
    pub fn new(app_scope: &str) -> Self {
        Self { name: format!("app-{app_scope}"), pools: Mutex::default() }
    }

    /// Runs a task on threads that are not known to be lost.
    pub fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<(JoinHandle<T>, PoolNumber), NoThreads> {
        let mut pools = lock(&self.pools);
        if pools.last().is_none_or(|pool| pool.lost >= THREADS) {
            if pools.len() > RENEWALS {
                return Err(NoThreads::Exhausted);
            }
            let runtime =
                Builder::new_multi_thread().worker_threads(THREADS).thread_name(&self.name).enable_time().build()?;
            pools.push(Pool { runtime: Some(runtime), lost: 0 });
        }
        let number = PoolNumber(pools.len() - 1);
        let runtime =
            pools.last().and_then(|pool| pool.runtime.as_ref()).expect("pushed above, and taken on drop only");
        Ok((runtime.spawn(task), number))
    }

    /// A stopped task of this pool does not go.
    pub fn lost(&self, PoolNumber(number): PoolNumber) {
        lock(&self.pools)[number].lost += 1;
    }

    /// It has gone after all.
    pub fn found(&self, PoolNumber(number): PoolNumber) {
        lock(&self.pools)[number].lost -= 1;
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Waiting for a lost thread would never end.
        for pool in lock(&self.pools).iter_mut() {
            pool.runtime.take().into_iter().for_each(Runtime::shutdown_background);
        }
    }
}
