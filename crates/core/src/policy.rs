//! What the user and the organisation allow (INV-6), and who is in a conversation.

use std::collections::BTreeSet;

use lineup_model::{AgentId, AppScope, ConversationId, ToolId};
use serde::{Deserialize, Serialize};

/// The workspace's policy. Empty allows what manifests make visible and need no permission for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// MiniApps that are switched off.
    pub disabled_apps: BTreeSet<AppScope>,
    /// Tools that an agent does not see, in any conversation.
    pub hidden_from_agent: BTreeSet<(AgentId, ToolId)>,
    /// Tools that no agent sees in a conversation.
    pub hidden_in_conversation: BTreeSet<(ConversationId, ToolId)>,
    /// Permissions that are granted.
    pub granted: BTreeSet<(AppScope, String)>,
}

/// A conversation and the agents in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// Its title, for people.
    pub title: String,
    /// The agents in it.
    pub agents: BTreeSet<AgentId>,
}

/// What the workspace's paired Hosts can do (INV-6). Persisted; never whether one is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostProfile {
    /// Whether a Host was ever paired; before that this is the bundled Hosts' profile.
    pub paired: bool,
    /// The Host's version, compared with a manifest's `min_version`.
    pub version: u32,
    /// What it can do, compared with a tool's host requirements.
    pub features: BTreeSet<String>,
}

impl Default for HostProfile {
    /// The profile of the bundled Hosts.
    fn default() -> Self {
        Self { paired: false, version: 1, features: ["surface".to_owned(), "notice".to_owned()].into() }
    }
}
