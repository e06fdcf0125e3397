//! What an agent asks of the Runtime.

use lineup_model::{
    CallId, ConversationId, Digest, ErrorCode, MessageId, Revision, ToolId, Wall, canonical,
    json::{self, Fields},
    limits,
};
use serde_json::{Map, Value};

use crate::{
    Kind, Malformed,
    header::Header,
    kind,
    malformed::{Reason, Wrong},
    shape,
};

/// One request of an agent's. Who sent it is the relay's word and not in here (WIRE-4).
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The envelope's id; the same when it is sent again.
    pub id: MessageId,
    /// Where it belongs.
    pub conversation: ConversationId,
    /// What is asked.
    pub body: RequestBody,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestBody {
    /// The agent joins: it gets the inventory and where its open calls stand.
    Hello,
    /// Call a tool (WIRE-2).
    Invoke(Invoke),
    /// Say again where a call stands; changes nothing.
    Status {
        /// The call.
        call_id: CallId,
    },
    /// End a call, if its tool allows it (CALL-10).
    Cancel {
        /// The call.
        call_id: CallId,
    },
    /// Say something in the conversation.
    Text {
        /// 1 to [`limits::TEXT_BYTES`] bytes.
        text: String,
    },
}

impl RequestBody {
    /// The call that it is about.
    #[must_use]
    pub const fn call_id(&self) -> Option<&CallId> {
        match self {
            Self::Invoke(Invoke { call_id, .. }) | Self::Status { call_id } | Self::Cancel { call_id } => Some(call_id),
            Self::Hello | Self::Text { .. } => None,
        }
    }
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Invoke {
    /// The agent's id of the call; unique per (conversation, agent) (CALL-2).
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolId,
    /// The input: at most [`limits::BODY_BYTES`] as canonical JSON, not yet held to a schema.
    pub input: Map<String, Value>,
    /// The inventory that the agent chose the tool from (INV-8).
    pub inventory_revision: Revision,
    /// When the call is of no more use, on the wall clock; a length from acceptance on (CALL-9).
    pub expires_at: Option<Wall>,
}

/// Reads a request: the one entry for bytes that an agent sent (WIRE-1).
///
/// # Errors
/// [`Malformed`] with everything that is needed to answer it or to count it (WIRE-5).
#[expect(clippy::result_large_err, reason = "a refusal is an ordinary answer and moves once")]
pub fn decode_request(bytes: &[u8]) -> Result<Request, Malformed> {
    let envelope = match json::decode_object(bytes, limits::ENVELOPE_BYTES) {
        Ok(envelope) => envelope,
        Err(error) => {
            let header = Header::salvage(bytes);
            return Err(Wrong::json(error, header.kind()).in_envelope(header));
        }
    };
    let header = Header::of(&envelope);
    read(envelope, &header, bytes.len()).map_err(|wrong| wrong.in_envelope(header))
}

/// Writes a request. The same request gives the same bytes, so a repeat is byte-equal.
#[must_use]
pub fn encode_request(request: &Request) -> Vec<u8> {
    shape::write_request(request)
}

fn read(envelope: Map<String, Value>, header: &Header, size: usize) -> Result<Request, Wrong> {
    let json_rpc = envelope.contains_key("jsonrpc");
    let mut fields = Fields::of(envelope);
    if json_rpc {
        return Err(wrong_entry());
    }
    let type_name: String = fields.required("type")?;
    let kind = match header.kind() {
        Some(kind) if kind.is_request() => kind,
        _ if kind::is_foreign(&type_name) => return Err(wrong_entry()),
        _ => {
            return Err(Wrong::envelope(Reason::UnknownType, "/type", "the type is not one of lineup.v1's requests"));
        }
    };
    let id = fields.id("id")?;
    let conversation = fields.id("conversation_id")?;
    let body = match kind {
        Kind::AgentHello => RequestBody::Hello,
        Kind::ToolInvoke => RequestBody::Invoke(invoke(&mut fields, size)?),
        Kind::ToolStatus => RequestBody::Status { call_id: fields.id("call_id")? },
        Kind::ToolCancel => RequestBody::Cancel { call_id: fields.id("call_id")? },
        Kind::MessageText => RequestBody::Text { text: text(&mut fields)? },
        Kind::ClientInventory | Kind::MiniappToolProgress | Kind::MiniappToolResult | Kind::MiniappToolCancel => {
            return Err(wrong_entry());
        }
    };
    fields.finish()?;
    Ok(Request { id, conversation, body })
}

fn wrong_entry() -> Wrong {
    Wrong::envelope(Reason::WrongEntry, "/type", "this is not an agent's request")
}

fn invoke(fields: &mut Fields, size: usize) -> Result<Invoke, Wrong> {
    let call_id = fields.id("call_id")?;
    let tool: String = fields.required("tool")?;
    let tool = ToolId::new(&tool).map_err(|_| {
        let message = "no inventory holds a tool of this name";
        Wrong::coded(ErrorCode::ToolNotAdvertised, Reason::UnknownTool, "/tool", message)
    })?;
    let Value::Object(input) = fields.value("input")? else {
        return Err(fields.wrong("input", "expected an object").into());
    };
    check_size(&input, size)?;
    let inventory_revision = revision(fields, "inventory_revision")?;
    let expires_at = fields.optional("expires_at")?.map(Wall);
    Ok(Invoke { call_id, tool, input, inventory_revision, expires_at })
}

/// A revision: of all strings only a well-formed digest (case H38).
pub(crate) fn revision(fields: &mut Fields, name: &'static str) -> Result<Revision, Wrong> {
    let text: String = fields.required(name)?;
    Digest::parse(&text)
        .map(Revision)
        .ok_or_else(|| fields.wrong(name, "expected 64 lower-case hexadecimal digits").into())
}

/// Canonical JSON is at most six times as long as the JSON that it was read from (`1e20` is written
/// out), so small envelopes need not be written to be measured.
fn check_size(input: &Map<String, Value>, envelope: usize) -> Result<(), Wrong> {
    if envelope > limits::BODY_BYTES / 6 && canonical::to_string(input).len() > limits::BODY_BYTES {
        return Err(Wrong::too_large("/input", "the input", limits::BODY_BYTES));
    }
    Ok(())
}

/// The text of a `message.text`, either way.
pub(crate) fn text(fields: &mut Fields) -> Result<String, Wrong> {
    let text: String = fields.required("text")?;
    if text.is_empty() {
        return Err(fields.wrong("text", "must not be empty").into());
    }
    if text.len() > limits::TEXT_BYTES {
        return Err(Wrong::too_large("/text", "the text", limits::TEXT_BYTES));
    }
    Ok(text)
}
