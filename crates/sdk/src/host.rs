//! For the adapter that hosts MiniApps; an author needs none of it.
//!
//! The adapter makes an [`Sdk`] for each piece of work with [`sdk`] and hands the work over with
//! [`crate::VerifiedBundle::dispatch`].

use std::sync::Arc;

use lineup_model::{ActionId, CallKey, Method};
pub use lineup_model::{Generation, message::Fault};
pub use lineup_ports::inbound::{MiniAppAnswer, MiniAppContext, MiniAppRequest, MiniAppRequests, Step, Work};
use serde_json::Value;

pub use crate::cancel::Canceller;
use crate::{Context, InstanceState, Sdk};

/// Makes the handle of an instance: `from` is what it speaks as, `app_version` its manifest's version,
/// `state` where it stands now.
#[must_use]
pub fn sdk(
    requests: Arc<dyn MiniAppRequests>,
    from: MiniAppContext,
    app_version: impl Into<String>,
    state: InstanceState,
) -> Sdk {
    let context = Context {
        app_scope: from.app_scope.clone(),
        instance_id: from.instance.clone(),
        conversation_id: from.conversation.clone(),
        app_version: app_version.into(),
        state,
    };
    Sdk::new(requests, MiniAppContext { work: None, ..from }, context)
}

/// One piece of work for a MiniApp.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// A Tool Call.
    Call(CallDelivery),
    /// A UI Action.
    Action(ActionDelivery),
    /// The instance comes up; `Ok` of the dispatch means that it is ready.
    Ready,
    /// The inbox holds something: every message is handed to the hook, oldest first, and
    /// acknowledged when the hook succeeds. One such delivery runs at a time per instance.
    Inbox,
    /// The instance is in another state now.
    Lifecycle(InstanceState),
}

/// A delivery of a Tool Call.
#[derive(Clone, Debug)]
pub struct CallDelivery {
    /// The call.
    pub call: CallKey,
    /// The tool, inside the app's scope.
    pub method: Method,
    /// The input, checked against the tool's schema.
    pub input: Value,
    /// Which delivery it is.
    pub generation: Generation,
    /// Counts the invocations of the handler, from 1.
    pub attempt: u32,
    /// Asks the handler to stop.
    pub canceller: Canceller,
}

/// A delivery of a UI Action.
#[derive(Clone, Debug)]
pub struct ActionDelivery {
    /// The action.
    pub action: ActionId,
    /// Its name, inside the app's scope.
    pub method: Method,
    /// The input, checked against the action's schema.
    pub input: Value,
    /// Which delivery it is.
    pub generation: Generation,
    /// Counts the invocations of the handler, from 1.
    pub attempt: u32,
    /// Asks the handler to stop.
    pub canceller: Canceller,
}
