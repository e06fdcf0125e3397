//! One call through the Runtime and a real store: receipts, restart, repeats, store faults.

mod world;

use std::sync::Arc;

use lineup_core::workspace::input::Report;
use lineup_ports::{inbound::InspectQuery, outbound::Cause};
use lineup_sql::SqliteStore;
use lineup_testkit::{
    MemoryStore, Scripted, ScriptedMiniApps, VirtualClock,
    manifests::{manifest, pomodoro, tool},
};
use serde_json::json;
use world::World;

fn silent() -> Arc<ScriptedMiniApps> {
    ScriptedMiniApps::new(vec![pomodoro(), manifest("notes", vec![tool("notes", "add")])], Box::new(|_| None))
}

fn completing() -> Arc<ScriptedMiniApps> {
    ScriptedMiniApps::completing(vec![manifest("notes", vec![tool("notes", "add")])], json!({ "done": true }))
}

const MINUTE: u64 = 60_000;

#[tokio::test]
async fn app_5_a_focus_runs_to_its_deadline_through_the_real_store() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(dir.path()).await.unwrap());
    let world = World::start(store, silent(), Arc::default()).await;
    world.host(Report::Connected { visible: true }).await;
    world.invoke("pomodoro.start", "k1", json!({ "minutes": 20 })).await;
    world.stage("k1", "starting").await;
    assert_eq!(world.rows(InspectQuery::Operations).await.len(), 0);
    world.confirm().await;
    world.stage("k1", "started").await;
    assert_eq!(world.rows(InspectQuery::Operations).await.len(), 1);
    world.clock.advance(20 * MINUTE);
    assert_eq!(world.outcome("k1").await["result"], json!({ "status": "completed" }));
    assert_eq!(world.words("k1"), ["starting", "started", "outcome:completed"]);
}

#[tokio::test]
async fn dur_4_a_runtime_that_is_dropped_anywhere_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(VirtualClock::default());
    let open = || async { Arc::new(SqliteStore::open(dir.path()).await.unwrap()) };
    {
        let world = World::start(open().await, silent(), clock.clone()).await;
        world.host(Report::Connected { visible: true }).await;
        world.invoke("pomodoro.start", "k1", json!({ "minutes": 20 })).await;
        world.stage("k1", "starting").await;
        world.runtime.stop().await;
    }
    {
        // Starting goes on, with its whole limit.
        let world = World::start(open().await, silent(), clock.clone()).await;
        world.host(Report::Connected { visible: true }).await;
        world.confirm().await;
        world.stage("k1", "started").await;
        world.runtime.stop().await;
    }
    clock.advance(90 * MINUTE);
    let world = World::start(open().await, silent(), clock.clone()).await;
    assert_eq!(world.outcome("k1").await["result"], json!({ "status": "completed" }));
    let audit = world.rows(InspectQuery::Audit { limit: 100 }).await;
    let ended = audit.iter().find(|row| row["happened"] == "operation_ended").expect("it ended");
    assert_eq!(ended["body"]["detail"]["ended"]["late_by_ms"], 70 * MINUTE, "OP-4");
}

#[tokio::test]
async fn call_3_a_repeat_is_answered_byte_equal_also_after_a_restart_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(VirtualClock::default());
    let first;
    {
        let store = Arc::new(SqliteStore::open(dir.path()).await.unwrap());
        let world = World::start(store.clone(), completing(), clock.clone()).await;
        world.invoke("notes.add", "k1", json!({ "n": 1 })).await;
        first = world.outcome("k1").await;
        let (commits, sent) = (store.counters().commits, world.transport.sent().len());
        world.invoke("notes.add", "k1", json!({ "n": 1 })).await;
        let repeat = world.transport.nth(2, |one| one.id.as_str() == first["id"]).await;
        assert_eq!(world.transport.sent().len(), sent + 1);
        assert_eq!(repeat.payload, bytes_of(&world, &first));
        assert_eq!(store.counters().commits, commits, "G6: nothing is written");
        world.runtime.stop().await;
    }
    let store = Arc::new(SqliteStore::open(dir.path()).await.unwrap());
    let miniapps = completing();
    let world = World::start(store, miniapps.clone(), clock).await;
    world.invoke("notes.add", "k1", json!({ "n": 1 })).await;
    assert_eq!(world.outcome("k1").await, first);
    assert_eq!(miniapps.handed().len(), 0, "nothing executes again");
    world.invoke("notes.add", "k1", json!({ "n": 2 })).await;
    let refused =
        world.transport.until(|sent| String::from_utf8_lossy(&sent.payload).contains("call_id_conflict")).await;
    let refused: serde_json::Value = serde_json::from_slice(&refused.payload).unwrap();
    assert_eq!(refused["final"], false, "CALL-7");
}

/// The bytes in which this outcome was sent first.
fn bytes_of(world: &World, outcome: &serde_json::Value) -> Vec<u8> {
    let sent = world.transport.sent();
    sent.iter().find(|sent| sent.id.as_str() == outcome["id"]).expect("it was sent").payload.clone()
}

#[tokio::test]
async fn h28_a_hundred_repeats_at_once_execute_once() {
    let miniapps = completing();
    let world = World::start(Arc::new(MemoryStore::new()), miniapps.clone(), Arc::default()).await;
    for _ in 0..100 {
        world.invoke("notes.add", "k1", json!({ "n": 1 })).await;
    }
    let first = world.outcome("k1").await;
    world.transport.until_acknowledged(100).await;
    assert_eq!(miniapps.handed().len(), 1);
    let outcomes: std::collections::BTreeSet<_> = world
        .transport
        .sent()
        .into_iter()
        .filter(|sent| sent.id.as_str() == first["id"])
        .map(|sent| sent.payload)
        .collect();
    assert_eq!(outcomes.len(), 1, "all answers are the same bytes");
}

#[tokio::test]
async fn h101_a_store_that_takes_nothing_refuses_new_calls_and_goes_on_without_a_restart() {
    let store = Arc::new(MemoryStore::new());
    let world = World::start(store.clone(), completing(), Arc::default()).await;
    store.fill(true);
    world.invoke("notes.add", "k1", json!({})).await;
    world.transport.until(|sent| String::from_utf8_lossy(&sent.payload).contains("storage_unavailable")).await;
    store.fill(false);
    // The agent tries again until it is taken.
    loop {
        world.invoke("notes.add", "k1", json!({})).await;
        let status = world.status().await;
        if status["store"] == "serving" && status["backlog"] == 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    world.invoke("notes.add", "k1", json!({})).await;
    assert_eq!(world.outcome("k1").await["status"], "completed");
}

#[tokio::test]
async fn f3_an_unknown_commit_is_settled_by_the_stores_own_word_and_sends_nothing_before() {
    for (landed, answer) in [(true, Scripted::UnknownAndDurable), (false, Scripted::UnknownAndLost)] {
        let store = Arc::new(MemoryStore::new());
        let miniapps = completing();
        let world = World::start(store.clone(), miniapps.clone(), Arc::default()).await;
        store.script([answer]);
        world.invoke("notes.add", "k1", json!({})).await;
        assert_eq!(world.outcome("k1").await["status"], "completed", "landed: {landed}");
        assert_eq!(miniapps.handed().len(), 1);
        assert_eq!(world.words("k1").iter().filter(|word| *word == "starting").count(), 1);
    }
}

#[tokio::test]
async fn a_change_that_cannot_be_stored_hurts_only_its_own_input() {
    let store = Arc::new(MemoryStore::new());
    let world = World::start(store.clone(), completing(), Arc::default()).await;
    store.script([Scripted::NothingChanged(Cause::Refused("no".into()))]);
    world.invoke("notes.add", "k1", json!({})).await;
    world.transport.until(|sent| String::from_utf8_lossy(&sent.payload).contains("not_storable")).await;
    world.invoke("notes.add", "k2", json!({})).await;
    assert_eq!(world.outcome("k2").await["status"], "completed");
}

#[tokio::test]
async fn fenced_means_stop_and_nothing_more_is_taken_in() {
    let store = Arc::new(MemoryStore::new());
    let world = World::start(store.clone(), completing(), Arc::default()).await;
    store.script([Scripted::Fenced]);
    world.invoke("notes.add", "k1", json!({})).await;
    world.transport.until(|sent| String::from_utf8_lossy(&sent.payload).contains("workspace_moved")).await;
    assert_eq!(world.words("k1"), ["refused"]);
}
