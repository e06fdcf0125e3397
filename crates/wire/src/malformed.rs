//! Why bytes on the agent entry are not a request.

use lineup_model::{CallId, ConversationId, ErrorCode, MessageId, json, message::Fault};

use crate::{Kind, header::Header};

/// The stable word behind `envelope_invalid` and its relatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The bytes are not JSON that LineUp accepts, or the fields are not those of the type.
    Json(json::Reason),
    /// A type that belongs to another entry (ENT-1).
    WrongEntry,
    /// A type that this version does not know.
    UnknownType,
    /// A tool that cannot exist under any inventory.
    UnknownTool,
}

impl Reason {
    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json(reason) => reason.as_str(),
            Self::WrongEntry => "wrong_entry",
            Self::UnknownType => "unknown_type",
            Self::UnknownTool => "unknown_tool",
        }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Bytes that are not a request, with what is needed to answer or to count them.
///
/// Answer with a refusal only if [`Malformed::is_request`] holds and both `in_reply_to` and
/// `conversation` are readable; drop and count everything else (WIRE-5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", fault.message)]
pub struct Malformed {
    /// Why.
    pub reason: Reason,
    /// The envelope's id, if it is readable.
    pub in_reply_to: Option<MessageId>,
    /// The conversation, if it is readable.
    pub conversation: Option<ConversationId>,
    /// The call that it is about, if it is readable.
    pub call_id: Option<CallId>,
    /// Whether its type is a request's.
    pub is_request: bool,
    /// What the answer says. Quotes at most 64 bytes of the input.
    pub fault: Fault,
}

/// One thing that is wrong, before it is known whose envelope it is in.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub reason: Reason,
    pub fault: Fault,
}

impl Wrong {
    /// Something wrong with the envelope at `pointer`.
    pub fn envelope(reason: Reason, pointer: &str, message: impl Into<String>) -> Self {
        Self::coded(ErrorCode::EnvelopeInvalid, reason, pointer, message)
    }

    /// Something that is too large.
    pub fn too_large(pointer: &str, what: &str, limit: usize) -> Self {
        Self::coded(
            ErrorCode::PayloadTooLarge,
            Reason::Json(json::Reason::TooLarge),
            pointer,
            format!("{what} is over the limit of {limit} bytes"),
        )
    }

    /// Something wrong, under this code.
    pub fn coded(code: ErrorCode, reason: Reason, pointer: &str, message: impl Into<String>) -> Self {
        let mut fault = Fault::new(code, message).because(reason.as_str());
        if !pointer.is_empty() {
            fault = fault.at(pointer);
        }
        Self { reason, fault }
    }

    /// What the strict decoder refused in an envelope of this type. Inside a tool's input it is the
    /// input that is invalid, and the pointer starts there.
    pub fn json(error: json::JsonError, kind: Option<Kind>) -> Self {
        let inside =
            error.pointer.strip_prefix("/input").filter(|rest| kind == Some(Kind::ToolInvoke) && rest.starts_with('/'));
        let (code, pointer) = match (error.reason, inside) {
            (json::Reason::TooLarge, _) => (ErrorCode::PayloadTooLarge, error.pointer.as_str()),
            (_, Some(rest)) => (ErrorCode::ToolInputInvalid, rest),
            (_, None) => (ErrorCode::EnvelopeInvalid, error.pointer.as_str()),
        };
        Self::coded(code, Reason::Json(error.reason), pointer, error.message)
    }

    /// The same, about the envelope with this header.
    pub fn in_envelope(self, header: Header) -> Malformed {
        Malformed {
            reason: self.reason,
            is_request: header.kind().is_some_and(Kind::is_request),
            in_reply_to: header.id,
            conversation: header.conversation,
            call_id: header.call_id,
            fault: self.fault,
        }
    }
}

/// What is wrong with a field; never inside a tool's input, which is not read field by field.
impl From<json::JsonError> for Wrong {
    fn from(error: json::JsonError) -> Self {
        Self::json(error, None)
    }
}
