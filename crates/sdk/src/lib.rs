//! What the author of a MiniApp sees: the declaration of Agent Tools, the handle that a handler is
//! given, and nothing else. A MiniApp crate depends on this crate alone (SDK-11).
//!
//! ```
//! //! Greets people.
//! use lineup_sdk::prelude::*;
//!
//! /// Whom to greet.
//! #[derive(Deserialize, JsonSchema)]
//! pub struct Greet {
//!     /// The name as the person writes it.
//!     #[schemars(length(min = 1, max = 64))]
//!     pub name: String,
//! }
//!
//! /// What was said.
//! #[derive(Serialize, JsonSchema)]
//! pub struct Greeting {
//!     /// The words.
//!     pub text: String,
//! }
//!
//! define_agent_tools! {
//!     app Greeter in "greeter";
//!
//!     /// Greet a person by name.
//!     tool greet(Greet) -> Greeting {
//!         version: 1, invocation: command, readiness: app_ready,
//!         handler: Greeter::greet,
//!     }
//! }
//!
//! impl Greeter {
//!     async fn greet(&self, _sdk: &Sdk, call: Call<Greet>) -> ToolResult<Greeting> {
//!         call.progress("thinking", None).await?;
//!         Ok(Greeting { text: format!("Good morning, {}.", call.input.name) })
//!     }
//! }
//!
//! // What the build publishes of it, and all that it publishes.
//! let manifest = bundle().manifest().unwrap();
//! assert_eq!(manifest.tools[0].id.as_str(), "greeter.greet");
//! ```
//!
//! The crate knows no Runtime and no executor: a hosting adapter gives it both through [`host`]. To
//! add a request, grow `MiniAppRequest` in `lineup-ports` and a method in `handle/`.
#![warn(missing_docs)]

// So that the derives and the declaration can be used inside this crate, too.
extern crate self as lineup_sdk;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod bundle;
mod call;
mod cancel;
mod context;
mod error;
pub mod handle;
pub mod host;
mod miniapp;
mod request;
mod schema;
mod sdk;

pub use bundle::{Bundle, Drift, Unfit, VerifiedBundle};
pub use call::{Action, Call};
pub use cancel::Cancelled;
pub use context::{Context, InstanceState};
pub use error::{ActionResult, SdkError, ToolResult};
pub use lineup_model::{CallKey, ErrorCode, Manifest, MessageId};
pub use lineup_ports::inbound::{CallView, InboxMessage, OperationState, OperationView};
pub use lineup_sdk_macros::define_agent_tools;
pub use miniapp::MiniApp;
pub use request::Request;
pub use sdk::Sdk;

/// Everything that a MiniApp's source names: `use lineup_sdk::prelude::*;`.
pub mod prelude {
    pub use serde_json::{Value, json};

    pub use crate::derives::{Deserialize, JsonSchema, Serialize};
    pub use crate::{
        Action, ActionResult, Call, CallKey, ErrorCode, InboxMessage, InstanceState, MessageId, MiniApp,
        OperationState, OperationView, Sdk, SdkError, ToolResult, define_agent_tools,
    };
}

/// The derives of serde and schemars for crates that depend on neither. The traits keep their names:
/// a glob of the original is shadowed in the macro namespace only.
mod derives {
    pub use lineup_sdk_macros::{Deserialize, JsonSchema, Serialize};
    pub use schemars::*;
    pub use serde::*;
}
