//! What is on people's disks: a database of an earlier version opens, and rows keep their form.

use std::{path::Path, sync::Arc};

use lineup_core::{Known, Needs, Seq, workspace::change_set::EntryKey};
use lineup_model::{WorkspaceId, message::OutcomeClass};
use lineup_ports::{
    inbound::Range,
    outbound::{AuditQuery, AuditRow, Committed, Store},
};
use lineup_sql::SqliteStore;
use lineup_testkit::store::samples::{self, Committer, accept, address, finish, home};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

async fn connected(folder: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.join("lineup.sqlite")).create_if_missing(true);
    options.connect().await.expect("the file opens")
}

/// The database of layout 1, opened by this version.
async fn earlier() -> (TempDir, SqliteStore, WorkspaceId) {
    let folder = tempfile::tempdir().expect("a directory for the test");
    let mut connection = connected(folder.path()).await;
    sqlx::raw_sql(include_str!("fixtures/layout_1.sql")).execute(&mut connection).await.expect("it is built");
    connection.close().await.expect("it is closed");
    let store = SqliteStore::open(folder.path()).await.expect("a database of layout 1 opens");
    (folder, store, WorkspaceId::new("default").expect("a plain word is an id"))
}

async fn seen(store: &SqliteStore, workspace: &WorkspaceId) -> Vec<AuditRow> {
    let query = AuditQuery::Conversation { conversation: samples::main(), range: Range::Before(None), limit: 99 };
    store.audit(workspace, query).await.expect("the conversation is read")
}

#[tokio::test(flavor = "multi_thread")]
async fn h112_a_database_of_layout_1_opens_with_everything_that_was_live_in_it() {
    let (_folder, store, workspace) = earlier().await;
    let opened = store.open(&workspace).await.expect("its workspace opens");
    let records = opened.records;
    assert_eq!((opened.last_batch, records.last), (10, Seq(25)));
    let calls: Vec<_> = records.calls.iter().map(|call| (call.key().as_str(), call.facts.tool.as_str())).collect();
    assert_eq!(calls, [("c15", "pomodoro.start")]);
    assert_eq!(records.calls[0].facts.address.conversation, samples::main());
    assert_eq!((records.operations.len(), records.instances.len(), records.apps.len()), (1, 3, 3));
    assert_eq!((records.inbox[0].seq, records.actions[0].seq), (Seq(24), Seq(25)));
    let mut key = address("k1");
    key.agent = records.publications[0].agent.clone();
    let needs = Needs { entries: vec![EntryKey::Call(key.clone())], calls: vec![Seq(7)], documents: vec![] };
    let fetched = store.fetch(&workspace, &needs).await.expect("facts are read");
    let Some(Known::Call(finished)) = fetched.entries.get(&EntryKey::Call(key)) else { panic!("k1 is known") };
    assert_eq!((finished.class, fetched.calls.get(&Seq(7))), (OutcomeClass::Completed, Some(finished)));
    assert!(finished.outcome.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn h112_the_calls_of_layout_1_are_in_the_history_and_new_ones_follow() {
    let (_folder, store, workspace) = earlier().await;
    let opened = store.open(&workspace).await.expect("its workspace opens");
    let ended = |rows: &[AuditRow]| {
        rows.iter().map(|row| (row.seq.0, row.ended.as_ref().map(|row| row.seq.0))).collect::<Vec<_>>()
    };
    assert_eq!(ended(&seen(&store, &workspace).await), [(15, None), (7, Some(14))]);
    let mut committer = Committer::of(workspace.clone(), &opened);
    let changes = vec![accept(Seq(26), "one"), finish(Seq(27), Seq(26), Seq(26), "one")];
    assert_eq!(store.commit(vec![committer.next(changes)]).await, Committed::Committed);
    committer.done();
    let rows = seen(&store, &workspace).await;
    assert_eq!(ended(&rows), [(26, Some(27)), (15, None), (7, Some(14))]);
    assert_eq!(rows[2].body["call"]["address"]["conversation"], "main");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stored_form_of_a_row_does_not_change_and_says_nothing_twice() {
    let folder = tempfile::tempdir().expect("a directory for the test");
    let store = SqliteStore::open(folder.path()).await.expect("a new store opens");
    let opened = store.open(&home()).await.expect("a new workspace opens");
    let mut first = accept(Seq(1), "one");
    first.descriptors.push(Arc::new(samples::descriptor()));
    let changes = vec![first, finish(Seq(2), Seq(1), Seq(1), "one")];
    let committed = store.commit(vec![Committer::of(home(), &opened).next(changes)]).await;
    assert_eq!(committed, Committed::Committed);
    store.close().await;
    let mut connection = connected(folder.path()).await;
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT concat_ws(' ', id - (1 << 40), source, actor, happened, subject, coalesce(call, '-'), \
          coalesce(conversation, '-'), coalesce(previous, '-'), coalesce(code, '-'), wall, effective), body \
         FROM journal ORDER BY id",
    )
    .fetch_all(&mut connection)
    .await
    .expect("the rows are read");
    let expected = [
        (
            "1 agent_tool ada call_accepted c1 c1 main - - 1764000000001 1",
            concat!(
                r#"{"call":{"agent":"ada","call_id":"one","tool":"pomodoro.status","version":1,"descriptor":"b6281bc2fc"#,
                r#"f41a14e289e761d548725d589d2dec9b8d380da5c13daf1ea0328f","revision":"2b214ddf3326016519afcb268f63623b"#,
                r#"80b91a65265277668e4d020d87dd9078","content":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add"#,
                r#"73ff431ed","input":{"label":"deep work","minutes":25,"share":0.1}},"messages":[{"to":"ada","body":{""#,
                r#"kind":"receipt","call_id":"one","seq":1,"stage":"accepted","app_scope":"pomodoro"}}]}"#,
            ),
        ),
        (
            "2 agent_tool ada call_ended c1 c1 - 1 - 1764000000002 2",
            concat!(
                r#"{"messages":[{"to":"ada","conversation":"main","body":{"kind":"outcome","call_id":"one","status":"co"#,
                r#"mpleted","result":{"remaining_ms":1499000,"status":"running"}}}]}"#,
            ),
        ),
    ];
    let found: Vec<_> = rows.iter().map(|(columns, body)| (columns.as_str(), body.as_str())).collect();
    assert_eq!(found, expected);
}
