//! The frames: requests up, answers and views down. One JSON object per WebSocket text message.

use lineup_core::desired::{HostView, SurfaceView};
use lineup_model::{
    ErrorCode,
    json::{Fields, JsonError, Reason},
    limits,
    message::Fault,
};
use serde::Serialize;
use serde_json::Value;

/// Every frame that some entry of this process takes, so that one at the wrong door is told so
/// (ENT-1, cases H40 to H42).
const ELSEWHERE: &[&str] = &[
    "hello",
    "visible",
    "foreground",
    "failed",
    "surface_ready",
    "surface_gone",
    "intent",
    "act",
    "inspect",
    "conversation",
    "pair",
    "advance",
    "link",
    "follow",
    "history",
    "session",
];

/// One request: what it is called, and its own fields, not yet read.
#[derive(Debug)]
pub(crate) struct Request {
    /// The client's name of the request; the answer carries it.
    pub id: String,
    /// The type, one of the entry's.
    pub kind: String,
    /// The fields beside `type` and `id`.
    pub fields: Fields,
}

/// A refusal, with the request's name as far as it could be read.
#[derive(Debug)]
pub(crate) struct Refused {
    pub id: Option<String>,
    pub fault: Fault,
}

/// Reads one frame for an entry that takes these types.
pub(crate) fn decode(bytes: &[u8], types: &[&str]) -> Result<Request, Refused> {
    let mut fields = Fields::decode(bytes, limits::ENVELOPE_BYTES).map_err(|error| refused(None, &error))?;
    let id: String = fields.required("id").map_err(|error| refused(None, &error))?;
    // The same shape as every other opaque id (H13); the request's name is no id of the Runtime's.
    if lineup_model::MessageId::new(&id).is_err() {
        let error = JsonError::new(Reason::BadId, "`id` must be 1 to 64 of A-Z a-z 0-9 _ -").at("/id");
        return Err(refused(None, &error));
    }
    let kind: String = fields.required("type").map_err(|error| refused(Some(&id), &error))?;
    if types.contains(&kind.as_str()) {
        return Ok(Request { id, kind, fields });
    }
    let (reason, message) = if ELSEWHERE.contains(&kind.as_str()) || kind.starts_with("lineup.v1.") {
        ("wrong_entry", "this entry does not take frames of this type")
    } else {
        ("unknown_type", "there are no frames of this type")
    };
    let fault = Fault::new(ErrorCode::EnvelopeInvalid, message).because(reason).at("/type");
    Err(Refused { id: Some(id), fault })
}

fn refused(id: Option<&str>, error: &JsonError) -> Refused {
    Refused { id: id.map(str::to_owned), fault: fault(error) }
}

/// The fault of a frame that cannot be read.
pub(crate) fn fault(error: &JsonError) -> Fault {
    let code = if error.reason == Reason::TooLarge { ErrorCode::PayloadTooLarge } else { ErrorCode::EnvelopeInvalid };
    let fault = Fault::new(code, error.message.clone());
    let fault = if code == ErrorCode::EnvelopeInvalid { fault.because(error.reason.as_str()) } else { fault };
    if error.pointer.is_empty() { fault } else { fault.at(error.pointer.clone()) }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Down<'a> {
    Ok {
        id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<&'a Value>,
    },
    Error {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        #[serde(flatten)]
        fault: &'a Fault,
    },
    View {
        seq: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        host: Option<&'a HostView>,
        #[serde(skip_serializing_if = "Option::is_none")]
        surfaces: Option<&'a [SurfaceView]>,
    },
}

/// The answer to a request.
pub(crate) fn answer(id: &str, result: &Result<Option<Value>, Fault>) -> String {
    match result {
        Ok(value) => write(&Down::Ok { id, value: value.as_ref() }),
        Err(fault) => write(&Down::Error { id: Some(id), fault }),
    }
}

/// The answer to a frame that could not be read.
pub(crate) fn refusal(refused: &Refused) -> String {
    write(&Down::Error { id: refused.id.as_deref(), fault: &refused.fault })
}

/// All that a Host session should show, as far as the Runtime has said it.
pub(crate) fn view(seq: u64, host: Option<&HostView>, surfaces: Option<&[SurfaceView]>) -> String {
    write(&Down::View { seq, host, surfaces })
}

fn write(frame: &Down<'_>) -> String {
    serde_json::to_string(frame).expect("frames hold string keys and plain values only")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(text: &str) -> String {
        let fault = decode(text.as_bytes(), &["visible"]).unwrap_err().fault;
        fault.reason.unwrap_or_else(|| fault.code.to_string())
    }

    #[test]
    fn hostile_frames_are_refused_with_their_reason() {
        for (frame, reason) in [
            (r#"{"type":"visible","id":"1"} x"#, "bad_json"),
            (r#"[]"#, "bad_envelope"),
            (r#""#, "bad_envelope"),
            (r#"{"type":"visible","id":"1","id":"2"}"#, "duplicate_key"),
            (r#"{"type":"visible"}"#, "bad_envelope"),
            (r#"{"type":"visible","id":1}"#, "bad_envelope"),
            (r#"{"type":"visible","id":""}"#, "bad_id"),
            (r#"{"type":"visible","id":"a b"}"#, "bad_id"),
            (r#"{"id":"1"}"#, "bad_envelope"),
            (r#"{"type":"dance","id":"1"}"#, "unknown_type"),
            (r#"{"type":"act","id":"1"}"#, "wrong_entry"),
            (r#"{"type":"lineup.v1.tool.invoke","id":"1"}"#, "wrong_entry"),
        ] {
            assert_eq!(reason_of(frame), reason, "{frame}");
        }
    }

    #[test]
    fn h14_a_frame_over_the_limit_is_payload_too_large() {
        let frame = format!(r#"{{"type":"visible","id":"1","x":"{}"}}"#, "x".repeat(limits::ENVELOPE_BYTES));
        assert_eq!(reason_of(&frame), "payload_too_large");
    }

    #[test]
    fn answers_are_written_as_documented() {
        assert_eq!(answer("1", &Ok(None)), r#"{"type":"ok","id":"1"}"#);
        let fault = Fault::new(ErrorCode::LifecycleDenied, "no");
        assert_eq!(answer("1", &Err(fault)), r#"{"type":"error","id":"1","code":"lifecycle_denied","message":"no"}"#);
        assert_eq!(view(3, None, Some(&[])), r#"{"type":"view","seq":3,"surfaces":[]}"#);
    }
}
