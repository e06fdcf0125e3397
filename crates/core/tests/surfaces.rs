//! What Surfaces show, and in which Host session (SUR-3, SUR-4, SDK-6, HST-3).

mod scene;

use std::sync::Arc;

use lineup_core::{
    Answer, Input, Rejected,
    desired::{Shown, SurfaceView},
    journal::Happened,
    miniapp::{MiniAppAnswer, MiniAppContext, MiniAppRequest, Step, Work},
    workspace::input::{Intent, MiniAppInput, Report, UiActionInput, View},
};
use lineup_model::{
    CallKey, Descriptor, ErrorCode, Generation, InstanceId, Manifest,
    descriptor::Readiness,
    manifest::{Surface, UiAction},
    schema::Schema,
};
use scene::{Scene, id, manifest, tool};
use serde_json::{Value, json};

/// An app with a Surface, a handler and a UI Action.
fn board() -> Arc<Manifest> {
    let shows = Descriptor {
        readiness: Readiness::ForegroundRequired,
        handling: Descriptor::handling_of(lineup_model::descriptor::Invocation::Command, Readiness::ForegroundRequired),
        ..tool("board", "show")
    };
    let mut board = Manifest::clone(&manifest("board", vec![tool("board", "draw"), shows]));
    board.surfaces = vec![Surface { id: id("main"), title: "Board".into() }];
    board.host.surface_required = true;
    board.ui_actions = vec![UiAction {
        method: id("mark"),
        description: "Marks it.".into(),
        input_schema: Schema::empty_object(),
        confirm: false,
    }];
    Arc::new(board.sealed().expect("a test's manifest is consistent"))
}

fn ask(
    scene: &mut Scene,
    instance: &InstanceId,
    work: Option<Work>,
    request: MiniAppRequest,
) -> Result<Answer, Box<Rejected>> {
    let found = scene.workspace.instance(instance).expect("it is live");
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

fn patch(step: Option<&str>, patch: Value) -> MiniAppRequest {
    let step = step.map(|step| Step(step.into()));
    MiniAppRequest::UpdateSurface { step, surface: id("main"), base_revision: None, patch }
}

fn updated(revision: u64) -> Answer {
    Answer::MiniApp(MiniAppAnswer::Updated { revision })
}

/// `board` is up in `main`, with one call under way.
fn up() -> (Scene, InstanceId, CallKey) {
    let mut scene = Scene::new(vec![board()]);
    scene.host("tab", Report::Connected { visible: true });
    let call = scene.call("board.draw", "k1", json!({})).expect("it is taken in");
    let instance = scene.instance("main", "board").expect("it was opened");
    scene.come_up(&instance);
    (scene, instance, call)
}

fn view(scene: &Scene, instance: &InstanceId) -> SurfaceView {
    let now = lineup_model::Effective(scene.now);
    let views = scene.workspace.surface_views(now);
    views.into_iter().find(|view| view.instance == *instance).expect("it is mounted")
}

fn shown(scene: &Scene, instance: &InstanceId) -> (u64, Value) {
    let Shown { revision, data } = view(scene, instance).document;
    (revision, data.as_ref().clone())
}

// ---- documents ----

#[test]
fn sdk_6_a_surface_shows_what_its_miniapp_has_patched() {
    let (mut scene, board, _) = up();
    assert_eq!(shown(&scene, &board), (0, json!({})));
    assert_eq!(ask(&mut scene, &board, None, patch(None, json!({ "a": { "x": 1, "y": 2 } }))).unwrap(), updated(1));
    assert_eq!(
        ask(&mut scene, &board, None, patch(None, json!({ "a": { "x": null }, "b": "c" }))).unwrap(),
        updated(2)
    );
    assert_eq!(shown(&scene, &board), (2, json!({ "a": { "y": 2 }, "b": "c" })));
}

#[test]
fn sur_3_a_refused_patch_leaves_the_document_as_it_was() {
    let (mut scene, board, _) = up();
    ask(&mut scene, &board, None, patch(None, json!({ "a": 1 }))).unwrap();
    let rows = scene.journal.len();
    let at = |base| MiniAppRequest::UpdateSurface {
        step: None,
        surface: id("main"),
        base_revision: Some(base),
        patch: json!({ "b": 2 }),
    };
    for (request, reason) in [
        (patch(None, json!([1])), "not_an_object"),
        (patch(None, json!({ "b": { "__proto__": { "x": 1 } } })), "reserved_member"),
        (patch(None, (0..32).fold(json!({}), |inner, _| json!({ "a": inner }))), "too_deep"),
        (patch(None, json!({ "b": "x".repeat(256 * 1024) })), "too_large"),
        (at(0), "base_revision"),
        (at(2), "base_revision"),
    ] {
        let fault = ask(&mut scene, &board, None, request).unwrap_err().fault;
        assert_eq!((fault.code, fault.reason.as_deref()), (ErrorCode::SurfacePatchInvalid, Some(reason)));
        assert_eq!(shown(&scene, &board), (1, json!({ "a": 1 })), "{reason}");
    }
    assert_eq!(scene.journal.len(), rows);
    assert_eq!(ask(&mut scene, &board, None, at(1)).unwrap(), updated(2));
}

#[test]
fn sdk_6_a_surface_that_the_manifest_does_not_declare_is_not_found() {
    let (mut scene, board, _) = up();
    let request = MiniAppRequest::UpdateSurface {
        step: None,
        surface: id("other"),
        base_revision: None,
        patch: json!({ "a": 1 }),
    };
    assert_eq!(ask(&mut scene, &board, None, request).unwrap_err().fault.code, ErrorCode::SurfaceNotFound);
}

#[test]
fn sur_3_a_patch_that_changes_nothing_is_answered_and_changes_nothing() {
    let (mut scene, board, _) = up();
    ask(&mut scene, &board, None, patch(None, json!({ "a": 1 }))).unwrap();
    let rows = scene.journal.len();
    assert_eq!(ask(&mut scene, &board, None, patch(None, json!({ "a": 1, "b": null }))).unwrap(), updated(1));
    assert_eq!(scene.journal.len(), rows);
}

#[test]
fn dur_6_the_journal_says_that_a_surface_changed_and_not_how() {
    let (mut scene, board, _) = up();
    ask(&mut scene, &board, None, patch(None, json!({ "secret": "word" }))).unwrap();
    let row = scene.journal.last().expect("there is one");
    assert_eq!((row.happened, row.subject.as_ref()), (Happened::SurfaceUpdated, board.as_str()));
    assert_eq!(row.body.detail, Some(json!({ "surface": "main", "revision": 1 })));
}

#[test]
fn sur_4_the_document_stays_when_the_runtime_restarts_and_goes_with_its_instance() {
    let (mut scene, board, _) = up();
    ask(&mut scene, &board, None, patch(None, json!({ "a": 1 }))).unwrap();
    // After every input the scene compares what is live with what a restart would find.
    scene.put(Input::Recovered { manifests: vec![self::board()] }).unwrap();
    assert_eq!(shown(&scene, &board), (1, json!({ "a": 1 })));
    scene.intend("n1", Intent::Close { instance: board.clone() }).unwrap();
    assert_eq!(scene.workspace.surface(&board, &id("main")).revision, 0);
    scene.call("board.draw", "k2", json!({})).unwrap();
    let next = scene.instance("main", "board").expect("it was opened");
    assert_eq!(shown(&scene, &next), (0, json!({})));
}

#[test]
fn dur_4_a_handler_that_runs_again_gets_the_recorded_revision_and_patches_once() {
    let (mut scene, board, call) = up();
    let first = patch(Some("surfaces.update#1"), json!({ "a": 1 }));
    assert_eq!(ask(&mut scene, &board, handler(&call, 1), first.clone()).unwrap(), updated(1));
    // People see it while the handler works, and somebody else goes on from there.
    assert_eq!(shown(&scene, &board), (1, json!({ "a": 1 })));
    assert_eq!(ask(&mut scene, &board, None, patch(None, json!({ "a": 2 }))).unwrap(), updated(2));
    scene.put(Input::Recovered { manifests: vec![self::board()] }).unwrap();
    assert_eq!(ask(&mut scene, &board, handler(&call, 2), first).unwrap(), updated(1));
    assert_eq!(shown(&scene, &board), (2, json!({ "a": 2 })));
    let old = ask(&mut scene, &board, handler(&call, 1), patch(Some("surfaces.update#2"), json!({ "b": 1 })));
    assert_eq!(old.unwrap_err().fault.reason.as_deref(), Some("stale_delivery"));
    let other = ask(&mut scene, &board, handler(&call, 2), patch(Some("surfaces.update#1"), json!({ "a": 3 })));
    assert!(matches!(other.unwrap(), Answer::Refused(fault) if fault.code == ErrorCode::HandlerDiverged));
}

#[test]
fn call_6_a_call_that_fails_has_shown_what_it_has_shown() {
    let (mut scene, board, call) = up();
    ask(&mut scene, &board, handler(&call, 1), patch(Some("surfaces.update#1"), json!({ "at": "half" }))).unwrap();
    let wrong = MiniAppRequest::Complete { call, generation: None, output: json!({ "done": 1 }) };
    ask(&mut scene, &board, None, wrong).unwrap();
    assert_eq!(scene.words("k1").last().map(String::as_str), Some("failed"));
    assert_eq!(shown(&scene, &board), (1, json!({ "at": "half" })));
}

#[test]
fn uia_1_an_actions_patch_has_happened_whatever_it_carries_when_it_runs_again() {
    let (mut scene, board, _) = up();
    scene.intend("n1", Intent::Switch { to: Some(board.clone()) }).unwrap();
    scene
        .put(Input::UiAction(UiActionInput {
            session: id("tab"),
            view: View::Surface(board.clone()),
            action_id: id("click"),
            method: id("mark"),
            input: Arc::new(json!({})),
        }))
        .unwrap();
    let work = |generation| Some(Work::Action { action: id("click"), generation: Generation(generation) });
    assert_eq!(ask(&mut scene, &board, work(1), patch(Some("s"), json!({ "count": 1 }))).unwrap(), updated(1));
    scene.put(Input::Recovered { manifests: vec![self::board()] }).unwrap();
    // It read what it wrote itself.
    assert_eq!(ask(&mut scene, &board, work(2), patch(Some("s"), json!({ "count": 2 }))).unwrap(), updated(1));
    assert_eq!(shown(&scene, &board), (1, json!({ "count": 1 })));
}
