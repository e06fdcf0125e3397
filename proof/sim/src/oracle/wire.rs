//! What crossed the wire: requests, receipts, outcomes, refusals, publications.

use serde_json::{Value, json};

use super::calls::STAGES;
use super::schema::{canonical, valid};
use super::{Host, MiniApp, Oracle, Request, Violation, Wired, list, number, outcome, receipts, text, wired};

/// Names no agent may put into a request, nor a tool declare (CALL-1 (5), I64).
pub(super) const RESERVED: &str =
    "instance_id app_session_id operation_id interaction_id owner entry capability agent_id";
const INVOKE: &str = "type id conversation_id call_id tool input inventory_revision expires_at";
/// What an agent never sees of a descriptor (INV-10).
const HIDDEN: &str = "executor handler parameters policy permissions visibility operation terminal target host";
/// Answers that say nothing about the call: a request may always get one of these instead.
const EXCUSES: &str = "rate_limited storage_unavailable storage_corrupt payload_too_large workspace_moved internal";
/// Reasons of the decoder, which speaks before any record is looked up.
const UNREADABLE: &str = "duplicate_key number_range bad_string too_deep too_large unknown_tool bad_id bad_envelope";
/// Reasons why bytes are no JSON at all.
const NO_JSON: &str = "bad_utf8 bad_json";
const REQUESTS: &str = "lineup.v1.agent.hello lineup.v1.tool.invoke lineup.v1.tool.status lineup.v1.tool.cancel \
    lineup.v1.message.text";
const CODES: &str = "envelope_invalid agent_unauthorized conversation_not_found inventory_revision_mismatch \
    tool_not_advertised tool_input_invalid tool_output_invalid tool_failed call_id_conflict call_already_final \
    call_not_found call_not_cancellable call_expired app_disabled app_instance_not_found app_scope_mismatch \
    app_activation_failed app_activation_cancelled app_delivery_exhausted handler_diverged lifecycle_denied \
    host_unavailable capability_denied ui_action_not_declared ui_action_invalid interaction_invalid \
    interaction_not_found interaction_already_final surface_not_found surface_timeout surface_patch_invalid \
    session_revision_conflict operation_conflict deadline_invalid payload_too_large rate_limited workspace_moved \
    storage_unavailable storage_corrupt internal";

/// What an agent has heard of one call.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    seq: i64,
    outcome: Option<String>,
}

/// Whether `word` is one of the words of `all`.
pub(super) fn among(all: &str, word: &str) -> bool {
    all.split_ascii_whitespace().any(|known| known == word)
}
pub(super) fn known_code(code: &str) -> bool {
    among(CODES, code)
}
fn only(value: &Value, allowed: &str) -> bool {
    value.as_object().is_some_and(|o| o.keys().all(|key| among(allowed, key)))
}
/// What stands whole before the first fault of bytes that are no JSON.
fn beginning(bytes: &[u8]) -> Value {
    let read = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    // The fault may be the comma itself, right behind a whole member.
    let ends = std::iter::once(read.len()).chain(read.rmatch_indices(',').map(|(at, _)| at));
    let begun = ends.map(|end| format!("{}}}", &read[..end]));
    begun.filter_map(|begun| serde_json::from_str(&begun).ok()).next().unwrap_or_default()
}
fn same_content(request: &Value, call: &Value) -> bool {
    request["tool"] == call["tool"] && canonical(&request["input"]) == canonical(&call["input"])
}

impl Request {
    /// Whether the stored call is what this asked for (CALL-3's content).
    pub(super) fn matches(&self, call: &Value) -> bool {
        same_content(&self.body, call)
    }
    pub(super) fn well_formed(&self) -> bool {
        only(&self.body, INVOKE)
    }
}

impl Oracle {
    /// The durable record of an agent's call.
    pub(super) fn record(&self, wired: &Wired) -> Option<&Value> {
        self.keys.get(wired).and_then(|key| self.last.get("calls", key))
    }

    /// An agent's envelope was accepted by the transport.
    pub fn sent(&mut self, agent: &str, bytes: &[u8], at: i64) {
        self.log.at = at;
        let Ok(body) = serde_json::from_slice::<Value>(bytes) else {
            // Nobody has to answer it, and whoever can read whose request it is may say that it is unreadable.
            let begun = beginning(bytes);
            if among(REQUESTS, text(&begun, "type")) && !text(&begun, "id").is_empty() {
                let id = (agent.to_owned(), text(&begun, "id").to_owned());
                self.rooms.entry(id.clone()).or_default().insert(text(&begun, "conversation_id").to_owned());
                self.torn.insert(id);
            }
            return;
        };
        let id = (agent.to_owned(), text(&body, "id").to_owned());
        self.sent_ids.insert(id.clone());
        self.rooms.entry(id.clone()).or_default().insert(text(&body, "conversation_id").to_owned());
        if body["type"] == "lineup.v1.tool.invoke" && !text(&body, "call_id").is_empty() {
            let wired =
                (agent.to_owned(), text(&body, "conversation_id").to_owned(), text(&body, "call_id").to_owned());
            let repeat = self.record(&wired).is_some();
            if repeat {
                self.repeats.insert(wired.clone());
            }
            let request = Request { wired, body, repeat, answered: false, calm: self.calm };
            self.requests.entry(id).or_insert(request);
        }
    }

    /// An envelope for an agent was handed over (perhaps again).
    pub fn received(&mut self, agent: &str, bytes: &[u8], at: i64) {
        self.log.at = at;
        let parsed = serde_json::from_slice::<Value>(bytes);
        self.log.check("WIRE-1", parsed.is_ok(), "not JSON", &json!(String::from_utf8_lossy(bytes)));
        let Ok(body) = parsed else { return };
        let id = (agent.to_owned(), text(&body, "id").to_owned());
        let first = match self.seen.get(&id) {
            Some(before) => {
                self.log.check("I45", before == bytes, "one message id, other bytes", &body);
                false
            }
            None => {
                self.seen.insert(id.clone(), bytes.to_vec());
                true
            }
        };
        if first && let Some((recipient, conversation, seq)) = self.outbox_rows.get(&id.1) {
            let last = self.first_sends.entry((recipient.clone(), conversation.clone())).or_insert(i64::MIN);
            let ordered = recipient == agent && *seq > *last;
            *last = (*last).max(*seq);
            for invariant in ["I47", "DUR-2"] {
                self.log.check(invariant, ordered, "first sends leave the order of the outbox", &body);
            }
        }
        let called = (id.0.clone(), text(&body, "conversation_id").to_owned(), text(&body, "call_id").to_owned());
        let mine = self.agents.contains(&(called.0.clone(), called.1.clone()));
        let own = if body["final"] == false && body.get("in_reply_to").is_some() {
            self.tells_its_own(&called, &body, mine)
        } else {
            mine
        };
        self.log.check("I65", own, "an envelope of another conversation", &body);
        let asks = text(&body, "type").starts_with("lineup.v1.tool.");
        self.log.check("ENT-1", !asks, "a request went to an agent", &body);
        match text(&body, "type") {
            "lineup.v1.client.inventory" => self.publication(agent, &body, first),
            "lineup.v1.miniapp.tool.progress" => self.receipt(&called, &body, first),
            "lineup.v1.miniapp.tool.result" | "lineup.v1.miniapp.tool.cancel" => {
                if body["final"] == true {
                    self.settled(&called, &body, first)
                } else {
                    self.refusal(&id.0, &body)
                }
            }
            _ => {}
        }
    }

    /// A refusal answers in the conversation that the request named, whosever it is: to a stranger it says that, or
    /// that it could not be read, and to nobody anything of another's (I65).
    fn tells_its_own(&self, called: &Wired, body: &Value, mine: bool) -> bool {
        let (code, reply) = (text(body, "code"), (called.0.clone(), text(body, "in_reply_to").to_owned()));
        // One that answers no request at all is reported as such (CALL-7).
        let named = self.rooms.get(&reply).is_none_or(|rooms| rooms.contains(&called.1));
        let asked = self.requests.get(&reply).map(|request| &request.body["call_id"]);
        let call = asked.is_none_or(|asked| body.get("call_id").is_none_or(|told| told == asked));
        let revision = body.get("current_revision").is_none_or(|revision| {
            let current = self.current.get(&(called.0.clone(), called.1.clone()));
            current.is_some_and(|current| revision.as_str().is_some_and(|revision| current.contains(revision)))
        });
        let stranger = among("agent_unauthorized conversation_not_found envelope_invalid", code)
            || among(EXCUSES, code)
            || among(UNREADABLE, text(body, "reason"));
        named && call && revision && (mine || (stranger && body.get("current_revision").is_none()))
    }

    fn publication(&mut self, agent: &str, body: &Value, first: bool) {
        let (revision, content) = (text(body, "revision").to_owned(), canonical(&body["tools"]));
        let tools = list(body, "tools");
        let is_view = tools.iter().all(|tool| {
            tool.as_object().is_some_and(|o| !o.keys().any(|key| among(HIDDEN, key)))
                && self.tools.contains_key(text(tool, "id"))
        }) && !revision.is_empty()
            && tools.is_sorted_by_key(|tool| text(tool, "id"));
        self.log.check("INV-7", is_view, "not a sorted view of declared tools", body);
        let one = *self.revisions.entry(revision.clone()).or_insert_with(|| content.clone()) == content
            && *self.contents.entry(content.clone()).or_insert_with(|| revision.clone()) == revision;
        self.log.check("I61", one, "revision and content are not one to one", body);
        let (conversation, sequence) = (text(body, "conversation_id").to_owned(), number(body, "sequence"));
        let stream = (agent.to_owned(), conversation);
        if let Some((last, was)) = self.sequences.get(&stream).filter(|_| first) {
            // Joining again may repeat the newest publication, never renumber or change it.
            let grows = sequence > *last || (sequence == *last && *was == revision);
            self.log.check("I61", grows, "the sequence does not grow", body);
        }
        if first {
            self.sequences.insert(stream, (sequence, revision));
        }
    }

    fn receipt(&mut self, called: &Wired, body: &Value, first: bool) {
        let durable = self.record(called).is_some_and(|call| {
            receipts(call)
                .iter()
                .any(|r| r["message_id"] == body["id"] && r["seq"] == body["seq"] && r["stage"] == body["stage"])
        });
        self.log.check("I6", durable, "a receipt was sent that is not durable", body);
        let plain = among(STAGES, text(body, "stage"))
            && ["status", "result", "final", "output"].iter().all(|key| body.get(key).is_none());
        self.log.check("I12", plain, "a receipt looks like an outcome", body);
        let spoken = self.spoken.entry(called.clone()).or_default();
        if first {
            let ordered = number(body, "seq") > spoken.seq && spoken.outcome.is_none();
            spoken.seq = spoken.seq.max(number(body, "seq"));
            self.log.check("I7", ordered, "receipts are out of order or follow the outcome", body);
        }
        self.answer(called, body, first);
    }

    fn settled(&mut self, called: &Wired, body: &Value, first: bool) {
        let (status, cancel) = (text(body, "status"), text(body, "type").ends_with(".cancel"));
        let shape = cancel == (status == "cancelled") && body.get("in_reply_to").is_none();
        self.log.check("CALL-7", shape, "status, family or reply field do not fit a final answer", body);
        self.log.check("I12", body.get("seq").is_none() && body.get("stage").is_none(), "outcome with a seq", body);
        let call = self.keys.get(called).and_then(|key| self.last.get("calls", key));
        let row = call.and_then(outcome);
        let durable = row.is_some_and(|row| {
            row["message_id"] == body["id"]
                && ["status", "code"].iter().all(|k| row[k] == body[k])
                && canonical(&row["result"]) == canonical(&body["result"])
        });
        self.log.check("I6", durable, "an outcome was sent that is not durable", body);
        if status == "completed" {
            let schema = call.and_then(|call| self.tools.get(text(call, "tool"))).map(|tool| &tool["output_schema"]);
            let fits = schema.is_some_and(|schema| valid(schema, &body["result"]));
            self.log.check("CALL-6", fits, "a completed outcome breaks the output schema", body);
        } else {
            let coded = known_code(text(body, "code")) && body.get("result").is_none();
            self.log.check("I11", coded, "not the shape of a failure", body);
        }
        let id = text(body, "id").to_owned();
        let one = *self.spoken.entry(called.clone()).or_default().outcome.get_or_insert_with(|| id.clone()) == id;
        self.log.check("CALL-5", one, "a second outcome was sent", body);
        self.answer(called, body, first);
    }

    /// An answer from the record: repeats of the call that wait for one are served by its newest line only.
    fn answer(&mut self, called: &Wired, body: &Value, first: bool) {
        let call = self.keys.get(called).and_then(|key| self.last.get("calls", key));
        let newest = call.and_then(|call| list(call, "journal").last()).is_some_and(|r| r["message_id"] == body["id"]);
        let mut repeated = false;
        for request in self.requests.values_mut().filter(|r| r.wired == *called) {
            if call.is_some_and(|call| request.matches(call)) {
                repeated |= request.repeat;
                request.answered |= newest || !request.calm;
            }
        }
        if repeated && !first {
            // The bytes were compared under I45: here it counts that a repeat got them.
            let same = self.log.violations.last().is_none_or(|v| v.invariant != "I45" || v.evidence != *body);
            self.log.check("CALL-3", same, "a repeat was answered with other bytes", body);
        }
    }

    fn refusal(&mut self, agent: &str, body: &Value) {
        let (code, reply) = (text(body, "code"), (agent.to_owned(), text(body, "in_reply_to").to_owned()));
        let shape =
            body["status"] == "rejected" && body["final"] == false && known_code(code) && body.get("result").is_none();
        let torn = self.torn.contains(&reply) && among(NO_JSON, text(body, "reason")) && code == "envelope_invalid";
        let asked = torn || self.sent_ids.contains(&reply);
        self.log.check("CALL-7", shape && asked, "a refusal that refuses nothing", body);
        let stored = self.last.rows("calls").iter().filter_map(outcome).any(|row| row["message_id"] == body["id"]);
        self.log.check("CALL-7", !stored, "an outcome was sent as not final", body);
        if torn {
            // It is of the torn envelope: an intact one of the same id still waits for its own answer.
            return;
        }
        let Some(request) = self.requests.get_mut(&reply) else { return };
        request.answered = true;
        let call = self.keys.get(&request.wired).and_then(|key| self.last.get("calls", key));
        let differs = call.is_some_and(|call| !request.matches(call));
        let (repeat, revision) = (request.repeat, request.body["inventory_revision"].clone());
        let excused = among(EXCUSES, code) || among(UNREADABLE, text(body, "reason")) || !request.well_formed();
        match code {
            "call_id_conflict" => {
                for invariant in ["CALL-4", "I8"] {
                    self.log.check(invariant, differs, "a conflict without other content", body);
                }
            }
            "inventory_revision_mismatch" => {
                let current = body.get("current_revision").is_some_and(|current| *current != revision);
                for invariant in ["INV-8", "I62"] {
                    self.log.check(invariant, current && !repeat, "a wrong refusal of a revision", body);
                }
            }
            _ if repeat && differs => self.log.check("CALL-4", excused, "other content was not a conflict", body),
            _ if repeat => self.log.check("CALL-3", excused, "a repeat was refused", body),
            _ => {}
        }
    }

    /// A Host's report or intent was offered to the Runtime.
    pub fn host(&mut self, event: Host<'_>, at: i64) {
        self.log.at = at;
        match event {
            Host::Connected(session) => {
                self.sessions.insert(session.to_owned());
            }
            Host::Disconnected(session) | Host::Visible(session, false) => {
                self.visible.remove(session);
                self.disturbed = true;
            }
            Host::Visible(session, true) => {
                self.visible.insert(session.to_owned());
            }
            Host::Confirmed { session, instance, attempt } => {
                if self.visible.contains(session) {
                    self.confirmed.insert((instance.to_owned(), canonical(attempt)));
                }
            }
            Host::Intent("switch" | "back" | "close") => self.leavings += 1,
            Host::Intent(_) => self.disturbed = true,
        }
    }

    /// A handler was started or answered.
    pub fn miniapp(&mut self, event: MiniApp<'_>, at: i64) {
        self.log.at = at;
        match event {
            MiniApp::Invoked { call, generation } => self.handler_started(call, generation),
            MiniApp::Answered { call, generation, output } => {
                if self.last.get("calls", call).is_some_and(|row| outcome(row).is_some()) {
                    self.late.insert(call.to_owned());
                }
                self.answers.entry(call.to_owned()).or_default().push((generation, output.cloned()));
            }
            MiniApp::Patched { instance, surface, key, base, patch } => {
                self.patch_offered(instance, surface, key, base, patch);
            }
        }
    }

    /// The end of a run, after faults stopped and everything settled.
    pub fn finish(&mut self) -> &[Violation] {
        for row in self.last.rows("outbox") {
            let done = row["dead"] == true || self.acked.contains(text(row, "message_id"));
            self.log.check("DUR-2", done, "an outbox row was never delivered", row);
        }
        for call in self.last.rows("calls") {
            if let Some(row) = outcome(call) {
                let id = (text(call, "agent").to_owned(), text(row, "message_id").to_owned());
                self.log.check("DUR-2", self.seen.contains_key(&id), "an outcome never reached its agent", call);
            }
        }
        let mut unanswered = Vec::new();
        for (id, request) in self.requests.iter().filter(|(_, request)| request.well_formed()) {
            let call = self.record(&request.wired);
            let same = call.is_some_and(|call| request.matches(call));
            // A refusal may be lost with a fault; what is on record, taken over or asked in calm may not.
            let invariant = match call {
                Some(_) if request.calm => Some(if same { "I5" } else { "CALL-4" }),
                None if request.calm => Some("INV-8"),
                Some(_) => (same && !request.repeat).then_some("DUR-4"),
                None => self.taken.contains(id).then_some("DUR-4"),
            };
            let known = self.agents.contains(&(request.wired.0.clone(), request.wired.1.clone()));
            let invariant = invariant.filter(|_| known);
            unanswered.extend(invariant.map(|invariant| (invariant, request.answered, request.body.clone())));
        }
        for (invariant, answered, body) in unanswered {
            self.log.check(invariant, answered, "a request was never answered", &body);
        }
        for row in self.last.rows("operations") {
            if row["deadline_at"].as_i64().is_some_and(|deadline| self.clock >= deadline + 1000) {
                self.log.check("I35", row["state"] != "running", "a deadline never fired", row);
            }
        }
        &self.log.violations
    }

    pub(super) fn candidates(&self, call: &Value) -> impl Iterator<Item = &Request> {
        let id = wired(call);
        self.requests.values().filter(move |request| request.wired == id && request.matches(call))
    }
}
