//! The engine without tasks: what a store that answers badly must not do.

use std::sync::Arc;

use lineup_core::{
    Input,
    policy::Conversation,
    workspace::input::{AgentInput, AgentRequest, HostReport, Report, Setup},
};
use lineup_model::{Wall, WorkspaceId};
use lineup_ports::outbound::{Cause, ClockReading, Committed, Store};
use lineup_runtime::Engine;
use lineup_testkit::{
    MemoryStore, Scripted,
    manifests::{id, manifest, pomodoro, tool},
};
use serde_json::json;

fn reading() -> ClockReading {
    ClockReading { boot: "b1".into(), boot_ms: 0, wall: Wall(1_796_000_000_000) }
}

struct Bench {
    store: MemoryStore,
    workspace: WorkspaceId,
    engine: Engine,
    /// What the store answered, in order.
    answers: Vec<Committed>,
}

impl Bench {
    async fn new() -> Self {
        let store = MemoryStore::new();
        let workspace: WorkspaceId = id("w");
        let opened = store.open(&workspace).await.unwrap();
        let engine = Engine::new(workspace.clone(), opened, &reading());
        let mut bench = Self { store, workspace, engine, answers: Vec::new() };
        let manifests = vec![pomodoro(), manifest("notes", vec![tool("notes", "add")])];
        bench.engine.offer(Input::Recovered { manifests });
        let main = Conversation { id: id("main"), title: "Main".into(), agents: [id("ann")].into() };
        bench.engine.offer(Input::Setup(Setup::Conversation(main)));
        bench.run().await;
        bench.answers.clear();
        bench
    }

    /// Fetches and commits until there is nothing more to do.
    async fn run(&mut self) {
        loop {
            let needs = self.engine.take_needs();
            let idle = needs.is_none();
            if let Some(needs) = needs {
                let fetched = self.store.fetch(&self.workspace, &needs).await.unwrap();
                self.engine.fetched(Some(fetched));
            }
            match self.engine.take_batch() {
                Some(commit) => {
                    let answer = self.store.commit(vec![commit]).await;
                    self.answers.push(answer.clone());
                    self.engine.settled(answer);
                }
                None if idle => return,
                None => {}
            }
        }
    }

    fn ask(&mut self, message: &str, request: AgentRequest) {
        let (agent, conversation) = (id("ann"), id("main"));
        self.engine.offer(Input::Agent(AgentInput { agent, message: id(message), conversation, request }));
    }
}

#[tokio::test]
async fn i19_what_was_not_committed_is_forgotten_and_decided_again_also_past_a_full_batch() {
    let mut bench = Bench::new().await;
    for n in 0..20 {
        bench.ask(&format!("t{n}"), AgentRequest::Text { text: "x".repeat(16 * 1024) });
    }
    let needs = bench.engine.take_needs().expect("a text may have been taken in before");
    let fetched = bench.store.fetch(&bench.workspace, &needs).await.unwrap();
    bench.engine.fetched(Some(fetched));
    let first = bench.engine.take_batch().expect("some of them fill a batch");
    assert!(first.changes.len() < 20, "bytes cut it off");
    assert_eq!(bench.store.commit(vec![first]).await, Committed::Committed);
    bench.engine.settled(Committed::Committed);
    // The rest was decided together with the first and is lost.
    bench.store.script([Scripted::NothingChanged(Cause::EntryKnown)]);
    bench.run().await;
    assert_eq!(bench.engine.durable().inbox().count(), 20);
    assert_eq!(bench.engine.backlog(), 0);
}

#[tokio::test]
async fn call_5_a_call_that_ends_in_a_lost_batch_ends_in_the_next_one() {
    for lost in [Cause::EntryKnown, Cause::Refused("no".into())] {
        let mut bench = Bench::new().await;
        let revision = bench.engine.durable().inventory(&id("ann"), &id("main")).unwrap().revision.clone();
        bench.store.script([Scripted::NothingChanged(lost)]);
        for call in ["k1", "k2"] {
            bench.ask(
                call,
                AgentRequest::Invoke {
                    call_id: id(call),
                    tool: id("pomodoro.interrupt"),
                    input: Arc::new(json!({})),
                    revision: revision.clone(),
                    expires_at: None,
                },
            );
        }
        bench.run().await;
        let effects = bench.engine.take_effects();
        assert!(effects.settled.iter().all(|(_, outcome)| outcome.is_ok()));
        let rows = bench.store.journal(&bench.workspace);
        let ended = rows.iter().filter(|row| row.happened.as_str() == "call_ended").count();
        assert_eq!(ended, 2, "both outcomes are durable: {:?}", bench.answers);
    }
}

#[tokio::test]
async fn i19_a_change_that_cannot_be_stored_is_found_among_others_and_refused_alone() {
    let mut bench = Bench::new().await;
    // The whole batch, then the first alone: that is the poison one.
    let refused = || Scripted::NothingChanged(Cause::Refused("no".into()));
    bench.store.script([refused(), refused()]);
    for n in 0..3 {
        bench.ask(&format!("t{n}"), AgentRequest::Text { text: "hello".into() });
    }
    bench.run().await;
    let effects = bench.engine.take_effects();
    let refusals: Vec<_> = effects.settled.iter().filter_map(|(_, outcome)| outcome.as_ref().err()).collect();
    assert_eq!(refusals.len(), 1);
    assert_eq!(refusals[0].fault.code.as_str(), "internal");
    assert_eq!(bench.engine.durable().inbox().count(), 2);
}

#[tokio::test]
async fn i20_after_an_unknown_commit_nothing_is_said_until_the_store_has_told() {
    for landed in [true, false] {
        let mut bench = Bench::new().await;
        bench.ask("t1", AgentRequest::Text { text: "hello".into() });
        let needs = bench.engine.take_needs().unwrap();
        bench.engine.fetched(Some(bench.store.fetch(&bench.workspace, &needs).await.unwrap()));
        bench.engine.take_effects();
        let commit = bench.engine.take_batch().unwrap();
        if landed {
            assert_eq!(bench.store.commit(vec![commit]).await, Committed::Committed);
        }
        bench.engine.settled(Committed::Unknown);
        assert!(bench.engine.take_effects().settled.is_empty(), "nothing is said");
        assert!(bench.engine.take_batch().is_none() && bench.engine.take_needs().is_none());
        let last = bench.store.reopen(&bench.workspace).await.unwrap();
        bench.engine.reopened(last);
        bench.run().await;
        assert_eq!(bench.engine.take_effects().settled.len(), 1);
        assert_eq!(bench.engine.durable().inbox().count(), 1, "landed: {landed}");
    }
}

#[tokio::test]
async fn hst_1_a_report_is_not_lost_with_the_facts_that_others_need() {
    let mut bench = Bench::new().await;
    bench.ask("t1", AgentRequest::Text { text: "hello".into() });
    let connected = bench.engine.offer(report());
    bench.engine.take_needs().expect("a text may have been taken in before");
    bench.engine.fetched(None);
    bench.run().await;
    assert_eq!(bench.engine.durable().hosts().count(), 1, "it needs no facts");
    let settled = bench.engine.take_effects().settled;
    let refused: Vec<_> = settled.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert_eq!(refused.len(), 1, "the text can be sent again");
    assert_ne!(refused[0].0, connected);
}

#[tokio::test]
async fn h101_what_waits_for_facts_while_the_store_stops_is_answered_and_not_kept() {
    let mut bench = Bench::new().await;
    bench.engine.take_effects();
    let agents = [id("ann"), id("bob")].into();
    let changed = Conversation { id: id("main"), title: "Main".into(), agents };
    bench.engine.offer(Input::Setup(Setup::Conversation(changed)));
    assert!(bench.engine.take_needs().is_none());
    bench.engine.take_batch().expect("it changes something");
    bench.ask("t1", AgentRequest::Text { text: "hello".into() });
    let needs = bench.engine.take_needs().expect("a text may have been taken in before");
    bench.engine.settled(Committed::NothingChanged(Cause::Unavailable("full".into())));
    let fetched = bench.store.fetch(&bench.workspace, &needs).await.unwrap();
    bench.engine.fetched(Some(fetched));
    assert_eq!(bench.engine.backlog(), 0);
    let settled = bench.engine.take_effects().settled;
    assert!(settled.iter().all(|(_, outcome)| outcome.is_err()));
    assert_eq!(settled.len(), 2, "both are told at once");
}

#[tokio::test]
async fn dur_5_what_is_flushed_at_the_end_is_under_way_until_it_is_committed() {
    let mut bench = Bench::new().await;
    bench.ask("s1", AgentRequest::Status { call_id: id("nobody") });
    bench.run().await;
    bench.engine.flush();
    let commit = bench.engine.take_batch().expect("a refusal was counted");
    assert_eq!(commit.changes[0].refusals.len(), 1);
    assert_eq!(bench.engine.backlog(), 1);
    bench.engine.settled(Committed::Committed);
    assert_eq!(bench.engine.backlog(), 0);
}

fn report() -> Input {
    Input::HostReport(HostReport { session: id("tab"), report: Report::Connected { visible: true } })
}
