//! What must not be left behind, over-run or forgotten: alarms, documents, actions, activations.

mod scene;

use std::sync::Arc;

use lineup_core::{
    Answer, Input, Rejected,
    call::CallState,
    miniapp::{MiniAppContext, MiniAppRequest, Step, Work},
    workspace::input::{AgentRequest, AppHappened, Intent, MiniAppInput, Report, UiActionInput, View},
};
use lineup_model::{
    CallKey, Descriptor, Effective, Generation, InstanceId, Manifest, Wall,
    descriptor::{Invocation, OperationRule, Readiness, Terminal},
    manifest::{Kind, UiAction},
    message::End,
    schema::Schema,
};
use scene::{MINUTE, Scene, id, manifest, pomodoro, tool};
use serde_json::{Value, json};

const DAY: u64 = 24 * 60 * MINUTE;

/// An app with a handler: plain, closing, showing and operating tools, and a UI Action.
fn board() -> Arc<Manifest> {
    let operation = |method, needs_foreground, readiness| Descriptor {
        invocation: Invocation::Operation,
        readiness,
        operation: OperationRule { needs_foreground, ends_on_leaving: false, exclusive: None },
        handling: Descriptor::handling_of(Invocation::Operation, readiness),
        ..tool("board", method)
    };
    let tools = vec![
        tool("board", "add"),
        Descriptor { terminal: Terminal { agent_may_cancel: true, closes_instance: true }, ..tool("board", "close") },
        operation("draw", false, Readiness::AppReady),
        Descriptor {
            readiness: Readiness::ForegroundRequired,
            handling: Descriptor::handling_of(Invocation::Command, Readiness::ForegroundRequired),
            ..tool("board", "show")
        },
        operation("sketch", true, Readiness::ForegroundRequired),
    ];
    let mut manifest = Manifest::empty(id("board"), "1.0.0", Kind::BundledReference);
    manifest.tools = tools;
    manifest.ui_actions = vec![UiAction {
        method: id("done"),
        description: "The user is done.".into(),
        input_schema: Schema::empty_object(),
        confirm: false,
    }];
    Arc::new(manifest.sealed().expect("a test's manifest is consistent"))
}

fn ask(
    scene: &mut Scene,
    instance: &InstanceId,
    work: Option<Work>,
    request: MiniAppRequest,
) -> Result<Answer, Box<Rejected>> {
    let found = scene.workspace.instance(instance).unwrap();
    let from = MiniAppContext {
        workspace: id("w"),
        app_scope: found.app_scope.clone(),
        instance: instance.clone(),
        conversation: found.conversation.clone(),
        work,
    };
    scene.put(Input::MiniApp(MiniAppInput { from, request }))
}

fn handler(call: &CallKey, generation: u32) -> Option<Work> {
    Some(Work::Call { call: call.clone(), generation: Generation(generation) })
}

fn complete(scene: &mut Scene, instance: &InstanceId, call: &CallKey) {
    let request = MiniAppRequest::Complete { call: call.clone(), generation: None, output: json!({ "done": true }) };
    ask(scene, instance, None, request).unwrap();
}

/// `board` is up in `main`, with one call under way.
fn up(method: &str) -> (Scene, InstanceId, CallKey) {
    let mut scene = Scene::new(vec![board(), pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    let call = scene.call(method, "k1", json!({})).unwrap();
    let instance = scene.instance("main", "board").unwrap();
    scene.come_up(&instance);
    (scene, instance, call)
}

fn state(scene: &Scene, call: &CallKey) -> CallState {
    scene.workspace.call(call).expect("the call is open").state.clone()
}

fn failure(scene: &Scene, call_id: &str) -> String {
    match scene.outcome(call_id) {
        Some(End::Failed { error } | End::Rejected { error } | End::Cancelled { error } | End::Expired { error }) => {
            error.code.as_str().to_owned()
        }
        other => panic!("{call_id} did not fail: {other:?}"),
    }
}

// ---- time ----

#[test]
fn op_1_nothing_is_due_after_a_focus_is_over_whatever_the_calls_expiry() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    let AgentRequest::Invoke { call_id, tool, input, revision, .. } =
        scene.invocation("ann", "main", "pomodoro.start", "k1", json!({ "minutes": 20 }))
    else {
        unreachable!("an invocation")
    };
    let expires_at = Some(Wall(scene.wall + i64::try_from(3 * DAY).unwrap()));
    scene.request("ann", "main", AgentRequest::Invoke { call_id, tool, input, revision, expires_at }).unwrap();
    let instance = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&instance);
    scene.confirm();
    assert_eq!(scene.workspace.next_alarm(), Some(Effective(20 * MINUTE)));
    scene.advance(20 * MINUTE);
    assert_eq!(scene.words("k1"), ["starting", "started", "completed"]);
    assert_eq!(scene.workspace.next_alarm(), None);
}

#[test]
fn op_1_a_focus_of_a_whole_day_runs_to_its_deadline_although_it_took_a_while_to_start() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 1440 })).unwrap();
    scene.advance(5_000);
    let instance = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&instance);
    scene.confirm();
    scene.advance(DAY - 1);
    assert_eq!(scene.outcome("k1"), None);
    scene.advance(1);
    assert_eq!(scene.result("k1"), json!({ "status": "completed" }));
}

#[test]
fn call_9_an_operation_of_an_apps_own_has_a_day_once_it_started() {
    let (mut scene, instance, call) = up("board.draw");
    scene.advance(10 * MINUTE);
    assert_eq!(scene.outcome("k1"), None, "its timeout was for getting it started");
    complete(&mut scene, &instance, &call);
    assert_eq!(scene.words("k1"), ["starting", "started", "completed"]);

    let (mut scene, ..) = up("board.draw");
    scene.advance(DAY);
    assert_eq!(failure(&scene, "k1"), "call_expired");
}

// ---- what an end takes with it ----

#[test]
fn ses_1_a_document_written_with_the_call_that_closes_its_instance_leaves_memory_with_it() {
    let (mut scene, instance, call) = up("board.close");
    let write = MiniAppRequest::WriteSession { step: None, base_revision: 0, data: json!({ "strokes": 3 }) };
    ask(&mut scene, &instance, handler(&call, 1), write).unwrap();
    // The scene compares what is left with what a restart would find.
    complete(&mut scene, &instance, &call);
    assert_eq!(scene.instance("main", "board"), None);
}
