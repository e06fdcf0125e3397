//! What a Host session says.

use lineup_core::workspace::input::{Intent, Report};
use lineup_model::{
    HostSessionId, IntentId,
    json::{Fields, JsonError},
};

use crate::frame::{self, Refused};

const FIRST: &[&str] = &["hello"];
const LATER: &[&str] = &["visible", "foreground", "failed", "surface_ready", "surface_gone", "intent"];

/// What a session says after its hello.
#[derive(Debug, PartialEq)]
pub(crate) enum Up {
    Report(Report),
    Intent(IntentId, Intent),
}

/// Reads a hello: the request's name, the session, whether the user can see it.
pub(crate) fn first(bytes: &[u8]) -> Result<(String, HostSessionId, bool), Refused> {
    let request = frame::decode(bytes, FIRST)?;
    match hello(request.fields) {
        Ok((session, visible)) => Ok((request.id, session, visible)),
        Err(error) => Err(Refused { id: Some(request.id), fault: frame::fault(&error) }),
    }
}

/// Reads a later frame.
pub(crate) fn later(bytes: &[u8]) -> Result<(String, Up), Refused> {
    let request = frame::decode(bytes, LATER)?;
    match up(&request.kind, request.fields) {
        Ok(up) => Ok((request.id, up)),
        Err(error) => Err(Refused { id: Some(request.id), fault: frame::fault(&error) }),
    }
}

fn hello(mut fields: Fields) -> Result<(HostSessionId, bool), JsonError> {
    let hello = (fields.id("session")?, fields.required("visible")?);
    fields.finish()?;
    Ok(hello)
}

fn up(kind: &str, mut fields: Fields) -> Result<Up, JsonError> {
    let up = match kind {
        "visible" => Up::Report(Report::Visible(fields.required("visible")?)),
        "foreground" => Up::Report(Report::Foreground { activation: fields.id("activation")? }),
        "failed" => Up::Report(Report::Failed { activation: fields.id("activation")? }),
        "surface_ready" => Up::Report(Report::SurfaceReady { instance: fields.id("instance")? }),
        "surface_gone" => Up::Report(Report::SurfaceGone { instance: fields.id("instance")? }),
        _intent => Up::Intent(fields.id("intent_id")?, intent(&mut fields)?),
    };
    fields.finish()?;
    Ok(up)
}

fn intent(fields: &mut Fields) -> Result<Intent, JsonError> {
    let what: String = fields.required("intent")?;
    Ok(match what.as_str() {
        "switch" => Intent::Switch { to: fields.optional_id("to")? },
        "back" => Intent::Back,
        "close" => Intent::Close { instance: fields.id("instance")? },
        "hide" => Intent::Hide,
        "lock" => Intent::Lock,
        "sleep" => Intent::Sleep,
        "resume" => Intent::Resume,
        _ => {
            return Err(fields.wrong("intent", "one of switch, back, close, hide, lock, sleep, resume"));
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(frame: Value) -> Result<Up, String> {
        later(frame.to_string().as_bytes())
            .map(|(_, up)| up)
            .map_err(|refused| refused.fault.reason.unwrap_or_default())
    }

    #[test]
    fn every_frame_of_a_host_is_read() {
        let (activation, instance) = ("a1".parse().unwrap(), "i1".parse().unwrap());
        let intent = |intent| Ok(Up::Intent("n1".parse().unwrap(), intent));
        for (frame, up) in [
            (json!({ "type": "visible", "id": "1", "visible": false }), Ok(Up::Report(Report::Visible(false)))),
            (
                json!({ "type": "foreground", "id": "1", "activation": "a1" }),
                Ok(Up::Report(Report::Foreground { activation })),
            ),
            (
                json!({ "type": "surface_ready", "id": "1", "instance": "i1" }),
                Ok(Up::Report(Report::SurfaceReady { instance })),
            ),
            (
                json!({ "type": "intent", "id": "1", "intent_id": "n1", "intent": "switch" }),
                intent(Intent::Switch { to: None }),
            ),
            (
                json!({ "type": "intent", "id": "1", "intent_id": "n1", "intent": "switch", "to": "i1" }),
                intent(Intent::Switch { to: Some("i1".parse().unwrap()) }),
            ),
            (json!({ "type": "intent", "id": "1", "intent_id": "n1", "intent": "back" }), intent(Intent::Back)),
        ] {
            assert_eq!(read(frame.clone()), up, "{frame}");
        }
    }

    #[test]
    fn a_frame_with_a_field_too_many_or_too_few_is_refused() {
        for (frame, reason) in [
            (json!({ "type": "visible", "id": "1" }), "bad_envelope"),
            (json!({ "type": "visible", "id": "1", "visible": "yes" }), "bad_envelope"),
            (json!({ "type": "visible", "id": "1", "visible": true, "x": 1 }), "unknown_field"),
            (json!({ "type": "foreground", "id": "1", "activation": "a1", "instance_id": "i1" }), "reserved_field"),
            (json!({ "type": "foreground", "id": "1", "activation": "a 1" }), "bad_id"),
            (json!({ "type": "intent", "id": "1", "intent": "back" }), "bad_envelope"),
            (json!({ "type": "intent", "id": "1", "intent_id": "n1", "intent": "close" }), "bad_envelope"),
            (json!({ "type": "intent", "id": "1", "intent_id": "n1", "intent": "back", "to": "i1" }), "unknown_field"),
            (json!({ "type": "intent", "id": "1", "intent_id": "n1", "intent": "quit" }), "bad_envelope"),
            (json!({ "type": "hello", "id": "1", "session": "s", "visible": true }), "wrong_entry"),
            (json!({ "type": "act", "id": "1" }), "wrong_entry"),
        ] {
            assert_eq!(read(frame.clone()), Err(reason.to_owned()), "{frame}");
        }
    }
}
