//! What a client writes, as the decoders of the entries read it.

use serde::Serialize;
use serde_json::Value;
use ts_rs::TS;

/// What the page asks on `/page`. Every `id` is the page's own; the answer names it.
#[derive(Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(optional_fields)]
pub(super) enum PageUp {
    /// Follows a conversation, instead of the one before. Answered with `Page`: without `after` its
    /// newest items, with it those after that place; what comes later, comes as `items`. `open` are
    /// places that the page holds and that may still change: they are said again.
    Follow {
        id: String,
        conversation: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        open: Option<Vec<u64>>,
    },
    /// Asks for items before a place, or for the newest. Answered with `Page`.
    History {
        id: String,
        conversation: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<u64>,
        /// 1 to 200, else 50.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Asks for an App session. Answered with `Session`, or `null`.
    Session { id: String, session: String },
}

/// What a Host session says on `/host`. `hello` comes first.
#[derive(Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum HostUp {
    Hello { id: String, session: String, visible: bool },
    Visible { id: String, visible: bool },
    Foreground { id: String, activation: String },
    Failed { id: String, activation: String },
    SurfaceReady { id: String, instance: String },
    SurfaceGone { id: String, instance: String },
    UseHere { id: String, instance: String },
    Intent(Named),
}

/// An intent and its names.
#[derive(Serialize, TS)]
pub(super) struct Named {
    pub id: String,
    pub intent_id: String,
    #[serde(flatten)]
    pub intent: Intent,
}

/// What the user did in the shell.
#[derive(Serialize, TS)]
#[serde(tag = "intent", rename_all = "snake_case")]
#[ts(optional_fields)]
pub(super) enum Intent {
    /// To an instance; without it, to Interact.
    Switch {
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    Back,
    Close {
        instance: String,
    },
    Hide,
    Lock,
    Sleep,
    Resume,
}

/// What the user does, on `/user`.
#[derive(Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum UserUp {
    /// A UI Action in Interact's own view; `send-text` takes `{ text, echo_id? }`.
    Act {
        id: String,
        session: String,
        conversation: String,
        action_id: String,
        method: String,
        #[ts(type = "Record<string, unknown>")]
        input: Value,
    },
}
