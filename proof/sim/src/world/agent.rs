//! The agents: they know their inventory and their calls, and do not always keep to either.

use std::{collections::BTreeMap, sync::Arc};

use lineup_model::{AgentId, ConversationId, Inventory, Revision, Wall, message::AgentBody};
use lineup_wire::{Invoke, Reply, Request, RequestBody, decode_reply, encode_request};
use rand::Rng;
use serde_json::{Map, Value, json};

use super::{Happening, World};
use crate::{apps::id, plan::Fault};

/// A call that an agent has made.
#[derive(Debug)]
struct Made {
    request: Request,
    outcome: Option<Vec<u8>>,
}

/// One agent.
#[derive(Debug)]
pub(super) struct AgentSide {
    agent: AgentId,
    rooms: Vec<ConversationId>,
    inventories: BTreeMap<ConversationId, (u64, Arc<Inventory>)>,
    outdated: Vec<Revision>,
    made: Vec<Made>,
    last_rounds: u32,
}

impl AgentSide {
    pub(super) fn new(agent: &str, rooms: &[(&str, Vec<&str>)]) -> Self {
        let rooms = rooms.iter().filter(|(_, agents)| agents.contains(&agent)).map(|(room, _)| id(room)).collect();
        Self {
            agent: id(agent),
            rooms,
            inventories: BTreeMap::new(),
            outdated: Vec::new(),
            made: Vec::new(),
            last_rounds: 0,
        }
    }
}

impl World {
    fn send(&mut self, at: usize, conversation: &ConversationId, body: RequestBody) -> Request {
        let request = Request { id: id(&self.mint('e')), conversation: conversation.clone(), body };
        self.send_again(at, &request);
        request
    }

    fn send_again(&mut self, at: usize, request: &Request) {
        let agent = self.agents[at].agent.clone();
        self.send_bytes(agent, encode_request(request));
    }

    fn send_bytes(&mut self, agent: AgentId, bytes: Vec<u8>) {
        let delay = self.within(1, 30);
        self.after(delay, Happening::Sent(agent, bytes));
    }

    pub(super) fn agent_acts(&mut self, at: usize) {
        if self.calm {
            return self.agent_looks_back(at);
        }
        // Nobody fires requests for hours at a Runtime that is down.
        let down = self.engine.is_none();
        let pause = match self.rng.random_range(0..20) {
            _ if down => self.within(10_000, 4_000_000),
            0 => self.within(5_000, 70_000),
            1..=4 => self.within(1, 30),
            _ => self.within(100, 3_000),
        };
        self.after(pause, Happening::AgentActs(at));
        let rooms = self.agents[at].rooms.clone();
        let room = rooms[self.rng.random_range(0..rooms.len())].clone();
        let any = (!self.agents[at].made.is_empty()).then(|| self.rng.random_range(0..self.agents[at].made.len()));
        match self.rng.random_range(0..100) {
            0..=3 => {
                self.send(at, &room, RequestBody::Hello);
            }
            4..=8 => {
                self.send(at, &room, RequestBody::Text { text: "something to say".into() });
            }
            9..=14 => {
                if let Some(made) = any {
                    let (room, call_id) = self.call_of(at, made);
                    self.send(at, &room, RequestBody::Status { call_id });
                }
            }
            15..=23 => {
                if let Some(made) = any {
                    let (room, call_id) = self.call_of(at, made);
                    self.send(at, &room, RequestBody::Cancel { call_id });
                }
            }
            24..=37 => {
                if let Some(made) = any
                    && self.strikes(Fault::AgentRepeats, 0.9)
                {
                    let request = self.agents[at].made[made].request.clone();
                    if self.rng.random_bool(0.5) {
                        self.send_again(at, &request);
                    } else {
                        self.send(at, &request.conversation, request.body);
                    }
                }
            }
            38..=42 => {
                if let Some(made) = any
                    && self.strikes(Fault::AgentDiverges, 0.9)
                {
                    let mut request = self.agents[at].made[made].request.clone();
                    if let RequestBody::Invoke(invoke) = &mut request.body {
                        let n = self.rng.random_range(0..1_000);
                        let field = if invoke.tool.as_str() == "pomodoro.start" { "minutes" } else { "n" };
                        invoke.input.insert(field.into(), json!(n));
                    }
                    self.send(at, &request.conversation, request.body);
                }
            }
            43..=48 => {
                if self.strikes(Fault::AgentLies, 0.9) {
                    self.agent_lies(at, &room);
                }
            }
            49..=52 => {
                if self.strikes(Fault::AgentGarbage, 0.9) {
                    self.agent_babbles(at, &room, any);
                }
            }
            _ => self.agent_calls(at, &room),
        }
    }

    /// The input of the first call under an id, as the agent sent it.
    pub(super) fn first_input(&self, agent: &AgentId, call_id: &lineup_model::CallId) -> Option<Map<String, Value>> {
        let side = self.agents.iter().find(|side| side.agent == *agent)?;
        let made = side.made.iter().find(|made| made.request.body.call_id() == Some(call_id))?;
        match &made.request.body {
            RequestBody::Invoke(invoke) => Some(invoke.input.clone()),
            _ => None,
        }
    }

    fn call_of(&self, at: usize, made: usize) -> (ConversationId, lineup_model::CallId) {
        let request = &self.agents[at].made[made].request;
        let call_id = request.body.call_id().expect("what was made is a call").clone();
        (request.conversation.clone(), call_id)
    }

    fn agent_calls(&mut self, at: usize, room: &ConversationId) {
        let Some((_, inventory)) = self.agents[at].inventories.get(room).cloned() else {
            self.send(at, room, RequestBody::Hello);
            return;
        };
        if inventory.tools.is_empty() {
            return;
        }
        let tool = inventory.tools[self.rng.random_range(0..inventory.tools.len())].id.clone();
        let outdated = &self.agents[at].outdated;
        let old = (!outdated.is_empty()).then(|| outdated[self.rng.random_range(0..outdated.len())].clone());
        let revision = match old {
            Some(old) if self.strikes(Fault::AgentStale, 0.2) => old,
            _ => inventory.revision.clone(),
        };
        let expires_at = self.rng.random_bool(0.1).then(|| {
            let in_ms = self.rng.random_range(-2_000..90_000_i64);
            Wall(self.wall().0 + in_ms)
        });
        let input = self.input_for(tool.as_str());
        let call_id = id(&self.mint('k'));
        let invoke = Invoke { call_id, tool, input, inventory_revision: revision, expires_at };
        let request = self.send(at, room, RequestBody::Invoke(invoke));
        self.agents[at].made.push(Made { request, outcome: None });
    }

    fn input_for(&mut self, tool: &str) -> Map<String, Value> {
        let odd = self.rng.random_range(0..40);
        let input = match (tool, odd) {
            (_, 0) => json!({ "n": -1 }),
            (_, 1) => json!({ "something": "else" }),
            ("pomodoro.start", 2) => json!({ "minutes": 0 }),
            ("pomodoro.start", _) => {
                let minutes = match self.rng.random_range(0..10) {
                    0 => 1_440,
                    1 => 25,
                    _ => self.rng.random_range(1..3),
                };
                json!({ "minutes": minutes })
            }
            ("pomodoro.interrupt", _) => json!({}),
            (_, 3..=9) => json!({}),
            _ => json!({ "n": self.rng.random_range(0..1_000) }),
        };
        input.as_object().cloned().unwrap_or_default()
    }

    /// Asks for what is another's.
    fn agent_lies(&mut self, at: usize, room: &ConversationId) {
        let other = (at + 1) % self.agents.len();
        let theirs = self.agents[other].made.last().map(|made| made.request.clone());
        match (self.rng.random_range(0..4), theirs) {
            (0, Some(theirs)) => {
                // The same envelope, sent by somebody else, perhaps from outside the conversation.
                self.send(at, &theirs.conversation, theirs.body);
            }
            (1, Some(theirs)) => {
                let call_id = theirs.body.call_id().expect("what was made is a call").clone();
                self.send(at, room, RequestBody::Cancel { call_id: call_id.clone() });
                self.send(at, &theirs.conversation, RequestBody::Status { call_id });
            }
            (2, _) => {
                self.send(at, &id("nowhere"), RequestBody::Hello);
            }
            _ => {
                let Some((_, inventory)) = self.agents[at].inventories.get(room).cloned() else { return };
                let revision = inventory.revision.0.to_string();
                let reserved = ["instance_id", "operation_id", "owner", "agent_id"][self.rng.random_range(0..4)];
                let mut envelope = json!({
                    "type": "lineup.v1.tool.invoke", "id": self.mint('e'), "conversation_id": room,
                    "call_id": self.mint('k'), "tool": "notes.add", "input": {}, "inventory_revision": revision,
                });
                envelope[reserved] = json!("i1");
                let agent = self.agents[at].agent.clone();
                self.send_bytes(agent, envelope.to_string().into_bytes());
            }
        }
    }

    /// Sends what is no request.
    fn agent_babbles(&mut self, at: usize, room: &ConversationId, any: Option<usize>) {
        let agent = self.agents[at].agent.clone();
        let mut bytes = match any {
            Some(made) => encode_request(&self.agents[at].made[made].request),
            None => encode_request(&Request {
                id: id(&self.mint('e')),
                conversation: room.clone(),
                body: RequestBody::Hello,
            }),
        };
        match self.rng.random_range(0..4) {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes = b"{\"type\":\"lineup.v2.hello\",\"id\":\"x\",\"conversation_id\":\"main\"}".to_vec(),
            2 => {
                let at = self.rng.random_range(0..bytes.len());
                bytes[at] = 0xff;
            }
            _ => {
                let unknown = json!({
                    "type": "lineup.v1.tool.invoke", "id": self.mint('e'), "conversation_id": room,
                    "call_id": self.mint('k'), "tool": "notes.nothing", "input": {},
                    "inventory_revision": "0".repeat(64),
                });
                bytes = unknown.to_string().into_bytes();
            }
        }
        self.send_bytes(agent, bytes);
    }

    /// After the faults: asks once more about everything that has no outcome, and repeats some calls.
    fn agent_looks_back(&mut self, at: usize) {
        self.agents[at].last_rounds += 1;
        let open: Vec<Request> = self.agents[at]
            .made
            .iter()
            .filter(|made| made.outcome.is_none())
            .map(|made| made.request.clone())
            .collect();
        if self.agents[at].last_rounds == 1 {
            let done: Vec<Request> = self.agents[at].made.iter().step_by(5).map(|made| made.request.clone()).collect();
            for (n, request) in done.into_iter().enumerate() {
                let mut body = request.body;
                // A repeat in a new envelope, or another content under a used id.
                if n % 3 == 2
                    && let RequestBody::Invoke(invoke) = &mut body
                {
                    invoke.input.insert("other".into(), json!(n));
                }
                self.send(at, &request.conversation, body);
            }
        }
        for request in open {
            self.send_again(at, &request);
        }
        if self.agents[at].last_rounds < 3 {
            // The longest wait is a day.
            self.after(90_000_000, Happening::AgentActs(at));
        }
    }

    pub(super) fn agent_gets(&mut self, agent: &AgentId, bytes: &[u8]) {
        let reply = match decode_reply(bytes) {
            Ok(reply) => reply,
            Err(error) => {
                return self.fail("WIRE-1", format!("{error}: {}", String::from_utf8_lossy(bytes)));
            }
        };
        let Some(side) = self.agents.iter_mut().find(|side| side.agent == *agent) else { return };
        match reply {
            Reply::Message(message) => match message.body {
                AgentBody::Inventory { sequence, inventory } => {
                    let known = side.inventories.get(&message.conversation).map_or(0, |(known, _)| *known);
                    if sequence > known {
                        let before = side.inventories.insert(message.conversation, (sequence, inventory));
                        side.outdated.extend(before.map(|(_, inventory)| inventory.revision.clone()));
                    }
                }
                AgentBody::Outcome(outcome) => {
                    let found = side.made.iter_mut().find(|made| {
                        made.request.conversation == message.conversation
                            && made.request.body.call_id() == Some(&outcome.call_id)
                    });
                    if let Some(made) = found {
                        let first = made.outcome.get_or_insert_with(|| bytes.to_vec());
                        if first != bytes {
                            let what = format!("two outcomes: {}", String::from_utf8_lossy(bytes));
                            self.fail("CALL-5", what);
                        }
                    }
                }
                AgentBody::Receipt(_) | AgentBody::Text { .. } => {}
            },
            Reply::Refused { refusal, .. } => {
                self.coverage.refused(refusal.error.code);
            }
            Reply::Unknown { type_name } => self.fail("WIRE-3", format!("an unknown reply {type_name}")),
        }
    }
}
