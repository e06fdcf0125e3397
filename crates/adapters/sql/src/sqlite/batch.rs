//! A batch of change sets as lists of rows, with everything collapsed that a later change of the
//! same batch overtakes.

use std::collections::{BTreeMap, BTreeSet};

use lineup_core::{
    ChangeSet, Kept, Seq,
    outbox::OutboxKey,
    workspace::change_set::{Document, EntryChange, EntryKey, RefusalCount},
};
use lineup_model::CallKey;
use serde::Serialize;

use super::{
    absent::Lookup,
    list::{List, Value},
};

/// Bits of a journal id that hold the place in the workspace's journal.
const PLACE_BITS: u32 = 40;

/// The id of a workspace's journal row.
pub(super) fn journal_id(workspace: i64, seq: Seq) -> Result<i64, String> {
    match i64::try_from(seq.0) {
        Ok(place) if place < 1 << PLACE_BITS => Ok(workspace << PLACE_BITS | place),
        _ => Err(format!("{seq} is not a place in a journal")),
    }
}

/// The place that a journal id names in its workspace.
pub(super) fn place(id: i64) -> Seq {
    Seq(id.unsigned_abs() & ((1 << PLACE_BITS) - 1))
}

/// The kinds in table `records`.
pub(super) mod kind {
    pub(in crate::sqlite) const ACTION: &str = "action";
    pub(in crate::sqlite) const INSTANCE: &str = "instance";
    pub(in crate::sqlite) const ACTIVATION: &str = "activation";
    pub(in crate::sqlite) const OPERATION: &str = "operation";
    pub(in crate::sqlite) const FOCUS: &str = "focus";
    pub(in crate::sqlite) const SURFACE: &str = "surface";
    pub(in crate::sqlite) const INBOX: &str = "inbox";
    pub(in crate::sqlite) const CONVERSATION: &str = "conversation";
    pub(in crate::sqlite) const POLICY: &str = "policy";
    pub(in crate::sqlite) const HOST_PROFILE: &str = "host_profile";
    pub(in crate::sqlite) const APP: &str = "app";
    pub(in crate::sqlite) const PUBLICATION: &str = "publication";
}

/// The lists that one query writes.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) workspaces: List,
    pub(super) journal: List,
    pub(super) entries: List,
    /// What the entries are looked up by.
    pub(super) lookups: Vec<Lookup>,
    pub(super) endings: List,
    pub(super) calls: List,
    pub(super) calls_gone: List,
    pub(super) outbox: List,
    pub(super) outbox_gone: List,
    pub(super) records: List,
    pub(super) records_gone: List,
    pub(super) sessions: List,
    pub(super) documents: List,
    pub(super) descriptors: List,
    pub(super) refusals: List,
}

/// What is collected before the lists are written; the last write of a key counts.
#[derive(Debug, Default)]
pub(super) struct Collector {
    batch: Batch,
    workspaces: BTreeMap<i64, (i64, i64, Option<String>)>,
    new_rows: BTreeSet<i64>,
    calls: BTreeMap<i64, Option<String>>,
    outbox: BTreeMap<(i64, u32), bool>,
    records: BTreeMap<(i64, &'static str, String), Option<String>>,
    sessions: BTreeMap<(i64, String), (String, u64, String)>,
    documents: BTreeMap<(i64, String), Document>,
    descriptors: BTreeMap<String, String>,
    refusals: BTreeMap<(i64, i64, &'static str, String, &'static str), u64>,
}

/// Why a change cannot be stored.
type Refused = String;

fn integer(value: u64) -> Result<Value, Refused> {
    i64::try_from(value).map(Value::Integer).map_err(|error| error.to_string())
}

fn text(value: &impl Serialize) -> Result<String, Refused> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

impl Collector {
    /// Adds the changes that one workspace decided, in order.
    pub(super) fn workspace(
        &mut self,
        no: i64,
        epoch: i64,
        last_batch: i64,
        changes: &[ChangeSet],
    ) -> Result<(), Refused> {
        let time = changes.iter().rev().find_map(|change| change.time.as_ref()).map(text).transpose()?;
        let earlier = self.workspaces.remove(&no).and_then(|(_, _, time)| time);
        self.workspaces.insert(no, (epoch, last_batch, time.or(earlier)));
        changes.iter().try_for_each(|change| self.change(no, change))
    }

    fn change(&mut self, no: i64, change: &ChangeSet) -> Result<(), Refused> {
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
            descriptors,
            apps,
            publications,
            refusals,
            time: _, // Written with the workspace's own row.
            volatile: _,
        } = change;
        let taken = self.entries(no, entries)?;
        for row in journal {
            let id = journal_id(no, row.seq)?;
            let here: Vec<&EntryKey> = taken.iter().filter(|(seq, _)| *seq == row.seq).map(|(_, key)| *key).collect();
            // A call's key is among its facts.
            let beside = here.into_iter().filter(|key| match (key, &row.body.call) {
                (EntryKey::Call(address), Some(facts)) => *address != facts.address,
                _ => true,
            });
            let beside = beside.collect();
            self.batch.journal.row([
                id.into(),
                row.origin.source.as_str().into(),
                row.origin.actor.clone().into(),
                row.happened.as_str().into(),
                row.subject.clone().into(),
                row.call.as_ref().map(ToString::to_string).into(),
                row.conversation.as_ref().map(ToString::to_string).into(),
                row.previous.map(|seq| integer(seq.0)).transpose()?.into(),
                row.code.map(lineup_model::ErrorCode::as_str).into(),
                row.at.wall.0.into(),
                integer(row.at.effective.0)?,
                super::stored::write(row, beside).map_err(|error| error.to_string())?.into(),
            ]);
            self.new_rows.insert(id);
            for index in 0..row.body.messages.len() {
                let index = u32::try_from(index).map_err(|error| error.to_string())?;
                self.outbox.insert((id, index), true);
            }
        }
        for (seq, key) in taken {
            if !self.new_rows.contains(&journal_id(no, seq)?) {
                return Err(format!("{key:?} names row {seq}, which is not in its batch"));
            }
        }
        for call in calls {
            let (key, body) = match call {
                Kept::Put(call) => (call.key(), Some(text(call)?)),
                Kept::Gone(key) => (key, None),
            };
            self.calls.insert(journal_id(no, place_of(key)?)?, body);
        }
        self.kept(no, kind::ACTION, actions, |action| action.seq.to_string(), ToString::to_string)?;
        self.kept(no, kind::INSTANCE, instances, |instance| instance.id.to_string(), ToString::to_string)?;
        self.kept(no, kind::ACTIVATION, activations, |activation| activation.id.to_string(), ToString::to_string)?;
        self.kept(no, kind::OPERATION, operations, |operation| operation.id.to_string(), ToString::to_string)?;
        let named = |(instance, surface): &(_, _)| format!("{instance}/{surface}");
        self.kept(no, kind::SURFACE, surfaces, |document| named(&document.key()), named)?;
        self.kept(no, kind::INBOX, inbox, |row| row.seq.to_string(), ToString::to_string)?;
        self.kept(no, kind::APP, apps, |app| app.manifest.app_scope.to_string(), ToString::to_string)?;
        for conversation in conversations {
            self.record(no, kind::CONVERSATION, conversation.id.to_string(), conversation)?;
        }
        for publication in publications {
            let id = format!("{}/{}", publication.agent, publication.conversation);
            self.record(no, kind::PUBLICATION, id, publication)?;
        }
        if let Some(focus) = focus {
            self.record(no, kind::FOCUS, String::new(), focus)?;
        }
        if let Some(policy) = policy {
            self.record(no, kind::POLICY, String::new(), policy)?;
        }
        if let Some(profile) = host_profile {
            self.record(no, kind::HOST_PROFILE, String::new(), profile)?;
        }
        for session in sessions {
            let row = (session.conversation.to_string(), session.opened.effective.0, text(session)?);
            self.sessions.insert((no, session.id.to_string()), row);
        }
        for document in documents {
            self.documents.insert((no, document.head.session.to_string()), document.clone());
        }
        for descriptor in descriptors {
            self.descriptors.insert(descriptor.digest().to_string(), text(descriptor)?);
        }
        for RefusalCount { source, actor, code, minute, count } in refusals {
            let key = (no, *minute, source.as_str(), actor.to_string(), code.as_str());
            *self.refusals.entry(key).or_default() += count;
        }
        for OutboxKey { seq, index } in outbox_removed {
            self.outbox.insert((journal_id(no, *seq)?, *index), false);
        }
        Ok(())
    }

    fn entries<'a>(&mut self, no: i64, entries: &'a [EntryChange]) -> Result<Vec<(Seq, &'a EntryKey)>, Refused> {
        let mut taken = Vec::new();
        for entry in entries {
            match entry {
                EntryChange::Taken { key, seq } => {
                    let lookup = key.lookup();
                    self.batch.lookups.push((no, lookup));
                    self.batch.entries.row([no.into(), Value::Bytes(lookup), integer(seq.0)?]);
                    taken.push((*seq, key));
                }
                EntryChange::Ended { key: _, seq, ended } => {
                    self.batch.endings.row([journal_id(no, *seq)?.into(), integer(ended.0)?]);
                }
            }
        }
        Ok(taken)
    }

    fn kept<T: Serialize, K>(
        &mut self,
        no: i64,
        kind: &'static str,
        changes: &[Kept<T, K>],
        id: impl Fn(&T) -> String,
        key: impl Fn(&K) -> String,
    ) -> Result<(), Refused> {
        for change in changes {
            match change {
                Kept::Put(record) => self.record(no, kind, id(record), &**record)?,
                Kept::Gone(gone) => {
                    self.records.insert((no, kind, key(gone)), None);
                }
            }
        }
        Ok(())
    }

    fn record(&mut self, no: i64, kind: &'static str, id: String, record: &impl Serialize) -> Result<(), Refused> {
        self.records.insert((no, kind, id), Some(text(record)?));
        Ok(())
    }

    /// The lists, collapsed.
    pub(super) fn finish(self) -> Result<Batch, Refused> {
        let Self {
            mut batch,
            workspaces,
            new_rows,
            calls,
            outbox,
            records,
            sessions,
            documents,
            descriptors,
            refusals,
        } = self;
        for (no, (epoch, last_batch, time)) in workspaces {
            batch.workspaces.row([no.into(), epoch.into(), last_batch.into(), time.into()]);
        }
        for (id, call) in calls {
            match call {
                Some(body) => batch.calls.row([id.into(), body.into()]),
                // A call that came and went in this batch was never stored.
                None if new_rows.contains(&id) => {}
                None => batch.calls_gone.row([id.into()]),
            }
        }
        for ((id, index), waits) in outbox {
            match waits {
                true => batch.outbox.row([id.into(), index.into()]),
                false if new_rows.contains(&id) => {}
                false => batch.outbox_gone.row([id.into(), index.into()]),
            }
        }
        for ((no, kind, id), body) in records {
            match body {
                Some(body) => batch.records.row([no.into(), kind.into(), id.into(), body.into()]),
                None => batch.records_gone.row([no.into(), kind.into(), id.into()]),
            }
        }
        for ((no, id), (conversation, opened, body)) in sessions {
            batch.sessions.row([no.into(), id.into(), conversation.into(), integer(opened)?, body.into()]);
        }
        for ((no, session), Document { head, data }) in documents {
            batch.documents.row([
                no.into(),
                session.into(),
                integer(head.revision)?,
                integer(head.bytes)?,
                head.digest.to_string().into(),
                text(&data)?.into(),
            ]);
        }
        for (digest, body) in descriptors {
            batch.descriptors.row([digest.into(), body.into()]);
        }
        for ((no, minute, source, actor, code), count) in refusals {
            batch.refusals.row([no.into(), minute.into(), source.into(), actor.into(), code.into(), integer(count)?]);
        }
        Ok(batch)
    }
}

fn place_of(key: &CallKey) -> Result<Seq, Refused> {
    Seq::of_call(key).ok_or_else(|| format!("{key} is not the key of an accepted call"))
}

/// The digits of a lookup, as SQL's `unhex` reads them.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).expect("four bits are one digit"));
        }
        text
    })
}
