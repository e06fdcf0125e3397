//! The relay: it keeps what is not acknowledged, forwards what it has taken, and knows nothing.

use std::collections::BTreeMap;

use lineup_core::{
    Input,
    journal::Addressed,
    workspace::input::{AgentInput, AgentRequest, TransportReport},
};
use lineup_model::{AgentId, MessageId, message::Refusal};
use lineup_wire::{RequestBody, decode_request};
use rand::Rng;

use super::{Happening, World, runtime::Waiter};
use crate::{plan::Fault, zoo::Mutant};

/// How long the relay waits for an acknowledgement before it delivers again.
const AGAIN: u64 = 5_000;

/// The relay between agents and the Runtime.
#[derive(Debug, Default)]
pub(super) struct Relay {
    /// Counts the connections of the Runtime's; `None` while there is none.
    connection: Option<u64>,
    connections: u64,
    /// Requests that the Runtime has not acknowledged, in the order in which they came.
    pending: BTreeMap<u64, (AgentId, Vec<u8>)>,
    next: u64,
    tokens: BTreeMap<u64, u64>,
    /// When an unacknowledged request is delivered again.
    armed: BTreeMap<u64, u64>,
    /// When the last message of the connection arrives: it keeps their order.
    out_until: u64,
    in_until: u64,
    /// The same per agent.
    arrivals: BTreeMap<AgentId, u64>,
    handed: u64,
}

impl Relay {
    pub(super) fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    pub(super) fn disconnect(&mut self) {
        self.connection = None;
        self.tokens.clear();
        self.armed.clear();
    }

    /// How many messages the Runtime has handed over.
    pub(super) fn handed(&self) -> u64 {
        self.handed
    }
}

impl World {
    // ---- towards the Runtime ----

    pub(super) fn relay_takes_request(&mut self, agent: AgentId, bytes: Vec<u8>) {
        let at = self.stamp();
        self.oracle.sent(agent.as_str(), &bytes, at);
        let pending = self.relay.next;
        self.relay.next += 1;
        self.relay.pending.insert(pending, (agent, bytes));
        self.relay_forwards(pending);
    }

    fn relay_forwards(&mut self, pending: u64) {
        let Some(connection) = self.relay.connection else { return };
        let reordered = self.strikes(Fault::RelayReorders, 0.3);
        let delay = if reordered { self.within(1, 3_000) } else { self.within(1, 8) };
        let at = if reordered { self.now + delay } else { self.relay.in_until.max(self.now + delay) };
        if !reordered {
            self.relay.in_until = at;
        }
        self.after(at - self.now, Happening::Deliver(connection, pending));
        if self.strikes(Fault::RelayDoubles, 0.15) {
            let again = self.within(1, 4_000);
            self.after(again, Happening::Deliver(connection, pending));
        }
    }

    pub(super) fn relay_delivers(&mut self, connection: u64, pending: u64) {
        if self.relay.connection != Some(connection) || !self.serves() {
            return;
        }
        let Some((agent, bytes)) = self.relay.pending.get(&pending).cloned() else { return };
        // It comes again until it is acknowledged; one timer for each.
        let armed = self.relay.armed.get(&pending).copied().unwrap_or(0);
        if armed <= self.now {
            self.relay.armed.insert(pending, self.now + AGAIN);
            self.after(AGAIN, Happening::Deliver(connection, pending));
        }
        if self.strikes(Fault::RelayDrops, 0.1) {
            self.say(&format!("the relay loses delivery {pending}"));
            return;
        }
        let token = self.relay.next;
        self.relay.next += 1;
        self.relay.tokens.insert(token, pending);
        let agent =
            if self.mutant(Mutant::SenderForged) && self.rng.random_bool(0.2) { crate::apps::id("ann") } else { agent };
        match decode_request(&bytes) {
            Ok(request) => {
                let message = request.id.clone();
                let conversation = request.conversation.clone();
                let mut body = asked(request.body);
                self.tamper(&agent, &conversation, &mut body);
                let input = AgentInput {
                    agent: agent.clone(),
                    message: request.id,
                    conversation: request.conversation,
                    request: body,
                };
                self.offer(Input::Agent(input), Waiter::Delivery { token, agent, message, conversation });
                if self.mutant(Mutant::AcknowledgesEarly) {
                    self.relay_acknowledged(token);
                }
            }
            Err(malformed) => {
                self.coverage.malformed(malformed.reason.as_str());
                if let (true, Some(request), Some(conversation)) =
                    (malformed.is_request, malformed.in_reply_to, malformed.conversation)
                {
                    let refusal = Refusal {
                        in_reply_to: request,
                        call_id: malformed.call_id,
                        error: malformed.fault,
                        current_revision: None,
                    };
                    self.refuse(agent, &conversation, &refusal);
                }
                self.relay_acknowledged(token);
            }
        }
    }

    /// Defects of the entry.
    fn tamper(&mut self, agent: &AgentId, conversation: &lineup_model::ConversationId, body: &mut AgentRequest) {
        let Some(engine) = &self.engine else { return };
        let head = engine.head();
        let stale = self.plan.mutant == Some(Mutant::StaleRevisionAccepted);
        let first = if self.plan.mutant == Some(Mutant::ConflictIgnored)
            && let AgentRequest::Invoke { call_id, .. } = &*body
        {
            self.first_input(agent, call_id)
        } else {
            None
        };
        if let AgentRequest::Invoke { input, revision, .. } = body {
            if stale && let Some(inventory) = head.inventory(agent, conversation) {
                *revision = inventory.revision.clone();
            }
            if let Some(first) = first {
                *input = std::sync::Arc::new(serde_json::Value::Object(first));
            }
        }
    }

    /// The Runtime says that a delivery is safe.
    pub(super) fn relay_acknowledged(&mut self, token: u64) {
        let Some(pending) = self.relay.tokens.remove(&token) else { return };
        let early =
            self.waiters.values().any(|waiter| matches!(waiter, Waiter::Delivery { token: t, .. } if *t == token));
        self.coverage.look("I40");
        if early {
            self.fail("I40", format!("delivery {pending} is acknowledged before it is durable"));
        }
        if let Some((agent, bytes)) = self.relay.pending.remove(&pending)
            && let Ok(request) = decode_request(&bytes)
        {
            self.oracle.taken(agent.as_str(), request.id.as_str());
        }
    }

    // ---- from the Runtime ----

    /// Hands messages over, in order.
    pub(super) fn transmit(&mut self, mut messages: Vec<Addressed>) {
        if self.mutant(Mutant::SendsReversed) {
            messages.reverse();
        }
        for sent in messages {
            let bytes = lineup_wire::encode(&sent.message);
            self.hand_over_to_relay(sent.message.id.clone(), sent.recipient, bytes);
        }
    }

    pub(super) fn hand_over_to_relay(&mut self, message: MessageId, agent: AgentId, bytes: Vec<u8>) {
        let Some(connection) = self.relay.connection else { return };
        self.relay.handed += 1;
        let at = self.stamp();
        self.oracle.received(agent.as_str(), &bytes, at);
        let delay = self.within(1, 6);
        let at = self.relay.out_until.max(self.now + delay);
        self.relay.out_until = at;
        self.after(at - self.now, Happening::Taken(connection, message, agent, bytes));
    }

    pub(super) fn relay_takes_message(&mut self, connection: u64, message: MessageId, agent: AgentId, bytes: Vec<u8>) {
        if self.relay.connection != Some(connection) {
            return;
        }
        let late = self.strikes(Fault::RelayAcksLate, 0.4);
        let delay = if late { self.within(500, 30_000) } else { self.within(1, 20) };
        self.after(delay, Happening::Acknowledge(connection, message));
        let delay = self.within(1, 20);
        let last = self.relay.arrivals.get(&agent).copied().unwrap_or(0);
        let at = last.max(self.now + delay);
        self.relay.arrivals.insert(agent.clone(), at);
        if self.strikes(Fault::RelayDoubles, 0.15) {
            let again = self.within(1, 20_000);
            self.after(at - self.now + again, Happening::Arrive(agent.clone(), bytes.clone()));
        }
        self.after(at - self.now, Happening::Arrive(agent, bytes));
    }

    pub(super) fn relay_acknowledges(&mut self, connection: u64, message: &MessageId) {
        if self.relay.connection != Some(connection) || !self.serves() {
            return;
        }
        if self.mutant(Mutant::AcknowledgementsIgnored) {
            return;
        }
        self.oracle.acked(message.as_str());
        let message = message.clone();
        self.offer(Input::Transport(TransportReport::Acknowledged(message)), Waiter::Nobody);
    }

    // ---- the connection ----

    pub(super) fn relay_connects(&mut self, life: u64) {
        if life != self.life || self.relay.connection.is_some() || !self.serves() {
            return;
        }
        self.relay.connections += 1;
        self.relay.connection = Some(self.relay.connections);
        self.relay.in_until = 0;
        self.relay.out_until = 0;
        self.say("the relay is connected");
        let outbox = self.engine.as_ref().map(lineup_runtime::Engine::outbox).unwrap_or_default();
        if !self.mutant(Mutant::OutboxNotResent) {
            self.transmit(outbox);
        }
        let pending: Vec<u64> = self.relay.pending.keys().copied().collect();
        for pending in pending {
            self.relay_forwards(pending);
        }
    }

    /// The connection breaks: what was on it is lost.
    pub(super) fn relay_cuts(&mut self) {
        if self.relay.connection.is_none() {
            return;
        }
        self.say("the relay's connection breaks");
        self.relay.disconnect();
        let after = self.within(5, 8_000);
        self.after(after, Happening::Connect(self.life));
    }

    pub(super) fn stamp(&self) -> i64 {
        i64::try_from(self.effective()).unwrap_or(i64::MAX)
    }
}

fn asked(body: RequestBody) -> AgentRequest {
    match body {
        RequestBody::Hello => AgentRequest::Hello,
        RequestBody::Invoke(invoke) => AgentRequest::Invoke {
            call_id: invoke.call_id,
            tool: invoke.tool,
            input: std::sync::Arc::new(serde_json::Value::Object(invoke.input)),
            revision: invoke.inventory_revision,
            expires_at: invoke.expires_at,
        },
        RequestBody::Status { call_id } => AgentRequest::Status { call_id },
        RequestBody::Cancel { call_id } => AgentRequest::Cancel { call_id },
        RequestBody::Text { text } => AgentRequest::Text { text },
    }
}
