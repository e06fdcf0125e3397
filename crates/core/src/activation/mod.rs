//! Bringing an instance up, or forward (contract section 5, ACT-1 to ACT-3).
//!
//! What a MiniApp, Surface and Host have reported towards an activation is volatile: after a crash
//! they are asked again. Only its beginning and its end are durable.

use lineup_model::{ActivationId, CallKey, Effective, InstanceId};
use serde::{Deserialize, Serialize};

/// An activation that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activation {
    /// Its id; a Host confirms the foreground for this id and no other (HST-3).
    pub id: ActivationId,
    /// The instance.
    pub instance: InstanceId,
    /// The call that caused it.
    pub cause: CallKey,
    /// Whether a Host has to confirm the foreground.
    pub foreground: bool,
    /// When it fails.
    pub limit: Effective,
    /// The limit that counts once any Host session is connected (ACT-1).
    pub full_limit: Effective,
    /// Whether the instance was created for it: then it closes if this fails.
    pub opened_instance: bool,
}

/// What has been reported towards an activation since the Runtime came up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// The MiniApp says that it is ready.
    pub app_ready: bool,
    /// The Surface has done its handshake.
    pub surface_ready: bool,
    /// A Host confirmed the foreground for this attempt.
    pub foreground: bool,
}

/// What an activation asks for before it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// A Surface handshake.
    pub surface: bool,
    /// A Host's confirmation.
    pub foreground: bool,
}

/// What can happen to an activation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActivationInput {
    /// Something was reported; this is everything reported so far.
    Reported(Reported),
    /// Time passed.
    Clock {
        /// Now.
        now: Effective,
        /// Whether any Host session is connected.
        host_connected: bool,
    },
    /// The MiniApp could not be started, or a Host cannot show it.
    Failed(Failure),
    /// The call that caused it, or the user, no longer wants it.
    Cancelled,
}

/// Why an activation failed: the controlled reasons of ACT-5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No Host is connected.
    HostUnavailable,
    /// A Host is connected and says that it cannot show the MiniApp.
    HostFailed,
    /// The MiniApp did not start.
    AppFailed,
    /// It took too long.
    Timeout,
}

impl Failure {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HostUnavailable => "host_unavailable",
            Self::HostFailed => "host_failed",
            Self::AppFailed => "app_failed",
            Self::Timeout => "timeout",
        }
    }
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Everything asked for stands.
    Ready,
    /// It is over; none of the calls that waited executes.
    Failed(Failure),
    /// It was called off; none of the calls that waited executes.
    Cancelled,
    /// It goes on.
    Pending,
}

/// Decides. An activation has one live state, `starting`; its ends are final and leave the map.
#[must_use]
pub const fn decide(activation: &Activation, asked: Asked, input: &ActivationInput) -> Transition {
    match input {
        ActivationInput::Reported(reported) => {
            let surface = reported.surface_ready || !asked.surface;
            let foreground = reported.foreground || !asked.foreground;
            if reported.app_ready && surface && foreground { Transition::Ready } else { Transition::Pending }
        }
        ActivationInput::Clock { now, host_connected } => {
            // A Host that connects within the grace buys the whole limit.
            let limit =
                if *host_connected || !activation.foreground { activation.full_limit } else { activation.limit };
            if now.0 < limit.0 {
                Transition::Pending
            } else if activation.foreground && !*host_connected {
                Transition::Failed(Failure::HostUnavailable)
            } else {
                Transition::Failed(Failure::Timeout)
            }
        }
        ActivationInput::Failed(failure) => Transition::Failed(*failure),
        ActivationInput::Cancelled => Transition::Cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seq;

    fn activation(foreground: bool) -> Activation {
        Activation {
            id: Seq(1).activation_id(),
            instance: Seq(2).instance_id(),
            cause: Seq(3).call_key(),
            foreground,
            limit: Effective(900),
            full_limit: Effective(10_000),
            opened_instance: true,
        }
    }

    #[test]
    fn act_2_an_activation_is_ready_once_all_that_was_asked_is_reported_and_not_before() {
        for bits in 0..8_u8 {
            let reported =
                Reported { app_ready: bits & 1 != 0, surface_ready: bits & 2 != 0, foreground: bits & 4 != 0 };
            let all = Asked { surface: true, foreground: true };
            let expected = if bits == 7 { Transition::Ready } else { Transition::Pending };
            assert_eq!(decide(&activation(true), all, &ActivationInput::Reported(reported)), expected, "{bits:03b}");
            let none = Asked { surface: false, foreground: false };
            let expected = if reported.app_ready { Transition::Ready } else { Transition::Pending };
            assert_eq!(decide(&activation(false), none, &ActivationInput::Reported(reported)), expected, "{bits:03b}");
        }
    }

    #[test]
    fn act_1_without_a_host_a_foreground_need_fails_within_a_second_and_with_one_within_ten() {
        let asked = Asked { surface: false, foreground: true };
        let at = |ms, host_connected| {
            decide(&activation(true), asked, &ActivationInput::Clock { now: Effective(ms), host_connected })
        };
        assert_eq!(at(899, false), Transition::Pending);
        assert_eq!(at(900, false), Transition::Failed(Failure::HostUnavailable));
        assert_eq!(at(9_999, true), Transition::Pending);
        assert_eq!(at(10_000, true), Transition::Failed(Failure::Timeout));
    }

    #[test]
    fn act_1_an_activation_that_needs_no_foreground_does_not_wait_for_a_host() {
        let asked = Asked { surface: false, foreground: false };
        let input = ActivationInput::Clock { now: Effective(9_999), host_connected: false };
        assert_eq!(decide(&activation(false), asked, &input), Transition::Pending);
        let input = ActivationInput::Clock { now: Effective(10_000), host_connected: false };
        assert_eq!(decide(&activation(false), asked, &input), Transition::Failed(Failure::Timeout));
    }
}
