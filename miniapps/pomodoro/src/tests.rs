use super::*;

fn manifest() -> Value {
    json!(bundle().verified().expect("the committed manifest is that of the source").manifest())
}

fn tool(id: &str) -> Value {
    let manifest = manifest();
    let tools = manifest["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["id"] == id).expect("the tool is declared").clone()
}

#[test]
fn app_4_start_is_a_deadline_operation_of_the_runtime_that_needs_the_foreground() {
    let start = tool("pomodoro.start");
    assert_eq!(
        start["executor"],
        json!({
            "kind": "runtime",
            "action": {
                "name": "deadline_operation.start",
                "length": { "unit": "minutes", "input": "minutes" },
                "when_busy": "already_focusing",
            },
        })
    );
    assert_eq!(
        start["operation"],
        json!({ "needs_foreground": true, "ends_on_leaving": true, "exclusive": "workspace" })
    );
    assert_eq!(start["readiness"], "foreground_required");
    assert_eq!(start["terminal"]["agent_may_cancel"], false);
}

#[test]
fn app_4_start_takes_a_day_at_most_and_an_optional_title() {
    let schema = &tool("pomodoro.start")["input_schema"];
    let minutes = &schema["properties"]["minutes"];
    assert_eq!(
        (&minutes["type"], &minutes["minimum"], &minutes["maximum"]),
        (&json!("integer"), &json!(1), &json!(1440))
    );
    assert_eq!(schema["required"], json!(["minutes"]));
    assert_eq!(schema["properties"]["title"]["type"], "string");
}

#[test]
fn app_4_interrupt_needs_no_activation_and_no_input() {
    let interrupt = tool("pomodoro.interrupt");
    assert_eq!(interrupt["readiness"], "activation_not_required");
    assert_eq!(interrupt["handling"], "direct");
    assert_eq!(interrupt["input_schema"]["properties"], json!({}));
    assert_eq!(
        interrupt["output_schema"]["properties"]["status"]["enum"],
        json!(["interrupted", "start_cancelled", "nothing_running"])
    );
}

#[test]
fn app_4_it_is_ready_only_with_its_surface_and_offers_no_action_of_its_own() {
    let manifest = manifest();
    assert_eq!(manifest["host"]["surface_required"], true);
    assert_eq!(manifest["surfaces"][0]["id"], "main");
    assert_eq!(manifest["ui_actions"], json!([]));
}

#[test]
fn sur_1_the_bundle_carries_the_document_of_its_surface_which_needs_nothing_from_elsewhere() {
    let bundle = bundle();
    let [(id, html)] = bundle.documents() else { panic!("{:?}", bundle.documents()) };
    assert_eq!(*id, "main");
    // A name of SVG's, which nobody asks for over the network.
    let html = html.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", " src=", " href=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
}
