//! One connection as the hub sees it: what was delivered on it, and what it has yet to get.
//!
//! A line gets the envelopes of its party in the order in which the relay took them in, whatever
//! its siblings (other connections of the same party) do. `cursor` is how far it is. What lies
//! behind the cursor is either in `waiting` (in memory) or on disk up to `on_disk_until`.

use std::collections::BTreeMap;

use axum::body::Bytes;
use lineup_failpoint::{Point, hit};
use lineup_wire::relay::{Party, ServerFrame};
use tokio::sync::{mpsc, oneshot};

use crate::{disk::Stored, hub::Ending};

/// What an owed envelope costs beside its payload.
const OWED_OVERHEAD: usize = 256;

pub(crate) struct Line {
    pub party: Party,
    frames: mpsc::Sender<Bytes>,
    ended: Option<oneshot::Sender<Ending>>,
    last_token: u64,
    /// Delivered here and not acknowledged here, by token.
    in_flight: BTreeMap<u64, Flight>,
    /// The tokens of what is in flight, by place.
    tokens: BTreeMap<u64, u64>,
    in_flight_bytes: usize,
    /// The last envelope that the relay had taken in when this connection came.
    joined: u64,
    /// The last place up to which everything was delivered here, or is no longer to be.
    cursor: u64,
    /// The disk may hold undelivered envelopes up to this place.
    on_disk_until: u64,
    /// A page was asked for.
    pub reading: bool,
    /// In memory and not delivered here, by place. An envelope stands here itself once a sibling
    /// has acknowledged it: then nothing else keeps it.
    waiting: BTreeMap<u64, Option<Stored>>,
    owed_bytes: usize,
}

struct Flight {
    envelope: Stored,
    /// A sibling has acknowledged it.
    settled: bool,
}

/// What a line can get now.
pub(crate) enum Next {
    /// Nothing: all is delivered, the window is shut, or a page is on its way.
    Nothing,
    /// The first of `waiting`, which has been taken out; the envelope itself if it was owed.
    Waiting(u64, Option<Stored>),
    /// A page of the disk, between two places, both excluded.
    Page { after: u64, before: u64, count: usize, bytes: usize },
}

impl Line {
    /// A new line; `last` is the last place that was given, `waiting` what of it is in memory.
    pub fn new(
        party: Party,
        frames: mpsc::Sender<Bytes>,
        ended: oneshot::Sender<Ending>,
        last: u64,
        waiting: impl IntoIterator<Item = u64>,
    ) -> Self {
        Self {
            party,
            frames,
            ended: Some(ended),
            last_token: 0,
            in_flight: BTreeMap::new(),
            tokens: BTreeMap::new(),
            in_flight_bytes: 0,
            joined: last,
            cursor: 0,
            on_disk_until: last,
            reading: false,
            waiting: waiting.into_iter().map(|seq| (seq, None)).collect(),
            owed_bytes: 0,
        }
    }

    /// An envelope was taken in.
    pub fn take_in(&mut self, seq: u64) {
        self.waiting.insert(seq, None);
    }

    /// What is to be delivered next, within a window of so many deliveries and bytes.
    pub fn next(&mut self, window: usize, window_bytes: usize) -> Next {
        let count = window.saturating_sub(self.in_flight.len());
        let bytes = window_bytes.saturating_sub(self.in_flight_bytes);
        if count == 0 || bytes == 0 || self.reading {
            return Next::Nothing;
        }
        let first = self.waiting.keys().next().copied();
        if self.cursor < self.on_disk_until && first != Some(self.cursor + 1) {
            let before = first.unwrap_or(u64::MAX).min(self.on_disk_until + 1);
            return Next::Page { after: self.cursor, before, count, bytes };
        }
        match self.waiting.pop_first() {
            Some((seq, owed)) => {
                self.cursor = seq;
                self.owed_bytes -= owed.as_ref().map_or(0, owed_cost);
                Next::Waiting(seq, owed)
            }
            None => Next::Nothing,
        }
    }

    /// Whether an envelope of a page, the next of it, comes before everything that waits in memory.
    pub fn is_next(&self, seq: u64) -> bool {
        self.waiting.keys().next().is_none_or(|first| seq < *first)
    }

    /// An envelope of a page is no longer to be delivered.
    pub fn skip(&mut self, seq: u64) {
        self.cursor = self.cursor.max(seq);
    }

    /// The disk held nothing more before this place.
    pub fn read_up_to(&mut self, before: u64) {
        let first = self.waiting.keys().next().copied().unwrap_or(u64::MAX);
        self.cursor = self.cursor.max(before.min(first) - 1);
    }

    /// Delivers an envelope.
    pub fn deliver(&mut self, envelope: Stored) {
        self.cursor = self.cursor.max(envelope.seq);
        self.last_token += 1;
        let token = self.last_token;
        let frame = ServerFrame::Deliver { token, from: envelope.sender.clone(), id: envelope.id.clone() };
        self.write(frame.encode(&envelope.payload));
        hit(Point::RelayForwarded);
        self.in_flight_bytes += envelope.payload.len();
        self.tokens.insert(envelope.seq, token);
        self.in_flight.insert(token, Flight { envelope, settled: false });
    }

    /// Takes an acknowledgement. `None` for an unknown token; otherwise the envelope, and whether
    /// a sibling had acknowledged it before.
    pub fn acknowledge(&mut self, token: u64) -> Option<(Stored, bool)> {
        let Flight { envelope, settled } = self.in_flight.remove(&token)?;
        self.tokens.remove(&envelope.seq);
        self.in_flight_bytes -= envelope.payload.len();
        Some((envelope, settled))
    }

    /// A sibling has acknowledged an envelope. It still comes on this line if it came in after
    /// this connection did; `limit` bounds what is kept for that.
    pub fn settle(&mut self, envelope: &Stored, limit: usize) {
        let seq = envelope.seq;
        if let Some(flight) = self.tokens.get(&seq).and_then(|token| self.in_flight.get_mut(token)) {
            flight.settled = true;
        } else if seq <= self.joined {
            self.waiting.remove(&seq);
        } else if seq > self.cursor && self.ended.is_some() {
            self.owed_bytes += owed_cost(envelope);
            self.waiting.insert(seq, Some(envelope.clone()));
            if self.owed_bytes > limit {
                self.end(Ending::TooSlow);
            }
        }
    }

    /// An envelope is on disk now. Says whether it is to be read from there.
    pub fn spill(&mut self, seq: u64) -> bool {
        let spilled = matches!(self.waiting.get(&seq), Some(None));
        if spilled {
            self.waiting.remove(&seq);
            self.on_disk_until = self.on_disk_until.max(seq);
        }
        spilled
    }

    /// Queues a frame. A connection that lets its queue fill up is ended.
    pub fn write(&mut self, frame: Vec<u8>) {
        if self.frames.try_send(frame.into()).is_err() {
            self.end(Ending::TooSlow);
        }
    }

    /// Tells the connection that it is over, once.
    pub fn end(&mut self, ending: Ending) {
        if let Some(ended) = self.ended.take() {
            // It may be gone already; then nobody listens.
            let _ = ended.send(ending);
        }
    }
}

fn owed_cost(envelope: &Stored) -> usize {
    envelope.payload.len() + OWED_OVERHEAD
}
