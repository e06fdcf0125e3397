//! Agents' calls: repeats, conflicts, refusals, waiting, deliveries, ends (CALL, INV, ACT-3, DUR-4).

mod scene;

use std::sync::Arc;

use lineup_core::{
    Answer, Input, Rejected,
    miniapp::{MiniAppAnswer, MiniAppContext, MiniAppRequest, Step, Work},
    policy::Policy,
    workspace::input::{AgentRequest, AppHappened, MiniAppInput, Report, Setup},
};
use lineup_model::{CallKey, Descriptor, Generation, InstanceId, Manifest, Wall, message::End};
use scene::{Scene, id, manifest, pomodoro, tool};
use serde_json::{Value, json};

fn notes() -> Arc<Manifest> {
    let cancellable = Descriptor {
        terminal: lineup_model::descriptor::Terminal { agent_may_cancel: true, closes_instance: false },
        ..tool("notes", "long")
    };
    manifest("notes", vec![tool("notes", "add"), cancellable])
}

fn context(scene: &Scene, instance: &InstanceId, work: Option<(&CallKey, u32)>) -> MiniAppContext {
    let found = scene.workspace.instance(instance).unwrap();
    MiniAppContext {
        workspace: id("w"),
        app_scope: found.app_scope.clone(),
        instance: instance.clone(),
        conversation: found.conversation.clone(),
        work: work.map(|(call, generation)| Work::Call { call: call.clone(), generation: Generation(generation) }),
    }
}

fn ask(
    scene: &mut Scene,
    instance: &InstanceId,
    work: Option<(&CallKey, u32)>,
    request: MiniAppRequest,
) -> Result<Answer, Box<Rejected>> {
    let from = context(scene, instance, work);
    scene.put(Input::MiniApp(MiniAppInput { from, request }))
}

fn complete(scene: &mut Scene, call: &CallKey, generation: u32, output: Value) -> Result<Answer, Box<Rejected>> {
    let instance = scene.instance("main", "notes").unwrap();
    let request = MiniAppRequest::Complete { call: call.clone(), generation: Some(Generation(generation)), output };
    ask(scene, &instance, Some((call, generation)), request)
}

/// `notes` is up in `main`, brought up by a first call that is done.
fn up() -> Scene {
    let mut scene = Scene::new(vec![notes()]);
    let first = scene.call("notes.add", "first", json!({})).unwrap();
    let instance = scene.instance("main", "notes").unwrap();
    scene.app(&instance, AppHappened::Starting);
    scene.app(&instance, AppHappened::Ready);
    complete(&mut scene, &first, 1, json!({ "done": true })).unwrap();
    scene
}

#[test]
fn call_14_the_causing_call_hears_starting_and_ready_and_the_next_one_accepted() {
    let mut scene = Scene::new(vec![notes()]);
    scene.call("notes.add", "k1", json!({ "n": 1 })).unwrap();
    scene.call("notes.add", "k2", json!({ "n": 2 })).unwrap();
    let instance = scene.instance("main", "notes").unwrap();
    scene.app(&instance, AppHappened::Starting);
    scene.app(&instance, AppHappened::Ready);
    assert_eq!(scene.words("k1"), ["starting", "activation_ready"]);
    assert_eq!(scene.words("k2"), ["accepted"]);
    let handed: Vec<_> =
        scene.workspace.deliveries(&instance).map(|(call, generation)| (call.key().clone(), generation)).collect();
    assert_eq!(handed.len(), 2, "ACT-3: both are delivered, in order");
    assert!(handed.iter().all(|(_, generation)| *generation == Generation(1)));
}

#[test]
fn call_3_a_repeat_of_an_open_call_gets_its_latest_receipt_again_and_changes_nothing() {
    let mut scene = Scene::new(vec![notes()]);
    scene.call("notes.add", "k1", json!({ "n": 1 })).unwrap();
    let (rows, first) = (scene.journal.len(), scene.sent.last().unwrap().clone());
    scene.call("notes.add", "k1", json!({ "n": 1 })).unwrap();
    assert_eq!(scene.journal.len(), rows);
    assert_eq!(scene.sent.last().unwrap(), &first, "the same message, the same id");
    assert_eq!(scene.workspace.outbox().count(), scene.workspace.outbox().filter(|row| row.key.seq.0 > 0).count());
}

#[test]
fn call_3_a_repeat_of_a_finished_call_gets_its_outcome_again_also_under_another_revision() {
    let mut scene = up();
    let first = scene.sent.last().unwrap().clone();
    scene.put(Input::Recovered { manifests: vec![notes(), pomodoro()] }).unwrap();
    let rows = scene.journal.len();
    scene.call("notes.add", "first", json!({})).unwrap();
    assert_eq!(scene.sent.last().unwrap(), &first);
    assert_eq!(scene.journal.len(), rows);
}

#[test]
fn call_4_another_content_under_a_used_id_is_a_conflict_open_or_finished() {
    let mut scene = up();
    scene.call("notes.add", "open", json!({ "n": 1 })).unwrap();
    for (call_id, tool, input) in [
        ("open", "notes.add", json!({ "n": 2 })),
        ("open", "notes.long", json!({ "n": 1 })),
        ("first", "notes.add", json!({ "n": 1 })),
    ] {
        let rows = scene.journal.len();
        let refused = scene.call(tool, call_id, input).unwrap_err();
        assert_eq!(refused.fault.code.as_str(), "call_id_conflict");
        assert_eq!(refused.call_id, Some(id(call_id)));
        assert_eq!(scene.journal.len(), rows);
    }
}

#[test]
fn h31_the_same_id_in_two_conversations_or_of_two_agents_is_two_calls() {
    let mut scene = Scene::new(vec![notes()]);
    let one = scene.call("notes.add", "same", json!({})).unwrap();
    let two = scene.call_in("side", "notes.add", "same", json!({ "n": 9 })).unwrap();
    assert_ne!(one, two);
    let request = scene.invocation("bob", "side", "notes.add", "same", json!({}));
    let Answer::Call(three) = scene.request("bob", "side", request).unwrap() else { panic!("accepted") };
    assert_ne!(two, three);
}

#[test]
fn inv_8_an_old_revision_on_a_new_id_is_refused_with_the_current_one_and_leaves_the_id_free() {
    let mut scene = Scene::new(vec![notes()]);
    let stale = scene.invocation("ann", "main", "notes.add", "k1", json!({}));
    scene.put(Input::Recovered { manifests: vec![notes(), pomodoro()] }).unwrap();
    let before = format!("{:?}", scene.workspace);
    let refused = scene.request("ann", "main", stale).unwrap_err();
    assert_eq!(refused.fault.code.as_str(), "inventory_revision_mismatch");
    let current = scene.workspace.inventory(&id("ann"), &id("main")).unwrap().revision.clone();
    assert_eq!(refused.current_revision, Some(current));
    assert_eq!(format!("{:?}", scene.workspace), before);
    scene.call("notes.add", "k1", json!({})).expect("the id is free");
}

#[test]
fn inv_7_the_revision_follows_the_content_and_the_sequence_grows() {
    let mut scene = Scene::new(vec![notes()]);
    let revision = |scene: &Scene| scene.workspace.inventory(&id("ann"), &id("main")).unwrap().revision.clone();
    let published = |scene: &Scene| {
        scene
            .sent
            .iter()
            .filter(|sent| sent.recipient == id("ann") && sent.message.conversation == id("main"))
            .filter_map(|sent| match &sent.message.body {
                lineup_model::message::AgentBody::Inventory { sequence, .. } => Some(*sequence),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let first = revision(&scene);
    scene.put(Input::Recovered { manifests: vec![notes()] }).unwrap();
    assert_eq!(published(&scene), [] as [u64; 0], "the same content is not published again");
    scene.put(Input::Recovered { manifests: vec![notes(), pomodoro()] }).unwrap();
    assert_ne!(revision(&scene), first);
    scene.put(Input::Recovered { manifests: vec![notes()] }).unwrap();
    assert_eq!(revision(&scene), first);
    assert_eq!(published(&scene), [2, 3]);
    let pending = scene
        .workspace
        .outbox()
        .filter(|row| row.recipient == id("ann") && row.message.conversation == id("main"))
        .count();
    assert_eq!(pending, 1, "a newer one supersedes a pending one");
}

#[test]
fn agt_2_strangers_unknown_conversations_hidden_tools_and_bad_input_are_refused() {
    let mut scene = Scene::new(vec![notes()]);
    let rows: Vec<(&str, &str, &str, Value, &str)> = vec![
        ("eve", "main", "notes.add", json!({}), "agent_unauthorized"),
        ("bob", "main", "notes.add", json!({}), "agent_unauthorized"),
        ("ann", "nowhere", "notes.add", json!({}), "conversation_not_found"),
        ("ann", "main", "notes.other", json!({}), "tool_not_advertised"),
        ("ann", "main", "pomodoro.start", json!({}), "tool_not_advertised"),
        ("ann", "main", "notes.add", json!({ "n": "5" }), "tool_input_invalid"),
        ("ann", "main", "notes.add", json!({ "n": 5.0 }), "tool_input_invalid"),
        ("ann", "main", "notes.add", json!({ "n": true }), "tool_input_invalid"),
        ("ann", "main", "notes.add", json!({ "m": 1 }), "tool_input_invalid"),
    ];
    for (agent, conversation, tool, input, code) in rows {
        let mut request = scene.invocation("ann", "main", "notes.add", "k1", input);
        if let AgentRequest::Invoke { tool: named, .. } = &mut request {
            *named = id(tool);
        }
        let refused = scene.request(agent, conversation, request).unwrap_err();
        assert_eq!(refused.fault.code.as_str(), code);
        assert_eq!(scene.workspace.calls().count(), 0);
    }
}

#[test]
fn act_3_the_hundred_and_first_waiting_call_is_refused_and_a_failure_ends_all_in_one_commit() {
    let mut scene = Scene::new(vec![notes()]);
    for n in 0..100 {
        scene.call("notes.add", &format!("k{n}"), json!({})).unwrap();
    }
    let refused = scene.call("notes.add", "k100", json!({})).unwrap_err();
    assert_eq!((refused.fault.code.as_str(), refused.fault.reason.as_deref()), ("rate_limited", Some("queue_full")));
    let instance = scene.instance("main", "notes").unwrap();
    scene.app(&instance, AppHappened::Starting);
    scene.app(&instance, AppHappened::Stopped { reason: "no".into() });
    assert_eq!(scene.workspace.calls().count(), 0);
    assert_eq!(scene.words("k0"), ["starting", "activation_failed", "failed"]);
    for n in 1..100 {
        assert_eq!(scene.words(&format!("k{n}")), ["accepted", "failed"]);
    }
    scene.call("notes.add", "k100", json!({})).expect("CALL-7: a refused id is free");
}

#[test]
fn call_6_an_invalid_output_fails_the_call_and_drops_what_was_staged_with_it() {
    let mut scene = up();
    let instance = scene.instance("main", "notes").unwrap();
    let call = scene.call("notes.add", "k1", json!({})).unwrap();
    let write =
        MiniAppRequest::WriteSession { step: Some(Step("w".into())), base_revision: 0, data: json!({ "a": 1 }) };
    ask(&mut scene, &instance, Some((&call, 1)), write).unwrap();
    let answer = complete(&mut scene, &call, 1, json!({ "done": "yes" })).unwrap();
    assert!(matches!(answer, Answer::Refused(fault) if fault.code.as_str() == "tool_output_invalid"));
    assert!(matches!(scene.outcome("k1"), Some(End::Failed { error }) if error.code.as_str() == "tool_output_invalid"));
    let read = ask(&mut scene, &instance, None, MiniAppRequest::ReadSession).unwrap();
    assert_eq!(read, Answer::MiniApp(MiniAppAnswer::Session { revision: 0, data: json!({}) }));
    let late = complete(&mut scene, &call, 1, json!({ "done": true })).unwrap_err();
    assert_eq!(late.fault.code.as_str(), "call_already_final");
}

#[test]
fn call_6_what_was_staged_becomes_durable_with_the_outcome() {
    let mut scene = up();
    let instance = scene.instance("main", "notes").unwrap();
    let call = scene.call("notes.add", "k1", json!({})).unwrap();
    let write = |base_revision, n| MiniAppRequest::WriteSession {
        step: Some(Step(format!("w{n}"))),
        base_revision,
        data: json!({ "n": n }),
    };
    ask(&mut scene, &instance, Some((&call, 1)), write(0, 1)).unwrap();
    let seen = ask(&mut scene, &instance, Some((&call, 1)), MiniAppRequest::ReadSession).unwrap();
    assert_eq!(seen, Answer::MiniApp(MiniAppAnswer::Session { revision: 1, data: json!({ "n": 1 }) }));
    let outside = ask(&mut scene, &instance, None, MiniAppRequest::ReadSession).unwrap();
    assert_eq!(outside, Answer::MiniApp(MiniAppAnswer::Session { revision: 0, data: json!({}) }));
    complete(&mut scene, &call, 1, json!({ "done": true })).unwrap();
    let after = ask(&mut scene, &instance, None, MiniAppRequest::ReadSession).unwrap();
    assert_eq!(after, Answer::MiniApp(MiniAppAnswer::Session { revision: 1, data: json!({ "n": 1 }) }));
    let stale = ask(&mut scene, &instance, None, write(0, 2)).unwrap_err();
    assert_eq!(stale.fault.code.as_str(), "session_revision_conflict");
}

#[test]
fn dur_4_after_a_restart_the_call_is_handed_over_again_and_the_old_delivery_does_not_count() {
    let mut scene = up();
    let call = scene.call("notes.add", "k1", json!({})).unwrap();
    scene.put(Input::Recovered { manifests: vec![notes()] }).unwrap();
    let stale = complete(&mut scene, &call, 1, json!({ "done": true })).unwrap_err();
    assert_eq!(stale.fault.reason.as_deref(), Some("stale_delivery"));
    complete(&mut scene, &call, 2, json!({ "done": true })).unwrap();
    assert_eq!(scene.words("k1"), ["accepted", "completed"]);
}

#[test]
fn dur_4_three_deliveries_are_all_a_call_gets() {
    let mut scene = up();
    scene.call("notes.add", "k1", json!({})).unwrap();
    for _ in 0..3 {
        scene.put(Input::Recovered { manifests: vec![notes()] }).unwrap();
    }
    assert!(
        matches!(scene.outcome("k1"), Some(End::Failed { error }) if error.code.as_str() == "app_delivery_exhausted")
    );
}

#[test]
fn dur_4_a_keyed_write_happens_once_and_another_request_under_its_key_diverges() {
    let mut scene = up();
    let instance = scene.instance("main", "notes").unwrap();
    let call = scene.call("notes.add", "k1", json!({})).unwrap();
    let progress = |label: &str| MiniAppRequest::ReportProgress {
        call: call.clone(),
        step: Some(Step("progress#1".into())),
        progress: lineup_model::message::Progress { label: label.into(), detail: None },
    };
    ask(&mut scene, &instance, Some((&call, 1)), progress("shown")).unwrap();
    scene.put(Input::Recovered { manifests: vec![notes()] }).unwrap();
    ask(&mut scene, &instance, Some((&call, 2)), progress("shown")).unwrap();
    assert_eq!(scene.words("k1"), ["accepted", "app"], "the second run's report is the first one's");
    let answer = ask(&mut scene, &instance, Some((&call, 2)), progress("other")).unwrap();
    assert!(matches!(answer, Answer::Refused(fault) if fault.code.as_str() == "handler_diverged"));
    assert!(matches!(scene.outcome("k1"), Some(End::Failed { error }) if error.code.as_str() == "handler_diverged"));
}

#[test]
fn call_12_progress_cannot_carry_what_the_output_owns_and_is_bounded() {
    let mut scene = up();
    let instance = scene.instance("main", "notes").unwrap();
    let call = scene.call("notes.add", "k1", json!({})).unwrap();
    for detail in [json!({ "done": true }), json!({ "text": "x".repeat(9_000) })] {
        let request = MiniAppRequest::ReportProgress {
            call: call.clone(),
            step: None,
            progress: lineup_model::message::Progress { label: "at".into(), detail: Some(detail) },
        };
        ask(&mut scene, &instance, Some((&call, 1)), request).unwrap_err();
    }
    assert_eq!(scene.words("k1"), ["accepted"]);
}

#[test]
fn call_9_a_call_expires_once_when_its_time_is_over() {
    let mut scene = up();
    let call = scene.call("notes.add", "k1", json!({})).unwrap();
    scene.advance(59_999);
    assert_eq!(scene.words("k1"), ["accepted"]);
    scene.advance(1);
    assert_eq!(scene.words("k1"), ["accepted", "expired"]);
    let late = complete(&mut scene, &call, 1, json!({ "done": true })).unwrap_err();
    assert_eq!(late.fault.code.as_str(), "call_already_final", "I37");
    scene.advance(1_000_000);
    assert_eq!(scene.words("k1"), ["accepted", "expired"]);
}

#[test]
fn call_9_an_absolute_expiry_becomes_a_length_at_acceptance() {
    let mut scene = up();
    let mut request = scene.invocation("ann", "main", "notes.add", "k1", json!({}));
    if let AgentRequest::Invoke { expires_at, .. } = &mut request {
        *expires_at = Some(Wall(scene.wall + 5_000));
    }
    scene.request("ann", "main", request.clone()).unwrap();
    scene.wall -= 3_600_000;
    scene.advance(5_000);
    assert_eq!(scene.words("k1"), ["accepted", "expired"], "OP-4: the wall clock set back does not matter");
    if let AgentRequest::Invoke { expires_at, call_id, .. } = &mut request {
        *expires_at = Some(Wall(scene.wall));
        *call_id = id("k2");
    }
    assert_eq!(scene.request("ann", "main", request).unwrap_err().fault.code.as_str(), "call_expired");
}

#[test]
fn call_10_the_declaration_decides_whether_an_agent_may_cancel() {
    let mut scene = up();
    scene.call("notes.add", "k1", json!({})).unwrap();
    scene.call("notes.long", "k2", json!({})).unwrap();
    let refused = scene.request("ann", "main", AgentRequest::Cancel { call_id: id("k1") }).unwrap_err();
    assert_eq!(refused.fault.code.as_str(), "call_not_cancellable");
    scene.request("ann", "main", AgentRequest::Cancel { call_id: id("k2") }).unwrap();
    assert_eq!(scene.words("k2"), ["accepted", "cancelled"]);
    let unknown = scene.request("bob", "side", AgentRequest::Cancel { call_id: id("k2") }).unwrap_err();
    assert_eq!(unknown.fault.code.as_str(), "call_not_found");
}

#[test]
fn sdk_3_disabling_an_app_ends_its_calls_in_one_commit_and_hides_its_tools() {
    let mut scene = up();
    scene.call("notes.add", "k1", json!({})).unwrap();
    let policy = Policy { disabled_apps: [id("notes")].into(), ..Policy::default() };
    scene.put(Input::Setup(Setup::Policy(policy))).unwrap();
    assert!(matches!(scene.outcome("k1"), Some(End::Rejected { error }) if error.code.as_str() == "app_disabled"));
    assert_eq!(scene.workspace.instances().count(), 0);
    let refused = scene.call("notes.add", "k2", json!({})).unwrap_err();
    assert_eq!(refused.fault.code.as_str(), "tool_not_advertised");
}

#[test]
fn sdk_1_a_call_of_another_instance_looks_like_one_that_never_was() {
    let mut scene = up();
    let mine = scene.instance("main", "notes").unwrap();
    scene.call_in("side", "notes.add", "k1", json!({})).unwrap();
    let other = scene.instance("side", "notes").unwrap();
    scene.app(&other, AppHappened::Starting);
    scene.app(&other, AppHappened::Ready);
    let theirs = scene.workspace.deliveries(&other).next().unwrap().0.key().clone();
    let request = |call: CallKey| MiniAppRequest::Complete { call, generation: None, output: json!({ "done": true }) };
    let foreign = ask(&mut scene, &mine, None, request(theirs)).unwrap_err();
    let unknown = ask(&mut scene, &mine, None, request(id("c9999"))).unwrap_err();
    assert_eq!(foreign.fault, unknown.fault, "H116");
}

#[test]
fn dur_3_a_text_is_taken_in_once_and_stays_until_it_is_acknowledged() {
    let mut scene = Scene::new(vec![]);
    let text = Input::Agent(lineup_core::workspace::input::AgentInput {
        agent: id("ann"),
        message: id("t1"),
        conversation: id("main"),
        request: AgentRequest::Text { text: "hello".into() },
    });
    scene.put(text.clone()).unwrap();
    scene.put(text).unwrap();
    let chat = scene.instance("main", "chat").unwrap();
    let list = |scene: &mut Scene| match ask(scene, &chat, None, MiniAppRequest::ListInbox { after: 0 }).unwrap() {
        Answer::MiniApp(MiniAppAnswer::Inbox { messages }) => messages,
        other => panic!("{other:?}"),
    };
    let messages = list(&mut scene);
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].body["text"], "hello");
    scene.put(Input::Recovered { manifests: vec![] }).unwrap();
    ask(&mut scene, &chat, None, MiniAppRequest::AcknowledgeInbox { id: messages[0].id.clone() }).unwrap();
    assert_eq!(list(&mut scene).len(), 0);
}

#[test]
fn dur_3_a_message_that_is_never_acknowledged_is_parked_after_its_attempts() {
    let mut scene = Scene::new(vec![]);
    scene.request("ann", "main", AgentRequest::Text { text: "poison".into() }).unwrap();
    let chat = scene.instance("main", "chat").unwrap();
    for _ in 0..4 {
        scene.app(&chat, AppHappened::Starting);
        scene.app(&chat, AppHappened::Ready);
    }
    assert!(scene.workspace.inbox().all(|row| row.parked));
}

#[test]
fn h107_an_acknowledged_message_leaves_the_outbox_and_an_unknown_one_changes_nothing() {
    let mut scene = Scene::new(vec![notes()]);
    let before = scene.workspace.outbox().count();
    let first = scene.workspace.outbox().next().unwrap().message.id.clone();
    let ack = |message| Input::Transport(lineup_core::workspace::input::TransportReport::Acknowledged(message));
    scene.put(ack(id("m999-0"))).unwrap();
    scene.put(ack(id("nonsense"))).unwrap();
    assert_eq!(scene.workspace.outbox().count(), before);
    scene.put(ack(first.clone())).unwrap();
    scene.put(ack(first)).unwrap();
    assert_eq!(scene.workspace.outbox().count(), before - 1);
}

#[test]
fn hello_is_a_read_that_sends_the_inventory_and_open_calls_again() {
    let mut scene = Scene::new(vec![notes()]);
    scene.host("tab", Report::Connected { visible: true });
    scene.call("notes.add", "k1", json!({})).unwrap();
    let published: Vec<_> = scene.workspace.outbox().map(|row| row.message.id.clone()).collect();
    for message in published {
        scene.put(Input::Transport(lineup_core::workspace::input::TransportReport::Acknowledged(message))).unwrap();
    }
    let rows = scene.journal.len();
    scene.sent.clear();
    scene.request("ann", "main", AgentRequest::Hello).unwrap();
    assert_eq!(scene.journal.len(), rows);
    assert_eq!(scene.sent.len(), 2);
    assert_eq!(scene.words("k1"), ["starting"]);
}

#[test]
fn dur_2_inventories_of_two_conversations_that_are_sent_again_are_two_messages() {
    let mut scene = Scene::new(vec![notes()]);
    // Once it has left the outbox, joining sends it again.
    let keys: Vec<_> = scene.workspace.outbox().map(|row| row.message.id.clone()).collect();
    for message in keys {
        let report = lineup_core::workspace::input::TransportReport::Acknowledged(message);
        scene.put(Input::Transport(report)).unwrap();
    }
    scene.request("ann", "main", AgentRequest::Hello).unwrap();
    scene.request("ann", "side", AgentRequest::Hello).unwrap();
    scene.request("ann", "side", AgentRequest::Hello).unwrap();
    let ids: Vec<_> = scene.sent.iter().rev().take(3).map(|sent| sent.message.id.clone()).collect();
    assert_ne!(ids[2], ids[0], "one id never names two messages");
    assert_eq!(ids[1], ids[0]);
}

#[test]
fn dur_4_a_handler_that_runs_again_finds_the_session_data_as_it_was_and_does_not_diverge() {
    let mut scene = up();
    let instance = scene.instance("main", "notes").unwrap();
    let call = scene.call("notes.add", "k1", json!({})).unwrap();
    // A deterministic handler: read, add one, write, under the same step each time.
    let run = |scene: &mut Scene, generation: u32| {
        let read = ask(scene, &instance, Some((&call, generation)), MiniAppRequest::ReadSession).unwrap();
        let Answer::MiniApp(MiniAppAnswer::Session { revision, data }) = read else { panic!("{read:?}") };
        let count = data["count"].as_u64().unwrap_or(0) + 1;
        let step = Some(Step("session.write#1".into()));
        let write = MiniAppRequest::WriteSession { step, base_revision: revision, data: json!({ "count": count }) };
        ask(scene, &instance, Some((&call, generation)), write).unwrap()
    };
    assert_eq!(run(&mut scene, 1), Answer::MiniApp(MiniAppAnswer::Written { revision: 1 }));
    scene.put(Input::Recovered { manifests: vec![notes()] }).unwrap();
    assert_eq!(run(&mut scene, 2), Answer::MiniApp(MiniAppAnswer::Written { revision: 1 }));
    complete(&mut scene, &call, 2, json!({ "done": true })).unwrap();
    assert_eq!(scene.words("k1"), ["accepted", "completed"]);
    let read = ask(&mut scene, &instance, None, MiniAppRequest::ReadSession).unwrap();
    assert_eq!(read, Answer::MiniApp(MiniAppAnswer::Session { revision: 1, data: json!({ "count": 1 }) }));
}

#[test]
fn uia_1_what_an_actions_handler_writes_is_made_at_once_and_once_also_when_it_runs_again() {
    let action = lineup_model::manifest::UiAction {
        method: id("mark"),
        description: "Marks it.".into(),
        input_schema: lineup_model::schema::Schema::empty_object(),
        confirm: false,
    };
    let mut marks = Manifest::clone(&notes());
    marks.app_scope = id("chat");
    marks.tools = vec![];
    marks.ui_actions = vec![action];
    let marks = Arc::new(marks.sealed().unwrap());
    let mut scene = Scene::new(vec![marks.clone()]);
    scene
        .put(Input::UiAction(lineup_core::workspace::input::UiActionInput {
            session: id("tab"),
            view: lineup_core::workspace::input::View::Interact(id("main")),
            action_id: id("click"),
            method: id("mark"),
            input: Arc::new(json!({})),
        }))
        .unwrap();
    let instance = scene.instance("main", "chat").unwrap();
    let as_handler = |scene: &mut Scene, generation: u32, request: MiniAppRequest| {
        let work = Some(Work::Action { action: id("click"), generation: Generation(generation) });
        let from = MiniAppContext { work, ..context(scene, &instance, None) };
        scene.put(Input::MiniApp(MiniAppInput { from, request }))
    };
    let run = |scene: &mut Scene, generation: u32| {
        let read = as_handler(scene, generation, MiniAppRequest::ReadSession).unwrap();
        let Answer::MiniApp(MiniAppAnswer::Session { revision, data }) = read else { panic!("{read:?}") };
        let count = data["count"].as_u64().unwrap_or(0) + 1;
        let step = Some(Step("session.write#1".into()));
        let write = MiniAppRequest::WriteSession { step, base_revision: revision, data: json!({ "count": count }) };
        as_handler(scene, generation, write).unwrap()
    };
    assert_eq!(run(&mut scene, 1), Answer::MiniApp(MiniAppAnswer::Written { revision: 1 }));
    let outside = ask(&mut scene, &instance, None, MiniAppRequest::ReadSession).unwrap();
    assert_eq!(outside, Answer::MiniApp(MiniAppAnswer::Session { revision: 1, data: json!({ "count": 1 }) }));
    scene.put(Input::Recovered { manifests: vec![marks] }).unwrap();
    assert_eq!(run(&mut scene, 2), Answer::MiniApp(MiniAppAnswer::Written { revision: 1 }));
    let done = |generation| MiniAppRequest::ActionDone {
        action: id("click"),
        generation: Generation(generation),
        fault: None,
    };
    assert_eq!(as_handler(&mut scene, 1, done(1)).unwrap_err().fault.reason.as_deref(), Some("stale_delivery"));
    as_handler(&mut scene, 2, done(2)).unwrap();
    let read = ask(&mut scene, &instance, None, MiniAppRequest::ReadSession).unwrap();
    assert_eq!(read, Answer::MiniApp(MiniAppAnswer::Session { revision: 1, data: json!({ "count": 1 }) }));
}
