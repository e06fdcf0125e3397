//! The cases, each named for the sentence of the port, or the id in the contract, that it shows.

use std::{collections::BTreeSet, sync::Arc};

use lineup_core::{
    ChangeSet, Kept, Known, Needs, Records, Seq,
    action::Action,
    activation::Activation,
    focus::FocusStack,
    inbox::{InboxItem, InboxRow},
    instance::{Instance, InstanceState},
    journal::{Addressed, Body, Happened, JournalRow, Origin, Source},
    operation::Operation,
    outbox::OutboxKey,
    policy::{Conversation, HostProfile, Policy},
    registry::Installed,
    session::{AppSession, DocumentHead},
    surface::SurfaceDocument,
    workspace::change_set::{Document, EntryChange, EntryKey, Publication, RefusalCount},
};
use lineup_model::{
    ActionId, AppScope, ConversationId, Digest, Effective, ErrorCode, Generation, IntentId, MessageId, Method,
    Revision, WorkspaceId,
    message::{AgentBody, OutcomeClass},
};
use lineup_ports::{
    inbound::Range,
    outbound::{AuditQuery, AuditRow, Cause, Commit, Committed, Epoch, Store},
};
use serde_json::json;

use super::{
    StoreFixture,
    samples::{self, Committer, accept, address, at, finish, home},
};

/// Opens `home` and numbers its batches.
async fn opened<F: StoreFixture>(fixture: &F) -> (Committer, Records) {
    let opened = fixture.store().open(&home()).await.expect("the store opens its workspace");
    (Committer::of(home(), &opened), opened.records)
}

async fn commit<F: StoreFixture>(fixture: &F, committer: &mut Committer, changes: Vec<ChangeSet>) {
    let committed = fixture.store().commit(vec![committer.next(changes)]).await;
    assert_eq!(committed, Committed::Committed);
    committer.done();
}

async fn records<F: StoreFixture>(fixture: &F) -> Records {
    opened(fixture).await.1
}

fn described(mut change: ChangeSet) -> ChangeSet {
    change.descriptors.push(Arc::new(samples::descriptor()));
    change
}

fn text_row(seq: Seq, messages: Vec<Addressed>) -> JournalRow {
    JournalRow {
        seq,
        origin: Origin::runtime(),
        happened: Happened::TextSent,
        subject: "main".into(),
        call: None,
        conversation: None,
        previous: None,
        code: None,
        at: at(seq.0),
        body: Body { messages, ..Body::default() },
    }
}

fn texts(seq: Seq, count: usize) -> ChangeSet {
    let say = |index| samples::message(seq, index, AgentBody::Text { text: format!("{seq}.{index}") });
    ChangeSet { journal: vec![text_row(seq, (0..count).map(say).collect())], ..ChangeSet::default() }
}

fn outbox_keys(records: &Records) -> Vec<(u64, u32)> {
    records.outbox.iter().map(|row| (row.key.seq.0, row.key.index)).collect()
}

/// One of every record that is live.
fn everything() -> ChangeSet {
    let instance = Instance {
        id: Seq(1).instance_id(),
        conversation: samples::main(),
        app_scope: AppScope::new("pomodoro").expect("a plain word is a scope"),
        session: Seq(1).app_session_id(),
        state: InstanceState::Foreground,
    };
    let manifest = json!({
        "app_scope": "pomodoro", "version": "1.0.0", "kind": "bundled-reference",
        "tools": [samples::descriptor()], "ui_actions": [], "subscriptions": [], "requested_capabilities": [],
        "surfaces": [], "host": {"min_version": 1, "surface_required": true}, "digest": Digest::of_bytes(b"manifest"),
    });
    let mut change = accept(Seq(1), "call-1");
    change.actions.push(Kept::Put(Arc::new(Action {
        seq: Seq(1),
        id: ActionId::new("tap").expect("a plain word is an id"),
        instance: instance.id.clone(),
        app_scope: instance.app_scope.clone(),
        conversation: samples::main(),
        method: Method::new("pause").expect("a plain word is a method"),
        input: Arc::new(json!({"why": "\u{0} \u{1F345} \"quoted\""})),
        accepted: at(1),
        generation: Generation(1),
        steps: [("write".into(), lineup_core::call::Step { request: Digest::of_bytes(b"w"), answer: json!(1.5) })]
            .into(),
    })));
    change.activations.push(Kept::Put(Arc::new(Activation {
        id: Seq(1).activation_id(),
        instance: instance.id.clone(),
        cause: Seq(1).call_key(),
        foreground: true,
        limit: Effective(900),
        full_limit: Effective(10_000),
        opened_instance: true,
    })));
    change.operations.push(Kept::Put(Arc::new(Operation {
        id: Seq(1).operation_id(),
        call: Seq(1).call_key(),
        app_scope: instance.app_scope.clone(),
        conversation: samples::main(),
        instance: instance.id.clone(),
        session: instance.session.clone(),
        rule: lineup_model::descriptor::OperationRule::default(),
        started: at(1),
        deadline: Some(Effective(1_500_000)),
    })));
    change.sessions.push(Arc::new(session(Seq(1), at(1).effective.0)));
    change.documents.push(document(Seq(1), 1, "first"));
    change.surfaces.push(Kept::Put(Arc::new(surface(Seq(1), "main", 1, "first"))));
    change.focus = Some(FocusStack::default().raised(&instance.id));
    change.inbox.push(Kept::Put(Arc::new(inbox(Seq(1), &instance))));
    change.conversations.push(Arc::new(Conversation {
        id: samples::main(),
        title: "Main".to_owned(),
        agents: [samples::ada()].into(),
    }));
    change.policy = Some(Arc::new(Policy { disabled_apps: [instance.app_scope.clone()].into(), ..Policy::default() }));
    change.host_profile =
        Some(Arc::new(HostProfile { paired: true, version: 3, features: BTreeSet::from(["surface".to_owned()]) }));
    change.publications.push(Arc::new(publication(1)));
    change.apps.push(Kept::Put(Arc::new(Installed {
        manifest: Arc::new(serde_json::from_value(manifest).expect("the sample is a manifest")),
    })));
    change.instances.push(Kept::Put(Arc::new(instance)));
    described(change)
}

fn inbox(seq: Seq, instance: &Instance) -> InboxRow {
    InboxRow {
        seq,
        app_scope: instance.app_scope.clone(),
        conversation: instance.conversation.clone(),
        instance: instance.id.clone(),
        received: at(seq.0),
        item: InboxItem::Text {
            from: samples::ada(),
            message: MessageId::new(format!("note-{seq}")).expect("a plain word is an id"),
            text: "hello".to_owned(),
        },
        attempts: 1,
        parked: false,
    }
}

fn session(seq: Seq, opened: u64) -> AppSession {
    AppSession {
        id: seq.app_session_id(),
        conversation: samples::main(),
        app_scope: AppScope::new("pomodoro").expect("a plain word is a scope"),
        instance: seq.instance_id(),
        opened: at(opened),
        closed: None,
        runs: Vec::new(),
    }
}

fn document(seq: Seq, revision: u64, word: &str) -> Document {
    let data = json!({ "word": word, "list": [1, 2.5, null] });
    let head = DocumentHead {
        session: seq.app_session_id(),
        revision,
        bytes: u64::try_from(data.to_string().len()).unwrap_or_default(),
        digest: Digest::of(&data),
    };
    Document { head, data: Arc::new(data) }
}

fn surface(of: Seq, name: &str, revision: u64, word: &str) -> SurfaceDocument {
    let empty = SurfaceDocument::empty(of.instance_id(), Method::new(name).expect("a plain word is a method"));
    SurfaceDocument { revision, data: Arc::new(json!({ "word": word, "list": [1, 2.5, null] })), ..empty }
}

fn publication(sequence: u64) -> Publication {
    Publication {
        agent: samples::ada(),
        conversation: samples::main(),
        sequence,
        revision: Revision(Digest::of_bytes(&sequence.to_be_bytes())),
    }
}

/// `open` creates a workspace that is new.
pub async fn a_new_workspace_is_empty<F: StoreFixture>() {
    let fixture = F::create().await;
    let opened = fixture.store().open(&home()).await.expect("a new workspace opens");
    assert_eq!(opened.last_batch, 0);
    assert_eq!(opened.records, Records::default());
}

/// `open` reads everything live.
pub async fn open_gives_back_everything_live<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let change = everything();
    commit(&fixture, &mut committer, vec![change.clone()]).await;
    let found = records(&fixture).await;
    fn put<T: Clone, K>(kept: &[Kept<T, K>]) -> Vec<T> {
        kept.iter()
            .filter_map(|kept| if let Kept::Put(record) = kept { Some(T::clone(record)) } else { None })
            .collect()
    }
    assert_eq!(found.last, Seq(1));
    assert_eq!(found.time, change.time);
    assert_eq!(found.calls, put(&change.calls));
    assert_eq!(found.actions, put(&change.actions));
    assert_eq!(found.instances, put(&change.instances));
    assert_eq!(found.activations, put(&change.activations));
    assert_eq!(found.operations, put(&change.operations));
    assert_eq!(found.surfaces, put(&change.surfaces));
    assert_eq!(found.inbox, put(&change.inbox));
    assert_eq!(found.apps, put(&change.apps));
    assert_eq!(found.sessions, change.sessions.iter().map(|record| AppSession::clone(record)).collect::<Vec<_>>());
    assert_eq!(found.documents, change.documents.iter().map(|record| record.head.clone()).collect::<Vec<_>>());
    assert_eq!(Some(found.focus), change.focus);
    assert_eq!(found.conversations, vec![Conversation::clone(&change.conversations[0])]);
    assert_eq!(Some(Arc::new(found.policy)), change.policy);
    assert_eq!(Some(Arc::new(found.host_profile)), change.host_profile);
    assert_eq!(found.publications, vec![publication(1)]);
    assert_eq!(found.descriptors, change.descriptors);
    assert_eq!(found.outbox.len(), 1);
    assert_eq!(found.outbox[0].message, change.journal[0].body.messages[0].message);
    assert_eq!(found.outbox[0].recipient, samples::ada());
}

/// When `commit` returns `Committed`, everything survives.
pub async fn committed_changes_survive_reopening<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![everything()]).await;
    let before = records(&fixture).await;
    let fixture = fixture.reopen().await;
    let opened = fixture.store().open(&home()).await.expect("the workspace opens again");
    assert_eq!(opened.records, before);
    assert_eq!(opened.last_batch, 1);
}

/// `Records` holds nothing that is over.
pub async fn a_finished_call_is_not_live_any_more<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![described(accept(Seq(1), "one")), accept(Seq(2), "two")]).await;
    commit(&fixture, &mut committer, vec![finish(Seq(3), Seq(1), Seq(1), "one")]).await;
    // Accepted and finished in one batch.
    commit(&fixture, &mut committer, vec![accept(Seq(4), "four"), finish(Seq(5), Seq(4), Seq(4), "four")]).await;
    let found = records(&fixture).await;
    assert_eq!(found.calls.iter().map(|call| call.accepted_at()).collect::<Vec<_>>(), [Seq(2)]);
    assert_eq!(found.last, Seq(5));
}

/// A batch is durable, all of it or nothing.
pub async fn a_batch_is_durable_whole_or_not_at_all<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![described(accept(Seq(1), "one"))]).await;
    let before = records(&fixture).await;
    let (committer, _) = opened(&fixture).await;
    let mut poisoned = everything();
    poisoned.journal[0].seq = Seq(2);
    poisoned.journal[0].body.call = None;
    poisoned.entries = vec![EntryChange::Taken { key: EntryKey::Call(address("one")), seq: Seq(2) }];
    poisoned.calls.clear();
    let committed = fixture.store().commit(vec![committer.next(vec![accept(Seq(3), "three"), poisoned])]).await;
    assert_eq!(committed, Committed::NothingChanged(Cause::EntryKnown));
    let fixture = fixture.reopen().await;
    assert_eq!(records(&fixture).await, before);
}

/// The last guard of CALL-3.
pub async fn call_3_an_entry_that_was_taken_in_is_refused<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![described(accept(Seq(1), "one"))]).await;
    commit(&fixture, &mut committer, vec![finish(Seq(2), Seq(1), Seq(1), "one")]).await;
    let again = fixture.store().commit(vec![committer.next(vec![accept(Seq(3), "one")])]).await;
    assert_eq!(again, Committed::NothingChanged(Cause::EntryKnown));
    let twice = vec![accept(Seq(3), "two"), accept(Seq(4), "two")];
    let twice = fixture.store().commit(vec![committer.next(twice)]).await;
    assert_eq!(twice, Committed::NothingChanged(Cause::EntryKnown));
    commit(&fixture, &mut committer, vec![accept(Seq(3), "two")]).await;
}

/// Ids are unique per conversation and agent, of one workspace.
pub async fn an_entry_is_known_per_workspace<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![described(accept(Seq(1), "one"))]).await;
    let away = WorkspaceId::new("away").expect("a plain word is an id");
    let opened = fixture.store().open(&away).await.expect("another workspace opens");
    assert_eq!(opened.records.last, Seq(0));
    let mut other = Committer::of(away.clone(), &opened);
    commit(&fixture, &mut other, vec![accept(Seq(1), "one")]).await;
    let found = fixture.store().open(&away).await.expect("it opens again").records;
    assert_eq!(found.calls.len(), 1);
    assert_eq!(outbox_keys(&found), [(1, 0)]);
}

/// One of the changes cannot be stored: `Refused`, and nothing else is disturbed.
pub async fn a_row_that_cannot_be_stored_is_refused_and_the_next_batch_goes_on<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![texts(Seq(1), 1)]).await;
    let committed = fixture.store().commit(vec![committer.next(vec![texts(Seq(2), 1), texts(Seq(1), 1)])]).await;
    assert!(matches!(committed, Committed::NothingChanged(Cause::Refused(_))), "{committed:?}");
    for seq in 2..6 {
        commit(&fixture, &mut committer, vec![texts(Seq(seq), 1)]).await;
    }
    assert_eq!(records(&fixture).await.last, Seq(5));
}

/// The full key of an entry is in the row that took it in.
pub async fn an_entry_needs_its_journal_row<F: StoreFixture>() {
    let fixture = F::create().await;
    let (committer, _) = opened(&fixture).await;
    let mut change = accept(Seq(1), "one");
    change.journal.clear();
    let committed = fixture.store().commit(vec![committer.next(vec![change])]).await;
    assert!(matches!(committed, Committed::NothingChanged(Cause::Refused(_))), "{committed:?}");
}

/// Another owner: `Fenced`, and nothing is durable.
pub async fn a_commit_of_an_older_owner_is_fenced<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut old, _) = opened(&fixture).await;
    commit(&fixture, &mut old, vec![texts(Seq(1), 1)]).await;
    let (mut new, _) = opened(&fixture).await;
    assert!(new.epoch > old.epoch);
    assert_eq!(fixture.store().commit(vec![old.next(vec![texts(Seq(2), 1)])]).await, Committed::Fenced);
    commit(&fixture, &mut new, vec![texts(Seq(2), 2)]).await;
    assert_eq!(fixture.store().commit(vec![old.next(vec![texts(Seq(3), 1)])]).await, Committed::Fenced);
    let (future, _) = opened(&fixture).await;
    let forged = Commit { epoch: Epoch(future.epoch.0 + 1), ..future.next(vec![texts(Seq(3), 1)]) };
    assert_eq!(fixture.store().commit(vec![forged]).await, Committed::Fenced);
    assert_eq!(records(&fixture).await.last, Seq(2));
}

/// A batch's number is 1 more than the one before.
pub async fn batches_are_numbered_without_a_gap<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![texts(Seq(1), 1)]).await;
    for number in [0, 1, 3] {
        let wrong = Commit { number, ..committer.next(vec![texts(Seq(2), 1)]) };
        let committed = fixture.store().commit(vec![wrong]).await;
        assert!(matches!(committed, Committed::NothingChanged(Cause::Refused(_))), "{number}: {committed:?}");
    }
    commit(&fixture, &mut committer, vec![texts(Seq(2), 1)]).await;
}

/// `reopen` answers the number of the last durable batch, and the workspace goes on from there.
pub async fn reopen_answers_the_last_durable_batch<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    assert_eq!(fixture.store().reopen(&home()).await.expect("it opens again"), 0);
    commit(&fixture, &mut committer, vec![texts(Seq(1), 1)]).await;
    commit(&fixture, &mut committer, vec![texts(Seq(2), 1)]).await;
    assert_eq!(fixture.store().reopen(&home()).await.expect("it opens again"), 2);
    commit(&fixture, &mut committer, vec![texts(Seq(3), 1)]).await;
    assert_eq!(records(&fixture).await.last, Seq(3));
}

/// `probe` writes and removes something small.
pub async fn a_probe_leaves_nothing_behind<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![everything()]).await;
    let before = records(&fixture).await;
    for _ in 0..3 {
        fixture.store().probe(&home()).await.expect("there is room");
    }
    assert_eq!(records(&fixture).await, before);
}

/// DUR-2: in order, removed only on acknowledgement.
pub async fn dur_2_the_outbox_keeps_the_order_and_loses_only_what_is_removed<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let remove = |keys: &[(u64, u32)]| ChangeSet {
        outbox_removed: keys.iter().map(|(seq, index)| OutboxKey { seq: Seq(*seq), index: *index }).collect(),
        ..ChangeSet::default()
    };
    commit(&fixture, &mut committer, (1..=12).map(|seq| texts(Seq(seq), 2)).collect()).await;
    let all: Vec<_> = (1..=12).flat_map(|seq| [(seq, 0), (seq, 1)]).collect();
    assert_eq!(outbox_keys(&records(&fixture).await), all);
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![remove(&[(3, 1), (10, 0), (99, 7)])]).await;
    // Sent and removed in one batch.
    commit(&fixture, &mut committer, vec![texts(Seq(13), 2), remove(&[(13, 0)])]).await;
    let mut expected = all;
    expected.retain(|key| ![(3, 1), (10, 0)].contains(key));
    expected.push((13, 1));
    let found = records(&fixture.reopen().await).await;
    assert_eq!(outbox_keys(&found), expected);
    for row in &found.outbox {
        let text = format!("{}.{}", row.key.seq, row.key.index);
        assert_eq!(row.message.body, AgentBody::Text { text });
        assert_eq!(row.message.id, row.key.seq.message_id(usize::try_from(row.key.index).unwrap_or(usize::MAX)));
    }
}

/// DUR-5: refusals are counted per (entry, actor, code, minute).
pub async fn dur_5_refusals_add_up<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let refuse = |minute, count, code| ChangeSet {
        refusals: vec![RefusalCount { source: Source::AgentTool, actor: "ada".into(), code, minute, count }],
        ..ChangeSet::default()
    };
    let (limited, invalid) = (ErrorCode::RateLimited, ErrorCode::ToolInputInvalid);
    commit(&fixture, &mut committer, vec![refuse(7, 2, limited), refuse(7, 3, limited), refuse(7, 1, invalid)]).await;
    commit(&fixture, &mut committer, vec![refuse(7, 10, limited), refuse(8, 1, limited)]).await;
    let rows = fixture.store().audit(&home(), AuditQuery::Refusals { limit: 10 }).await.expect("the audit is read");
    let rows: Vec<_> = rows
        .iter()
        .map(|row| (row.wall / 60_000, row.code.as_deref().unwrap_or(""), row.body["count"].as_u64()))
        .collect();
    assert_eq!(rows, [(8, "rate_limited", Some(1)), (7, "rate_limited", Some(15)), (7, "tool_input_invalid", Some(1))]);
}

/// Latest-value state is written once per batch, with the last value.
pub async fn the_last_write_of_a_batch_counts<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let mut first = everything();
    let mut second = ChangeSet { focus: Some(FocusStack::cleared()), ..ChangeSet::default() };
    let moved = match &first.instances[0] {
        Kept::Put(instance) => Instance { state: InstanceState::Background, ..Instance::clone(instance) },
        Kept::Gone(_) => unreachable!("the sample opens an instance"),
    };
    second.instances.push(Kept::Put(Arc::new(moved.clone())));
    second.documents.push(document(Seq(1), 2, "second"));
    second.operations.push(Kept::Gone(Seq(1).operation_id()));
    second.time = Some(samples::time(900));
    first.inbox.push(Kept::Gone(Seq(1)));
    commit(&fixture, &mut committer, vec![first, second]).await;
    let found = records(&fixture).await;
    assert_eq!(found.focus, FocusStack::default());
    assert_eq!(found.instances, [moved]);
    assert_eq!(found.documents[0].revision, 2);
    assert_eq!((found.operations.len(), found.inbox.len()), (0, 0));
    assert_eq!(found.time, Some(samples::time(900)));
}

/// `fetch` sees at least every commit that had been answered when it was called.
pub async fn fetch_sees_every_answered_commit<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let mut seq = 1;
    for round in 0..20_u64 {
        let id = format!("call-{round}");
        commit(&fixture, &mut committer, vec![described(accept(Seq(seq), &id))]).await;
        commit(&fixture, &mut committer, vec![finish(Seq(seq + 1), Seq(seq), Seq(seq), &id)]).await;
        let key = EntryKey::Call(address(&id));
        let needs = Needs { entries: vec![key.clone()], calls: vec![Seq(seq)], documents: vec![] };
        let fetched = fixture.store().fetch(&home(), &needs).await.expect("facts are read");
        let Some(Known::Call(finished)) = fetched.entries.get(&key) else { panic!("{id} is not known: {fetched:?}") };
        assert_eq!(*finished.facts, samples::facts(Seq(seq), &id));
        assert_eq!(finished.class, OutcomeClass::Completed);
        assert_eq!(finished.outcome.as_ref().map(|message| &message.body), Some(&samples::outcome(&id)));
        assert_eq!(fetched.calls.get(&Seq(seq)), Some(finished));
        seq += 2;
    }
}

/// An entry that is missing from the answer was never taken in, or is the workspace's own open call.
pub async fn fetch_answers_nothing_for_what_is_open_or_unknown<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![described(accept(Seq(1), "open"))]).await;
    let needs = Needs {
        entries: vec![EntryKey::Call(address("open")), EntryKey::Call(address("never"))],
        calls: vec![Seq(1), Seq(2), Seq(u64::from(u32::MAX))],
        documents: vec![Seq(9).app_session_id()],
    };
    let fetched = fixture.store().fetch(&home(), &needs).await.expect("facts are read");
    assert_eq!(fetched, lineup_core::workspace::facts::Fetched::default());
}

/// A text, a UI Action and an intent are known once they are taken in; one lookup is not another's.
pub async fn fetch_knows_texts_actions_and_intents<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let word = "same";
    let keys = [
        EntryKey::Text { agent: samples::ada(), message: MessageId::new(word).expect("an id") },
        EntryKey::Action { instance: Seq(1).instance_id(), action: ActionId::new(word).expect("an id") },
        EntryKey::Intent { intent: IntentId::new(word).expect("an id") },
    ];
    let change = |seq: Seq, key: &EntryKey| ChangeSet {
        entries: vec![EntryChange::Taken { key: key.clone(), seq }],
        ..texts(seq, 0)
    };
    commit(&fixture, &mut committer, vec![change(Seq(1), &keys[0]), change(Seq(2), &keys[1])]).await;
    let ended = EntryChange::Ended { key: keys[1].clone(), seq: Seq(2), ended: Seq(3) };
    commit(&fixture, &mut committer, vec![ChangeSet { entries: vec![ended], ..texts(Seq(3), 0) }]).await;
    let needs = Needs { entries: keys.to_vec(), calls: vec![Seq(2)], documents: vec![] };
    let fetched = fixture.store().fetch(&home(), &needs).await.expect("facts are read");
    assert_eq!(fetched.entries.get(&keys[0]), Some(&Known::Taken));
    assert_eq!(fetched.entries.get(&keys[1]), Some(&Known::Taken));
    assert_eq!(fetched.entries.get(&keys[2]), None);
    assert!(fetched.calls.is_empty(), "an action that has ended is no call");
}

/// Session data is read back as it was written last.
pub async fn ses_1_a_document_is_read_back_with_its_revision<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let mut change = everything();
    change.documents = vec![document(Seq(1), 1, "first"), document(Seq(2), 5, "a \u{0} b \u{1F345} '\"\\")];
    commit(&fixture, &mut committer, vec![change]).await;
    commit(&fixture, &mut committer, vec![ChangeSet { documents: vec![document(Seq(1), 2, "x")], ..texts(Seq(2), 0) }])
        .await;
    let needs = Needs { documents: vec![Seq(2).app_session_id(), Seq(1).app_session_id()], ..Needs::default() };
    let fetched = fixture.store().fetch(&home(), &needs).await.expect("facts are read");
    assert_eq!(fetched.documents[&Seq(1).app_session_id()], (2, document(Seq(1), 2, "x").data));
    assert_eq!(fetched.documents[&Seq(2).app_session_id()], (5, document(Seq(2), 5, "a \u{0} b \u{1F345} '\"\\").data));
    // The session of a live instance is live, another one is not.
    let heads = records(&fixture).await.documents;
    assert_eq!(heads, [document(Seq(1), 2, "x").head]);
}

/// SUR-4: what a Surface shows comes back, one document for each, until its instance is gone.
pub async fn sur_4_what_surfaces_show_is_read_back_until_it_is_gone<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let put = |document| Kept::Put(Arc::new(document));
    let shows = |surfaces, at| ChangeSet { surfaces, ..texts(Seq(at), 0) };
    let (main, side) = (surface(Seq(1), "main", 2, "a \u{0} b \u{1F345} '\"\\"), surface(Seq(1), "side", 1, "side"));
    let other = surface(Seq(2), "main", 1, "other");
    let first = vec![put(surface(Seq(1), "main", 1, "first")), put(side.clone()), put(other.clone())];
    commit(&fixture, &mut committer, vec![shows(first, 1)]).await;
    commit(&fixture, &mut committer, vec![shows(vec![put(main.clone())], 2)]).await;
    let fixture = fixture.reopen().await;
    let (mut committer, found) = opened(&fixture).await;
    assert_eq!(found.surfaces, [main, side.clone(), other.clone()]);
    // Changed and gone in one batch, and gone.
    let last = vec![put(surface(Seq(1), "main", 3, "last")), Kept::Gone(other.key())];
    let gone = vec![Kept::Gone((Seq(1).instance_id(), Method::new("main").expect("a plain word is a method")))];
    commit(&fixture, &mut committer, vec![shows(last, 3), shows(gone, 4)]).await;
    assert_eq!(records(&fixture.reopen().await).await.surfaces, [side]);
}

/// `AuditQuery::Story`: the whole story of a call, oldest first; empty if there is no such call.
pub async fn the_story_of_a_call_is_whole_and_in_order<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let mut progress = ChangeSet {
        journal: vec![samples::row(Seq(3), Happened::CallProgressed, Seq(1), Some(Seq(1)), Body::default())],
        ..ChangeSet::default()
    };
    if let Kept::Put(call) = &accept(Seq(1), "one").calls[0] {
        let call = lineup_core::call::Call { last: Seq(3), ..lineup_core::call::Call::clone(call) };
        progress.calls.push(Kept::Put(Arc::new(call)));
    }
    let begun = vec![described(accept(Seq(1), "one")), accept(Seq(2), "two"), progress];
    commit(&fixture, &mut committer, begun).await;
    let story = async |call| {
        let rows = fixture.store().audit(&home(), AuditQuery::Story { call: Seq(call) }).await.expect("it is read");
        rows.iter().map(|row| row.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(story(1).await, [1, 3]);
    commit(&fixture, &mut committer, vec![finish(Seq(4), Seq(2), Seq(2), "two")]).await;
    commit(&fixture, &mut committer, vec![finish(Seq(5), Seq(1), Seq(3), "one")]).await;
    assert_eq!(story(1).await, [1, 3, 5]);
    assert_eq!(story(2).await, [2, 4]);
    for nothing in [0, 3, 5, 99, 1 << 39] {
        assert_eq!(story(nothing).await, [0_u64; 0], "{nothing}");
    }
    let rows = fixture.store().audit(&home(), AuditQuery::Story { call: Seq(1) }).await.expect("it is read");
    let row = &rows[0];
    assert_eq!((row.source.as_str(), row.actor.as_str()), ("agent_tool", "ada"));
    assert_eq!((row.happened.as_str(), row.subject.as_str()), ("call_accepted", "c1"));
    assert_eq!((row.wall, row.effective), (at(1).wall.0, 1));
    assert_eq!(row.call, Some(Seq(1).call_key()));
    assert_eq!(row.body, serde_json::to_value(&accept(Seq(1), "one").journal[0].body).expect("a body is JSON"));
}

/// The audit answers newest first, at most so many.
pub async fn the_audit_answers_newest_first<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let changes = vec![described(accept(Seq(1), "one")), texts(Seq(2), 1), accept(Seq(3), "three"), texts(Seq(4), 1)];
    commit(&fixture, &mut committer, changes).await;
    let seqs = async |query| {
        let rows = fixture.store().audit(&home(), query).await.expect("the audit is read");
        rows.iter().map(|row| row.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(seqs(AuditQuery::Latest { limit: 3 }).await, [4, 3, 2]);
    assert_eq!(seqs(AuditQuery::Latest { limit: 99 }).await, [4, 3, 2, 1]);
    assert_eq!(seqs(AuditQuery::Calls { limit: 99 }).await, [3, 1]);
    assert_eq!(seqs(AuditQuery::Calls { limit: 1 }).await, [3]);
    assert_eq!(seqs(AuditQuery::Latest { limit: 0 }).await, [0_u64; 0]);
}

async fn seen<F: StoreFixture>(fixture: &F, range: Range, limit: u32) -> Vec<AuditRow> {
    let query = AuditQuery::Conversation { conversation: samples::main(), range, limit };
    fixture.store().audit(&home(), query).await.expect("the conversation is read")
}

fn places(rows: &[AuditRow]) -> Vec<u64> {
    rows.iter().map(|row| row.seq.0).collect()
}

/// `AuditQuery::Conversation`: newest first before a place, else oldest first, at most so many, each
/// row with the one that ended what it took in.
pub async fn a_conversation_is_read_in_pages_each_row_with_its_ending<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let mut changes = vec![described(accept(Seq(1), "call-1")), texts(Seq(2), 1)];
    changes.extend((3..=9).map(|seq| accept(Seq(seq), &format!("call-{seq}"))));
    commit(&fixture, &mut committer, changes).await;
    let ended = vec![finish(Seq(10), Seq(3), Seq(3), "call-3"), finish(Seq(11), Seq(5), Seq(5), "call-5")];
    commit(&fixture, &mut committer, ended).await;

    let all = seen(&fixture, Range::Before(None), 99).await;
    assert_eq!(places(&all), [9, 8, 7, 6, 5, 4, 3, 1], "the text and the outcomes are not rows of their own");
    let ended: Vec<_> = all.iter().filter_map(|row| Some((row.seq.0, row.ended.as_ref()?))).collect();
    assert_eq!(ended.iter().map(|(of, row)| (*of, row.seq.0)).collect::<Vec<_>>(), [(5, 11), (3, 10)]);
    let story = fixture.store().audit(&home(), AuditQuery::Story { call: Seq(3) }).await.expect("it is read");
    assert_eq!(*ended[1].1.as_ref(), story[1]);
    assert_eq!(AuditRow { ended: None, ..all[6].clone() }, story[0]);

    let read = async |range, limit| places(&seen(&fixture, range, limit).await);
    assert_eq!(read(Range::Before(None), 3).await, [9, 8, 7]);
    assert_eq!(read(Range::Before(Some(Seq(7))), 3).await, [6, 5, 4]);
    assert_eq!(read(Range::Before(Some(Seq(4))), 3).await, [3, 1]);
    assert_eq!(read(Range::After(Seq(0)), 3).await, [1, 3, 4]);
    assert_eq!(read(Range::After(Seq(4)), 99).await, [5, 6, 7, 8, 9]);
    assert_eq!(read(Range::At([8, 3, 2, 8, 10, 99].map(Seq).to_vec()), 99).await, [3, 8]);
    assert_eq!(read(Range::At([8, 3].map(Seq).to_vec()), 1).await, [3]);
    for nothing in [Range::Before(Some(Seq(1))), Range::After(Seq(9)), Range::At(Vec::new())] {
        assert_eq!(read(nothing.clone(), 99).await, [0_u64; 0], "{nothing:?}");
    }
    assert_eq!(read(Range::Before(None), 0).await, [0_u64; 0]);
}

/// A place of another conversation, or of another workspace, is not found; nor is one that no journal
/// can have.
pub async fn what_people_see_is_per_conversation_and_workspace<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let mut elsewhere = accept(Seq(2), "two");
    elsewhere.journal[0].conversation = Some(ConversationId::new("elsewhere").expect("a plain word is an id"));
    commit(&fixture, &mut committer, vec![described(accept(Seq(1), "one")), elsewhere]).await;
    let away = WorkspaceId::new("away").expect("a plain word is an id");
    let opened = fixture.store().open(&away).await.expect("another workspace opens");
    let mut other = Committer::of(away, &opened);
    commit(&fixture, &mut other, (1..=3).map(|seq| accept(Seq(seq), &format!("away-{seq}"))).collect()).await;

    let read = async |range| places(&seen(&fixture, range, 99).await);
    let far = [1 << 40, (1 << 40) + 1, 1 << 41, 1 << 62, u64::MAX].map(Seq);
    assert_eq!(read(Range::Before(None)).await, [1]);
    assert_eq!(read(Range::After(Seq(0))).await, [1]);
    assert_eq!(read(Range::At([1, 2, 3].map(Seq).to_vec())).await, [1]);
    assert_eq!(read(Range::At(far.to_vec())).await, [0_u64; 0]);
    for place in far {
        assert_eq!(read(Range::Before(Some(place))).await, [1], "{place}");
        assert_eq!(read(Range::After(place)).await, [0_u64; 0], "{place}");
    }
}

/// `sessions` answers the App sessions of a conversation, newest first, at most `limit`.
pub async fn sessions_are_read_newest_first<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let elsewhere = ConversationId::new("elsewhere").expect("a plain word is an id");
    let mut sessions: Vec<_> = (1..=12).map(|n| Arc::new(session(Seq(n), n * 10))).collect();
    sessions.push(Arc::new(AppSession { conversation: elsewhere.clone(), ..session(Seq(13), 5) }));
    commit(&fixture, &mut committer, vec![ChangeSet { sessions, ..ChangeSet::default() }]).await;
    let closed = AppSession { closed: Some(at(999)), ..session(Seq(11), 110) };
    commit(
        &fixture,
        &mut committer,
        vec![ChangeSet { sessions: vec![Arc::new(closed.clone())], ..ChangeSet::default() }],
    )
    .await;
    let found = fixture.store().sessions(&home(), &samples::main(), 3).await.expect("they are read");
    assert_eq!(found, [session(Seq(12), 120), closed, session(Seq(10), 100)]);
    let found = fixture.store().sessions(&home(), &elsewhere, 3).await.expect("they are read");
    assert_eq!(found.len(), 1);
}

/// F1, F7: the work goes on when the future is dropped; the next commit waits for it.
pub async fn a_commit_goes_on_when_its_future_is_dropped<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    for polls in 1..8_u64 {
        let changes = (0..40).map(|n| texts(Seq((polls - 1) * 40 + n + 1), 1)).collect();
        let mut commit = fixture.store().commit(vec![committer.next(changes)]);
        for _ in 0..polls {
            let waker = &mut std::task::Context::from_waker(std::task::Waker::noop());
            if commit.as_mut().poll(waker).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(commit);
        committer.done();
    }
    // It follows on the last of them, so all of them are durable.
    commit(&fixture, &mut committer, vec![texts(Seq(281), 1)]).await;
    assert_eq!(records(&fixture).await.outbox.len(), 281);
}

/// `commit` takes the batches of several workspaces, all of them or nothing.
pub async fn one_batch_may_hold_several_workspaces<F: StoreFixture>() {
    let fixture = F::create().await;
    let away = WorkspaceId::new("away").expect("a plain word is an id");
    let (mut first, _) = opened(&fixture).await;
    let mut second = Committer::of(away.clone(), &fixture.store().open(&away).await.expect("it opens"));
    let both = vec![first.next(vec![texts(Seq(1), 1)]), second.next(vec![texts(Seq(1), 2)])];
    assert_eq!(fixture.store().commit(both).await, Committed::Committed);
    first.done();
    second.done();
    let half = vec![first.next(vec![texts(Seq(2), 1)]), second.next(vec![texts(Seq(1), 1)])];
    let committed = fixture.store().commit(half).await;
    assert!(matches!(committed, Committed::NothingChanged(Cause::Refused(_))), "{committed:?}");
    assert_eq!(outbox_keys(&records(&fixture).await), [(1, 0)]);
    let found = fixture.store().open(&away).await.expect("it opens").records;
    assert_eq!(outbox_keys(&found), [(1, 0), (1, 1)]);
}

/// INV-11: the descriptors of unfinished calls are given back, others of the past are not.
pub async fn descriptors_of_open_calls_are_given_back<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    let mut change = described(accept(Seq(1), "one"));
    let old = lineup_model::Descriptor { contract_version: 9, ..samples::descriptor() };
    change.descriptors.push(Arc::new(old));
    commit(&fixture, &mut committer, vec![change.clone()]).await;
    assert_eq!(records(&fixture).await.descriptors, [Arc::new(samples::descriptor())]);
    let (mut committer, _) = opened(&fixture).await;
    commit(&fixture, &mut committer, vec![described(finish(Seq(2), Seq(1), Seq(1), "one"))]).await;
    assert_eq!(records(&fixture).await.descriptors, []);
}

/// INV-7: publications and the policy keep their latest value.
pub async fn inv_7_publications_and_policy_are_latest_values<F: StoreFixture>() {
    let fixture = F::create().await;
    let (mut committer, _) = opened(&fixture).await;
    for sequence in 1..=3 {
        let change = ChangeSet {
            publications: vec![Arc::new(publication(sequence))],
            policy: Some(Arc::new(Policy {
                granted: [(AppScope::new("pomodoro").expect("a scope"), format!("permission-{sequence}"))].into(),
                ..Policy::default()
            })),
            ..ChangeSet::default()
        };
        commit(&fixture, &mut committer, vec![change]).await;
    }
    let found = records(&fixture).await;
    assert_eq!(found.publications, [publication(3)]);
    assert_eq!(found.policy.granted.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>(), ["permission-3"]);
}
