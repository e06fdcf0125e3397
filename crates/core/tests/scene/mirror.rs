//! The records that a store would hold, to compare what is live with what a restart would find.

use lineup_core::{
    ChangeSet, Kept, Records, Volatile, Workspace,
    outbox::{OutboxKey, OutboxRow},
};

/// Applies change sets as a store does: each kind of record by its own key, in the order given.
#[derive(Default)]
pub struct Mirror {
    records: Records,
}

fn keep<T: Clone, K: PartialEq>(rows: &mut Vec<T>, changes: &[Kept<T, K>], key: impl Fn(&T) -> K) {
    for change in changes {
        match change {
            Kept::Put(row) => {
                rows.retain(|old| key(old) != key(row));
                rows.push(T::clone(row));
            }
            Kept::Gone(gone) => rows.retain(|old| key(old) != *gone),
        }
    }
}

impl Mirror {
    pub fn keep(&mut self, changes: &ChangeSet) {
        let records = &mut self.records;
        for row in &changes.journal {
            records.last = row.seq;
            for (index, sent) in row.body.messages.iter().enumerate() {
                let key = OutboxKey { seq: row.seq, index: u32::try_from(index).unwrap() };
                records.outbox.push(OutboxRow {
                    key,
                    recipient: sent.recipient.clone(),
                    message: sent.message.clone(),
                });
            }
        }
        records.outbox.retain(|row| !changes.outbox_removed.contains(&row.key));
        keep(&mut records.calls, &changes.calls, |call| call.key().clone());
        keep(&mut records.actions, &changes.actions, |action| action.seq);
        keep(&mut records.instances, &changes.instances, |instance| instance.id.clone());
        keep(&mut records.activations, &changes.activations, |activation| activation.id.clone());
        keep(&mut records.operations, &changes.operations, |operation| operation.id.clone());
        keep(&mut records.inbox, &changes.inbox, |row| row.seq);
        keep(&mut records.apps, &changes.apps, |installed| installed.manifest.app_scope.clone());
        for session in &changes.sessions {
            records.sessions.retain(|old| old.id != session.id);
            records.sessions.push(session.as_ref().clone());
        }
        for document in &changes.documents {
            records.documents.retain(|old| old.session != document.head.session);
            records.documents.push(document.head.clone());
        }
        keep(&mut records.surfaces, &changes.surfaces, lineup_core::surface::SurfaceDocument::key);
        for conversation in &changes.conversations {
            records.conversations.retain(|old| old.id != conversation.id);
            records.conversations.push(conversation.as_ref().clone());
        }
        for publication in &changes.publications {
            records
                .publications
                .retain(|old| (&old.agent, &old.conversation) != (&publication.agent, &publication.conversation));
            records.publications.push(publication.as_ref().clone());
        }
        records.descriptors.extend(changes.descriptors.iter().cloned());
        if let Some(focus) = &changes.focus {
            records.focus = focus.clone();
        }
        if let Some(policy) = &changes.policy {
            records.policy = policy.as_ref().clone();
        }
        if let Some(profile) = &changes.host_profile {
            records.host_profile = profile.as_ref().clone();
        }
    }

    /// The workspace as a restart would find it, with the Hosts of `live`.
    pub fn restored(&self, live: &Workspace) -> Workspace {
        let mut records = self.records.clone();
        records.sessions.retain(|session| session.closed.is_none());
        let open: Vec<_> = records.sessions.iter().map(|session| session.id.clone()).collect();
        records.documents.retain(|document| open.contains(&document.session));
        let mut restored = Workspace::restore(live.id().clone(), records);
        let hosts = live.hosts().map(|(id, session)| Volatile::HostSession(id.clone(), **session));
        restored.apply(&ChangeSet { volatile: hosts.collect(), ..ChangeSet::default() });
        restored
    }
}
