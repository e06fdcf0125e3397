//! Whether a schema lies inside the subset.

use serde_json::{Map, Value};

use super::{SchemaFault, SchemaFaultKind, text};
use crate::{
    canonical,
    json::{MAX_SAFE_INTEGER, is_reserved, pointer_to, shortened, type_name},
    limits,
};

/// Names that are members of every JavaScript object: a reader in that language would find
/// something under them even when it is not there.
const JAVASCRIPT: &[&str] = &[
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "prototype",
    "toLocaleString",
    "toString",
    "valueOf",
];

const ANNOTATIONS: &[&str] = &["title", "description", "default"];

pub(super) fn check(schema: &Value) -> Result<(), Vec<SchemaFault>> {
    let mut check = Check { faults: Vec::new() };
    // The depth comes first: everything after it may follow the nesting.
    if deeper_than(schema, limits::SCHEMA_DEPTH) {
        check.unsupported("", format!("a schema nests at most {} arrays and objects", limits::SCHEMA_DEPTH));
    } else {
        let bytes = canonical::to_string(schema).len();
        if bytes > limits::SCHEMA_BYTES {
            check.unsupported("", format!("a schema has at most {} bytes, not {bytes}", limits::SCHEMA_BYTES));
        } else {
            check.schema(schema, "");
        }
    }
    if check.faults.is_empty() { Ok(()) } else { Err(check.faults) }
}

fn deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| deeper_than(item, levels - 1)),
        Value::Object(entries) => levels == 0 || entries.values().any(|entry| deeper_than(entry, levels - 1)),
        _ => false,
    }
}

struct Check {
    faults: Vec<SchemaFault>,
}

impl Check {
    fn unsupported(&mut self, at: &str, message: impl Into<String>) {
        self.fault(SchemaFaultKind::UnsupportedSchema, at, message.into());
    }

    fn bad(&mut self, at: &str, message: impl Into<String>) {
        self.fault(SchemaFaultKind::BadManifest, at, message.into());
    }

    fn fault(&mut self, kind: SchemaFaultKind, at: &str, message: String) {
        self.faults.push(SchemaFault { kind, pointer: at.to_owned(), message });
    }

    fn schema(&mut self, schema: &Value, at: &str) {
        let Value::Object(schema) = schema else {
            return self.unsupported(at, format!("a schema is an object, not {}", type_name(schema)));
        };
        let kind = match schema.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(Value::Array(_)) => {
                return self.unsupported(
                    &pointer_to(at, "type"),
                    "a list of types is outside the subset; leave an optional property out of `required`",
                );
            }
            _ => {
                let keyword = schema.keys().find(|key| !ANNOTATIONS.contains(&key.as_str()));
                let found = keyword.map_or(String::new(), |key| format!(", found `{}`", shortened(key, 32)));
                return self.unsupported(at, format!("`type` is missing{found}"));
            }
        };
        let allowed: &[&str] = match kind {
            "object" => &["properties", "required", "additionalProperties"],
            "array" => &["items", "minItems", "maxItems"],
            "string" => &["enum", "minLength", "maxLength"],
            "integer" => &["enum", "minimum", "maximum"],
            "number" => &["minimum", "maximum"],
            "boolean" => &[],
            other => {
                let message = format!("`{}` is no type of the subset", shortened(other, 32));
                return self.unsupported(&pointer_to(at, "type"), message);
            }
        };
        for keyword in schema.keys().map(String::as_str) {
            if keyword != "type" && !ANNOTATIONS.contains(&keyword) && !allowed.contains(&keyword) {
                let message = format!("`{}` is outside the subset for type `{kind}`", shortened(keyword, 32));
                self.unsupported(&pointer_to(at, keyword), message);
            }
        }
        self.annotations(schema, at);
        match kind {
            "object" => self.object(schema, at),
            "array" => self.array(schema, at),
            "string" => {
                self.lengths(schema, at, "minLength", "maxLength");
                self.choices(schema, at, "strings", Value::is_string);
            }
            "integer" => {
                self.bounds(schema, at, true);
                self.choices(schema, at, "integers within ±(2^53 - 1)", |value| safe_integer(value).is_some());
            }
            "number" => self.bounds(schema, at, false),
            _ => {}
        }
    }

    fn annotations(&mut self, schema: &Map<String, Value>, at: &str) {
        for keyword in ["title", "description"] {
            match schema.get(keyword) {
                None => {}
                Some(Value::String(text)) => {
                    if let Some(c) = text::unfit_character(text) {
                        let message = format!("the character U+{:04X} has no place in a text", u32::from(c));
                        self.bad(&pointer_to(at, keyword), message);
                    }
                }
                Some(other) => {
                    self.bad(&pointer_to(at, keyword), format!("`{keyword}` is a string, not {}", type_name(other)));
                }
            }
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, at: &str) {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.unsupported(at, "an object must say `additionalProperties: false`");
        }
        let none = Map::new();
        let at_properties = pointer_to(at, "properties");
        let properties = match schema.get("properties") {
            None => &none,
            Some(Value::Object(properties)) => properties,
            Some(other) => {
                return self.bad(&at_properties, format!("`properties` is an object, not {}", type_name(other)));
            }
        };
        for (name, property) in properties {
            let at = pointer_to(&at_properties, name);
            if is_reserved(name) {
                self.bad(&at, format!("only the Runtime sets `{name}`; no tool may declare it"));
            } else if name.is_empty() || name.len() > 64 || text::unfit_character(name).is_some() || name.contains('\n')
            {
                self.bad(&at, "a property name has 1 to 64 bytes that can be seen");
            } else if JAVASCRIPT.contains(&name.as_str()) {
                self.bad(&at, format!("`{name}` is a member of every JavaScript object; choose another name"));
            }
            self.schema(property, &at);
        }
        let at = pointer_to(at, "required");
        match schema.get("required") {
            None => {}
            Some(Value::Array(names)) => {
                for (index, name) in names.iter().enumerate() {
                    let known = name.as_str().is_some_and(|name| properties.contains_key(name));
                    if !known {
                        self.bad(
                            &pointer_to(&at, &index.to_string()),
                            "`required` names a property that does not exist",
                        );
                    } else if names[..index].contains(name) {
                        self.bad(&pointer_to(&at, &index.to_string()), "`required` names a property twice");
                    }
                }
            }
            Some(other) => self.bad(&at, format!("`required` is a list of names, not {}", type_name(other))),
        }
    }

    fn array(&mut self, schema: &Map<String, Value>, at: &str) {
        match schema.get("items") {
            Some(items) => self.schema(items, &pointer_to(at, "items")),
            None => self.unsupported(at, "an array must say with `items` what it holds"),
        }
        self.lengths(schema, at, "minItems", "maxItems");
    }

    fn lengths(&mut self, schema: &Map<String, Value>, at: &str, low: &str, high: &str) {
        let mut read = |keyword: &str| {
            let value = schema.get(keyword)?;
            let length = safe_integer(value).filter(|length| *length >= 0);
            if length.is_none() {
                self.bad(&pointer_to(at, keyword), format!("`{keyword}` is an integer from 0 to 2^53 - 1"));
            }
            length
        };
        if let (Some(min), Some(max)) = (read(low), read(high))
            && min > max
        {
            self.bad(at, format!("`{low}` is greater than `{high}`: no value fits"));
        }
    }

    fn bounds(&mut self, schema: &Map<String, Value>, at: &str, integer: bool) {
        let mut read = |keyword: &str| {
            let value = schema.get(keyword)?;
            let fits = safe_integer(value).is_some() || (!integer && value.is_f64());
            if !fits {
                let what = if integer { "an integer" } else { "a number; an integer lies" };
                self.bad(&pointer_to(at, keyword), format!("`{keyword}` is {what} within ±(2^53 - 1)"));
            }
            // Exact: integers of this size are doubles too.
            value.as_f64().filter(|_| fits)
        };
        if let (Some(min), Some(max)) = (read("minimum"), read("maximum"))
            && min > max
        {
            self.bad(at, "`minimum` is greater than `maximum`: no value fits");
        }
    }

    fn choices(&mut self, schema: &Map<String, Value>, at: &str, what: &str, fits: fn(&Value) -> bool) {
        let Some(choices) = schema.get("enum") else {
            return;
        };
        let at = pointer_to(at, "enum");
        match choices {
            Value::Array(choices) if !choices.is_empty() && choices.iter().all(fits) => {
                if (1..choices.len()).any(|index| choices[..index].contains(&choices[index])) {
                    self.bad(&at, "`enum` names a value twice");
                }
            }
            _ => self.bad(&at, format!("`enum` is a list of one or more {what}")),
        }
    }
}

fn safe_integer(value: &Value) -> Option<i64> {
    value.as_i64().filter(|n| (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(n))
}
