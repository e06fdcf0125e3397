//! The MiniApps of this Runtime and every descriptor that a call may still be finished under.

use std::{collections::BTreeMap, sync::Arc};

use lineup_model::{
    AppScope, Descriptor, Digest, Inventory, Manifest, ToolId, descriptor::Visibility, schema::Validator,
};
use serde::{Deserialize, Serialize};

use crate::policy::{Conversation, HostProfile, Policy};

/// A descriptor with its schemas compiled, once per descriptor.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What the author declared.
    pub descriptor: Arc<Descriptor>,
    /// Its digest.
    pub digest: Digest,
    /// Checks a call's input.
    pub input: Validator,
    /// Checks a result.
    pub output: Validator,
}

impl Compiled {
    /// Compiles a descriptor.
    #[must_use]
    pub fn of(descriptor: Arc<Descriptor>) -> Self {
        Self {
            digest: descriptor.digest(),
            input: Validator::compile(&descriptor.input_schema),
            output: Validator::compile(&descriptor.output_schema),
            descriptor,
        }
    }
}

/// A MiniApp as it is installed: its manifest and its UI Actions' schemas, compiled.
#[derive(Clone, Debug)]
pub struct App {
    /// The verified manifest.
    pub manifest: Arc<Manifest>,
    /// The UI Actions' input checks, by method.
    pub actions: BTreeMap<lineup_model::Method, Validator>,
    /// The tools' descriptors, by id.
    pub tools: BTreeMap<ToolId, Digest>,
}

impl App {
    /// An installed MiniApp.
    #[must_use]
    pub fn of(manifest: Arc<Manifest>) -> Self {
        let actions = manifest
            .ui_actions
            .iter()
            .map(|action| (action.method.clone(), Validator::compile(&action.input_schema)))
            .collect();
        let tools = manifest.tools.iter().map(|tool| (tool.id.clone(), tool.digest())).collect();
        Self { manifest, actions, tools }
    }
}

/// A manifest as the store keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Installed {
    /// The verified manifest.
    pub manifest: Arc<Manifest>,
}

/// The tools that an agent may see in a conversation now (INV-6).
pub(crate) fn inventory<'a>(
    apps: impl Iterator<Item = &'a Arc<App>>,
    policy: &Policy,
    profile: &HostProfile,
    conversation: &Conversation,
    agent: &lineup_model::AgentId,
) -> Inventory {
    let visible = apps
        .filter(|app| {
            !policy.disabled_apps.contains(&app.manifest.app_scope) && app.manifest.host.min_version <= profile.version
        })
        .flat_map(|app| app.manifest.tools.iter())
        .filter(|tool| {
            let granted = |permission: &String| policy.granted.contains(&(tool.app_scope.clone(), permission.clone()));
            tool.visibility == Visibility::Visible
                && tool.host_requirements.iter().all(|feature| profile.features.contains(feature))
                && tool.permissions.iter().all(granted)
                && !policy.hidden_from_agent.contains(&(agent.clone(), tool.id.clone()))
                && !policy.hidden_in_conversation.contains(&(conversation.id.clone(), tool.id.clone()))
        });
    Inventory::of(visible)
}

/// The scope whose instance is each conversation's Interact (APP-1).
#[must_use]
pub fn interact() -> AppScope {
    AppScope::new("chat").expect("a plain word is a scope")
}
