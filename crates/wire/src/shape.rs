//! The envelopes as they are written, field by field. One definition gives the bytes and the JSON
//! Schema that other languages read.

use std::collections::BTreeMap;

use lineup_model::{
    AppScope, CallId, ConversationId, ErrorCode, MessageId, Revision, ToolId, Wall,
    inventory::AdvertisedTool,
    json,
    message::{AgentBody, AgentMessage, End, Fault, Progress, Receipt, Refusal, Stage},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, transform::transform_subschemas};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Kind, Request, RequestBody};

/// The JSON Schema (draft 2020-12) of every envelope, by type, with the two forms of
/// `miniapp.tool.result` in one. They describe shapes; limits on size and depth stand in `docs/wire.md`.
#[must_use]
pub fn schemas() -> BTreeMap<&'static str, Value> {
    Kind::ALL.iter().map(|kind| (kind.as_str(), described(*kind))).collect()
}

fn described(kind: Kind) -> Value {
    let mut schema = schema_of(kind);
    never_null(&mut schema);
    schema.to_value()
}

fn schema_of(kind: Kind) -> Schema {
    match kind {
        Kind::AgentHello => schemars::schema_for!(AgentHello<'_>),
        Kind::ToolInvoke => schemars::schema_for!(ToolInvoke<'_>),
        Kind::ToolStatus => schemars::schema_for!(ToolStatus<'_>),
        Kind::ToolCancel => schemars::schema_for!(ToolCancel<'_>),
        Kind::MessageText => schemars::schema_for!(MessageText<'_>),
        Kind::ClientInventory => schemars::schema_for!(ClientInventory<'_>),
        Kind::MiniappToolProgress => schemars::schema_for!(ToolProgress<'_>),
        Kind::MiniappToolResult => schemars::schema_for!(ToolResult<'_>),
        Kind::MiniappToolCancel => schemars::schema_for!(ToolCancelled<'_>),
    }
}

macro_rules! head {
    ($($(#[$doc:meta])* struct $name:ident as $kind:literal { $($(#[$attr:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Serialize, JsonSchema)]
        #[schemars(deny_unknown_fields)]
        struct $name<'a> {
            /// The type of the envelope.
            #[schemars(with = "String", extend("const" = $kind))]
            r#type: Kind,
            /// The envelope's id; the same when it is sent again.
            #[schemars(with = "Opaque")]
            id: &'a MessageId,
            /// Where it belongs.
            #[schemars(with = "Opaque")]
            conversation_id: &'a ConversationId,
            $($(#[$attr])* $field: $type,)*
        }
    )*};
}

head! {
    /// The agent joins a conversation; answered by the inventory and where open calls stand.
    struct AgentHello as "lineup.v1.agent.hello" {}

    /// Call a tool.
    struct ToolInvoke as "lineup.v1.tool.invoke" {
        /// The agent's id of the call; unique per conversation and agent.
        #[schemars(with = "Opaque")]
        call_id: &'a CallId,
        /// The tool, as the inventory names it.
        #[schemars(with = "Tool")]
        tool: &'a ToolId,
        /// The input, held to the tool's input schema.
        input: &'a Map<String, Value>,
        /// The revision of the inventory that the tool was chosen from.
        #[schemars(with = "Hex")]
        inventory_revision: &'a Revision,
        /// When the call is of no more use: milliseconds since 1970 (UTC).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Millis>")]
        expires_at: Option<Wall>,
    }

    /// Say again where a call stands. Changes nothing.
    struct ToolStatus as "lineup.v1.tool.status" {
        /// The call.
        #[schemars(with = "Opaque")]
        call_id: &'a CallId,
    }

    /// End a call, if its tool allows it.
    struct ToolCancel as "lineup.v1.tool.cancel" {
        /// The call.
        #[schemars(with = "Opaque")]
        call_id: &'a CallId,
    }

    /// A text in the conversation, either way.
    struct MessageText as "lineup.v1.message.text" {
        /// The text: at most 16 KiB of UTF-8.
        #[schemars(length(min = 1))]
        text: &'a str,
    }

    /// The tools of the conversation. Adopt it only if the sequence is higher than the one you have.
    struct ClientInventory as "lineup.v1.client.inventory" {
        /// Grows with each publication.
        sequence: u64,
        /// The digest of the tools; goes into each call.
        #[schemars(with = "Hex")]
        revision: &'a Revision,
        /// The tools, sorted by id.
        #[schemars(schema_with = "tools")]
        tools: &'a [AdvertisedTool],
    }

    /// A receipt or progress of a call. Never a business result.
    struct ToolProgress as "lineup.v1.miniapp.tool.progress" {
        /// The call.
        #[schemars(with = "Opaque")]
        call_id: &'a CallId,
        /// Its place among the call's receipts: 1, 2, 3, …
        seq: u32,
        /// What happened.
        #[schemars(with = "Stage")]
        stage: Stage,
        /// The MiniApp concerned.
        #[schemars(with = "Scope")]
        app_scope: &'a AppScope,
        /// A controlled reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        reason: Option<&'a str>,
        /// The MiniApp's own report, with the stage `app` only.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Report>")]
        progress: Option<&'a Progress>,
    }

    /// The call is over and has its result.
    struct Completed as "lineup.v1.miniapp.tool.result" {
        /// The call.
        #[schemars(with = "Opaque")]
        call_id: &'a CallId,
        /// How it ended.
        #[schemars(extend("const" = "completed"))]
        status: &'static str,
        /// Always true: this is the one outcome of the call.
        #[schemars(extend("const" = true))]
        r#final: bool,
        /// Fits the tool's output schema.
        result: &'a Value,
    }

    /// The call is over without a result.
    struct Ended as "lineup.v1.miniapp.tool.result" {
        /// The call.
        #[schemars(with = "Opaque")]
        call_id: &'a CallId,
        /// How it ended.
        #[schemars(extend("enum" = ["failed", "expired", "rejected"]))]
        status: &'static str,
        /// Always true: this is the one outcome of the call.
        #[schemars(extend("const" = true))]
        r#final: bool,
        #[serde(flatten)]
        error: Error<'a>,
    }

    /// A request was refused before acceptance. It settles no call: fail the request that it names.
    struct Refused as "lineup.v1.miniapp.tool.result" {
        /// Always `rejected`.
        #[schemars(extend("const" = "rejected"))]
        status: &'static str,
        /// Always false.
        #[schemars(extend("const" = false))]
        r#final: bool,
        /// The id of the refused request.
        #[schemars(with = "Opaque")]
        in_reply_to: &'a MessageId,
        /// The call that the request was about.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Opaque>")]
        call_id: Option<&'a CallId>,
        #[serde(flatten)]
        error: Error<'a>,
        /// The current revision, with `inventory_revision_mismatch`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<Hex>")]
        current_revision: Option<&'a Revision>,
    }

    /// The call was cancelled.
    struct ToolCancelled as "lineup.v1.miniapp.tool.cancel" {
        /// The call.
        #[schemars(with = "Opaque")]
        call_id: &'a CallId,
        /// How it ended.
        #[schemars(extend("const" = "cancelled"))]
        status: &'static str,
        /// Always true: this is the one outcome of the call.
        #[schemars(extend("const" = true))]
        r#final: bool,
        #[serde(flatten)]
        error: Error<'a>,
    }
}

/// An outcome other than `cancelled`, or a refusal (`final` tells them apart).
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "joins the three forms for the schema; each is written by itself")]
enum ToolResult<'a> {
    Completed(Completed<'a>),
    Ended(Ended<'a>),
    Refused(Refused<'a>),
}

#[derive(Serialize, JsonSchema)]
struct Error<'a> {
    /// The stable code.
    #[schemars(with = "ErrorCode")]
    code: ErrorCode,
    /// A stable word that narrows the code down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    reason: Option<&'a str>,
    /// What happened and what to do, for people. May change.
    message: &'a str,
    /// Where in the request, as a JSON pointer; with `tool_input_invalid`, where in the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pointer: Option<&'a str>,
}

impl<'a> Error<'a> {
    fn of(fault: &'a Fault) -> Self {
        Self {
            code: fault.code,
            reason: fault.reason.as_deref(),
            message: &fault.message,
            pointer: fault.pointer.as_deref(),
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

pub(crate) fn write_request(request: &Request) -> Vec<u8> {
    let (id, conversation_id) = (&request.id, &request.conversation);
    match &request.body {
        RequestBody::Hello => write(&AgentHello { r#type: Kind::AgentHello, id, conversation_id }),
        RequestBody::Invoke(invoke) => write(&ToolInvoke {
            r#type: Kind::ToolInvoke,
            id,
            conversation_id,
            call_id: &invoke.call_id,
            tool: &invoke.tool,
            input: &invoke.input,
            inventory_revision: &invoke.inventory_revision,
            expires_at: invoke.expires_at,
        }),
        RequestBody::Status { call_id } => {
            write(&ToolStatus { r#type: Kind::ToolStatus, id, conversation_id, call_id })
        }
        RequestBody::Cancel { call_id } => {
            write(&ToolCancel { r#type: Kind::ToolCancel, id, conversation_id, call_id })
        }
        RequestBody::Text { text } => write(&MessageText { r#type: Kind::MessageText, id, conversation_id, text }),
    }
}

pub(crate) fn write_message(message: &AgentMessage) -> Vec<u8> {
    let (id, conversation_id) = (&message.id, &message.conversation);
    match &message.body {
        AgentBody::Receipt(receipt) => write_receipt(id, conversation_id, receipt),
        AgentBody::Outcome(outcome) => write_outcome(id, conversation_id, &outcome.call_id, &outcome.end),
        AgentBody::Inventory { sequence, inventory } => write(&ClientInventory {
            r#type: Kind::ClientInventory,
            id,
            conversation_id,
            sequence: *sequence,
            revision: &inventory.revision,
            tools: &inventory.tools,
        }),
        AgentBody::Text { text } => write(&MessageText { r#type: Kind::MessageText, id, conversation_id, text }),
    }
}

pub(crate) fn write_refusal(id: &MessageId, conversation_id: &ConversationId, refusal: &Refusal) -> Vec<u8> {
    write(&Refused {
        r#type: Kind::MiniappToolResult,
        id,
        conversation_id,
        status: "rejected",
        r#final: false,
        in_reply_to: &refusal.in_reply_to,
        call_id: refusal.call_id.as_ref(),
        error: Error::of(&refusal.error),
        current_revision: refusal.current_revision.as_ref(),
    })
}

fn write_receipt(id: &MessageId, conversation_id: &ConversationId, receipt: &Receipt) -> Vec<u8> {
    write(&ToolProgress {
        r#type: Kind::MiniappToolProgress,
        id,
        conversation_id,
        call_id: &receipt.call_id,
        seq: receipt.seq,
        stage: receipt.stage,
        app_scope: &receipt.app_scope,
        reason: receipt.reason.as_deref(),
        progress: receipt.progress.as_ref(),
    })
}

fn write_outcome(id: &MessageId, conversation_id: &ConversationId, call_id: &CallId, end: &End) -> Vec<u8> {
    let status = end.class().as_str();
    let ended = |error| {
        let error = Error::of(error);
        write(&Ended { r#type: Kind::MiniappToolResult, id, conversation_id, call_id, status, r#final: true, error })
    };
    match end {
        End::Completed { result } => write(&Completed {
            r#type: Kind::MiniappToolResult,
            id,
            conversation_id,
            call_id,
            status,
            r#final: true,
            result,
        }),
        End::Failed { error } | End::Expired { error } | End::Rejected { error } => ended(error),
        End::Cancelled { error } => write(&ToolCancelled {
            r#type: Kind::MiniappToolCancel,
            id,
            conversation_id,
            call_id,
            status,
            r#final: true,
            error: Error::of(error),
        }),
    }
}

fn write(envelope: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(envelope).expect("an envelope holds string keys and finite numbers only")
}

/// An opaque id.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Opaque(
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    #[expect(dead_code, reason = "schema only")]
    String,
);

/// A tool's id.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Tool(
    #[schemars(regex(pattern = r"^[a-z0-9-]{1,32}\.[a-z0-9-]{1,32}$"))]
    #[expect(dead_code, reason = "schema only")]
    String,
);

/// The scope of a MiniApp.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Scope(
    #[schemars(regex(pattern = r"^[a-z0-9-]{1,32}$"))]
    #[expect(dead_code, reason = "schema only")]
    String,
);

/// A digest.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Hex(
    #[schemars(regex(pattern = r"^[0-9a-f]{64}$"))]
    #[expect(dead_code, reason = "schema only")]
    String,
);

/// A point on the wall clock.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Millis(
    #[schemars(range(min = -json::MAX_SAFE_INTEGER, max = json::MAX_SAFE_INTEGER))]
    #[expect(dead_code, reason = "schema only")]
    i64,
);

/// A MiniApp's own report.
#[derive(JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[expect(dead_code, reason = "schema only")]
struct Report {
    /// A short word for where the work stands.
    label: String,
    /// Free detail.
    detail: Option<Value>,
}

/// An absent field is left out and never `null`, which `Option` cannot say.
fn never_null(schema: &mut Schema) {
    transform_subschemas(&mut never_null, schema);
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
}

/// Open to fields that a later version adds: an agent reads what it knows.
fn tools(generator: &mut SchemaGenerator) -> Schema {
    let (tool, scope) = (generator.subschema_for::<Tool>(), generator.subschema_for::<Scope>());
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "id": tool,
                "app_scope": scope,
                "method": scope,
                "contract_version": { "type": "integer", "minimum": 0 },
                "description": { "type": "string" },
                "input_schema": { "type": "object" },
                "output_schema": { "type": "object" },
                "invocation": { "enum": ["query", "command", "interactive", "operation"] },
                "readiness": { "enum": ["app_ready", "foreground_required", "activation_not_required"] },
                "risk": { "enum": ["low", "medium", "high"] },
                "timeout_ms": { "type": "integer", "minimum": 0 },
                "cancellable": { "type": "boolean" }
            },
            "required": [
                "id", "app_scope", "method", "contract_version", "description", "input_schema",
                "output_schema", "invocation", "readiness", "risk", "timeout_ms", "cancellable"
            ]
        }
    })
}
