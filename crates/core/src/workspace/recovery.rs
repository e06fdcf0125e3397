//! Coming back up: an input like any other (DUR-4).

use std::{collections::BTreeSet, sync::Arc};

use lineup_model::{AppScope, ErrorCode, InstanceId, Manifest, limits, message::Fault};

use super::{Workspace, change_set::Kept, decision::Decision, draft::Draft, facts::Facts};
use crate::{
    action::{self, Action, ActionInput},
    activation::Activation,
    call::{Call, CallState},
    journal::{Happened, Origin},
    registry::Installed,
};

impl Workspace {
    pub(super) fn decide_recovered(&self, manifests: &[Arc<Manifest>], facts: Facts<'_>) -> Decision {
        let mut draft = Draft::new(self, facts.now, Origin::runtime());
        draft.record(Happened::Recovered, self.id.as_str(), None);
        draft.resume_activations();
        // What was due while the Runtime was down is settled first: a late deadline is completed,
        // whatever happens to its instance and its app now (OP-4). Whoever waited for it goes on once
        // it is known which apps are still there: a call that ends with its app starts nothing first.
        draft.due_work();
        draft.register(manifests);
        draft.due();
        draft.hand_over_again(None);
        draft.publish_all();
        draft.settle();
        draft.done()
    }
}

impl Draft {
    /// Installs what is hosted now and removes what is not.
    fn register(&mut self, manifests: &[Arc<Manifest>]) {
        let hosted: BTreeSet<AppScope> = manifests.iter().map(|manifest| manifest.app_scope.clone()).collect();
        for manifest in manifests {
            let installed = self.workspace.apps.get(&manifest.app_scope);
            if installed.is_some_and(|app| app.manifest.digest == manifest.digest) {
                continue;
            }
            self.record(Happened::AppsRegistered, manifest.app_scope.as_str(), None);
            let new: Vec<_> = manifest
                .tools
                .iter()
                .filter(|tool| !self.workspace.compiled.contains_key(&tool.digest()))
                .map(|tool| Arc::new(tool.clone()))
                .collect();
            let put = Kept::Put(Arc::new(Installed { manifest: manifest.clone() }));
            self.change(|set| {
                set.descriptors.extend(new);
                set.apps.push(put);
            });
        }
        let removed: Vec<AppScope> =
            self.workspace.apps.keys().filter(|scope| !hosted.contains(*scope)).cloned().collect();
        for scope in removed {
            self.record(Happened::AppsRegistered, scope.as_str(), None);
            self.disable(&scope);
            self.change(|set| set.apps.push(Kept::Gone(scope)));
        }
    }

    /// An activation that was under way goes on, with its whole limit: what was reported towards it
    /// is gone, and Hosts have yet to come back.
    fn resume_activations(&mut self) {
        let under_way: Vec<_> = self.workspace.activations.values().cloned().collect();
        for activation in under_way {
            let limit = self.now.effective.plus(limits::ACTIVATION_MS);
            self.put_activation(Activation { limit, full_limit: limit, ..Activation::clone(&activation) });
        }
    }

    /// Work that a handler had is handed over again, of one instance or of all: the next attempt
    /// (DUR-4).
    pub(super) fn hand_over_again(&mut self, of: Option<&InstanceId>) {
        let running = |call: &&Arc<Call>| matches!(call.state, CallState::Running { .. });
        let running: Vec<_> = match of {
            Some(instance) => {
                self.workspace.calls_on(instance).filter(running).map(|call| call.key().clone()).collect()
            }
            None => self.workspace.calls.values().filter(running).map(|call| call.key().clone()).collect(),
        };
        for key in running {
            self.hand_over(&key);
        }
        let concerned = |action: &&Arc<Action>| of.is_none_or(|instance| action.instance == *instance);
        let actions: Vec<_> = self.workspace.actions.values().filter(concerned).cloned().collect();
        for open in actions {
            // One whose instance was closed with an exhausted call is over.
            if !self.workspace.actions.contains_key(&open.seq) {
                continue;
            }
            match action::decide(open.generation, ActionInput::Deliver) {
                action::Transition::Delivered(generation) => {
                    self.record(Happened::ActionDelivered, open.id.as_str(), None);
                    self.put_action(Action { generation, ..Action::clone(&open) });
                }
                action::Transition::Exhausted => {
                    let fault = Fault::new(
                        ErrorCode::AppDeliveryExhausted,
                        format!("the app did not handle the action in {} attempts", limits::DELIVERY_ATTEMPTS),
                    );
                    self.end_action(&open, Some(&fault));
                }
                action::Transition::Final | action::Transition::Stale => {}
            }
        }
    }
}
