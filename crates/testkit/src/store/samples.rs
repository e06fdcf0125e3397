//! Change sets of the shapes that a workspace decides, made by hand.

use std::{collections::BTreeMap, sync::Arc};

use lineup_core::{
    ChangeSet, Kept, Seq, TimeLine,
    call::{Address, Call, CallFacts, CallState},
    journal::{Addressed, Body, Happened, JournalRow, Origin, Source},
    workspace::change_set::{EntryChange, EntryKey},
};
use lineup_model::{
    AgentId, AppScope, CallId, ConversationId, Descriptor, Digest, Effective, Generation, Instant, Revision, ToolId,
    Wall, WorkspaceId,
    message::{AgentBody, AgentMessage, End, Outcome, Receipt, Stage},
};
use lineup_ports::outbound::{Commit, Epoch, Opened};
use serde_json::json;

/// A moment, so many milliseconds after effective time began.
#[must_use]
pub fn at(millis: u64) -> Instant {
    let wall = 1_764_000_000_000 + i64::try_from(millis).expect("a sample's time is small");
    Instant { effective: Effective(millis), wall: Wall(wall) }
}

/// The workspace `home`.
///
/// # Panics
/// Never.
#[must_use]
pub fn home() -> WorkspaceId {
    WorkspaceId::new("home").expect("a plain word is an id")
}

/// The agent `ada`.
///
/// # Panics
/// Never.
#[must_use]
pub fn ada() -> AgentId {
    AgentId::new("ada").expect("a plain word is an id")
}

/// The conversation `main`.
///
/// # Panics
/// Never.
#[must_use]
pub fn main() -> ConversationId {
    ConversationId::new("main").expect("a plain word is an id")
}

/// The address of a call of ada's in `main`.
///
/// # Panics
/// When the text is not a call id.
#[must_use]
pub fn address(call_id: &str) -> Address {
    Address { conversation: main(), agent: ada(), call_id: CallId::new(call_id).expect("a sample's call id is one") }
}

/// A tool's descriptor.
///
/// # Panics
/// Never.
#[must_use]
pub fn descriptor() -> Descriptor {
    serde_json::from_value(json!({
        "id": "pomodoro.status",
        "app_scope": "pomodoro",
        "method": "status",
        "contract_version": 1,
        "description": "Tells how the focus period stands.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": false},
        "output_schema": {"type": "object", "properties": {}, "additionalProperties": false},
        "invocation": "query",
        "readiness": "app_ready",
        "executor": {"kind": "miniapp_sdk"},
        "permissions": [],
        "risk": "low",
        "visibility": "visible",
        "timeout_ms": 60_000,
        "terminal": {"agent_may_cancel": false},
        "operation": {},
        "target": {"restore_previous_focus": false},
        "host_requirements": [],
        "handling": "launch"
    }))
    .expect("the sample is a descriptor")
}

/// What is fixed at the acceptance of a call at this place.
///
/// # Panics
/// When the text is not a call id.
#[must_use]
pub fn facts(seq: Seq, call_id: &str) -> CallFacts {
    CallFacts {
        key: seq.call_key(),
        address: address(call_id),
        tool: ToolId::new("pomodoro.status").expect("two plain words are a tool id"),
        contract_version: 1,
        descriptor: descriptor().digest(),
        revision: Revision(Digest::of_bytes(b"revision")),
        content: Digest::of_bytes(call_id.as_bytes()),
        app_scope: AppScope::new("pomodoro").expect("a plain word is a scope"),
        input: Arc::new(json!({"label": "deep work", "minutes": 25, "share": 0.1})),
        accepted: at(seq.0),
        expires: None,
    }
}

/// A journal row about a call.
#[must_use]
pub fn row(seq: Seq, happened: Happened, call: Seq, previous: Option<Seq>, body: Body) -> JournalRow {
    JournalRow {
        seq,
        origin: Origin::new(Source::AgentTool, "ada"),
        happened,
        subject: call.call_key().as_str().into(),
        call: Some(call.call_key()),
        conversation: body.call.as_ref().map(|facts| facts.address.conversation.clone()),
        previous,
        code: None,
        at: at(seq.0),
        body,
    }
}

/// A message of the row at this place to ada.
#[must_use]
pub fn message(seq: Seq, index: usize, body: AgentBody) -> Addressed {
    Addressed {
        recipient: ada(),
        message: Arc::new(AgentMessage { id: seq.message_id(index), conversation: main(), body }),
    }
}

/// The acceptance of a call: journal with receipt, entry, open call, time.
///
/// # Panics
/// When the text is not a call id.
#[must_use]
pub fn accept(seq: Seq, call_id: &str) -> ChangeSet {
    let facts = Arc::new(facts(seq, call_id));
    let receipt = Receipt {
        call_id: facts.address.call_id.clone(),
        seq: 1,
        stage: Stage::Accepted,
        app_scope: facts.app_scope.clone(),
        reason: None,
        progress: None,
    };
    let receipt = message(seq, 0, AgentBody::Receipt(receipt));
    let call = Call {
        facts: facts.clone(),
        last: seq,
        state: CallState::Running { generation: Generation(1), since: Effective(seq.0) },
        instance: Some(Seq(1).instance_id()),
        caused_activation: false,
        receipts: 1,
        latest: Some(receipt.message.clone()),
        attempts: 1,
        steps: BTreeMap::new(),
        staged: None,
    };
    let key = EntryKey::Call(facts.address.clone());
    let body = Body { call: Some(facts), messages: vec![receipt], detail: None };
    ChangeSet {
        journal: vec![row(seq, Happened::CallAccepted, seq, None, body)],
        entries: vec![EntryChange::Taken { key, seq }],
        calls: vec![Kept::Put(Arc::new(call))],
        descriptors: vec![],
        time: Some(time(seq.0)),
        ..ChangeSet::default()
    }
}

/// The outcome of a call that was accepted at `call`, with `previous` as its latest row.
///
/// # Panics
/// When the text is not a call id.
#[must_use]
pub fn finish(seq: Seq, call: Seq, previous: Seq, call_id: &str) -> ChangeSet {
    let body = Body { messages: vec![message(seq, 0, outcome(call_id))], ..Body::default() };
    ChangeSet {
        journal: vec![row(seq, Happened::CallEnded, call, Some(previous), body)],
        entries: vec![EntryChange::Ended { key: EntryKey::Call(address(call_id)), seq: call, ended: seq }],
        calls: vec![Kept::Gone(call.call_key())],
        time: Some(time(seq.0)),
        ..ChangeSet::default()
    }
}

/// The outcome of a call.
///
/// # Panics
/// When the text is not a call id.
#[must_use]
pub fn outcome(call_id: &str) -> AgentBody {
    AgentBody::Outcome(Outcome {
        call_id: CallId::new(call_id).expect("a sample's call id is one"),
        end: End::Completed { result: json!({"status": "running", "remaining_ms": 1_499_000}) },
    })
}

/// The time line after so many milliseconds.
#[must_use]
pub fn time(millis: u64) -> TimeLine {
    TimeLine { effective: Effective(millis), boot: "boot-1".to_owned(), boot_ms: millis, wall: at(millis).wall }
}

/// Numbers the batches of one opened workspace.
#[derive(Clone, Debug)]
pub struct Committer {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The owner's epoch.
    pub epoch: Epoch,
    /// The last batch that was committed.
    pub number: u64,
}

impl Committer {
    /// Follows on what the store opened.
    #[must_use]
    pub fn of(workspace: WorkspaceId, opened: &Opened) -> Self {
        Self { workspace, epoch: opened.epoch, number: opened.last_batch }
    }

    /// The next batch. It counts as committed once [`Committer::next`] is called again after
    /// [`Committer::done`].
    #[must_use]
    pub fn next(&self, changes: Vec<ChangeSet>) -> Commit {
        Commit { workspace: self.workspace.clone(), epoch: self.epoch, number: self.number + 1, changes }
    }

    /// The batch was committed.
    pub fn done(&mut self) {
        self.number += 1;
    }
}
