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
        let now = self.now.effective;
        let mut operations: Vec<_> = self
            .workspace
            .operations
            .values()
            .filter(|operation| operation.deadline.is_some_and(|deadline| deadline <= now))
            .cloned()
            .collect();
        operations.sort_by_key(|operation| operation.deadline);
        for operation in operations {
            self.end_operation(&operation, OperationInput::Clock(now));
        }

        let calls: Vec<_> =
            self.workspace.alarms.keys().take_while(|(at, _)| *at <= now).map(|(_, seq)| seq.call_key()).collect();
        for key in calls {
            let error = Fault::new(ErrorCode::CallExpired, "the time of the call was over before it ended");
            self.finish(&key, End::Expired { error });
        }

        let host_connected = !self.workspace.hosts.is_empty();
        let activations: Vec<_> = self.workspace.activations.values().cloned().collect();
        for activation in activations {
            // One that ended with an earlier one of this round is gone.
            if self.workspace.activations.contains_key(&activation.id) {
                self.consider(&activation, &ActivationInput::Clock { now, host_connected });
            }
        }
        self.settle();
    }
}
