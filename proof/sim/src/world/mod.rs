//! The world: a queue of things that are about to happen, and everyone whom they happen to.

mod agent;
mod app;
mod host;
pub mod ledger;
mod relay;
mod runtime;
mod store;

use std::{collections::BTreeMap, sync::Arc};

use lineup_core::{
    Input,
    policy::{Conversation, HostProfile, Policy},
    workspace::input::Setup,
};
use lineup_model::{AgentId, HostSessionId, InstanceId, Manifest, MessageId, Wall, WorkspaceId};
use lineup_ports::outbound::{ClockReading, Item};
use lineup_runtime::{Engine, Standing, Ticket};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::json;

use self::{agent::AgentSide, app::Process, host::Session, ledger::Ledger, relay::Relay, runtime::Waiter, store::Gate};
use crate::{
    apps::{self, id},
    coverage::Coverage,
    oracle::Oracle,
    plan::{Fault, Plan},
    report::Failure,
    seen::Log,
    zoo::Mutant,
};

/// How long the settling at the end may take, in steps.
const SETTLING: u64 = 20_000;

/// Something that is about to happen.
#[derive(Debug)]
enum Happening {
    AgentActs(usize),
    /// An agent's envelope reaches the relay.
    Sent(AgentId, Vec<u8>),
    /// The relay hands an envelope over, on this connection.
    Deliver(u64, u64),
    /// The relay acknowledges a message, on this connection.
    Acknowledge(u64, MessageId),
    /// The relay takes a message of the Runtime's, on this connection.
    Taken(u64, MessageId, AgentId, Vec<u8>),
    /// A message reaches its agent.
    Arrive(AgentId, Vec<u8>),
    Connect(u64),
    /// The store's answers, for a life of the process.
    Settled(u64),
    Fetched(u64),
    Help(u64),
    Tick(u64),
    HostActs(usize),
    Told(u64, usize),
    Confirm(u64, usize),
    Mounted(u64, usize, InstanceId),
    Started(u64, InstanceId, u32),
    Step(u64, InstanceId, u32, Item),
    InboxRead(u64, InstanceId, u32),
    AppStops(u64, InstanceId, u32),
    Set(u64),
    Trouble,
    Room,
    Up,
}

/// The machine's clocks.
#[derive(Debug)]
struct Clocks {
    boot: u32,
    booted: u64,
    skew: i64,
}

/// Effective time as the world counts it (OP-4): from what was durable when the process came up.
#[derive(Debug, Default)]
struct Reckoning {
    base: u64,
    boot_ms: u64,
}

/// Everything.
#[derive(Debug)]
pub struct World {
    plan: Plan,
    rng: StdRng,
    now: u64,
    order: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    clocks: Clocks,
    reckoning: Reckoning,
    workspace: WorkspaceId,

    engine: Option<Engine>,
    /// Counts the lives of the process; what was on its way to an older one is lost.
    life: u64,
    serving: bool,
    helping: bool,
    ticking: Option<u64>,
    waiters: BTreeMap<Ticket, Waiter>,
    gate: Gate,
    relay: Relay,
    agents: Vec<AgentSide>,
    sessions: Vec<Session>,
    processes: BTreeMap<InstanceId, Process>,
    manifests: Vec<Arc<Manifest>>,
    policy: Policy,
    minted: u64,
    offered: u64,
    calm: bool,
    over: bool,

    /// What is durable, as tables.
    pub ledger: Ledger,
    /// The independent checker.
    pub oracle: Oracle,
    /// The log.
    pub log: Log,
    /// What was reached.
    pub coverage: Coverage,
    failures: Vec<Failure>,
}

impl World {
    /// A world before anything has happened.
    #[must_use]
    pub fn new(plan: Plan, keep_log: bool) -> Self {
        let rng = StdRng::seed_from_u64(plan.seed);
        let rooms = [("main", vec!["ann"]), ("side", vec!["ann", "bob"]), ("work", vec!["bob", "cat"])];
        let manifests = apps::all();
        let pairs: Vec<(&str, &str)> =
            rooms.iter().flat_map(|(room, agents)| agents.iter().map(move |agent| (*agent, *room))).collect();
        let oracle = Oracle::new(&json!(manifests), &pairs);
        let agents = ["ann", "bob", "cat"].iter().map(|agent| AgentSide::new(agent, &rooms)).collect();
        let sessions = ["web", "desk", "tab"].iter().map(|session| Session::new(session)).collect();
        let gate = Gate::new(plan.mutant);
        let mut world = Self {
            plan,
            rng,
            now: 0,
            order: 0,
            queue: BTreeMap::new(),
            clocks: Clocks { boot: 1, booted: 0, skew: 0 },
            reckoning: Reckoning::default(),
            workspace: id("w"),
            engine: None,
            life: 0,
            serving: false,
            helping: false,
            ticking: None,
            waiters: BTreeMap::new(),
            gate,
            relay: Relay::default(),
            agents,
            sessions,
            processes: BTreeMap::new(),
            manifests,
            policy: Policy::default(),
            minted: 0,
            offered: 0,
            calm: false,
            over: false,
            ledger: Ledger::default(),
            oracle,
            log: Log::new(keep_log),
            coverage: Coverage::default(),
            failures: Vec::new(),
        };
        world.come_up();
        for (room, agents) in rooms {
            let conversation =
                Conversation { id: id(room), title: room.into(), agents: agents.into_iter().map(id).collect() };
            world.offer(Input::Setup(Setup::Conversation(conversation)), Waiter::Nobody);
        }
        if world.rng.random_bool(0.3) {
            let profile = HostProfile { paired: true, ..HostProfile::default() };
            world.offer(Input::Setup(Setup::Pair(profile)), Waiter::Nobody);
        }
        world.pump();
        for at in 0..world.agents.len() {
            let after = world.rng.random_range(10..500);
            world.after(after, Happening::AgentActs(at));
        }
        for at in 0..world.sessions.len() {
            let after = world.rng.random_range(1..3_000);
            world.after(after, Happening::HostActs(at));
        }
        let after = world.rng.random_range(500..20_000);
        world.after(after, Happening::Trouble);
        world
    }

    /// Plays until the faults stop, then until everything has settled.
    pub fn play(&mut self) {
        while self.offered < self.plan.inputs && self.failures.is_empty() && self.step() {
            self.judge();
        }
        if !self.failures.is_empty() {
            return;
        }
        self.calm_down();
        let mut steps = 0;
        while self.failures.is_empty() && self.step() {
            self.judge();
            steps += 1;
            if steps == SETTLING / 2 {
                self.over = true;
            }
            if steps > SETTLING {
                self.fail("I68", "the world does not settle".to_owned());
            }
        }
        if self.failures.is_empty() {
            self.finish();
        }
    }

    /// What was found.
    #[must_use]
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// How many inputs were offered.
    #[must_use]
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// How far effective time went, in milliseconds.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        self.now
    }

    fn fail(&mut self, invariant: &str, what: String) {
        self.log.say(self.now, &format!("!! {invariant}: {what}"));
        self.failures.push(Failure { invariant: invariant.to_owned(), what, at: self.now });
    }

    /// Takes over what the checkers have found.
    fn judge(&mut self) {
        let found: Vec<(String, String)> = self
            .oracle
            .violations()
            .iter()
            .map(|seen| (seen.invariant.to_owned(), format!("{}: {}", seen.what, seen.evidence)))
            .chain(self.ledger.faults.iter().map(|(invariant, what)| ((*invariant).to_owned(), what.clone())))
            .collect();
        for (invariant, what) in found {
            self.fail(&invariant, what);
        }
    }

    /// Lets the next thing happen. `false`: nothing is left.
    fn step(&mut self) -> bool {
        let Some(((at, _), happening)) = self.queue.pop_first() else { return false };
        self.now = self.now.max(at);
        if self.engine.is_some() {
            // While it is down nobody can say: a reboot counts by the wall clock, once it is up again (OP-4).
            let reckoned = self.effective();
            self.oracle.clock(i64::try_from(reckoned).unwrap_or(i64::MAX));
        }
        let reading = self.reading();
        if let Some(engine) = &mut self.engine {
            engine.read_clock(&reading);
        }
        self.happen(happening);
        self.pump();
        true
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::AgentActs(at) => self.agent_acts(at),
            Happening::Sent(agent, bytes) => self.relay_takes_request(agent, bytes),
            Happening::Deliver(connection, pending) => self.relay_delivers(connection, pending),
            Happening::Acknowledge(connection, message) => self.relay_acknowledges(connection, &message),
            Happening::Taken(connection, message, agent, bytes) => {
                self.relay_takes_message(connection, message, agent, bytes);
            }
            Happening::Arrive(agent, bytes) => self.agent_gets(&agent, &bytes),
            Happening::Connect(life) => self.relay_connects(life),
            Happening::Settled(life) if life == self.life => self.store_settles(),
            Happening::Fetched(life) if life == self.life => self.store_fetched(),
            Happening::Help(life) if life == self.life => self.store_helps(),
            Happening::Tick(life) if life == self.life => self.tick(),
            Happening::HostActs(at) => self.host_acts(at),
            Happening::Told(life, at) if life == self.life => self.host_told(at),
            Happening::Confirm(life, at) if life == self.life => self.host_confirms(at),
            Happening::Mounted(life, at, instance) if life == self.life => self.host_mounted(at, instance),
            Happening::Started(life, instance, launch) if life == self.life => self.app_started(&instance, launch),
            Happening::Step(life, instance, launch, item) if life == self.life => {
                self.app_steps(&instance, launch, &item);
            }
            Happening::InboxRead(life, instance, launch) if life == self.life => {
                self.app_reads_inbox(&instance, launch);
            }
            Happening::AppStops(life, instance, launch) if life == self.life => self.app_stops(&instance, launch),
            Happening::Set(life) if life == self.life => self.set_policy(),
            Happening::Trouble => self.trouble(),
            Happening::Room => self.gate.fill(false),
            Happening::Up => self.come_up(),
            // It was on its way to a process that is dead.
            Happening::Settled(_)
            | Happening::Fetched(_)
            | Happening::Help(_)
            | Happening::Tick(_)
            | Happening::Told(..)
            | Happening::Confirm(..)
            | Happening::Mounted(..)
            | Happening::Started(..)
            | Happening::Step(..)
            | Happening::InboxRead(..)
            | Happening::AppStops(..)
            | Happening::Set(_) => {}
        }
    }

    // ---- small things ----

    fn after(&mut self, millis: u64, happening: Happening) {
        self.order += 1;
        self.queue.insert((self.now + millis, self.order), happening);
    }

    /// Whether a fault strikes now.
    fn strikes(&mut self, fault: Fault, chance: f64) -> bool {
        !self.calm && self.plan.has(fault) && self.rng.random_bool(chance)
    }

    fn within(&mut self, low: u64, high: u64) -> u64 {
        self.rng.random_range(low..high)
    }

    fn mutant(&self, mutant: Mutant) -> bool {
        self.plan.mutant == Some(mutant)
    }

    fn mint(&mut self, letter: char) -> String {
        self.minted += 1;
        format!("{letter}{}", self.minted)
    }

    fn say(&mut self, line: &str) {
        self.log.say(self.now, line);
    }

    fn boot_ms(&self) -> u64 {
        self.now - self.clocks.booted
    }

    fn wall(&self) -> Wall {
        Wall(1_700_000_000_000 + i64::try_from(self.now).unwrap_or(0) + self.clocks.skew)
    }

    fn reading(&self) -> ClockReading {
        let ahead = if self.mutant(Mutant::ClockAhead) { 4 } else { 1 };
        ClockReading { boot: format!("boot-{}", self.clocks.boot), boot_ms: self.boot_ms() * ahead, wall: self.wall() }
    }

    /// Effective time by the world's own reckoning.
    fn effective(&self) -> u64 {
        self.reckoning.base + self.boot_ms().saturating_sub(self.reckoning.boot_ms)
    }

    fn reckon(&mut self) {
        let boot = format!("boot-{}", self.clocks.boot);
        let base = match &self.ledger.time {
            None => 0,
            Some(time) if time.boot == boot => time.effective.0 + self.boot_ms().saturating_sub(time.boot_ms),
            Some(time) => time.effective.0 + u64::try_from(self.wall().0 - time.wall.0).unwrap_or(0),
        };
        self.reckoning = Reckoning { base, boot_ms: self.boot_ms() };
    }

    // ---- trouble ----

    fn trouble(&mut self) {
        if self.calm {
            return;
        }
        match self.rng.random_range(0..10) {
            0 | 1 => {
                if self.strikes(Fault::Crashes, 0.8) {
                    self.crash(false);
                }
            }
            2 => {
                if self.strikes(Fault::Reboots, 0.5) {
                    self.crash(true);
                }
            }
            3 => {
                if self.strikes(Fault::WallJumps, 0.9) {
                    let jump = self.rng.random_range(-90_000_000..90_000_000_i64);
                    self.clocks.skew += jump;
                    self.say(&format!("the wall clock jumps by {jump} ms"));
                }
            }
            4 => {
                if self.strikes(Fault::Sleeps, 0.9) {
                    let long = if self.rng.random_bool(0.2) { 40_000_000 } else { 200_000 };
                    let asleep = self.within(1_000, long);
                    self.now += asleep;
                    self.say(&format!("the machine slept for {asleep} ms"));
                }
            }
            5 | 6 => {
                if self.strikes(Fault::RelayCuts, 0.9) {
                    self.relay_cuts();
                }
            }
            7 => {
                if self.strikes(Fault::StoreFull, 0.7) {
                    self.say("the disk is full");
                    self.gate.fill(true);
                    let after = self.within(500, 20_000);
                    self.after(after, Happening::Room);
                }
            }
            8 => {
                if self.strikes(Fault::PolicyChanges, 0.9) {
                    self.after(1, Happening::Set(self.life));
                }
            }
            _ => {
                let up: Vec<(InstanceId, u32)> =
                    self.processes.iter().map(|(id, process)| (id.clone(), process.launch)).collect();
                if !up.is_empty() && self.strikes(Fault::AppStops, 0.9) {
                    let (instance, launch) = up[self.rng.random_range(0..up.len())].clone();
                    self.after(1, Happening::AppStops(self.life, instance, launch));
                }
            }
        }
        let after = self.within(200, 12_000);
        self.after(after, Happening::Trouble);
    }

    fn set_policy(&mut self) {
        let mut policy = self.policy.clone();
        match self.rng.random_range(0..4) {
            0 => {
                let scope = ["notes", "board", "pomodoro"][self.rng.random_range(0..3)];
                if !policy.disabled_apps.remove(&id(scope)) {
                    policy.disabled_apps.insert(id(scope));
                }
            }
            1 => {
                let hidden = (id("bob"), id("notes.add"));
                if !policy.hidden_from_agent.remove(&hidden) {
                    policy.hidden_from_agent.insert(hidden);
                }
            }
            2 => {
                let hidden = (id("side"), id("board.draw"));
                if !policy.hidden_in_conversation.remove(&hidden) {
                    policy.hidden_in_conversation.insert(hidden);
                }
            }
            _ => policy = Policy::default(),
        }
        self.say(&format!("the owner sets {policy:?}"));
        self.policy = policy.clone();
        self.offer(Input::Setup(Setup::Policy(policy)), Waiter::Nobody);
    }

    /// The process dies; with it everything that was not durable.
    fn crash(&mut self, reboot: bool) {
        if self.engine.is_none() {
            return;
        }
        self.say(if reboot { "the machine reboots" } else { "the process dies" });
        self.oracle.crashed(i64::try_from(self.effective()).unwrap_or(0));
        let lands = self.rng.random_bool(0.5);
        self.store_dies(lands);
        self.check_against_ledger();
        self.engine = None;
        self.life += 1;
        self.serving = false;
        self.helping = false;
        self.ticking = None;
        self.waiters.clear();
        self.processes.clear();
        self.relay.disconnect();
        for session in &mut self.sessions {
            session.disconnect();
        }
        let long = if self.rng.random_bool(0.15) { 40_000_000 } else { 90_000 };
        let mut down = self.within(10, long);
        if reboot {
            self.clocks.boot += 1;
            self.clocks.booted = self.now;
            down = down.max(2_000);
        }
        if self.strikes(Fault::AppsChange, 0.7) {
            self.manifests = apps::all();
            if self.rng.random_bool(0.7) {
                let gone = self.rng.random_range(0..self.manifests.len());
                self.manifests.remove(gone);
            }
        }
        self.after(down, Happening::Up);
    }

    // ---- the end ----

    fn calm_down(&mut self) {
        self.say("the faults stop");
        self.calm = true;
        self.oracle.calm();
        self.gate.calm();
        self.manifests = apps::all();
        if self.engine.is_none() {
            self.queue.retain(|_, happening| !matches!(happening, Happening::Up));
            self.come_up();
        }
        self.policy = Policy::default();
        self.offer(Input::Setup(Setup::Policy(Policy::default())), Waiter::Nobody);
        if !self.relay.is_connected() {
            self.after(1, Happening::Connect(self.life));
        }
        for at in 0..self.sessions.len() {
            self.after(5, Happening::HostActs(at));
        }
        for at in 0..self.agents.len() {
            self.after(60_000, Happening::AgentActs(at));
        }
        self.pump();
    }

    fn finish(&mut self) {
        // As before the process stops: what only tidies up is written as well.
        if let Some(engine) = &mut self.engine {
            engine.flush();
        }
        self.pump();
        while self.step() {}
        self.check_against_ledger();
        let open: Vec<String> =
            self.engine.iter().flat_map(|engine| engine.durable().calls()).map(|call| format!("{call:?}")).collect();
        for call in open {
            self.fail("I35", format!("a call never ended: {call}"));
        }
        if self.engine.as_ref().is_some_and(|engine| engine.standing() == Standing::Serving) {
            self.check_recovery();
            self.check_hosts();
        }
        self.oracle.finish();
        self.judge();
        if self.plan.has(Fault::Fenced) && self.failures.is_empty() {
            self.lose_the_workspace();
            self.judge();
        }
    }

    fn session_id(&self, at: usize) -> HostSessionId {
        self.sessions[at].id.clone()
    }
}
