//! The hooks of a MiniApp.

use std::future::{Future, ready};

use lineup_ports::inbound::{InboxMessage, InstanceState};

use crate::{Sdk, SdkError};

/// What a MiniApp does beside its handlers. Every method has a default; an app that needs one
/// implements this trait, with plain `async fn`s, for the type of its `app` line.
///
/// ```
/// use lineup_sdk::prelude::*;
///
/// define_agent_tools! {
///     app Reader in "reader" { subscriptions: ["message.text"] }
/// }
///
/// impl MiniApp for Reader {
///     async fn on_message(&self, sdk: &Sdk, message: &InboxMessage) -> Result<(), SdkError> {
///         sdk.session().update("last", |seen: &mut Value| seen["last"] = message.body.clone()).await?;
///         Ok(())
///     }
/// }
/// ```
pub trait MiniApp: Send + Sync + 'static {
    /// The instance came up; it is reported ready once this returns `Ok` (ACT-2). Runs again when
    /// the instance comes up after a restart.
    fn on_ready(&self, sdk: &Sdk) -> impl Future<Output = Result<(), SdkError>> + Send {
        let _ = sdk;
        ready(Ok(()))
    }

    /// A message of a subscribed type is in the inbox. `Ok` acknowledges it; after an error it is
    /// handed over again, a bounded number of times (DUR-3). The same message may come twice.
    fn on_message(&self, sdk: &Sdk, message: &InboxMessage) -> impl Future<Output = Result<(), SdkError>> + Send {
        let _ = (sdk, message);
        ready(Ok(()))
    }

    /// The instance is in another state now.
    fn on_lifecycle(&self, sdk: &Sdk, state: InstanceState) -> impl Future<Output = Result<(), SdkError>> + Send {
        let _ = (sdk, state);
        ready(Ok(()))
    }
}
