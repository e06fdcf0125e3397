//! What time alone changes (OP-4, CALL-9, ACT-1).

use lineup_model::{
    ErrorCode,
    message::{End, Fault},
};

use super::{Workspace, decision::Decision, draft::Draft, facts::Facts};
use crate::{activation::ActivationInput, journal::Origin, operation::OperationInput};

impl Workspace {
    pub(super) fn decide_clock(&self, facts: Facts<'_>) -> Decision {
        let mut draft = Draft::new(self, facts.now, Origin::runtime());
        draft.due();
        draft.done()
    }
}

impl Draft {
    /// Settles everything whose time has come, each thing once, however far time has moved (H64).
    pub(super) fn due(&mut self) {
        self.due_work();
        self.due_activations();
        self.settle();
    }

    /// Operations whose deadline has passed, the earliest first, and calls whose time is over. Nobody
    /// who waited for them goes on yet.
    pub(super) fn due_work(&mut self) {
        let now = self.now.effective;
        let operations: Vec<_> = self
            .workspace
            .deadlines
            .iter()
            .take_while(|(at, _)| *at <= now)
            .filter_map(|(_, seq)| self.workspace.operation_of.get(seq).cloned())
            .collect();
        for operation in operations {
            self.end_operation(&operation, OperationInput::Clock(now));
        }

        let calls: Vec<_> =
            self.workspace.alarms.iter().take_while(|(at, _)| *at <= now).map(|(_, seq)| seq.call_key()).collect();
        for key in calls {
            let error = Fault::new(ErrorCode::CallExpired, "the time of the call was over before it ended");
            self.finish(&key, End::Expired { error });
        }
    }

    fn due_activations(&mut self) {
        let now = self.now.effective;
        let host_connected = !self.workspace.hosts.is_empty();
        let graces = if host_connected { None } else { Some(&self.workspace.graces) };
        let activations: Vec<_> = [Some(&self.workspace.limits), graces]
            .into_iter()
            .flatten()
            .flat_map(|limits| limits.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| id.clone()))
            .collect();
        for id in activations {
            // One that ended with an earlier one of this round is gone.
            if let Some(activation) = self.workspace.activations.get(&id).cloned() {
                self.consider(&activation, &ActivationInput::Clock { now, host_connected });
            }
        }
    }
}
