//! What the outside should look like, derived from the live state (ACT-8).

use std::sync::Arc;

use lineup_model::{Generation, InstanceId};

use super::{AppProcess, Workspace};
use crate::{
    action::Action,
    call::{Call, CallState},
    desired::{Foreground, HostView, Listed, RemainingTime, Shown, SurfaceView},
    instance::{Instance, InstanceState},
};

impl Workspace {
    /// What every Host session should show.
    #[must_use]
    pub fn host_view(&self) -> HostView {
        // The oldest activation that asks for the foreground comes first: the order of its id is
        // the order of the journal only within one length, so compare by its instance's limit.
        let asked = self
            .graces
            .iter()
            .filter_map(|(_, id)| self.activations.get(id))
            .min_by_key(|activation| (activation.full_limit, activation.id.as_str().len(), activation.id.clone()));
        let foreground = match asked {
            Some(activation) => self.instances.get(&activation.instance).map(|instance| Foreground {
                instance: instance.id.clone(),
                app_scope: instance.app_scope.clone(),
                conversation: instance.conversation.clone(),
                activation: Some(activation.id.clone()),
            }),
            None => self.focus.top().and_then(|id| self.instances.get(id)).map(|instance| Foreground {
                instance: instance.id.clone(),
                app_scope: instance.app_scope.clone(),
                conversation: instance.conversation.clone(),
                activation: None,
            }),
        };
        let instances = self.instances.values().map(|instance| Listed {
            instance: instance.id.clone(),
            app_scope: instance.app_scope.clone(),
            conversation: instance.conversation.clone(),
            state: instance.state,
        });
        HostView { foreground, instances: instances.collect() }
    }

    /// The Surfaces that should be mounted, with the projection of this moment.
    #[must_use]
    pub fn surface_views(&self, now: lineup_model::Effective) -> Vec<SurfaceView> {
        self.instances
            .values()
            .filter(|instance| instance.state != InstanceState::Suspended)
            .filter_map(|instance| {
                let app = self.apps.get(&instance.app_scope)?;
                let surface = app.manifest.surfaces.first()?;
                let time = self.operations_on(&instance.id).find_map(|operation| {
                    let deadline = operation.deadline?;
                    Some(RemainingTime {
                        length_ms: deadline.since(operation.started.effective),
                        remaining_ms: deadline.since(now),
                    })
                });
                let document = self.surface(&instance.id, &surface.id);
                Some(SurfaceView {
                    instance: instance.id.clone(),
                    app_scope: instance.app_scope.clone(),
                    surface: surface.id.clone(),
                    state: instance.state,
                    document: Shown { revision: document.revision, data: document.data.clone() },
                    time,
                })
            })
            .collect()
    }

    /// The instances whose MiniApp should be up: those that are starting, in front, or have work or
    /// messages waiting. The others are started when they are needed.
    pub fn wanted(&self) -> impl Iterator<Item = &Arc<Instance>> {
        self.instances.values().filter(|instance| {
            matches!(instance.state, InstanceState::Starting | InstanceState::Foreground)
                || self.activating.contains_key(&instance.id)
                || self.deliveries(&instance.id).next().is_some()
                || self.actions.values().any(|action| action.instance == instance.id)
                || self.inbox.values().any(|row| row.instance == instance.id && !row.parked)
        })
    }

    /// A live instance.
    #[must_use]
    pub fn instance(&self, id: &InstanceId) -> Option<&Arc<Instance>> {
        self.instances.get(id)
    }

    /// An unfinished UI Action, by its place.
    #[must_use]
    pub fn action(&self, seq: crate::Seq) -> Option<&Arc<Action>> {
        self.actions.get(&seq)
    }

    /// Whether this is what the agent was last told to see (INV-7).
    #[must_use]
    pub fn is_current(
        &self,
        agent: &lineup_model::AgentId,
        conversation: &lineup_model::ConversationId,
        sequence: u64,
    ) -> bool {
        let published = self.publications.get(&(agent.clone(), conversation.clone()));
        published.is_some_and(|published| published.sequence == sequence)
    }

    /// What the hosting adapter does for an instance, as far as it has reported.
    #[must_use]
    pub fn app_process(&self, instance: &InstanceId) -> AppProcess {
        self.process(instance)
    }

    /// The calls that a handler of this instance should have, in the order of their acceptance.
    pub fn deliveries(&self, instance: &InstanceId) -> impl Iterator<Item = (&Arc<Call>, Generation)> {
        self.calls_on(instance).filter_map(|call| match &call.state {
            CallState::Running { generation, .. } => Some((call, *generation)),
            CallState::Waiting { .. }
            | CallState::WaitingForTurn
            | CallState::NeedsYou
            | CallState::Operating { .. } => None,
        })
    }

    /// The UI Actions that a handler of this instance should have, in the order of their acceptance.
    pub fn action_deliveries(&self, instance: &InstanceId) -> impl Iterator<Item = &Arc<Action>> {
        self.actions.values().filter(move |action| action.instance == *instance)
    }
}
