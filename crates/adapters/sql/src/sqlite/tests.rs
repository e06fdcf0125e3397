//! What the port's sentences do not reach: the file, its neighbours, and faults of the database.

use std::{fs, path::Path, sync::Arc};

use lineup_core::{ChangeSet, Known, Needs, Seq, workspace::change_set::EntryKey};
use lineup_model::message::OutcomeClass;
use lineup_ports::outbound::{AuditQuery, Cause, Committed, Store, StoreError, StoreErrorKind};
use lineup_testkit::store::samples::{self, Committer, accept, address, finish, home};
use sqlx::{AssertSqlSafe, Row, SqliteConnection};
use tempfile::TempDir;

use super::{SqliteStore, connect, location::beside, open, read, write};

struct Scene {
    directory: TempDir,
    store: SqliteStore,
    committer: Committer,
}

impl Scene {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let store = SqliteStore::open(directory.path()).await.expect("a new store opens");
        let opened = store.open(&home()).await.expect("a new workspace opens");
        Self { directory, store, committer: Committer::of(home(), &opened) }
    }

    /// With one call that is open (1) and one that has ended (2, 3).
    async fn with_calls() -> Self {
        let mut scene = Self::new().await;
        let mut first = accept(Seq(1), "open");
        first.descriptors.push(Arc::new(samples::descriptor()));
        scene.commit(vec![first, accept(Seq(2), "ended")]).await;
        scene.commit(vec![finish(Seq(3), Seq(2), Seq(2), "ended")]).await;
        scene
    }

    async fn try_commit(&mut self, changes: Vec<ChangeSet>) -> Committed {
        let committed = self.store.commit(vec![self.committer.next(changes)]).await;
        if committed == Committed::Committed {
            self.committer.done();
        }
        committed
    }

    async fn commit(&mut self, changes: Vec<ChangeSet>) {
        assert_eq!(self.try_commit(changes).await, Committed::Committed);
    }

    /// Four commits that succeed, from this place on.
    async fn goes_on(&mut self, from: u64) {
        for seq in from..from + 4 {
            self.commit(vec![accept(Seq(seq), &format!("later-{seq}"))]).await;
        }
    }

    /// Lets another program change the file.
    async fn meddle(&self, sql: &'static str) {
        let mut connection = connect::writer(&self.file(), false).await.expect("the file opens");
        sqlx::raw_sql(sql).execute(&mut connection).await.expect("the change is made");
        connect::close(connection).await;
    }

    async fn spoil(&self, sql: &'static str) {
        let mut writer = self.store.inner.writer.lock().await;
        sqlx::raw_sql(sql).execute(writer.connection()).await.expect("the setting is taken");
    }

    fn file(&self) -> std::path::PathBuf {
        self.directory.path().join("lineup.sqlite")
    }
}

async fn refusal(path: &Path) -> StoreError {
    match SqliteStore::open(path).await {
        Ok(_) => panic!("{} must not be opened", path.display()),
        Err(error) => error,
    }
}

async fn setting(connection: &mut SqliteConnection, name: &str) -> String {
    let text = AssertSqlSafe(format!("PRAGMA {name}"));
    let row = sqlx::query(text).fetch_one(connection).await.expect("the setting is read");
    row.try_get_unchecked(0).expect("a setting can be told as text")
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_b7_the_writer_syncs_fully_maps_no_memory_and_alone_checkpoints() {
    let scene = Scene::new().await;
    let mut writer = connect::writer(&scene.file(), false).await.expect("a writer connects");
    let mut reader = connect::reader(&scene.file()).await.expect("a reader connects");
    assert_eq!(setting(&mut writer, "journal_mode").await, "wal");
    assert_eq!(setting(&mut writer, "synchronous").await, "2");
    assert_eq!(setting(&mut reader, "wal_autocheckpoint").await, "0");
    assert_eq!(setting(&mut reader, "query_only").await, "1");
    for connection in [&mut writer, &mut reader] {
        assert_eq!(setting(connection, "mmap_size").await, "0");
    }
    assert_eq!(connect::version_is_sound(&mut writer).await.expect("it has a version"), Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn h103_a_second_owner_is_refused_with_one_clear_sentence() {
    let scene = Scene::new().await;
    let error = refusal(scene.directory.path()).await;
    assert_eq!(error.kind, StoreErrorKind::Owned);
    assert!(error.detail.starts_with(&format!("process {} uses ", std::process::id())), "{error}");
    assert!(error.detail.ends_with("; stop it, or name another place"), "{error}");
    let Scene { directory, store, .. } = scene;
    store.close().await;
    assert!(SqliteStore::open(directory.path()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn h102_what_this_store_did_not_leave_here_is_refused_and_left_as_it_is() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil, &str); 5] = [
        ("a directory", |file| fs::create_dir(file).expect("made"), "is a directory"),
        (
            "a symbolic link",
            |file| {
                fs::write(file.with_extension("real"), "").expect("written");
                std::os::unix::fs::symlink(file.with_extension("real"), file).expect("linked");
            },
            "symbolic link",
        ),
        ("a text", |file| fs::write(file, "x".repeat(5000)).expect("written"), "is not a database"),
        ("a torn header", |file| fs::write(file, "SQLite").expect("written"), "is not a database"),
        ("a log without its database", |file| fs::write(beside(file, "-wal"), "x").expect("written"), "is missing but"),
    ];
    for (case, spoil, words) in cases {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let file = directory.path().join("lineup.sqlite");
        spoil(&file);
        let before = fs::read(&file).ok();
        let error = refusal(directory.path()).await;
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{case}: {error}");
        assert!(error.detail.contains(words), "{case}: {error}");
        assert_eq!(fs::read(&file).ok(), before, "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn h102_another_programs_database_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let file = directory.path().join("notes.sqlite");
    let mut connection = connect::writer(&file, true).await.expect("another program's file");
    sqlx::raw_sql("PRAGMA journal_mode = DELETE; CREATE TABLE notes (text)")
        .execute(&mut connection)
        .await
        .expect("made");
    connect::close(connection).await;
    let before = fs::read(&file).expect("the file is there");
    let error = refusal(&file).await;
    assert_eq!(error.kind, StoreErrorKind::Corrupt);
    assert!(error.detail.contains("another program's database"), "{error}");
    assert_eq!(fs::read(&file).expect("the file is there"), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn h112_a_database_of_a_newer_version_is_refused() {
    let scene = Scene::new().await;
    scene
        .meddle("INSERT INTO _sqlx_migrations SELECT 99, 'future', installed_on, success, checksum, 0 FROM _sqlx_migrations WHERE version = 1")
        .await;
    let Scene { directory, store, .. } = scene;
    store.close().await;
    let error = refusal(directory.path()).await;
    assert_eq!(error.kind, StoreErrorKind::Corrupt);
    assert!(error.detail.contains("newer version (layout 99)"), "{error}");
}

/// Copies a store as a killed process leaves it.
fn killed(scene: &Scene) -> TempDir {
    let copy = tempfile::tempdir().expect("a directory for the test");
    for name in ["lineup.sqlite", "lineup.sqlite-wal", "lineup.sqlite-shm", "lineup.sqlite.lock"] {
        fs::copy(scene.directory.path().join(name), copy.path().join(name)).expect("a file of the store");
    }
    copy
}

#[tokio::test(flavor = "multi_thread")]
async fn h102_a_killed_store_comes_back_whole_with_or_without_its_index() {
    let scene = Scene::with_calls().await;
    for remove in [None, Some("lineup.sqlite-shm"), Some("lineup.sqlite.lock")] {
        let copy = killed(&scene);
        if let Some(name) = remove {
            fs::remove_file(copy.path().join(name)).expect("it was there");
        }
        let store = SqliteStore::open(copy.path()).await.expect("the copy opens");
        let opened = store.open(&home()).await.expect("the workspace opens");
        assert_eq!((opened.last_batch, opened.records.last), (2, Seq(3)), "{remove:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn h102_a_store_whose_log_was_taken_or_whose_file_was_replaced_is_refused() {
    let scene = Scene::with_calls().await;
    let copy = killed(&scene);
    fs::remove_file(copy.path().join("lineup.sqlite-wal")).expect("it was there");
    let error = refusal(copy.path()).await;
    assert_eq!(error.kind, StoreErrorKind::Corrupt);
    assert!(error.detail.contains("is missing and with it the latest commits"), "{error}");

    let (copy, other) = (killed(&scene), Scene::new().await);
    fs::copy(other.file(), copy.path().join("lineup.sqlite")).expect("another store's file");
    let error = refusal(copy.path()).await;
    assert_eq!(error.kind, StoreErrorKind::Corrupt);
    assert!(error.detail.contains("was replaced by another database"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn b8_nothing_is_written_to_a_file_that_was_moved_away() {
    let mut scene = Scene::with_calls().await;
    let away = scene.directory.path().join("away");
    fs::rename(scene.file(), &away).expect("moved");
    let committed = scene.try_commit(vec![accept(Seq(4), "four")]).await;
    assert!(matches!(committed, Committed::NothingChanged(Cause::Unavailable(_))), "{committed:?}");
    assert!(scene.store.probe(&home()).await.is_err());
    fs::rename(&away, scene.file()).expect("moved back");
    scene.goes_on(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn h101_a_full_disk_is_unavailable_and_ends_without_a_restart() {
    let mut scene = Scene::with_calls().await;
    scene.spoil("PRAGMA max_page_count = 1").await;
    let many = (4..400).map(|seq| accept(Seq(seq), &format!("call-{seq}"))).collect();
    let committed = scene.try_commit(many).await;
    assert!(matches!(committed, Committed::NothingChanged(Cause::Unavailable(_))), "{committed:?}");
    scene.store.probe(&home()).await.expect("the next connection has room again");
    scene.goes_on(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn h101_a_probe_fails_while_there_is_no_room() {
    let scene = Scene::with_calls().await;
    scene.spoil("PRAGMA max_page_count = 1").await;
    let error = scene.store.probe(&home()).await.expect_err("there is no room");
    assert_eq!(error.kind, StoreErrorKind::Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_f3_after_a_failed_commit_nothing_is_written_before_a_reopen_and_then_all_goes_on() {
    let mut scene = Scene::with_calls().await;
    // A constraint that is checked at COMMIT, on the writer's connection alone.
    scene
        .meddle(
            "CREATE TABLE parent (id INTEGER PRIMARY KEY);
             CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
             CREATE TRIGGER orphan AFTER INSERT ON journal BEGIN INSERT INTO child VALUES (7); END;",
        )
        .await;
    scene.spoil("PRAGMA foreign_keys = ON").await;
    assert_eq!(scene.try_commit(vec![accept(Seq(4), "four")]).await, Committed::Unknown);
    let committed = scene.try_commit(vec![accept(Seq(4), "four")]).await;
    assert!(matches!(committed, Committed::NothingChanged(Cause::Unavailable(_))), "{committed:?}");
    assert_eq!(scene.store.reopen(&home()).await.expect("it opens again"), 2);
    scene.goes_on(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f2_after_a_refused_statement_later_commits_succeed() {
    let mut scene = Scene::with_calls().await;
    scene
        .meddle("CREATE TRIGGER poison BEFORE INSERT ON outbox WHEN NEW.journal & 0xff = 4 BEGIN SELECT RAISE(ABORT, 'poison'); END")
        .await;
    let committed = scene.try_commit(vec![accept(Seq(4), "four")]).await;
    assert!(
        matches!(&committed, Committed::NothingChanged(Cause::Refused(why)) if why.contains("poison")),
        "{committed:?}"
    );
    scene.goes_on(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_read_is_corrupt_with_its_table_and_id() {
    let cases = [
        ("UPDATE open_calls SET body = '{'", "table open_calls, row 1099511627777"),
        ("UPDATE journal SET body = '{}' WHERE id = 1099511627777", "table journal, row 1099511627777"),
        ("DELETE FROM journal WHERE id = 1099511627779", "table journal, row 1099511627779"),
        ("INSERT INTO outbox VALUES (1099511627777, 9)", "table outbox, row 1099511627777/9"),
        ("INSERT INTO records VALUES (1, 'wish', 'x', '{}')", "table records, row 1/wish/x"),
        ("INSERT INTO records VALUES (1, 'policy', '', '7')", "table records, row 1/policy/"),
        ("DELETE FROM descriptors", "table descriptors, row "),
        ("UPDATE workspaces SET time = 'noon'", "table workspaces, row 1"),
    ];
    for (damage, words) in cases {
        let scene = Scene::with_calls().await;
        scene.meddle(damage).await;
        let error = scene.store.open(&home()).await.expect_err(damage);
        assert_eq!(error.kind, StoreErrorKind::Corrupt, "{damage}: {error}");
        assert!(error.detail.contains(words), "{damage}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn call_13_a_tombstone_keeps_how_the_call_ended() {
    let scene = Scene::with_calls().await;
    scene.meddle(r#"UPDATE journal SET body = '{"class":"completed"}' WHERE id = 1099511627779"#).await;
    let needs = Needs { calls: vec![Seq(2)], ..Needs::default() };
    let fetched = scene.store.fetch(&home(), &needs).await.expect("facts are read");
    let finished = &fetched.calls[&Seq(2)];
    assert_eq!((finished.class, &finished.outcome), (OutcomeClass::Completed, &None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_that_two_keys_share_is_told_apart_by_the_full_key() {
    let scene = Scene::with_calls().await;
    let (other, ended) = (EntryKey::Call(address("other")), EntryKey::Call(address("ended")));
    let mut connection = connect::writer(&scene.file(), false).await.expect("the file opens");
    sqlx::query("UPDATE entries SET lookup = ? WHERE lookup = ?")
        .bind(other.lookup().to_vec())
        .bind(ended.lookup().to_vec())
        .execute(&mut connection)
        .await
        .expect("the lookup is changed");
    let needs = Needs { entries: vec![other], ..Needs::default() };
    assert!(scene.store.fetch(&home(), &needs).await.expect("facts are read").entries.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn g12_a_batch_is_one_query_and_a_fetch_is_one_query() {
    let mut scene = Scene::new().await;
    let before = scene.store.counters();
    let mut changes: Vec<_> = (1..=64).map(|seq| accept(Seq(seq), &format!("call-{seq}"))).collect();
    changes[0].descriptors.push(Arc::new(samples::descriptor()));
    scene.commit(changes).await;
    scene
        .commit((1..=64).map(|call| finish(Seq(64 + call), Seq(call), Seq(call), &format!("call-{call}"))).collect())
        .await;
    let entries: Vec<_> = (1..=64).map(|call| EntryKey::Call(address(&format!("call-{call}")))).collect();
    let needs = Needs { entries, ..Needs::default() };
    let fetched = scene.store.fetch(&home(), &needs).await.expect("facts are read");
    assert_eq!(fetched.entries.values().filter(|known| matches!(known, Known::Call(_))).count(), 64);
    let after = scene.store.counters();
    assert_eq!(after.commits - before.commits, 2);
    assert_eq!(after.write_queries - before.write_queries, 2);
    assert_eq!(after.reader_queries - before.reader_queries, 1);
    // Accepted: workspace, and a journal row, an entry, an open call and a message per call.
    // Ended: workspace, and a journal row, an ending, a message and a removed call per call.
    assert_eq!(after.rows - before.rows, (1 + 64 * 4 + 1) + (1 + 64 * 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn h104_b5_the_log_stays_bounded_while_somebody_does_not_listen_to_an_answer() {
    let mut scene = Scene::with_calls().await;
    let workspace = home();
    let mut held = scene.store.audit(&workspace, AuditQuery::Latest { limit: 100 });
    let waker = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(held.as_mut().poll(waker).is_pending());
    let data = Arc::new(serde_json::Value::String("x".repeat(250_000)));
    for seq in 4..64 {
        let mut change = accept(Seq(seq), &format!("call-{seq}"));
        let head = lineup_core::session::DocumentHead {
            session: Seq(1).app_session_id(),
            revision: seq,
            bytes: 250_002,
            digest: lineup_model::Digest::of_bytes(&seq.to_be_bytes()),
        };
        change.documents.push(lineup_core::workspace::change_set::Document { head, data: data.clone() });
        let committed = scene.store.commit(vec![scene.committer.next(vec![change])]).await;
        assert_eq!(committed, Committed::Committed);
        scene.committer.done();
    }
    let log = fs::metadata(beside(&scene.file(), "-wal")).expect("there is a log").len();
    assert!(log <= 12 << 20, "the log grew to {log} bytes");
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn g8_no_query_of_a_start_a_batch_or_a_fetch_walks_the_journal() {
    let scene = Scene::with_calls().await;
    let mut connection = connect::writer(&scene.file(), false).await.expect("the file opens");
    let reads = [open::CALLS, open::OUTBOX, read::NEEDS].map(str::to_owned);
    for sql in write::statements().into_iter().chain(reads).chain(read::seen_queries()) {
        let text = format!("EXPLAIN QUERY PLAN {sql}");
        let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut connection).await.expect("the plan is told");
        for row in rows {
            let step: String = row.get("detail");
            let tables = [
                "workspaces",
                "journal",
                "taking",
                "seen",
                "ending",
                "entries",
                "endings",
                "open_calls",
                "outbox",
                "records",
                "app_sessions",
                "documents",
                "descriptors",
                "refusals",
            ];
            let walks =
                |table: &&str| step.strip_prefix("SCAN ").is_some_and(|rest| rest.split(' ').next() == Some(*table));
            assert_eq!(tables.iter().find(|table| walks(table)), None, "{sql}: {step}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g8_a_page_of_a_conversation_is_read_from_its_place_on_and_is_sorted_as_it_is_read() {
    let scene = Scene::with_calls().await;
    let mut connection = connect::reader(&scene.file()).await.expect("the file opens");
    let by_place = "SEARCH seen USING INDEX journal_by_conversation (conversation=? AND rowid>? AND rowid<?)";
    let by_id = "SEARCH seen USING INTEGER PRIMARY KEY (rowid=?)";
    for (sql, first) in read::seen_queries().into_iter().zip([by_place, by_place, by_id]) {
        let text = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows = sqlx::query(text).fetch_all(&mut connection).await.expect("the plan is told");
        let steps: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        assert!(steps.iter().any(|step| step == first), "{sql}: {steps:?}");
        let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE"));
        assert_eq!(sorts, first == by_id, "{sql}: {steps:?}");
    }
}

#[test]
fn b4_every_transaction_takes_the_write_lock_at_once() {
    for source in
        [include_str!("writer.rs"), include_str!("write.rs"), include_str!("connect.rs"), include_str!("mod.rs")]
    {
        let code = source.split("#[cfg(test)]\nmod").next().unwrap_or(source);
        assert_eq!(code.matches("BEGIN").count(), code.matches("BEGIN IMMEDIATE").count());
        assert!(!code.contains(".begin("), "sqlx begins deferred transactions");
    }
}
