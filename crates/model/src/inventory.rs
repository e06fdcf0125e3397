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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn tool(method: &str) -> Descriptor {
        let value = json!({
            "id": format!("app.{method}"), "app_scope": "app", "method": method, "contract_version": 1,
            "description": "Does it.", "input_schema": Schema::empty_object(), "output_schema": Schema::empty_object(),
            "invocation": "query", "readiness": "app_ready", "executor": { "kind": "miniapp_sdk" },
            "permissions": ["secret.permission"], "risk": "low", "visibility": "visible", "timeout_ms": 60_000,
            "terminal": { "agent_may_cancel": true }, "operation": {}, "target": {},
            "host_requirements": ["secret.host"], "handling": "launch"
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn inv_10_an_agent_sees_no_executor_no_policy_and_nothing_derived() {
        let advertised = serde_json::to_value(AdvertisedTool::from(&tool("look"))).unwrap();
        let keys: Vec<&str> = advertised.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "app_scope",
            "cancellable",
            "contract_version",
            "description",
            "id",
            "input_schema",
            "invocation",
            "method",
            "output_schema",
            "readiness",
            "risk",
            "timeout_ms",
        ];
        assert_eq!(keys, expected);
        assert_eq!(advertised["cancellable"], true);
    }

    #[test]
    fn inv_7_the_revision_changes_when_and_only_when_the_content_does() {
        let (a, b) = (tool("a"), tool("b"));
        let revision = |tools: &[&Descriptor]| Inventory::of(tools.iter().copied()).revision;
        assert_eq!(revision(&[&a, &b]), revision(&[&b, &a]), "the order of arrival is no content");
        let hidden = Descriptor { permissions: Vec::new(), host_requirements: Vec::new(), ..a.clone() };
        assert_eq!(revision(&[&a]), revision(&[&hidden]), "what no agent sees is no content");
        let seen: [fn(&mut Descriptor); 6] = [
            |tool| tool.contract_version = 2,
            |tool| tool.description.push('.'),
            |tool| tool.timeout_ms = 1,
            |tool| tool.terminal.agent_may_cancel = false,
            |tool| tool.risk = descriptor::Risk::High,
            |tool| tool.invocation = descriptor::Invocation::Command,
        ];
        let before = revision(&[&a]);
        for change in seen {
            let mut changed = a.clone();
            change(&mut changed);
            assert_ne!(revision(&[&changed]), before, "{changed:?}");
        }
        assert_ne!(revision(&[]), before);
    }

    proptest! {
        #[test]
        fn inv_7_an_inventory_is_sorted_and_the_same_after_it_was_stored(methods in prop::collection::btree_set("[a-z][a-z0-9-]{0,8}", 0..8)) {
            let tools: Vec<Descriptor> = methods.iter().rev().map(|method| tool(method)).collect();
            let inventory = Inventory::of(&tools);
            prop_assert!(inventory.tools.is_sorted_by(|a, b| a.id < b.id));
            let back: Inventory = serde_json::from_str(&serde_json::to_string(&inventory).unwrap()).unwrap();
            prop_assert_eq!(&back, &inventory);
            prop_assert_eq!(Revision(Digest::of(&back.tools)), inventory.revision);
        }
    }
}
