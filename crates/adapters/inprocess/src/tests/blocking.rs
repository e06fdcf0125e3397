//! Handlers that block their thread.

use std::sync::{Arc, Condvar, Mutex};

use lineup_ports::{inbound::MiniAppRequest, outbound::MiniApps as _};
use lineup_sdk::host::Delivery;
use tokio::sync::mpsc;

use super::{Run, World, action, launch};
use crate::{RENEWALS, THREADS};

/// Blocks its thread until the test lets go: what no cancellation can reach.
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
    entered: mpsc::UnboundedSender<()>,
}

impl Gate {
    /// A shut gate, and what says that a thread stands before it.
    fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<()>) {
        let (entered, arrivals) = mpsc::unbounded_channel();
        (Arc::new(Self { open: Mutex::new(false), opened: Condvar::new(), entered }), arrivals)
    }

    fn block(&self) {
        let _test_is_over = self.entered.send(());
        let held = self.open.lock().unwrap();
        drop(self.opened.wait_while(held, |open| !*open).unwrap());
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// Hands work over whose handler blocks: that is known once it has for a second.
async fn hand_over(world: &mut World, id: &str, arrivals: &mut mpsc::UnboundedReceiver<()>) {
    let (apps, work) = (Arc::clone(&world.apps), action("i1", id, 1));
    let handed = tokio::spawn(async move { apps.deliver(work).await });
    arrivals.recv().await.unwrap();
    world.pass(1_000).await;
    handed.await.unwrap().unwrap();
}

fn blocking(gate: &Arc<Gate>) -> Box<Run> {
    let gate = Arc::clone(gate);
    Box::new(move |delivery| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            if matches!(&delivery, Delivery::Action(action) if action.action.as_str().starts_with("block")) {
                gate.block();
            }
            Ok(())
        })
    })
}

async fn lose_a_thread(world: &mut World, id: &str, arrivals: &mut mpsc::UnboundedReceiver<()>) {
    let work = action("i1", id, 1);
    hand_over(world, id, arrivals).await;
    world.apps.withdraw(&work.instance, &work.item).await;
    world.pass(5_000).await;
    world.pass(1_000).await;
    assert!(matches!(world.asked().await, MiniAppRequest::ActionDone { fault: Some(_), .. }));
}

#[tokio::test]
async fn an_endless_handler_stalls_neither_us_nor_another_app() {
    let (gate, mut arrivals) = Gate::new();
    let calm: Box<Run> = Box::new(|_| Box::pin(async { Ok(()) }));
    let mut world = World::of(vec![("unruly", blocking(&gate)), ("calm", calm)]);
    world.launched("unruly", "i1").await;
    for number in 0..THREADS {
        hand_over(&mut world, &format!("block{number}"), &mut arrivals).await;
    }
    world.launched("calm", "i2").await;
    world.apps.deliver(action("i2", "x1", 1)).await.unwrap();
    gate.open();
}

#[tokio::test]
async fn an_app_that_lost_all_its_threads_gets_new_ones_a_bounded_number_of_times() {
    let (gate, mut arrivals) = Gate::new();
    let mut world = World::of(vec![("unruly", blocking(&gate))]);
    world.launched("unruly", "i1").await;
    for number in 0..THREADS * (RENEWALS + 1) {
        lose_a_thread(&mut world, &format!("block{number}"), &mut arrivals).await;
    }
    let error = world.apps.deliver(action("i1", "x1", 1)).await.unwrap_err();
    assert!(error.detail.contains("blocked all of its threads for good, 4 times over"), "{}", error.detail);
    let error = world.apps.launch(launch("unruly", "i2", 1)).await.unwrap_err();
    assert!(error.detail.contains("never reaches an await"), "{}", error.detail);
    gate.open();
}

#[tokio::test]
async fn a_hand_over_to_an_app_whose_threads_are_busy_is_refused_after_a_second_and_runs_once() {
    let (gate, mut arrivals) = Gate::new();
    let mut world = World::of(vec![("unruly", blocking(&gate))]);
    world.launched("unruly", "i1").await;
    for number in 0..THREADS {
        hand_over(&mut world, &format!("block{number}"), &mut arrivals).await;
    }
    let apps = Arc::clone(&world.apps);
    let mut late = tokio::spawn(async move { apps.deliver(action("i1", "block-late", 1)).await });
    // The earlier hand-overs may have paused, too, and went on at once.
    let refused = loop {
        tokio::select! {
            ended = &mut late => break ended.unwrap().unwrap_err(),
            Some(_begun) = world.pauses.recv() => world.time.notify_waiters(),
        }
    };
    assert!(refused.detail.contains("busy"), "{refused}");
    world.apps.deliver(action("i1", "block-late", 1)).await.unwrap();
    gate.open();
}
