//! Checking values against a schema.

use std::{fmt, sync::Arc};

use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::Schema;
use crate::json::{pointer_to, shortened};

/// A schema compiled for checking. Compile once per MiniApp version; a clone shares the work.
#[derive(Clone)]
pub struct Validator {
    compiled: Arc<jsonschema::Validator>,
}

/// A value does not fit its schema. Repeats nothing of the value but, in the pointer, the name of
/// a property, at most [`crate::json::ECHO_BYTES`] long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Violation {
    /// Where in the value, as a JSON pointer.
    pub pointer: String,
    /// What was expected, for people.
    pub message: String,
}

impl Validator {
    /// Compiles a schema.
    #[must_use]
    pub fn compile(schema: &Schema) -> Self {
        // Draft 4 is the one whose `integer` takes integer literals only (INV-5); the rest of the
        // subset means the same in all drafts. It forbids an empty `required`, which says nothing.
        let compiled = jsonschema::draft4::options()
            .build(&bare(schema.as_value()))
            .expect("every schema of the subset compiles: it has no reference, pattern or format");
        Self { compiled: Arc::new(compiled) }
    }

    /// Whether the value fits. Nothing is coerced and no default is applied.
    ///
    /// # Errors
    /// With the first violation.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        self.compiled.validate(value).map_err(|error| {
            let at = error.instance_path().as_str();
            let at = shortened_pointer(at);
            match error.kind() {
                ValidationErrorKind::AdditionalProperties { unexpected } => Violation {
                    pointer: unexpected.first().map_or_else(|| at.to_owned(), |name| pointer_to(at, name)),
                    message: "there is no such property".to_owned(),
                },
                kind => Violation { pointer: at.to_owned(), message: expectation(kind) },
            }
        })
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").finish_non_exhaustive()
    }
}

/// What the schema asked for. Made of the author's words only.
fn expectation(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Type { kind: TypeKind::Single(expected) } => format!("expected {expected}"),
        ValidationErrorKind::Required { property } => {
            format!("`{}` is missing", shortened(property.as_str().unwrap_or_default(), 64))
        }
        ValidationErrorKind::Enum { options } => {
            format!("expected one of {}", shortened(&options.to_string(), 256))
        }
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {limit} characters")
        }
        ValidationErrorKind::MaxLength { limit } => format!("must have at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("must have at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("must have at most {limit} items"),
        other => format!("does not fit `{}`", shortened(other.keyword(), 32)),
    }
}

/// Only whole steps: a property name of a schema is at most 64 bytes, but a way may be longer.
fn shortened_pointer(pointer: &str) -> &str {
    const MAX: usize = 1024;
    if pointer.len() <= MAX {
        return pointer;
    }
    pointer[..=pointer.floor_char_boundary(MAX)].rfind('/').map_or("", |end| &pointer[..end])
}

/// The schema without what checks nothing.
fn bare(schema: &Value) -> Value {
    let Value::Object(schema) = schema else {
        return schema.clone();
    };
    let kept = schema.iter().filter_map(|(keyword, value)| {
        let value = match (keyword.as_str(), value) {
            ("title" | "description" | "default", _) => return None,
            ("required", Value::Array(names)) if names.is_empty() => return None,
            ("items", items) => bare(items),
            ("properties", Value::Object(properties)) => {
                Value::Object(properties.iter().map(|(name, property)| (name.clone(), bare(property))).collect())
            }
            _ => value.clone(),
        };
        Some((keyword.clone(), value))
    });
    Value::Object(kept.collect())
}
