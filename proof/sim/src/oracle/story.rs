//! A correct history for the oracle's own tests, as steps that a test may spoil.

use serde_json::{Value, json};

use super::{Host, MiniApp, Oracle};

/// A history: each step has a name, a kind and what it says.
pub(super) struct History(pub(super) Vec<(&'static str, &'static str, Value)>);

impl History {
    pub(super) fn at(&mut self, name: &str) -> &mut Value {
        &mut self.0.iter_mut().find(|step| step.0 == name).expect("a step of the history").2
    }
    pub(super) fn row(&mut self, name: &str, table: &str, row: usize) -> &mut Value {
        &mut self.at(name)[table][row]
    }
    pub(super) fn drop(&mut self, name: &str) {
        self.0.retain(|step| step.0 != name);
    }
    /// Puts another step before the named one.
    pub(super) fn before(&mut self, name: &str, kind: &'static str, value: Value) {
        let at = self.0.iter().position(|step| step.0 == name).expect("a step of the history");
        self.0.insert(at, ("spoilt", kind, value));
    }
    pub(super) fn copy(&mut self, name: &str) -> Value {
        self.at(name).clone()
    }
    pub(super) fn told(self) -> Oracle {
        let mut oracle = Oracle::new(&manifests(), &[("a", "c")]);
        for (now, (_, kind, value)) in (0..).zip(self.0) {
            let id = value["id"].as_str().unwrap_or("");
            match kind {
                "sent" => oracle.sent("a", value.to_string().as_bytes(), now),
                "got" => oracle.received("a", value.to_string().as_bytes(), now),
                "commit" => {
                    oracle.commit(&value, now);
                    let sent = value["outbox"].as_array().into_iter().flatten();
                    let relayed = sent.filter(|row| row["kind"] != "other");
                    relayed.for_each(|row| oracle.acked(row["message_id"].as_str().unwrap_or("")));
                }
                "restart" => {
                    oracle.crashed(now);
                    oracle.clock(value["clock"].as_i64().unwrap_or(0));
                    oracle.restarted(&value, now);
                }
                "clock" => oracle.clock(value.as_i64().unwrap_or(0)),
                "taken" => oracle.taken("a", id),
                "visible" => oracle.host(Host::Visible("s", true), now),
                "hidden" => oracle.host(Host::Visible("s", false), now),
                "confirmed" => {
                    oracle.host(Host::Confirmed { session: "s", instance: id, attempt: &value["attempt"] }, now)
                }
                "patch" => {
                    let (base, patch) = (value["base"].as_u64(), &value["patch"]);
                    oracle.miniapp(MiniApp::Patched { instance: id, surface: "main", key: None, base, patch }, now);
                }
                "intent" => oracle.host(Host::Intent(value.as_str().unwrap_or("")), now),
                "noise" => oracle.received("a", b"{", now),
                "calm" => oracle.calm(),
                _ => {
                    let generation = value["generation"].as_u64().unwrap_or(1);
                    let named = (!value["outside"].is_boolean()).then_some(generation);
                    let answer = MiniApp::Answered { call: id, generation: named, output: value.get("output") };
                    let start = MiniApp::Invoked { call: id, generation };
                    oracle.miniapp(if kind == "answer" { answer } else { start }, now);
                }
            }
        }
        oracle.finish();
        oracle
    }
}

fn manifests() -> Value {
    let tool = |id: &str, executor: &str, readiness: &str| {
        let input =
            json!({"type":"object","properties":{"n":{"type":"integer","minimum":1}},"additionalProperties":false});
        let states = json!(["completed", "interrupted", "not_started", "drawn"]);
        let output = json!({"type":"object","required":["status"],"properties":{"status":{"enum":states},"by":{"type":"string"}},"additionalProperties":false});
        json!({"id":id,"executor":executor,"readiness":readiness,"input_schema":input,"output_schema":output})
    };
    json!([{"tools":[tool("pomo.start","runtime","foreground_required"), tool("board.draw","miniapp_sdk","app_ready"),
        tool("board.show","miniapp_sdk","foreground_required")]}])
}

pub(super) fn invoke(id: &str, call: &str, tool: &str, n: u64) -> Value {
    json!({"type":"lineup.v1.tool.invoke","id":id,"conversation_id":"c","call_id":call,"tool":tool,"input":{"n":n},"inventory_revision":"R"})
}
pub(super) fn refusal(id: &str, reply: &str, code: &str) -> Value {
    json!({"type":"lineup.v1.miniapp.tool.result","id":id,"conversation_id":"c","status":"rejected","final":false,
        "in_reply_to":reply,"call_id":"k2","code":code,"message":"m","current_revision":"R"})
}
fn inventory(id: &str, sequence: u64) -> Value {
    json!({"type":"lineup.v1.client.inventory","id":id,"conversation_id":"c","sequence":sequence,"revision":"R","tools":[]})
}

/// The state of the correct history and what was told of it.
struct Teller {
    tables: Value,
    steps: Vec<(&'static str, &'static str, Value)>,
    seq: u64,
}

impl Teller {
    fn push(&mut self, name: &'static str, kind: &'static str, value: Value) {
        self.steps.push((name, kind, value));
    }
    fn add(&mut self, table: &str, row: Value) {
        self.tables[table].as_array_mut().expect("a table").push(row);
    }
    fn call(&mut self, key: usize, tool: &str, instance: &str) {
        self.add("calls", json!({"key":format!("K{key}"),"conversation":"c","agent":"a","call_id":format!("k{key}"),"tool":tool,
            "revision":"R","app_scope":tool.split('.').next(),"input":{"n":key},"status":"waiting_for_app","instance":instance,"order":key,"journal":[]}));
        self.add("audit", json!({"seq":key,"source":"agent_tool","actor":"a","call":format!("K{key}")}));
    }
    fn queue(&mut self, key: usize, kind: &str, id: &'static str) {
        self.seq += 1;
        let (seq, call) = (self.seq, format!("K{key}"));
        self.add(
            "outbox",
            json!({"message_id":id,"conversation":"c","recipient":"a","seq":seq,"kind":kind,"call":call}),
        );
    }
    fn journal(&mut self, key: usize) -> &mut Vec<Value> {
        self.tables["calls"][key - 1]["journal"].as_array_mut().expect("a journal")
    }
    fn receipt(&mut self, key: usize, stage: &str, id: &'static str) -> Value {
        let (seq, change) = (self.journal(key).len() + 1, self.tables["commit"].clone());
        self.journal(key).push(json!({"kind":"receipt","seq":seq,"stage":stage,"message_id":id,"change":change}));
        self.queue(key, "receipt", id);
        json!({"type":"lineup.v1.miniapp.tool.progress","id":id,"conversation_id":"c","call_id":format!("k{key}"),"seq":seq,"stage":stage})
    }
    fn settle(&mut self, key: usize, status: &str, said: Value, id: &'static str) -> Value {
        let (mut row, mut wire) = (
            json!({"kind":"outcome","message_id":id,"status":status,"change":self.tables["commit"]}),
            json!({"type":"lineup.v1.miniapp.tool.result","id":id,"conversation_id":"c","call_id":format!("k{key}"),"status":status,"final":true}),
        );
        let name = if said.is_string() { "code" } else { "result" };
        (row[name], wire[name]) = (said.clone(), said);
        self.journal(key).push(row);
        self.tables["calls"][key - 1]["status"] = json!(status);
        self.queue(key, "outcome", id);
        wire
    }
    fn commit(&mut self, name: &'static str) {
        let tables = self.tables.clone();
        self.push(name, "commit", tables);
        (self.tables["outbox"], self.tables["shown"]) = (json!([]), json!([]));
        self.tables["commit"] = json!(self.tables["commit"].as_u64().unwrap_or(0) + 1);
    }
}

/// Pomodoro runs to its deadline while two drawings are made over a crash; a start fails; one is left.
pub(super) fn history() -> History {
    let empty = json!({"commit":1,"effective_ms":0,"inventories":[{"conversation":"c","agent":"a","revision":"R"}],
        "calls":[],"activations":[],"instances":[],"focus":[],"operations":[],"outbox":[],"audit":[],
        "surfaces":[],"shown":[]});
    let mut t = Teller { tables: empty, steps: Vec::new(), seq: 0 };
    t.commit("empty");
    t.push("inventory", "got", inventory("m1", 1));
    t.push("inventory again", "got", inventory("m2", 2));
    let operation = |id: &str, call: &str, instance: &str, created: u64| {
        json!({"id":id,"call":call,"instance":instance,"conversation":"c","app_scope":"pomo","state":"running","created_at":created,
            "deadline_at":created+100,"needs_foreground":true,"ends_on_leaving":true,"exclusive":"workspace"})
    };
    let instance = |id: &str| json!({"id":id,"conversation":"c","app_scope":id,"state":"foreground","attempt":1});
    t.push("ask start", "sent", invoke("s1", "k1", "pomo.start", 1));
    t.call(1, "pomo.start", "i1");
    t.add("instances", instance("i1"));
    t.add("activations", json!({"id":"v1","instance":"i1","state":"starting","causing":"K1","waiting":["K1"]}));
    let starting = t.receipt(1, "starting", "r1");
    t.commit("starting");
    t.push("hear starting", "got", starting);
    t.push("visible", "visible", json!(null));
    t.push("confirmed", "confirmed", json!({"id":"i1","attempt":1}));
    t.tables["activations"][0] = json!({"id":"v1","instance":"i1","state":"ready","causing":"K1","waiting":[]});
    t.tables["focus"] = json!(["i1"]);
    t.add("operations", operation("o1", "K1", "i1", 0));
    let started = t.receipt(1, "started", "r2");
    t.commit("started");
    t.push("hear started", "got", started);
    t.push("patched", "patch", json!({"id":"i1","base":0,"patch":{"a":1}}));
    t.add("surfaces", json!({"instance":"i1","surface":"main","revision":1,"data":{"a":1}}));
    t.tables["shown"] = t.tables["surfaces"].clone();
    t.push("ask draw", "sent", invoke("s2", "k2", "board.draw", 2));
    t.push("ask draw too", "sent", invoke("s3", "k3", "board.draw", 3));
    (2..4).for_each(|key| t.call(key, "board.draw", "i2"));
    t.add("instances", instance("i2"));
    t.add("activations", json!({"id":"v2","instance":"i2","state":"starting","causing":"K2","waiting":["K2","K3"]}));
    let heard = [t.receipt(2, "starting", "r3"), t.receipt(3, "accepted", "r4")];
    t.commit("drawing waits");
    heard.into_iter().for_each(|wire| t.push("hear waits", "got", wire));
    t.tables["activations"][1] = json!({"id":"v2","instance":"i2","state":"ready","causing":"K2","waiting":[]});
    let ready = t.receipt(2, "activation_ready", "r5");
    t.commit("board ready");
    t.push("hear ready", "got", ready);
    t.push("lock", "intent", json!("lock"));
    t.push("draw first", "invoke", json!({"id":"K2"}));
    t.push("draw second", "invoke", json!({"id":"K3"}));
    t.push("second dies", "restart", t.steps.iter().rfind(|step| step.1 == "commit").expect("a commit").2.clone());
    t.commit("recovered");
    t.push("draw second again", "invoke", json!({"id":"K3","generation":2}));
    t.push("first drawn", "answer", json!({"id":"K2","output":{"status":"drawn"}}));
    t.push("second drawn", "answer", json!({"id":"K3","generation":2,"output":{"status":"drawn"}}));
    let drawn = [
        t.settle(2, "completed", json!({"status":"drawn"}), "r6"),
        t.settle(3, "completed", json!({"status":"drawn"}), "r7"),
    ];
    t.commit("drawn");
    drawn.clone().into_iter().zip(["hear drawn", "hear drawn too"]).for_each(|(wire, name)| t.push(name, "got", wire));
    t.push("late", "answer", json!({"id":"K2","output":{"status":"not_started"}}));
    t.push("repeat", "sent", invoke("s4", "k2", "board.draw", 2));
    t.push("hear repeat", "got", drawn[0].clone());
    t.push("conflict", "sent", invoke("s5", "k2", "board.draw", 9));
    t.push("hear conflict", "got", refusal("m3", "s5", "call_id_conflict"));
    let mut stale = invoke("s6", "k9", "board.draw", 2);
    stale["inventory_revision"] = json!("OLD");
    t.push("stale", "sent", stale);
    let mut refused = refusal("m4", "s6", "inventory_revision_mismatch");
    refused["call_id"] = json!("k9");
    t.push("hear stale", "got", refused);
    t.push("ask show", "sent", invoke("s7", "k4", "board.show", 4));
    t.call(4, "board.show", "i3");
    t.add("instances", instance("i3"));
    t.add("activations", json!({"id":"v3","instance":"i3","state":"starting","causing":"K4","waiting":["K4"]}));
    let heard = t.receipt(4, "starting", "r8");
    t.commit("show waits");
    t.push("hear show", "got", heard);
    t.tables["activations"][2] = json!({"id":"v3","instance":"i3","state":"failed","causing":"K4","waiting":[]});
    let heard = [t.receipt(4, "activation_failed", "r9"), t.settle(4, "expired", json!("call_expired"), "r10")];
    t.commit("show fails");
    heard.into_iter().zip(["hear failing", "hear failed"]).for_each(|(wire, name)| t.push(name, "got", wire));
    t.push("visible again", "visible", json!(null));
    t.push("confirmed again", "confirmed", json!({"id":"i1","attempt":1}));
    t.push("the deadline", "clock", json!(100));
    t.push("ask start too", "sent", invoke("s8", "k5", "pomo.start", 5));
    t.tables["effective_ms"] = json!(100);
    t.tables["operations"][0]["state"] = json!("completed");
    t.tables["operations"][0]["ended_at"] = json!(100);
    let heard = t.settle(1, "completed", json!({"status":"completed"}), "r11");
    t.call(5, "pomo.start", "i1");
    t.add("operations", operation("o2", "K5", "i1", 100));
    let too = [t.receipt(5, "accepted", "r12"), t.receipt(5, "started", "r13")];
    t.tables["calls"][4]["journal"][0]["change"] = json!("accept");
    t.commit("completed");
    [heard].into_iter().chain(too).for_each(|wire| t.push("hear completed", "got", wire));
    (0..2).for_each(|_| t.commit("quiet"));
    t.push("leave", "intent", json!("back"));
    t.tables["operations"][1]["state"] = json!("interrupted");
    t.tables["focus"] = json!([]);
    let heard = t.settle(5, "completed", json!({"status":"interrupted","by":"left"}), "r14");
    t.commit("left");
    t.push("hear left", "got", heard);
    t.push("much later", "clock", json!(1200));
    t.push("calm", "calm", json!(null));
    t.push("calm repeat", "sent", invoke("s9", "k2", "board.draw", 2));
    t.push("hear calm repeat", "got", drawn[0].clone());
    History(t.steps)
}
