mod blocking;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use lineup_core::{
    instance::InstanceState,
    miniapp::{InboxMessage, MiniAppAnswer, MiniAppContext, MiniAppRequest, Work},
};
use lineup_model::{ErrorCode, Generation, Manifest, message::Fault};
use lineup_ports::{
    inbound::MiniAppRequests,
    outbound::{Handover, Item, Launch, MiniApps as _},
};
use lineup_sdk::{Sdk, host::Delivery};
use serde_json::json;
use tokio::sync::{Notify, mpsc};

use crate::{InProcess, Pause, app::Code, lock};

type Run = dyn Fn(Delivery) -> BoxFuture<'static, Result<(), Fault>> + Send + Sync;

/// A MiniApp that is a closure, with the manifest of a real one under its own scope.
struct Closure {
    manifest: Manifest,
    run: Box<Run>,
}

impl Code for Closure {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn dispatch(&self, _sdk: &Sdk, delivery: Delivery) -> BoxFuture<'static, Result<(), Fault>> {
        (self.run)(delivery)
    }
}

/// What the MiniApps asked of the Runtime.
struct Requests {
    asked: mpsc::UnboundedSender<(Option<Work>, MiniAppRequest)>,
    /// What each session write is answered.
    revision: AtomicU32,
    inbox: Mutex<Vec<InboxMessage>>,
}

#[async_trait]
impl MiniAppRequests for Requests {
    async fn request(&self, from: MiniAppContext, request: MiniAppRequest) -> Result<MiniAppAnswer, Fault> {
        let answer = match &request {
            MiniAppRequest::ReadSession => {
                MiniAppAnswer::Session { revision: self.revision.load(Ordering::SeqCst).into(), data: json!({}) }
            }
            MiniAppRequest::WriteSession { .. } => {
                MiniAppAnswer::Written { revision: (self.revision.fetch_add(1, Ordering::SeqCst) + 1).into() }
            }
            MiniAppRequest::SendText { .. } => MiniAppAnswer::Sent { message: "m1".parse().unwrap() },
            MiniAppRequest::ListInbox { .. } => {
                MiniAppAnswer::Inbox { messages: lock(&self.inbox).drain(..).collect() }
            }
            _ => MiniAppAnswer::Done,
        };
        self.asked.send((from.work, request)).expect("the test listens");
        Ok(answer)
    }
}

struct World {
    apps: Arc<InProcess>,
    requests: Arc<Requests>,
    asked: mpsc::UnboundedReceiver<(Option<Work>, MiniAppRequest)>,
    /// Lets every pause that waits go on.
    time: Arc<Notify>,
    /// Says that a pause has begun, and how long it is in milliseconds.
    pauses: mpsc::UnboundedReceiver<u128>,
}

impl World {
    /// Closures under the scopes given.
    fn of(runs: Vec<(&str, Box<Run>)>) -> Self {
        let interact = lineup_interact::bundle().manifest().unwrap();
        Self::hosting(InProcess::of(runs.into_iter().map(|(scope, run)| {
            let manifest = Manifest { app_scope: scope.parse().unwrap(), ..interact.clone() };
            Ok(Arc::new(Closure { manifest, run }) as Arc<dyn Code>)
        })))
    }

    fn hosting(apps: InProcess) -> Self {
        let (sender, asked) = mpsc::unbounded_channel();
        let requests = Arc::new(Requests { asked: sender, revision: AtomicU32::new(0), inbox: Mutex::default() });
        let time = Arc::new(Notify::new());
        let (begin, pauses) = mpsc::unbounded_channel();
        let passing = Arc::clone(&time);
        let pause = Pause::by(move |length| {
            let (passing, begin) = (Arc::clone(&passing), begin.clone());
            async move {
                let passed = passing.notified();
                let _over = begin.send(length.as_millis());
                passed.await;
            }
        });
        let apps = Arc::new(apps.pausing_with(pause));
        apps.attach(requests.clone());
        Self { apps, requests, asked, time, pauses }
    }

    fn closure(run: impl Fn(Delivery) -> BoxFuture<'static, Result<(), Fault>> + Send + Sync + 'static) -> Self {
        Self::of(vec![("unruly", Box::new(run))])
    }

    async fn launched(&self, scope: &str, instance: &str) {
        self.apps.launch(launch(scope, instance, 1)).await.unwrap();
    }

    /// Lets the pause of this length pass, once somebody waits in it.
    async fn pass(&mut self, millis: u128) {
        while self.pauses.recv().await.expect("the world lives") != millis {}
        self.time.notify_waiters();
    }

    async fn asked(&mut self) -> MiniAppRequest {
        self.asked.recv().await.expect("the world lives").1
    }
}

fn launch(scope: &str, instance: &str, launch: u32) -> Launch {
    Launch {
        context: MiniAppContext {
            workspace: "w1".parse().unwrap(),
            app_scope: scope.parse().unwrap(),
            instance: instance.parse().unwrap(),
            conversation: "main".parse().unwrap(),
            work: None,
        },
        launch,
        state: InstanceState::Background,
    }
}

fn action(instance: &str, id: &str, generation: u32) -> Handover {
    Handover {
        instance: instance.parse().unwrap(),
        item: Item::Action(id.parse().unwrap()),
        generation: Generation(generation),
        method: "send-text".parse().unwrap(),
        input: Arc::new(json!({ "text": "hello", "echo_id": "e1" })),
    }
}

/// A handler that says that it runs, and then never ends.
fn endless(begun: mpsc::UnboundedSender<u32>) -> impl Fn(Delivery) -> BoxFuture<'static, Result<(), Fault>> {
    move |delivery| {
        let begun = begun.clone();
        Box::pin(async move {
            if let Delivery::Action(action) = delivery {
                begun.send(action.attempt).unwrap();
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }
}

#[tokio::test]
async fn inv_2_the_bundled_miniapps_are_what_their_manifests_say() {
    let apps = InProcess::bundles([lineup_pomodoro::bundle(), lineup_interact::bundle()]);
    let scopes: Vec<String> = apps.manifests().unwrap().iter().map(|manifest| manifest.app_scope.to_string()).collect();
    assert_eq!(scopes, ["chat", "pomodoro"]);
}

mod drifted {
    use lineup_sdk::prelude::*;

    define_agent_tools! {
        /// This crate has no manifest.json.
        app Drifted in "drifted";
    }
}

#[tokio::test]
async fn inv_2_a_bundle_without_its_manifest_is_refused_with_the_command_that_mends_it() {
    let error = InProcess::bundles([lineup_pomodoro::bundle(), drifted::bundle()]).manifests().unwrap_err();
    assert_eq!(error.app_scope, "drifted");
    assert!(error.detail.contains("cargo xtask manifests"), "{}", error.detail);
}

#[tokio::test]
async fn two_miniapps_of_one_scope_are_refused() {
    let error = InProcess::bundles([lineup_pomodoro::bundle(), lineup_pomodoro::bundle()]).manifests().unwrap_err();
    assert_eq!(error.to_string(), "pomodoro: two MiniApps have this scope; rename one");
}

#[tokio::test]
async fn uia_1_a_ui_action_of_interact_runs_to_its_end_through_the_sdk() {
    let mut world = World::hosting(InProcess::bundles([lineup_interact::bundle()]));
    world.launched("chat", "i1").await;
    world.apps.deliver(action("i1", "x1", 1)).await.unwrap();
    let mut sent = None;
    loop {
        let (work, request) = world.asked.recv().await.unwrap();
        assert_eq!(work, Some(Work::Action { action: "x1".parse().unwrap(), generation: Generation(1) }));
        match request {
            MiniAppRequest::SendText { text, .. } => sent = Some(text),
            MiniAppRequest::ActionDone { fault, .. } => {
                assert_eq!(fault, None);
                break;
            }
            _ => {}
        }
    }
    assert_eq!(sent.as_deref(), Some("hello"));
}

#[tokio::test]
async fn dur_3_the_inbox_of_interact_is_read_and_acknowledged() {
    let mut world = World::hosting(InProcess::bundles([lineup_interact::bundle()]));
    world.launched("chat", "i1").await;
    lock(&world.requests.inbox).push(InboxMessage {
        id: "m7".parse().unwrap(),
        position: 1,
        kind: "message.text".to_owned(),
        body: json!({ "text": "good morning" }),
    });
    world.apps.inbox(&"i1".parse().unwrap()).await;
    let acknowledged = loop {
        if let MiniAppRequest::AcknowledgeInbox { id } = world.asked().await {
            break id;
        }
    };
    assert_eq!(acknowledged.as_str(), "m7");
}

#[tokio::test]
async fn a_panicking_handler_is_reported_as_handler_panicked_and_its_app_goes_on() {
    let mut world = World::closure(|delivery| {
        Box::pin(async move {
            assert!(!matches!(&delivery, Delivery::Action(action) if action.action.as_str() == "x1"), "as planned");
            Ok(())
        })
    });
    world.launched("unruly", "i1").await;
    world.apps.deliver(action("i1", "x1", 1)).await.unwrap();
    let MiniAppRequest::ActionDone { fault: Some(fault), .. } = world.asked().await else { panic!("a fault") };
    assert_eq!((fault.code, fault.reason.as_deref()), (ErrorCode::ToolFailed, Some("handler_panicked")));
    world.apps.deliver(action("i1", "x2", 1)).await.unwrap();
}

#[tokio::test]
async fn dur_4_the_same_delivery_twice_runs_once_and_an_older_one_not_at_all() {
    let (sender, mut begun) = mpsc::unbounded_channel();
    let world = World::closure(endless(sender));
    world.launched("unruly", "i1").await;
    for generation in [1, 1, 2, 1, 2] {
        world.apps.deliver(action("i1", "x1", generation)).await.unwrap();
    }
    world.apps.deliver(action("i1", "x2", 9)).await.unwrap();
    assert_eq!((begun.recv().await, begun.recv().await, begun.recv().await), (Some(1), Some(2), Some(9)));
}

#[tokio::test]
async fn dur_4_a_delivery_that_was_withdrawn_does_not_run_again() {
    let (sender, mut begun) = mpsc::unbounded_channel();
    let mut world = World::closure(endless(sender));
    world.launched("unruly", "i1").await;
    let work = action("i1", "x1", 1);
    world.apps.deliver(work.clone()).await.unwrap();
    assert_eq!(begun.recv().await, Some(1));
    world.apps.withdraw(&work.instance, &work.item).await;
    world.pass(5_000).await;
    assert!(matches!(world.asked().await, MiniAppRequest::ActionDone { fault: Some(_), .. }));
    world.apps.deliver(work.clone()).await.unwrap();
    world.apps.deliver(Handover { generation: Generation(2), ..work }).await.unwrap();
    assert_eq!(begun.recv().await, Some(2));
}

#[tokio::test]
async fn a_withdrawn_handler_that_hears_its_token_goes_by_itself() {
    let (sender, mut gone) = mpsc::unbounded_channel();
    let mut world = World::closure(move |delivery| {
        let gone = sender.clone();
        Box::pin(async move {
            if let Delivery::Action(action) = delivery {
                while !action.canceller.is_cancelled() {
                    tokio::task::yield_now().await;
                }
                gone.send(()).unwrap();
            }
            Ok(())
        })
    });
    world.launched("unruly", "i1").await;
    let work = action("i1", "x1", 1);
    world.apps.deliver(work.clone()).await.unwrap();
    world.apps.withdraw(&work.instance, &work.item).await;
    assert_eq!(gone.recv().await, Some(()));
    assert!(world.asked.try_recv().is_err(), "nothing is reported in its name");
}

#[tokio::test]
async fn a_withdrawn_handler_that_does_not_hear_is_dropped_after_five_seconds_and_its_end_is_reported() {
    struct Dropped(mpsc::UnboundedSender<()>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (sender, mut dropped) = mpsc::unbounded_channel();
    let mut world = World::closure(move |delivery| {
        let held = Dropped(sender.clone());
        Box::pin(async move {
            if matches!(delivery, Delivery::Action(_)) {
                let _held = held;
                std::future::pending::<()>().await;
            } else {
                std::mem::forget(held);
            }
            Ok(())
        })
    });
    world.launched("unruly", "i1").await;
    let work = action("i1", "x1", 1);
    world.apps.deliver(work.clone()).await.unwrap();
    world.apps.withdraw(&work.instance, &work.item).await;
    world.pass(5_000).await;
    assert_eq!(dropped.recv().await, Some(()));
    let MiniAppRequest::ActionDone { fault: Some(fault), .. } = world.asked().await else { panic!("a fault") };
    assert_eq!(fault.reason.as_deref(), Some("handler_stopped"));
}

#[tokio::test]
async fn a_second_start_replaces_the_first_and_stops_its_handlers() {
    let (sender, mut begun) = mpsc::unbounded_channel();
    let world = World::closure(endless(sender));
    world.launched("unruly", "i1").await;
    world.apps.deliver(action("i1", "x1", 1)).await.unwrap();
    assert_eq!(begun.recv().await, Some(1));
    world.apps.launch(launch("unruly", "i1", 2)).await.unwrap();
    // The same delivery, to the new start: it runs.
    world.apps.deliver(action("i1", "x1", 1)).await.unwrap();
    assert_eq!(begun.recv().await, Some(1));
}

#[tokio::test]
async fn an_app_that_fails_panics_or_is_unknown_is_not_started() {
    let fault = || Fault::new(ErrorCode::ToolFailed, "no ink");
    let failing: Box<Run> = Box::new(move |_| Box::pin(async move { Err(fault()) }));
    let panicking: Box<Run> = Box::new(|_| Box::pin(async { panic!("as planned") }));
    let world = World::of(vec![("failing", failing), ("panicking", panicking)]);
    for (scope, words) in [("failing", "no ink"), ("panicking", "panicked"), ("unknown", "not hosted")] {
        let error = world.apps.launch(launch(scope, "i1", 1)).await.unwrap_err();
        assert!(error.detail.contains(words), "{error}");
        let error = world.apps.deliver(action("i1", "x1", 1)).await.unwrap_err();
        assert!(error.detail.contains("not started here"), "{error}");
    }
}

#[tokio::test]
async fn a_start_that_the_caller_gives_up_leaves_nothing_behind() {
    let (sender, mut begun) = mpsc::unbounded_channel::<()>();
    let world = World::closure(move |_| {
        let begun = sender.clone();
        Box::pin(async move {
            begun.send(()).unwrap();
            std::future::pending().await
        })
    });
    let apps = Arc::clone(&world.apps);
    let start = tokio::spawn(async move { apps.launch(launch("unruly", "i1", 1)).await });
    begun.recv().await.unwrap();
    let early = world.apps.deliver(action("i1", "x1", 1)).await.unwrap_err();
    assert!(early.detail.contains("not started yet"), "{early}");
    start.abort();
    assert!(start.await.unwrap_err().is_cancelled());
    let error = world.apps.deliver(action("i1", "x1", 1)).await.unwrap_err();
    assert!(error.detail.contains("not started here"), "{error}");
}

#[tokio::test]
async fn work_that_the_manifest_gives_to_nobody_is_refused() {
    let world = World::hosting(InProcess::bundles([lineup_pomodoro::bundle()]));
    world.launched("pomodoro", "i1").await;
    // The Runtime performs this one itself.
    let built_in =
        Handover { item: Item::Call("k1".parse().unwrap()), method: "start".parse().unwrap(), ..action("i1", "x", 1) };
    let unknown = Handover { method: "dance".parse().unwrap(), ..action("i1", "x", 1) };
    for work in [built_in, unknown] {
        let error = world.apps.deliver(work).await.unwrap_err();
        assert!(error.detail.contains("declares no handler"), "{error}");
    }
}

#[tokio::test]
async fn dur_4_a_handler_whose_end_the_store_cannot_take_runs_again_with_the_same_generation() {
    let runs = Arc::new(AtomicU32::new(0));
    let (sender, mut done) = mpsc::unbounded_channel();
    let counted = Arc::clone(&runs);
    let mut world = World::closure(move |delivery| {
        let (runs, done) = (Arc::clone(&counted), sender.clone());
        Box::pin(async move {
            let Delivery::Action(action) = delivery else {
                return Ok(());
            };
            match runs.fetch_add(1, Ordering::SeqCst) {
                0 => Err(Fault::new(ErrorCode::StorageUnavailable, "busy")),
                _ => {
                    done.send(action.generation).unwrap();
                    Ok(())
                }
            }
        })
    });
    world.launched("unruly", "i1").await;
    world.apps.deliver(action("i1", "x1", 4)).await.unwrap();
    world.pass(250).await;
    assert_eq!(done.recv().await, Some(Generation(4)));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn dur_3_the_inbox_hook_is_tried_three_times_and_later_ones_are_heard() {
    let (sender, mut tried) = mpsc::unbounded_channel();
    let mut world = World::closure(move |delivery| {
        let tried = sender.clone();
        Box::pin(async move {
            match delivery {
                Delivery::Inbox => {
                    tried.send("inbox").unwrap();
                    Err(Fault::new(ErrorCode::ToolFailed, "unreadable"))
                }
                Delivery::Lifecycle(InstanceState::Foreground) => {
                    tried.send("moved").unwrap();
                    Ok(())
                }
                _ => Ok(()),
            }
        })
    });
    let instance = "i1".parse().unwrap();
    world.launched("unruly", "i1").await;
    world.apps.inbox(&instance).await;
    world.pass(1_000).await;
    world.pass(2_000).await;
    world.apps.moved(&instance, InstanceState::Foreground).await;
    let mut heard = Vec::new();
    for _ in 0..4 {
        heard.push(tried.recv().await.unwrap());
    }
    assert_eq!(heard, ["inbox", "inbox", "inbox", "moved"]);
}

#[tokio::test]
async fn closing_stops_handlers_and_what_is_unknown_is_ignored() {
    let (sender, mut begun) = mpsc::unbounded_channel();
    let mut world = World::closure(endless(sender));
    let (instance, work) = ("i1".parse().unwrap(), action("i1", "x1", 1));
    world.apps.withdraw(&instance, &work.item).await;
    world.apps.moved(&instance, InstanceState::Background).await;
    world.apps.inbox(&instance).await;
    world.apps.close(&instance).await;
    world.launched("unruly", "i1").await;
    world.apps.deliver(work.clone()).await.unwrap();
    begun.recv().await.unwrap();
    world.apps.close(&instance).await;
    world.pass(5_000).await;
    assert!(matches!(world.asked().await, MiniAppRequest::ActionDone { fault: Some(_), .. }));
    assert!(world.apps.deliver(work).await.is_err());
}

#[tokio::test]
async fn act_3_handlers_begin_in_the_order_of_their_deliveries() {
    let (sender, mut begun) = mpsc::unbounded_channel();
    let world = World::closure(endless(sender));
    world.launched("unruly", "i1").await;
    for generation in 1..=100 {
        world.apps.deliver(action("i1", &format!("x{generation}"), generation)).await.unwrap();
    }
    for generation in 1..=100 {
        assert_eq!(begun.recv().await, Some(generation));
    }
}
