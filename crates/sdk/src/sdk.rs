//! The handle that a MiniApp reaches the world through.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use lineup_model::{ErrorCode, message::Fault};
use lineup_ports::inbound::{MiniAppAnswer, MiniAppContext, MiniAppRequest, MiniAppRequests, Step, Work};

use crate::{Context, SdkError, handle};

/// The longest name of a step, in bytes.
const STEP_BYTES: usize = 48;

/// Everything that a MiniApp may ask for. Cheap to clone. Every write is a request: the Runtime
/// decides and answers (SDK-10).
#[derive(Clone)]
pub struct Sdk {
    shared: Arc<Shared>,
}

struct Shared {
    requests: Arc<dyn MiniAppRequests>,
    from: MiniAppContext,
    context: Context,
    steps: Mutex<Steps>,
}

/// The step keys that the work at hand has used.
#[derive(Default)]
struct Steps {
    counted: BTreeMap<&'static str, u32>,
    named: std::collections::BTreeSet<String>,
}

impl Sdk {
    pub(crate) fn new(requests: Arc<dyn MiniAppRequests>, from: MiniAppContext, context: Context) -> Self {
        Self { shared: Arc::new(Shared { requests, from, context, steps: Mutex::default() }) }
    }

    /// The same instance's handle for one piece of work; its steps are counted from one.
    pub(crate) fn within(&self, work: Option<Work>) -> Self {
        let from = MiniAppContext { work, ..self.shared.from.clone() };
        Self::new(Arc::clone(&self.shared.requests), from, self.shared.context.clone())
    }

    /// Where the MiniApp runs (SDK-1).
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// The calls of this instance (SDK-3).
    #[must_use]
    pub fn tools(&self) -> handle::Tools<'_> {
        handle::Tools::new(self)
    }

    /// The session data (SES-1).
    #[must_use]
    pub fn session(&self) -> handle::Session<'_> {
        handle::Session::new(self)
    }

    /// What the Surfaces show (SDK-6).
    #[must_use]
    pub fn surfaces(&self) -> handle::Surfaces<'_> {
        handle::Surfaces::new(self)
    }

    /// The instance's own wishes for focus and end (SDK-5).
    #[must_use]
    pub fn lifecycle(&self) -> handle::Lifecycle<'_> {
        handle::Lifecycle::new(self)
    }

    /// The operations of this app in this conversation, to show (SDK-8).
    #[must_use]
    pub fn operations(&self) -> handle::Operations<'_> {
        handle::Operations::new(self)
    }

    /// The messages for this instance (SDK-2).
    #[must_use]
    pub fn inbox(&self) -> handle::Inbox<'_> {
        handle::Inbox::new(self)
    }

    /// The conversation, for system MiniApps (SDK-9). Others are refused with `capability_denied`.
    #[must_use]
    pub fn conversation(&self) -> handle::Conversation<'_> {
        handle::Conversation::new(self)
    }

    pub(crate) fn work(&self) -> Option<&Work> {
        self.shared.from.work.as_ref()
    }

    /// The key of the next write of this kind, or the one that the author named.
    pub(crate) fn step(&self, kind: &'static str, named: Option<String>) -> Result<Option<Step>, SdkError> {
        if self.shared.from.work.is_none() {
            return Ok(None);
        }
        let mut steps = self.shared.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(name) = named else {
            let count = steps.counted.entry(kind).or_insert(0);
            *count += 1;
            return Ok(Some(Step(counted(kind, *count))));
        };
        if name.is_empty() || name.len() > STEP_BYTES || name.contains('#') {
            return Err(SdkError::failed(
                "step_invalid",
                format!("`{name}` cannot name a step: 1 to {STEP_BYTES} bytes without `#`"),
            ));
        }
        if !steps.named.insert(name.clone()) {
            return Err(SdkError::failed(
                "step_used_twice",
                format!("the step `{name}` is used twice in one handler run: a second write needs another name"),
            ));
        }
        Ok(Some(Step(name)))
    }

    /// Gives the key of a refused write back, so that another try has the same one as in a run that
    /// was never refused.
    pub(crate) fn release(&self, kind: &'static str, Step(key): &Step) {
        let mut steps = self.shared.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.named.remove(key) {
            return;
        }
        // With several writes in flight only the last key can be given back.
        if let Some(count) = steps.counted.get_mut(kind)
            && *key == counted(kind, *count)
        {
            *count -= 1;
        }
    }

    pub(crate) async fn ask<T>(
        &self,
        request: MiniAppRequest,
        read: fn(MiniAppAnswer) -> Option<T>,
    ) -> Result<T, SdkError> {
        let answer = self.shared.requests.request(self.shared.from.clone(), request).await?;
        read(answer).ok_or_else(|| {
            SdkError::from(Fault::new(ErrorCode::Internal, "the Runtime answered another question than was asked"))
        })
    }
}

fn counted(kind: &str, count: u32) -> String {
    format!("{kind}#{count}")
}

impl std::fmt::Debug for Sdk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sdk").field("context", &self.shared.context).field("work", &self.shared.from.work).finish()
    }
}
