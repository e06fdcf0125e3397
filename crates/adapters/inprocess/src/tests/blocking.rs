//! Handlers that block their thread.

use std::sync::{Arc, Condvar, Mutex};

use lineup_ports::{inbound::MiniAppRequest, outbound::MiniApps as _};
use lineup_sdk::host::Delivery;

use super::{Run, World, action, launch};
use crate::{RENEWALS, THREADS};

/// Blocks its thread until the test lets go: what no cancellation can reach.
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(false), Condvar::new()))
    }

    fn block(&self) {
        let held = self.0.lock().unwrap();
        drop(self.1.wait_while(held, |open| !*open).unwrap());
    }

    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

fn blocking(gate: &Arc<Gate>) -> Box<Run> {
    let gate = Arc::clone(gate);
    Box::new(move |delivery| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            if matches!(&delivery, Delivery::Action(action) if action.action.as_str().starts_with("block"))
            {
                gate.block();
            }
            Ok(())
        })
    })
}

async fn lose_a_thread(world: &mut World, id: &str) {
    let work = action("i1", id, 1);
    world.apps.deliver(work.clone()).await.unwrap();
    world.apps.withdraw(&work.instance, &work.item).await;
    world.pass(5_000).await;
    world.pass(1_000).await;
    assert!(matches!(
        world.asked().await,
        MiniAppRequest::ActionDone { fault: Some(_), .. }
    ));
}

#[tokio::test]
async fn an_endless_handler_stalls_neither_us_nor_another_app() {
    let gate = Gate::new();
    let calm: Box<Run> = Box::new(|_| Box::pin(async { Ok(()) }));
    let world = World::of(vec![("unruly", blocking(&gate)), ("calm", calm)]);
    world.launched("unruly", "i1").await;
    for number in 0..THREADS {
        world
            .apps
            .deliver(action("i1", &format!("block{number}"), 1))
            .await
            .unwrap();
    }
    world.launched("calm", "i2").await;
    world.apps.deliver(action("i2", "x1", 1)).await.unwrap();
    gate.open();
}

#[tokio::test]
async fn an_app_that_lost_all_its_threads_gets_new_ones_a_bounded_number_of_times() {
    let gate = Gate::new();
    let mut world = World::of(vec![("unruly", blocking(&gate))]);
    world.launched("unruly", "i1").await;
    for number in 0..THREADS * (RENEWALS + 1) {
        lose_a_thread(&mut world, &format!("block{number}")).await;
    }
    let error = world.apps.deliver(action("i1", "x1", 1)).await.unwrap_err();
    assert!(
        error
            .detail
            .contains("blocked all of its threads for good, 4 times over"),
        "{}",
        error.detail
    );
    let error = world
        .apps
        .launch(launch("unruly", "i2", 1))
        .await
        .unwrap_err();
    assert!(
        error.detail.contains("never reaches an await"),
        "{}",
        error.detail
    );
    gate.open();
}

#[tokio::test]
async fn a_hand_over_to_an_app_whose_threads_are_busy_is_refused_after_a_second_and_runs_once() {
    let gate = Gate::new();
    let mut world = World::of(vec![("unruly", blocking(&gate))]);
    world.launched("unruly", "i1").await;
    for number in 0..THREADS {
        world
            .apps
            .deliver(action("i1", &format!("block{number}"), 1))
            .await
            .unwrap();
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
    world
        .apps
        .deliver(action("i1", "block-late", 1))
        .await
        .unwrap();
    gate.open();
}
