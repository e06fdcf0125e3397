use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{CallId, Digest, limits};

const LIMIT: usize = limits::ENVELOPE_BYTES;

fn reason(bytes: impl AsRef<[u8]>) -> Reason {
    refusal(bytes).reason
}

fn refusal(bytes: impl AsRef<[u8]>) -> JsonError {
    let bytes = bytes.as_ref();
    let error = decode(bytes, LIMIT).expect_err(&String::from_utf8_lossy(&bytes[..bytes.len().min(80)]));
    assert!(error.pointer.len() <= ECHO_BYTES, "{error:?}");
    error
}

/// Every row is refused with this reason.
fn all(expected: Reason, rows: &[&str]) {
    for row in rows {
        assert_eq!(reason(row), expected, "{row:?}");
    }
}

#[test]
fn h1_bytes_that_are_not_utf_8_are_refused_wherever_they_are() {
    for bytes in [
        &b"\xff"[..],
        b"{\"a\":\"\xc3\x28\"}",
        b"{\"ignored\":{\"x\":\"\xed\xa0\x80\"},\"a\":1}",
        b"{}\xfe",
        b"\xc0\xae",
    ] {
        assert_eq!(reason(bytes), Reason::BadUtf8, "{bytes:?}");
    }
    assert_eq!(refusal(b"{\"a\":\"\xff\"}").message, "the byte at offset 6 is not UTF-8");
}

#[test]
fn h3_bytes_after_the_value_are_refused() {
    all(Reason::BadJson, &["{}x", "{} {}", "{},", "[1]]", "1 2", "{}\u{feff}"]);
    assert!(decode(b" {} \n\t\r", LIMIT).is_ok(), "white space is not a value");
}

#[test]
fn h4_dialects_of_json_are_refused() {
    let values = [
        "NaN",
        "Infinity",
        "-Infinity",
        "'a'",
        "01",
        "-01",
        "1.",
        ".5",
        "+1",
        "-",
        "0x10",
        "1_000",
        "1e",
        "1e+",
        "1,",
        "tru",
        "True",
        "undefined",
        "\"a",
        "\"\t\"",
        "\"\\x41\"",
        "\"\\u00g0\"",
    ];
    for value in values {
        all(Reason::BadJson, &[value, &format!("[{value}]"), &format!("{{\"a\":{value}}}")]);
    }
    all(
        Reason::BadJson,
        &[
            "{} // c",
            "/* c */ {}",
            "{\"a\":1,}",
            "[1,]",
            "{a:1}",
            "{1:1}",
            "{\"a\" 1}",
            "[",
            "{",
            "",
            " ",
            "\u{feff}{}",
        ],
    );
}

#[test]
fn h5_only_an_object_is_an_envelope() {
    for bytes in ["[]", "[{}]", "[\"call_id\"]", "\"a\"", "1", "null", "true", "", " \n"] {
        assert_eq!(decode_object(bytes.as_bytes(), LIMIT).unwrap_err().reason, Reason::BadEnvelope, "{bytes:?}");
    }
    assert_eq!(decode_object(b"{\"a\":1}", LIMIT).unwrap(), *json!({"a": 1}).as_object().unwrap());
    assert_eq!(decode_object(b"{", LIMIT).unwrap_err().reason, Reason::BadJson);
    assert_eq!(decode_object(&[b' '; 9], 8).unwrap_err().reason, Reason::TooLarge);
}

#[test]
fn h6_a_key_that_occurs_twice_is_refused_also_when_only_unescaping_shows_it() {
    for (text, pointer) in [
        (r#"{"a":1,"a":1}"#, "/a"),
        (r#"{"a":1,"b":2,"a":3}"#, "/a"),
        (r#"{"a":1,"\u0061":2}"#, "/a"),
        (r#"{"\u0061":1,"a":2}"#, "/a"),
        (r#"{"args":{"x":1,"x":2}}"#, "/args/x"),
        (r#"{"args":[0,{"k":{"/~":1,"\/~":2}}]}"#, "/args/1/k/~1~0"),
        (r#"{"":1,"":2}"#, "/"),
        (r#"{"😀":1,"\ud83d\ude00":2}"#, "/😀"),
    ] {
        let error = refusal(text);
        assert_eq!((error.reason, error.pointer.as_str()), (Reason::DuplicateKey, pointer), "{text}");
    }
    assert!(
        decode("{\"a\":{\"a\":{\"a\":1}},\"A\":1,\"\u{e9}\":1,\"e\u{301}\":1}".as_bytes(), LIMIT).is_ok(),
        "no folding, no normalising"
    );
}

#[test]
fn h7_deep_nesting_is_refused_with_a_constant_stack() {
    // A thread with a small stack: recursion that follows the input would abort the test.
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(|| {
            for depth in [33_usize, 64, 128, 129, 1_000, 100_000] {
                let mixed = r#"[{"a":"#.repeat(depth.div_ceil(2));
                let ignored = format!(r#"{{"call_id":"c","ignored":{}"#, "[".repeat(depth));
                for text in ["[".repeat(depth), r#"{"a":"#.repeat(depth).chars().take(LIMIT).collect(), mixed, ignored]
                {
                    let text = &text[..text.len().min(LIMIT)];
                    assert_eq!(reason(text), Reason::TooDeep, "{depth}");
                }
                let closed = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
                assert_eq!(reason(closed), Reason::TooDeep, "{depth}");
            }
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn h7_a_document_of_exactly_the_depth_limit_is_read() {
    let arrays = format!("{}{}", "[".repeat(limits::JSON_DEPTH), "]".repeat(limits::JSON_DEPTH));
    assert!(decode(arrays.as_bytes(), LIMIT).is_ok());
    let objects = format!("{}1{}", r#"{"a":"#.repeat(limits::JSON_DEPTH), "}".repeat(limits::JSON_DEPTH));
    assert!(decode(objects.as_bytes(), LIMIT).is_ok());
    let siblings = format!("[{}]", vec!["[[]]"; 100].join(","));
    assert!(decode(siblings.as_bytes(), LIMIT).is_ok(), "siblings do not add up");
}

#[test]
fn h8_numbers_that_overflow_a_double_are_refused() {
    let digits = "9".repeat(400);
    for number in
        ["1e400", "-1e400", &digits, &format!("-{digits}"), &format!("{digits}.5"), "1e99999999999999999999", "1.8e308"]
    {
        all(Reason::NumberRange, &[number, &format!("[{number}]"), &format!("{{\"a\":[0,{number}]}}")]);
    }
    assert_eq!(refusal(r#"{"a":[0,1e400]}"#).pointer, "/a/1");
}

#[test]
fn h9_integer_literals_beyond_two_to_the_53_are_refused_and_never_rounded() {
    let rows = [
        "9007199254740992",
        "9007199254740993",
        "-9007199254740992",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "100000000000000000000000000000",
        "-100000000000000000000000000000",
    ];
    for row in rows {
        all(
            Reason::NumberRange,
            &[row, &format!("{{\"a\":{row}}}"), &format!("[1.5,\"-7\",\"a\\\"1\",1e300,-0,{row}]")],
        );
    }
    for exact in ["9007199254740991", "-9007199254740991", "0"] {
        assert_eq!(decode(exact.as_bytes(), LIMIT).unwrap(), json!(exact.parse::<i64>().unwrap()));
    }
}

#[test]
fn h9_other_literals_keep_the_meaning_of_a_double() {
    for (text, value) in [
        ("1e300", 1e300),
        ("1E20", 1e20),
        ("100000000000000000000.0", 1e20),
        ("0.1", 0.1),
        ("5.0", 5.0),
        ("5e0", 5.0),
        ("1e-400", 0.0),
        ("-0.0", -0.0),
    ] {
        let read = decode(text.as_bytes(), LIMIT).unwrap();
        assert_eq!(read.as_f64().unwrap().to_bits(), f64::to_bits(value), "{text}");
        assert!(read.is_f64(), "{text} is not an integer literal");
    }
    assert_eq!(decode(b"[-0,0]", LIMIT).unwrap(), json!([0, 0]));
}

#[test]
fn h11_surrogates_come_in_pairs() {
    all(
        Reason::BadJson,
        &[r#""\ud800""#, r#""\udc00""#, r#""\udc00\ud800""#, r#""\ud800x""#, r#""\ud800\u0041""#, r#"{"\ud800":1}"#],
    );
    assert_eq!(decode(br#""\ud83d\ude00""#, LIMIT).unwrap(), "😀");
}

#[test]
fn h12_the_character_zero_is_refused_in_keys_and_strings() {
    for (text, pointer) in [
        (r#""\u0000""#, ""),
        (r#"{"call_id":"a\u0000"}"#, "/call_id"),
        (r#"{"a":[1,{"b":"\u0000"}]}"#, "/a/1/b"),
        (r#"{"a":{"\u0000":1}}"#, "/a"),
    ] {
        let error = refusal(text);
        assert_eq!((error.reason, error.pointer.as_str()), (Reason::BadString, pointer), "{text}");
    }
    assert_eq!(reason(b"\"\0\""), Reason::BadJson, "a raw control character is not JSON at all");
    assert!(decode(br#""\\u0000\u0001""#, LIMIT).is_ok());
}

#[test]
fn h14_h15_h16_h17_what_is_over_the_limit_is_refused_by_its_length_alone() {
    let exact = format!("\"{}\"", "x".repeat(LIMIT - 2));
    assert!(decode(exact.as_bytes(), LIMIT).is_ok());
    let keys = format!("{{{}}}", (0..200_000).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(","));
    let items = format!("[{}]", vec!["0"; 1_000_000].join(","));
    let rows: [(&str, Vec<u8>); 5] = [
        ("h14 limit + 1", format!("{exact} ").into_bytes()),
        ("h14 64 MiB, not even UTF-8: nothing was read", vec![0xff; 64 << 20]),
        ("h15 200,000 keys", keys.into_bytes()),
        ("h16 one string of 10 MiB", format!("\"{}\"", "x".repeat(10 << 20)).into_bytes()),
        ("h17 1,000,000 items", items.into_bytes()),
    ];
    for (row, bytes) in rows {
        assert_eq!(reason(bytes), Reason::TooLarge, "{row}");
    }
}

#[test]
fn h15_h17_a_larger_limit_still_bounds_the_number_of_values() {
    for text in [format!("[{}]", vec!["0"; 1_000_000].join(",")), format!("[{}]", vec!["[]"; 200_000].join(","))] {
        assert_eq!(decode(text.as_bytes(), 64 << 20).unwrap_err().reason, Reason::TooLarge);
    }
    let densest = format!("[{}0]", "0,".repeat((LIMIT - 3) / 2));
    assert!(densest.len() <= LIMIT && decode(densest.as_bytes(), LIMIT).is_ok(), "an envelope is never refused by it");
}

#[test]
fn an_error_never_repeats_more_than_sixty_four_bytes_of_the_input() {
    let long = "SECRET".repeat(100);
    let rows = [
        format!("{{\"{long}\":1,\"{long}\":2}}"),
        format!("{{\"a\":{{\"{long}\":[tru]}}}}"),
        format!("[\"{long}"),
        format!("{{\"a\":\"{long}\\u0000\"}}"),
        long.clone(),
    ];
    for row in rows {
        let error = refusal(&row);
        assert!(!error.message.contains("SECRET"), "{error:?}");
    }
    assert_eq!(
        refusal(format!("{{\"a\":{{\"{long}\":[{{\"b\":01}}]}}}}")).pointer,
        "/a",
        "it stops where it cannot go on"
    );

    let mut fields =
        Fields::decode(format!("{{\"n\":\"{long}\",\"id\":\"{long}\",\"{long}\":1}}").as_bytes(), LIMIT).unwrap();
    for error in
        [fields.required::<u32>("n").unwrap_err(), fields.id::<CallId>("id").unwrap_err(), fields.finish().unwrap_err()]
    {
        assert!(
            error.message.matches("SECRET").count() * 6 <= ECHO_BYTES && error.pointer.len() <= ECHO_BYTES,
            "{error:?}"
        );
    }
}

#[test]
fn h21_h22_h23_h24_reserved_fields_are_refused_beside_the_message_and_inside_its_meta() {
    for name in RESERVED {
        for (text, pointer) in [
            (format!(r#"{{"{name}":"x"}}"#), format!("/{name}")),
            (format!(r#"{{"meta":{{"{name}":null}}}}"#), format!("/meta/{name}")),
            (format!(r#"{{"meta":{{"a":[{{"{name}":1}}]}}}}"#), format!("/meta/a/{name}")),
            (format!(r#"{{"aaa":1,"{name}":"x"}}"#), format!("/{name}")),
        ] {
            let error = Fields::decode(text.as_bytes(), LIMIT).unwrap().finish().unwrap_err();
            assert_eq!((error.reason, error.pointer), (Reason::ReservedField, pointer), "{text}");
        }
        let mut taken = Fields::decode(format!(r#"{{"meta":{{"{name}":1}}}}"#).as_bytes(), LIMIT).unwrap();
        assert_eq!(taken.value("meta").unwrap_err().reason, Reason::ReservedField);
    }
    assert!(RESERVED.is_sorted());
}

#[test]
fn h25_a_field_that_nobody_took_is_refused() {
    let mut fields = Fields::decode(br#"{"a":1,"b":2}"#, LIMIT).unwrap();
    assert_eq!(fields.required::<u32>("a").unwrap(), 1);
    let error = fields.clone().finish().unwrap_err();
    assert_eq!((error.reason, error.pointer.as_str()), (Reason::UnknownField, "/b"));
    assert_eq!(fields.optional::<u32>("b").unwrap(), Some(2));
    assert_eq!(fields.optional::<u32>("c").unwrap(), None);
    assert_eq!(fields.finish(), Ok(()));
}

#[test]
fn h26_h27_an_id_that_is_missing_or_malformed_is_refused() {
    let rows = [
        ("{}", Reason::BadEnvelope),
        (r#"{"call_id":""}"#, Reason::BadId),
        (r#"{"call_id":"a b"}"#, Reason::BadId),
        (r#"{"call_id":1}"#, Reason::BadEnvelope),
        (r#"{"call_id":{}}"#, Reason::BadEnvelope),
        (r#"{"call_id":null}"#, Reason::BadEnvelope),
    ];
    let long = format!(r#"{{"call_id":"{}"}}"#, "x".repeat(65));
    for (text, expected) in rows.into_iter().chain([(long.as_str(), Reason::BadId)]) {
        let mut fields = Fields::decode(text.as_bytes(), LIMIT).unwrap();
        assert_eq!(fields.id::<CallId>("call_id").unwrap_err().reason, expected, "{text}");
    }
}

#[test]
fn h38_a_digest_is_sixty_four_lower_case_digits() {
    let good = Digest::of(&1).to_string();
    let rows = [
        json!(1),
        json!(""),
        json!("a".repeat(10_000)),
        json!(good.to_uppercase()),
        json!(good[1..]),
        json!(null),
        json!([good]),
    ];
    for row in rows {
        let mut fields = Fields::of([("revision".to_owned(), row.clone())].into_iter().collect());
        assert_eq!(fields.required::<crate::Revision>("revision").unwrap_err().reason, Reason::BadEnvelope, "{row}");
    }
    let mut fields = Fields::of([("revision".to_owned(), json!(good))].into_iter().collect());
    assert_eq!(fields.required::<crate::Revision>("revision").unwrap().to_string(), good);
}

#[test]
fn a_nested_object_says_where_it_is() {
    let mut fields = Fields::decode(br#"{"end":{"status":"x","more":1},"n":[]}"#, LIMIT).unwrap();
    let mut end = fields.object("end").unwrap();
    assert_eq!(end.required::<u32>("status").unwrap_err().pointer, "/end/status");
    assert_eq!(end.required::<u32>("absent").unwrap_err().pointer, "/end");
    assert_eq!(end.finish().unwrap_err().pointer, "/end/more");
    assert_eq!(fields.object("n").unwrap_err().message, "`n`: expected an object, found an array");
}

fn plain_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).prop_map(Value::from),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
        "[^\0]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[^\0]{0,6}", inner, 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn valid_values_are_read_as_serde_json_reads_them(value in plain_value(), pretty: bool) {
        let text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
        let expected: Value = serde_json::from_slice(&text).unwrap();
        prop_assert_eq!(decode(&text, LIMIT).unwrap(), expected);
    }

    #[test]
    fn what_is_accepted_is_accepted_by_serde_json_too(text in r#"[\[\]{}",:0-9eE+.\-nultrfas\\ ]{0,24}"#) {
        if decode(text.as_bytes(), LIMIT).is_ok() {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn any_bytes_are_answered_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&bytes, LIMIT);
        let _ = decode_object(&bytes, 32);
    }
}
