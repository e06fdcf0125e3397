//! The independent oracle of the simulation: it is told what crossed the wire and what became durable, in
//! order, and answers with violations. It shares no type with the product: it reads wire JSON and a JSON dump.
//!
//! # What to tell it, and when
//! - [`Oracle::new`]`(&manifests, &agents)`: manifests as JSON; `agents` = (agent, conversation) pairs.
//! - [`Oracle::sent`]: an agent's envelope was accepted by the transport, once each (not per delivery).
//! - [`Oracle::received`]: an envelope for an agent. Call it where the Runtime hands bytes to the transport, in
//!   that order, for every send and re-send. If the way to the agent keeps the order, calling it at the agent will do.
//! - [`Oracle::acked`]: the relay acknowledged the outgoing message with this id; [`Oracle::taken`]: the Runtime
//!   acknowledged an agent's envelope to the relay.
//! - [`Oracle::commit`]: after every commit and before its effects are carried out, the dump below.
//! - [`Oracle::crashed`], then [`Oracle::restarted`] with the durable image *before* recovery's first commit.
//! - [`Oracle::host`], [`Oracle::miniapp`]: when the report or request is offered to the Runtime (invocations:
//!   when the Runtime starts one). [`Oracle::clock`]: the world's own effective time (OP-4), after every advance and,
//!   after a restart, before `restarted`.
//! - [`Oracle::calm`]: from here on no faults; then settle everything, repeat some requests, [`Oracle::finish`].
//!
//! # The dump
//! Times are effective milliseconds; a key marked `?` may be absent or null; ids are strings. Ended rows stay in.
//! ```json
//! { "commit": 17, "effective_ms": 1000,
//!   "inventories": [{"conversation":"c-1","agent":"a","revision":"…"}],
//!   "calls": [{"key":"K1","conversation":"c-1","agent":"a","call_id":"k-1","tool":"pomodoro.start",
//!     "contract_version":1,"digest":"…","revision":"…","app_scope":"pomodoro","input":{},"status":"running",
//!     "instance?":"i-1","order":1,"change?":7,
//!     "journal":[{"kind":"receipt","seq":1,"stage":"starting","message_id":"r-1","change?":7},
//!       {"kind":"outcome","message_id":"r-2","status":"completed","result?":{},"code?":"…","change?":9}]}],
//!   "activations": [{"id":"v-1","instance":"i-1","state":"starting","states?":["starting"],
//!     "causing?":"K1","waiting":["K1"]}],
//!   "instances": [{"id":"i-1","conversation":"c-1","app_scope":"pomodoro","state":"starting","attempt?":1}],
//!   "focus": ["i-0","i-1"],
//!   "operations": [{"id":"o-1","call":"K1","instance?":"i-1","conversation":"c-1","app_scope":"pomodoro",
//!     "state":"running","created_at":0,"deadline_at?":9,"ended_at?":9,"late?":true,
//!     "needs_foreground":true,"ends_on_leaving":true,"exclusive?":"workspace"}],
//!   "outbox": [{"message_id":"r-1","conversation":"c-1","recipient":"a","seq":1,"kind":"receipt","call?":"K1","dead?":false}],
//!   "surfaces": [{"instance":"i-1","surface":"main","revision":1,"data":{}}],
//!   "shown": [{"instance":"i-1","surface":"main","revision":1,"data":{}}],
//!   "audit": [{"seq":1,"source":"agent_tool","actor":"a","call?":"K1","happened?":"call_accepted","change?":7}] }
//! ```
//! `key` is the Runtime-minted call key, `order` the order of acceptance, `change` the number of the change set
//! inside batches (without it what must hold "in the same commit" is looked at per dump, or, where a batch
//! could excuse it, not at all). `states` are all states of an activation so far; without it one state at most lies
//! between two dumps. `focus` is bottom to top. `attempt` is the attempt a Host must name when it confirms
//! the foreground. `waiting` lists the calls that wait on the activation, in any order; calls that
//! wait for something else (an exclusive holder, the user) are not in it. `causing` stays when the activation ends.
//! Unchanged rows keep their order from dump to dump. Every call comes from a `tool.invoke`. A crash makes every Host
//! session invisible until the world says otherwise, and the first commit after a restart is recovery's
//! alone. Answers are told with the generation they were given under.
//! `outbox` kinds: `receipt`, `outcome`, `inventory`, others. `audit` may hold only the rows new since the last dump.
//! `surfaces` holds the documents of live instances, `shown` each change of one since the last dump, in order.

mod calls;
mod life;
mod schema;
#[cfg(test)]
mod story;
mod surfaces;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// One broken invariant.
#[derive(Debug, Clone)]
pub struct Violation {
    /// Id in the contract or the list of invariants, such as `I9` or `CALL-5`.
    pub invariant: &'static str,
    /// What was seen, for people.
    pub what: &'static str,
    /// The row or envelope that shows it.
    pub evidence: Value,
    /// When it was told (the world's time of that event).
    pub at: i64,
}

/// What a Host did. Offered intents of the kinds `switch`, `back`, `close` are leaving (HST-2), others are not.
#[derive(Debug, Clone, Copy)]
pub enum Host<'a> {
    /// A session connected; it is not visible yet.
    Connected(&'a str),
    /// A session went away.
    Disconnected(&'a str),
    /// A session became visible or hidden.
    Visible(&'a str, bool),
    /// A session reported this instance in the foreground, naming the attempt.
    Confirmed { session: &'a str, instance: &'a str, attempt: &'a Value },
    /// The user's or system's act: `switch`, `back`, `close`, `hide`, `lock`, `sleep`, `resume`, ...
    Intent(&'a str),
}

/// What happened between the Runtime and a MiniApp.
#[derive(Debug, Clone, Copy)]
pub enum MiniApp<'a> {
    /// A handler was started for the call key; generations of one call grow.
    Invoked { call: &'a str, generation: u64 },
    /// A handler (or `complete` / `fail`) answered; no output is a failure. What is said outside of a delivery
    /// names none, and so is of no older one.
    Answered { call: &'a str, generation: Option<u64>, output: Option<&'a Value> },
    /// A patch of what a Surface shows was offered; `key` names the write inside its work.
    Patched { instance: &'a str, surface: &'a str, key: Option<&'a str>, base: Option<u64>, patch: &'a Value },
}

/// Agent, conversation, agent's own call id.
type Wired = (String, String, String);

/// An answer: the delivery that it names, and its output.
type Said = (Option<u64>, Option<Value>);

/// What was found so far.
#[derive(Debug, Default)]
struct Log {
    violations: Vec<Violation>,
    exercised: BTreeMap<&'static str, u64>,
    at: i64,
}

impl Log {
    /// One non-vacuous look at `invariant`.
    fn check(&mut self, invariant: &'static str, holds: bool, what: &'static str, evidence: &Value) {
        *self.exercised.entry(invariant).or_default() += 1;
        if !holds {
            self.violations.push(Violation { invariant, what, evidence: evidence.clone(), at: self.at });
        }
    }
}

/// A dump with its rows found by id.
#[derive(Debug, Default)]
struct Tables {
    raw: Value,
    index: BTreeMap<&'static str, BTreeMap<String, usize>>,
}

impl Tables {
    fn new(raw: &Value) -> Self {
        let mut index: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let keys = [("calls", "key"), ("activations", "id"), ("instances", "id"), ("operations", "id")];
        for (table, key) in keys.into_iter().chain([("outbox", "message_id")]) {
            for (at, row) in list(raw, table).iter().enumerate() {
                index.entry(table).or_default().insert(text(row, key).to_owned(), at);
            }
        }
        Self { raw: raw.clone(), index }
    }
    fn rows(&self, table: &str) -> &[Value] {
        list(&self.raw, table)
    }
    fn get(&self, table: &'static str, id: &str) -> Option<&Value> {
        self.index.get(table).and_then(|rows| rows.get(id)).map(|at| &self.rows(table)[*at])
    }
    fn top(&self) -> Option<&str> {
        self.rows("focus").last().and_then(Value::as_str)
    }
}

/// An agent's `tool.invoke` as it was sent.
#[derive(Debug)]
struct Request {
    wired: Wired,
    body: Value,
    /// The call was durable already when this was sent.
    repeat: bool,
    answered: bool,
    /// Sent after faults stopped: it must get its own answer.
    calm: bool,
}

/// The observer. See the module documentation for what it expects.
#[derive(Debug, Default)]
pub struct Oracle {
    log: Log,
    tools: BTreeMap<String, Value>,
    agents: BTreeSet<(String, String)>,
    last: Tables,
    clock: i64,
    calm: bool,
    /// After `restarted`, until the first commit.
    recovering: bool,
    crash_clock: i64,
    /// Operations whose deadline passed while the Runtime was down.
    missed: BTreeSet<String>,
    // the wire
    requests: BTreeMap<(String, String), Request>,
    sent_ids: BTreeSet<(String, String)>,
    /// Requests that are no JSON, but name themselves before the fault.
    torn: BTreeSet<(String, String)>,
    /// The conversations that a request named, by its sender and id.
    rooms: BTreeMap<(String, String), BTreeSet<String>>,
    /// The revisions that were ever current for an agent in a conversation.
    current: BTreeMap<(String, String), BTreeSet<String>>,
    repeats: BTreeSet<Wired>,
    taken: BTreeSet<(String, String)>,
    seen: BTreeMap<(String, String), Vec<u8>>,
    spoken: BTreeMap<Wired, wire::Spoken>,
    revisions: BTreeMap<String, String>,
    contents: BTreeMap<String, String>,
    sequences: BTreeMap<(String, String), (i64, String)>,
    first_sends: BTreeMap<(String, String), i64>,
    // the store
    keys: BTreeMap<Wired, String>,
    gone: BTreeSet<String>,
    acked: BTreeSet<String>,
    outbox_seq: BTreeMap<(String, String), i64>,
    outbox_rows: BTreeMap<String, (String, String, i64)>,
    outcome_rows: BTreeMap<String, BTreeSet<String>>,
    audit: BTreeMap<i64, Value>,
    fired: BTreeMap<String, u64>,
    queues: BTreeMap<String, Vec<String>>,
    // the world
    sessions: BTreeSet<String>,
    scopes: BTreeSet<String>,
    visible: BTreeSet<String>,
    /// Instance and attempt: what a visible session said that it shows, as long as that stands.
    confirmed: BTreeSet<(String, String)>,
    /// Calls of tools that need the foreground which went under way.
    begun: BTreeSet<String>,
    leavings: u64,
    leavings_before: [u64; 2],
    marks: BTreeMap<String, u64>,
    disturbed: bool,
    invoked: BTreeMap<String, Vec<u64>>,
    answers: BTreeMap<String, Vec<Said>>,
    late: BTreeSet<String>,
    patches: BTreeMap<(String, String), surfaces::Offered>,
    shown: BTreeMap<(String, String), (i64, Value)>,
}

impl Oracle {
    /// `manifests`: an array of manifests; `agents`: who speaks in which conversation.
    #[must_use]
    pub fn new(manifests: &Value, agents: &[(&str, &str)]) -> Self {
        let mut oracle = Self::default();
        let scopes = manifests.as_array().into_iter().flatten().map(|manifest| text(manifest, "app_scope").to_owned());
        oracle.scopes = scopes.collect();
        for tool in manifests.as_array().into_iter().flatten().flat_map(|manifest| list(manifest, "tools")) {
            let open = tool["input_schema"]["properties"].as_object();
            let reserved = open.is_some_and(|all| all.keys().any(|k| wire::among(wire::RESERVED, k)));
            oracle.log.check("I64", !reserved, "a tool declares a reserved name", tool);
            oracle.tools.insert(text(tool, "id").to_owned(), tool.clone());
        }
        oracle.agents = agents.iter().map(|(a, c)| ((*a).to_owned(), (*c).to_owned())).collect();
        oracle
    }
    /// A commit became durable: `tables` is the dump after it.
    pub fn commit(&mut self, tables: &Value, at: i64) {
        self.log.at = at;
        let now = Tables::new(tables);
        let prev = std::mem::take(&mut self.last);
        for row in now.rows("inventories") {
            let stream = (text(row, "agent").to_owned(), text(row, "conversation").to_owned());
            self.current.entry(stream).or_default().insert(text(row, "revision").to_owned());
        }
        self.check_calls(&prev, &now);
        self.check_outbox(&prev, &now);
        self.check_life(&prev, &now);
        self.surfaces(&prev, &now);
        self.last = now;
        self.leavings_before = [self.leavings_before[1], self.leavings];
        (self.disturbed, self.recovering) = (false, false);
    }
    /// The process died; what it had not committed is lost.
    pub fn crashed(&mut self, at: i64) {
        self.log.at = at;
        self.visible.clear();
        self.crash_clock = self.clock;
    }
    /// The process is up again on this durable image, and has neither committed nor been told anything yet.
    pub fn restarted(&mut self, image: &Value, at: i64) {
        self.log.at = at;
        let (was, is) = (number(&self.last.raw, "commit"), number(image, "commit"));
        let intact = if is == was { TABLES.iter().all(|t| image[t] == self.last.raw[t]) } else { is > was };
        self.log.check("I16", self.last.raw.is_null() || intact, "a crash image is not a committed state", image);
        if is != was {
            self.commit(image, at);
        }
        self.recovering = true;
        // Nobody shows anything yet.
        self.confirmed.clear();
        let down = self.crash_clock..self.clock;
        let running = self.last.rows("operations").iter().filter(|row| row["state"] == "running");
        let passed =
            running.filter(|row| row["deadline_at"].as_i64().is_some_and(|at| at > down.start && at < down.end));
        self.missed.extend(passed.map(|row| text(row, "id").to_owned()));
    }
    /// The world's own effective time.
    pub fn clock(&mut self, effective_ms: i64) {
        self.clock = self.clock.max(effective_ms);
    }
    /// The relay acknowledged an outgoing message.
    pub fn acked(&mut self, message_id: &str) {
        self.acked.insert(message_id.to_owned());
    }
    /// The Runtime acknowledged an agent's envelope to the relay: it must not need it again.
    pub fn taken(&mut self, agent: &str, message_id: &str) {
        self.taken.insert((agent.to_owned(), message_id.to_owned()));
    }
    /// Faults stopped.
    pub fn calm(&mut self) {
        self.calm = true;
    }
    /// What was found so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.log.violations
    }
    /// How often each invariant was looked at with something to see (I70).
    #[must_use]
    pub fn exercised(&self) -> BTreeMap<&str, u64> {
        self.log.exercised.iter().map(|(id, count)| (*id, *count)).collect()
    }
}

/// Every id the oracle can report. A sound set of runs exercises them all, but for those that only a fault shows.
pub const INVARIANTS: &str = "ACT-1 ACT-10 ACT-2 ACT-3 CALL-1 CALL-14 CALL-3 CALL-4 CALL-5 CALL-6 CALL-7 DUR-2 DUR-4 DUR-5 \
    ENT-1 HST-2 HST-3 I1 I10 I11 I12 I13 I14 I16 I2 I24 I25 I26 I27 I28 I29 I3 I30 I31 I32 I33 I34 I35 I36 I37 I38 I39 \
    I4 I44 I45 I46 I47 I5 I56 I58 I6 I61 I62 I63 I64 I65 I7 I8 I9 INV-7 INV-8 OP-2 OP-3 OP-4 OP-5 SUR-3 SUR-4 WIRE-1";
const TABLES: [&str; 8] =
    ["calls", "activations", "instances", "focus", "operations", "outbox", "inventories", "surfaces"];

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}
fn number(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or(0)
}
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}
fn wired(call: &Value) -> Wired {
    (text(call, "agent").to_owned(), text(call, "conversation").to_owned(), text(call, "call_id").to_owned())
}
fn outcome(call: &Value) -> Option<&Value> {
    list(call, "journal").iter().find(|row| row["kind"] == "outcome")
}
fn receipts(call: &Value) -> Vec<&Value> {
    list(call, "journal").iter().filter(|row| row["kind"] == "receipt").collect()
}
