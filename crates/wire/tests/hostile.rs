//! The hostile rows that the decoder can show, against the one entry for an agent's bytes.
//!
//! Rows of the JSON grammar are told apart in `lineup-model`; here they show that the entry uses
//! that decoder and says where the fault is.

use lineup_model::ErrorCode::{self, EnvelopeInvalid, PayloadTooLarge, ToolInputInvalid, ToolNotAdvertised};
use lineup_wire::{Malformed, decode_request};

const HEAD: &str = r#""type":"lineup.v1.tool.invoke","id":"m1","conversation_id":"c1","call_id":"k1","tool":"a.b""#;

fn revision() -> String {
    "0123456789abcdef".repeat(4)
}

/// An invoke that is well formed but for what the row puts into it.
fn invoke(input: &str, more: &str) -> Vec<u8> {
    format!(r#"{{{HEAD},"inventory_revision":"{}","input":{input}{more}}}"#, revision()).into_bytes()
}

fn with_input(input: &str) -> Vec<u8> {
    invoke(input, "")
}

fn with_field(field: &str) -> Vec<u8> {
    invoke("{}", &format!(",{field}"))
}

fn instead(from: &str, to: &str) -> Vec<u8> {
    let good = String::from_utf8(with_input("{}")).unwrap();
    let bad = good.replacen(from, to, 1);
    assert_ne!(good, bad, "{from} is not in the envelope");
    bad.into_bytes()
}

/// Refuses every row with the code and reason; an answer is possible unless the row is dropped.
#[track_caller]
fn refused(rows: &[Vec<u8>], code: ErrorCode, reason: &str) -> Vec<Malformed> {
    rows.iter()
        .map(|row| {
            let shown = String::from_utf8_lossy(&row[..row.len().min(200)]).into_owned();
            let malformed = decode_request(row).expect_err(&shown);
            assert_eq!((malformed.fault.code, malformed.reason.as_str()), (code, reason), "{shown}");
            assert_eq!(malformed.fault.reason.as_deref(), Some(reason), "{shown}");
            malformed
        })
        .collect()
}

#[track_caller]
fn answered(rows: &[Vec<u8>], code: ErrorCode, reason: &str) {
    for malformed in refused(rows, code, reason) {
        assert!(malformed.is_request);
        assert_eq!(malformed.in_reply_to.unwrap().as_str(), "m1");
        assert_eq!(malformed.conversation.unwrap().as_str(), "c1");
    }
}

#[test]
fn the_envelope_that_the_rows_start_from_is_accepted() {
    assert!(decode_request(&with_input("{}")).is_ok());
    assert!(decode_request(&with_field(r#""expires_at":1"#)).is_ok());
}

#[test]
fn h1_bytes_that_are_not_utf8_are_refused_whole() {
    let mut late = with_field(r#""note":"?""#);
    let at = late.len() - 3;
    late[at] = 0xff;
    answered(&[late], EnvelopeInvalid, "bad_utf8");
}

#[test]
fn h3_h4_what_is_not_one_json_object_is_refused() {
    let mut trailing = with_input("{}");
    trailing.extend(b" {}");
    let rows = [trailing, with_field("// no\n\"a\":1"), with_field("'a':1")];
    refused(&rows, EnvelopeInvalid, "bad_json");
    let inside = ["{\"a\":NaN}", "{\"a\":Infinity}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":.5}", "{\"a\":+1}"];
    answered(&inside.map(with_input), ToolInputInvalid, "bad_json");
}

#[test]
fn h5_the_top_level_is_an_object() {
    let rows = ["[]", "\"a\"", "1", "null", "[\"lineup.v1.agent.hello\",\"m1\",\"c1\"]"];
    for malformed in refused(&rows.map(Vec::from), EnvelopeInvalid, "bad_envelope") {
        assert!(!malformed.is_request);
    }
    assert!(decode_request(b"").is_err());
}

#[test]
fn h6_a_key_that_comes_twice_is_refused() {
    answered(&[with_field(r#""a":1,"a":1"#), with_field(r#""a":1,"\u0061":1"#)], EnvelopeInvalid, "duplicate_key");
    let inside = [r#"{"a":1,"a":2}"#, r#"{"a":{"b":1,"b":1}}"#, r#"{"a":1,"\u0061":1}"#];
    answered(&inside.map(with_input), ToolInputInvalid, "duplicate_key");
}

#[test]
fn h6_an_id_that_comes_twice_is_answered_by_nobody() {
    for malformed in refused(&[with_field(r#""id":"m2""#)], EnvelopeInvalid, "duplicate_key") {
        assert_eq!(malformed.in_reply_to, None);
    }
}

#[test]
fn h7_deep_nesting_is_refused_with_a_constant_stack() {
    for depth in [33, 128, 129, 100_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        answered(&[with_input(&format!(r#"{{"a":{nested}}}"#))], ToolInputInvalid, "too_deep");
        answered(&[with_field(&format!(r#""note":{nested}"#))], EnvelopeInvalid, "too_deep");
    }
}

#[test]
fn h8_h9_a_number_that_cannot_be_kept_is_refused_and_never_rounded() {
    let numbers = ["1e400", "-1e400", "1e99999999999999999999", "18446744073709551616", "9007199254740993"];
    for number in numbers {
        answered(&[with_input(&format!(r#"{{"a":{number}}}"#))], ToolInputInvalid, "number_range");
        answered(&[with_field(&format!(r#""expires_at":{number}"#))], EnvelopeInvalid, "number_range");
    }
    answered(
        &["1.5", "5.0", "\"5\"", "null", "true"].map(|n| with_field(&format!(r#""expires_at":{n}"#))),
        EnvelopeInvalid,
        "bad_envelope",
    );
}

#[test]
fn h11_h12_strings_hold_no_lone_surrogate_and_no_nul() {
    answered(&[r#"{"a":"\ud800"}"#, r#"{"a":"\udc00\ud800"}"#].map(with_input), ToolInputInvalid, "bad_json");
    answered(&[with_input(r#"{"a":"\u0000"}"#)], ToolInputInvalid, "bad_string");
    answered(&[instead("\"k1\"", r#""k\u0000""#)], EnvelopeInvalid, "bad_string");
}

#[test]
fn h13_h26_h27_an_id_has_the_shape_of_its_kind() {
    let long = format!("\"{}\"", "k".repeat(65));
    let ids = ["\"\"", &long, "\"k 1\"", "\"k\u{200d}\"", "\"\u{202e}k\"", "\"ké\"", "\"😀\"", "\"k \""];
    answered(&ids.map(|id| instead("\"k1\"", id)), EnvelopeInvalid, "bad_id");
    answered(&["1", "{}", "[]", "null", "true"].map(|id| instead("\"k1\"", id)), EnvelopeInvalid, "bad_envelope");
    answered(&[instead("\"call_id\":\"k1\",", "")], EnvelopeInvalid, "bad_envelope");
}

#[test]
fn h14_h15_h16_h17_what_is_too_large_is_refused_before_it_is_read() {
    let padded = |size: usize| {
        let empty = with_input(r#"{"a":""}"#).len();
        with_input(&format!(r#"{{"a":"{}"}}"#, "x".repeat(size - empty)))
    };
    answered(&[padded(256 * 1024 + 1), padded(64 << 20)], PayloadTooLarge, "too_large");
    let keys: Vec<String> = (0..200_000).map(|key| format!("\"{key}\":0")).collect();
    let items = format!(r#"{{"a":[{}]}}"#, "0,".repeat(999_999) + "0");
    answered(&[with_input(&format!("{{{}}}", keys.join(","))), with_input(&items)], PayloadTooLarge, "too_large");
}

#[test]
fn h14_an_input_is_measured_as_canonical_json() {
    let filled = |size: usize| with_input(&format!(r#"{{"a":"{}"}}"#, "x".repeat(size - r#"{"a":""}"#.len())));
    assert!(decode_request(&filled(64 * 1024)).is_ok());
    answered(&[filled(64 * 1024 + 1)], PayloadTooLarge, "too_large");
    // Blanks do not count, and a number counts as it is written out.
    assert!(decode_request(&with_input(&format!("{{{}}}", " ".repeat(100 * 1024)))).is_ok());
    let written_out = format!(r#"{{"a":[{}1e20]}}"#, "1e20,".repeat(4_000));
    assert!(written_out.len() < 64 * 1024);
    answered(&[with_input(&written_out)], PayloadTooLarge, "too_large");
}

#[test]
fn h14_a_text_has_its_own_limit() {
    let text = |size: usize| {
        format!(r#"{{"type":"lineup.v1.message.text","id":"m1","conversation_id":"c1","text":"{}"}}"#, "x".repeat(size))
            .into_bytes()
    };
    assert!(decode_request(&text(16 * 1024)).is_ok());
    answered(&[text(16 * 1024 + 1)], PayloadTooLarge, "too_large");
    answered(&[text(0)], EnvelopeInvalid, "bad_envelope");
}

#[test]
fn h21_h22_h23_h24_no_agent_sets_what_the_runtime_sets() {
    for field in [
        "instance_id",
        "operation_id",
        "interaction_id",
        "app_session_id",
        "owner",
        "app_owner",
        "entry",
        "user_id",
        "capability",
    ] {
        let rows = [with_field(&format!(r#""{field}":"x""#)), with_field(&format!(r#""meta":{{"{field}":"x"}}"#))];
        answered(&rows, EnvelopeInvalid, "reserved_field");
    }
}

#[test]
fn h25_an_unknown_field_is_refused() {
    let rows = [r#""note":1"#, r#""meta":{}"#, r#""app_scope":"pomodoro""#, r#""Call_id":"k1""#, r#""seq":1"#];
    answered(&rows.map(with_field), EnvelopeInvalid, "unknown_field");
}

#[test]
fn h35_a_tool_name_with_a_path_or_another_case_is_not_advertised() {
    for name in ["a", "a.b.c", "A.b", "a/b", "../a.b", "a.b ", "a.\u{200d}b", ""] {
        answered(
            &[instead("\"a.b\"", &format!("{name:?}").replace("\\u{200d}", "\\u200d"))],
            ToolNotAdvertised,
            "unknown_tool",
        );
    }
    answered(&[instead("\"a.b\"", "7")], EnvelopeInvalid, "bad_envelope");
}

#[test]
fn h36_h38_a_revision_is_a_digest() {
    let revision = format!("\"{}\"", revision());
    let huge = format!("\"{}\"", "a".repeat(10_000));
    for bad in ["7", "\"\"", "null", &huge, &revision.to_uppercase(), &revision.replacen('0', "g", 1)] {
        answered(&[instead(&revision, bad)], EnvelopeInvalid, "bad_envelope");
    }
}

#[test]
fn h40_ui_11_frames_of_another_entry_are_refused_and_not_answered() {
    let types = [
        "lineup.v1.interaction.submit",
        "lineup.v1.ui.action",
        "lineup.v1.host.lifecycle",
        "lineup.v1.lifecycle.back",
        "lineup.v1.inbox.acknowledge",
        "lineup.v1.surface.patch",
        "lineup.v1.miniapp.tool.progress",
        "lineup.v1.miniapp.tool.result",
        "lineup.v1.miniapp.tool.cancel",
        "lineup.v1.client.inventory",
        "ui/initialize",
    ];
    let mut rows: Vec<Vec<u8>> = types.iter().map(|name| instead("lineup.v1.tool.invoke", name)).collect();
    rows.push(br#"{"jsonrpc":"2.0","id":"m1","method":"ui/message","params":{}}"#.to_vec());
    for malformed in refused(&rows, EnvelopeInvalid, "wrong_entry") {
        assert!(!malformed.is_request);
    }
}

#[test]
fn wire_5_an_unknown_type_is_not_answered() {
    let rows =
        ["lineup.v2.tool.invoke", "lineup.v1.tool.applaud", "lineup.v1.tool.invoke ", "", "LINEUP.V1.TOOL.INVOKE"];
    for malformed in refused(&rows.map(|name| instead("lineup.v1.tool.invoke", name)), EnvelopeInvalid, "unknown_type")
    {
        assert!(!malformed.is_request);
    }
}

#[test]
fn a_refusal_quotes_at_most_sixty_four_bytes_of_the_input() {
    let long = "x".repeat(1000);
    let rows = [
        with_field(&format!("\"{long}\":1")),
        with_field(&format!("\"expires_at\":\"{long}\"")),
        instead("\"k1\"", &format!("\"{long}\"")),
        instead("\"a.b\"", &format!("\"{long}\"")),
        with_input(&format!("{{\"{long}\":1,\"{long}\":1}}")),
    ];
    for row in rows {
        let fault = decode_request(&row).unwrap_err().fault;
        for text in [fault.message, fault.pointer.unwrap_or_default()] {
            assert!(text.matches('x').count() <= 66, "{text}");
        }
    }
}
