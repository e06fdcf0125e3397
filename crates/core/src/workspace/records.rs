//! Everything live, as the store gives it back at start.

use std::sync::Arc;

use lineup_model::Descriptor;

use super::change_set::Publication;
use crate::{
    Seq, TimeLine,
    action::Action,
    activation::Activation,
    call::Call,
    focus::FocusStack,
    inbox::InboxRow,
    instance::Instance,
    operation::Operation,
    outbox::OutboxRow,
    policy::{Conversation, HostProfile, Policy},
    registry::Installed,
    session::{AppSession, DocumentHead},
    surface::SurfaceDocument,
};

/// What a workspace is made of at start. Holds nothing that is over: its size follows what is
/// live, not what ever was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// The last place of the journal.
    pub last: Seq,
    /// Where effective time stood at the last commit; `None` for a new workspace.
    pub time: Option<TimeLine>,
    /// Unfinished calls, with their facts read back from the journal.
    pub calls: Vec<Call>,
    /// Unfinished UI Actions.
    pub actions: Vec<Action>,
    /// Live instances.
    pub instances: Vec<Instance>,
    /// Activations under way.
    pub activations: Vec<Activation>,
    /// Running operations.
    pub operations: Vec<Operation>,
    /// The App sessions of live instances.
    pub sessions: Vec<AppSession>,
    /// The documents of those App sessions, without their bodies.
    pub documents: Vec<DocumentHead>,
    /// The documents of the Surfaces of live instances, with their bodies.
    pub surfaces: Vec<SurfaceDocument>,
    /// The focus stack.
    pub focus: FocusStack,
    /// Messages for MiniApps.
    pub inbox: Vec<InboxRow>,
    /// Messages to be sent, in order, with their bodies read back from the journal.
    pub outbox: Vec<OutboxRow>,
    /// Conversations.
    pub conversations: Vec<Conversation>,
    /// The policy.
    pub policy: Policy,
    /// The paired Hosts' profile.
    pub host_profile: HostProfile,
    /// The descriptors of installed tools and of unfinished calls.
    pub descriptors: Vec<Arc<Descriptor>>,
    /// Installed MiniApps.
    pub apps: Vec<Installed>,
    /// What agents were told to see.
    pub publications: Vec<Publication>,
}
