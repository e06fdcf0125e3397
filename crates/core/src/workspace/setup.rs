//! What the owner of the workspace sets up, and what agents are told of it (INV-6, INV-7, SDK-3).

use std::sync::Arc;

use lineup_model::{
    AgentId, AppScope, ConversationId, ErrorCode, InstanceId,
    message::{AgentBody, End, Fault},
};

use super::{Workspace, change_set::Publication, decision::Decided, draft::Draft, facts::Facts, input::Setup};
use crate::journal::{Happened, Origin};

impl Workspace {
    pub(super) fn decide_setup(&self, setup: &Setup, facts: Facts<'_>) -> Decided {
        let mut draft = Draft::new(self, facts.now, Origin::runtime());
        match setup {
            Setup::Conversation(conversation) => {
                let known = self.conversations.get(&conversation.id);
                if known.is_none_or(|known| known.as_ref() != conversation) {
                    draft.put_conversation(conversation.clone());
                }
            }
            Setup::Pair(profile) => {
                if *self.host_profile != *profile {
                    draft.record(Happened::HostPaired, "hosts", None);
                    let profile = Arc::new(profile.clone());
                    draft.change(|set| set.host_profile = Some(profile));
                }
            }
            Setup::Policy(policy) => {
                if *self.policy != *policy {
                    draft.record(Happened::PolicyChanged, "policy", None);
                    let put = Arc::new(policy.clone());
                    draft.change(|set| set.policy = Some(put));
                    for scope in policy.disabled_apps.difference(&self.policy.disabled_apps) {
                        draft.disable(scope);
                    }
                }
            }
        }
        draft.publish_all();
        draft.settle();
        Ok(draft.done())
    }
}

impl Draft {
    /// Ends everything of an app, in this commit (SDK-3).
    pub(super) fn disable(&mut self, scope: &AppScope) {
        let open: Vec<_> = self
            .workspace
            .calls
            .values()
            .filter(|call| call.facts.app_scope == *scope)
            .map(|call| call.key().clone())
            .collect();
        for key in open {
            let error = Fault::new(ErrorCode::AppDisabled, "the app was switched off while the call was open");
            self.finish(&key, End::Rejected { error });
        }
        let instances: Vec<InstanceId> = self
            .workspace
            .instances
            .values()
            .filter(|instance| instance.app_scope == *scope)
            .map(|instance| instance.id.clone())
            .collect();
        for instance in instances {
            self.close(&instance);
        }
    }

    /// Tells each agent whose inventory is not the one it was last told (INV-7).
    pub(super) fn publish_all(&mut self) {
        let stale: Vec<(AgentId, ConversationId)> = self
            .workspace
            .inventories
            .iter()
            .filter(|(key, inventory)| {
                let published = self.workspace.publications.get(*key);
                published.is_none_or(|published| published.revision != inventory.revision)
            })
            .map(|(key, _)| key.clone())
            .collect();
        for (agent, conversation) in stale {
            self.publish(&agent, &conversation);
        }
    }

    /// Publishes an agent's inventory; one that is still in the outbox is superseded.
    pub(super) fn publish(&mut self, agent: &AgentId, conversation: &ConversationId) {
        let key = (agent.clone(), conversation.clone());
        let Some(inventory) = self.workspace.inventories.get(&key).cloned() else { return };
        let superseded: Vec<_> = self
            .workspace
            .outbox
            .values()
            .filter(|row| {
                row.recipient == *agent
                    && row.message.conversation == *conversation
                    && matches!(row.message.body, AgentBody::Inventory { .. })
            })
            .map(|row| row.key)
            .collect();
        for key in superseded {
            self.remove_from_outbox(key);
        }
        let sequence = self.workspace.publications.get(&key).map_or(0, |published| published.sequence) + 1;
        let revision = inventory.revision.clone();
        let body = AgentBody::Inventory { sequence, inventory };
        self.send(Happened::InventoryPublished, agent.as_str(), conversation, vec![(agent.clone(), body)]);
        let publication = Publication { agent: agent.clone(), conversation: conversation.clone(), sequence, revision };
        self.change(|set| set.publications.push(Arc::new(publication)));
    }
}
