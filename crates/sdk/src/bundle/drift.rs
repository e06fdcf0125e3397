//! Whether the committed manifest says what the source says (INV-2).

use lineup_model::Manifest;
use serde_json::Value;

use super::Unfit;

/// Why a bundle is refused at start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Drift {
    /// The source declares what cannot go into a manifest.
    #[error("the declaration cannot be published: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unfit(Vec<Unfit>),
    /// The crate was compiled without a `manifest.json` beside its `Cargo.toml`.
    #[error("there is no manifest.json; `cargo xtask manifests` writes it")]
    Missing,
    /// The committed `manifest.json` is not JSON.
    #[error("manifest.json cannot be read ({0}); `cargo xtask manifests` writes it anew")]
    Unreadable(String),
    /// The committed `manifest.json` says something else than the source; the places as JSON
    /// pointers.
    #[error("manifest.json differs from the source at {}; `cargo xtask manifests` writes it anew", .0.join(", "))]
    Differs(Vec<String>),
}

/// The places that a report names; the rest follows from mending them.
const PLACES: usize = 8;

pub(super) fn compare(compiled: &Manifest, committed: Option<&str>) -> Result<(), Drift> {
    let committed = committed.ok_or(Drift::Missing)?;
    let committed: Value = serde_json::from_str(committed).map_err(|error| Drift::Unreadable(error.to_string()))?;
    let compiled = serde_json::to_value(compiled).expect("a manifest is plain JSON");
    let mut places = Vec::new();
    differences(&compiled, &committed, String::new(), &mut places);
    if places.is_empty() { Ok(()) } else { Err(Drift::Differs(places)) }
}

fn differences(one: &Value, other: &Value, at: String, places: &mut Vec<String>) {
    if places.len() >= PLACES || one == other {
        return;
    }
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let (one, other) = (one.get(key).unwrap_or(&Value::Null), other.get(key).unwrap_or(&Value::Null));
                differences(one, other, format!("{at}/{key}"), places);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differences(one, other, format!("{at}/{index}"), places);
            }
        }
        _ => places.push(at),
    }
}

#[cfg(test)]
mod tests {
    use lineup_model::{AppScope, manifest::Kind};

    use super::*;

    fn compiled() -> Manifest {
        let scope = AppScope::new("desk").expect("a scope");
        Manifest::empty(scope, "1.0.0", Kind::System).sealed().expect("an empty manifest is right")
    }

    #[test]
    fn inv_2_the_same_manifest_is_no_drift_however_it_is_laid_out() {
        let compiled = compiled();
        for text in [serde_json::to_string(&compiled).unwrap(), serde_json::to_string_pretty(&compiled).unwrap()] {
            assert_eq!(compare(&compiled, Some(&text)), Ok(()));
        }
    }

    #[test]
    fn inv_2_drift_names_its_places() {
        let compiled = compiled();
        let mut other = serde_json::to_value(&compiled).unwrap();
        other["version"] = "1.0.1".into();
        other["host"]["surface_required"] = true.into();
        other["tools"] = serde_json::json!([{ "id": "desk.more" }]);
        other["handler"] = "Desk::open".into();
        let drift = compare(&compiled, Some(&other.to_string())).unwrap_err();
        let places = ["/handler", "/host/surface_required", "/tools", "/version"];
        assert_eq!(drift, Drift::Differs(places.map(str::to_owned).to_vec()));
        assert!(drift.to_string().contains("cargo xtask manifests"));
    }

    #[test]
    fn inv_2_a_manifest_that_is_absent_or_broken_is_refused() {
        assert_eq!(compare(&compiled(), None), Err(Drift::Missing));
        assert!(matches!(compare(&compiled(), Some("{")), Err(Drift::Unreadable(_))));
    }
}
