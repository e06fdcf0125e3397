//! A small checker of the closed schema subset (contract INV-5), written for the oracle alone.

use serde_json::Value;

/// Whether `value` is valid by `schema`. Any keyword outside the subset makes nothing valid: an oracle
/// must not pass what it does not understand.
#[must_use]
pub fn valid(schema: &Value, value: &Value) -> bool {
    let Some(rules) = schema.as_object() else { return false };
    rules.iter().all(|(keyword, rule)| match keyword.as_str() {
        "title" | "description" | "default" => true,
        "type" => match rule.as_str() {
            Some("object") => value.is_object(),
            Some("string") => value.is_string(),
            Some("number") => value.is_number(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            _ => false,
        },
        "enum" => rule.as_array().is_some_and(|all| all.contains(value)),
        "required" => rule.as_array().is_some_and(|all| {
            value.as_object().is_none_or(|o| all.iter().all(|k| k.as_str().is_some_and(|k| o.contains_key(k))))
        }),
        "properties" => rule.as_object().is_some_and(|all| {
            value.as_object().is_none_or(|o| all.iter().all(|(k, s)| o.get(k).is_none_or(|v| valid(s, v))))
        }),
        "additionalProperties" => {
            rule == &Value::Bool(false)
                && value.as_object().is_none_or(|o| o.keys().all(|k| schema["properties"].get(k).is_some()))
        }
        "items" => value.as_array().is_none_or(|all| all.iter().all(|v| valid(rule, v))),
        "minLength" => value.as_str().is_none_or(|s| s.chars().count() as u64 >= rule.as_u64().unwrap_or(u64::MAX)),
        "maxLength" => value.as_str().is_none_or(|s| s.chars().count() as u64 <= rule.as_u64().unwrap_or(0)),
        "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap_or(u64::MAX)),
        "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap_or(0)),
        "minimum" => value.as_f64().is_none_or(|n| rule.as_f64().is_some_and(|bound| n >= bound)),
        "maximum" => value.as_f64().is_none_or(|n| rule.as_f64().is_some_and(|bound| n <= bound)),
        _ => false,
    })
}

/// One text per JSON value: members sorted, whole numbers written as integers. Enough to compare contents.
#[must_use]
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Object(o) => {
            let mut members: Vec<_> =
                o.iter().map(|(k, v)| format!("{}:{}", Value::from(k.as_str()), canonical(v))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(a) => format!("[{}]", a.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Number(n) if n.is_f64() => match n.as_f64() {
            Some(f) if f.fract() == 0.0 && f.abs() < 9.0e15 => format!("{}", f as i64),
            _ => n.to_string(),
        },
        other => other.to_string(),
    }
}
