//! What one agent may see in one conversation, and its revision (INV-6, INV-7).

use serde::{Deserialize, Serialize};

use crate::{AppScope, Descriptor, Digest, Method, ToolId, descriptor, schema::Schema};

/// The digest of a canonical inventory (INV-7): the same content has the same revision, for ever.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub Digest);

impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The trimmed view of a descriptor that an agent receives (INV-10).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdvertisedTool {
    /// `<app_scope>.<method>`.
    pub id: ToolId,
    /// The MiniApp that the tool belongs to.
    pub app_scope: AppScope,
    /// The name inside the scope.
    pub method: Method,
    /// Grows when the tool's meaning changes (INV-11).
    pub contract_version: u32,
    /// What the tool does, for the agent.
    pub description: String,
    /// What a call must carry.
    pub input_schema: Schema,
    /// What a completed call returns.
    pub output_schema: Schema,
    /// What kind of work a call is.
    pub invocation: descriptor::Invocation,
    /// What must stand before a call runs.
    pub readiness: descriptor::Readiness,
    /// How much harm a call can do.
    pub risk: descriptor::Risk,
    /// How long a call may run, in milliseconds (CALL-9).
    pub timeout_ms: u64,
    /// Whether the agent may cancel a call (CALL-10).
    pub cancellable: bool,
}

impl From<&Descriptor> for AdvertisedTool {
    fn from(tool: &Descriptor) -> Self {
        Self {
            id: tool.id.clone(),
            app_scope: tool.app_scope.clone(),
            method: tool.method.clone(),
            contract_version: tool.contract_version,
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            output_schema: tool.output_schema.clone(),
            invocation: tool.invocation,
            readiness: tool.readiness,
            risk: tool.risk,
            timeout_ms: tool.timeout_ms,
            cancellable: tool.terminal.agent_may_cancel,
        }
    }
}

/// The tools that one agent may see in one conversation, sorted by id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// The digest of `tools`.
    pub revision: Revision,
    /// The tools, sorted by id.
    pub tools: Vec<AdvertisedTool>,
}

impl Inventory {
    /// The inventory that holds these tools.
    #[must_use]
    pub fn of<'a>(tools: impl IntoIterator<Item = &'a Descriptor>) -> Self {
        let mut tools: Vec<AdvertisedTool> = tools.into_iter().map(AdvertisedTool::from).collect();
        tools.sort_by(|a, b| a.id.cmp(&b.id));
        let revision = Revision(Digest::of(&tools));
        Self { revision, tools }
    }
}
