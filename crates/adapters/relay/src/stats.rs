//! What the relay has counted since it was opened.

use std::collections::BTreeMap;

use lineup_wire::relay::Party;
use serde::{Serialize, Serializer};

/// Counters of one relay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Connections that stand now.
    pub connections: usize,
    /// Envelopes in memory whose senders are not acknowledged yet.
    pub unsafe_envelopes: usize,
    /// Their payloads, in bytes.
    pub unsafe_bytes: usize,
    /// Envelopes written to disk.
    pub written: u64,
    /// Commits of the disk.
    pub batches: u64,
    /// Commits and reads of the disk that failed.
    pub failures: u64,
    /// Upgrades that were refused for their credential.
    pub unauthorized: u64,
    /// By party, over all its connections.
    #[serde(serialize_with = "by_name")]
    pub parties: BTreeMap<Party, PartyStats>,
}

impl Stats {
    pub(crate) fn of(&mut self, party: &Party) -> &mut PartyStats {
        if !self.parties.contains_key(party) {
            self.parties.insert(party.clone(), PartyStats::default());
        }
        self.parties.get_mut(party).expect("inserted above")
    }
}

/// In JSON a party is `runtime` or `agent:<id>`.
fn by_name<S: Serializer>(parties: &BTreeMap<Party, PartyStats>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(parties.iter().map(|(party, stats)| (party.to_string(), stats)))
}

/// Counters of one party.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PartyStats {
    /// Connections that were taken in.
    pub connections: u64,
    /// Connections that a newer one replaced (the Runtime's).
    pub replaced: u64,
    /// Frames that it sent: every binary message, also a malformed one.
    pub frames_in: u64,
    /// Frames that were written to it.
    pub frames_out: u64,
    /// Envelopes of its own that were taken in.
    pub sent: u64,
    /// Envelopes of its own that were refused.
    pub refused: u64,
    /// Deliveries to it, on each of its connections, repeats included.
    pub delivered: u64,
    /// Deliveries that it acknowledged.
    pub acknowledged: u64,
    /// Acknowledgements of deliveries that were never made on that connection, or twice.
    pub unknown_tokens: u64,
    /// Connections that were closed for what it sent.
    pub faults: u64,
}
