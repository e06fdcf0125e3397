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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{frame, host, page};

    fn text(frame: &impl Serialize) -> Vec<u8> {
        serde_json::to_vec(frame).unwrap()
    }

    fn s() -> String {
        "s1".to_owned()
    }

    #[test]
    fn what_the_types_let_a_page_ask_is_read() {
        for frame in [
            PageUp::Follow { id: s(), conversation: s(), after: None, open: None },
            PageUp::Follow { id: s(), conversation: s(), after: Some(1), open: Some(vec![1]) },
            PageUp::History { id: s(), conversation: s(), before: None, limit: None },
            PageUp::History { id: s(), conversation: s(), before: Some(9), limit: Some(200) },
            PageUp::Session { id: s(), session: s() },
        ] {
            let text = text(&frame);
            assert!(page::up::decode(&text).is_ok(), "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn what_the_types_let_a_host_session_say_is_read() {
        let hello = text(&HostUp::Hello { id: s(), session: s(), visible: true });
        assert!(host::frames::first(&hello).is_ok());
        let intents = [
            Intent::Switch { to: None },
            Intent::Switch { to: Some(s()) },
            Intent::Back,
            Intent::Close { instance: s() },
            Intent::Hide,
            Intent::Lock,
            Intent::Sleep,
            Intent::Resume,
        ];
        let intents = intents.map(|intent| HostUp::Intent(Named { id: s(), intent_id: s(), intent }));
        for frame in [
            HostUp::Visible { id: s(), visible: false },
            HostUp::Foreground { id: s(), activation: s() },
            HostUp::Failed { id: s(), activation: s() },
            HostUp::SurfaceReady { id: s(), instance: s() },
            HostUp::SurfaceGone { id: s(), instance: s() },
        ]
        .into_iter()
        .chain(intents)
        {
            let text = text(&frame);
            assert!(host::frames::later(&text).is_ok(), "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn what_the_types_let_the_user_do_is_read() {
        let (id, session, conversation, action_id, method) = (s(), s(), s(), s(), s());
        let act = UserUp::Act { id, session, conversation, action_id, method, input: json!({}) };
        let request = frame::decode(&text(&act), &["act"]).unwrap();
        assert!(crate::user::decode(request.fields).is_ok());
    }
}
