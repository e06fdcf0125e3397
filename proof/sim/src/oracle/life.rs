//! Activations, operations, focus, time, entries: dump against dump, and handler starts against the last dump.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::schema::canonical;
use super::{Oracle, Tables, list, number, outcome, receipts, text};

const MAX_WAITING: usize = 100;
const MAX_WAITING_IN_ALL: usize = 10_000;
const MAX_FOCUS: usize = 32;
const MAX_DEADLINE_MS: i64 = 24 * 60 * 60 * 1000;
const MAX_ATTEMPTS: usize = 3;
/// What only one entry does (ENT-1, ENT-3, HST-1, SES-1, SES-3).
const ONLY: [(&str, &str); 12] = [
    ("call_accepted", "agent_tool"),
    ("inbox_received", "agent_tool"),
    ("action_accepted", "ui_action"),
    ("intent_done", "host_lifecycle"),
    ("session_data_written", "miniapp"),
    ("inbox_acknowledged", "miniapp"),
    ("text_sent", "miniapp"),
    ("recovered", "runtime"),
    ("apps_registered", "runtime"),
    ("policy_changed", "runtime"),
    ("host_paired", "runtime"),
    ("conversation_changed", "runtime"),
];

fn names(value: &Value, key: &str) -> Vec<String> {
    list(value, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
/// The edges of an activation.
fn edge(from: &str, to: &str) -> bool {
    match from {
        "none" => to == "starting",
        "starting" => matches!(to, "ready" | "failed" | "cancelled"),
        "ready" => to == "closed",
        _ => false,
    }
}
fn ended(call: Option<&Value>) -> Option<&Value> {
    call.and_then(outcome)
}

impl Oracle {
    pub(super) fn check_life(&mut self, prev: &Tables, now: &Tables) {
        let (before, after) = (number(&prev.raw, "effective_ms"), number(&now.raw, "effective_ms"));
        self.log.check("I38", after >= before, "the stored clock went back", &json!([before, after]));
        // Effective time advances by elapsed time and by nothing else.
        self.log.check("OP-4", after <= self.clock, "effective time runs ahead", &json!([after, self.clock]));
        self.activations(prev, now);
        self.operations(prev, now);
        self.focus(prev, now);
        self.foreground_starts(prev, now);
        self.audit(now);
    }

    fn activations(&mut self, prev: &Tables, now: &Tables) {
        let mut homes = BTreeSet::new();
        for row in now.rows("instances").iter().filter(|row| row["state"] != "closed") {
            let alone = homes.insert((text(row, "conversation"), text(row, "app_scope")));
            self.log.check("ACT-1", alone, "two live instances of an app in one conversation", row);
        }
        let (mut live, mut in_all) = (BTreeSet::new(), 0);
        for row in now.rows("activations") {
            let (state, waiting, instance) = (text(row, "state"), names(row, "waiting"), text(row, "instance"));
            let old = prev.get("activations", text(row, "id"));
            let was = old.map_or("none", |old| text(old, "state"));
            // A batch may hold several changes, even a whole life: `states` says what lies between two dumps.
            let then = old.map(|old| names(old, "states")).unwrap_or_default();
            let path = names(row, "states");
            if was != state || path != then {
                let mut went = path.strip_prefix(&*then).map(<[_]>::to_vec).unwrap_or_default();
                if path.is_empty() {
                    went.push(state.to_owned());
                }
                let mut at = was;
                let edges = went.iter().all(|next| edge(std::mem::replace(&mut at, next), next));
                let whole = edges && at == state;
                self.log.check("I24", whole, "not an edge of the activation", &json!([was, row]));
            }
            if matches!(state, "starting" | "ready") {
                self.log.check("I25", live.insert(instance), "two live activations of one instance", row);
            }
            if !waiting.is_empty() {
                self.log.check("I26", state == "starting", "calls wait on an ended activation", row);
                self.log.check("I29", waiting.len() <= MAX_WAITING, "too many calls wait", row);
            }
            in_all += waiting.len();
            let Some(old) = old else { continue };
            for key in names(old, "waiting") {
                let (then, call) = (prev.get("calls", &key), now.get("calls", &key));
                if ended(then).is_none()
                    && ended(call).is_some_and(|o| o["status"] == "expired" || o["status"] == "cancelled")
                {
                    self.log.check("I30", !self.invoked.contains_key(&key), "a call that never ran was running", row);
                }
                if was == "starting" && matches!(state, "failed" | "cancelled") {
                    let code = ended(call).map_or("", |o| text(o, "code"));
                    let causing = row["causing"] == key.as_str();
                    let told = ended(call).is_some_and(|o| {
                        causing
                            || matches!(text(o, "status"), "expired" | "cancelled")
                            || code.starts_with("app_")
                            || matches!(code, "host_unavailable" | "lifecycle_denied")
                    });
                    self.log.check("I28", told && waiting.is_empty(), "an activation ended without its calls", row);
                }
            }
        }
        for row in now.rows("activations").iter().filter(|row| row["state"] == "starting") {
            // Whoever came first is first, also if a later call caused the activation that both wait on (ACT-3, I27).
            let mut queue = names(row, "waiting");
            queue.sort_by_key(|key| now.get("calls", key).map(|call| number(call, "order")));
            self.queues.insert(text(row, "instance").to_owned(), queue);
        }
        if in_all > 0 {
            self.log.check("I29", in_all <= MAX_WAITING_IN_ALL, "too many calls wait in the workspace", &json!(in_all));
        }
    }

    /// A handler was started: for a durable, unfinished call, in order, as the next numbered attempt.
    pub(super) fn handler_started(&mut self, key: &str, generation: u64) {
        let call = self.last.get("calls", key);
        let shown = call.cloned().unwrap_or_else(|| json!(key));
        self.log.check("I62", call.is_some(), "a handler runs for a call that was not accepted", &shown);
        if ended(call).is_some() {
            self.log.check("I30", false, "a handler runs for an ended call", &shown);
        }
        let earlier = self.invoked.entry(key.to_owned()).or_default();
        self.log.check("I3", earlier.iter().all(|g| *g < generation), "an attempt is not numbered on", &shown);
        earlier.push(generation);
        if earlier.len() > 1 {
            self.log.check("DUR-4", earlier.len() <= MAX_ATTEMPTS, "too many deliveries", &shown);
            return;
        }
        let needs = self.tools.get(text(&shown, "tool")).is_some_and(|tool| tool["readiness"] == "foreground_required");
        if needs {
            let began = self.begun.contains(key);
            self.log.check("ACT-2", began, "a handler that needs the foreground ran without it", &shown);
        }
        let kind = |key: &str| {
            let tool = self.tools.get(text(self.last.get("calls", key)?, "tool"))?;
            Some((tool["readiness"].clone(), tool["executor"].to_string().contains("miniapp_sdk")))
        };
        let queue = self.queues.get(text(&shown, "instance"));
        if let Some((queue, at)) = queue.and_then(|q| Some((q, q.iter().position(|k| k == key)?))) {
            let passed = queue[..at].iter().any(|other| {
                let waits = self.last.get("calls", other).is_some_and(|row| outcome(row).is_none());
                waits && kind(other) == kind(key) && !self.invoked.contains_key(other)
            });
            self.log.check("ACT-3", !passed, "a call was delivered before an earlier one", &shown);
        }
    }

    fn operations(&mut self, prev: &Tables, now: &Tables) {
        let (mut calls, mut exclusive) = (BTreeSet::new(), BTreeSet::new());
        for row in now.rows("operations") {
            let (id, state) = (text(row, "id").to_owned(), text(row, "state"));
            let call = now.get("calls", text(row, "call"));
            self.log.check("I3", calls.insert(text(row, "call").to_owned()), "two operations of one call", row);
            if state == "running" {
                let among = match text(row, "exclusive") {
                    "workspace" => Some(text(row, "app_scope").to_owned()),
                    "conversation" => Some(format!("{} {}", text(row, "app_scope"), text(row, "conversation"))),
                    _ => None,
                };
                if let Some(among) = among {
                    self.log.check("OP-3", exclusive.insert(among), "two exclusive operations run", row);
                }
                if self.disturbed && row["ends_on_leaving"] == true && prev.get("operations", &id).is_some() {
                    self.log.check("HST-2", true, "", row);
                }
            } else {
                self.log.check("I32", ended(call).is_some(), "an operation ended without its call", row);
            }
            let old = prev.get("operations", &id);
            match old {
                None => self.operation_created(prev, row, call),
                Some(old) => {
                    let kept = old["deadline_at"] == row["deadline_at"] && old["created_at"] == row["created_at"];
                    self.log.check("I33", kept, "a deadline moved", row);
                    if old["state"] != "running" {
                        self.log.check("I31", old["state"] == row["state"], "a terminal operation changed", row);
                    }
                }
            }
            if state != "running" && old.is_none_or(|old| old["state"] != row["state"]) {
                self.operation_ended(prev, now, row, old.is_some());
            }
        }
        for row in prev.rows("operations") {
            let kept = now.get("operations", text(row, "id")).is_some();
            self.log.check(if self.recovering { "I39" } else { "I31" }, kept, "an operation was lost", row);
            if self.recovering && row["state"] == "running" {
                self.recovered(now, row);
            }
        }
    }

    /// I39: nobody can have asked for anything yet, so that nothing but what was stored and the time can have ended
    /// an operation: its deadline, or the end of its call by time, by an app that is gone, by its last hand-over.
    fn recovered(&mut self, now: &Tables, row: &Value) {
        let state = now.get("operations", text(row, "id")).map_or("", |row| text(row, "state"));
        let due = row["deadline_at"].as_i64().is_some_and(|at| self.clock >= at);
        let call = now.get("calls", text(row, "call"));
        let code = ended(call).map_or("", |row| text(row, "code"));
        let tool = call.and_then(|call| self.tools.get(text(call, "tool")));
        let by_handler = tool.is_some_and(|tool| tool["executor"].to_string().contains("miniapp_sdk"));
        let ruled = match code {
            // A deadline operation has its deadline for a timeout, and only `expires_at` can come before it (CALL-9).
            "call_expired" | "app_disabled" => state != "completed",
            "app_delivery_exhausted" => by_handler && state != "completed",
            _ => false,
        };
        let own = state == "running" || (state == "completed" && due) || ruled;
        self.log.check("I39", own, "recovery ended an operation", row);
    }

    fn operation_created(&mut self, prev: &Tables, row: &Value, call: Option<&Value>) {
        self.marks.insert(text(row, "id").to_owned(), self.leavings_before[0]);
        if let Some(deadline) = row["deadline_at"].as_i64() {
            let created = number(row, "created_at");
            let sane = created < deadline && deadline <= created + MAX_DEADLINE_MS;
            self.log.check("I33", sane, "not a deadline", row);
        }
        let Some(call) = call else { return };
        let overtaken =
            prev.rows("operations").iter().filter(|other| other["instance"] == row["instance"]).any(|other| {
                let earlier = prev.get("calls", text(other, "call"));
                earlier.is_some_and(|c| c["tool"] == call["tool"] && number(c, "order") > number(call, "order"))
            });
        self.log.check("I27", !overtaken, "operations start out of order", row);
    }

    fn operation_ended(&mut self, prev: &Tables, now: &Tables, row: &Value, ran: bool) {
        let (id, state) = (text(row, "id"), text(row, "state"));
        let result = ended(now.get("calls", text(row, "call")));
        let settled_before = ended(prev.get("calls", text(row, "call"))).is_some();
        self.log.check("OP-2", result.is_some() && !settled_before, "not one commit with the outcome", row);
        let deadline = row["deadline_at"].as_i64();
        if let (Some(deadline), "completed") = (deadline, state) {
            let fired = self.fired.entry(id.to_owned()).or_default();
            *fired += 1;
            self.log.check("I36", *fired == 1, "a deadline fired twice", row);
            let due = self.clock >= deadline && number(&now.raw, "effective_ms") >= deadline;
            self.log.check("I34", due, "completed before its deadline", row);
            self.log.check("OP-4", due && number(row, "ended_at") >= deadline, "completed before its deadline", row);
        }
        // The deadline passed while nothing ran: it is completed, late, as of the deadline.
        if ran && self.missed.remove(id) {
            let late = state == "completed" && row["late"] == true && row["ended_at"] == row["deadline_at"];
            self.log.check("OP-4", late, "a deadline missed while down was not completed late", row);
        }
        let absent = result.is_some_and(|o| o["code"] == "host_unavailable");
        self.log.check("OP-5", !absent, "an operation ended because a Host was absent", row);
        if state == "interrupted" && ran {
            let left = self.leavings > self.marks.get(id).copied().unwrap_or(0);
            let by_call = now.rows("calls").iter().any(|call| {
                call["key"] != row["call"]
                    && ["conversation", "app_scope"].iter().all(|k| call[k] == row[k])
                    && outcome(call).is_some()
                    && ended(prev.get("calls", text(call, "key"))).is_none()
            });
            let says_left = result.is_some_and(|o| o["result"]["by"] == "left");
            let by_rule = result
                .is_some_and(|o| matches!(text(o, "status"), "cancelled" | "expired") || o["code"] == "app_disabled");
            let fair = if says_left { left } else { left || by_call || by_rule };
            self.log.check("HST-2", fair, "interrupted though nobody left or asked", row);
        }
    }

    fn focus(&mut self, prev: &Tables, now: &Tables) {
        let (old, new) = (names(&prev.raw, "focus"), names(&now.raw, "focus"));
        let live = |id: &String| now.get("instances", id).is_some_and(|row| row["state"] != "closed");
        if !new.is_empty() {
            let distinct = new.iter().collect::<BTreeSet<_>>().len() == new.len();
            let sound = distinct && new.len() <= MAX_FOCUS && new.iter().all(live);
            self.log.check("I56", sound, "the focus stack is not a set of live instances", &now.raw["focus"]);
        }
        if self.recovering && !old.is_empty() {
            let kept: Vec<_> = old.iter().filter(|id| live(id)).cloned().collect();
            // A call that ended while nothing ran gives the focus back, if its tool declares that (INV-3): from the
            // top, and never from under an operation that holds it (ACT-10).
            let restored = |id: &String| {
                let bound = |row: &Value| row["instance"] == id.as_str() && row["needs_foreground"] == true;
                let held = now.rows("operations").iter().any(|row| bound(row) && row["state"] == "running");
                let declared = now.rows("calls").iter().any(|call| {
                    let tool = self.tools.get(text(call, "tool"));
                    call["instance"] == id.as_str()
                        && tool.is_some_and(|tool| tool["target"]["restore_previous_focus"] == true)
                        && outcome(call).is_some()
                        && ended(prev.get("calls", text(call, "key"))).is_none()
                });
                declared && !held
            };
            let sound = kept.starts_with(&new) && kept[new.len()..].iter().all(restored);
            self.log.check("I58", sound, "the focus changed over a restart", &json!([old, new]));
        }
        let Some(top) = prev.top() else { return };
        for row in now.rows("operations").iter().filter(|row| row["instance"] == top && row["state"] == "running") {
            let ran = prev.get("operations", text(row, "id")).is_some();
            if !ran || row["needs_foreground"] != true {
                continue;
            }
            let left = self.leavings > self.marks.get(text(row, "id")).copied().unwrap_or(0);
            if now.top() == Some(top) {
                let wanted = now.rows("calls").iter().any(|call| {
                    let tool = self.tools.get(text(call, "tool"));
                    call["instance"] != top
                        && outcome(call).is_none()
                        && tool.is_some_and(|tool| tool["readiness"] == "foreground_required")
                });
                if wanted {
                    self.log.check("ACT-10", true, "", row);
                }
            } else if !left {
                self.log.check("ACT-10", false, "a foreground-bound operation was covered and nobody left", row);
            } else if row["ends_on_leaving"] == true {
                self.log.check("HST-2", false, "the user left and the operation runs on", row);
            }
        }
    }

    /// HST-3, ACT-2: what needs the foreground goes under way after a session confirmed the attempt, and not because
    /// the user, the MiniApp or the Runtime wants the instance in front.
    fn foreground_starts(&mut self, prev: &Tables, now: &Tables) {
        for call in now.rows("calls") {
            let key = text(call, "key");
            let started = |call: &Value| receipts(call).iter().any(|row| row["stage"] == "started");
            let tool = self.tools.get(text(call, "tool"));
            let needs = tool.is_some_and(|tool| tool["readiness"] == "foreground_required");
            if !needs || !(started(call) || call["status"] == "running") || !self.begun.insert(key.to_owned()) {
                continue;
            }
            let instance = text(call, "instance");
            let confirmed = [prev, now].iter().filter_map(|tables| tables.get("instances", instance)).any(|row| {
                !row["attempt"].is_null() && self.confirmed.contains(&(instance.to_owned(), canonical(&row["attempt"])))
            });
            let invariant = if started(call) { "HST-3" } else { "ACT-2" };
            self.log.check(invariant, confirmed, "under way without a confirmed foreground", call);
        }
        // What is covered was shown, and is to be confirmed anew; one that is only on its way was not in front yet.
        let top = now.top();
        let coming = |instance: &str, attempt: &str| {
            let activation = |row: &&Value| {
                row["instance"] == instance && row["state"] == "starting" && canonical(&row["id"]) == attempt
            };
            now.rows("activations").iter().any(|row| activation(&row))
        };
        self.confirmed.retain(|(instance, attempt)| top == Some(instance.as_str()) || coming(instance, attempt));
    }

    fn audit(&mut self, now: &Tables) {
        for row in now.rows("audit") {
            let seq = number(row, "seq");
            if let Some(old) = self.audit.get(&seq) {
                self.log.check("DUR-5", old == row, "an audit row changed", row);
                continue;
            }
            let grows = self.audit.last_key_value().is_none_or(|(last, _)| seq > *last);
            self.log.check("DUR-5", grows, "audit is not appended", row);
            let (source, happened) = (text(row, "source"), text(row, "happened"));
            let only = ONLY.iter().find(|(word, _)| *word == happened).map(|(_, source)| *source);
            self.log.check("I63", only.is_none_or(|only| only == source), "this entry may not do that", row);
            self.log.check("I63", self.is_behind(now, row), "one entry poses as another", row);
            self.audit.insert(seq, row.clone());
        }
    }

    /// Whether the actor of an audit row is one that its entry can have.
    fn is_behind(&self, now: &Tables, row: &Value) -> bool {
        let actor = text(row, "actor");
        let is_agent = self.agents.iter().any(|(agent, _)| agent == actor);
        match text(row, "source") {
            "agent_tool" => {
                let Some(call) = now.get("calls", text(row, "call")) else { return is_agent };
                if call["agent"] == actor {
                    return is_agent;
                }
                // What an agent asks for may move or end another's call, by interrupting it or by taking its turn:
                // then the change holds a call of its own. It never takes one in for another.
                let accepted = row["happened"] == "call_accepted" || call["order"] == row["seq"];
                let asks = |other: &Value| {
                    let own = now.get("calls", text(other, "call"));
                    other["change"] == row["change"]
                        && other["source"] == "agent_tool"
                        && other["actor"] == actor
                        && own.is_some_and(|own| own["agent"] == actor)
                };
                is_agent && !accepted && !row["change"].is_null() && now.rows("audit").iter().any(asks)
            }
            "ui_action" | "host_lifecycle" => self.sessions.contains(actor),
            "miniapp" => self.scopes.contains(actor),
            other => other == "runtime" && !is_agent,
        }
    }
}
