//! One running MiniApp in one conversation (ACT-1, ACT-6).

use lineup_model::{AppScope, AppSessionId, ConversationId, InstanceId};
use serde::{Deserialize, Serialize};

/// A live instance. A closed one leaves the map; its journal row and App session stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// The MiniApp.
    pub app_scope: AppScope,
    /// The App session that records what happens around it.
    pub session: AppSessionId,
    /// Where it stands.
    pub state: InstanceState,
}

/// Where a live instance stands (ACT-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// Its first activation is under way.
    Starting,
    /// On top of the focus stack.
    Foreground,
    /// Up, and not on top.
    Background,
    /// Kept, and not running.
    Suspended,
}

/// What can happen to a live instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceInput {
    /// Its activation is ready, with or without the foreground.
    Ready {
        /// Whether it comes to the foreground.
        foreground: bool,
    },
    /// It came to the top of the focus stack.
    Raised,
    /// Another instance, or Interact, came to the top.
    Covered,
    /// Its MiniApp is to be kept without running.
    Suspend,
    /// Its suspended MiniApp is to run again.
    Resume,
}

/// Decides: `None` means that nothing changes.
#[must_use]
pub fn decide(state: InstanceState, input: InstanceInput) -> Option<InstanceState> {
    use InstanceInput as In;
    use InstanceState as At;
    let next = match (state, input) {
        (At::Starting | At::Background | At::Suspended | At::Foreground, In::Ready { foreground: true }) => {
            At::Foreground
        }
        (At::Starting | At::Suspended, In::Ready { foreground: false }) => At::Background,
        // A background activation does not take the foreground away.
        (At::Background | At::Foreground, In::Ready { foreground: false }) => state,
        // An instance that is not up yet comes forward by its activation only (HST-3).
        (At::Starting, In::Raised) => At::Starting,
        (At::Background | At::Suspended | At::Foreground, In::Raised) => At::Foreground,
        (At::Foreground, In::Covered) => At::Background,
        (At::Starting | At::Background | At::Suspended, In::Covered) => state,
        (At::Background, In::Suspend) => At::Suspended,
        // What is in front, or on its way, is in use.
        (At::Starting | At::Foreground | At::Suspended, In::Suspend) => state,
        (At::Suspended, In::Resume) => At::Background,
        (At::Starting | At::Foreground | At::Background, In::Resume) => state,
    };
    (next != state).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn act_6_every_state_has_an_answer_to_every_input() {
        use InstanceInput as In;
        use InstanceState as At;
        let table: Vec<String> = [At::Starting, At::Foreground, At::Background, At::Suspended]
            .iter()
            .flat_map(|state| {
                [
                    In::Ready { foreground: true },
                    In::Ready { foreground: false },
                    In::Raised,
                    In::Covered,
                    In::Suspend,
                    In::Resume,
                ]
                .iter()
                .map(move |input| format!("{state:?} + {input:?} -> {:?}", decide(*state, *input)))
            })
            .collect();
        insta::assert_snapshot!(table.join("\n"));
    }
}
