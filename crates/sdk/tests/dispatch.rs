//! What reaches the Runtime from a handler, seen at the port (SDK-3, DUR-4).

mod support;

use lineup_sdk::{
    host::{Canceller, Delivery, MiniAppRequest as Request, Step, Work},
    prelude::*,
};
use support::{Port, call, deliver};

/// What to do.
#[derive(Deserialize, JsonSchema)]
pub struct Order {
    /// How it goes.
    pub way: Way,
    /// Said back.
    pub note: Option<String>,
}

/// How an order goes.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Well.
    Well,
    /// It fails.
    Badly,
    /// It panics.
    Wildly,
    /// It waits until it is cancelled.
    Slowly,
    /// It writes several things.
    Busily,
    /// It names a step twice.
    Clumsily,
    /// It writes until it is let.
    Stubbornly,
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub struct Report {
    /// Counts the runs.
    pub attempt: u32,
    /// Said back.
    pub note: Option<String>,
}

define_agent_tools! {
    app Desk in "desk" { subscriptions: ["message.text"] }

    /// Do something.
    tool work(Order) -> Report {
        version: 1, invocation: command, readiness: app_ready, cancellable,
        handler: Desk::work,
    }

    /// Do nothing.
    tool rest() -> () { version: 1, invocation: command, readiness: app_ready, handler: Desk::rest }

    /// The user changes their mind.
    action change(Order) { handler: Desk::change }
}

impl Desk {
    async fn work(&self, sdk: &Sdk, call: Call<Order>) -> ToolResult<Report> {
        match call.input.way {
            Way::Well => {}
            Way::Badly => return Err(SdkError::failed("no_paper", "there is no paper left")),
            Way::Wildly => panic!("wild"),
            Way::Slowly => {
                call.cancelled().await;
                return Err(SdkError::cancelled("asked_for"));
            }
            Way::Busily => {
                call.progress("half", json!({ "done": 1 })).await?;
                call.progress("all", None).await?;
                sdk.session().write(0, &json!({ "a": 1, "b": null })).await?;
                sdk.session().write(1, &json!({ "a": 2 })).step("second").await?;
                sdk.lifecycle().request_foreground().await?;
            }
            Way::Stubbornly => {
                while sdk.session().write(0, &json!({ "a": 1 })).await.is_err() {}
                while sdk.session().write(1, &json!({ "a": 2 })).step("named").await.is_err() {}
            }
            Way::Clumsily => {
                sdk.session().write(0, &json!({})).step("one").await?;
                sdk.session().write(1, &json!({})).step("one").await?;
            }
        }
        let attempt = call.attempt();
        Ok(Report { attempt, note: call.input.note })
    }

    async fn rest(&self, _sdk: &Sdk, _call: Call<()>) -> ToolResult<()> {
        Ok(())
    }

    async fn change(&self, sdk: &Sdk, action: Action<Order>) -> ActionResult {
        match action.input.way {
            Way::Badly => Err(SdkError::failed("no_paper", "there is no paper left")),
            _ => sdk.lifecycle().request_background().await,
        }
    }
}

impl MiniApp for Desk {
    async fn on_message(&self, _sdk: &Sdk, message: &InboxMessage) -> Result<(), SdkError> {
        if message.body["text"] == "bad" { Err(SdkError::failed("unreadable", "cannot read it")) } else { Ok(()) }
    }
}

#[test]
fn sdk_3_a_result_completes_the_call_under_its_delivery_and_none_is_left_out() {
    let port = Port::default();
    deliver(&bundle(), &port, call("work", json!({ "way": "well" }))).unwrap();
    let [Request::Complete { call, generation, output }] = &port.requests()[..] else {
        panic!("one completion");
    };
    assert_eq!((call.as_str(), generation.map(|g| g.0)), ("k1", Some(7)));
    assert_eq!(*output, json!({ "attempt": 2 }));
}

#[test]
fn inv_5_nothing_is_an_object_without_members() {
    let port = Port::default();
    deliver(&bundle(), &port, call("rest", json!({}))).unwrap();
    assert!(matches!(&port.requests()[..], [Request::Complete { output, .. }] if *output == json!({})));
}

#[test]
fn a_failure_carries_the_authors_reason_and_a_panic_its_own() {
    for (way, reason) in [("badly", "no_paper"), ("wildly", "handler_panicked")] {
        let port = Port::default();
        deliver(&bundle(), &port, call("work", json!({ "way": way }))).unwrap();
        let [Request::Fail { fault, generation, .. }] = &port.requests()[..] else { panic!("one failure") };
        assert_eq!((fault.code, fault.reason.as_deref()), (ErrorCode::ToolFailed, Some(reason)));
        assert_eq!(generation.map(|g| g.0), Some(7));
    }
}

#[test]
fn call_10_a_handler_that_follows_its_token_ends_the_call_as_cancelled() {
    let port = Port::default();
    let canceller = Canceller::new();
    canceller.cancel();
    let Delivery::Call(mut delivery) = call("work", json!({ "way": "slowly" })) else { unreachable!() };
    delivery.canceller = canceller;
    deliver(&bundle(), &port, Delivery::Call(delivery)).unwrap();
    assert!(matches!(
        &port.requests()[..],
        [Request::Cancel { reason: Some(reason), .. }] if reason == "asked_for"
    ));
}

#[test]
fn dur_4_each_write_of_a_handler_has_a_step_key_of_its_kind_and_count_or_its_name() {
    let port = Port::default();
    deliver(&bundle(), &port, call("work", json!({ "way": "busily" }))).unwrap();
    let steps: Vec<Option<String>> = port.requests().iter().map(step_of).collect();
    let named = |step: &str| Some(step.to_owned());
    assert_eq!(
        steps,
        [
            named("call.progress#1"),
            named("call.progress#2"),
            named("session.write#1"),
            named("second"),
            named("lifecycle.foreground#1"),
            None, // the end of the call
        ]
    );
    let again = Port::default();
    deliver(&bundle(), &again, call("work", json!({ "way": "busily" }))).unwrap();
    assert_eq!(again.requests(), port.requests(), "a second run asks for the same");
}

#[test]
fn dur_4_a_refused_write_is_tried_again_under_the_same_key() {
    let port = Port::default();
    port.state().overtaken = 2;
    deliver(&bundle(), &port, call("work", json!({ "way": "stubbornly" }))).unwrap();
    let steps: Vec<String> = port.requests().iter().filter_map(step_of).collect();
    assert_eq!(steps, ["session.write#1", "session.write#1", "session.write#1", "named"]);
}

#[test]
fn dur_4_a_step_name_that_is_used_twice_ends_the_call_instead_of_losing_a_write() {
    let port = Port::default();
    deliver(&bundle(), &port, call("work", json!({ "way": "clumsily" }))).unwrap();
    assert!(matches!(
        &port.requests()[..],
        [Request::WriteSession { .. }, Request::Fail { fault, .. }] if fault.reason.as_deref() == Some("step_used_twice")
    ));
}

#[test]
fn dur_4_a_store_that_is_away_leaves_the_call_open_for_another_delivery() {
    let port = Port::default();
    port.refuse("progress", ErrorCode::StorageUnavailable);
    let unsettled = deliver(&bundle(), &port, call("work", json!({ "way": "busily" }))).unwrap_err();
    assert_eq!(unsettled.code, ErrorCode::StorageUnavailable);
    assert_eq!(port.requests().len(), 1, "neither completed nor failed");
}

#[test]
fn a_refusal_that_the_handler_passes_on_ends_the_call_with_its_code_as_reason() {
    let port = Port::default();
    port.refuse("foreground", ErrorCode::LifecycleDenied);
    deliver(&bundle(), &port, call("work", json!({ "way": "busily" }))).unwrap();
    let Some(Request::Fail { fault, .. }) = port.requests().pop() else { panic!("the call fails") };
    assert_eq!((fault.code, fault.reason.as_deref()), (ErrorCode::ToolFailed, Some("lifecycle_denied")));
}

#[test]
fn call_5_a_completion_that_the_runtime_refuses_is_handed_to_the_adapter() {
    let port = Port::default();
    port.refuse("complete", ErrorCode::CallAlreadyFinal);
    let fault = deliver(&bundle(), &port, call("work", json!({ "way": "well" }))).unwrap_err();
    assert_eq!(fault.code, ErrorCode::CallAlreadyFinal);
}

#[test]
fn sdk_1_every_request_is_made_in_the_injected_context_and_names_the_work_at_hand() {
    let port = Port::default();
    deliver(&bundle(), &port, call("work", json!({ "way": "busily" }))).unwrap();
    for from in port.contexts() {
        assert_eq!((from.workspace.as_str(), from.instance.as_str()), ("w1", "i1"));
        assert!(
            matches!(from.work, Some(Work::Call { call, generation }) if call.as_str() == "k1" && generation.0 == 7)
        );
    }
}

#[test]
fn an_input_that_its_type_cannot_read_never_reaches_the_handler() {
    let port = Port::default();
    deliver(&bundle(), &port, call("work", json!({ "way": "upwards" }))).unwrap();
    let [Request::Fail { fault, .. }] = &port.requests()[..] else { panic!("one failure") };
    assert_eq!(fault.reason.as_deref(), Some("tool_input_invalid"));
}

#[test]
fn a_method_without_a_handler_fails_the_call_and_nothing_else() {
    let port = Port::default();
    deliver(&bundle(), &port, call("unheard-of", json!({}))).unwrap();
    assert!(
        matches!(&port.requests()[..], [Request::Fail { fault, .. }] if fault.reason.as_deref() == Some("internal"))
    );
}

#[test]
fn uia_1_an_action_is_reported_done_with_or_without_a_fault() {
    for (way, requests, reason) in [("well", 2, None), ("badly", 1, Some("no_paper"))] {
        let port = Port::default();
        deliver(&bundle(), &port, support::action("change", json!({ "way": way }))).unwrap();
        assert_eq!(port.requests().len(), requests);
        let Some(Request::ActionDone { action, generation, fault }) = port.requests().pop() else {
            panic!("the action ends");
        };
        assert_eq!((action.as_str(), generation.0), ("a1", 3));
        assert_eq!(fault.and_then(|fault| fault.reason).as_deref(), reason);
    }
}

#[test]
fn dur_3_a_message_is_acknowledged_after_its_hook_and_a_failing_one_stops_the_line() {
    let port = Port::default();
    for text in ["good", "bad", "later"] {
        port.post(text);
    }
    let fault = deliver(&bundle(), &port, Delivery::Inbox).unwrap_err();
    assert_eq!(fault.reason.as_deref(), Some("unreadable"));
    let acknowledged: Vec<String> = port.acknowledged();
    assert_eq!(acknowledged, ["m1"]);
}

#[test]
fn hooks_that_are_not_written_do_nothing() {
    let port = Port::default();
    deliver(&bundle(), &port, Delivery::Ready).unwrap();
    deliver(&bundle(), &port, Delivery::Lifecycle(InstanceState::Background)).unwrap();
    assert!(port.requests().is_empty());
}

fn step_of(request: &Request) -> Option<String> {
    let step = match request {
        Request::ReportProgress { step, .. }
        | Request::WriteSession { step, .. }
        | Request::RequestForeground { step } => step.clone(),
        _ => None,
    };
    step.map(|Step(key)| key)
}
