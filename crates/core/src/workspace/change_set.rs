//! Everything that one decision changes.

use std::sync::Arc;

use lineup_model::{
    ActionId, ActivationId, AgentId, AppScope, CallKey, ConversationId, Descriptor, Digest, ErrorCode, HostSessionId,
    InstanceId, IntentId, Method, OperationId, Revision,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Seq, TimeLine,
    action::Action,
    activation::Activation,
    call::{Address, Call},
    focus::FocusStack,
    inbox::InboxRow,
    instance::Instance,
    journal::{JournalRow, Source},
    operation::Operation,
    outbox::OutboxKey,
    policy::{Conversation, HostProfile, Policy},
    registry::Installed,
    session::{AppSession, DocumentHead},
    surface::SurfaceDocument,
};

/// A live record that is written, or that leaves the live tables.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept<T, K> {
    /// The record as it stands now.
    Put(Arc<T>),
    /// The record is over; what it was stays in the journal.
    Gone(K),
}

/// What a repeat is known by: one narrow table for all three entries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum EntryKey {
    /// An agent's call.
    Call(Address),
    /// An agent's text, by the envelope that brought it.
    Text {
        /// The agent.
        agent: AgentId,
        /// The envelope.
        message: lineup_model::MessageId,
    },
    /// A UI Action of an instance's view.
    Action {
        /// The instance.
        instance: InstanceId,
        /// The view's id of it.
        action: ActionId,
    },
    /// A Host's intent.
    Intent {
        /// The intent.
        intent: IntentId,
    },
}

impl EntryKey {
    /// The 16 bytes that the entry is looked up by. The full key is compared on a hit.
    #[must_use]
    pub fn lookup(&self) -> [u8; 16] {
        let text = match self {
            Self::Call(Address { conversation, agent, call_id }) => format!("call\n{conversation}\n{agent}\n{call_id}"),
            Self::Text { agent, message } => format!("text\n{agent}\n{message}"),
            Self::Action { instance, action } => format!("action\n{instance}\n{action}"),
            Self::Intent { intent } => format!("intent\n{intent}"),
        };
        Digest::of_bytes(text.as_bytes()).prefix()
    }
}

/// An entry that is taken in, or that has ended. Never forgotten (I1).
#[derive(Clone, Debug, PartialEq)]
pub enum EntryChange {
    /// It is new: the store refuses the whole batch if it is known (the last guard of CALL-3).
    Taken {
        /// What a repeat is known by.
        key: EntryKey,
        /// The journal row that took it in.
        seq: Seq,
    },
    /// It has ended: the row holds its outcome.
    Ended {
        /// What a repeat is known by.
        key: EntryKey,
        /// The journal row that took it in.
        seq: Seq,
        /// The journal row that ended it.
        ended: Seq,
    },
}

/// What an agent was last told to see in a conversation (INV-7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// The agent.
    pub agent: AgentId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Counts the publications.
    pub sequence: u64,
    /// The inventory's revision.
    pub revision: Revision,
}

/// A MiniApp's document as it is to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its revision, size and digest.
    pub head: DocumentHead,
    /// Its body.
    pub data: Arc<Value>,
}

/// Refusals of one kind in one minute (DUR-5). They are added to what is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RefusalCount {
    /// The entry.
    pub source: Source,
    /// The agent, Host session or app scope.
    pub actor: Arc<str>,
    /// The code.
    pub code: ErrorCode,
    /// The minute, counted from 1970 (UTC).
    pub minute: i64,
    /// How many.
    pub count: u64,
}

/// What is true of the world only as long as this process lives. Applied, never stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Volatile {
    /// A Host session connected, or its visibility changed.
    HostSession(HostSessionId, crate::workspace::HostSession),
    /// A Host session is gone.
    HostGone(HostSessionId),
    /// What a MiniApp's process is doing for an instance.
    App(InstanceId, crate::workspace::AppProcess),
    /// What was reported towards an activation.
    Reported(ActivationId, crate::activation::Reported),
}

/// Everything that one decision makes durable, and what it changes in memory alone.
///
/// Take it apart without `..`: a new field must not be forgotten.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeSet {
    /// What happened: append-only. Their messages are also put into the outbox.
    pub journal: Vec<JournalRow>,
    /// Entries taken in and ended.
    pub entries: Vec<EntryChange>,
    /// Unfinished calls.
    pub calls: Vec<Kept<Call, CallKey>>,
    /// Unfinished UI Actions.
    pub actions: Vec<Kept<Action, Seq>>,
    /// Live instances.
    pub instances: Vec<Kept<Instance, InstanceId>>,
    /// Activations under way.
    pub activations: Vec<Kept<Activation, ActivationId>>,
    /// Running operations.
    pub operations: Vec<Kept<Operation, OperationId>>,
    /// App sessions: written, never removed; the workspace keeps those of live instances.
    pub sessions: Vec<Arc<AppSession>>,
    /// Session data.
    pub documents: Vec<Document>,
    /// What Surfaces show.
    pub surfaces: Vec<Kept<SurfaceDocument, (InstanceId, Method)>>,
    /// The focus stack.
    pub focus: Option<FocusStack>,
    /// Messages for MiniApps.
    pub inbox: Vec<Kept<InboxRow, Seq>>,
    /// Messages that need not be sent any more.
    pub outbox_removed: Vec<OutboxKey>,
    /// Conversations: written, never removed.
    pub conversations: Vec<Arc<Conversation>>,
    /// The policy.
    pub policy: Option<Arc<Policy>>,
    /// The paired Hosts' profile.
    pub host_profile: Option<Arc<HostProfile>>,
    /// Descriptors that calls may be finished under: written once, never removed (INV-11).
    pub descriptors: Vec<Arc<Descriptor>>,
    /// MiniApps installed and removed.
    pub apps: Vec<Kept<Installed, AppScope>>,
    /// What agents were told to see.
    pub publications: Vec<Arc<Publication>>,
    /// Refusals to be added up.
    pub refusals: Vec<RefusalCount>,
    /// Where effective time stands; part of every commit.
    pub time: Option<TimeLine>,
    /// What is true in memory alone.
    pub volatile: Vec<Volatile>,
}

impl ChangeSet {
    /// Whether nothing changes, not even in memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the store has to be asked at all.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        let Self {
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
            time,
            volatile: _,
        } = self;
        !(journal.is_empty()
            && entries.is_empty()
            && calls.is_empty()
            && actions.is_empty()
            && instances.is_empty()
            && activations.is_empty()
            && operations.is_empty()
            && sessions.is_empty()
            && documents.is_empty()
            && surfaces.is_empty()
            && focus.is_none()
            && inbox.is_empty()
            && outbox_removed.is_empty()
            && conversations.is_empty()
            && policy.is_none()
            && host_profile.is_none()
            && descriptors.is_empty()
            && apps.is_empty()
            && publications.is_empty()
            && refusals.is_empty()
            && time.is_none())
    }
}
