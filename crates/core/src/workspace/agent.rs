//! The agents' entry (contract section 4).

use std::sync::Arc;

use lineup_model::{
    AgentId, CallId, CallKey, ConversationId, Digest, ErrorCode, Revision, ToolId, Wall,
    descriptor::{BuiltIn, Executor, Readiness},
    message::{AgentBody, End, Fault},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    Workspace,
    change_set::{EntryChange, EntryKey},
    decision::{Answer, Decided, Decision, Rejected},
    draft::Draft,
    facts::{Facts, FinishedCall, Known},
    input::{AgentInput, AgentRequest},
};
use crate::{
    Seq,
    call::{Address, Call, CallFacts, CallState},
    inbox::{InboxItem, InboxRow},
    instance::InstanceState,
    journal::{Happened, Origin, Source},
    registry,
};

/// What makes a repeat a repeat (CALL-3).
#[derive(Serialize)]
struct Content<'a> {
    tool: &'a ToolId,
    contract_version: u32,
    input: &'a Value,
}

impl Workspace {
    pub(super) fn decide_agent(&self, asked: &AgentInput, facts: Facts<'_>) -> Decided {
        let origin = Origin::new(Source::AgentTool, asked.agent.as_str());
        let about = |mut rejected: Box<Rejected>, call_id: &CallId| {
            rejected.call_id = Some(call_id.clone());
            rejected
        };
        let Some(conversation) = self.conversations.get(&asked.conversation) else {
            let rejected =
                Rejected::new(origin, ErrorCode::ConversationNotFound, "this conversation does not exist here");
            return Err(match &asked.request {
                AgentRequest::Invoke { call_id, .. }
                | AgentRequest::Status { call_id }
                | AgentRequest::Cancel { call_id } => about(rejected, call_id),
                AgentRequest::Hello | AgentRequest::Text { .. } => rejected,
            });
        };
        if !conversation.agents.contains(&asked.agent) {
            let rejected = Rejected::new(
                origin,
                ErrorCode::AgentUnauthorized,
                "this agent is not in this conversation; its owner can add it",
            );
            return Err(match &asked.request {
                AgentRequest::Invoke { call_id, .. }
                | AgentRequest::Status { call_id }
                | AgentRequest::Cancel { call_id } => about(rejected, call_id),
                AgentRequest::Hello | AgentRequest::Text { .. } => rejected,
            });
        }
        let address = |call_id: &CallId| Address {
            conversation: asked.conversation.clone(),
            agent: asked.agent.clone(),
            call_id: call_id.clone(),
        };
        match &asked.request {
            AgentRequest::Hello => Ok(self.hello(&asked.agent, &asked.conversation, facts, origin)),
            AgentRequest::Invoke { call_id, tool, input, revision, expires_at } => self
                .invoke(address(call_id), tool, input, revision, *expires_at, facts, origin)
                .map_err(|rejected| about(rejected, call_id)),
            AgentRequest::Status { call_id } => {
                self.status(&address(call_id), facts, origin).map_err(|rejected| about(rejected, call_id))
            }
            AgentRequest::Cancel { call_id } => {
                self.cancel(&address(call_id), facts, origin).map_err(|rejected| about(rejected, call_id))
            }
            AgentRequest::Text { text } => Ok(self.agent_text(asked, text, facts, origin)),
        }
    }

    /// Joining is a read: the inventory and the latest word on each open call are sent once more.
    /// Only an inventory that was never published, or has changed, is published (INV-7).
    fn hello(&self, agent: &AgentId, conversation: &ConversationId, facts: Facts<'_>, origin: Origin) -> Decision {
        let mut draft = Draft::new(self, facts.now, origin);
        let key = (agent.clone(), conversation.clone());
        if let (Some(inventory), Some(publication)) = (self.inventories.get(&key), self.publications.get(&key))
            && inventory.revision == publication.revision
        {
            let pending = self.outbox.values().find(|row| {
                row.recipient == *agent
                    && row.message.conversation == *conversation
                    && matches!(&row.message.body, AgentBody::Inventory { .. })
            });
            // One that is still in the outbox is on its way by itself.
            if pending.is_none() {
                let body = AgentBody::Inventory { sequence: publication.sequence, inventory: inventory.clone() };
                let message = lineup_model::message::AgentMessage {
                    id: inventory_message(conversation, publication.sequence),
                    conversation: conversation.clone(),
                    body,
                };
                draft.resend(agent.clone(), Arc::new(message));
            }
        } else {
            draft.publish(agent, conversation);
        }
        let open: Vec<_> = self
            .calls
            .values()
            .filter(|call| call.facts.address.agent == *agent && call.facts.address.conversation == *conversation)
            .filter_map(|call| call.latest.clone())
            .collect();
        for latest in open {
            draft.resend(agent.clone(), latest);
        }
        draft.done()
    }

    #[expect(clippy::too_many_arguments, reason = "these are the fields of one request, taken apart once")]
    fn invoke(
        &self,
        address: Address,
        tool: &ToolId,
        input: &Arc<Value>,
        revision: &Revision,
        expires_at: Option<Wall>,
        facts: Facts<'_>,
        origin: Origin,
    ) -> Decided {
        // (2) A known id is answered from the record, whatever the revision is now.
        let content_under = |contract_version| Digest::of(&Content { tool, contract_version, input: input.as_ref() });
        if let Some(seq) = self.addresses.get(&address) {
            let call = self.calls.get(seq).expect("the index of addresses follows the calls");
            if call.facts.content != content_under(call.facts.contract_version) {
                return Err(conflict(origin));
            }
            return Ok(again(call));
        }
        if let Some(known) = facts.fetched.entries.get(&EntryKey::Call(address.clone())) {
            let Known::Call(finished) = known else {
                return Err(Rejected::new(origin, ErrorCode::Internal, "the entry of this call is not a call's"));
            };
            if finished.facts.content != content_under(finished.facts.contract_version) {
                return Err(conflict(origin));
            }
            return finished_again(finished, origin);
        }

        // (3) A new id: revision, visibility, input.
        let key = (address.agent.clone(), address.conversation.clone());
        let inventory = self.inventories.get(&key).expect("every agent of a conversation has an inventory");
        if inventory.revision != *revision {
            let mut rejected = Rejected::new(
                origin,
                ErrorCode::InventoryRevisionMismatch,
                "the inventory has changed; choose again from the current one",
            );
            rejected.current_revision = Some(inventory.revision.clone());
            return Err(rejected);
        }
        if inventory.tools.binary_search_by(|advertised| advertised.id.cmp(tool)).is_err() {
            return Err(Rejected::new(
                origin,
                ErrorCode::ToolNotAdvertised,
                "this tool is not in the agent's inventory",
            ));
        }
        let compiled = self
            .apps
            .get(&tool.app_scope())
            .and_then(|app| app.tools.get(tool))
            .and_then(|digest| self.compiled.get(digest))
            .expect("an advertised tool is installed and compiled");
        let descriptor = &compiled.descriptor;
        if let Err(violation) = compiled.input.check(input) {
            let fault = Fault::new(ErrorCode::ToolInputInvalid, violation.message)
                .because("schema_violation")
                .at(violation.pointer);
            return Err(Rejected::of(origin, fault));
        }
        let now = facts.now;
        let expires = match expires_at {
            None => None,
            Some(at) if at <= now.wall => {
                return Err(Rejected::new(origin, ErrorCode::CallExpired, "`expires_at` has passed already"));
            }
            // A point in the agent's time becomes a length here, and counts as one (OP-4).
            Some(at) => Some(now.effective.plus(at.0.abs_diff(now.wall.0))),
        };
        if self.calls.size() >= lineup_model::limits::WAITING_PER_WORKSPACE {
            return Err(Rejected::of(
                origin,
                Fault::new(ErrorCode::RateLimited, "too many calls are open; wait for some to end")
                    .because("queue_full"),
            ));
        }

        // (4) to (6)
        let mut draft = Draft::new(self, now, origin);
        let seq = draft.next_seq();
        let call = Call {
            facts: Arc::new(CallFacts {
                key: seq.call_key(),
                content: content_under(descriptor.contract_version),
                address,
                tool: tool.clone(),
                contract_version: descriptor.contract_version,
                descriptor: compiled.digest.clone(),
                revision: revision.clone(),
                app_scope: descriptor.app_scope.clone(),
                input: input.clone(),
                accepted: now,
                expires,
            }),
            last: Seq(0),
            state: CallState::WaitingForTurn,
            instance: None,
            caused_activation: false,
            receipts: 0,
            latest: None,
            attempts: 0,
            steps: std::collections::BTreeMap::new(),
            staged: None,
        };
        let key = match (&descriptor.readiness, &descriptor.executor) {
            (Readiness::ActivationNotRequired, Executor::Runtime { action: BuiltIn::DeadlineInterrupt }) => {
                let key = draft.accept(call, None);
                let result = draft.interrupt(&key);
                draft.end_call(&key, End::Completed { result }, None);
                draft.settle();
                key
            }
            _ => draft.route_new(call)?,
        };
        Ok(draft.answered(Answer::Call(key)))
    }

    fn status(&self, address: &Address, facts: Facts<'_>, origin: Origin) -> Decided {
        if let Some(seq) = self.addresses.get(address) {
            return Ok(again(self.calls.get(seq).expect("the index of addresses follows the calls")));
        }
        match facts.fetched.entries.get(&EntryKey::Call(address.clone())) {
            Some(Known::Call(finished)) => finished_again(finished, origin),
            Some(Known::Taken) | None => Err(no_such_call(origin)),
        }
    }

    fn cancel(&self, address: &Address, facts: Facts<'_>, origin: Origin) -> Decided {
        let Some(seq) = self.addresses.get(address) else {
            return match facts.fetched.entries.get(&EntryKey::Call(address.clone())) {
                // A cancellation that crossed the outcome: the outcome is the answer.
                Some(Known::Call(finished)) => finished_again(finished, origin),
                Some(Known::Taken) | None => Err(no_such_call(origin)),
            };
        };
        let call = self.calls.get(seq).expect("the index of addresses follows the calls");
        let mut draft = Draft::new(self, facts.now, origin.clone());
        if !draft.compiled(call).descriptor.terminal.agent_may_cancel {
            return Err(Rejected::new(
                origin,
                ErrorCode::CallNotCancellable,
                "this tool does not let an agent cancel its calls",
            ));
        }
        let key = call.key().clone();
        let error = Fault::new(ErrorCode::ToolFailed, "the agent cancelled the call").because("cancelled_by_agent");
        draft.finish(&key, End::Cancelled { error });
        draft.settle();
        Ok(draft.answered(Answer::Call(key)))
    }

    /// A text of an agent's becomes a message for the conversation's Interact (DUR-3).
    fn agent_text(&self, asked: &AgentInput, text: &str, facts: Facts<'_>, origin: Origin) -> Decision {
        let entry = EntryKey::Text { agent: asked.agent.clone(), message: asked.message.clone() };
        let mut draft = Draft::new(self, facts.now, origin);
        if facts.fetched.entries.contains_key(&entry) {
            return draft.done();
        }
        let instance = draft.instance_of(&asked.conversation, &registry::interact()).unwrap_or_else(|| {
            draft.open_instance(&asked.conversation, &registry::interact(), InstanceState::Background)
        });
        let detail = serde_json::json!({ "entry": entry, "text": text });
        let seq = draft.tell(&asked.conversation, Happened::InboxReceived, asked.message.as_str(), detail);
        draft.change(|set| set.entries.push(EntryChange::Taken { key: entry, seq }));
        draft.put_inbox(InboxRow {
            seq,
            app_scope: instance.app_scope.clone(),
            conversation: asked.conversation.clone(),
            instance: instance.id.clone(),
            received: facts.now,
            item: InboxItem::Text { from: asked.agent.clone(), message: asked.message.clone(), text: text.to_owned() },
            attempts: 0,
            parked: false,
        });
        draft.done()
    }
}

/// The answer to a repeat of an open call: its latest receipt, once more (CALL-3).
fn again(call: &Arc<Call>) -> Decision {
    let resend = call.latest.iter().map(|message| crate::journal::Addressed {
        recipient: call.facts.address.agent.clone(),
        message: message.clone(),
    });
    Decision { answer: Answer::Call(call.key().clone()), resend: resend.collect(), ..Decision::default() }
}

/// The answer to a repeat of a finished call: its outcome, once more (CALL-3, CALL-13).
fn finished_again(finished: &FinishedCall, origin: Origin) -> Decided {
    let Some(outcome) = &finished.outcome else {
        return Err(Rejected::of(
            origin,
            Fault::new(ErrorCode::CallAlreadyFinal, "the call ended; its outcome is no longer kept")
                .because("call_retired"),
        ));
    };
    let recipient = finished.facts.address.agent.clone();
    let key: CallKey = finished.facts.key.clone();
    Ok(Decision {
        answer: Answer::Call(key),
        resend: vec![crate::journal::Addressed { recipient, message: outcome.clone() }],
        ..Decision::default()
    })
}

fn conflict(origin: Origin) -> Box<Rejected> {
    Rejected::new(origin, ErrorCode::CallIdConflict, "this call id is in use for another content; use a new one")
}

fn no_such_call(origin: Origin) -> Box<Rejected> {
    Rejected::new(origin, ErrorCode::CallNotFound, "this agent made no such call in this conversation")
}

/// The id of an inventory that is sent again: it names the publication, not a journal row. The
/// sequence counts per conversation, and an agent may be in several: both are in the id.
fn inventory_message(conversation: &ConversationId, sequence: u64) -> lineup_model::MessageId {
    let room = Digest::of_bytes(conversation.as_str().as_bytes()).to_string();
    lineup_model::MessageId::new(format!("inventory-{}-{sequence}", &room[..16]))
        .expect("letters, digits and dashes are an id")
}
