//! Session data through the SDK (SES-1).

mod support;

use futures_util::FutureExt as _;
use lineup_sdk::{
    host::{MiniAppRequest, Step},
    prelude::*,
};
use support::Port;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Notes {
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    draft: Option<String>,
}

fn add(note: &'static str) -> impl FnMut(&mut Notes) {
    move |notes| {
        if !notes.notes.iter().any(|found| found == note) {
            notes.notes.push(note.into());
        }
    }
}

fn update(port: &Port, note: &'static str) -> Result<u64, SdkError> {
    let sdk = port.sdk();
    let written = sdk.session().update("add", add(note)).now_or_never().expect("the port answers at once");
    written.map(|snapshot| snapshot.revision)
}

#[test]
fn ses_1_an_update_writes_the_change_on_the_revision_that_it_saw() {
    let port = Port::default();
    assert_eq!(update(&port, "one"), Ok(1));
    assert_eq!(update(&port, "two"), Ok(2));
    let [
        MiniAppRequest::WriteSession { base_revision: 0, .. },
        MiniAppRequest::WriteSession { base_revision: 1, data, step },
    ] = &port.requests()[..]
    else {
        panic!("two writes");
    };
    assert_eq!(*data, json!({ "notes": ["one", "two"] }), "None is left out");
    assert_eq!(*step, None::<Step>, "outside a handler there are no steps");
}

#[test]
fn dur_4_an_update_that_finds_its_work_done_writes_nothing() {
    let port = Port::default();
    assert_eq!(update(&port, "one"), Ok(1));
    assert_eq!(update(&port, "one"), Ok(1));
    assert_eq!(port.requests().len(), 1);
}

#[test]
fn ses_1_an_update_that_is_overtaken_reads_again_a_bounded_number_of_times() {
    let port = Port::default();
    port.state().overtaken = 15;
    assert_eq!(update(&port, "one"), Ok(16));
    port.state().overtaken = 16;
    assert_eq!(update(&port, "two").map_err(|error| error.code), Err(ErrorCode::SessionRevisionConflict));
}

#[test]
fn data_that_does_not_fit_its_type_is_named_so() {
    let port = Port::default();
    port.state().session = (1, Some(json!({ "notes": 1 })));
    let error = update(&port, "one").unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("session_data_unreadable"));
}
