//! What Surfaces show, through the SDK (SDK-6).

mod support;

use futures_util::FutureExt as _;
use lineup_sdk::{
    Request,
    host::{MiniAppRequest, Step},
    prelude::*,
};
use support::{Port, call, deliver};

define_agent_tools! {
    app Desk in "desk" { surface "main" { title: "Desk", required } }

    /// Show something.
    tool show() -> () { version: 1, invocation: command, readiness: app_ready, handler: Desk::show }
}

impl Desk {
    async fn show(&self, sdk: &Sdk, _call: Call<()>) -> ToolResult<()> {
        let first = sdk.surfaces().update("main", json!({ "at": 1 })).await?;
        sdk.surfaces().update_at("main", first, json!({ "at": 2 })).await?;
        sdk.surfaces().update("main", json!({ "at": null })).step("done").await?;
        Ok(())
    }
}

fn answered<T: Send + 'static>(request: Request<T>) -> Result<T, SdkError> {
    request.into_future().now_or_never().expect("the port answers at once")
}

#[test]
fn sdk_6_an_update_asks_for_the_patch_and_is_answered_with_the_revision() {
    let port = Port::default();
    let sdk = port.sdk();
    assert_eq!(answered(sdk.surfaces().update("main", json!({ "title": "Read", "old": null }))), Ok(1));
    assert_eq!(answered(sdk.surfaces().update_at("main", 1, json!({}))), Ok(2));
    let [
        MiniAppRequest::UpdateSurface { step: None, surface, base_revision: None, patch },
        MiniAppRequest::UpdateSurface { base_revision: Some(1), .. },
    ] = &port.requests()[..]
    else {
        panic!("two updates")
    };
    assert_eq!((surface.as_str(), patch), ("main", &json!({ "title": "Read", "old": null })), "null removes");
}

#[test]
fn sdk_6_a_name_that_no_surface_can_have_is_not_found_and_asks_nothing() {
    let port = Port::default();
    let refused = answered(port.sdk().surfaces().update("../main", json!({}))).unwrap_err();
    assert_eq!(refused.code, ErrorCode::SurfaceNotFound);
    assert!(port.requests().is_empty());
}

#[test]
fn dur_4_updates_of_a_handler_are_keyed_and_a_second_run_asks_for_the_same() {
    let port = Port::default();
    deliver(&bundle(), &port, call("show", json!({}))).unwrap();
    let steps: Vec<Option<Step>> = port
        .requests()
        .into_iter()
        .filter_map(|request| if let MiniAppRequest::UpdateSurface { step, .. } = request { Some(step) } else { None })
        .collect();
    let step = |name: &str| Some(Step(name.into()));
    assert_eq!(steps, [step("surfaces.update#1"), step("surfaces.update#2"), step("done")]);
    let again = Port::default();
    deliver(&bundle(), &again, call("show", json!({}))).unwrap();
    assert_eq!(again.requests(), port.requests());
}

#[test]
fn sdk_6_a_refused_update_ends_the_call_with_its_code() {
    let port = Port::default();
    port.refuse("surface", ErrorCode::SurfacePatchInvalid);
    deliver(&bundle(), &port, call("show", json!({}))).unwrap();
    assert!(matches!(
        &port.requests()[..],
        [MiniAppRequest::UpdateSurface { .. }, MiniAppRequest::Fail { fault, .. }]
            if fault.reason.as_deref() == Some("surface_patch_invalid")
    ));
}
