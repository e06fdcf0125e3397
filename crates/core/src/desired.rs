//! What the outside should look like: derived from what is durable, never stored (ACT-8).

use std::sync::Arc;

use lineup_model::{ActivationId, AppScope, ConversationId, InstanceId, Method};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::instance::InstanceState;

/// What every Host session should show. The same for all (HST-3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostView {
    /// The instance that should be in the foreground; `None` is Interact.
    pub foreground: Option<Foreground>,
    /// The live instances, for the switcher.
    pub instances: Vec<Listed>,
}

/// The instance that should be in the foreground.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreground {
    /// The instance.
    pub instance: InstanceId,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The conversation.
    pub conversation: ConversationId,
    /// The attempt that a visible session is to confirm; `None` when the instance has the focus.
    pub activation: Option<ActivationId>,
}

/// A live instance, for the switcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The instance.
    pub instance: InstanceId,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The conversation.
    pub conversation: ConversationId,
    /// Where it stands.
    pub state: InstanceState,
}

/// A Surface that should be mounted, and what it is told: the trimmed projection only (SUR-5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceView {
    /// The instance.
    pub instance: InstanceId,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// Which of its Surfaces.
    pub surface: Method,
    /// Where the instance stands.
    pub state: InstanceState,
    /// What its MiniApp lets it show (SUR-3).
    pub document: Shown,
    /// The time of its running operation, by the Runtime's clock (OP-1).
    pub time: Option<RemainingTime>,
}

/// What a Surface shows, at a revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Counts its changes; 0 before the first.
    pub revision: u64,
    /// The data, an object.
    pub data: Arc<Value>,
}

/// The time of a running operation when the projection was made, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemainingTime {
    /// Its whole length.
    pub length_ms: u64,
    /// What is left of it.
    pub remaining_ms: u64,
}
