//! The focus stack: one per workspace (ACT-6). Empty means that Interact is in front.

use lineup_model::{InstanceId, limits};
use serde::{Deserialize, Serialize};

/// Instances in the order in which they came forward; the last one is in front. No duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FocusStack(Vec<InstanceId>);

impl FocusStack {
    /// The instance in front, or `None` for Interact.
    #[must_use]
    pub fn top(&self) -> Option<&InstanceId> {
        self.0.last()
    }

    /// All entries, bottom first.
    #[must_use]
    pub fn entries(&self) -> &[InstanceId] {
        &self.0
    }

    /// The stack with this instance in front. Past its limit the oldest entry is forgotten.
    #[must_use]
    pub fn raised(&self, instance: &InstanceId) -> Self {
        let mut next = self.without(instance);
        next.0.push(instance.clone());
        if next.0.len() > limits::FOCUS_STACK {
            next.0.remove(0);
        }
        next
    }

    /// The stack without this instance.
    #[must_use]
    pub fn without(&self, instance: &InstanceId) -> Self {
        Self(self.0.iter().filter(|entry| *entry != instance).cloned().collect())
    }

    /// The stack with Interact in front.
    #[must_use]
    pub const fn cleared() -> Self {
        Self(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seq;

    #[test]
    fn i56_the_stack_holds_an_instance_once_and_is_bounded() {
        let mut stack = FocusStack::default();
        for n in 0..100 {
            stack = stack.raised(&Seq(n % 40).instance_id());
        }
        assert_eq!(stack.entries().len(), limits::FOCUS_STACK);
        assert_eq!(stack.top(), Some(&Seq(19).instance_id()));
        let unique: std::collections::BTreeSet<_> = stack.entries().iter().collect();
        assert_eq!(unique.len(), stack.entries().len());
    }

    #[test]
    fn act_6_closing_the_front_brings_back_the_one_before() {
        let (first, second) = (Seq(1).instance_id(), Seq(2).instance_id());
        let stack = FocusStack::default().raised(&first).raised(&second);
        assert_eq!(stack.without(&second).top(), Some(&first));
        assert_eq!(stack.without(&second).without(&first).top(), None);
    }
}
