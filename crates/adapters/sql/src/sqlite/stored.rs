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
use serde::{Deserialize, Serialize, de::Error};
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
    /// The row's own, from its column.
    #[serde(skip)]
    conversation: Option<ConversationId>,
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
    /// The row's, unless it is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<Cow<'a, ConversationId>>,
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
    /// The row's, unless it is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<Cow<'a, ConversationId>>,
    body: Cow<'a, AgentBody>,
}

/// The text of a row's body.
pub(super) fn write(row: &JournalRow, entries: Vec<&EntryKey>) -> serde_json::Result<String> {
    let JournalRow { seq, at, conversation, body: Body { call, messages, detail }, .. } = row;
    let elsewhere = |named| (conversation.as_ref() != Some(named)).then_some(Cow::Borrowed(named));
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
            conversation: elsewhere(&address.conversation),
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
            conversation: elsewhere(&message.conversation),
            body: Cow::Borrowed(&message.body),
        })
        .collect();
    serde_json::to_string(&WrittenBody { call, messages, detail: detail.as_ref(), entries })
}

impl StoredBody {
    /// Reads the text of the body of a row with this conversation.
    pub(super) fn read(text: &str, conversation: Option<&str>) -> serde_json::Result<Self> {
        let mut body: Self = serde_json::from_str(text)?;
        body.conversation = conversation.map(ConversationId::new).transpose().map_err(Error::custom)?;
        let named = body.call.as_ref().map(|facts| facts.conversation.is_some());
        let all = body.messages.iter().map(|message| message.conversation.is_some()).chain(named).all(|named| named);
        if all || body.conversation.is_some() { Ok(body) } else { Err(Error::custom("it names no conversation")) }
    }

    /// The conversation that a part of the body belongs to.
    fn belongs(&self, named: Option<Cow<'_, ConversationId>>) -> ConversationId {
        named.map(Cow::into_owned).or_else(|| self.conversation.clone()).expect("`read` has looked for one")
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
                conversation: self.belongs(conversation),
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
                    conversation: self.belongs(conversation),
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
