//! What a client reads on `/host`, and the answers of every socket.
//!
//! These stand beside the core's own types, which know nothing of TypeScript; the tests below read
//! what is really written with these, strictly, so that neither can change alone.

use serde::Deserialize;
use serde_json::Value;
use ts_rs::TS;

/// The answer to a request; `value` where the request asks for something. An error without `id`
/// answers a frame whose own could not be read.
#[derive(Debug, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[ts(optional_fields)]
pub(super) enum Answer {
    Ok {
        id: String,
        #[ts(optional, type = "unknown")]
        value: Option<Value>,
    },
    Error {
        id: Option<String>,
        code: String,
        reason: Option<String>,
        message: String,
        pointer: Option<String>,
    },
}

/// What a Host session is told without asking. A view is all that should be seen, never a difference.
#[derive(Debug, Deserialize, TS)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[ts(optional_fields)]
pub(super) enum HostDown {
    View { seq: u64, host: Option<HostView>, surfaces: Option<Vec<SurfaceView>> },
}

/// What every Host session should show.
#[derive(Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub(super) struct HostView {
    /// `null` is Interact.
    pub foreground: Option<Foreground>,
    /// The live instances, for the switcher.
    pub instances: Vec<Listed>,
}

/// The instance that should be in the foreground.
#[derive(Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub(super) struct Foreground {
    pub instance: String,
    pub app_scope: String,
    pub conversation: String,
    /// The attempt to confirm; `null` when there is nothing to confirm.
    pub activation: Option<String>,
}

/// A live instance.
#[derive(Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    pub instance: String,
    pub app_scope: String,
    pub conversation: String,
    pub state: InstanceStateWord,
}

/// Where a live instance stands (ACT-6).
#[derive(Debug, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(rename = "InstanceState")]
pub(super) enum InstanceStateWord {
    Starting,
    Foreground,
    Background,
    Suspended,
}

/// A Surface that should be mounted, and what it is told.
#[derive(Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub(super) struct SurfaceView {
    pub instance: String,
    pub app_scope: String,
    pub surface: String,
    pub state: InstanceStateWord,
    /// Whether its one live document belongs to this session (HST-3).
    #[serde(default)]
    pub here: bool,
    /// What its MiniApp has written for it (SUR-3).
    #[serde(default)]
    pub document: Option<SurfaceDocument>,
    /// Its running operation, when this was written.
    pub time: Option<TimeRead>,
}

/// The session data of a Surface.
#[derive(Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub(super) struct SurfaceDocument {
    pub revision: u64,
    #[ts(type = "unknown")]
    pub data: Value,
}

/// As `Time` of `/page`.
#[derive(Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
#[ts(rename = "Time")]
pub(super) struct TimeRead {
    pub length_ms: u64,
    pub remaining_ms: u64,
}

/// The body of `GET /surfaces`.
#[derive(Debug, TS)]
pub(super) struct Surfaces {
    pub surfaces: Vec<crate::page::frames::Surface>,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lineup_core::desired;
    use lineup_model::{ErrorCode, message::Fault};
    use serde_json::json;

    use super::*;
    use crate::frame;

    #[test]
    fn a_view_is_written_as_the_types_say() {
        use lineup_core::instance::InstanceState;
        let (instance, conversation) = ("i1".parse().unwrap(), "main".parse().unwrap());
        let app_scope: lineup_model::AppScope = "pomodoro".parse().unwrap();
        for state in
            [InstanceState::Starting, InstanceState::Foreground, InstanceState::Background, InstanceState::Suspended]
        {
            let host = desired::HostView {
                foreground: Some(desired::Foreground {
                    instance: Clone::clone(&instance),
                    app_scope: app_scope.clone(),
                    conversation: Clone::clone(&conversation),
                    activation: Some("a1".parse().unwrap()),
                }),
                instances: vec![desired::Listed {
                    instance: Clone::clone(&instance),
                    app_scope: app_scope.clone(),
                    conversation: Clone::clone(&conversation),
                    state,
                }],
            };
            let surface = desired::SurfaceView {
                instance: Clone::clone(&instance),
                app_scope: app_scope.clone(),
                surface: "main".parse().unwrap(),
                state,
                document: desired::Shown { revision: 1, data: Arc::new(json!({ "title": "x" })) },
                time: Some(desired::RemainingTime { length_ms: 2, remaining_ms: 1 }),
            };
            for (host, surfaces) in [(None, None), (Some(&host), Some(&[surface][..]))] {
                let written = frame::view(1, host, surfaces);
                let read: Result<HostDown, _> = serde_json::from_str(&written);
                assert!(read.is_ok(), "{written}: {read:?}");
            }
        }
    }

    #[test]
    fn an_answer_is_written_as_the_types_say() {
        let fault = Fault::new(ErrorCode::EnvelopeInvalid, "no").because("bad_json").at("/x");
        for written in [
            frame::answer("1", &Ok(None)),
            frame::answer("1", &Ok(Some(json!({})))),
            frame::answer("1", &Err(Fault::new(ErrorCode::LifecycleDenied, "no"))),
            frame::refusal(&frame::Refused { id: None, fault }),
        ] {
            let read: Result<Answer, _> = serde_json::from_str(&written);
            assert!(read.is_ok(), "{written}: {read:?}");
        }
    }
}
