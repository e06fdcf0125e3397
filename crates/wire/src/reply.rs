//! What the Runtime tells an agent: written by the Runtime, read by the agent's side.

use lineup_model::{
    ConversationId, Inventory, MessageId,
    json::{self, Fields},
    limits,
    message::{AgentBody, AgentMessage, End, Fault, Outcome, Progress, Receipt, Refusal},
};
use serde_json::{Map, Value};

use crate::{
    Kind,
    malformed::{Reason, Wrong},
    request, shape,
};

/// One envelope from the Runtime, as the agent's side sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// A durable message; it comes again until it is acknowledged.
    Message(AgentMessage),
    /// A request was refused before acceptance. It settles no call (CALL-7).
    Refused {
        /// The envelope's id.
        id: MessageId,
        /// Where it belongs.
        conversation: ConversationId,
        /// Which request, and why.
        refusal: Refusal,
    },
    /// A type that this version does not know: acknowledge it and go on.
    Unknown {
        /// Its type, cut to 64 bytes.
        type_name: String,
    },
}

/// Why bytes are not a reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reply cannot be read: {}", fault.message)]
pub struct ReplyError {
    /// The stable word.
    pub reason: Reason,
    /// What is wrong and where.
    pub fault: Fault,
}

/// Writes a durable message. The same message gives the same bytes (CALL-3, DUR-2).
#[must_use]
pub fn encode(message: &AgentMessage) -> Vec<u8> {
    shape::write_message(message)
}

/// Writes a refusal (CALL-7): `final` is false, and it names the request that it answers.
#[must_use]
pub fn encode_refusal(id: &MessageId, conversation: &ConversationId, refusal: &Refusal) -> Vec<u8> {
    shape::write_refusal(id, conversation, refusal)
}

/// Reads a reply: strictly, but for types that this version does not know.
///
/// # Errors
/// When the bytes are not an envelope, or a known type is malformed.
pub fn decode_reply(bytes: &[u8]) -> Result<Reply, ReplyError> {
    json::decode_object(bytes, limits::ENVELOPE_BYTES)
        .map_err(Wrong::from)
        .and_then(read)
        .map_err(|Wrong { reason, fault }| ReplyError { reason, fault })
}

fn read(envelope: Map<String, Value>) -> Result<Reply, Wrong> {
    let mut fields = Fields::of(envelope);
    let type_name: String = fields.required("type")?;
    let Some(kind) = Kind::parse(&type_name) else {
        return Ok(Reply::Unknown { type_name: shortened(type_name) });
    };
    let id: MessageId = fields.id("id")?;
    let conversation: ConversationId = fields.id("conversation_id")?;
    let body = match kind {
        Kind::ClientInventory => inventory(&mut fields)?,
        Kind::MiniappToolProgress => AgentBody::Receipt(receipt(&mut fields)?),
        Kind::MiniappToolResult if fields.required("final")? => AgentBody::Outcome(outcome(&mut fields)?),
        Kind::MiniappToolResult => {
            let refusal = refusal(&mut fields)?;
            fields.finish()?;
            return Ok(Reply::Refused { id, conversation, refusal });
        }
        Kind::MiniappToolCancel => AgentBody::Outcome(cancelled(&mut fields)?),
        Kind::MessageText => AgentBody::Text { text: request::text(&mut fields)? },
        Kind::AgentHello | Kind::ToolInvoke | Kind::ToolStatus | Kind::ToolCancel => {
            let message = "this is a request, not a reply";
            return Err(Wrong::envelope(Reason::WrongEntry, "/type", message));
        }
    };
    fields.finish()?;
    Ok(Reply::Message(AgentMessage { id, conversation, body }))
}

fn shortened(mut text: String) -> String {
    let mut end = text.len().min(json::ECHO_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

fn inventory(fields: &mut Fields) -> Result<AgentBody, Wrong> {
    let sequence = fields.required("sequence")?;
    let revision = request::revision(fields, "revision")?;
    let tools: Vec<Value> = fields.required("tools")?;
    // Serde would read a tool from an array as well.
    let tools = tools
        .into_iter()
        .map(|tool| if tool.is_object() { serde_json::from_value(tool).ok() } else { None })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| fields.wrong("tools", "expected a list of tools"))?;
    Ok(AgentBody::Inventory { sequence, inventory: Inventory { revision, tools }.into() })
}

fn receipt(fields: &mut Fields) -> Result<Receipt, Wrong> {
    Ok(Receipt {
        call_id: fields.id("call_id")?,
        seq: fields.required("seq")?,
        stage: fields.required("stage")?,
        app_scope: fields.id("app_scope")?,
        reason: fields.optional("reason")?,
        progress: fields.optional_object("progress")?.map(progress).transpose()?,
    })
}

fn progress(mut fields: Fields) -> Result<Progress, Wrong> {
    let label = fields.required("label")?;
    let detail = if fields.has("detail") { Some(fields.value("detail")?) } else { None };
    fields.finish()?;
    Ok(Progress { label, detail })
}

fn outcome(fields: &mut Fields) -> Result<Outcome, Wrong> {
    let call_id = fields.id("call_id")?;
    let status: String = fields.required("status")?;
    let end = match status.as_str() {
        "completed" => End::Completed { result: fields.value("result")? },
        "failed" => End::Failed { error: fault(fields)? },
        "expired" => End::Expired { error: fault(fields)? },
        "rejected" => End::Rejected { error: fault(fields)? },
        _ => {
            let allowed = "expected completed, failed, expired or rejected";
            return Err(fields.wrong("status", allowed).into());
        }
    };
    Ok(Outcome { call_id, end })
}

fn cancelled(fields: &mut Fields) -> Result<Outcome, Wrong> {
    let call_id = fields.id("call_id")?;
    expect(fields, "status", "cancelled")?;
    if !fields.required::<bool>("final")? {
        return Err(fields.wrong("final", "a cancellation is final").into());
    }
    Ok(Outcome { call_id, end: End::Cancelled { error: fault(fields)? } })
}

fn refusal(fields: &mut Fields) -> Result<Refusal, Wrong> {
    expect(fields, "status", "rejected")?;
    let current_revision =
        if fields.has("current_revision") { Some(request::revision(fields, "current_revision")?) } else { None };
    Ok(Refusal {
        in_reply_to: fields.id("in_reply_to")?,
        call_id: fields.optional_id("call_id")?,
        error: fault(fields)?,
        current_revision,
    })
}

fn expect(fields: &mut Fields, name: &'static str, word: &str) -> Result<(), Wrong> {
    if fields.required::<String>(name)? == word {
        Ok(())
    } else {
        Err(fields.wrong(name, &format!("expected {word}")).into())
    }
}

fn fault(fields: &mut Fields) -> Result<Fault, Wrong> {
    Ok(Fault {
        code: fields.required("code")?,
        reason: fields.optional("reason")?,
        message: fields.required("message")?,
        pointer: fields.optional("pointer")?,
    })
}
