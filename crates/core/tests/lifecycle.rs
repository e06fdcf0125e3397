//! What must not be left behind, over-run or forgotten: alarms, documents, actions, activations.

mod scene;

use std::sync::Arc;

use lineup_core::{
    Answer, ChangeSet, Input, Rejected,
    call::CallState,
    miniapp::{MiniAppContext, MiniAppRequest, Step, Work},
    policy::Conversation,
    workspace::input::{AgentInput, AgentRequest, AppHappened, Intent, MiniAppInput, Report, UiActionInput, View},
};
use lineup_model::{
    CallKey, Descriptor, Effective, Generation, InstanceId, Manifest, Wall,
    descriptor::{Invocation, OperationRule, Readiness, Terminal},
    manifest::UiAction,
    message::End,
    schema::Schema,
};
use scene::{MINUTE, Scene, id, manifest, pomodoro, tool};
use serde_json::json;

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
    let mut manifest = Manifest::clone(&manifest("board", tools));
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

#[test]
fn uia_1_an_action_whose_handler_closes_the_app_is_over() {
    let (mut scene, instance, call) = up("board.add");
    complete(&mut scene, &instance, &call);
    scene.intend("n1", Intent::Switch { to: Some(instance.clone()) }).unwrap();
    let action = UiActionInput {
        session: id("tab"),
        view: View::Surface(instance.clone()),
        action_id: id("a1"),
        method: id("done"),
        input: Arc::new(json!({})),
    };
    scene.put(Input::UiAction(action)).unwrap();
    let work = Some(Work::Action { action: id("a1"), generation: Generation(1) });
    let close = MiniAppRequest::RequestClose { step: Some(Step("lifecycle.close#1".into())) };
    ask(&mut scene, &instance, work, close).unwrap();
    assert_eq!(scene.instance("main", "board"), None);
    assert_eq!(scene.workspace.actions().count(), 0, "nothing is left to hand to an app that is closed");
}

// ---- an app that stops ----

#[test]
fn dur_4_work_of_an_app_that_stopped_is_handed_over_again_and_given_up_after_three_attempts() {
    let (mut scene, instance, call) = up("board.add");
    for generation in 2..=3 {
        scene.app(&instance, AppHappened::Stopped { reason: "crashed".into() });
        let CallState::Running { generation: current, .. } = state(&scene, &call) else { panic!("it runs") };
        assert_eq!(current, Generation(generation));
        scene.app(&instance, AppHappened::Starting);
        scene.app(&instance, AppHappened::Ready);
    }
    scene.app(&instance, AppHappened::Stopped { reason: "crashed".into() });
    assert_eq!(failure(&scene, "k1"), "app_delivery_exhausted");
}

#[test]
fn dur_4_an_app_that_never_comes_up_again_does_not_keep_its_calls() {
    let (mut scene, instance, call) = up("board.add");
    complete(&mut scene, &instance, &call);
    scene.put(Input::Recovered { manifests: vec![board(), pomodoro()] }).unwrap();
    scene.call("board.draw", "k2", json!({})).unwrap();
    for _ in 0..3 {
        scene.app(&instance, AppHappened::Starting);
        scene.app(&instance, AppHappened::Stopped { reason: "it does not start".into() });
    }
    assert_eq!(failure(&scene, "k2"), "app_delivery_exhausted");
}

#[test]
fn uia_1_an_action_of_an_app_that_stopped_is_handed_over_again() {
    let (mut scene, instance, call) = up("board.add");
    complete(&mut scene, &instance, &call);
    scene.intend("n1", Intent::Switch { to: Some(instance.clone()) }).unwrap();
    let action = UiActionInput {
        session: id("tab"),
        view: View::Surface(instance.clone()),
        action_id: id("a1"),
        method: id("done"),
        input: Arc::new(json!({})),
    };
    scene.put(Input::UiAction(action)).unwrap();
    scene.app(&instance, AppHappened::Stopped { reason: "crashed".into() });
    let generations: Vec<_> = scene.workspace.actions().map(|action| action.generation).collect();
    assert_eq!(generations, [Generation(2)]);
}

// ---- the foreground ----

#[test]
fn act_10_an_operation_that_the_user_comes_back_to_is_not_covered_by_what_was_on_its_way() {
    let (mut scene, board, sketch) = up("board.sketch");
    scene.confirm();
    assert_eq!(scene.words("k1"), ["starting", "started"]);
    scene.intend("n1", Intent::Switch { to: None }).unwrap();
    let focus = scene.call("pomodoro.start", "k2", json!({ "minutes": 20 })).unwrap();
    assert!(matches!(state(&scene, &focus), CallState::Waiting { .. }));
    scene.intend("n2", Intent::Switch { to: Some(board.clone()) }).unwrap();
    let view = scene.workspace.host_view().foreground.unwrap();
    assert_eq!((view.instance, view.activation), (board.clone(), None), "the user is where they went");
    let pomodoro = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&pomodoro);
    assert_eq!(state(&scene, &focus), CallState::NeedsYou);
    complete(&mut scene, &board, &sketch);
    assert!(matches!(state(&scene, &focus), CallState::Waiting { .. }), "the foreground is free");
}

#[test]
fn hst_2_a_page_that_reloads_while_an_app_starts_has_its_second_to_come_back() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    scene.advance(5_000);
    scene.host("tab", Report::Disconnected);
    scene.advance(500);
    assert_eq!(scene.outcome("k1"), None);
    scene.host("tab", Report::Connected { visible: true });
    let instance = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&instance);
    scene.confirm();
    assert_eq!(scene.words("k1"), ["starting", "started"]);

    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    scene.advance(5_000);
    scene.host("tab", Report::Disconnected);
    scene.advance(1_000);
    assert_eq!(scene.result("k1"), json!({ "status": "not_started", "reason": "host_unavailable" }));
}

#[test]
fn hst_3_where_the_user_goes_is_confirmed_by_a_session_that_shows_it_and_not_by_going_there() {
    for way in ["switch", "back"] {
        let (mut scene, board, call) = up("board.show");
        scene.confirm();
        complete(&mut scene, &board, &call);
        let go = if way == "switch" {
            scene.intend("n1", Intent::Switch { to: None }).unwrap();
            Intent::Switch { to: Some(board.clone()) }
        } else {
            scene.call("pomodoro.start", "p1", json!({ "minutes": 20 })).unwrap();
            let pomodoro = scene.instance("main", "pomodoro").unwrap();
            scene.come_up(&pomodoro);
            scene.confirm();
            Intent::Back
        };
        scene.intend("n2", go).unwrap();
        assert_eq!(scene.workspace.focus().top(), Some(&board), "{way}");
        // The intent names no attempt, and nobody knows yet whether the Host can show it.
        let show = scene.call("board.show", "k2", json!({})).unwrap();
        assert!(matches!(state(&scene, &show), CallState::Waiting { .. }), "{way}: {:?}", state(&scene, &show));
        scene.confirm();
        assert!(matches!(state(&scene, &show), CallState::Running { .. }), "{way}");
        assert_eq!(scene.words("k2"), ["starting", "activation_ready"], "{way}");
    }
}

#[test]
fn act_10_a_call_that_waited_for_the_user_who_comes_starts_once_a_session_shows_its_app() {
    let (mut scene, board, call) = up("board.add");
    complete(&mut scene, &board, &call);
    let focus = scene.call("pomodoro.start", "p1", json!({ "minutes": 20 })).unwrap();
    let pomodoro = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&pomodoro);
    scene.confirm();
    let sketch = scene.call("board.sketch", "k2", json!({})).unwrap();
    assert_eq!(state(&scene, &sketch), CallState::NeedsYou);
    scene.intend("n1", Intent::Switch { to: Some(board.clone()) }).unwrap();
    assert!(scene.workspace.call(&focus).is_none(), "the user left the focus");
    assert_eq!(scene.words("k2"), ["accepted", "starting"], "no operation begins before somebody sees it");
    let activation = scene.workspace.host_view().foreground.unwrap().activation.unwrap();
    scene.host("tab", Report::Failed { activation });
    assert_eq!(failure(&scene, "k2"), "app_activation_failed");
    assert_eq!(scene.workspace.focus().top(), Some(&board), "the user stays where they went");
}

#[test]
fn i29_a_hundred_calls_of_an_instance_wait_for_the_user_and_no_more() {
    let mut scene = Scene::focusing(20);
    scene.put(Input::Recovered { manifests: vec![board(), pomodoro()] }).unwrap();
    for n in 0..100 {
        scene.call("board.show", &format!("s{n}"), json!({})).unwrap();
    }
    let refused = scene.call("board.show", "s100", json!({})).unwrap_err();
    assert_eq!(refused.fault.code.as_str(), "rate_limited");
    scene.advance(20 * MINUTE);
    assert_eq!(scene.workspace.instances().filter(|instance| instance.app_scope.as_str() == "board").count(), 1);
}

// ---- recovery ----

#[test]
fn op_4_a_deadline_that_passed_while_down_is_completed_although_its_app_is_gone() {
    let mut scene = Scene::focusing(20);
    scene.now += 30 * MINUTE;
    scene.put(Input::Recovered { manifests: vec![board()] }).unwrap();
    assert_eq!(scene.result("k1"), json!({ "status": "completed" }));
    assert_eq!(scene.instance("main", "pomodoro"), None);
}

#[test]
fn call_14_a_call_whose_app_is_gone_at_the_restart_starts_nothing_before_it_ends() {
    let mut scene = Scene::focusing(20);
    scene.put(Input::Recovered { manifests: vec![pomodoro(), board()] }).unwrap();
    scene.call("board.show", "k2", json!({})).unwrap();
    assert_eq!(scene.words("k2"), ["accepted"], "it waits for the foreground");
    scene.now += 30 * MINUTE;
    scene.put(Input::Recovered { manifests: vec![pomodoro()] }).unwrap();
    assert_eq!(scene.words("k1").last().map(String::as_str), Some("completed"));
    assert_eq!(scene.words("k2"), ["accepted", "rejected"]);
}

#[test]
fn dur_4_an_activation_that_was_under_way_goes_on_after_a_restart_with_its_whole_limit() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    scene.host("tab", Report::Disconnected);
    scene.now += 3_000;
    scene.put(Input::Recovered { manifests: vec![pomodoro()] }).unwrap();
    scene.advance(2_000);
    scene.host("tab", Report::Connected { visible: true });
    let instance = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&instance);
    scene.confirm();
    assert_eq!(scene.words("k1"), ["starting", "started"]);
}

#[test]
fn act_10_a_call_that_waited_for_the_foreground_goes_on_when_a_restart_frees_it() {
    let (mut scene, _, sketch) = up("board.sketch");
    scene.confirm();
    let focus = scene.call("pomodoro.start", "k2", json!({ "minutes": 20 })).unwrap();
    assert_eq!(state(&scene, &focus), CallState::NeedsYou);
    for _ in 0..3 {
        scene.put(Input::Recovered { manifests: vec![board(), pomodoro()] }).unwrap();
    }
    assert!(scene.workspace.call(&sketch).is_none(), "three hand-overs are all it gets");
    assert!(matches!(state(&scene, &focus), CallState::Waiting { .. }));
}

#[test]
fn act_3_a_thousand_starting_apps_that_nobody_waits_for_any_more_are_called_off_in_one_decision() {
    let mut scene = Scene::new(vec![board()]);
    let joined = |n| Conversation { id: id(&format!("c{n}")), title: "c".into(), agents: [id("ann")].into() };
    let conversations = (0..1_000).map(joined).map(Arc::new).collect();
    scene.workspace.apply(&ChangeSet { conversations, ..ChangeSet::default() });
    for n in 0..1_000 {
        let conversation = format!("c{n}");
        let mut request = scene.invocation("ann", &conversation, "board.add", "k1", json!({}));
        if let AgentRequest::Invoke { expires_at, .. } = &mut request {
            *expires_at = Some(Wall(scene.wall + 5_000));
        }
        let (agent, message, conversation) = (id("ann"), id(&format!("x{n}")), id(&conversation));
        scene.hurry(&Input::Agent(AgentInput { agent, message, conversation, request }));
    }
    assert_eq!(scene.workspace.activations().count(), 1_000);
    scene.now += 5_000;
    // The stack of a decision must not grow with what it decides about.
    let small = std::thread::Builder::new().stack_size(512 * 1024);
    let decided = small.spawn(move || {
        scene.hurry(&Input::Clock);
        scene
    });
    let scene = decided.unwrap().join().expect("it decides");
    assert_eq!(scene.workspace.activations().count(), 0);
    assert_eq!(scene.workspace.instances().count(), 0);
}
