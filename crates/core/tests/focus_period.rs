//! The life of a focus period, from the agent's call to its one outcome (APP-4, APP-5, ACT, OP, HST).

mod scene;

use lineup_core::workspace::input::{AppHappened, Intent, Report};
use lineup_core::{Input, instance::InstanceState, journal::Source};
use scene::{MINUTE, Scene, pomodoro};
use serde_json::json;

#[test]
fn app_5_starting_then_started_on_the_confirmation_then_one_outcome_at_the_deadline() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    assert_eq!(scene.words("k1"), ["starting"]);
    let instance = scene.instance("main", "pomodoro").unwrap();
    assert_eq!(scene.workspace.operations().count(), 0);
    assert_eq!(scene.workspace.focus().top(), None);

    scene.come_up(&instance);
    assert_eq!(scene.words("k1"), ["starting"], "the app alone does not start the time");
    scene.confirm();
    assert_eq!(scene.words("k1"), ["starting", "started"], "CALL-14: no activation_ready beside started");
    assert_eq!(scene.workspace.focus().top(), Some(&instance));
    assert_eq!(scene.workspace.operations().count(), 1);

    scene.advance(20 * MINUTE - 1);
    assert_eq!(scene.words("k1"), ["starting", "started"]);
    scene.advance(1);
    assert_eq!(scene.words("k1"), ["starting", "started", "completed"]);
    assert_eq!(scene.result("k1"), json!({ "status": "completed" }));
    assert_eq!(scene.workspace.operations().count(), 0);
    scene.advance(60 * MINUTE);
    assert_eq!(scene.words("k1").len(), 3, "I36: a deadline fires once");
}

#[test]
fn hst_3_only_a_visible_session_confirms_and_only_the_attempt_that_is_asked_for() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: false });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    let instance = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&instance);
    scene.confirm();
    assert_eq!(scene.words("k1"), ["starting"], "nobody can see it");
    scene.host("tab", Report::Visible(true));
    scene.advance(3_000);
    scene.host("tab", Report::Foreground { activation: scene::id("a999") });
    scene.host("other", Report::Foreground { activation: scene::id("a999") });
    assert_eq!(scene.words("k1"), ["starting"]);
    assert_eq!(scene.workspace.operations().count(), 0);
    assert_eq!(scene.workspace.focus().entries().len(), 0);
    scene.confirm();
    assert_eq!(scene.words("k1"), ["starting", "started"]);
}

#[test]
fn act_1_with_no_host_connected_a_focus_is_not_started_within_a_second() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    scene.advance(1_000);
    assert_eq!(scene.words("k1"), ["starting", "activation_failed", "completed"]);
    assert_eq!(scene.result("k1"), json!({ "status": "not_started", "reason": "host_unavailable" }));
    assert_eq!(scene.workspace.instances().count(), 0);
    assert_eq!(scene.workspace.focus().entries().len(), 0, "Interact is restored");
}

#[test]
fn act_1_a_host_that_never_confirms_fails_the_activation_after_ten_seconds() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    scene.advance(9_999);
    assert_eq!(scene.words("k1"), ["starting"]);
    scene.advance(1);
    assert_eq!(scene.result("k1"), json!({ "status": "not_started", "reason": "timeout" }));
}

#[test]
fn app_5_a_miniapp_that_does_not_start_means_not_started() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    let instance = scene.instance("main", "pomodoro").unwrap();
    scene.app(&instance, AppHappened::Starting);
    scene.app(&instance, AppHappened::Stopped { reason: "no".into() });
    assert_eq!(scene.result("k1"), json!({ "status": "not_started", "reason": "app_failed" }));
}

#[test]
fn app_4_interrupt_while_focusing_ends_it_by_the_agent_and_closes_the_app() {
    let mut scene = Scene::focusing(20);
    scene.call("pomodoro.interrupt", "k2", json!({})).unwrap();
    assert_eq!(scene.result("k1"), json!({ "status": "interrupted", "by": "agent" }));
    assert_eq!(scene.words("k2"), ["completed"], "CALL-14: it ends in its first commit");
    assert_eq!(scene.result("k2"), json!({ "status": "interrupted" }));
    assert_eq!(scene.workspace.instances().count(), 0);
    assert_eq!(scene.workspace.focus().top(), None);
    scene.advance(30 * MINUTE);
    assert_eq!(scene.words("k1"), ["starting", "started", "completed"], "CALL-5");
}

#[test]
fn app_4_interrupt_while_starting_cancels_the_start() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    scene.call("pomodoro.interrupt", "k2", json!({})).unwrap();
    assert_eq!(scene.words("k1"), ["starting", "activation_cancelled", "completed"]);
    assert_eq!(scene.result("k1"), json!({ "status": "not_started", "reason": "cancelled" }));
    assert_eq!(scene.result("k2"), json!({ "status": "start_cancelled" }));
}

#[test]
fn app_4_interrupt_with_nothing_running_says_so_and_starts_nothing() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.call("pomodoro.interrupt", "k2", json!({})).unwrap();
    assert_eq!(scene.result("k2"), json!({ "status": "nothing_running" }));
    assert_eq!(scene.workspace.instances().count(), 0, "ACT-4");
}

#[test]
fn app_4_interrupt_is_of_its_own_conversation_only() {
    let mut scene = Scene::focusing(20);
    scene.call_in("side", "pomodoro.interrupt", "k2", json!({})).unwrap();
    assert_eq!(scene.result("k2"), json!({ "status": "nothing_running" }));
    assert_eq!(scene.workspace.operations().count(), 1);
}

#[test]
fn op_3_a_second_start_while_focusing_is_not_started_at_once_in_any_conversation() {
    let mut scene = Scene::focusing(20);
    for (n, conversation) in ["main", "side"].into_iter().enumerate() {
        let call_id = format!("second{n}");
        scene.call_in(conversation, "pomodoro.start", &call_id, json!({ "minutes": 5 })).unwrap();
        assert_eq!(scene.words(&call_id), ["completed"], "the outcome only");
        assert_eq!(scene.result(&call_id), json!({ "status": "not_started", "reason": "already_focusing" }));
    }
    assert_eq!(scene.workspace.operations().count(), 1);
    assert_eq!(scene.workspace.instances().count(), 1);
}

#[test]
fn op_3_a_second_start_while_starting_waits_and_then_loses() {
    for conversation in ["main", "side"] {
        let mut scene = Scene::new(vec![pomodoro()]);
        scene.host("tab", Report::Connected { visible: true });
        scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
        scene.call_in(conversation, "pomodoro.start", "k2", json!({ "minutes": 5 })).unwrap();
        assert_eq!(scene.words("k2"), ["accepted"], "{conversation}");
        let instance = scene.instance("main", "pomodoro").unwrap();
        scene.come_up(&instance);
        scene.confirm();
        assert_eq!(scene.words("k1"), ["starting", "started"]);
        assert_eq!(scene.words("k2"), ["accepted", "completed"]);
        assert_eq!(scene.result("k2"), json!({ "status": "not_started", "reason": "already_focusing" }));
    }
}

#[test]
fn op_3_a_start_that_waited_for_its_turn_goes_on_when_the_holder_fails() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    scene.call_in("side", "pomodoro.start", "k2", json!({ "minutes": 5 })).unwrap();
    scene.advance(10_000);
    assert_eq!(scene.result("k1")["status"], "not_started");
    let instance = scene.instance("side", "pomodoro").expect("its own activation began");
    scene.come_up(&instance);
    scene.confirm();
    assert_eq!(scene.words("k2"), ["accepted", "starting", "started"]);
}

#[test]
fn hst_2_leaving_interrupts_the_focus_and_no_call_is_forged() {
    type Leave = fn(&Scene) -> Intent;
    let leave: [(&str, Leave); 3] = [
        ("switch", |_| Intent::Switch { to: None }),
        ("back", |_| Intent::Back),
        ("close", |scene| Intent::Close { instance: scene.instance("main", "pomodoro").unwrap() }),
    ];
    for (word, intent) in leave {
        let mut scene = Scene::focusing(20);
        let rows = scene.journal.len();
        let intent = intent(&scene);
        scene.intend("left", intent).unwrap();
        assert_eq!(scene.result("k1"), json!({ "status": "interrupted", "by": "left" }), "{word}");
        assert_eq!(scene.workspace.focus().top(), None, "{word}");
        for row in &scene.journal[rows..] {
            assert_eq!(row.origin.source, Source::HostLifecycle, "{word}: {row:?}");
            assert_ne!(row.happened, lineup_core::journal::Happened::CallAccepted, "{word}");
        }
        let kept = scene.instance("main", "pomodoro").is_some();
        assert_eq!(kept, word != "close", "{word}");
    }
}

#[test]
fn hst_2_hiding_locking_sleeping_reloading_and_losing_the_host_are_not_leaving() {
    let mut scene = Scene::focusing(20);
    for (n, intent) in [Intent::Hide, Intent::Lock, Intent::Sleep, Intent::Resume].into_iter().enumerate() {
        scene.intend(&format!("i{n}"), intent).unwrap();
    }
    let instance = scene.instance("main", "pomodoro").unwrap();
    scene.host("tab", Report::Visible(false));
    scene.host("tab", Report::SurfaceGone { instance: instance.clone() });
    scene.host("tab", Report::Disconnected);
    scene.app(&instance, AppHappened::Stopped { reason: "crashed".into() });
    scene.put(Input::Recovered { manifests: vec![pomodoro()] }).unwrap();
    assert_eq!(scene.words("k1"), ["starting", "started"]);
    scene.advance(20 * MINUTE);
    assert_eq!(scene.result("k1"), json!({ "status": "completed" }), "OP-5");
}

#[test]
fn op_4_a_deadline_that_passed_while_down_is_settled_at_start_with_the_deadline_as_its_end() {
    let mut scene = Scene::focusing(20);
    scene.now += 90 * MINUTE;
    scene.put(Input::Recovered { manifests: vec![pomodoro()] }).unwrap();
    assert_eq!(scene.result("k1"), json!({ "status": "completed" }));
    let ended = scene.journal.iter().find(|row| row.happened.as_str() == "operation_ended").unwrap();
    let detail = ended.body.detail.as_ref().unwrap();
    assert_eq!(detail["ended"]["end"], "completed");
    assert_eq!(detail["ended"]["late_by_ms"], 70 * MINUTE);
}

#[test]
fn hst_1_the_same_intent_twice_is_one_intent() {
    let mut scene = Scene::focusing(20);
    scene.intend("same", Intent::Back).unwrap();
    let rows = scene.journal.len();
    scene.intend("same", Intent::Back).unwrap();
    assert_eq!(scene.journal.len(), rows);
}

#[test]
fn h61_a_length_that_cannot_be_kept_is_refused_and_changes_nothing() {
    let mut scene = Scene::new(vec![pomodoro()]);
    for minutes in [0, 1441, 2000] {
        let refused = scene.call("pomodoro.start", "k1", json!({ "minutes": minutes })).unwrap_err();
        assert_eq!(refused.fault.code.as_str(), "deadline_invalid", "{minutes}");
    }
    assert_eq!(scene.workspace.calls().count(), 0);
    assert_eq!(scene.workspace.instances().count(), 0);
}

#[test]
fn act_10_another_app_that_wants_the_foreground_waits_until_the_focus_is_over() {
    let board = lineup_model::Descriptor {
        readiness: lineup_model::descriptor::Readiness::ForegroundRequired,
        handling: lineup_model::descriptor::Handling::Foreground,
        ..scene::tool("board", "open")
    };
    let mut scene = Scene::new(vec![pomodoro(), scene::manifest("board", vec![board])]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    let focus = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&focus);
    scene.confirm();
    scene.call("board.open", "k2", json!({})).unwrap();
    assert_eq!(scene.words("k2"), ["accepted"]);
    assert_eq!(scene.workspace.focus().top(), Some(&focus));
    assert!(scene.instance("main", "board").is_none());
    scene.advance(15 * MINUTE);
    assert_eq!(scene.words("k2"), ["accepted"], "outside ACT-1's limit");
    scene.advance(5 * MINUTE);
    let board = scene.instance("main", "board").expect("the foreground is free");
    scene.come_up(&board);
    scene.confirm();
    assert_eq!(scene.workspace.focus().top(), Some(&board));
    assert_eq!(scene.workspace.instance(&focus).unwrap().state, InstanceState::Background);
}

fn shown() -> std::sync::Arc<lineup_model::Manifest> {
    let show = lineup_model::Descriptor {
        readiness: lineup_model::descriptor::Readiness::ForegroundRequired,
        handling: lineup_model::Descriptor::handling_of(
            lineup_model::descriptor::Invocation::Command,
            lineup_model::descriptor::Readiness::ForegroundRequired,
        ),
        ..scene::tool("board", "show")
    };
    scene::manifest("board", vec![show])
}

#[test]
fn act_10_what_was_on_its_way_to_the_foreground_does_not_cover_an_operation_that_got_there_first() {
    let mut scene = Scene::new(vec![shown(), pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 25 })).unwrap();
    scene.call("board.show", "k2", json!({})).unwrap();
    let (focus, board) = (scene.instance("main", "pomodoro").unwrap(), scene.instance("main", "board").unwrap());
    let attempt = scene.workspace.activations().find(|asked| asked.instance == board).unwrap().id.clone();
    scene.come_up(&focus);
    scene.confirm();
    assert_eq!(scene.workspace.focus().top(), Some(&focus));
    let shown = scene.workspace.host_view().foreground.unwrap();
    assert_eq!(shown.instance, focus, "the Host is not asked to cover it");

    scene.come_up(&board);
    scene.host("tab", Report::Foreground { activation: attempt });
    assert_eq!(scene.workspace.focus().top(), Some(&focus));
    assert_eq!(scene.workspace.operations().count(), 1);
    let waits = scene.workspace.calls().find(|call| call.facts.address.call_id.as_str() == "k2").unwrap();
    assert_eq!(waits.state, lineup_core::call::CallState::NeedsYou);
}

#[test]
fn call_14_a_call_that_waited_for_its_turn_and_then_causes_an_activation_hears_starting() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 25 })).unwrap();
    scene.call_in("side", "pomodoro.start", "k2", json!({ "minutes": 25 })).unwrap();
    assert_eq!(scene.words("k2"), ["accepted"]);
    let activation = scene.workspace.activations().next().unwrap().id.clone();
    scene.host("tab", Report::Failed { activation });
    assert_eq!(scene.words("k2"), ["accepted", "starting"]);
    let second = scene.workspace.activations().next().unwrap();
    assert_eq!(second.cause, scene.workspace.calls().next().unwrap().facts.key);
}

#[test]
fn act_10_a_call_that_gives_the_focus_back_does_not_take_it_from_an_operation_on_the_same_instance() {
    use lineup_model::descriptor::{Invocation, OperationRule, Readiness, Target};
    let front = |method: &str, invocation| lineup_model::Descriptor {
        invocation,
        readiness: Readiness::ForegroundRequired,
        handling: lineup_model::Descriptor::handling_of(invocation, Readiness::ForegroundRequired),
        ..scene::tool("board", method)
    };
    let draw = lineup_model::Descriptor {
        operation: OperationRule { needs_foreground: true, ends_on_leaving: false, exclusive: None },
        ..front("draw", Invocation::Operation)
    };
    let open = lineup_model::Descriptor {
        target: Target { restore_previous_focus: true },
        ..front("open", Invocation::Interactive)
    };
    let mut scene = Scene::new(vec![scene::manifest("board", vec![draw, open])]);
    scene.host("tab", Report::Connected { visible: true });
    let drawing = scene.call("board.draw", "k1", json!({})).unwrap();
    let opened = scene.call("board.open", "k2", json!({})).unwrap();
    let board = scene.instance("main", "board").unwrap();
    scene.come_up(&board);
    scene.confirm();
    let done = |scene: &mut Scene, call: &lineup_model::CallKey| {
        let found = scene.workspace.instance(&board).unwrap();
        let from = lineup_core::miniapp::MiniAppContext {
            workspace: scene::id("w"),
            app_scope: found.app_scope.clone(),
            instance: board.clone(),
            conversation: found.conversation.clone(),
            work: None,
        };
        let request = lineup_core::miniapp::MiniAppRequest::Complete {
            call: call.clone(),
            generation: None,
            output: json!({ "done": true }),
        };
        scene.put(Input::MiniApp(lineup_core::workspace::input::MiniAppInput { from, request })).unwrap();
    };
    done(&mut scene, &opened);
    assert_eq!(scene.workspace.focus().top(), Some(&board), "the drawing still holds the foreground");
    done(&mut scene, &drawing);
    assert_eq!(scene.workspace.operations().count(), 0);
}

#[test]
fn act_4_interrupting_a_start_opens_nothing_of_its_own() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 20 })).unwrap();
    let before = scene.journal.len();
    scene.call("pomodoro.interrupt", "k2", json!({})).unwrap();
    assert_eq!(scene.words("k2"), ["completed"]);
    let opened = scene.journal[before..]
        .iter()
        .filter(|row| row.happened == lineup_core::journal::Happened::InstanceOpened)
        .count();
    assert_eq!(opened, 0, "an interruption never wakes an app");
}

#[test]
fn i32_closing_an_instance_ends_the_operations_of_the_calls_that_it_cancels() {
    use lineup_model::descriptor::{Invocation, Readiness};
    let export = lineup_model::Descriptor {
        invocation: Invocation::Operation,
        handling: lineup_model::Descriptor::handling_of(Invocation::Operation, Readiness::AppReady),
        ..scene::tool("notes", "export")
    };
    let mut scene = Scene::new(vec![scene::manifest("notes", vec![export])]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("notes.export", "k1", json!({})).unwrap();
    let notes = scene.instance("main", "notes").unwrap();
    scene.come_up(&notes);
    assert_eq!(scene.workspace.operations().count(), 1);
    scene.intend("close", Intent::Close { instance: notes }).unwrap();
    assert_eq!(scene.words("k1").last().map(String::as_str), Some("cancelled"));
    assert_eq!(scene.workspace.operations().count(), 0, "no operation outlives its call");
}

#[test]
fn call_9_a_focus_of_a_whole_day_ends_at_its_deadline_and_leaves_no_alarm_behind() {
    let mut scene = Scene::new(vec![pomodoro()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("pomodoro.start", "k1", json!({ "minutes": 24 * 60 })).unwrap();
    scene.advance(5_000);
    let instance = scene.instance("main", "pomodoro").unwrap();
    scene.come_up(&instance);
    scene.confirm();
    // A day after the acceptance the operation has five seconds to go.
    scene.advance(24 * 60 * MINUTE - 5_000);
    assert_eq!(scene.words("k1").last().map(String::as_str), Some("started"));
    scene.advance(5_000);
    assert_eq!(scene.result("k1")["status"], "completed");
    assert_eq!(scene.workspace.next_alarm(), None, "nothing is left that time could ring for");
}

#[test]
fn act_2_an_instance_that_kept_the_foreground_over_a_restart_is_confirmed_anew_before_time_starts() {
    let mut scene = Scene::focusing(20);
    scene.advance(20 * MINUTE);
    let instance = scene.instance("main", "pomodoro").expect("what ended stays in view");
    // While the Host that confirmed it still shows it, the next focus starts at once.
    scene.call("pomodoro.start", "seen", json!({ "minutes": 1 })).unwrap();
    assert_eq!(scene.words("seen"), ["accepted", "started"]);
    scene.advance(MINUTE);

    for blind in ["nobody", "hidden"] {
        if blind == "nobody" {
            scene.host("tab", Report::Disconnected);
        } else {
            scene.host("tab", Report::Connected { visible: true });
            scene.host("tab", Report::Visible(false));
        }
        scene.call("pomodoro.start", blind, json!({ "minutes": 1 })).unwrap();
        assert_eq!(scene.words(blind), ["starting"], "{blind} can see it");
        assert_eq!(scene.workspace.operations().count(), 0);
        scene.advance(10_000);
        assert_eq!(scene.result(blind)["status"], "not_started", "{blind}");
        assert_eq!(scene.workspace.focus().top(), Some(&instance), "what has the focus keeps it");
    }

    scene.host("tab", Report::Connected { visible: true });
    scene.host("tab", Report::SurfaceReady { instance });
    scene.call("pomodoro.start", "again", json!({ "minutes": 1 })).unwrap();
    assert_eq!(scene.words("again"), ["starting"]);
    scene.confirm();
    assert_eq!(scene.words("again"), ["starting", "started"]);
}

#[test]
fn op_3_a_start_that_waited_for_its_turn_where_the_app_is_in_front_begins_as_soon_as_the_other_fails() {
    let mut scene = Scene::focusing(1);
    scene.advance(MINUTE);
    scene.call_in("side", "pomodoro.start", "k2", json!({ "minutes": 1 })).unwrap();
    scene.call("pomodoro.start", "k3", json!({ "minutes": 1 })).unwrap();
    assert_eq!(scene.words("k3"), ["accepted"], "it waits for its turn");
    let other = scene.instance("side", "pomodoro").unwrap();
    scene.app(&other, AppHappened::Starting);
    scene.app(&other, AppHappened::Stopped { reason: "it does not start".into() });
    assert_eq!(scene.result("k2")["status"], "not_started");
    assert_eq!(scene.words("k3"), ["accepted", "started"]);
}
