//! The closed subset of JSON Schema (INV-5) and its compiled validator.
//!
//! A [`Schema`] is always inside the subset: there is no way to make one but [`Schema::parse`],
//! [`normalise`] and reading it with serde, and all of them check. A [`Validator`] is compiled once
//! per schema and checks values without coercion and without applying defaults.
//!
//! | `type` | keywords |
//! | --- | --- |
//! | `object` | `properties`, `required`, `additionalProperties: false` (must be there) |
//! | `array` | `items` (must be there), `minItems`, `maxItems` |
//! | `string` | `enum` (strings), `minLength`, `maxLength` |
//! | `integer` | `enum` (integers), `minimum`, `maximum` |
//! | `number` | `minimum`, `maximum` |
//! | `boolean` | |
//!
//! and everywhere the annotations `title`, `description` and `default`, which check nothing and
//! fill nothing.

mod normalise;
mod parse;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod validator;

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

pub use normalise::{normalise, omit_nulls, read_checked, schema_of};
pub use validator::{Validator, Violation};

/// A schema that is known to lie inside the subset.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Schema(Arc<Value>);

/// Why a schema was refused at registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaFaultKind {
    /// It uses something outside the subset, or is over a limit (cases H46 to H50).
    UnsupportedSchema,
    /// It is inside the subset but contradicts itself or declares a forbidden name (H51 to H54).
    BadManifest,
}

impl SchemaFaultKind {
    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnsupportedSchema => "unsupported_schema",
            Self::BadManifest => "bad_manifest",
        }
    }
}

/// One thing that is wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaFault {
    /// What kind of fault it is.
    pub kind: SchemaFaultKind,
    /// Where in the schema, as a JSON pointer.
    pub pointer: String,
    /// What is wrong and what would be right, for the author.
    pub message: String,
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// With every fault that was found, in the order of the document.
    pub fn parse(value: &Value) -> Result<Self, Vec<SchemaFault>> {
        parse::check(value)?;
        Ok(Self(Arc::new(value.clone())))
    }

    /// The schema of an object without properties: the input of a tool that takes none.
    #[must_use]
    pub fn empty_object() -> Self {
        Self::known(serde_json::json!({
            "type": "object", "properties": {}, "additionalProperties": false
        }))
    }

    /// A schema written in this crate.
    pub(crate) fn known(value: Value) -> Self {
        Self::parse(&value).expect("the crate's own schemas are inside the subset: a test parses each")
    }

    /// The schema as JSON.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Whether it describes an object, as the input and the output of a tool do.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0["type"] == "object"
    }

    /// The schema of a property, as JSON.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&Value> {
        self.0.get("properties")?.get(name)
    }

    /// Whether values must have this property.
    #[must_use]
    pub fn requires(&self, name: &str) -> bool {
        self.0.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|n| n == name))
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::parse(&value).map_err(|faults| {
            let first = &faults[0];
            D::Error::custom(format!("{}: {} (at {:?})", first.kind.as_str(), first.message, first.pointer))
        })
    }
}
