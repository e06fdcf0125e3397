use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    json::{ECHO_BYTES, MAX_SAFE_INTEGER, decode},
    schema::{Schema, Validator},
};

fn validator(schema: Value) -> Validator {
    Validator::compile(&Schema::parse(&schema).unwrap())
}

fn start() -> Validator {
    validator(json!({
        "type": "object",
        "properties": {
            "minutes": { "type": "integer", "minimum": 1, "maximum": 480 },
            "share": { "type": "number" },
            "title": { "type": "string", "minLength": 1, "maxLength": 3, "default": "x" },
            "mode": { "type": "string", "enum": ["calm", "strict"] },
            "quiet": { "type": "boolean" },
            "steps": {
                "type": "array", "minItems": 1, "maxItems": 2,
                "items": { "type": "object", "properties": { "a/b": { "type": "integer" } }, "required": ["a/b"], "additionalProperties": false }
            }
        },
        "required": ["minutes"],
        "additionalProperties": false
    }))
}

#[test]
fn h55_a_violation_says_where_it_is_and_nothing_is_coerced() {
    let rows = [
        (json!({}), "", "`minutes` is missing"),
        (json!(null), "", "expected object"),
        (json!([]), "", "expected object"),
        (json!({ "minutes": true }), "/minutes", "expected integer"),
        (json!({ "minutes": "5" }), "/minutes", "expected integer"),
        (json!({ "minutes": null }), "/minutes", "expected integer"),
        (json!({ "minutes": 5.0 }), "/minutes", "expected integer"),
        (json!({ "minutes": 5e0 }), "/minutes", "expected integer"),
        (json!({ "minutes": 0 }), "/minutes", "must be at least 1"),
        (json!({ "minutes": 481 }), "/minutes", "must be at most 480"),
        (json!({ "minutes": 5, "share": "1" }), "/share", "expected number"),
        (json!({ "minutes": 5, "share": true }), "/share", "expected number"),
        (json!({ "minutes": 5, "quiet": 1 }), "/quiet", "expected boolean"),
        (json!({ "minutes": 5, "title": "" }), "/title", "must have at least 1 characters"),
        (json!({ "minutes": 5, "title": "long" }), "/title", "must have at most 3 characters"),
        (json!({ "minutes": 5, "title": null }), "/title", "expected string"),
        (json!({ "minutes": 5, "mode": "Calm" }), "/mode", r#"expected one of ["calm","strict"]"#),
        (json!({ "minutes": 5, "steps": [] }), "/steps", "must have at least 1 items"),
        (
            json!({ "minutes": 5, "steps": [{ "a/b": 1 }, { "a/b": 1 }, { "a/b": 1 }] }),
            "/steps",
            "must have at most 2 items",
        ),
        (json!({ "minutes": 5, "steps": [{ "a/b": 1 }, { "a/b": "1" }] }), "/steps/1/a~1b", "expected integer"),
        (json!({ "minutes": 5, "steps": { "0": 1 } }), "/steps", "expected array"),
        (json!({ "minutes": 5, "extra": 1 }), "/extra", "there is no such property"),
        (json!({ "minutes": 5, "steps": [{ "a/b": 1, "~": 1 }] }), "/steps/0/~0", "there is no such property"),
    ];
    let start = start();
    for (value, pointer, message) in rows {
        let violation = start.check(&value).expect_err(&value.to_string());
        assert_eq!((violation.pointer.as_str(), violation.message.as_str()), (pointer, message), "{value}");
    }
}

#[test]
fn what_fits_is_accepted_and_left_as_it_is() {
    let start = start();
    for value in [
        json!({ "minutes": 20 }),
        json!({ "minutes": 480, "share": 1, "title": "一二三", "quiet": false, "mode": "calm", "steps": [{ "a/b": -1 }] }),
    ] {
        let before = value.clone();
        assert_eq!(start.clone().check(&value), Ok(()));
        assert_eq!(value, before, "no default is filled in");
    }
    assert!(
        validator(json!({ "type": "object", "required": [], "additionalProperties": false })).check(&json!({})).is_ok()
    );
}

#[test]
fn a_violation_never_repeats_more_than_sixty_four_bytes_of_the_value() {
    let secret = "SECRET".repeat(100);
    let start = start();
    let rows = [
        json!(secret),
        json!({ "minutes": secret }),
        json!({ "minutes": 5, "mode": secret }),
        json!({ "minutes": 5, "title": secret }),
        json!({ "minutes": 5, secret.clone(): 1 }),
        json!({ "minutes": 5, "steps": [{ "a/b": 1, secret.clone(): 1 }] }),
        json!({ "minutes": 5, "SECRETSECRET": 1 }),
    ];
    for row in rows {
        let violation = start.check(&row).unwrap_err();
        assert!(!violation.message.contains("SECRET") && violation.pointer.len() <= ECHO_BYTES, "{violation:?}");
    }
}

#[test]
fn h54_a_value_with_the_name_of_a_javascript_member_is_an_unknown_property() {
    let start = start();
    for name in ["__proto__", "constructor", "toString"] {
        assert_eq!(start.check(&json!({ "minutes": 5, name: {} })).unwrap_err().message, "there is no such property");
    }
}

/// Integers near 0, near ±2^53 and anywhere.
fn near_the_edge() -> impl Strategy<Value = i64> {
    let edge = 1_i64 << 53;
    prop_oneof![-3..=3_i64, (edge - 4)..=(edge + 4), (-edge - 4)..=(-edge + 4), any::<i64>()]
}

proptest! {
    #[test]
    fn b32_integer_bounds_are_exact_around_two_to_the_53(
        a in near_the_edge(), b in near_the_edge(), value in near_the_edge()
    ) {
        let clamp = |n: i64| n.clamp(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER);
        let (low, high) = (clamp(a).min(clamp(b)), clamp(a).max(clamp(b)));
        let integer = validator(json!({ "type": "integer", "minimum": low, "maximum": high }));
        let fits = integer.check(&json!(value)).is_ok();
        prop_assert_eq!(fits, (i128::from(low)..=i128::from(high)).contains(&i128::from(value)));
        // As a number, the literal `n.0` is compared by what it means.
        let number = validator(json!({ "type": "number", "minimum": low, "maximum": high }));
        let literal = decode(format!("{value}.0").as_bytes(), 64).unwrap();
        let meant = literal.as_f64().unwrap() as i128;
        prop_assert_eq!(number.check(&literal).is_ok(), (i128::from(low)..=i128::from(high)).contains(&meant));
        prop_assert!(integer.check(&literal).is_err(), "{} is no integer literal", literal);
    }
}
