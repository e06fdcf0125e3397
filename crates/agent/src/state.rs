//! What an agent knows: inventories, open requests, and who waits for what.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lineup_link::{Connection, Outgoing};
use lineup_model::{
    CallId, ConversationId, ErrorCode, Inventory, MessageId,
    message::{AgentBody, AgentMessage, Fault, Refusal},
};
use lineup_wire::{
    Reply, RequestBody, encode_request,
    relay::{Party, RefuseReason},
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    AgentError, Incoming, MAX_OPEN_REQUESTS, Message,
    call::{Event, Track},
};

/// What was ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Inventories with a sequence that is not higher (H39).
    pub stale_inventories: u64,
    /// Envelopes of a type that this version does not know (WIRE-5).
    pub unknown: u64,
    /// Envelopes that cannot be read, or that are not the Runtime's.
    pub malformed: u64,
}

/// An answer to a request that is not a call.
pub(crate) enum Answer {
    Done,
    Refused(Box<Refusal>),
}

pub(crate) type AnswerTo = oneshot::Sender<Answer>;

/// Who waits for the answer to a request, and what counts as one.
pub(crate) enum Waiting {
    /// Any inventory of the conversation. Nobody waits when it is joined again.
    Hello(Option<AnswerTo>),
    /// The outcome of the call.
    Call(CallId, Arc<Track>),
    /// Any word about the call.
    Status(CallId, Arc<Track>),
    /// The outcome of this call.
    Cancel(CallId, AnswerTo),
    /// The relay's acknowledgement.
    Relay(AnswerTo),
}

/// A request that is sent after each reconnect until it is answered.
pub(crate) struct Pending {
    pub conversation: ConversationId,
    pub bytes: Vec<u8>,
    pub waiting: Waiting,
}

#[derive(Default)]
pub(crate) struct State(Mutex<Known>);

#[derive(Default)]
struct Known {
    ended: bool,
    /// The connection on which everything open was sent.
    on: Connection,
    joined: BTreeSet<ConversationId>,
    inventories: BTreeMap<ConversationId, (u64, Arc<Inventory>)>,
    requests: BTreeMap<MessageId, Request>,
    last_request: u64,
    followers: BTreeMap<CallKey, Vec<Follower>>,
    texts: Recent,
    incoming: Option<mpsc::Sender<Message>>,
    counters: Counters,
}

/// An open request and its place among them.
struct Request {
    number: u64,
    pending: Pending,
}

/// The call, in the agent's words.
type CallKey = (ConversationId, CallId);

/// Whoever waits for word about a call: the request that asked, and the handle, unless it was a
/// `cancel`.
struct Follower {
    request: MessageId,
    track: Option<Arc<Track>>,
}

/// Messages that wait for the subscriber.
const INCOMING: usize = 64;

impl State {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn join(&self, conversation: &ConversationId) {
        self.known().joined.insert(conversation.clone());
    }

    pub fn inventory(&self, conversation: &ConversationId) -> Option<Arc<Inventory>> {
        self.known().inventories.get(conversation).map(|(_, inventory)| Arc::clone(inventory))
    }

    pub fn counters(&self) -> Counters {
        self.known().counters
    }

    pub fn count(&self, count: impl FnOnce(&mut Counters)) {
        count(&mut self.known().counters);
    }

    pub fn subscribe(&self) -> Incoming {
        let (sender, receiver) = mpsc::channel(INCOMING);
        let mut known = self.known();
        known.incoming = (!known.ended).then_some(sender);
        Incoming(receiver)
    }

    /// Where incoming messages go. Waiting for room is the caller's, who holds no lock.
    pub fn incoming(&self) -> Option<mpsc::Sender<Message>> {
        self.known().incoming.clone()
    }

    /// Registers a request; returns the message to send, and on which connection.
    pub fn open(&self, id: MessageId, pending: Pending) -> Result<(Connection, Outgoing), AgentError> {
        let mut known = self.known();
        if known.ended {
            return Err(AgentError::Link(lineup_link::LinkError::Closed));
        }
        if known.requests.len() >= MAX_OPEN_REQUESTS {
            return Err(AgentError::TooManyRequests);
        }
        if known.requests.contains_key(&id) {
            return Err(AgentError::IdInUse);
        }
        let message = outgoing(&id, &pending);
        known.open(id, pending);
        Ok((known.on, message))
    }

    /// Nobody follows the call with this handle any more.
    pub fn forget(&self, conversation: &ConversationId, call_id: &CallId, track: &Arc<Track>) {
        let mut known = self.known();
        let key = (conversation.clone(), call_id.clone());
        let Some(followers) = known.followers.get_mut(&key) else { return };
        let is_it = |follower: &Follower| follower.track.as_ref().is_some_and(|other| Arc::ptr_eq(other, track));
        let Some(at) = followers.iter().position(is_it) else { return };
        let request = followers.swap_remove(at).request;
        if followers.is_empty() {
            known.followers.remove(&key);
        }
        known.requests.remove(&request);
    }

    /// What is to be sent on a new connection: joins first, then every open request, oldest first,
    /// byte for byte as before.
    pub fn resend(&self, on: Connection) -> Vec<Outgoing> {
        let mut known = self.known();
        known.on = on;
        let asked: BTreeSet<ConversationId> = known
            .requests
            .values()
            .filter(|request| matches!(request.pending.waiting, Waiting::Hello(_)))
            .map(|request| request.pending.conversation.clone())
            .collect();
        let again: Vec<ConversationId> = known.joined.difference(&asked).cloned().collect();
        for conversation in again {
            let id: MessageId = crate::fresh();
            let request =
                lineup_wire::Request { id: id.clone(), conversation: conversation.clone(), body: RequestBody::Hello };
            let bytes = encode_request(&request);
            known.open(id, Pending { conversation, bytes, waiting: Waiting::Hello(None) });
        }
        let mut all: Vec<_> = known.requests.iter().collect();
        all.sort_by_key(|(_, request)| (!matches!(request.pending.waiting, Waiting::Hello(_)), request.number));
        all.into_iter().map(|(id, request)| outgoing(id, &request.pending)).collect()
    }

    /// Takes in a reply; returns what the subscriber is to hear.
    pub fn reply(&self, reply: Reply) -> Option<Message> {
        let mut known = self.known();
        match reply {
            Reply::Message(AgentMessage { id, conversation, body }) => known.message(id, conversation, body),
            Reply::Refused { conversation, refusal, .. } => known.refused(conversation, refusal),
            Reply::Unknown { type_name } => {
                tracing::debug!(type_name, "an envelope of an unknown type is ignored");
                known.counters.unknown += 1;
                None
            }
        }
    }

    /// The relay has the message safe: all that a text waits for.
    pub fn safe(&self, id: &MessageId) {
        let mut known = self.known();
        if known.requests.get(id).is_some_and(|request| matches!(request.pending.waiting, Waiting::Relay(_))) {
            known.finish(id);
        }
    }

    /// The relay will never take the message.
    pub fn undeliverable(&self, id: MessageId, reason: RefuseReason) {
        let mut known = self.known();
        let Some(request) = known.requests.get(&id) else { return };
        let conversation = request.pending.conversation.clone();
        let error = Fault::new(ErrorCode::AgentUnauthorized, "the relay does not carry this message to the Runtime")
            .because(reason.as_str());
        let refusal = Refusal { in_reply_to: id, call_id: None, error, current_revision: None };
        known.refused(conversation, refusal);
    }

    /// The connection has ended for good: nobody waits any longer.
    pub fn end(&self) {
        let mut known = self.known();
        known.ended = true;
        known.incoming = None;
        known.requests.clear();
        for follower in mem::take(&mut known.followers).into_values().flatten() {
            if let Some(track) = follower.track {
                track.cut();
            }
        }
    }
}

impl Known {
    fn message(&mut self, id: MessageId, conversation: ConversationId, body: AgentBody) -> Option<Message> {
        match body {
            AgentBody::Receipt(receipt) => {
                let key = (conversation, receipt.call_id.clone());
                let Some(followers) = self.followers.get(&key) else {
                    return Some(unfollowed(key, Event::Receipt(receipt)));
                };
                let mut answered = Vec::new();
                for Follower { request, track } in followers {
                    if let Some(track) = track {
                        track.receipt(&receipt);
                        answered.push(request.clone());
                    }
                }
                // Of those only a `status` is answered by a receipt; its handle follows on.
                answered.retain(|id| {
                    let waiting = self.requests.get(id).map(|request| &request.pending.waiting);
                    matches!(waiting, Some(Waiting::Status(..)))
                });
                for id in answered {
                    self.finish(&id);
                }
                None
            }
            AgentBody::Outcome(outcome) => {
                let key = (conversation, outcome.call_id.clone());
                let Some(followers) = self.followers.remove(&key) else {
                    return Some(unfollowed(key, Event::Outcome(outcome)));
                };
                for Follower { request, track } in followers {
                    if let Some(track) = track {
                        track.end(Event::Outcome(outcome.clone()));
                    }
                    self.finish(&request);
                }
                None
            }
            AgentBody::Inventory { sequence, inventory } => self.inventory(conversation, sequence, inventory),
            AgentBody::Text { text } => self.texts.is_new(&id).then_some(Message::Text { conversation, id, text }),
        }
    }

    /// Adopts a higher sequence only (INV-7, H39). A join is answered by any.
    fn inventory(&mut self, conversation: ConversationId, sequence: u64, inventory: Arc<Inventory>) -> Option<Message> {
        let adopted = match self.inventories.get(&conversation) {
            Some((current, _)) if *current > sequence => false,
            Some((current, adopted)) if *current == sequence => {
                if *adopted == inventory {
                    self.joined_again(&conversation);
                    return None;
                }
                false
            }
            _ => true,
        };
        if adopted {
            self.inventories.insert(conversation.clone(), (sequence, Arc::clone(&inventory)));
        } else {
            self.counters.stale_inventories += 1;
        }
        self.joined_again(&conversation);
        adopted.then_some(Message::Inventory { conversation, sequence, inventory })
    }

    fn joined_again(&mut self, conversation: &ConversationId) {
        let is_join = |request: &Request| {
            matches!(request.pending.waiting, Waiting::Hello(_)) && request.pending.conversation == *conversation
        };
        let ids: Vec<MessageId> =
            self.requests.iter().filter(|(_, request)| is_join(request)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.finish(&id);
        }
    }

    /// Fails the request that the refusal names, and nothing else (CALL-7).
    fn refused(&mut self, conversation: ConversationId, refusal: Refusal) -> Option<Message> {
        let id = refusal.in_reply_to.clone();
        let Some(Request { pending, .. }) = self.requests.remove(&id) else {
            return Some(Message::Refused { conversation, refusal });
        };
        let answer = |to: AnswerTo, refusal| drop(to.send(Answer::Refused(Box::new(refusal))));
        match pending.waiting {
            Waiting::Call(call_id, track) | Waiting::Status(call_id, track) => {
                self.unfollow(&(pending.conversation, call_id), &id);
                track.end(Event::Refused(refusal));
            }
            Waiting::Cancel(call_id, to) => {
                self.unfollow(&(pending.conversation, call_id), &id);
                answer(to, refusal);
            }
            Waiting::Hello(Some(to)) | Waiting::Relay(to) => answer(to, refusal),
            Waiting::Hello(None) => return Some(Message::Refused { conversation, refusal }),
        }
        None
    }

    fn open(&mut self, id: MessageId, pending: Pending) {
        let follows = match &pending.waiting {
            Waiting::Call(call_id, track) | Waiting::Status(call_id, track) => Some((call_id, Some(Arc::clone(track)))),
            Waiting::Cancel(call_id, _) => Some((call_id, None)),
            Waiting::Hello(_) | Waiting::Relay(_) => None,
        };
        if let Some((call_id, track)) = follows {
            let key = (pending.conversation.clone(), call_id.clone());
            self.followers.entry(key).or_default().push(Follower { request: id.clone(), track });
        }
        self.last_request += 1;
        self.requests.insert(id, Request { number: self.last_request, pending });
    }

    fn unfollow(&mut self, key: &CallKey, request: &MessageId) {
        if let Some(followers) = self.followers.get_mut(key) {
            followers.retain(|follower| follower.request != *request);
            if followers.is_empty() {
                self.followers.remove(key);
            }
        }
    }

    fn finish(&mut self, id: &MessageId) {
        match self.requests.remove(id).map(|request| request.pending.waiting) {
            Some(Waiting::Hello(Some(to)) | Waiting::Cancel(_, to) | Waiting::Relay(to)) => {
                // Whoever asked may have gone.
                let _ = to.send(Answer::Done);
            }
            Some(Waiting::Hello(None) | Waiting::Call(..) | Waiting::Status(..)) | None => {}
        }
    }
}

fn unfollowed((conversation, call_id): CallKey, event: Event) -> Message {
    Message::Call { conversation, call_id, event }
}

fn outgoing(id: &MessageId, pending: &Pending) -> Outgoing {
    Outgoing { id: id.clone(), to: Party::Runtime, payload: pending.bytes.clone() }
}

/// The ids of the last texts: the relay delivers at least once.
#[derive(Default)]
struct Recent {
    known: BTreeSet<MessageId>,
    order: VecDeque<MessageId>,
}

impl Recent {
    const KEPT: usize = 1024;

    fn is_new(&mut self, id: &MessageId) -> bool {
        if !self.known.insert(id.clone()) {
            return false;
        }
        self.order.push_back(id.clone());
        if self.order.len() > Self::KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}
