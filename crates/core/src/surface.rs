//! The documents of Surfaces (SUR-3).

use std::sync::Arc;

use lineup_model::{ErrorCode, InstanceId, Method, canonical, limits, message::Fault};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Member names that reach into a script's prototypes.
const RESERVED: [&str; 3] = ["__proto__", "prototype", "constructor"];

/// What a Surface shows: a JSON object that its MiniApp patches. Live, with its body, for as long as
/// its instance is: every view needs it (ADR 11).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurfaceDocument {
    /// The instance.
    pub instance: InstanceId,
    /// Which of its Surfaces.
    pub surface: Method,
    /// Counts its changes; 0 before the first.
    pub revision: u64,
    /// Its body, at most [`limits::DOCUMENT_BYTES`] of canonical JSON, [`limits::JSON_DEPTH`] deep.
    pub data: Arc<Value>,
}

impl SurfaceDocument {
    /// The document before the first patch.
    #[must_use]
    pub fn empty(instance: InstanceId, surface: Method) -> Self {
        Self { instance, surface, revision: 0, data: Arc::new(json!({})) }
    }

    /// What the document is looked up by.
    #[must_use]
    pub fn key(&self) -> (InstanceId, Method) {
        (self.instance.clone(), self.surface.clone())
    }

    /// The document with a merge patch that [`check`] has let through; `None` when that changes
    /// nothing.
    ///
    /// # Errors
    /// `surface_patch_invalid`, reason `too_large`.
    pub fn patched(&self, patch: &Value) -> Result<Option<Self>, Fault> {
        let mut data = self.data.as_ref().clone();
        merge(&mut data, patch);
        if data == *self.data {
            return Ok(None);
        }
        if canonical::to_string(&data).len() > limits::DOCUMENT_BYTES {
            let message = format!("a Surface's document has at most {} bytes", limits::DOCUMENT_BYTES);
            return Err(invalid("too_large", message));
        }
        Ok(Some(Self { revision: self.revision + 1, data: Arc::new(data), ..self.clone() }))
    }
}

/// Checks a merge patch (RFC 7396) before anything is made of it.
///
/// A patch that passes leaves an object an object, and no document deeper than both were.
///
/// # Errors
/// `surface_patch_invalid`, with the reason.
pub fn check(patch: &Value) -> Result<(), Fault> {
    if !patch.is_object() {
        return Err(invalid("not_an_object", "the patch of a document is a JSON object"));
    }
    look(patch, limits::JSON_DEPTH)
}

/// RFC 7396. No deeper than the patch, which was checked.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Value::Object(members) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

fn look(value: &Value, levels: usize) -> Result<(), Fault> {
    let deeper = || {
        levels.checked_sub(1).ok_or_else(|| {
            invalid("too_deep", format!("a Surface's document has at most {} levels", limits::JSON_DEPTH))
        })
    };
    match value {
        Value::Object(members) => {
            let levels = deeper()?;
            members.iter().try_for_each(|(name, member)| {
                if RESERVED.contains(&name.as_str()) {
                    return Err(invalid("reserved_member", format!("no member of a document is called `{name}`")));
                }
                look(member, levels)
            })
        }
        Value::Array(items) => {
            let levels = deeper()?;
            items.iter().try_for_each(|item| look(item, levels))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

pub(crate) fn invalid(reason: &str, message: impl Into<String>) -> Fault {
    Fault::new(ErrorCode::SurfacePatchInvalid, message).because(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(data: Value) -> SurfaceDocument {
        let empty = SurfaceDocument::empty("i1".parse().expect("an id"), "main".parse().expect("a name"));
        SurfaceDocument { data: Arc::new(data), ..empty }
    }

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!({}), |inner, level| match (levels - level) % 2 {
            0 => json!([inner]),
            _ => json!({ "a": inner }),
        })
    }

    #[test]
    fn sur_3_a_patch_merges_as_rfc_7396_says() {
        // The rows of its appendix A whose document and patch are objects.
        for (before, patch, after) in [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
            (json!({"a":"b"}), json!({"a":null}), json!({})),
            (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"foo"}), json!({"a":{"b":null,"c":1}}), json!({"a":{"c":1}})),
            (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
            (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
            (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
            (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
            (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
        ] {
            let changed = document(before.clone()).patched(&patch).expect("it is small").expect("it changes");
            assert_eq!((changed.revision, changed.data.as_ref()), (1, &after), "{before} + {patch}");
        }
    }

    #[test]
    fn sur_3_a_patch_that_changes_nothing_is_no_change() {
        for patch in [json!({}), json!({"a":{"b":1}}), json!({"c":null})] {
            assert_eq!(document(json!({"a":{"b":1}})).patched(&patch), Ok(None), "{patch}");
        }
    }

    #[test]
    fn h95_a_patch_with_a_reserved_member_at_any_depth_is_refused() {
        for name in RESERVED {
            for patch in [
                json!({ name: 1 }),
                json!({ name: null }),
                json!({"a":{"b":{ name: {} }}}),
                json!({"a":[1,{"b":[{ name: 1 }]}]}),
                serde_json::from_str(&format!("{{\"\\u{:04x}{}\":1}}", u32::from(name.as_bytes()[0]), &name[1..]))
                    .expect("an escaped name"),
            ] {
                let fault = check(&patch).expect_err("it is refused");
                assert_eq!(
                    (fault.code, fault.reason.as_deref()),
                    (ErrorCode::SurfacePatchInvalid, Some("reserved_member")),
                    "{patch}"
                );
            }
        }
        assert_eq!(check(&json!({"a":"__proto__","proto":[ "constructor" ]})), Ok(()));
    }

    #[test]
    fn sur_3_a_patch_is_an_object_of_at_most_32_levels() {
        assert_eq!(check(&nested(limits::JSON_DEPTH)), Ok(()));
        for (patch, reason) in [
            (nested(limits::JSON_DEPTH + 1), "too_deep"),
            (nested(1_000), "too_deep"),
            (json!([]), "not_an_object"),
            (json!(null), "not_an_object"),
            (json!("text"), "not_an_object"),
        ] {
            assert_eq!(check(&patch).expect_err("it is refused").reason.as_deref(), Some(reason));
        }
    }

    #[test]
    fn sur_3_a_document_is_at_most_256_kib_and_a_patch_may_make_it_smaller() {
        let text = |bytes: usize| "x".repeat(bytes - r#"{"a":""}"#.len());
        let full = document(json!({})).patched(&json!({ "a": text(limits::DOCUMENT_BYTES) }));
        let full = full.expect("it just fits").expect("it changes");
        let over = full.patched(&json!({ "b": 1 })).expect_err("it is refused");
        assert_eq!(over.reason.as_deref(), Some("too_large"));
        let smaller = full.patched(&json!({ "a": null, "b": 1 })).expect("it fits").expect("it changes");
        assert_eq!(*smaller.data, json!({ "b": 1 }));
    }
}
