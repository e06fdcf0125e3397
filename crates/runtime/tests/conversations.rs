//! What people read of their conversations, through real decisions and on both stores.

mod world;

use std::sync::Arc;

use lineup_core::{
    Seq,
    miniapp::MiniAppRequest,
    operation::{By, OperationEnd},
    policy::{Conversation, Policy},
    workspace::input::{HostIntentInput, Intent, Report, Setup, UiActionInput, View},
};
use lineup_model::{
    ErrorCode,
    message::{Fault, OutcomeClass, Stage},
};
use lineup_ports::{
    inbound::{
        ActionState, AppView, ConversationView, Conversations, HostIntents, Item, Range, Running, SetUp, ToolView,
        UiActions, What,
    },
    outbound::{Item as Work, Store},
};
use lineup_sql::SqliteStore;
use lineup_testkit::{
    MemoryStore, ScriptedMiniApps, VirtualClock,
    manifests::{id, interact, manifest, pomodoro, tool},
};
use lineup_wire::{Request, RequestBody, encode_request};
use serde_json::{Value, json};
use world::World;

const MINUTE: u64 = 60_000;
const START: i64 = 1_796_000_000_000;

/// Calls are completed at once; the action `slow` is left open and `bad` fails.
fn miniapps() -> Arc<ScriptedMiniApps> {
    ScriptedMiniApps::new(
        vec![interact(), manifest("notes", vec![tool("notes", "add")]), pomodoro()],
        Box::new(|work| match &work.item {
            Work::Call(call) => Some(MiniAppRequest::Complete {
                call: call.clone(),
                generation: Some(work.generation),
                output: json!({ "done": true }),
            }),
            Work::Action(action) if action.as_str() == "slow" => None,
            Work::Action(action) => Some(MiniAppRequest::ActionDone {
                action: action.clone(),
                generation: work.generation,
                fault: (action.as_str() == "bad").then(|| Fault::new(ErrorCode::RateLimited, "not now")),
            }),
        }),
    )
}

/// Both stores; the folder lives as long as the test.
async fn stores() -> (tempfile::TempDir, [Arc<dyn Store>; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Arc::new(SqliteStore::open(folder.path()).await.unwrap());
    (folder, [Arc::new(MemoryStore::new()), sqlite])
}

async fn items(world: &World, range: Range) -> Vec<Item> {
    world.runtime.items(&id("main"), range, 10_000).await.unwrap()
}

/// Waits, as a page does, until the items are as they should be.
async fn until(world: &World, holds: impl Fn(&[Item]) -> bool) -> Vec<Item> {
    let mut place = Seq(0);
    loop {
        place = world.runtime.changed(place).await.expect("it runs");
        let all = items(world, Range::After(Seq(0))).await;
        if holds(&all) {
            return all;
        }
    }
}

fn say(world: &World, conversation: &str, message: &str, text: &str) {
    let body = RequestBody::Text { text: text.into() };
    let request = Request { id: id(message), conversation: id(conversation), body };
    world.transport.deliver(&id("ann"), encode_request(&request));
}

async fn act(world: &World, action: &str, text: &str) {
    let input = Arc::new(json!({ "text": text, "echo_id": action }));
    let (view, action_id) = (View::Interact(id("main")), id(action));
    let action = UiActionInput { session: id("tab"), view, action_id, method: id("send-text"), input };
    world.runtime.act(action).await.unwrap();
}

async fn intend(world: &World, intent_id: &str, intent: Intent) {
    let intent = HostIntentInput { session: id("tab"), intent_id: id(intent_id), intent };
    world.runtime.intend(intent).await.unwrap();
}

fn kind(item: &Item) -> &'static str {
    match item.what {
        What::AgentText { .. } => "agent_text",
        What::Action { .. } => "action",
        What::Call { .. } => "call",
        What::Opened { .. } => "opened",
        What::Closed { .. } => "closed",
        What::Ended { .. } => "ended",
        What::Other => "other",
    }
}

fn kinds(items: &[Item]) -> Vec<&'static str> {
    items.iter().map(kind).collect()
}

/// Where a call stands: stage, running operation, the end's class and result.
type Stand = (Option<Stage>, Option<Running>, Option<(OutcomeClass, Option<Value>)>);

fn call(items: &[Item], wanted: &str) -> Stand {
    let found = items.iter().find_map(|item| match &item.what {
        What::Call { call_id, stage, running, end, .. } if call_id.as_str() == wanted => {
            Some((*stage, *running, end.as_ref().map(|end| (end.class, end.result.clone()))))
        }
        _ => None,
    });
    found.expect("the call is an item")
}

fn state(items: &[Item], wanted: &str) -> ActionState {
    let found = items.iter().find_map(|item| match &item.what {
        What::Action { action, state, .. } if action.as_str() == wanted => Some(state.clone()),
        _ => None,
    });
    found.expect("the action is an item")
}

fn over(items: &[Item]) -> bool {
    items.iter().all(|item| !matches!(item.what, What::Call { end: None, .. }))
}

#[tokio::test]
async fn a_call_changes_in_place_from_open_to_ended() {
    let (_folder, stores) = stores().await;
    for store in stores {
        let world = World::start(store, miniapps(), Arc::default()).await;
        world.host(Report::Connected { visible: true }).await;
        world.invoke("pomodoro.start", "k1", json!({ "minutes": 20 })).await;
        world.stage("k1", "starting").await;
        let starting = items(&world, Range::After(Seq(0))).await;
        assert_eq!(kinds(&starting), ["call", "opened"]);
        assert_eq!(call(&starting, "k1"), (Some(Stage::Starting), None, None));
        let What::Call { call: key, agent, tool, input, .. } = &starting[0].what else { panic!("it is a call") };
        assert_eq!(
            (*key == starting[0].place.call_key(), agent.as_str(), tool.as_str()),
            (true, "ann", "pomodoro.start")
        );
        assert_eq!((input, starting[0].at), (&json!({ "minutes": 20 }), START));

        world.confirm().await;
        world.stage("k1", "started").await;
        world.clock.advance(MINUTE);
        let running = items(&world, Range::At(vec![starting[0].place])).await;
        let time = Running { length_ms: 20 * MINUTE, remaining_ms: 19 * MINUTE };
        assert_eq!(call(&running, "k1"), (Some(Stage::Started), Some(time), None));

        world.clock.advance(19 * MINUTE);
        let ended = until(&world, over).await;
        assert_eq!(kinds(&ended), ["call", "opened", "ended"]);
        let completed = (OutcomeClass::Completed, Some(json!({ "status": "completed" })));
        assert_eq!(call(&ended, "k1"), (None, None, Some(completed)));
        assert_eq!((ended[0].place, ended[0].at), (starting[0].place, START), "its place and its time stay");
        let What::Call { end: Some(end), .. } = &ended[0].what else { panic!("it has ended") };
        assert_eq!((end.at, &end.error), (START + 20 * 60_000, &None));
        let What::Ended { call: of, app_scope, end, .. } = &ended[2].what else { panic!("an operation ended") };
        assert_eq!((of, app_scope.as_str()), (key, "pomodoro"));
        assert!(matches!(end, OperationEnd::Completed { late_by_ms: 0, .. }), "{end:?}");
        world.runtime.stop().await;
    }
}

#[tokio::test]
async fn what_was_said_done_opened_and_closed_is_an_item_each() {
    let (_folder, stores) = stores().await;
    for store in stores {
        let world = World::start(store, miniapps(), Arc::default()).await;
        world.host(Report::Connected { visible: true }).await;
        say(&world, "main", "t1", "*Hello.*");
        until(&world, |items| items.len() == 2).await;
        for action in ["good", "bad", "slow"] {
            act(&world, action, "Hi.").await;
        }
        let settled = |items: &[Item]| {
            items.len() == 5 && state(items, "good") != ActionState::Open && state(items, "bad") != ActionState::Open
        };
        let all = until(&world, settled).await;
        assert_eq!(kinds(&all), ["opened", "agent_text", "action", "action", "action"]);
        let What::Opened { instance, app_scope, session } = &all[0].what else { panic!("Interact was opened") };
        assert_eq!((instance, app_scope.as_str()), (&all[0].place.instance_id(), "chat"));
        assert_eq!(*session, all[0].place.app_session_id());
        assert_eq!(all[1].what, What::AgentText { agent: id("ann"), text: "*Hello.*".into() });
        let good = What::Action {
            action: id("good"),
            app_scope: id("chat"),
            method: id("send-text"),
            input: json!({ "text": "Hi.", "echo_id": "good" }),
            state: ActionState::Done,
        };
        assert_eq!(all[2].what, good);
        assert_eq!(state(&all, "bad"), ActionState::Failed(ErrorCode::RateLimited));
        assert_eq!(state(&all, "slow"), ActionState::Open);

        intend(&world, "i1", Intent::Close { instance: instance.clone() }).await;
        let all = until(&world, |items| items.len() == 6).await;
        assert_eq!(state(&all, "slow"), ActionState::Failed(ErrorCode::AppInstanceNotFound));
        let closed =
            What::Closed { instance: instance.clone(), app_scope: app_scope.clone(), session: session.clone() };
        assert_eq!(all[5].what, closed);
        let sessions = world.runtime.sessions(&id("main"), 10).await.unwrap();
        assert_eq!(
            sessions.iter().map(|found| (&found.id, found.closed.is_some())).collect::<Vec<_>>(),
            [(session, true)]
        );
        world.runtime.stop().await;
    }
}

#[tokio::test]
async fn a_period_that_the_user_leaves_and_a_call_that_fails_say_why() {
    let (_folder, stores) = stores().await;
    for store in stores {
        let silent = ScriptedMiniApps::new(
            vec![manifest("notes", vec![tool("notes", "add")]), pomodoro()],
            Box::new(|work| match &work.item {
                Work::Call(call) => Some(MiniAppRequest::Fail {
                    call: call.clone(),
                    generation: Some(work.generation),
                    fault: Fault::new(ErrorCode::ToolFailed, "no paper").because("out_of_paper"),
                }),
                Work::Action(_) => None,
            }),
        );
        let world = World::start(store, silent, Arc::default()).await;
        world.host(Report::Connected { visible: true }).await;
        world.invoke("notes.add", "k1", json!({})).await;
        world.outcome("k1").await;
        world.invoke("pomodoro.start", "k2", json!({ "minutes": 20 })).await;
        world.confirm().await;
        world.stage("k2", "started").await;
        intend(&world, "i1", Intent::Switch { to: None }).await;
        let all = until(&world, over).await;
        assert_eq!(kinds(&all), ["call", "opened", "call", "opened", "ended"]);
        let What::Call { end: Some(end), .. } = &all[0].what else { panic!("the call has ended") };
        let error = end.error.as_ref().unwrap();
        assert_eq!((end.class, end.result.as_ref()), (OutcomeClass::Failed, None));
        assert_eq!((error.code, error.reason.as_deref()), (ErrorCode::ToolFailed, Some("out_of_paper")));
        let left = json!({ "status": "interrupted", "by": "left" });
        assert_eq!(call(&all, "k2").2, Some((OutcomeClass::Completed, Some(left))));
        let What::Ended { end, .. } = &all[4].what else { panic!("the period has ended") };
        assert_eq!(*end, OperationEnd::Interrupted { by: By::Left });
        world.runtime.stop().await;
    }
}

#[tokio::test]
async fn a_place_of_another_conversation_is_not_found() {
    let (_folder, stores) = stores().await;
    for store in stores {
        let world = World::start(store, miniapps(), Arc::default()).await;
        let side = Conversation { id: id("side"), title: "Side".into(), agents: [id("ann")].into() };
        world.runtime.set_up(Setup::Conversation(side)).await.unwrap();
        say(&world, "side", "t1", "Elsewhere.");
        say(&world, "main", "t2", "Here.");
        let here = until(&world, |items| items.len() == 2).await;
        let there = world.runtime.items(&id("side"), Range::Before(None), 10).await.unwrap();
        assert_eq!(kinds(&there), ["agent_text", "opened"]);
        let asked = here.iter().chain(&there).map(|item| item.place).collect();
        assert_eq!(items(&world, Range::At(asked)).await, here);
        let nowhere = world.runtime.items(&id("nowhere"), Range::Before(None), 10).await.unwrap();
        assert_eq!(nowhere, []);
        world.runtime.stop().await;
    }
}

#[tokio::test]
async fn a_conversation_says_who_may_use_what_and_an_app_whether_it_may_run() {
    let world = World::start(Arc::new(MemoryStore::new()), miniapps(), Arc::default()).await;
    let empty = Conversation { id: id("empty"), title: "Nobody".into(), agents: [].into() };
    world.runtime.set_up(Setup::Conversation(empty)).await.unwrap();
    let seen = world.runtime.conversations().await.unwrap();
    let nobody = ConversationView { conversation: id("empty"), title: "Nobody".into(), agents: vec![] };
    assert_eq!(seen[0], nobody);
    assert_eq!((seen[1].title.as_str(), seen[1].agents.len()), ("Main", 1));
    let tools = |seen: &[ConversationView]| {
        seen[1].agents[0].tools.iter().map(|tool| tool.tool.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(tools(&seen), ["notes.add", "pomodoro.interrupt", "pomodoro.start"]);
    let first = ToolView { tool: id("notes.add"), description: "Does what the test asks.".into() };
    assert_eq!(seen[1].agents[0].tools[0], first);

    let policy = Policy { disabled_apps: [id("pomodoro")].into(), ..Policy::default() };
    world.runtime.set_up(Setup::Policy(policy)).await.unwrap();
    let app = |scope: &str, title: &str, enabled| AppView { app_scope: id(scope), title: title.into(), enabled };
    let apps = [app("chat", "chat", true), app("notes", "notes", true), app("pomodoro", "Pomodoro", false)];
    assert_eq!(world.runtime.apps().await.unwrap(), apps);
    assert_eq!(tools(&world.runtime.conversations().await.unwrap()), ["notes.add"], "INV-6");
}

#[tokio::test]
async fn thousands_of_items_are_read_page_by_page_in_two_directions() {
    const TEXTS: usize = 2_500;
    let (_folder, stores) = stores().await;
    for store in stores {
        let world = World::start(store, miniapps(), Arc::default()).await;
        for text in 0..TEXTS {
            say(&world, "main", &format!("t{text}"), &format!("Text {text}."));
        }
        let all = until(&world, |items| items.len() == TEXTS + 1).await;
        let read = async |range, limit| world.runtime.items(&id("main"), range, limit).await.unwrap();

        let mut back: Vec<Item> = Vec::new();
        loop {
            let page = read(Range::Before(back.last().map(|item| item.place)), 100).await;
            assert!(page.len() <= 100);
            if page.is_empty() {
                break;
            }
            back.extend(page);
        }
        back.reverse();
        assert_eq!(back, all);

        let mut forth: Vec<Item> = Vec::new();
        loop {
            let after = forth.last().map_or(Seq(0), |item| item.place);
            let page = read(Range::After(after), 333).await;
            if page.is_empty() {
                break;
            }
            forth.extend(page);
        }
        assert_eq!(forth, all);

        let some: Vec<Seq> = all.iter().rev().step_by(7).map(|item| item.place).collect();
        let mut expected: Vec<Item> = all.iter().rev().step_by(7).cloned().collect();
        expected.reverse();
        assert_eq!(read(Range::At(some), 10_000).await, expected);
        world.runtime.stop().await;
    }
}

#[tokio::test]
async fn g12_a_page_of_items_is_one_query_whatever_is_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path()).await.unwrap());
    let world = World::start(store.clone(), miniapps(), Arc::default()).await;
    for call in 0..50 {
        world.invoke("notes.add", &format!("k{call}"), json!({})).await;
    }
    until(&world, |items| items.len() == 51 && over(items)).await;
    let before = store.counters().reader_queries;
    assert_eq!(items(&world, Range::Before(None)).await.len(), 51);
    assert_eq!(store.counters().reader_queries - before, 1);
}

#[tokio::test]
async fn after_a_restart_every_item_is_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(VirtualClock::default());
    let before;
    {
        let store = Arc::new(SqliteStore::open(folder.path()).await.unwrap());
        let world = World::start(store, miniapps(), clock.clone()).await;
        world.host(Report::Connected { visible: true }).await;
        world.invoke("notes.add", "k1", json!({ "n": 1 })).await;
        world.outcome("k1").await;
        world.invoke("pomodoro.start", "k2", json!({ "minutes": 20 })).await;
        world.confirm().await;
        world.stage("k2", "started").await;
        say(&world, "main", "t1", "Hello.");
        until(&world, |items| kinds(items).contains(&"agent_text")).await;
        act(&world, "good", "Hi.").await;
        act(&world, "slow", "Hi.").await;
        clock.advance(MINUTE);
        before = until(&world, |items| items.len() == 8 && state(items, "good") == ActionState::Done).await;
        world.runtime.stop().await;
    }
    let store = Arc::new(SqliteStore::open(folder.path()).await.unwrap());
    let world = World::start(store, miniapps(), clock).await;
    assert_eq!(items(&world, Range::After(Seq(0))).await, before);
    assert!(call(&before, "k2").1.is_some_and(|time| time.remaining_ms == 19 * MINUTE));
}

#[tokio::test]
async fn changed_waits_for_what_is_durable_and_ends_with_the_runtime() {
    let world = World::start(Arc::new(MemoryStore::new()), miniapps(), Arc::default()).await;
    let last = world.runtime.changed(Seq(0)).await.unwrap();
    let runtime = world.runtime.clone();
    let waiting = tokio::spawn(async move { runtime.changed(last).await });
    say(&world, "main", "t1", "Hello.");
    let place = waiting.await.unwrap().unwrap();
    assert!(place > last);
    let all = items(&world, Range::After(last)).await;
    assert_eq!((kinds(&all), all[1].place), (vec!["opened", "agent_text"], place));

    let runtime = world.runtime.clone();
    let waiting = tokio::spawn(async move { runtime.changed(Seq(u64::MAX)).await });
    world.runtime.stop().await;
    assert_eq!(waiting.await.unwrap(), None);
    assert_eq!(world.runtime.changed(Seq(u64::MAX)).await, None);
    let refused = world.runtime.items(&id("main"), Range::Before(None), 10).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::StorageUnavailable);
}
