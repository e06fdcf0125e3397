//! Who is connected, what is on its way, and when a sender is acknowledged.
//!
//! An envelope is in exactly one of three places: in `unsafe_` (in memory, its sender not yet
//! acknowledged), on disk, or gone, which it is once any connection of its receiver has acknowledged
//! it. Each connection gets the envelopes in the order in which they were taken in ([`Line`]). While
//! some that it has not got lie on disk, it reads pages from there, never past the oldest one that
//! waits for it in memory. So memory holds what is not yet safe, which the senders' permits bound,
//! what the windows of the connections allow, and a bounded rest of what faster connections of the
//! same party have acknowledged already; and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::body::Bytes;
use lineup_failpoint::{Point, hit};
use lineup_model::{AgentId, MessageId};
use lineup_wire::relay::{Party, RefuseReason, ServerFrame};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, mpsc, oneshot, watch},
    time::Instant,
};

use crate::{
    config::Config,
    disk::Stored,
    line::{Line, Next},
    stats::{PartyStats, Stats},
};

#[cfg(test)]
mod tests;

pub(crate) type ConnectionId = u64;
/// Shared by the connections and the two disk tasks.
pub(crate) type SharedHub = Arc<Hub>;

/// Why the relay ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A newer connection of the same party took its place.
    Replaced,
    /// Its party has as many connections as it may have.
    TooMany,
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

/// A page that a connection wants from the disk.
#[derive(Clone, Debug)]
pub(crate) struct PageRequest {
    pub party: Party,
    connection: ConnectionId,
    pub after: u64,
    pub before: u64,
    pub count: usize,
    pub bytes: usize,
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
    /// A connection wants a page.
    pub to_read: Notify,
}

#[derive(Default)]
struct State {
    closed: bool,
    last_seq: u64,
    last_connection: ConnectionId,
    known: BTreeSet<Party>,
    lines: BTreeMap<ConnectionId, Line>,
    /// The connections of each party, oldest first.
    connected: BTreeMap<Party, BTreeSet<ConnectionId>>,
    /// The agents among them, for whoever wants to know.
    present: watch::Sender<BTreeSet<AgentId>>,
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
        stats.connections = state.lines.len();
        stats.unsafe_envelopes = state.unsafe_.len();
        stats.unsafe_bytes = state.unsafe_.values().map(|envelope| envelope.payload.len()).sum();
        stats
    }

    /// The agents that are connected, as it changes.
    pub fn presence(&self) -> watch::Receiver<BTreeSet<AgentId>> {
        self.state().present.subscribe()
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

    /// Takes in a new connection. It gets everything that nobody has acknowledged. The Runtime has
    /// one connection, and a new one takes its place; an agent may have several.
    pub fn connect(&self, party: &Party) -> Result<Connected, Ending> {
        let mut state = self.state();
        if state.closed {
            return Err(Ending::GoingAway);
        }
        let siblings = state.connections_of(party);
        match party {
            Party::Runtime => {
                for old in siblings {
                    state.stats.of(party).replaced += 1;
                    state.end(old, Ending::Replaced);
                }
            }
            Party::Agent(_) if siblings.len() >= self.config.connections => return Err(Ending::TooMany),
            Party::Agent(_) => {}
        }
        state.last_connection += 1;
        let id = state.last_connection;
        let (frames, received) = mpsc::channel(self.config.queue);
        let (ended, on_end) = oneshot::channel();
        state.stats.of(party).connections += 1;
        let waiting = state.unsafe_.iter().filter(|(_, envelope)| envelope.to == *party).map(|(seq, _)| *seq);
        let mut line = Line::new(party.clone(), frames, ended, state.last_seq, waiting);
        let welcome = ServerFrame::Welcome { version: lineup_wire::relay::VERSION, identity: party.clone() };
        line.write(welcome.encode(b""));
        state.lines.insert(id, line);
        state.connected.entry(party.clone()).or_default().insert(id);
        state.tell_presence(party);
        self.pump(&mut state, id);
        Ok(Connected { id, frames: received, ended: on_end })
    }

    /// Forgets a connection. What nobody has acknowledged waits for the next one.
    pub fn disconnect(&self, id: ConnectionId) {
        self.state().end(id, Ending::GoingAway);
        self.to_write.notify_one();
    }

    /// Takes an envelope in, or refuses it for ever.
    pub fn send(&self, sender: ConnectionId, id: MessageId, to: Party, payload: Bytes, permit: OwnedSemaphorePermit) {
        let mut state = self.state();
        let Some(from) = state.lines.get(&sender).map(|line| line.party.clone()) else { return };
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
        let receivers = state.connections_of(&to);
        let now = Instant::now();
        let due = if receivers.is_empty() { now } else { now + self.config.grace };
        let envelope = Envelope { from, to, sender, id, payload, due, writing: false, _permit: permit };
        state.unsafe_.insert(seq, envelope);
        hit(Point::RelayTakenIn);
        // Otherwise the disk waits for an older envelope, which is not due later than this one.
        if due == now || state.unsafe_.len() == 1 {
            self.to_write.notify_one();
        }
        for receiver in receivers {
            if let Some(line) = state.lines.get_mut(&receiver) {
                line.take_in(seq);
            }
            self.pump(&mut state, receiver);
        }
    }

    /// The receiver has the delivery; one connection of it is enough. An unknown token changes
    /// nothing (H106).
    pub fn acknowledge(&self, connection: ConnectionId, token: u64) {
        let mut state = self.state();
        let Some(line) = state.lines.get_mut(&connection) else { return };
        let party = line.party.clone();
        match line.acknowledge(token) {
            None => return state.stats.of(&party).unknown_tokens += 1,
            Some((_, true)) => {}
            Some((envelope, false)) => self.settle(&mut state, &envelope),
        }
        state.stats.of(&party).acknowledged += 1;
        self.pump(&mut state, connection);
    }

    fn settle(&self, state: &mut State, acknowledged: &Stored) {
        // The connection itself has nothing of it any more.
        for sibling in state.connections_of(&acknowledged.recipient) {
            if let Some(line) = state.lines.get_mut(&sibling) {
                line.settle(acknowledged, self.config.owed_bytes);
            }
        }
        hit(Point::RelayReceiverAcked);
        match state.unsafe_.remove(&acknowledged.seq) {
            Some(envelope) => {
                if envelope.writing {
                    state.overtaken.insert(acknowledged.seq);
                }
                state.write(envelope.sender, ServerFrame::Ack { id: envelope.id }.encode(b""));
                hit(Point::RelaySenderAcked);
            }
            None => {
                state.done.insert(acknowledged.seq);
                state.done_due.get_or_insert(Instant::now() + self.config.linger);
                if matches!(state.done.len(), 1 | REMOVALS) {
                    self.to_write.notify_one();
                }
            }
        }
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
            added.push(envelope.stored(*seq));
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
            for receiver in state.connections_of(recipient) {
                if state.lines.get_mut(&receiver).is_some_and(|line| line.spill(*seq)) {
                    touched.insert(receiver);
                }
            }
        }
        for receiver in touched {
            self.pump(&mut state, receiver);
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

    /// The pages that connections want.
    pub fn take_pages(&self) -> Vec<PageRequest> {
        mem::take(&mut self.state().pages)
    }

    /// A page was read; `complete` says that the disk held no more between the two places.
    pub fn page_read(&self, request: &PageRequest, page: Vec<Stored>, complete: bool) {
        let mut state = self.state();
        let State { lines, done, stats, .. } = &mut *state;
        let Some(line) = lines.get_mut(&request.connection) else { return };
        line.reading = false;
        // A sibling may have acknowledged some of it meanwhile: those are done, or owed, and what is
        // owed waits in memory for its turn.
        let mut in_turn = true;
        for envelope in page {
            in_turn = line.is_next(envelope.seq);
            if !in_turn {
                break;
            }
            if done.contains(&envelope.seq) {
                line.skip(envelope.seq);
                continue;
            }
            stats.of(&request.party).delivered += 1;
            line.deliver(envelope);
        }
        if complete && in_turn {
            line.read_up_to(request.before);
        }
        self.pump(&mut state, request.connection);
    }

    /// A page could not be read; it is asked for again.
    pub fn page_failed(&self, request: &PageRequest) {
        let mut state = self.state();
        state.stats.failures += 1;
        if let Some(line) = state.lines.get_mut(&request.connection) {
            line.reading = false;
        }
        self.pump(&mut state, request.connection);
    }

    /// Ends every connection and lets nobody in any more.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let open: Vec<ConnectionId> = state.lines.keys().copied().collect();
        for id in open {
            state.end(id, Ending::GoingAway);
        }
        self.to_write.notify_one();
    }

    /// Delivers what the connection's window allows.
    fn pump(&self, state: &mut State, id: ConnectionId) {
        let State { lines, unsafe_, pages, stats, .. } = state;
        let Some(line) = lines.get_mut(&id) else { return };
        loop {
            match line.next(self.config.window, self.config.window_bytes) {
                Next::Nothing => return,
                Next::Page { after, before, count, bytes } => {
                    line.reading = true;
                    pages.push(PageRequest { party: line.party.clone(), connection: id, after, before, count, bytes });
                    return self.to_read.notify_one();
                }
                Next::Waiting(seq, owed) => {
                    let envelope = owed.or_else(|| unsafe_.get(&seq).map(|envelope| envelope.stored(seq)));
                    if let Some(envelope) = envelope {
                        stats.of(&line.party).delivered += 1;
                        line.deliver(envelope);
                    }
                }
            }
        }
    }
}

impl Envelope {
    fn stored(&self, seq: u64) -> Stored {
        Stored {
            seq,
            recipient: self.to.clone(),
            sender: self.from.clone(),
            id: self.id.clone(),
            payload: self.payload.clone(),
        }
    }
}

impl State {
    fn connections_of(&self, party: &Party) -> Vec<ConnectionId> {
        self.connected.get(party).into_iter().flatten().copied().collect()
    }

    /// Says whether an agent is there, if that has changed.
    fn tell_presence(&self, party: &Party) {
        let Party::Agent(agent) = party else { return };
        let is_there = self.connected.contains_key(party);
        self.present.send_if_modified(
            |present| {
                if is_there { present.insert(agent.clone()) } else { present.remove(agent) }
            },
        );
    }

    fn write(&mut self, id: ConnectionId, frame: Vec<u8>) {
        if let Some(line) = self.lines.get_mut(&id) {
            line.write(frame);
        }
    }

    fn end(&mut self, id: ConnectionId, ending: Ending) {
        let Some(mut line) = self.lines.remove(&id) else { return };
        line.end(ending);
        let Some(siblings) = self.connected.get_mut(&line.party) else { return };
        siblings.remove(&id);
        if siblings.is_empty() {
            self.connected.remove(&line.party);
            self.tell_presence(&line.party);
            // Nobody is there to acknowledge: all of it goes to disk at once.
            let now = Instant::now();
            for envelope in self.unsafe_.values_mut().filter(|envelope| envelope.to == line.party) {
                envelope.due = envelope.due.min(now);
            }
        }
    }
}
