//! What a clean stop waits for.

use lineup_core::{
    Input,
    policy::Conversation,
    workspace::input::{Setup, TransportReport},
};
use lineup_model::{Wall, WorkspaceId};
use lineup_ports::outbound::{ClockReading, Committed, Store as _};
use lineup_runtime::Engine;
use lineup_testkit::MemoryStore;

/// Decides, and commits once if there is something.
async fn step(engine: &mut Engine, store: &MemoryStore) {
    assert!(engine.take_needs().is_none());
    if let Some(commit) = engine.take_batch() {
        assert_eq!(store.commit(vec![commit]).await, Committed::Committed);
        engine.settled(Committed::Committed);
    }
}

#[tokio::test]
async fn dur_2_a_batch_that_only_tidies_up_is_work_that_a_clean_stop_waits_for() {
    let (store, workspace) = (MemoryStore::new(), WorkspaceId::new("default").unwrap());
    let opened = store.open(&workspace).await.unwrap();
    let reading = ClockReading { boot: "b1".to_owned(), boot_ms: 0, wall: Wall(0) };
    let mut engine = Engine::new(workspace.clone(), opened, &reading);
    engine.offer(Input::Recovered { manifests: vec![] });
    step(&mut engine, &store).await;
    let agents = ["ann".parse().unwrap()].into();
    let main = Conversation { id: "main".parse().unwrap(), title: "Main".to_owned(), agents };
    engine.offer(Input::Setup(Setup::Conversation(main)));
    step(&mut engine, &store).await;
    let sent = engine.outbox();
    assert!(!sent.is_empty(), "the inventory is to be sent");
    for message in sent {
        engine.offer(Input::Transport(TransportReport::Acknowledged(message.message.id.clone())));
    }
    step(&mut engine, &store).await;
    assert_eq!(engine.backlog(), 0, "nothing is to be committed before it has to be");

    engine.flush();
    assert!(engine.take_needs().is_none());
    let commit = engine.take_batch().expect("the removals are to be committed");
    assert_ne!(engine.backlog(), 0, "the store has not answered");
    assert_eq!(store.commit(vec![commit]).await, Committed::Committed);
    engine.settled(Committed::Committed);
    assert_eq!(engine.backlog(), 0);
    assert_eq!(store.open(&workspace).await.unwrap().records.outbox.len(), 0);
}
