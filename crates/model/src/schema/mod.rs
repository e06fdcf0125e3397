//! The closed subset of JSON Schema (INV-5) and its compiled validator.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A schema that is known to lie inside the subset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schema(Value);

impl Schema {
    /// The schema as JSON.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}
