//! Calls, their journals, and the outbox, dump against dump.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::schema::{canonical, valid};
use super::wire::{among, known_code};
use super::{Log, Oracle, Tables, list, number, outcome, receipts, text, wired};

pub(super) const STAGES: &str = "accepted starting activation_ready started app activation_failed activation_cancelled";
const FINAL: &str = "completed failed cancelled expired rejected";
const FIXED: &str = "conversation agent call_id tool contract_version digest revision app_scope input order";

impl Oracle {
    pub(super) fn check_calls(&mut self, prev: &Tables, now: &Tables) {
        let mut ids = BTreeSet::new();
        for call in now.rows("calls") {
            let key = text(call, "key").to_owned();
            let pinned = self.keys.entry(wired(call)).or_insert_with(|| key.clone()) == &key;
            self.log.check("I1", pinned && ids.insert(wired(call)), "two records for one call id", call);
            let old = prev.get("calls", &key);
            match old {
                Some(old) => {
                    let fixed = FIXED.split_ascii_whitespace().all(|field| old[field] == call[field]);
                    self.log.check("I2", fixed, "what was asked changed", &json!([old, call]));
                }
                None => self.accepted(prev, now, call),
            }
            self.journal(now, old, call);
        }
        for call in prev.rows("calls") {
            let kept = now.get("calls", text(call, "key")).is_some();
            self.log.check("DUR-4", kept, "a call was lost", call);
        }
    }

    /// A record that was not there before: it came from an agent, by a current revision, and is audited.
    fn accepted(&mut self, prev: &Tables, now: &Tables, call: &Value) {
        let asked: Vec<bool> = self.candidates(call).map(super::Request::well_formed).collect();
        let known = self.agents.contains(&(text(call, "agent").to_owned(), text(call, "conversation").to_owned()));
        self.log.check("I63", known && !asked.is_empty(), "a call that no agent asked for", call);
        self.log.check("I64", asked.is_empty() || asked.contains(&true), "a request with reserved fields ran", call);
        let current = |tables: &Tables| {
            let mine = |row: &&Value| row["conversation"] == call["conversation"] && row["agent"] == call["agent"];
            tables.rows("inventories").iter().find(mine).is_some_and(|row| row["revision"] == call["revision"])
        };
        let carried = self.candidates(call).any(|r| r.body["inventory_revision"] == call["revision"]);
        let fresh = carried && (current(prev) || current(now));
        for invariant in ["I62", "INV-8"] {
            self.log.check(invariant, asked.is_empty() || fresh, "accepted by a revision that is not current", call);
        }
        if let Some(tool) = self.tools.get(text(call, "tool")) {
            self.log.check("CALL-1", valid(&tool["input_schema"], &call["input"]), "an invalid input ran", call);
        }
        let audited = now.rows("audit").iter().any(|row| row["call"] == call["key"] && row["source"] == "agent_tool");
        self.log.check("I16", audited, "a call without its audit row", call);
        self.log.check("CALL-14", !list(call, "journal").is_empty(), "taken in without a word", call);
    }

    fn journal(&mut self, now: &Tables, old: Option<&Value>, call: &Value) {
        let (rows, key) = (list(call, "journal"), text(call, "key"));
        let (receipts, result) = (receipts(call), outcome(call));
        let before = old.map_or(&[][..], |old| list(old, "journal"));
        if let Some(first) = old.and_then(outcome) {
            let kept = result == Some(first) && text(call, "status") == text(first, "status");
            self.log.check("I10", kept, "an outcome changed", call);
            self.log.check("CALL-5", kept, "an outcome changed", call);
            self.log.check("I13", rows.len() == before.len(), "a receipt after the outcome", call);
            if self.repeats.contains(&wired(call)) {
                self.log.check("I4", old == Some(call), "a repeat changed the record", call);
            }
            if self.late.contains(key) {
                self.log.check("I37", kept, "a late completion changed the outcome", call);
            }
        }
        if old == Some(call) {
            return;
        }
        for row in rows {
            let staged = among(STAGES, text(row, "stage")) && row.get("status").is_none();
            let settled = among(FINAL, text(row, "status")) && row.get("stage").is_none_or(Value::is_null);
            let sorted = if row["kind"] == "receipt" { staged } else { row["kind"] == "outcome" && settled };
            self.log.check("I12", sorted, "a journal row is neither receipt nor outcome", row);
        }
        if !receipts.is_empty() {
            let counted = receipts.iter().zip(1..).all(|(row, n)| row["seq"] == n);
            self.log.check("I13", counted, "receipts have a gap or a repeat", call);
        }
        let count = rows.iter().filter(|row| row["kind"] == "outcome").count();
        let terminal = among(FINAL, text(call, "status"));
        self.log.check("I9", count == usize::from(terminal), "final and outcome do not agree", call);
        self.log.check("CALL-5", count < 2, "two outcomes", call);
        self.log.check("I13", rows.starts_with(before), "a journal row changed or went", call);
        for row in rows.iter().skip(before.len()) {
            let kind = text(row, "kind");
            let out = now.get("outbox", text(row, "message_id"));
            let queued = out.is_some_and(|o| o["kind"] == kind && o["call"] == call["key"]);
            let invariant = if kind == "outcome" { "I14" } else { "I44" };
            self.log.check(invariant, queued, "a journal row without its outbox row", row);
            self.log.check("I16", queued, "half of a commit: journal without outbox", row);
        }
        order_of_receipts(&mut self.log, now, rows, before.len(), call);
        if let (Some(result), None) = (result, old.and_then(outcome)) {
            self.new_outcome(call, result);
            self.agrees_with_operation(now, call, result);
        }
    }

    fn new_outcome(&mut self, call: &Value, result: &Value) {
        let (key, tool) = (text(call, "key"), self.tools.get(text(call, "tool")));
        if result["status"] != "completed" {
            let coded = known_code(text(result, "code")) && result["result"].is_null();
            return self.log.check("I11", coded, "not the shape of a failure", call);
        }
        let fits = tool.is_some_and(|tool| valid(&tool["output_schema"], &result["result"]));
        self.log.check("I11", fits, "a completed outcome breaks the output schema", call);
        self.log.check("CALL-6", fits, "a completed outcome breaks the output schema", call);
        let by_handler = tool.is_some_and(|tool| tool["executor"].to_string().contains("miniapp_sdk"));
        if let Some(newest) = self.invoked.get(key).and_then(|all| all.iter().max()).filter(|_| by_handler) {
            let said = self.answers.get(key).is_some_and(|all| {
                all.iter().any(|(generation, output)| {
                    generation.is_none_or(|generation| generation == *newest)
                        && output.as_ref().is_some_and(|o| canonical(o) == canonical(&result["result"]))
                })
            });
            self.log.check("DUR-4", said, "an outcome that the newest delivery did not give", call);
        }
    }

    fn agrees_with_operation(&mut self, now: &Tables, call: &Value, result: &Value) {
        for operation in now.rows("operations").iter().filter(|row| row["call"] == call["key"]) {
            let (state, shown) = (text(operation, "state"), text(&result["result"], "status"));
            self.log.check("I32", state != "running", "an outcome while its operation runs", operation);
            let clash = (state == "interrupted" && shown == "completed" && result["status"] == "completed")
                || (state == "completed" && shown == "interrupted");
            self.log.check("OP-2", !clash, "operation and outcome disagree", &json!([operation, call]));
        }
    }

    pub(super) fn check_outbox(&mut self, prev: &Tables, now: &Tables) {
        let mut ids = BTreeSet::new();
        let mut rows: Vec<&Value> = now.rows("outbox").iter().collect();
        rows.sort_by_key(|row| number(row, "seq"));
        for row in rows {
            let (id, kind) = (text(row, "message_id").to_owned(), text(row, "kind"));
            self.log.check("I44", ids.insert(id.clone()), "two outbox rows with one id", row);
            let call = now.get("calls", text(row, "call"));
            if kind == "receipt" || kind == "outcome" {
                let caused = call.is_some_and(|call| {
                    call["agent"] == row["recipient"]
                        && call["conversation"] == row["conversation"]
                        && list(call, "journal").iter().any(|r| r["message_id"] == id.as_str() && r["kind"] == kind)
                });
                self.log.check("I44", caused, "an outbox row without a cause", row);
            }
            if kind == "outcome" {
                let all = self.outcome_rows.entry(text(row, "call").to_owned()).or_default();
                all.insert(id.clone());
                self.log.check("I14", all.len() == 1, "two outbox rows with an outcome for one call", row);
            }
            if prev.get("outbox", &id).is_none() {
                let to = (text(row, "recipient").to_owned(), text(row, "conversation").to_owned());
                let last = self.outbox_seq.entry(to.clone()).or_insert(i64::MIN);
                self.log.check("DUR-2", number(row, "seq") > *last, "the outbox does not grow in order", row);
                *last = (*last).max(number(row, "seq"));
                self.outbox_rows.insert(id.clone(), (to.0, to.1, number(row, "seq")));
                if self.gone.contains(&id) {
                    self.log.check("I4", false, "a message was queued again", row);
                }
            } else {
                let was = prev.get("outbox", &id).map(|r| [&r["seq"], &r["call"], &r["kind"]]);
                let same = was == Some([&row["seq"], &row["call"], &row["kind"]]);
                self.log.check("I45", same, "a queued message changed", row);
            }
        }
        for row in prev.rows("outbox") {
            let id = text(row, "message_id");
            if now.get("outbox", id).is_none() {
                let due = self.acked.contains(id) || row["dead"] == true || row["kind"] == "inventory";
                self.log.check("I46", due, "removed without an acknowledgement", row);
                self.gone.insert(id.to_owned());
            }
        }
    }
}

/// CALL-14. `known` is the number of rows that were there in the dump before.
fn order_of_receipts(log: &mut Log, now: &Tables, rows: &[Value], known: usize, call: &Value) {
    let of = |stage: &str| rows.iter().filter(|row| row["stage"] == stage).count();
    if rows.is_empty() || rows.len() == known {
        return;
    }
    let caused = now.rows("activations").iter().any(|row| row["causing"] == call["key"]);
    let (starting, accepted) = (of("starting"), of("accepted"));
    // The first word comes with the acceptance; an outcome is the first word of a call that ends in that very commit.
    let opened = matches!(text(&rows[0], "stage"), "starting" | "accepted") || rows[0]["kind"] == "outcome";
    let at_once = rows[0]["change"].is_null() || call["change"].is_null() || rows[0]["change"] == call["change"];
    let once = starting <= 1 && accepted == usize::from(rows[0]["stage"] == "accepted");
    log.check("CALL-14", opened && at_once && once, "wrong first receipts", call);
    let fitting = if caused { starting == 1 || rows[0]["kind"] == "outcome" } else { starting == 0 };
    log.check("CALL-14", fitting, "`starting` goes to the call that causes the activation, and only to it", call);
    let own = of("activation_ready") + of("activation_failed") + of("activation_cancelled");
    log.check("CALL-14", own == 0 || (caused && starting == 1), "activation facts told to another call", call);
    let changes = |row: &Value| row.get("change").filter(|change| !change.is_null()).cloned();
    for (at, row) in rows.iter().enumerate() {
        let after = &rows[at + 1..];
        let next_in_change = after.iter().any(|next| {
            changes(row).is_some()
                && changes(row) == changes(next)
                && (next["stage"] == "started" || next["kind"] == "outcome")
        });
        match text(row, "stage") {
            "activation_ready" => log.check("CALL-14", !next_in_change, "`activation_ready` says nothing", call),
            "activation_failed" | "activation_cancelled" => {
                let ends = after.len() == 1 && after[0]["kind"] == "outcome" && changes(row) == changes(&after[0]);
                log.check("CALL-14", ends, "a failed activation does not end its call at once", call);
            }
            "starting" | "accepted" => {
                // `started` in the same change is no outcome: the call is unfinished and gets both.
                let ended = after
                    .iter()
                    .any(|next| next["kind"] == "outcome" && changes(row).is_some() && changes(row) == changes(next));
                log.check("CALL-14", !ended, "a receipt beside the first outcome", call);
            }
            _ => {}
        }
    }
}
