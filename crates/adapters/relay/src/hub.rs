//! Who is connected, what is on its way, and when a sender is acknowledged.
//!
//! An envelope is in exactly one of three places: in `unsafe_` (in memory, its sender not yet
//! acknowledged), on disk, or gone. A mailbox delivers in the order in which envelopes were taken
//! in. While it holds undelivered envelopes on disk it is *catching up*: it reads pages from disk,
//! never past the oldest undelivered envelope in memory, and goes back to delivering from memory
//! once the disk has nothing more for it. So memory holds what is not yet safe, which the senders'
//! permits bound, and what the windows of the connections allow, and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::body::Bytes;
use lineup_failpoint::{Point, hit};
use lineup_model::MessageId;
use lineup_wire::relay::{Party, RefuseReason, ServerFrame};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, mpsc, oneshot},
    time::Instant,
};

use crate::{
    config::Config,
    disk::Stored,
    stats::{PartyStats, Stats},
};

pub(crate) type ConnectionId = u64;
/// Shared by the connections and the two disk tasks.
pub(crate) type SharedHub = Arc<Hub>;

/// Why the relay ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A newer connection of the same party took its place.
    Replaced,
    /// It does not read what is written to it.
    TooSlow,
    /// The relay is closing.
    GoingAway,
}

/// What a connection holds on to.
pub(crate) struct Connected {
    pub id: ConnectionId,
    pub frames: mpsc::Receiver<Bytes>,
    pub ended: oneshot::Receiver<Ending>,
}

/// A page that a mailbox wants from the disk.
#[derive(Clone, Debug)]
pub(crate) struct PageRequest {
    pub party: Party,
    connection: ConnectionId,
    pub after: u64,
    pub before: u64,
    pub count: usize,
    pub bytes: usize,
    spills: u64,
}

/// What the disk is to do next.
pub(crate) struct Batch {
    pub added: Vec<Stored>,
    pub removed: Vec<u64>,
}

pub(crate) struct Hub {
    state: Mutex<State>,
    pub config: Config,
    /// Something may have become due for the disk.
    pub to_write: Notify,
    /// A mailbox wants a page.
    pub to_read: Notify,
}

#[derive(Default)]
struct State {
    closed: bool,
    last_seq: u64,
    last_connection: ConnectionId,
    known: BTreeSet<Party>,
    connections: BTreeMap<ConnectionId, Connection>,
    mailboxes: BTreeMap<Party, Mailbox>,
    /// Taken in, and neither acknowledged by the receiver nor on disk.
    unsafe_: BTreeMap<u64, Envelope>,
    /// Acknowledged by the receiver while the disk was writing it.
    overtaken: BTreeSet<u64>,
    /// On disk, acknowledged by the receiver, to be removed.
    done: BTreeSet<u64>,
    /// When `done` is to be removed at the latest.
    done_due: Option<Instant>,
    pages: Vec<PageRequest>,
    stats: Stats,
}

struct Connection {
    party: Party,
    frames: mpsc::Sender<Bytes>,
    ended: Option<oneshot::Sender<Ending>>,
    last_token: u64,
    in_flight: BTreeMap<u64, Flight>,
    in_flight_bytes: usize,
}

struct Flight {
    seq: u64,
    bytes: usize,
}

#[derive(Default)]
struct Mailbox {
    connection: Option<ConnectionId>,
    /// The last envelope that was delivered on this connection.
    cursor: u64,
    catching_up: bool,
    reading: bool,
    /// Counts undelivered envelopes that went to disk.
    spills: u64,
    /// In `unsafe_` and not delivered on this connection.
    waiting: BTreeSet<u64>,
}

struct Envelope {
    from: Party,
    to: Party,
    sender: ConnectionId,
    id: MessageId,
    payload: Bytes,
    due: Instant,
    writing: bool,
    /// Given back to the sender when the envelope is safe.
    _permit: OwnedSemaphorePermit,
}

/// The most that one commit takes.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 1024 * 1024;
/// Removals are in no hurry: they ride with additions or gather for a while, up to this many.
const REMOVALS: usize = 256;

impl Hub {
    pub fn new(config: Config, last_seq: u64) -> Self {
        let state = State { last_seq, ..State::default() };
        Self { state: Mutex::new(state), config, to_write: Notify::new(), to_read: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change below leaves the state whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whom messages can be sent to.
    pub fn set_known(&self, known: BTreeSet<Party>) {
        self.state().known = known;
    }

    pub fn stats(&self) -> Stats {
        let state = self.state();
        let mut stats = state.stats.clone();
        stats.connections = state.connections.len();
        stats.unsafe_envelopes = state.unsafe_.len();
        stats.unsafe_bytes = state.unsafe_.values().map(|envelope| envelope.payload.len()).sum();
        stats
    }

    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    pub fn count_unauthorized(&self) {
        self.state().stats.unauthorized += 1;
    }

    /// Counts something about a party.
    pub fn count(&self, party: &Party, count: impl FnOnce(&mut PartyStats)) {
        count(self.state().stats.of(party));
    }

    /// Takes in a new connection, in the place of an older one of the same party. Deliveries of
    /// the older one come again on this one. `None` when the relay is closing.
    pub fn connect(&self, party: &Party) -> Option<Connected> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        if let Some(old) = state.mailboxes.get(party).and_then(|mailbox| mailbox.connection) {
            state.stats.of(party).replaced += 1;
            state.end(old, Ending::Replaced);
        }
        state.last_connection += 1;
        let id = state.last_connection;
        let (frames, received) = mpsc::channel(self.config.queue);
        let (ended, on_end) = oneshot::channel();
        state.stats.of(party).connections += 1;
        state.connections.insert(
            id,
            Connection {
                party: party.clone(),
                frames,
                ended: Some(ended),
                last_token: 0,
                in_flight: BTreeMap::new(),
                in_flight_bytes: 0,
            },
        );
        let welcome = ServerFrame::Welcome { version: lineup_wire::relay::VERSION, identity: party.clone() };
        state.write(id, welcome.encode(b""));
        let mailbox = state.mailboxes.entry(party.clone()).or_default();
        mailbox.connection = Some(id);
        mailbox.cursor = 0;
        // The disk knows whether anything waits.
        mailbox.catching_up = true;
        self.pump(&mut state, party);
        Some(Connected { id, frames: received, ended: on_end })
    }

    /// Forgets a connection. What it has not acknowledged waits for the next one.
    pub fn disconnect(&self, id: ConnectionId) {
        self.state().end(id, Ending::GoingAway);
        self.to_write.notify_one();
    }

    /// Takes an envelope in, or refuses it for ever.
    pub fn send(&self, sender: ConnectionId, id: MessageId, to: Party, payload: Bytes, permit: OwnedSemaphorePermit) {
        let mut state = self.state();
        let Some(from) = state.connections.get(&sender).map(|connection| connection.party.clone()) else {
            return;
        };
        let refused = match (&from, &to) {
            (Party::Agent(_), Party::Runtime) | (Party::Runtime, Party::Agent(_)) => {
                (!state.known.contains(&to)).then_some(RefuseReason::UnknownRecipient)
            }
            (Party::Agent(_), Party::Agent(_)) | (Party::Runtime, Party::Runtime) => Some(RefuseReason::NotAllowed),
        };
        if let Some(reason) = refused {
            state.stats.of(&from).refused += 1;
            return state.write(sender, ServerFrame::Refuse { id, reason }.encode(b""));
        }
        state.stats.of(&from).sent += 1;
        state.last_seq += 1;
        let seq = state.last_seq;
        let mailbox = state.mailboxes.entry(to.clone()).or_default();
        mailbox.waiting.insert(seq);
        let now = Instant::now();
        let due = if mailbox.connection.is_some() { now + self.config.grace } else { now };
        let envelope = Envelope { from, to: to.clone(), sender, id, payload, due, writing: false, _permit: permit };
        state.unsafe_.insert(seq, envelope);
        hit(Point::RelayTakenIn);
        // Otherwise the disk waits for an older envelope, which is not due later than this one.
        if due == now || state.unsafe_.len() == 1 {
            self.to_write.notify_one();
        }
        self.pump(&mut state, &to);
    }

    /// The receiver has the delivery. An unknown token changes nothing (H106).
    pub fn acknowledge(&self, connection: ConnectionId, token: u64) {
        let mut state = self.state();
        let Some(receiver) = state.connections.get_mut(&connection) else {
            return;
        };
        let party = receiver.party.clone();
        let Some(flight) = receiver.in_flight.remove(&token) else {
            state.stats.of(&party).unknown_tokens += 1;
            return;
        };
        receiver.in_flight_bytes -= flight.bytes;
        state.stats.of(&party).acknowledged += 1;
        hit(Point::RelayReceiverAcked);
        match state.unsafe_.remove(&flight.seq) {
            Some(envelope) => {
                if envelope.writing {
                    state.overtaken.insert(flight.seq);
                }
                state.write(envelope.sender, ServerFrame::Ack { id: envelope.id }.encode(b""));
                hit(Point::RelaySenderAcked);
            }
            None => {
                state.done.insert(flight.seq);
                state.done_due.get_or_insert(Instant::now() + self.config.linger);
                if matches!(state.done.len(), 1 | REMOVALS) {
                    self.to_write.notify_one();
                }
            }
        }
        self.pump(&mut state, &party);
    }

    /// What the disk is to do now, or when there will be something. `everything` does not wait for
    /// anything to become due.
    pub fn next_batch(&self, everything: bool) -> Result<Batch, Option<Instant>> {
        let mut state = self.state();
        let now = Instant::now();
        let (mut added, mut size, mut next_due) = (Vec::new(), 0, None::<Instant>);
        for (seq, envelope) in &mut state.unsafe_ {
            if envelope.writing {
                continue;
            }
            if envelope.due > now && !everything {
                next_due = Some(next_due.map_or(envelope.due, |due| due.min(envelope.due)));
                continue;
            }
            if added.len() >= BATCH || size >= BATCH_BYTES {
                break;
            }
            envelope.writing = true;
            size += envelope.payload.len();
            added.push(Stored {
                seq: *seq,
                recipient: envelope.to.clone(),
                sender: envelope.from.clone(),
                id: envelope.id.clone(),
                payload: envelope.payload.clone(),
            });
        }
        let removed: Vec<u64> = state.done.iter().copied().take(4 * REMOVALS).collect();
        let removal_due = if removed.is_empty() { None } else { state.done_due };
        let remove = everything || removed.len() >= REMOVALS || removal_due.is_some_and(|due| due <= now);
        if !added.is_empty() || (remove && !removed.is_empty()) {
            return Ok(Batch { added, removed });
        }
        next_due = [next_due, removal_due].into_iter().flatten().min();
        Err(next_due)
    }

    /// The batch is on disk: its senders are acknowledged.
    pub fn written(&self, batch: &Batch) {
        let mut state = self.state();
        state.stats.batches += 1;
        state.stats.written += batch.added.len() as u64;
        for seq in &batch.removed {
            state.done.remove(seq);
        }
        if state.done.is_empty() {
            state.done_due = None;
        }
        let mut touched = BTreeSet::new();
        for Stored { seq, recipient, .. } in &batch.added {
            if state.overtaken.remove(seq) {
                state.done.insert(*seq);
                state.done_due.get_or_insert(Instant::now() + self.config.linger);
            } else if let Some(envelope) = state.unsafe_.remove(seq) {
                state.write(envelope.sender, ServerFrame::Ack { id: envelope.id }.encode(b""));
            }
            let mailbox = state.mailboxes.entry(recipient.clone()).or_default();
            if mailbox.waiting.remove(seq) {
                mailbox.spills += 1;
                mailbox.catching_up = true;
                touched.insert(recipient.clone());
            }
        }
        for party in touched {
            self.pump(&mut state, &party);
        }
    }

    /// The batch is not on disk: nothing of it was acknowledged, and it is tried again later.
    pub fn not_written(&self, batch: &Batch) {
        let mut state = self.state();
        state.stats.failures += 1;
        let due = Instant::now() + self.config.retry;
        state.done_due = state.done_due.map(|_| due);
        for Stored { seq, .. } in &batch.added {
            if let Some(envelope) = state.unsafe_.get_mut(seq) {
                envelope.writing = false;
                envelope.due = due;
            }
            state.overtaken.remove(seq);
        }
    }

    /// The pages that mailboxes want.
    pub fn take_pages(&self) -> Vec<PageRequest> {
        mem::take(&mut self.state().pages)
    }

    /// A page was read; `complete` says that the disk held no more between the two places.
    pub fn page_read(&self, request: &PageRequest, page: Vec<Stored>, complete: bool) {
        let mut state = self.state();
        let Some(mailbox) = state.mailboxes.get_mut(&request.party) else {
            return;
        };
        mailbox.reading = false;
        if mailbox.connection == Some(request.connection) {
            // What went to disk while the page was read may be missing in it.
            if complete && mailbox.spills == request.spills {
                mailbox.catching_up = false;
            }
            for envelope in page {
                // Acknowledged on an earlier connection, and not yet removed.
                if state.done.contains(&envelope.seq) {
                    continue;
                }
                state.deliver(&request.party, envelope);
            }
        }
        self.pump(&mut state, &request.party);
    }

    /// A page could not be read; it is asked for again.
    pub fn page_failed(&self, request: &PageRequest) {
        let mut state = self.state();
        state.stats.failures += 1;
        if let Some(mailbox) = state.mailboxes.get_mut(&request.party) {
            mailbox.reading = false;
        }
        self.pump(&mut state, &request.party);
    }

    /// Ends every connection and lets nobody in any more.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let open: Vec<ConnectionId> = state.connections.keys().copied().collect();
        for id in open {
            state.end(id, Ending::GoingAway);
        }
        self.to_write.notify_one();
    }

    /// Delivers what the receiver's window allows.
    fn pump(&self, state: &mut State, party: &Party) {
        loop {
            let Some(mailbox) = state.mailboxes.get_mut(party) else {
                return;
            };
            let Some(id) = mailbox.connection else { return };
            let Some(connection) = state.connections.get(&id) else {
                return;
            };
            let count = self.config.window.saturating_sub(connection.in_flight.len());
            let bytes = self.config.window_bytes.saturating_sub(connection.in_flight_bytes);
            if count == 0 || bytes == 0 {
                return;
            }
            if mailbox.catching_up {
                if !mem::replace(&mut mailbox.reading, true) {
                    state.pages.push(PageRequest {
                        party: party.clone(),
                        connection: id,
                        after: mailbox.cursor,
                        before: mailbox.waiting.first().copied().unwrap_or(u64::MAX),
                        count,
                        bytes,
                        spills: mailbox.spills,
                    });
                    self.to_read.notify_one();
                }
                return;
            }
            let Some(seq) = mailbox.waiting.pop_first() else {
                return;
            };
            let Some(envelope) = state.unsafe_.get(&seq) else {
                continue;
            };
            let envelope = Stored {
                seq,
                recipient: party.clone(),
                sender: envelope.from.clone(),
                id: envelope.id.clone(),
                payload: envelope.payload.clone(),
            };
            state.deliver(party, envelope);
        }
    }
}

impl State {
    fn deliver(&mut self, party: &Party, envelope: Stored) {
        let Some(mailbox) = self.mailboxes.get_mut(party) else {
            return;
        };
        let Some(id) = mailbox.connection else { return };
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        mailbox.cursor = envelope.seq;
        connection.last_token += 1;
        let token = connection.last_token;
        let bytes = envelope.payload.len();
        connection.in_flight.insert(token, Flight { seq: envelope.seq, bytes });
        connection.in_flight_bytes += bytes;
        self.stats.of(party).delivered += 1;
        let frame = ServerFrame::Deliver { token, from: envelope.sender, id: envelope.id };
        self.write(id, frame.encode(&envelope.payload));
        hit(Point::RelayForwarded);
    }

    /// Queues a frame. A connection that lets its queue fill up is ended.
    fn write(&mut self, id: ConnectionId, frame: Vec<u8>) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if connection.frames.try_send(frame.into()).is_err()
            && let Some(ended) = connection.ended.take()
        {
            // The connection may be gone already; then nobody listens.
            let _ = ended.send(Ending::TooSlow);
        }
    }

    fn end(&mut self, id: ConnectionId, ending: Ending) {
        let Some(mut connection) = self.connections.remove(&id) else {
            return;
        };
        if let Some(ended) = connection.ended.take() {
            let _ = ended.send(ending);
        }
        let Some(mailbox) = self.mailboxes.get_mut(&connection.party) else {
            return;
        };
        if mailbox.connection != Some(id) {
            return;
        }
        mailbox.connection = None;
        let now = Instant::now();
        let unsafe_ = &self.unsafe_;
        mailbox
            .waiting
            .extend(connection.in_flight.values().map(|flight| flight.seq).filter(|seq| unsafe_.contains_key(seq)));
        // Nobody is there to acknowledge: all of it goes to disk at once.
        for seq in &mailbox.waiting {
            if let Some(envelope) = self.unsafe_.get_mut(seq) {
                envelope.due = envelope.due.min(now);
            }
        }
    }
}
