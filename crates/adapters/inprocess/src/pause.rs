//! How time passes here.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

type Passing = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Lets time pass: tokio's timer, or what a test puts in its place.
#[derive(Clone)]
pub struct Pause(Arc<dyn Fn(Duration) -> Passing + Send + Sync>);

impl Pause {
    /// Pauses made by this function.
    #[must_use]
    pub fn by<F>(pause: impl Fn(Duration) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self(Arc::new(move |length| Box::pin(pause(length))))
    }

    pub(crate) fn of(&self, length: Duration) -> Passing {
        (self.0)(length)
    }
}

impl Default for Pause {
    fn default() -> Self {
        Self::by(tokio::time::sleep)
    }
}

impl std::fmt::Debug for Pause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pause(..)")
    }
}
