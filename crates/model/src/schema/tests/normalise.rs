use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    json::MAX_SAFE_INTEGER,
    schema::{Schema, SchemaFault, Validator, normalise, omit_nulls, read_checked, schema_of},
};

/// How strict the period is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Nothing is blocked.
    Calm,
    /// Everything is blocked.
    Strict,
    Undocumented,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Plain {
    One,
    TwoWords,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    done: Option<bool>,
}

/// A short word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Word(#[schemars(length(min = 1, max = 5))] String);

/// Everything that a macro-supported type may hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Everything {
    /// Stable id.
    #[schemars(length(min = 1, max = 64))]
    id: String,
    #[schemars(range(min = 1, max = 480))]
    minutes: u16,
    small: i8,
    wide: u64,
    signed: i64,
    share: f64,
    flag: bool,
    letter: char,
    word: Word,
    /// The mode of the period.
    mode: Mode,
    plain: Plain,
    step: Step,
    boxed: Box<Step>,
    steps: Vec<Step>,
    set: BTreeSet<i32>,
    maybe_text: Option<String>,
    maybe_small: Option<u8>,
    maybe_mode: Option<Mode>,
    maybe_plain: Option<Plain>,
    maybe_step: Option<Step>,
    maybe_list: Option<Vec<Mode>>,
    #[serde(default)]
    with_default: u32,
    #[serde(rename = "type")]
    kind: std::num::NonZeroU8,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Nothing;

#[derive(Debug, Deserialize, JsonSchema)]
struct Empty {}

fn refusals<T: JsonSchema>() -> Vec<String> {
    let faults = schema_of::<T>().expect_err(&T::schema_name());
    faults.into_iter().map(|fault| fault.message).collect()
}

#[test]
fn inv_5_a_type_with_everything_is_brought_into_the_subset() {
    insta::assert_json_snapshot!(schema_of::<Everything>().unwrap());
}

#[test]
fn inv_5_an_option_is_not_required_and_never_null() {
    let schema = schema_of::<Everything>().unwrap();
    let validator = Validator::compile(&schema);
    let names = ["maybe_text", "maybe_small", "maybe_mode", "maybe_plain", "maybe_step", "maybe_list"];
    for name in names {
        assert!(!schema.requires(name) && schema.property(name).is_some(), "{name}");
        let mut value = example();
        value[name] = Value::Null;
        assert_eq!(validator.check(&value).unwrap_err().pointer, format!("/{name}"));
    }
    assert!(!schema.requires("with_default"), "a default is not required, and not filled in by the schema");
}

#[test]
fn inv_5_the_width_of_an_integer_becomes_its_bounds() {
    let schema = schema_of::<Everything>().unwrap();
    let rows = [
        ("minutes", json!(1), json!(480)),
        ("small", json!(-128), json!(127)),
        ("wide", json!(0), json!(MAX_SAFE_INTEGER)),
        ("signed", json!(-MAX_SAFE_INTEGER), json!(MAX_SAFE_INTEGER)),
        ("maybe_small", json!(0), json!(255)),
        ("type", json!(1), json!(255)),
    ];
    for (name, low, high) in rows {
        let property = schema.property(name).unwrap();
        assert_eq!((&property["minimum"], &property["maximum"]), (&low, &high), "{name}");
        assert_eq!(property.get("format"), None);
    }
}

#[test]
fn inv_5_declared_bounds_never_reach_beyond_the_width() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Wide {
        #[schemars(range(min = -5, max = 1000))]
        small: u8,
        #[schemars(range(max = 18_446_744_073_709_551_615_u64))]
        wide: u64,
    }
    let schema = schema_of::<Wide>().unwrap();
    let small = schema.property("small").unwrap();
    assert_eq!((&small["minimum"], &small["maximum"]), (&json!(0), &json!(255)));
    assert_eq!(schema.property("wide").unwrap()["maximum"], json!(MAX_SAFE_INTEGER));
}

#[test]
fn inv_5_a_nullable_property_is_not_required_even_when_the_generator_says_so() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": ["string", "null"] }, "b": { "type": "string" } },
        "required": ["a", "b"]
    });
    let schema = normalise("T", &schema).unwrap();
    assert!(!schema.requires("a") && schema.requires("b"));
}

#[test]
fn inv_5_documented_unit_enums_become_an_enum() {
    let schema = schema_of::<Everything>().unwrap();
    let mode = schema.property("mode").unwrap();
    let mut choices: Vec<&str> = mode["enum"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    choices.sort_unstable();
    assert_eq!(choices, ["calm", "strict", "undocumented"]);
    assert_eq!(mode["description"], "The mode of the period.", "the field's own words win");
    assert_eq!(schema.property("maybe_mode").unwrap()["description"], "How strict the period is.");
    assert_eq!(schema.property("plain").unwrap()["enum"], json!(["one", "two-words"]));
}

#[test]
fn units_are_objects_without_properties_and_read_back() {
    for schema in [schema_of::<()>(), schema_of::<Nothing>(), schema_of::<Empty>()] {
        let schema = schema.unwrap();
        let validator = Validator::compile(&schema);
        assert!(validator.check(&json!({})).is_ok() && validator.check(&Value::Null).is_err());
    }
    assert_eq!(schema_of::<()>().unwrap(), Schema::empty_object());
    assert!(read_checked::<()>(json!({})).is_ok() && read_checked::<Nothing>(json!({})).is_ok());
    assert!(read_checked::<Empty>(json!({})).is_ok());
    assert!(read_checked::<Step>(json!({})).unwrap_err().to_string().contains("name"));
}

#[test]
fn inv_5_what_cannot_be_brought_is_refused_with_type_field_and_the_flat_alternative() {
    #[derive(JsonSchema)]
    #[serde(tag = "kind")]
    #[expect(dead_code, reason = "only its schema is read")]
    enum Tagged {
        A { x: u8 },
        B,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    enum External {
        A(u8),
        B,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Tree {
        children: Vec<Tree>,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Bad {
        tagged: Tagged,
        external: Option<External>,
        map: BTreeMap<String, u8>,
        free: Value,
        pair: (u8, u8),
        unit: (),
        tree: Tree,
        holes: Vec<Option<u8>>,
        frees: Vec<Value>,
        inner: Inner,
        #[schemars(regex(pattern = "^a"))]
        shaped: String,
        net: std::net::Ipv4Addr,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Inner {
        deep: Vec<BTreeMap<String, u8>>,
    }
    insta::assert_json_snapshot!(refusals::<Bad>());
}

#[test]
fn inv_5_a_root_that_is_no_object_is_refused() {
    for messages in
        [refusals::<String>(), refusals::<Vec<Step>>(), refusals::<Mode>(), refusals::<Word>(), refusals::<u8>()]
    {
        assert!(messages[0].contains("wrap it in a struct"), "{messages:?}");
    }
    assert!(refusals::<Option<Step>>()[0].contains("may be null here"));
    assert!(refusals::<Value>()[0].contains("any JSON value"));
    assert!(refusals::<BTreeMap<String, u8>>()[0].contains("free keys"));
}

#[test]
fn i64_a_type_cannot_declare_a_reserved_name() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Greedy {
        instance_id: String,
    }
    let faults: Vec<SchemaFault> = schema_of::<Greedy>().unwrap_err();
    assert_eq!(faults[0].pointer, "/properties/instance_id");
    assert!(faults[0].message.contains("`Greedy`") && faults[0].message.contains("instance_id"), "{faults:?}");
}

#[test]
fn hand_written_schemas_with_dangling_or_remote_references_are_refused() {
    for reference in ["#/$defs/Missing", "https://example.org/schema", "#", ""] {
        let schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } } });
        assert_eq!(normalise("T", &schema).unwrap_err()[0].pointer, "/properties/a", "{reference}");
    }
    let integer = json!({ "type": "object", "properties": { "a": { "type": "integer", "minimum": 0.5 } } });
    assert!(normalise("T", &integer).is_err());
}

#[test]
fn none_is_omitted_on_output() {
    let mut value = serde_json::to_value(Step { name: "a".into(), done: None }).unwrap();
    omit_nulls(&mut value);
    assert_eq!(value, json!({ "name": "a" }));
}

/// C49: no client drops a tool over its schema.
#[test]
fn c49_a_schema_has_an_object_root_and_nothing_that_clients_stumble_over() {
    for schema in [schema_of::<Everything>(), schema_of::<Step>(), schema_of::<()>(), schema_of::<Empty>()] {
        let schema = schema.unwrap();
        assert!(schema.is_object());
        assert!(jsonschema::meta::is_valid(schema.as_value()), "it is a schema by the newest draft's own rules");
        let draft = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "allOf": [schema] });
        assert!(jsonschema::meta::is_valid(&draft), "and by draft 7's");
    }
}

fn example() -> Value {
    json!({
        "id": "a", "minutes": 1, "small": -1, "wide": 1, "signed": -1, "share": 0.5, "flag": true, "letter": "é",
        "word": "w", "mode": "calm", "plain": "one", "step": { "name": "s" }, "boxed": { "name": "b", "done": true },
        "steps": [], "set": [1, 1], "maybe_text": "t", "maybe_small": 1, "maybe_mode": "strict", "maybe_plain": "one",
        "maybe_step": { "name": "x" }, "maybe_list": ["calm"], "with_default": 1, "type": 1
    })
}

/// Values of every kind, many of them just at a bound of some field.
fn part() -> impl Strategy<Value = Value> {
    let bounds = vec![
        -MAX_SAFE_INTEGER,
        -129,
        -128,
        -1,
        0,
        1,
        127,
        128,
        255,
        256,
        480,
        481,
        65_535,
        65_536,
        i64::from(u32::MAX),
        i64::from(u32::MAX) + 1,
        i64::from(i32::MIN),
        MAX_SAFE_INTEGER,
    ];
    prop_oneof![
        prop::sample::select(bounds).prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "a",
            "é",
            "ab",
            "calm",
            "Calm",
            "strict",
            "undocumented",
            "one",
            "two-words",
            "toolong"
        ])
        .prop_map(Value::from),
        prop::sample::select(vec![json!(true), json!(1.0), json!(0.5), json!(-1e300), json!([]), json!({})]),
        prop::sample::select(vec![
            json!({ "name": "a" }),
            json!({ "name": 1 }),
            json!({ "name": "a", "done": false }),
            json!({ "done": true }),
            json!({ "name": "a", "more": 1 }),
            json!(["a", true]),
            json!([1, 2]),
            json!(["calm"]),
            json!(["calm", 1]),
            json!([{ "name": "a" }]),
            json!([{}]),
        ]),
    ]
}

/// A valid value with a few members replaced, removed or added.
fn near_the_schema() -> impl Strategy<Value = Value> {
    let names: Vec<String> = example().as_object().unwrap().keys().cloned().collect();
    let change = (prop::sample::select(names), prop::option::weighted(0.8, part()), prop::bool::weighted(0.05));
    prop::collection::vec(change, 0..4).prop_map(|changes| {
        let mut value = example();
        let members = value.as_object_mut().unwrap();
        for (name, part, unknown) in changes {
            match part {
                Some(part) => members.insert(if unknown { format!("{name}2") } else { name }, part),
                None => members.remove(&name),
            };
        }
        value
    })
}

fn reads<T: DeserializeOwned>(value: &Value) -> bool {
    read_checked::<T>(value.clone()).is_ok()
}

/// Whether the value has an array where the type has a struct: serde takes it by position. It is
/// the one form besides `null` for `None` that serde accepts and the schema does not (F6).
fn positional(value: &Value) -> bool {
    let is_array = |name: &str| value.get(name).is_some_and(Value::is_array);
    let in_steps =
        || value.get("steps").and_then(Value::as_array).is_some_and(|steps| steps.iter().any(Value::is_array));
    ["step", "boxed", "maybe_step"].into_iter().any(is_array) || in_steps()
}

/// What the author's own bounds add to the type; serde does not know them.
fn within_declared_bounds(value: &Value) -> bool {
    let length = |name: &str| value.get(name).and_then(Value::as_str).map_or(1, |text| text.chars().count());
    let minutes = value.get("minutes").and_then(Value::as_i64).unwrap_or(1);
    (1..=64).contains(&length("id")) && (1..=5).contains(&length("word")) && (1..=480).contains(&minutes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn c49_a_value_is_valid_by_schema_exactly_when_serde_accepts_it(value in near_the_schema()) {
        let validator = VALIDATOR.get_or_init(|| Validator::compile(&schema_of::<Everything>().unwrap()));
        let valid = validator.check(&value);
        let accepted = reads::<Everything>(&value);
        if valid.is_ok() {
            prop_assert!(accepted, "serde refuses {}", value);
        } else if within_declared_bounds(&value) && !positional(&value) {
            prop_assert!(!accepted, "{:?} of {}", valid, value);
        }
    }

    #[test]
    fn c49_what_serde_writes_is_valid_once_none_is_omitted(value in near_the_schema()) {
        let validator = VALIDATOR.get_or_init(|| Validator::compile(&schema_of::<Everything>().unwrap()));
        if validator.check(&value).is_ok() {
            let typed: Everything = read_checked(value).unwrap();
            let mut written = serde_json::to_value(&typed).unwrap();
            omit_nulls(&mut written);
            prop_assert_eq!(validator.check(&written), Ok(()));
            prop_assert_eq!(read_checked::<Everything>(written).unwrap(), typed);
        }
    }
}

static VALIDATOR: std::sync::OnceLock<Validator> = std::sync::OnceLock::new();
