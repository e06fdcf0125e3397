//! What a MiniApp is told about where it runs (SDK-1).

use lineup_model::{AppScope, ConversationId, InstanceId};
pub use lineup_ports::inbound::InstanceState;

/// Where the MiniApp runs. Injected by the Runtime; app code cannot make or change one. It names no
/// user, agent, token, address or other instance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// The MiniApp's scope.
    pub app_scope: AppScope,
    /// This running MiniApp.
    pub instance_id: InstanceId,
    /// The conversation that it runs in.
    pub conversation_id: ConversationId,
    /// The version in its manifest.
    pub app_version: String,
    /// Where the instance stood when the work at hand was handed over.
    pub state: InstanceState,
}
