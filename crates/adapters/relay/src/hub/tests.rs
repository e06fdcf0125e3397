//! The hub against a disk in memory, driven by chance.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use lineup_model::AgentId;
use tokio::sync::Semaphore;

use super::*;

/// A hub, its disk, and clients that behave by chance.
struct Play {
    hub: Hub,
    disk: BTreeMap<u64, Stored>,
    runtime: Connected,
    clients: Vec<Client>,
    sent: u64,
    acknowledged: BTreeSet<u64>,
    chance: u64,
    /// Nothing new is sent.
    settling: bool,
}

/// One connection of the agent.
struct Client {
    connection: Connected,
    /// What was sent before it came.
    joined: u64,
    got: Vec<u64>,
    open: Vec<(u64, u64)>,
}

fn agent() -> Party {
    Party::Agent(AgentId::new("demo").unwrap())
}

impl Play {
    fn new(seed: u64) -> Self {
        let config = Config { grace: Duration::ZERO, window: 4, connections: 5, ..Config::default() };
        let hub = Hub::new(config, 0);
        hub.set_known([Party::Runtime, agent()].into());
        let runtime = hub.connect(&Party::Runtime).unwrap_or_else(|ending| panic!("{ending:?}"));
        Self {
            hub,
            disk: BTreeMap::new(),
            runtime,
            clients: Vec::new(),
            sent: 0,
            acknowledged: BTreeSet::new(),
            chance: seed,
            settling: false,
        }
    }

    /// A number below `limit` (xorshift).
    fn below(&mut self, limit: usize) -> usize {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        usize::try_from(self.chance % limit as u64).unwrap()
    }

    fn send(&mut self) {
        self.sent += 1;
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let id = MessageId::new(self.sent.to_string()).unwrap();
        self.hub.send(self.runtime.id, id, agent(), Bytes::from_static(b"x"), permit);
    }

    fn join(&mut self) {
        if let Ok(connection) = self.hub.connect(&agent()) {
            self.clients.push(Client { connection, joined: self.sent, got: Vec::new(), open: Vec::new() });
        }
    }

    fn leave(&mut self) {
        if !self.clients.is_empty() {
            let at = self.below(self.clients.len());
            self.hub.disconnect(self.clients.swap_remove(at).connection.id);
        }
    }

    fn write(&mut self) {
        if let Ok(batch) = self.hub.next_batch(true) {
            if self.below(8) == 0 {
                return self.hub.not_written(&batch);
            }
            self.disk.extend(batch.added.iter().map(|stored| (stored.seq, stored.clone())));
            self.disk.retain(|seq, _| !batch.removed.contains(seq));
            self.hub.written(&batch);
        }
    }

    /// Pages are read, and between reading and handing over anything may happen.
    fn read(&mut self) {
        for request in self.hub.take_pages() {
            let rows = self.disk.range(request.after + 1..request.before).map(|(_, stored)| stored.clone());
            let page: Vec<Stored> = rows.take(request.count).collect();
            let complete = page.len() < request.count;
            if self.below(2) == 0 {
                self.acknowledge();
                self.write();
                if !self.settling {
                    self.send();
                }
            }
            match self.below(8) {
                0 => self.hub.page_failed(&request),
                _ => self.hub.page_read(&request, page, complete),
            }
        }
    }

    fn receive(&mut self) {
        for client in &mut self.clients {
            while let Ok(frame) = client.connection.frames.try_recv() {
                if let (ServerFrame::Deliver { token, id, .. }, _) = ServerFrame::decode(&frame).unwrap() {
                    let number = id.as_str().parse().unwrap();
                    assert!(client.got.last().is_none_or(|last| *last < number), "in order, and once");
                    client.got.push(number);
                    client.open.push((token, number));
                }
            }
        }
    }

    /// One client acknowledges one of its deliveries, not necessarily the oldest.
    fn acknowledge(&mut self) {
        self.receive();
        if self.clients.is_empty() {
            return;
        }
        let at = self.below(self.clients.len());
        let count = self.clients[at].open.len();
        if count > 0 {
            let which = self.below(count);
            let (token, number) = self.clients[at].open.remove(which);
            self.acknowledged.insert(number);
            self.hub.acknowledge(self.clients[at].connection.id, token);
        }
    }

    fn step(&mut self) {
        match self.below(24) {
            0 => self.join(),
            1 => self.leave(),
            2..=8 => self.send(),
            9..=12 => self.write(),
            13..=16 => self.read(),
            _ => self.acknowledge(),
        }
    }

    fn is_settled(&self) -> bool {
        let is_idle = |client: &Client| client.open.is_empty() && client.connection.frames.is_empty();
        self.acknowledged.len() as u64 == self.sent && self.disk.is_empty() && self.clients.iter().all(is_idle)
    }

    /// Everybody reads and acknowledges until nothing moves any more.
    fn settle(&mut self) {
        self.settling = true;
        for _ in 0..10_000 {
            self.read();
            self.write();
            self.acknowledge();
            if self.is_settled() {
                return;
            }
        }
        panic!("{} of {} were acknowledged, {} are on disk", self.acknowledged.len(), self.sent, self.disk.len());
    }
}

#[test]
fn wire_4_every_connection_of_an_agent_gets_in_order_and_once_all_that_came_while_it_stood() {
    for seed in 1..=200 {
        let mut play = Play::new(seed * 7919);
        for _ in 0..400 {
            play.step();
        }
        play.join();
        play.settle();
        for client in &play.clients {
            let got: BTreeSet<u64> = client.got.iter().copied().collect();
            let missed = (client.joined + 1..=play.sent).find(|number| !got.contains(number));
            assert_eq!(missed, None, "seed {seed}: it came in while the connection stood");
        }
        assert!(!play.clients.is_empty() && play.sent > 50, "seed {seed}: {}", play.sent);
        assert_eq!(play.hub.stats().unsafe_envelopes, 0);
    }
}
