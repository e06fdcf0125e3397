//! The text of a journal row's body. It says nothing again that the row's columns say.

use std::{borrow::Cow, sync::Arc};

use lineup_core::{
    Seq,
    call::{Address, CallFacts},
    journal::{Addressed, Body, JournalRow},
    workspace::change_set::EntryKey,
};
use lineup_model::{
    AgentId, AppScope, CallId, CallKey, ConversationId, Digest, Effective, Instant, MessageId, Revision, ToolId,
    message::{AgentBody, AgentMessage, OutcomeClass},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A body as it is read.
#[derive(Deserialize)]
pub(super) struct StoredBody {
    #[serde(default)]
    call: Option<StoredFacts<'static>>,
    #[serde(default)]
    messages: Vec<StoredMessage<'static>>,
    #[serde(default)]
    detail: Option<Value>,
    /// The entries that the row took in, other than its call.
    #[serde(default)]
    pub(super) entries: Vec<EntryKey>,
    /// How the call ended, where retention has removed the outcome itself (CALL-13).
    #[serde(default)]
    pub(super) class: Option<OutcomeClass>,
}

#[derive(Serialize)]
struct WrittenBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<StoredFacts<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<StoredMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<&'a EntryKey>,
}

#[derive(Serialize, Deserialize)]
struct StoredFacts<'a> {
    conversation: Cow<'a, ConversationId>,
    agent: Cow<'a, AgentId>,
    call_id: Cow<'a, CallId>,
    tool: Cow<'a, ToolId>,
    version: u32,
    descriptor: Cow<'a, Digest>,
    revision: Cow<'a, Revision>,
    content: Cow<'a, Digest>,
    input: Cow<'a, Arc<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<Effective>,
    /// These three follow from the row and the tool, unless they are here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, CallKey>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    app_scope: Option<Cow<'a, AppScope>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted: Option<Instant>,
}

#[derive(Serialize, Deserialize)]
struct StoredMessage<'a> {
    to: Cow<'a, AgentId>,
    /// Follows from the row and the place in it, unless it is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, MessageId>>,
    conversation: Cow<'a, ConversationId>,
    body: Cow<'a, AgentBody>,
}

/// The text of a row's body.
pub(super) fn write(row: &JournalRow, entries: Vec<&EntryKey>) -> serde_json::Result<String> {
    let JournalRow { seq, at, body: Body { call, messages, detail }, .. } = row;
    let call = call.as_deref().map(|facts| {
        let CallFacts {
            key,
            address,
            tool,
            contract_version,
            descriptor,
            revision,
            content,
            app_scope,
            input,
            accepted,
            expires,
        } = facts;
        StoredFacts {
            conversation: Cow::Borrowed(&address.conversation),
            agent: Cow::Borrowed(&address.agent),
            call_id: Cow::Borrowed(&address.call_id),
            tool: Cow::Borrowed(tool),
            version: *contract_version,
            descriptor: Cow::Borrowed(descriptor),
            revision: Cow::Borrowed(revision),
            content: Cow::Borrowed(content),
            input: Cow::Borrowed(input),
            expires: *expires,
            key: (*key != seq.call_key()).then_some(Cow::Borrowed(key)),
            app_scope: (*app_scope != tool.app_scope()).then_some(Cow::Borrowed(app_scope)),
            accepted: (accepted != at).then_some(*accepted),
        }
    });
    let messages = messages
        .iter()
        .enumerate()
        .map(|(index, Addressed { recipient, message })| StoredMessage {
            to: Cow::Borrowed(recipient),
            id: (message.id != seq.message_id(index)).then_some(Cow::Borrowed(&message.id)),
            conversation: Cow::Borrowed(&message.conversation),
            body: Cow::Borrowed(&message.body),
        })
        .collect();
    serde_json::to_string(&WrittenBody { call, messages, detail: detail.as_ref(), entries })
}

impl StoredBody {
    /// Reads the text of the body of the row at `seq`.
    pub(super) fn read(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The facts of the call that the row accepted.
    pub(super) fn facts(&mut self, seq: Seq, at: Instant) -> Option<Arc<CallFacts>> {
        let StoredFacts {
            conversation,
            agent,
            call_id,
            tool,
            version,
            descriptor,
            revision,
            content,
            input,
            expires,
            key,
            app_scope,
            accepted,
        } = self.call.take()?;
        let tool = tool.into_owned();
        Some(Arc::new(CallFacts {
            key: key.map_or_else(|| seq.call_key(), Cow::into_owned),
            address: Address {
                conversation: conversation.into_owned(),
                agent: agent.into_owned(),
                call_id: call_id.into_owned(),
            },
            app_scope: app_scope.map_or_else(|| tool.app_scope(), Cow::into_owned),
            tool,
            contract_version: version,
            descriptor: descriptor.into_owned(),
            revision: revision.into_owned(),
            content: content.into_owned(),
            input: input.into_owned(),
            accepted: accepted.unwrap_or(at),
            expires,
        }))
    }

    /// The row's messages, in order.
    pub(super) fn messages(&mut self, seq: Seq) -> Vec<Addressed> {
        std::mem::take(&mut self.messages)
            .into_iter()
            .enumerate()
            .map(|(index, StoredMessage { to, id, conversation, body })| Addressed {
                recipient: to.into_owned(),
                message: Arc::new(AgentMessage {
                    id: id.map_or_else(|| seq.message_id(index), Cow::into_owned),
                    conversation: conversation.into_owned(),
                    body: body.into_owned(),
                }),
            })
            .collect()
    }

    /// The whole body, as the journal row had it.
    pub(super) fn body(mut self, seq: Seq, at: Instant) -> Body {
        Body { call: self.facts(seq, at), messages: self.messages(seq), detail: self.detail.take() }
    }
}
