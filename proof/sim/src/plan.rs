//! What a seed does: how long it runs and which faults it has.

use std::{collections::BTreeSet, fmt, str::FromStr};

use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::zoo::Mutant;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// One way in which the world misbehaves. Half of them are off in any one seed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Fault { $($(#[$doc])* $name,)* }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its word on the command line.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

faults! {
    /// Agents send the same request again.
    AgentRepeats = "agent-repeats",
    /// Agents change the input under a used call id.
    AgentDiverges = "agent-diverges",
    /// Agents ask for what is another's, with ids that are not theirs.
    AgentLies = "agent-lies",
    /// Agents call with old revisions.
    AgentStale = "agent-stale",
    /// Agents send what is no request.
    AgentGarbage = "agent-garbage",
    /// The relay loses what it has not acknowledged.
    RelayDrops = "relay-drops",
    /// The relay delivers twice.
    RelayDoubles = "relay-doubles",
    /// The relay delivers late and out of order.
    RelayReorders = "relay-reorders",
    /// The relay acknowledges late.
    RelayAcksLate = "relay-acks-late",
    /// The relay's connection breaks.
    RelayCuts = "relay-cuts",
    /// Hosts are slow.
    HostSlow = "host-slow",
    /// Hosts cannot show what they are asked to.
    HostFails = "host-fails",
    /// Hosts confirm attempts that are over or never were.
    HostLies = "host-lies",
    /// Hosts go out of view and disconnect.
    HostLeaves = "host-leaves",
    /// Hosts send the same intent twice.
    HostRepeats = "host-repeats",
    /// MiniApps start late, or not at all.
    AppStarts = "app-starts",
    /// MiniApps stop while they work.
    AppStops = "app-stops",
    /// Handlers answer with what does not fit.
    HandlerInvalid = "handler-invalid",
    /// Handlers answer late, twice, or for an older delivery.
    HandlerLate = "handler-late",
    /// Handlers never answer.
    HandlerSilent = "handler-silent",
    /// Handlers ask for something else when they run again.
    HandlerDiverges = "handler-diverges",
    /// The wall clock jumps.
    WallJumps = "wall-jumps",
    /// The machine sleeps.
    Sleeps = "sleeps",
    /// The process is killed.
    Crashes = "crashes",
    /// The machine is rebooted.
    Reboots = "reboots",
    /// The store is slow.
    StoreSlow = "store-slow",
    /// The store refuses.
    StoreRefuses = "store-refuses",
    /// The store is full for a time.
    StoreFull = "store-full",
    /// Nobody knows what the store did.
    StoreUnknown = "store-unknown",
    /// Facts cannot be read.
    FetchFails = "fetch-fails",
    /// MiniApps are added and removed at a restart.
    AppsChange = "apps-change",
    /// The policy changes.
    PolicyChanges = "policy-changes",
    /// Another process takes the workspace at the end.
    Fenced = "fenced",
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Fault {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.iter().copied().find(|fault| fault.word() == text).ok_or_else(|| format!("`{text}` is no fault"))
    }
}

/// Inputs of a seed when nothing else is asked for.
pub const INPUTS: u64 = 250;

/// Everything that decides what happens in a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// How many inputs are offered before the faults stop.
    pub inputs: u64,
    /// The faults that are on.
    pub faults: BTreeSet<Fault>,
    /// The defect that is built in, if any.
    pub mutant: Option<Mutant>,
}

impl Plan {
    /// The plan of a seed: each fault is on or off by the toss of a coin.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ 0x5eed_fa17);
        let faults = Fault::ALL.iter().copied().filter(|_| rng.random_bool(0.5)).collect();
        Self { seed, inputs: INPUTS, faults, mutant: None }
    }

    /// The same with so many inputs.
    #[must_use]
    pub fn with_inputs(mut self, inputs: u64) -> Self {
        self.inputs = inputs;
        self
    }

    /// The same without a fault.
    #[must_use]
    pub fn without(mut self, fault: Fault) -> Self {
        self.faults.remove(&fault);
        self
    }

    /// The same with a defect built in.
    #[must_use]
    pub fn mutated(mut self, mutant: Mutant) -> Self {
        self.mutant = Some(mutant);
        self
    }

    /// Whether a fault is on.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// The command that plays it again.
    #[must_use]
    pub fn replay(&self) -> String {
        let full = Self::of(self.seed).faults;
        let off: Vec<&str> = full.difference(&self.faults).map(|fault| fault.word()).collect();
        let mut line = format!("lineup-sim run --seed {} --inputs {}", self.seed, self.inputs);
        if !off.is_empty() {
            line.push_str(&format!(" --without {}", off.join(",")));
        }
        if let Some(mutant) = self.mutant {
            line.push_str(&format!(" --mutant {}", mutant.word()));
        }
        line
    }
}
