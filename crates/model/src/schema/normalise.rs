//! From what schemars writes for a Rust type to the subset (INV-5).

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Schema, SchemaFault, SchemaFaultKind};
use crate::json::{MAX_SAFE_INTEGER, pointer_to};

/// The schema of a type, for input as well as for output.
///
/// ```
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Start {
///     minutes: u8,
///     title: Option<String>,
/// }
/// let schema = lineup_model::schema::schema_of::<Start>().unwrap();
/// assert!(schema.requires("minutes") && !schema.requires("title"));
/// ```
///
/// # Errors
/// As [`normalise`].
pub fn schema_of<T: JsonSchema>() -> Result<Schema, Vec<SchemaFault>> {
    let generated = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    normalise(&T::schema_name(), generated.as_value())
}

/// Brings the schema that schemars 1.x writes for a type into the subset.
///
/// Definitions are inlined, objects closed, `Option<T>` becomes a property that is not required
/// and never `null`, documented unit enums become `enum`, the width of an integer becomes its
/// bounds, within ±(2^53−1). `()` and unit structs become an object without properties.
///
/// Every value that fits the result is accepted by serde (through [`read_checked`]). The other
/// way round, serde accepts three things more, which never reach it because values are checked
/// first: unknown fields (unless the type denies them), `null` for `None`, and integers beyond
/// ±(2^53−1).
///
/// # Errors
/// With every place that cannot be brought, naming type and field and what to write instead.
pub fn normalise(type_name: &str, schema: &Value) -> Result<Schema, Vec<SchemaFault>> {
    let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut normaliser = Normaliser { type_name, definitions, open: Vec::new(), faults: Vec::new() };
    let mut root = match schema.get("type") {
        Some(kind) if kind == "null" => Schema::empty_object().as_value().clone(),
        _ => normaliser.required(schema, &Place::root()),
    };
    if let Some(root) = root.as_object_mut() {
        if root.get("type").is_some_and(|kind| kind != "object") {
            normaliser.fault(
                &Place::root(),
                "is not an object; an agent's client takes objects only: wrap it in a struct with a named field",
            );
        }
        // The name of a Rust type means nothing to an agent.
        root.remove("title");
    }
    if !normaliser.faults.is_empty() {
        return Err(normaliser.faults);
    }
    Schema::parse(&root).map_err(|faults| {
        let named = |fault: SchemaFault| SchemaFault { message: format!("`{type_name}`: {}", fault.message), ..fault };
        faults.into_iter().map(named).collect()
    })
}

/// Reads a value that was checked against the schema of `T`.
///
/// The one case in which serde and the schema differ in shape: `()` and unit structs are an object
/// without properties in a schema and `null` for serde.
///
/// # Errors
/// When the value was not checked.
pub fn read_checked<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    let empty = value.as_object().is_some_and(Map::is_empty);
    match serde_json::from_value(value) {
        Err(error) if empty => serde_json::from_value(Value::Null).map_err(|_| error),
        read => read,
    }
}

/// Leaves out every member that is `null`: how `None` is written on output (INV-5).
pub fn omit_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(omit_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(omit_nulls),
        _ => {}
    }
}

struct Normaliser<'a> {
    type_name: &'a str,
    definitions: Map<String, Value>,
    /// The definitions that are being inlined: one that occurs inside itself has no end.
    open: Vec<String>,
    faults: Vec<SchemaFault>,
}

/// Where in the type.
struct Place {
    pointer: String,
    field: String,
}

impl Place {
    const fn root() -> Self {
        Self { pointer: String::new(), field: String::new() }
    }

    fn property(&self, name: &str) -> Self {
        let dot = if self.field.is_empty() { "" } else { "." };
        Self {
            pointer: pointer_to(&pointer_to(&self.pointer, "properties"), name),
            field: format!("{}{dot}{name}", self.field),
        }
    }

    fn items(&self) -> Self {
        Self { pointer: pointer_to(&self.pointer, "items"), field: format!("{}[]", self.field) }
    }
}

/// A schema without `null`, and whether `null` was allowed.
struct Nullable {
    schema: Value,
    nullable: bool,
}

impl Normaliser<'_> {
    fn fault(&mut self, place: &Place, message: &str) {
        let type_name = self.type_name;
        let subject = match place.field.as_str() {
            "" => format!("`{type_name}`"),
            field => format!("`{type_name}`, field `{field}`"),
        };
        self.faults.push(SchemaFault {
            kind: SchemaFaultKind::UnsupportedSchema,
            pointer: place.pointer.clone(),
            message: format!("{subject} {message}"),
        });
    }

    fn refuse(&mut self, place: &Place, message: &str) -> Nullable {
        self.fault(place, message);
        Nullable { schema: Value::Null, nullable: false }
    }

    /// A schema where `null` has no place.
    fn required(&mut self, schema: &Value, place: &Place) -> Value {
        let Nullable { schema, nullable } = self.schema(schema, place);
        if nullable {
            self.fault(place, "may be null here; only a field can be optional: leave such items out");
        }
        schema
    }

    fn schema(&mut self, schema: &Value, place: &Place) -> Nullable {
        let Value::Object(schema) = schema else {
            return self.refuse(place, FREE_VALUE);
        };
        if let Some(reference) = schema.get("$ref") {
            return self.inline(reference, schema, place);
        }
        for combination in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = schema.get(combination) {
                return self.union(branches, schema, place);
            }
        }
        let (kind, nullable) = match schema.get("type") {
            Some(Value::String(kind)) => (kind.as_str(), false),
            Some(Value::Array(kinds)) => {
                let mut others = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
                match (others.next(), others.next()) {
                    (Some(kind), None) => (kind, kinds.iter().any(|kind| kind == "null")),
                    _ => {
                        return self.refuse(place, "may be of several types; give each its own optional field");
                    }
                }
            }
            _ if schema.contains_key("allOf") => {
                return self.refuse(place, "is composed (`allOf`, flattening); write its fields out in one struct");
            }
            _ if schema.get("const").is_some_and(Value::is_string) => ("string", false),
            _ => return self.refuse(place, FREE_VALUE),
        };
        let mut result = Map::new();
        result.insert("type".to_owned(), json!(kind));
        match kind {
            "object" => self.object(schema, &mut result, place),
            "array" => self.array(schema, &mut result, place),
            "integer" => integer(schema, &mut result),
            "null" => {
                return self.refuse(place, "is a unit, which carries nothing; leave the field out");
            }
            _ => {}
        }
        self.rest(schema, &mut result, kind, place);
        Nullable { schema: Value::Object(result), nullable }
    }

    fn object(&mut self, schema: &Map<String, Value>, result: &mut Map<String, Value>, place: &Place) {
        let open = |keyword: &str| schema.get(keyword).is_some_and(|value| *value != false);
        if ["additionalProperties", "unevaluatedProperties", "patternProperties"].into_iter().any(open) {
            self.fault(
                place,
                "is a map with free keys; use a list of structs with a `key` and a `value` field instead",
            );
            return;
        }
        let mut required: Vec<Value> = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut properties = Map::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let Nullable { schema, nullable } = self.schema(property, &place.property(name));
            if nullable {
                required.retain(|required| required != name);
            }
            properties.insert(name.clone(), schema);
        }
        result.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            result.insert("required".to_owned(), Value::Array(required));
        }
        result.insert("additionalProperties".to_owned(), Value::Bool(false));
    }

    fn array(&mut self, schema: &Map<String, Value>, result: &mut Map<String, Value>, place: &Place) {
        if schema.contains_key("prefixItems") {
            self.fault(place, "is a tuple; use a struct with a name for each part instead");
            return;
        }
        let items = match schema.get("items") {
            Some(items) => self.required(items, &place.items()),
            None => self.refuse(&place.items(), FREE_VALUE).schema,
        };
        result.insert("items".to_owned(), items);
    }

    /// The keywords that stay, and the refusal of those that cannot.
    fn rest(&mut self, schema: &Map<String, Value>, result: &mut Map<String, Value>, kind: &str, place: &Place) {
        for (keyword, value) in schema {
            match keyword.as_str() {
                "type"
                | "$schema"
                | "$defs"
                | "properties"
                | "required"
                | "items"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "patternProperties"
                | "prefixItems" => {}
                "minimum" | "maximum" if kind == "integer" => {}
                // Serde reads any array into a set.
                "uniqueItems" => {}
                "format" if matches!(kind, "integer" | "number") => {}
                "default" if value.is_null() => {}
                "const" => {
                    result.insert("enum".to_owned(), json!([value]));
                }
                "enum" => {
                    let choices = value.as_array().into_iter().flatten().filter(|choice| !choice.is_null());
                    result.insert("enum".to_owned(), choices.cloned().collect());
                }
                "title" | "description" | "default" | "minimum" | "maximum" | "minLength" | "maxLength"
                | "minItems" | "maxItems" => {
                    result.insert(keyword.clone(), value.clone());
                }
                other => self.fault(
                    place,
                    &format!(
                        "needs `{other}`, which is outside the subset; take a plain type and check it in the handler"
                    ),
                ),
            }
        }
    }

    fn inline(&mut self, reference: &Value, siblings: &Map<String, Value>, place: &Place) -> Nullable {
        let name = reference.as_str().unwrap_or_default();
        let key = name.strip_prefix("#/$defs/").unwrap_or(name).replace("~1", "/").replace("~0", "~");
        if name == "#" || self.open.contains(&key) {
            return self.refuse(place, "contains itself; use a flat list with parent ids instead");
        }
        let Some(definition) = self.definitions.get(&key).cloned() else {
            return self.refuse(place, "refers to a schema that is not part of the type");
        };
        self.open.push(key);
        let mut inlined = self.schema(&definition, place);
        self.open.pop();
        annotate(&mut inlined.schema, siblings);
        inlined
    }

    /// `Option<T>` and enums.
    fn union(&mut self, branches: &[Value], siblings: &Map<String, Value>, place: &Place) -> Nullable {
        let is_null = |branch: &&Value| branch.get("type").is_some_and(|kind| kind == "null");
        let others: Vec<&Value> = branches.iter().filter(|branch| !is_null(branch)).collect();
        let nullable = others.len() < branches.len();
        if let ([only], true) = (others.as_slice(), nullable) {
            let mut inner = self.schema(only, place);
            annotate(&mut inner.schema, siblings);
            return Nullable { nullable: true, ..inner };
        }
        let mut choices = Vec::new();
        for branch in others {
            match (branch.get("const"), branch.get("enum")) {
                (Some(choice @ Value::String(_)), _) => choices.push(choice.clone()),
                (None, Some(Value::Array(more))) => choices.extend(more.iter().cloned()),
                _ => {
                    return self.refuse(
                        place,
                        "is an enum whose variants carry data; use a unit enum beside optional fields instead",
                    );
                }
            }
        }
        let mut schema = json!({ "type": "string", "enum": choices });
        annotate(&mut schema, siblings);
        Nullable { schema, nullable }
    }
}

const FREE_VALUE: &str = "takes any JSON value; name its fields in a struct, or carry it as a string, instead";

/// The annotations beside a reference or a union belong to the field and win over the type's own.
fn annotate(schema: &mut Value, siblings: &Map<String, Value>) {
    if let Value::Object(schema) = schema {
        for keyword in ["title", "description", "default"] {
            if let Some(value) = siblings.get(keyword).filter(|value| !value.is_null()) {
                schema.insert(keyword.to_owned(), value.clone());
            }
        }
    }
}

/// The bounds of an integer: those of its width, those that the author declared, and ±(2^53−1).
fn integer(schema: &Map<String, Value>, result: &mut Map<String, Value>) {
    let (low, high) = match schema.get("format").and_then(Value::as_str) {
        Some("int8") => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Some("int16") => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Some("uint8") => (0, i64::from(u8::MAX)),
        Some("uint16") => (0, i64::from(u16::MAX)),
        Some("uint32") => (0, i64::from(u32::MAX)),
        Some("uint64" | "uint" | "uint128") => (0, MAX_SAFE_INTEGER),
        _ => (-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER),
    };
    // A bound that is no integer literal stays as it is, so that the parser of the subset names it.
    let bound = |keyword: &str, width: i64, tighter: fn(i64, i64) -> i64| match schema.get(keyword) {
        None => json!(width),
        Some(declared) => match (declared.as_i64(), declared.is_u64()) {
            (Some(declared), _) => json!(tighter(declared, width)),
            (None, true) => json!(width),
            (None, false) => declared.clone(),
        },
    };
    result.insert("minimum".to_owned(), bound("minimum", low, i64::max));
    result.insert("maximum".to_owned(), bound("maximum", high, i64::min));
}
