//! G12: what a call costs in commits and queries, which depends on no clock. The engine is driven by
//! hand on the real store: while a batch is at the disk, what arrived meanwhile is decided.

use std::sync::Arc;

use lineup_core::{
    Input,
    miniapp::{MiniAppContext, MiniAppRequest, Work},
    policy::Conversation,
    workspace::input::{AgentInput, AgentRequest, AppHappened, AppReport, MiniAppInput, Setup},
};
use lineup_model::{CallKey, Generation, Revision, Wall, WorkspaceId, message::AgentBody};
use lineup_ports::outbound::{ClockReading, Store};
use lineup_runtime::Engine;
use lineup_sql::SqliteStore;
use lineup_testkit::manifests::{id, manifest, tool};
use serde_json::json;

struct Counted {
    store: SqliteStore,
    workspace: WorkspaceId,
    engine: Engine,
    revision: Revision,
    asked: u64,
    ended: u64,
}

impl Counted {
    async fn new(directory: &std::path::Path) -> Self {
        let store = SqliteStore::open(directory).await.unwrap();
        let workspace: WorkspaceId = id("w");
        let opened = store.open(&workspace).await.unwrap();
        let reading = ClockReading { boot: "b1".into(), boot_ms: 0, wall: Wall(1_796_000_000_000) };
        let mut engine = Engine::new(workspace.clone(), opened, &reading);
        engine.offer(Input::Recovered { manifests: vec![manifest("notes", vec![tool("notes", "add")])] });
        let main = Conversation { id: id("main"), title: "Main".into(), agents: [id("ann")].into() };
        engine.offer(Input::Setup(Setup::Conversation(main)));
        let revision = Revision(lineup_model::Digest::of_bytes(&[]));
        let mut counted = Self { store, workspace, engine, revision, asked: 0, ended: 0 };
        counted.round().await;
        let seen = counted.engine.durable().inventory(&id("ann"), &id("main")).unwrap();
        counted.revision = seen.revision.clone();
        // The first call brings the MiniApp up.
        counted.ask();
        counted.round().await;
        let instance = counted.engine.durable().instances().next().unwrap().id.clone();
        for happened in [AppHappened::Starting, AppHappened::Ready] {
            counted.engine.offer(Input::App(AppReport { instance: instance.clone(), launch: 1, happened }));
        }
        while counted.ended == 0 {
            counted.round().await;
        }
        counted
    }

    fn ask(&mut self) {
        self.asked += 1;
        self.engine.offer(Input::Agent(AgentInput {
            agent: id("ann"),
            message: id(&format!("x{}", self.asked)),
            conversation: id("main"),
            request: AgentRequest::Invoke {
                call_id: id(&format!("k{}", self.asked)),
                tool: id("notes.add"),
                input: Arc::new(json!({ "n": 1 })),
                revision: self.revision.clone(),
                expires_at: None,
            },
        }));
    }

    /// One batch: facts, commit, and what follows; a MiniApp completes what it is handed at once,
    /// and everything sent is acknowledged at once.
    async fn round(&mut self) {
        let commit = self.engine.take_batch();
        if let Some(needs) = self.engine.take_needs() {
            let fetched = self.store.fetch(&self.workspace, &needs).await.unwrap();
            self.engine.fetched(Some(fetched));
        }
        let commit = commit.or_else(|| self.engine.take_batch());
        if let Some(commit) = commit {
            let answer = self.store.commit(vec![commit]).await;
            self.engine.settled(answer);
        }
        let effects = self.engine.take_effects();
        for key in effects.handed {
            self.complete(key);
        }
        for sent in effects.send {
            if let AgentBody::Outcome(outcome) = &sent.message.body {
                self.ended += 1;
                assert_eq!(outcome.end.class().as_str(), "completed");
            }
            let report = lineup_core::workspace::input::TransportReport::Acknowledged(sent.message.id.clone());
            self.engine.offer(Input::Transport(report));
        }
    }

    fn complete(&mut self, call: CallKey) {
        let Some(found) = self.engine.durable().call(&call).cloned() else { return };
        let Some(instance) = found.instance.clone() else { return };
        let from = MiniAppContext {
            workspace: self.workspace.clone(),
            app_scope: found.facts.app_scope.clone(),
            instance,
            conversation: found.facts.address.conversation.clone(),
            work: Some(Work::Call { call: call.clone(), generation: Generation(1) }),
        };
        let request =
            MiniAppRequest::Complete { call, generation: Some(Generation(1)), output: json!({ "done": true }) };
        self.engine.offer(Input::MiniApp(MiniAppInput { from, request }));
    }
}

#[tokio::test]
async fn g12_one_caller_costs_two_commits_a_call_one_query_each_and_no_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut counted = Counted::new(directory.path()).await;
    let (before, start) = (counted.store.counters(), counted.ended);
    for call in 1..=50 {
        counted.ask();
        while counted.ended < start + call {
            counted.round().await;
        }
    }
    let after = counted.store.counters();
    assert_eq!(after.commits - before.commits, 100);
    assert_eq!(after.write_queries - before.write_queries, 100);
    let reads = after.reader_queries - before.reader_queries;
    assert!(reads <= 2, "{reads} reads for 50 new calls; only one in a hundred may be taken for known");
}

#[tokio::test]
async fn g12_sixty_four_callers_share_their_commits() {
    let directory = tempfile::tempdir().unwrap();
    let mut counted = Counted::new(directory.path()).await;
    let (before, start) = (counted.store.counters(), counted.ended);
    let calls = 64 * 20;
    for _ in 0..64 {
        counted.ask();
    }
    let mut seen = start;
    while counted.ended < start + calls {
        counted.round().await;
        // Each caller whose call ended makes its next one.
        for _ in seen..counted.ended {
            if counted.asked < start + calls {
                counted.ask();
            }
        }
        seen = counted.ended;
    }
    let after = counted.store.counters();
    let (commits, reads) = (after.commits - before.commits, after.reader_queries - before.reader_queries);
    assert!(commits * 100 <= calls * 15, "{commits} commits for {calls} calls");
    assert_eq!(after.write_queries - before.write_queries, commits);
    assert!(reads <= commits, "{reads} reads for {commits} batches");
}
