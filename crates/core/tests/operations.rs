//! Operations, App sessions and instances at their ends (OP, SES, ACT-7), and late words (H70, H74).

mod scene;

use std::sync::Arc;

use lineup_core::{
    Input,
    miniapp::{MiniAppContext, MiniAppRequest, Work},
    policy::Policy,
    workspace::input::{AgentRequest, AppHappened, Intent, MiniAppInput, Report, Setup},
};
use lineup_model::{
    CallKey, Descriptor, Generation, InstanceId, Manifest,
    descriptor::{Exclusive, Invocation, OperationRule, Readiness, Terminal},
    message::Fault,
};
use scene::{MINUTE, Scene, id, manifest, pomodoro, tool};
use serde_json::json;

/// An app with an operation of its own, a tool that closes its instance, and a cancellable one.
fn export() -> Arc<Manifest> {
    let run = Descriptor {
        invocation: Invocation::Operation,
        handling: Descriptor::handling_of(Invocation::Operation, Readiness::AppReady),
        operation: OperationRule { needs_foreground: false, ends_on_leaving: false, exclusive: None },
        ..tool("export", "run")
    };
    let once =
        Descriptor { terminal: Terminal { agent_may_cancel: true, closes_instance: true }, ..tool("export", "once") };
    manifest("export", vec![once, run])
}

fn up(scene: &mut Scene, conversation: &str) -> InstanceId {
    let instance = scene.instance(conversation, "export").expect("a call opened it");
    scene.app(&instance, AppHappened::Starting);
    scene.app(&instance, AppHappened::Ready);
    instance
}

fn ask(scene: &mut Scene, instance: &InstanceId, call: &CallKey, request: MiniAppRequest) -> Result<(), &'static str> {
    let found = scene.workspace.instance(instance).expect("it is live").clone();
    let from = MiniAppContext {
        workspace: id("w"),
        app_scope: found.app_scope.clone(),
        instance: instance.clone(),
        conversation: found.conversation.clone(),
        work: Some(Work::Call { call: call.clone(), generation: Generation(1) }),
    };
    match scene.put(Input::MiniApp(MiniAppInput { from, request })) {
        Ok(_) => Ok(()),
        Err(rejected) => Err(rejected.fault.code.as_str()),
    }
}

fn complete(call: &CallKey) -> MiniAppRequest {
    MiniAppRequest::Complete { call: call.clone(), generation: Some(Generation(1)), output: json!({ "done": true }) }
}

#[test]
fn op_2_an_operation_ends_in_one_decision_with_its_call_its_record_and_its_message() {
    let mut scene = Scene::focusing(20);
    scene.now += 20 * MINUTE;
    let decision = scene.decide(&Input::Clock).unwrap();
    let happened: Vec<_> = decision.changes.journal.iter().map(|row| row.happened.as_str()).collect();
    assert_eq!(happened, ["operation_ended", "call_ended"]);
    assert_eq!(decision.changes.operations.len(), 1);
    assert_eq!(decision.changes.calls.len(), 1);
    assert!(decision.changes.sessions.last().unwrap().runs[0].end.is_some(), "SES-2: people see how it ended");
    let sent: usize = decision.changes.journal.iter().map(|row| row.body.messages.len()).sum();
    assert_eq!(sent, 1, "I14: one outcome, one message");
}

#[test]
fn op_5_an_operation_neither_ends_nor_survives_because_its_instance_is_absent() {
    let mut scene = Scene::new(vec![export()]);
    let call = scene.call("export.run", "k1", json!({})).unwrap();
    let instance = up(&mut scene, "main");
    assert_eq!(scene.workspace.operations().count(), 1);
    scene.host("tab", Report::Connected { visible: true });
    scene.intend("i1", Intent::Switch { to: None }).unwrap();
    scene.app(&instance, AppHappened::Stopped { reason: "crashed".into() });
    assert_eq!(scene.workspace.operations().count(), 1);
    scene.app(&instance, AppHappened::Starting);
    scene.app(&instance, AppHappened::Ready);
    let generation = scene.workspace.deliveries(&instance).next().unwrap().1;
    assert_eq!(generation, Generation(2), "DUR-4");
    assert_eq!(ask(&mut scene, &instance, &call, complete(&call)), Err("lifecycle_denied"), "the old delivery");
    assert_eq!(scene.workspace.operations().count(), 1);
}

#[test]
fn op_6_an_apps_own_operation_begins_at_delivery_and_ends_with_its_call_in_the_background() {
    let mut scene = Scene::new(vec![export()]);
    let call = scene.call("export.run", "k1", json!({})).unwrap();
    assert_eq!(scene.workspace.operations().count(), 0, "not before its delivery");
    let instance = up(&mut scene, "main");
    assert_eq!(scene.words("k1"), ["starting", "started"]);
    assert_eq!(scene.workspace.operations().count(), 1);
    ask(&mut scene, &instance, &call, complete(&call)).unwrap();
    assert_eq!(scene.words("k1"), ["starting", "started", "completed"]);
    assert_eq!(scene.workspace.operations().count(), 0);
    assert_eq!(scene.workspace.focus().top(), None, "no change of focus");
}

#[test]
fn act_7_an_instance_closes_with_its_last_call_only_and_its_session_stays_readable() {
    let mut scene = Scene::new(vec![export()]);
    let first = scene.call("export.once", "k1", json!({})).unwrap();
    let second = scene.call("export.once", "k2", json!({})).unwrap();
    let instance = up(&mut scene, "main");
    ask(&mut scene, &instance, &first, complete(&first)).unwrap();
    assert!(scene.workspace.instance(&instance).is_some(), "another call runs on it");
    let decided = {
        let found = scene.workspace.instance(&instance).unwrap().clone();
        let from = MiniAppContext {
            workspace: id("w"),
            app_scope: found.app_scope.clone(),
            instance: instance.clone(),
            conversation: found.conversation.clone(),
            work: Some(Work::Call { call: second.clone(), generation: Generation(1) }),
        };
        scene.decide(&Input::MiniApp(MiniAppInput { from, request: complete(&second) })).unwrap()
    };
    let closed = decided.changes.sessions.last().expect("the App session is written at the close");
    assert!(closed.closed.is_some());
    ask(&mut scene, &instance, &second, complete(&second)).unwrap();
    assert!(scene.workspace.instance(&instance).is_none());
}

#[test]
fn h70_a_late_result_after_any_end_changes_nothing() {
    let fail = |call: &CallKey| MiniAppRequest::Fail {
        call: call.clone(),
        generation: Some(Generation(1)),
        fault: Fault::new(lineup_model::ErrorCode::ToolFailed, "no"),
    };
    let cancel =
        |call: &CallKey| MiniAppRequest::Cancel { call: call.clone(), generation: Some(Generation(1)), reason: None };
    for end in ["completed", "failed", "cancelled", "by_agent", "expired"] {
        let mut scene = Scene::new(vec![export()]);
        // A second call keeps the instance.
        scene.call("export.run", "other", json!({})).unwrap();
        let call = scene.call("export.once", "k1", json!({})).unwrap();
        let instance = up(&mut scene, "main");
        match end {
            "completed" => ask(&mut scene, &instance, &call, complete(&call)).unwrap(),
            "failed" => ask(&mut scene, &instance, &call, fail(&call)).unwrap(),
            "cancelled" => ask(&mut scene, &instance, &call, cancel(&call)).unwrap(),
            "by_agent" => {
                scene.request("ann", "main", AgentRequest::Cancel { call_id: id("k1") }).unwrap();
            }
            _ => scene.advance(60_000),
        }
        let (rows, outcome) = (scene.journal.len(), scene.outcome("k1"));
        assert!(outcome.is_some(), "{end}");
        for late in [complete(&call), fail(&call), cancel(&call)] {
            assert_eq!(ask(&mut scene, &instance, &call, late), Err("call_already_final"), "{end}");
        }
        assert_eq!((scene.journal.len(), scene.outcome("k1")), (rows, outcome), "{end}");
    }
}

#[test]
fn h74_ready_twice_late_or_of_a_dead_instance_is_one_transition() {
    let mut scene = Scene::new(vec![export()]);
    let call = scene.call("export.once", "k1", json!({})).unwrap();
    let instance = up(&mut scene, "main");
    let rows = scene.journal.len();
    scene.app(&instance, AppHappened::Ready);
    scene.app(&instance, AppHappened::Ready);
    assert_eq!(scene.journal.len(), rows, "ready twice");
    ask(&mut scene, &instance, &call, complete(&call)).unwrap();
    let rows = scene.journal.len();
    scene.app(&instance, AppHappened::Ready);
    scene.app(&instance, AppHappened::Stopped { reason: "late".into() });
    assert_eq!(scene.journal.len(), rows, "a dead instance");
}

#[test]
fn h64_a_clock_that_jumps_ahead_fires_each_due_thing_once_and_going_back_undoes_nothing() {
    let mut scene = Scene::focusing(20);
    let ten_years = 10 * 365 * 24 * 60 * MINUTE;
    scene.advance(ten_years);
    let words = scene.words("k1");
    assert_eq!(words, ["starting", "started", "completed"]);
    // The wall clock goes back; effective time does not.
    scene.wall -= i64::try_from(ten_years).unwrap();
    scene.put(Input::Clock).unwrap();
    scene.put(Input::Recovered { manifests: vec![pomodoro()] }).unwrap();
    assert_eq!(scene.words("k1"), words);
}

#[test]
fn ent_3_ui_actions_and_hidden_tools_are_in_no_inventory() {
    let mut scene = Scene::new(vec![pomodoro(), export()]);
    let seen = |scene: &Scene| -> Vec<String> {
        let inventory = scene.workspace.inventory(&id("ann"), &id("main")).unwrap();
        inventory.tools.iter().map(|tool| tool.id.to_string()).collect()
    };
    let declared = ["export.once", "export.run", "pomodoro.interrupt", "pomodoro.start"];
    assert_eq!(seen(&scene), declared, "INV-9: what is declared and nothing else");
    let policy = Policy {
        hidden_from_agent: [(id("ann"), id("export.run"))].into(),
        hidden_in_conversation: [(id("main"), id("pomodoro.start"))].into(),
        ..Policy::default()
    };
    scene.put(Input::Setup(Setup::Policy(policy))).unwrap();
    assert_eq!(seen(&scene), ["export.once", "pomodoro.interrupt"], "INV-6");
}

#[test]
fn call_2_the_agents_id_lives_on_the_wire_and_the_runtimes_key_inside() {
    let mut scene = Scene::new(vec![export()]);
    let key = scene.call("export.once", "k1", json!({ "n": 1 })).unwrap();
    let call = scene.workspace.call(&key).unwrap();
    assert_ne!(key.as_str(), "k1");
    assert_eq!(call.facts.address.call_id, id("k1"));
    assert_eq!(call.facts.input.as_ref(), &json!({ "n": 1 }));
    assert_eq!(call.facts.contract_version, 1);
    let sent = serde_json::to_string(&scene.sent.last().unwrap().message).unwrap();
    assert!(!sent.contains(&format!("\"{key}\"")), "the key leaves in no message: {sent}");
}

#[test]
fn dur_1_a_decision_that_accepts_writes_call_instance_activation_session_receipt_and_audit_together() {
    let scene = Scene::new(vec![pomodoro()]);
    let request = scene.invocation("ann", "main", "pomodoro.start", "k1", json!({ "minutes": 5 }));
    let decision = scene
        .decide(&Input::Agent(lineup_core::workspace::input::AgentInput {
            agent: id("ann"),
            message: id("x1"),
            conversation: id("main"),
            request,
        }))
        .unwrap();
    let changes = &decision.changes;
    assert!(!changes.calls.is_empty() && !changes.instances.is_empty() && !changes.activations.is_empty());
    assert_eq!((changes.entries.len(), changes.sessions.len()), (1, 1));
    let happened: Vec<_> = changes.journal.iter().map(|row| row.happened.as_str()).collect();
    assert_eq!(happened, ["call_accepted", "instance_opened", "activation_started"], "APP-5");
    assert!(changes.operations.is_empty() && changes.focus.is_none(), "no countdown, no focus yet");
}

/// An app with one operation that is alone in its conversation, and one that is alone in the workspace.
fn exclusive() -> Arc<Manifest> {
    let alone = |method, exclusive| Descriptor {
        invocation: Invocation::Operation,
        handling: Descriptor::handling_of(Invocation::Operation, Readiness::AppReady),
        operation: OperationRule { needs_foreground: false, ends_on_leaving: false, exclusive: Some(exclusive) },
        ..tool("export", method)
    };
    manifest("export", vec![alone("index", Exclusive::Conversation), alone("sole", Exclusive::Workspace)])
}

#[test]
fn op_3_what_is_alone_in_the_workspace_and_what_is_alone_in_its_conversation_exclude_each_other_whoever_comes_first() {
    for (first, second) in [("export.sole", "export.index"), ("export.index", "export.sole")] {
        let mut scene = Scene::new(vec![exclusive()]);
        scene.call(first, "k1", json!({})).unwrap();
        // While the holder is starting the second one waits, and does not overtake it.
        scene.call_in("side", second, "k2", json!({})).unwrap();
        assert_eq!(scene.words("k2"), ["accepted"], "{second} waits for {first}");
        assert_eq!(scene.instance("side", "export"), None);
        up(&mut scene, "main");
        assert_eq!(scene.words("k1"), ["starting", "started"]);
        assert_eq!(scene.words("k2"), ["accepted", "rejected"], "{second} lost against {first}");
        scene.call_in("side", second, "k3", json!({})).unwrap();
        assert_eq!(scene.words("k3"), ["rejected"], "{first} runs");
    }
}

#[test]
fn op_3_what_is_alone_in_its_conversation_runs_beside_its_like_in_another() {
    let mut scene = Scene::new(vec![exclusive()]);
    scene.call("export.index", "k1", json!({})).unwrap();
    scene.call_in("side", "export.index", "k2", json!({})).unwrap();
    up(&mut scene, "main");
    up(&mut scene, "side");
    assert_eq!([scene.words("k1"), scene.words("k2")], [["starting", "started"], ["starting", "started"]]);
    scene.call("export.index", "k3", json!({})).unwrap();
    assert_eq!(scene.words("k3"), ["rejected"]);
}
