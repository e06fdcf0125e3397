//! One request to the Runtime: made by a method of a handle, sent when it is awaited.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use lineup_ports::inbound::{MiniAppAnswer, MiniAppRequest, Step};

use crate::{Sdk, SdkError};

/// A write that is sent when it is awaited, and answered once it is durable.
///
/// Inside a handler each write has a step key: its kind and a count (`session.write#2`), so that a
/// handler that runs again after a crash gets the recorded answers and nothing happens twice
/// (DUR-4). A write that is refused uses no step: asking again is asking under the same key. Where the
/// order of writes can differ between two runs, name the step with [`Request::step`].
#[must_use = "a request is sent when it is awaited"]
pub struct Request<T> {
    sdk: Sdk,
    kind: &'static str,
    named: Option<String>,
    build: Box<dyn FnOnce(Option<Step>) -> Result<MiniAppRequest, SdkError> + Send>,
    read: fn(MiniAppAnswer) -> Option<T>,
}

impl<T> Request<T> {
    pub(crate) fn new(
        sdk: &Sdk,
        kind: &'static str,
        read: fn(MiniAppAnswer) -> Option<T>,
        build: impl FnOnce(Option<Step>) -> Result<MiniAppRequest, SdkError> + Send + 'static,
    ) -> Self {
        Self { sdk: sdk.clone(), kind, named: None, build: Box::new(build), read }
    }

    /// Names the step of this write, 1 to 48 bytes. The name must be used once per handler run.
    /// Outside a handler it has no meaning.
    pub fn step(mut self, name: impl Into<String>) -> Self {
        self.named = Some(name.into());
        self
    }
}

impl<T: Send + 'static> IntoFuture for Request<T> {
    type Output = Result<T, SdkError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { sdk, kind, named, build, read } = self;
        // The key is taken here and not in the future: requests count in the order of their await.
        let step = sdk.step(kind, named);
        Box::pin(async move {
            let step = step?;
            let answer = match build(step.clone()) {
                Ok(request) => sdk.ask(request, read).await,
                Err(error) => Err(error),
            };
            if let (Err(_), Some(step)) = (&answer, &step) {
                sdk.release(kind, step);
            }
            answer
        })
    }
}

/// The reader of a [`MiniAppAnswer::Done`].
pub(crate) fn done(answer: MiniAppAnswer) -> Option<()> {
    matches!(answer, MiniAppAnswer::Done).then_some(())
}
