//! What Surfaces show: change by change against the patches that were offered.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Oracle, Tables, number, schema::canonical, text};

const MAX_BYTES: usize = 256 * 1024;
const MAX_LEVELS: usize = 32;

/// The patches that were offered for one Surface.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// By the key of the write; one of them counts, once (DUR-4).
    keyed: BTreeMap<String, Vec<Patch>>,
    used: BTreeSet<String>,
    /// Without a key; each counts once.
    free: Vec<Patch>,
}

/// A patch and the revision that it is for.
type Patch = (Option<i64>, Value);

/// RFC 7396.
fn merged(target: &Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_object() else { return patch.clone() };
    let mut result: Map<String, Value> = target.as_object().cloned().unwrap_or_default();
    for (name, value) in patch {
        if value.is_null() {
            result.remove(name);
        } else {
            let under = merged(result.get(name).unwrap_or(&Value::Null), value);
            result.insert(name.clone(), under);
        }
    }
    Value::Object(result)
}

/// How deep it is, and whether it reaches into a prototype.
fn looked_at(value: &Value) -> (usize, bool) {
    let members: Vec<(usize, bool)> = match value {
        Value::Object(all) => {
            let reserved = all.keys().any(|name| matches!(name.as_str(), "__proto__" | "prototype" | "constructor"));
            all.values().map(looked_at).chain([(0, reserved)]).collect()
        }
        Value::Array(all) => all.iter().map(looked_at).chain([(0, false)]).collect(),
        _ => return (0, false),
    };
    members.into_iter().fold((0, false), |(depth, bad), (below, worse)| (depth.max(below + 1), bad || worse))
}

fn sound(value: &Value) -> bool {
    let (depth, reserved) = looked_at(value);
    value.is_object() && depth <= MAX_LEVELS && !reserved && canonical(value).len() <= MAX_BYTES
}

impl Oracle {
    /// A MiniApp offered a patch. What must be refused can change nothing.
    pub(super) fn patch_offered(
        &mut self,
        instance: &str,
        surface: &str,
        key: Option<&str>,
        base: Option<u64>,
        patch: &Value,
    ) {
        if !sound(patch) {
            return;
        }
        let patch = (base.and_then(|base| i64::try_from(base).ok()), patch.clone());
        let offered = self.patches.entry((instance.to_owned(), surface.to_owned())).or_default();
        match key {
            None => offered.free.push(patch),
            Some(key) => {
                let all = offered.keyed.entry(key.to_owned()).or_default();
                if !all.contains(&patch) {
                    all.push(patch);
                }
            }
        }
    }

    pub(super) fn surfaces(&mut self, prev: &Tables, now: &Tables) {
        for change in now.rows("shown") {
            let key = (text(change, "instance").to_owned(), text(change, "surface").to_owned());
            let before = self.shown.get(&key).cloned().unwrap_or_else(|| (0, json!({})));
            let (revision, data) = (number(change, "revision"), &change["data"]);
            self.log.check("SUR-3", revision == before.0 + 1, "a document skips a revision", change);
            self.log.check("SUR-3", sound(data), "a document that must not be", change);
            let made = self.patches.get_mut(&key).is_some_and(|offered| offered.make(&before, data));
            self.log.check("SUR-3", made, "a document that no unused patch has made", change);
            self.shown.insert(key, (revision, data.clone()));
        }
        let closed = |id: &str| now.get("instances", id).is_none_or(|row| row["state"] == "closed");
        let gone: Vec<_> = self.shown.keys().filter(|(instance, _)| closed(instance)).cloned().collect();
        for key in gone {
            self.shown.remove(&key);
            self.patches.remove(&key);
        }
        let stored: BTreeMap<_, _> = now
            .rows("surfaces")
            .iter()
            .map(|row| {
                let key = (text(row, "instance").to_owned(), text(row, "surface").to_owned());
                (key, (number(row, "revision"), row["data"].clone()))
            })
            .collect();
        if !stored.is_empty() || !prev.rows("surfaces").is_empty() {
            self.log.check("SUR-4", stored == self.shown, "not what the Surfaces last showed", &now.raw["surfaces"]);
        }
    }
}

impl Offered {
    /// Whether a patch that has not counted yet makes this of that; it counts now.
    fn make(&mut self, (revision, before): &(i64, Value), after: &Value) -> bool {
        let makes =
            |(base, patch): &Patch| base.is_none_or(|base| base == *revision) && merged(before, patch) == *after;
        let unused = |key: &&String| !self.used.contains(*key);
        let key = self.keyed.keys().filter(unused).find(|key| self.keyed[*key].iter().any(makes)).cloned();
        if let Some(key) = key {
            return self.used.insert(key);
        }
        match self.free.iter().position(makes) {
            Some(at) => {
                self.free.remove(at);
                true
            }
            None => false,
        }
    }
}
