//! A store without a disk, with the semantics of one.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use lineup_core::{
    ChangeSet, Kept, Known, Needs, Records, Seq, TimeLine,
    action::Action,
    activation::Activation,
    call::Call,
    focus::FocusStack,
    inbox::InboxRow,
    instance::Instance,
    journal::{Happened, JournalRow},
    operation::Operation,
    outbox::{OutboxKey, OutboxRow},
    policy::{Conversation, HostProfile, Policy},
    registry::Installed,
    session::AppSession,
    surface::SurfaceDocument,
    workspace::{
        change_set::{Document, EntryChange, EntryKey, Publication, RefusalCount},
        facts::{Fetched, FinishedCall},
    },
};
use lineup_model::{
    ActivationId, AgentId, AppScope, AppSessionId, CallKey, ConversationId, Descriptor, Digest, ErrorCode, InstanceId,
    Method, OperationId, WorkspaceId, message::AgentBody,
};
use lineup_ports::{
    inbound::Range,
    outbound::{
        AuditQuery, AuditRow, Cause, Commit, Committed, Epoch, Opened, Store, StoreCapabilities, StoreError,
        StoreErrorKind,
    },
};
use serde_json::json;

/// What the next commit is answered instead of being tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scripted {
    /// [`Committed::NothingChanged`], for this cause.
    NothingChanged(Cause),
    /// [`Committed::Unknown`], and the batch is lost.
    UnknownAndLost,
    /// [`Committed::Unknown`], and the batch is durable.
    UnknownAndDurable,
    /// [`Committed::Fenced`].
    Fenced,
}

/// Remembers workspaces for as long as it lives. Clones share the data: a clone is another process
/// on the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    data: Arc<Mutex<Data>>,
}

#[derive(Debug, Default)]
struct Data {
    workspaces: BTreeMap<WorkspaceId, Tables>,
    descriptors: BTreeMap<Digest, Arc<Descriptor>>,
    script: VecDeque<Scripted>,
    in_doubt: bool,
    full: bool,
    commits: u64,
    fetches: u64,
}

#[derive(Debug, Default)]
struct Tables {
    epoch: u64,
    last_batch: u64,
    time: Option<TimeLine>,
    journal: BTreeMap<Seq, Arc<JournalRow>>,
    entries: BTreeMap<EntryKey, Seq>,
    endings: BTreeMap<Seq, Seq>,
    calls: BTreeMap<Seq, Arc<Call>>,
    actions: BTreeMap<Seq, Arc<Action>>,
    instances: BTreeMap<InstanceId, Arc<Instance>>,
    activations: BTreeMap<ActivationId, Arc<Activation>>,
    operations: BTreeMap<OperationId, Arc<Operation>>,
    /// With the order in which they were first written.
    sessions: BTreeMap<AppSessionId, (usize, Arc<AppSession>)>,
    documents: BTreeMap<AppSessionId, Document>,
    surfaces: BTreeMap<(InstanceId, Method), Arc<SurfaceDocument>>,
    focus: FocusStack,
    inbox: BTreeMap<Seq, Arc<InboxRow>>,
    outbox: BTreeSet<OutboxKey>,
    conversations: BTreeMap<ConversationId, Arc<Conversation>>,
    policy: Arc<Policy>,
    host_profile: Arc<HostProfile>,
    apps: BTreeMap<AppScope, Arc<Installed>>,
    publications: BTreeMap<(AgentId, ConversationId), Arc<Publication>>,
    refusals: BTreeMap<(i64, lineup_core::journal::Source, Arc<str>, ErrorCode), u64>,
}

impl MemoryStore {
    /// A new, empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Scripts the answers of the next commits, one each; later ones are tried again.
    pub fn script(&self, answers: impl IntoIterator<Item = Scripted>) {
        self.data().script.extend(answers);
    }

    /// Fills the disk up, or makes room: while it is full every commit and probe is `Unavailable`.
    pub fn fill(&self, full: bool) {
        self.data().full = full;
    }

    /// How many batches became durable.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.data().commits
    }

    /// How often facts were fetched.
    #[must_use]
    pub fn fetches(&self) -> u64 {
        self.data().fetches
    }

    /// A digest of everything stored, for comparing two runs.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let data = self.data();
        Digest::of_bytes(format!("{:?}\n{:?}", data.workspaces, data.descriptors).as_bytes())
    }

    /// The journal of a workspace, oldest first.
    #[must_use]
    pub fn journal(&self, workspace: &WorkspaceId) -> Vec<Arc<JournalRow>> {
        self.data().workspaces.get(workspace).map_or_else(Vec::new, |tables| tables.journal.values().cloned().collect())
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(kind: StoreErrorKind, operation: &'static str, detail: impl Into<String>) -> StoreError {
    StoreError { kind, operation, detail: detail.into(), source: None }
}

impl Data {
    fn tables(&self, workspace: &WorkspaceId, operation: &'static str) -> Result<&Tables, StoreError> {
        self.workspaces.get(workspace).ok_or_else(|| {
            failure(StoreErrorKind::Unavailable, operation, format!("workspace {workspace} is not open"))
        })
    }

    fn commit(&mut self, batch: &[Commit]) -> Committed {
        if batch.is_empty() {
            return Committed::Committed;
        }
        if self.in_doubt {
            let why = "a commit has an unknown outcome; the store must be opened again".to_owned();
            return Committed::NothingChanged(Cause::Unavailable(why));
        }
        let scripted = self.script.pop_front();
        match scripted {
            Some(Scripted::NothingChanged(cause)) => return Committed::NothingChanged(cause),
            Some(Scripted::Fenced) => return Committed::Fenced,
            Some(Scripted::UnknownAndLost) => {
                self.in_doubt = true;
                return Committed::Unknown;
            }
            Some(Scripted::UnknownAndDurable) | None => {}
        }
        if self.full {
            return Committed::NothingChanged(Cause::Unavailable("the disk is full".to_owned()));
        }
        if let Err(refused) = self.check(batch) {
            return refused;
        }
        for Commit { workspace, epoch: _, number, changes } in batch {
            let Some(tables) = self.workspaces.get_mut(workspace) else { continue };
            tables.last_batch = *number;
            for change in changes {
                for descriptor in &change.descriptors {
                    self.descriptors.entry(descriptor.digest()).or_insert_with(|| descriptor.clone());
                }
                tables.apply(change);
            }
        }
        self.commits += 1;
        if scripted == Some(Scripted::UnknownAndDurable) {
            self.in_doubt = true;
            return Committed::Unknown;
        }
        Committed::Committed
    }

    /// Everything that can refuse a batch, before anything changes.
    fn check(&self, batch: &[Commit]) -> Result<(), Committed> {
        let refused = |why: String| Err(Committed::NothingChanged(Cause::Refused(why)));
        let mut last: BTreeMap<&WorkspaceId, u64> = BTreeMap::new();
        let mut rows: BTreeSet<(&WorkspaceId, Seq)> = BTreeSet::new();
        let mut keys: BTreeSet<(&WorkspaceId, &EntryKey)> = BTreeSet::new();
        let mut ended: BTreeSet<(&WorkspaceId, Seq)> = BTreeSet::new();
        for Commit { workspace, epoch, number, changes } in batch {
            let Some(tables) = self.workspaces.get(workspace) else {
                return refused(format!("workspace {workspace} is not open"));
            };
            if epoch.0 != tables.epoch {
                return Err(Committed::Fenced);
            }
            let before = last.insert(workspace, *number).unwrap_or(tables.last_batch);
            if *number != before + 1 {
                return refused(format!("batch {number} of workspace {workspace} does not follow batch {before}"));
            }
            for change in changes {
                for row in &change.journal {
                    if tables.journal.contains_key(&row.seq) || !rows.insert((workspace, row.seq)) {
                        return refused(format!("journal row {} is there", row.seq));
                    }
                }
                for entry in &change.entries {
                    match entry {
                        EntryChange::Taken { key, seq } => {
                            if !rows.contains(&(workspace, *seq)) {
                                return refused(format!("{key:?} names row {seq}, which is not in its batch"));
                            }
                            if tables.entries.contains_key(key) || !keys.insert((workspace, key)) {
                                return Err(Committed::NothingChanged(Cause::EntryKnown));
                            }
                        }
                        EntryChange::Ended { key: _, seq, ended: _ } => {
                            if tables.endings.contains_key(seq) || !ended.insert((workspace, *seq)) {
                                return refused(format!("what row {seq} took in has ended"));
                            }
                        }
                    }
                }
                for call in &change.calls {
                    let key = match call {
                        Kept::Put(call) => call.key(),
                        Kept::Gone(key) => key,
                    };
                    if Seq::of_call(key).is_none() {
                        return refused(format!("{key} is not the key of an accepted call"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Puts and removes records.
fn keep<T, C, K: Ord>(
    table: &mut BTreeMap<K, Arc<T>>,
    changes: &[Kept<T, C>],
    put: impl Fn(&T) -> K,
    gone: impl Fn(&C) -> K,
) {
    for change in changes {
        match change {
            Kept::Put(record) => {
                table.insert(put(record), record.clone());
            }
            Kept::Gone(key) => {
                table.remove(&gone(key));
            }
        }
    }
}

impl Tables {
    fn apply(&mut self, change: &ChangeSet) {
        let ChangeSet {
            journal,
            entries,
            calls,
            actions,
            instances,
            activations,
            operations,
            sessions,
            documents,
            surfaces,
            focus,
            inbox,
            outbox_removed,
            conversations,
            policy,
            host_profile,
            descriptors: _,
            apps,
            publications,
            refusals,
            time,
            volatile: _,
        } = change;
        for row in journal {
            self.journal.insert(row.seq, Arc::new(row.clone()));
            for index in (0_u32..).take(row.body.messages.len()) {
                self.outbox.insert(OutboxKey { seq: row.seq, index });
            }
        }
        for entry in entries {
            match entry {
                EntryChange::Taken { key, seq } => self.entries.insert(key.clone(), *seq),
                EntryChange::Ended { key: _, seq, ended } => self.endings.insert(*seq, *ended),
            };
        }
        let place = |key: &CallKey| Seq::of_call(key).expect("the batch was checked");
        keep(&mut self.calls, calls, |call| place(call.key()), place);
        keep(&mut self.actions, actions, |action| action.seq, |seq| *seq);
        keep(&mut self.instances, instances, |instance| instance.id.clone(), Clone::clone);
        keep(&mut self.activations, activations, |activation| activation.id.clone(), Clone::clone);
        keep(&mut self.operations, operations, |operation| operation.id.clone(), Clone::clone);
        keep(&mut self.surfaces, surfaces, SurfaceDocument::key, Clone::clone);
        keep(&mut self.inbox, inbox, |row| row.seq, |seq| *seq);
        keep(&mut self.apps, apps, |app| app.manifest.app_scope.clone(), Clone::clone);
        for session in sessions {
            let order = self.sessions.get(&session.id).map_or(self.sessions.len(), |(order, _)| *order);
            self.sessions.insert(session.id.clone(), (order, session.clone()));
        }
        for document in documents {
            self.documents.insert(document.head.session.clone(), document.clone());
        }
        for key in outbox_removed {
            self.outbox.remove(key);
        }
        for conversation in conversations {
            self.conversations.insert(conversation.id.clone(), conversation.clone());
        }
        for publication in publications {
            let key = (publication.agent.clone(), publication.conversation.clone());
            self.publications.insert(key, publication.clone());
        }
        for RefusalCount { source, actor, code, minute, count } in refusals {
            *self.refusals.entry((*minute, *source, actor.clone(), *code)).or_default() += count;
        }
        self.focus = focus.clone().unwrap_or(std::mem::take(&mut self.focus));
        self.policy = policy.clone().unwrap_or(self.policy.clone());
        self.host_profile = host_profile.clone().unwrap_or(self.host_profile.clone());
        self.time = time.clone().or(self.time.take());
    }

    fn records(&self, descriptors: &BTreeMap<Digest, Arc<Descriptor>>) -> Result<Records, StoreError> {
        const OPERATION: &str = "open the workspace";
        fn all<K, T: Clone>(table: &BTreeMap<K, Arc<T>>) -> Vec<T> {
            table.values().map(|record| T::clone(record)).collect()
        }
        let live: BTreeSet<&AppSessionId> = self.instances.values().map(|instance| &instance.session).collect();
        let mut needed: BTreeMap<Digest, Arc<Descriptor>> = self
            .apps
            .values()
            .flat_map(|app| app.manifest.tools.iter())
            .map(|tool| (tool.digest(), Arc::new(tool.clone())))
            .collect();
        for call in self.calls.values() {
            let digest = &call.facts.descriptor;
            if !needed.contains_key(digest) {
                let descriptor = descriptors.get(digest).ok_or_else(|| {
                    failure(StoreErrorKind::Corrupt, OPERATION, format!("table descriptors, row {digest} is missing"))
                })?;
                needed.insert(digest.clone(), descriptor.clone());
            }
        }
        let outbox = self.outbox.iter().map(|key| {
            let message = usize::try_from(key.index)
                .ok()
                .and_then(|index| self.journal.get(&key.seq)?.body.messages.get(index))
                .ok_or_else(|| failure(StoreErrorKind::Corrupt, OPERATION, format!("table outbox, row {key:?}")))?;
            Ok(OutboxRow { key: *key, recipient: message.recipient.clone(), message: message.message.clone() })
        });
        Ok(Records {
            last: self.journal.keys().last().copied().unwrap_or_default(),
            time: self.time.clone(),
            calls: all(&self.calls),
            actions: all(&self.actions),
            instances: all(&self.instances),
            activations: all(&self.activations),
            operations: all(&self.operations),
            sessions: live
                .iter()
                .filter_map(|id| self.sessions.get(*id))
                .map(|(_, session)| AppSession::clone(session))
                .collect(),
            documents: live.iter().filter_map(|id| self.documents.get(*id)).map(|found| found.head.clone()).collect(),
            surfaces: all(&self.surfaces),
            focus: self.focus.clone(),
            inbox: all(&self.inbox),
            outbox: outbox.collect::<Result<_, StoreError>>()?,
            conversations: all(&self.conversations),
            policy: Policy::clone(&self.policy),
            host_profile: HostProfile::clone(&self.host_profile),
            descriptors: needed.into_values().collect(),
            apps: all(&self.apps),
            publications: all(&self.publications),
        })
    }

    /// The call that was accepted at this place, if it has its outcome.
    fn finished(&self, seq: Seq) -> Option<Arc<FinishedCall>> {
        let facts = self.journal.get(&seq)?.body.call.clone()?;
        let ending = self.journal.get(self.endings.get(&seq)?)?;
        ending.body.messages.iter().find_map(|addressed| match &addressed.message.body {
            AgentBody::Outcome(outcome) if outcome.call_id == facts.address.call_id => Some(Arc::new(FinishedCall {
                facts: facts.clone(),
                class: outcome.end.class(),
                outcome: Some(addressed.message.clone()),
            })),
            _ => None,
        })
    }

    fn fetch(&self, needs: &Needs) -> Fetched {
        let Needs { entries, calls, documents } = needs;
        let known = |key: &EntryKey| {
            let seq = *self.entries.get(key)?;
            let known = match key {
                EntryKey::Call(_) => Known::Call(self.finished(seq)?),
                EntryKey::Text { .. } | EntryKey::Action { .. } | EntryKey::Intent { .. } => Known::Taken,
            };
            Some((key.clone(), known))
        };
        let document = |session: &AppSessionId| {
            let found = self.documents.get(session)?;
            Some((session.clone(), (found.head.revision, found.data.clone())))
        };
        Fetched {
            entries: entries.iter().filter_map(known).collect(),
            calls: calls.iter().filter_map(|seq| Some((*seq, self.finished(*seq)?))).collect(),
            documents: documents.iter().filter_map(document).collect(),
        }
    }

    fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        let take = |limit: &u32| usize::try_from(*limit).unwrap_or(usize::MAX);
        let newest = self.journal.values().rev();
        match query {
            AuditQuery::Latest { limit } => newest.take(take(limit)).map(told).collect(),
            AuditQuery::Calls { limit } => {
                newest.filter(|row| row.happened == Happened::CallAccepted).take(take(limit)).map(told).collect()
            }
            AuditQuery::Story { call } => {
                let mut story = Vec::new();
                if self.journal.get(call).is_some_and(|row| row.happened == Happened::CallAccepted) {
                    let last = self.endings.get(call).copied().or_else(|| Some(self.calls.get(call)?.last));
                    let mut next = last.and_then(|seq| self.journal.get(&seq));
                    while let Some(row) = next {
                        story.push(told(row)?);
                        next = row.previous.and_then(|seq| self.journal.get(&seq));
                    }
                }
                story.reverse();
                Ok(story)
            }
            AuditQuery::Conversation { conversation, range, limit } => {
                let seen = |row: &&Arc<JournalRow>| row.conversation.as_ref() == Some(conversation);
                let whole = |row: &Arc<JournalRow>| {
                    let ended = self.endings.get(&row.seq).and_then(|seq| self.journal.get(seq)).map(told);
                    Ok(AuditRow { ended: ended.transpose()?.map(Box::new), ..told(row)? })
                };
                match range {
                    Range::Before(place) => {
                        let rows = self.journal.range(..place.unwrap_or(Seq(u64::MAX))).rev();
                        rows.map(|(_, row)| row).filter(seen).take(take(limit)).map(whole).collect()
                    }
                    Range::After(place) => {
                        let rows = self.journal.range((Bound::Excluded(*place), Bound::Unbounded));
                        rows.map(|(_, row)| row).filter(seen).take(take(limit)).map(whole).collect()
                    }
                    Range::At(places) => {
                        let places: BTreeSet<&Seq> = places.iter().collect();
                        let rows = places.into_iter().filter_map(|place| self.journal.get(place));
                        rows.filter(seen).take(take(limit)).map(whole).collect()
                    }
                }
            }
            AuditQuery::Refusals { limit } => {
                let mut rows: Vec<_> = self.refusals.iter().collect();
                rows.sort_by_key(|((minute, source, actor, code), _)| {
                    (std::cmp::Reverse(*minute), source.as_str(), actor.clone(), code.as_str())
                });
                let rows = rows.into_iter().take(take(limit)).map(|((minute, source, actor, code), count)| AuditRow {
                    seq: Seq(0),
                    source: source.as_str().to_owned(),
                    actor: actor.to_string(),
                    happened: "refused".to_owned(),
                    subject: actor.to_string(),
                    call: None,
                    code: Some(code.to_string()),
                    wall: minute.saturating_mul(60_000),
                    effective: 0,
                    body: json!({ "count": count }),
                    ended: None,
                });
                Ok(rows.collect())
            }
        }
    }
}

fn told(row: &Arc<JournalRow>) -> Result<AuditRow, StoreError> {
    let body = serde_json::to_value(&row.body).map_err(|error| {
        failure(StoreErrorKind::Corrupt, "read the audit", format!("table journal, row {}: {error}", row.seq))
    })?;
    Ok(AuditRow {
        seq: row.seq,
        source: row.origin.source.as_str().to_owned(),
        actor: row.origin.actor.to_string(),
        happened: row.happened.as_str().to_owned(),
        subject: row.subject.to_string(),
        call: row.call.clone(),
        code: row.code.map(|code| code.to_string()),
        wall: row.at.wall.0,
        effective: row.at.effective.0,
        body,
        ended: None,
    })
}

#[async_trait]
impl Store for MemoryStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities::single_process()
    }

    async fn open(&self, workspace: &WorkspaceId) -> Result<Opened, StoreError> {
        let mut data = self.data();
        let Data { workspaces, descriptors, .. } = &mut *data;
        let tables = workspaces.entry(workspace.clone()).or_default();
        let records = tables.records(descriptors)?;
        tables.epoch += 1;
        Ok(Opened { epoch: Epoch(tables.epoch), last_batch: tables.last_batch, records })
    }

    async fn commit(&self, batch: Vec<Commit>) -> Committed {
        self.data().commit(&batch)
    }

    async fn close(&self) {}

    async fn reopen(&self, workspace: &WorkspaceId) -> Result<u64, StoreError> {
        let mut data = self.data();
        if data.full {
            return Err(failure(StoreErrorKind::Unavailable, "open the data again", "the disk is full"));
        }
        let last = data.tables(workspace, "open the data again")?.last_batch;
        data.in_doubt = false;
        Ok(last)
    }

    async fn probe(&self, _workspace: &WorkspaceId) -> Result<(), StoreError> {
        if self.data().full {
            return Err(failure(StoreErrorKind::Unavailable, "probe the store", "the disk is full"));
        }
        Ok(())
    }

    async fn fetch(&self, workspace: &WorkspaceId, needs: &Needs) -> Result<Fetched, StoreError> {
        if needs.is_empty() {
            return Ok(Fetched::default());
        }
        let mut data = self.data();
        data.fetches += 1;
        Ok(data.tables(workspace, "fetch what was asked for")?.fetch(needs))
    }

    async fn audit(&self, workspace: &WorkspaceId, query: AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        self.data().tables(workspace, "read the audit")?.audit(&query)
    }

    async fn sessions(
        &self,
        workspace: &WorkspaceId,
        conversation: &ConversationId,
        limit: u32,
    ) -> Result<Vec<AppSession>, StoreError> {
        let data = self.data();
        let tables = data.tables(workspace, "read the App sessions")?;
        let mut found: Vec<_> =
            tables.sessions.values().filter(|(_, session)| session.conversation == *conversation).collect();
        found.sort_by_key(|(order, session)| std::cmp::Reverse((session.opened.effective, *order)));
        let newest = found.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(newest.map(|(_, session)| AppSession::clone(session)).collect())
    }
}
