use serde_json::{Value, json};

use crate::{
    json::{MAX_SAFE_INTEGER, RESERVED},
    limits,
    schema::{Schema, SchemaFault, SchemaFaultKind},
};

fn faults(schema: Value) -> Vec<SchemaFault> {
    Schema::parse(&schema).expect_err(&schema.to_string())
}

/// Every row, as the schema of a property, is refused with this kind somewhere below the property.
fn all(kind: SchemaFaultKind, rows: impl IntoIterator<Item = Value>) {
    for row in rows {
        let faults = faults(closed(json!({ "a": row })));
        let at = |fault: &SchemaFault| fault.pointer.starts_with("/properties/a") || fault.pointer == "/properties";
        assert!(faults.iter().all(|fault| fault.kind == kind && at(fault)), "{row}: {faults:?}");
    }
}

fn closed(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

#[test]
fn inv_5_the_whole_subset_is_accepted_and_kept_as_it_is() {
    let schema = json!({
        "type": "object",
        "title": "All", "description": "Everything.\nAlso on a second line.", "default": {},
        "properties": {
            "text": { "type": "string", "minLength": 0, "maxLength": MAX_SAFE_INTEGER, "default": null },
            "word": { "type": "string", "enum": ["a", "b"] },
            "count": { "type": "integer", "minimum": -MAX_SAFE_INTEGER, "maximum": MAX_SAFE_INTEGER },
            "one_of": { "type": "integer", "enum": [1, -2] },
            "share": { "type": "number", "minimum": 0.5, "maximum": 1e300 },
            "flag": { "type": "boolean" },
            "list": { "type": "array", "items": closed(json!({})), "minItems": 1, "maxItems": 1 },
            "标题": { "type": "string" }
        },
        "required": ["text", "list"],
        "additionalProperties": false
    });
    let parsed = Schema::parse(&schema).unwrap();
    assert_eq!(parsed.as_value(), &schema);
    assert_eq!(serde_json::from_value::<Schema>(serde_json::to_value(&parsed).unwrap()).unwrap(), parsed);
    assert!(parsed.is_object() && parsed.requires("text") && !parsed.requires("flag"));
    assert_eq!(parsed.property("flag"), Some(&json!({ "type": "boolean" })));
}

#[test]
fn h46_every_keyword_outside_the_subset_is_refused_where_it_stands() {
    let keywords = [
        "$ref",
        "$defs",
        "$dynamicRef",
        "$schema",
        "$id",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "pattern",
        "patternProperties",
        "format",
        "uri",
        "const",
        "multipleOf",
        "uniqueItems",
        "prefixItems",
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedItems",
        "unevaluatedProperties",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "contentEncoding",
        "examples",
        "$comment",
        "nullable",
        "TYPE",
        "",
    ];
    for keyword in keywords {
        for mut schema in
            [json!({ "type": "string" }), closed(json!({})), json!({ "type": "array", "items": { "type": "string" } })]
        {
            schema[keyword] = json!({});
            all(SchemaFaultKind::UnsupportedSchema, [schema]);
        }
    }
    assert_eq!(
        faults(closed(json!({ "a": { "type": "string", "pattern": "x" } })))[0].pointer,
        "/properties/a/pattern"
    );
}

#[test]
fn h46_a_keyword_of_another_type_is_refused() {
    let rows = [
        json!({ "type": "string", "minimum": 1 }),
        json!({ "type": "integer", "minLength": 1 }),
        json!({ "type": "boolean", "enum": [true] }),
        json!({ "type": "number", "enum": [1] }),
        json!({ "type": "string", "minItems": 1 }),
        json!({ "type": "array", "items": { "type": "string" }, "maxLength": 1 }),
        json!({ "type": "string", "additionalProperties": false }),
    ];
    all(SchemaFaultKind::UnsupportedSchema, rows);
}

#[test]
fn h47_an_object_must_be_closed() {
    let rows = [
        json!({ "type": "object", "properties": {} }),
        json!({ "type": "object", "additionalProperties": true }),
        json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "additionalProperties": null }),
    ];
    all(SchemaFaultKind::UnsupportedSchema, rows);
}

#[test]
fn h48_h50_a_type_is_one_word_of_the_subset() {
    let rows = [
        json!({ "type": ["string", "null"] }),
        json!({ "type": [] }),
        json!({ "type": "null" }),
        json!({ "type": "String" }),
        json!({ "type": "any" }),
        json!({ "type": 1 }),
        json!({ "type": null }),
        json!({}),
        json!({ "enum": ["a"] }),
        json!({ "minLength": 1 }),
        json!({ "description": "free" }),
        json!(true),
        json!(false),
        json!("string"),
        json!([]),
        json!(null),
        json!({ "type": "array" }),
        json!({ "type": "array", "items": true }),
        json!({ "type": "array", "items": [{ "type": "string" }] }),
    ];
    all(SchemaFaultKind::UnsupportedSchema, rows);
}

#[test]
fn h51_required_names_each_property_once() {
    let object = |required: Value| json!({ "type": "object", "properties": { "x": { "type": "boolean" } }, "required": required, "additionalProperties": false });
    let rows = [
        json!(["y"]),
        json!(["x", "x"]),
        json!("x"),
        json!({}),
        json!([1]),
        json!([null]),
        json!(true),
        json!(["x", "X"]),
    ];
    all(SchemaFaultKind::BadManifest, rows.map(object));
    assert!(Schema::parse(&object(json!([]))).is_ok());
    all(SchemaFaultKind::BadManifest, [json!({ "type": "object", "properties": [], "additionalProperties": false })]);
}

#[test]
fn h52_bounds_are_numbers_in_order_that_can_be_kept() {
    let text = |low: Value, high: Value| json!({ "type": "string", "minLength": low, "maxLength": high });
    let list = |low: Value, high: Value| json!({ "type": "array", "items": { "type": "string" }, "minItems": low, "maxItems": high });
    for row in [text, list] {
        let bad = [
            json!(-1),
            json!(1.5),
            json!(1.0),
            json!(1_u64 << 53),
            json!((1_u64 << 53) + 1),
            json!(u64::MAX),
            json!("1"),
            json!(null),
            json!(1e300),
        ];
        for bad in bad {
            all(SchemaFaultKind::BadManifest, [row(json!(0), bad.clone()), row(bad, json!(9))]);
        }
        all(SchemaFaultKind::BadManifest, [row(json!(2), json!(1))]);
    }
    let integer = |low: Value, high: Value| json!({ "type": "integer", "minimum": low, "maximum": high });
    let number = |low: Value, high: Value| json!({ "type": "number", "minimum": low, "maximum": high });
    let outside = (1_i64 << 53) + 1;
    let rows = [
        integer(json!(2), json!(1)),
        integer(json!(0.5), json!(1)),
        integer(json!(0), json!(1.0)),
        integer(json!(0), json!(outside)),
        integer(json!(-outside), json!(0)),
        integer(json!("0"), json!(1)),
        number(json!(1.5), json!(1)),
        number(json!(0), json!(u64::MAX)),
        number(json!(null), json!(1)),
    ];
    all(SchemaFaultKind::BadManifest, rows);
    let overflow = br#"{"type":"number","maximum":1e400}"#;
    assert!(crate::json::decode(overflow, 1024).is_err(), "1e400 does not get past the decoder");
}

#[test]
fn an_enum_lists_distinct_values_of_its_type() {
    let text = |choices: Value| json!({ "type": "string", "enum": choices });
    let rows = [json!([]), json!(["a", "a"]), json!(["a", null]), json!(["a", 1]), json!("a"), json!({}), json!(null)];
    all(SchemaFaultKind::BadManifest, rows.map(text));
    let integer = |choices: Value| json!({ "type": "integer", "enum": choices });
    all(SchemaFaultKind::BadManifest, [json!([1, 1]), json!([1.0]), json!(["1"]), json!([u64::MAX])].map(integer));
}

#[test]
fn h54_i64_names_that_are_not_an_authors_to_declare_are_refused_at_any_depth() {
    let long = "x".repeat(65);
    let names =
        ["__proto__", "constructor", "prototype", "toString", "valueOf", "", &long, "a\u{202e}b", "a\nb", "a\0"];
    for name in names.iter().chain(RESERVED) {
        let object = closed(json!({ *name: { "type": "string" } }));
        let rows = [object.clone(), json!({ "type": "array", "items": object })];
        all(SchemaFaultKind::BadManifest, rows);
        assert_eq!(faults(object)[0].kind, SchemaFaultKind::BadManifest);
    }
}

#[test]
fn annotations_are_texts_without_hidden_characters() {
    for keyword in ["title", "description"] {
        for text in
            [json!(1), json!(null), json!("a\u{202e}b"), json!("a\u{1b}[31m"), json!("\u{200b}"), json!("\u{e0041}")]
        {
            all(SchemaFaultKind::BadManifest, [json!({ "type": "string", keyword: text })]);
        }
    }
}

#[test]
fn inv_5_size_and_depth_are_bounded() {
    let nested = |levels: usize| {
        (1..levels).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }))
    };
    assert!(Schema::parse(&nested(limits::SCHEMA_DEPTH)).is_ok());
    let deep = faults(nested(limits::SCHEMA_DEPTH + 1));
    assert_eq!((deep.len(), deep[0].kind), (1, SchemaFaultKind::UnsupportedSchema));

    let of_size = |bytes: usize| {
        let frame = crate::canonical::to_string(&json!({ "type": "string", "default": "" })).len();
        json!({ "type": "string", "default": "x".repeat(bytes - frame) })
    };
    assert!(Schema::parse(&of_size(limits::SCHEMA_BYTES)).is_ok());
    assert_eq!(faults(of_size(limits::SCHEMA_BYTES + 1))[0].kind, SchemaFaultKind::UnsupportedSchema);
}

#[test]
fn all_faults_are_found_at_once() {
    let schema = json!({
        "type": "object",
        "properties": { "owner": { "type": "string", "pattern": "x" }, "n": { "type": "integer", "minimum": 2, "maximum": 1 } },
        "required": ["m"]
    });
    let pointers: Vec<String> = faults(schema).into_iter().map(|fault| fault.pointer).collect();
    assert_eq!(pointers, ["", "/properties/n", "/properties/owner", "/properties/owner/pattern", "/required/0"]);
}

#[test]
fn a_schema_outside_the_subset_cannot_be_read_with_serde() {
    let error = serde_json::from_value::<Schema>(json!({ "type": "string", "format": "uri" })).unwrap_err();
    assert!(error.to_string().contains("unsupported_schema"), "{error}");
}
