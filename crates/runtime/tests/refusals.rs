//! What is refused changes nothing: no MiniApp hears of it, no Host, and the store stays as it is.
//! Each refusal stands beside a valid call in which the same spies fire.

mod world;

use std::sync::Arc;

use lineup_core::{
    miniapp::{MiniAppContext, MiniAppRequest, Work},
    workspace::input::Report,
};
use lineup_model::{CallKey, Digest, Generation, InstanceId, Revision};
use lineup_ports::inbound::InspectQuery;
use lineup_testkit::{
    MemoryStore, ScriptedMiniApps,
    manifests::{id, manifest, pomodoro, tool},
};
use serde_json::{Value, json};
use world::World;

fn miniapps() -> Arc<ScriptedMiniApps> {
    ScriptedMiniApps::completing(
        vec![pomodoro(), manifest("notes", vec![tool("notes", "add")])],
        json!({ "done": true }),
    )
}

/// An envelope of agent `ann`'s, as bytes, so that it can be anything.
fn envelope(fields: Value) -> Vec<u8> {
    let mut envelope = json!({
        "type": "lineup.v1.tool.invoke", "id": "x-raw", "conversation_id": "main", "call_id": "k1",
        "tool": "notes.add", "input": {},
    });
    for (name, value) in fields.as_object().expect("fields to change") {
        envelope[name] = value.clone();
    }
    serde_json::to_vec(&envelope).expect("a value has JSON")
}

#[tokio::test]
async fn call_7_every_refusal_leaves_miniapps_hosts_and_store_untouched_and_the_id_free() {
    let stale = Revision(Digest::of_bytes(b"another inventory"));
    let rows: Vec<(&str, Value)> = vec![
        ("inventory_revision_mismatch", json!({ "inventory_revision": stale })),
        ("tool_not_advertised", json!({ "tool": "notes.other" })),
        ("tool_not_advertised", json!({ "tool": "Notes.add" })),
        ("tool_input_invalid", json!({ "input": { "n": "1" } })),
        ("tool_input_invalid", json!({ "input": { "m": 1 } })),
        ("deadline_invalid", json!({ "tool": "pomodoro.start", "input": { "minutes": 2000 } })),
        ("conversation_not_found", json!({ "conversation_id": "nowhere" })),
        ("envelope_invalid", json!({ "instance_id": "i1" })),
        ("envelope_invalid", json!({ "operation_id": "o1" })),
        ("envelope_invalid", json!({ "app_session_id": "s1" })),
        ("envelope_invalid", json!({ "owner": "ann" })),
        ("envelope_invalid", json!({ "more": 1 })),
        ("envelope_invalid", json!({ "call_id": "" })),
        ("envelope_invalid", json!({ "inventory_revision": "ABC" })),
        ("call_expired", json!({ "expires_at": 1 })),
    ];
    for (code, mut fields) in rows {
        let (store, apps) = (Arc::new(MemoryStore::new()), miniapps());
        let world = World::start(store.clone(), apps.clone(), Arc::default()).await;
        world.host(Report::Connected { visible: true }).await;
        world.hosts.until(&id("tab"), |_| true).await;
        if fields.get("inventory_revision").is_none() {
            fields["inventory_revision"] = json!(world.revision().await);
        }
        let (digest, told) = (store.digest(), world.hosts.told());
        world.transport.deliver(&id("ann"), envelope(fields.clone()));
        let refused = world.transport.until(|sent| String::from_utf8_lossy(&sent.payload).contains(code)).await;
        let refused: Value = serde_json::from_slice(&refused.payload).unwrap();
        assert_eq!((&refused["status"], &refused["final"]), (&json!("rejected"), &json!(false)), "{code}");
        assert_eq!(refused["in_reply_to"], "x-raw", "{code}");
        assert_eq!(apps.handed().len(), 0, "{code}: a MiniApp heard of it");
        assert_eq!(world.hosts.told(), told, "{code}: a Host heard of it");
        assert_eq!(store.digest(), digest, "{code}: the store changed");

        // The same spies fire for a valid call, under the same id.
        let valid = json!({ "inventory_revision": world.revision().await });
        world.transport.deliver(&id("ann"), envelope(valid));
        assert_eq!(world.outcome("k1").await["status"], "completed", "{code}");
        assert_eq!(apps.handed().len(), 1);
        assert!(world.hosts.told() > told, "a started app is listed");
        assert_ne!(store.digest(), digest);
    }
}

#[tokio::test]
async fn dur_5_refusals_are_counted_with_the_next_batch_and_never_force_one() {
    let store = Arc::new(MemoryStore::new());
    let world = World::start(store.clone(), miniapps(), Arc::default()).await;
    let commits = store.commits();
    for n in 0..5 {
        world.invoke("notes.none", &format!("k{n}"), json!({})).await;
    }
    world.transport.nth(5, |sent| String::from_utf8_lossy(&sent.payload).contains("tool_not_advertised")).await;
    assert_eq!(store.commits(), commits);
    world.invoke("notes.add", "valid", json!({})).await;
    world.outcome("valid").await;
    let audit = world.runtime_audit().await;
    let counted = &audit["refusals"][0];
    assert_eq!((&counted["actor"], &counted["code"]), (&json!("ann"), &json!("tool_not_advertised")));
    assert_eq!(counted["body"]["count"], 5);
}

/// A running call of `notes`, and the instance that has it.
async fn running(world: &World) -> (InstanceId, CallKey) {
    world.invoke("notes.add", "k1", json!({})).await;
    world.stage("k1", "activation_ready").await;
    let calls = world.rows(InspectQuery::Calls { limit: 1 }).await;
    let instances = world.rows(InspectQuery::Instances).await;
    (id(instances[0]["instance"].as_str().unwrap()), id(calls[0]["call"].as_str().unwrap()))
}

#[tokio::test]
async fn call_6_a_miniapp_that_submits_raw_json_is_held_to_the_schema_and_to_one_outcome() {
    let apps = ScriptedMiniApps::new(vec![manifest("notes", vec![tool("notes", "add")])], Box::new(|_| None));
    let world = World::start(Arc::new(MemoryStore::new()), apps.clone(), Arc::default()).await;
    let (instance, call) = running(&world).await;
    let work = Some(Work::Call { call: call.clone(), generation: Generation(1) });
    let write = MiniAppRequest::WriteSession { step: None, base_revision: 0, data: json!({ "kept": false }) };
    apps.ask(&instance, work.clone(), write).await.unwrap();
    let complete = |output| MiniAppRequest::Complete { call: call.clone(), generation: Some(Generation(1)), output };

    let stale = MiniAppRequest::Complete { call: call.clone(), generation: Some(Generation(7)), output: json!({}) };
    assert_eq!(apps.ask(&instance, work.clone(), stale).await.unwrap_err().code.as_str(), "lifecycle_denied");
    let invalid = apps.ask(&instance, work.clone(), complete(json!({ "done": "maybe" }))).await.unwrap_err();
    assert_eq!(invalid.code.as_str(), "tool_output_invalid");
    let outcome = world.outcome("k1").await;
    assert_eq!((&outcome["status"], &outcome["code"]), (&json!("failed"), &json!("tool_output_invalid")));
    let read = apps.ask(&instance, None, MiniAppRequest::ReadSession).await.unwrap();
    assert_eq!(read, lineup_core::miniapp::MiniAppAnswer::Session { revision: 0, data: json!({}) });

    for late in [json!({ "done": true }), json!({ "done": "again" })] {
        let refused = apps.ask(&instance, work.clone(), complete(late)).await.unwrap_err();
        assert_eq!(refused.code.as_str(), "call_already_final");
    }
    let outcomes = world.words("k1").into_iter().filter(|word| word.starts_with("outcome")).count();
    assert_eq!(outcomes, 1, "CALL-5");
}

#[tokio::test]
async fn sdk_1_a_forged_context_is_refused() {
    let apps = ScriptedMiniApps::new(vec![manifest("notes", vec![tool("notes", "add")])], Box::new(|_| None));
    let world = World::start(Arc::new(MemoryStore::new()), apps, Arc::default()).await;
    let (instance, call) = running(&world).await;
    let rows: Vec<(&str, MiniAppContext)> =
        [("other", "main", instance.as_str()), ("notes", "side", instance.as_str()), ("notes", "main", "i999")]
            .into_iter()
            .map(|(scope, conversation, instance)| {
                let code = if instance == "i999" { "app_instance_not_found" } else { "app_scope_mismatch" };
                let context = MiniAppContext {
                    workspace: id("default"),
                    app_scope: id(scope),
                    instance: id(instance),
                    conversation: id(conversation),
                    work: None,
                };
                (code, context)
            })
            .collect();
    for (code, context) in rows {
        let request =
            MiniAppRequest::Complete { call: call.clone(), generation: None, output: json!({ "done": true }) };
        let refused = lineup_ports::inbound::MiniAppRequests::request(&world.runtime, context, request).await;
        assert_eq!(refused.unwrap_err().code.as_str(), code);
    }
}
