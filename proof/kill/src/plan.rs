//! Which kill a round tries: chosen by its seed and its number alone, so that it can be played again.

use std::collections::{BTreeMap, BTreeSet};

use lineup_failpoint::{Place, Point};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde::Serialize;

use crate::{
    scenario::{END, Phase, Scenario},
    server::Arm,
};

/// What a kill hit. Each kill counts once, in the first of these that fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A Runtime with a past that was not ready yet.
    Recovery,
    /// Between a durable commit and the first thing that follows from it.
    AfterCommit,
    /// A message in the outbox, and no agent connected who could have got it.
    Unsent,
    /// A deadline or an interruption whose outcome the agent does not know.
    Settling,
    /// An activation that more than one call waits for.
    Waiting,
    /// An activation.
    Starting,
    /// A running focus period.
    Focusing,
    /// Anything else: texts, joining, nothing open.
    Other,
}

impl Class {
    /// Every class, with how many of 200 kills there must be at least.
    pub const ALL: &[(Self, usize)] = &[
        (Self::AfterCommit, 60),
        (Self::Recovery, 20),
        (Self::Starting, 10),
        (Self::Waiting, 10),
        (Self::Focusing, 10),
        (Self::Settling, 10),
        (Self::Unsent, 10),
        (Self::Other, 0),
    ];

    pub const fn words(self) -> &'static str {
        match self {
            Self::Recovery => "inside recovery",
            Self::AfterCommit => "between a commit and its first effect",
            Self::Unsent => "unsent outbox",
            Self::Settling => "settling",
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Focusing => "focusing",
            Self::Other => "anything else",
        }
    }
}

/// What rounds in a row try for.
const PATTERN: [Class; 22] = {
    use Class::{
        AfterCommit as A, Focusing as F, Other as O, Recovery as R, Settling as T, Starting as S, Unsent as U,
        Waiting as W,
    };
    [A, S, R, A, W, F, A, T, U, A, O, R, S, A, W, F, U, A, T, R, U, A]
};

/// Points that a recovery passes beside its own.
const ON_THE_WAY_UP: &[Point] = &[
    Point::SqlAsked,
    Point::SqlBegun,
    Point::SqlBeforeCommit,
    Point::SqlCommitted,
    Point::ActorSettled,
    Point::ActorEffectsTaken,
    Point::ActorSendOrdered,
    Point::TransportConnected,
    Point::ActorResending,
];

/// System calls that reach the disk.
const WRITES: &[&str] = &["pwrite64", "fdatasync", "fsync"];

/// One round.
#[derive(Clone, Debug)]
pub struct Plan {
    pub scenario: Scenario,
    /// What ends the first life, and perhaps the second.
    pub arms: Vec<Arm>,
}

/// Where hits fall, as one run of each scenario showed.
#[derive(Debug, Default)]
pub struct Map {
    /// By scenario: the phase, the point, and which hit of the point it was.
    hits: BTreeMap<Scenario, Vec<(Phase, Point, u64)>>,
    /// Everything that was passed, also before the first phase.
    passed: BTreeSet<Point>,
}

impl Map {
    /// Reads the list of one run.
    pub fn add(&mut self, scenario: Scenario, lines: &[String]) {
        let (mut phase, mut counts) = (None, BTreeMap::<Point, u64>::new());
        let hits = self.hits.entry(scenario).or_default();
        for line in lines {
            if line == END {
                phase = None;
            } else if let Some(marked) = Phase::read(line) {
                phase = Some(marked);
            } else if let Some(point) = Point::ALL.iter().copied().find(|point| point.name() == line) {
                let count = counts.entry(point).or_default();
                *count += 1;
                self.passed.insert(point);
                if let Some(phase) = phase {
                    hits.push((phase, point, *count));
                }
            }
        }
    }

    /// The hits of a kind.
    fn of(&self, fits: impl Fn(Phase, Point) -> bool) -> Vec<(Scenario, Point, u64)> {
        let all = self.hits.iter().flat_map(|(scenario, hits)| hits.iter().map(move |hit| (*scenario, *hit)));
        let fitting = all.filter(|(_, (phase, point, _))| fits(*phase, *point));
        fitting.map(|(scenario, (_, point, hit))| (scenario, point, hit)).collect()
    }

    /// What round `number` tries.
    pub fn plan(&self, seed: u64, number: u64, strace: bool) -> Plan {
        let mut dice = StdRng::seed_from_u64(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let goal = PATTERN[(number % PATTERN.len() as u64) as usize];
        let step = |point: Point| point.place() == Place::Step;
        let hits = match goal {
            Class::AfterCommit => self.of(|_, point| point.place() == Place::AfterCommit),
            Class::Recovery => self.of(|phase, point| phase != Phase::Joining && step(point)),
            Class::Other => self.of(|phase, point| matches!(phase, Phase::Joining | Phase::Quiet) && step(point)),
            Class::Unsent => self.of(|phase, point| phase == Phase::Unsent && step(point)),
            Class::Settling => self.of(|phase, point| phase == Phase::Settling && step(point)),
            Class::Waiting => self.of(|phase, point| phase == Phase::Waiting && step(point)),
            Class::Starting => self.of(|phase, point| phase == Phase::Starting && step(point)),
            Class::Focusing => self.of(|phase, point| phase == Phase::Focusing && step(point)),
        };
        // First the point, then its hit: else the few points that are hit often would be all.
        let points: BTreeSet<(Scenario, Point)> = hits.iter().map(|(scenario, point, _)| (*scenario, *point)).collect();
        let points: Vec<_> = points.into_iter().collect();
        let (scenario, point) = points.choose(&mut dice).copied().unwrap_or((Scenario::Focus, Point::SqlCommitted));
        let of_it: Vec<u64> =
            hits.iter().filter(|(s, p, _)| (*s, *p) == (scenario, point)).map(|(_, _, hit)| *hit).collect();
        let hit = of_it.choose(&mut dice).copied().unwrap_or(1);
        let mut arms = vec![Arm::Point { name: point.name().to_owned(), hit }];
        if goal == Class::Recovery {
            let own: Vec<Point> = Point::ALL
                .iter()
                .copied()
                .filter(|point| point.place() == Place::Recovery)
                .chain(ON_THE_WAY_UP.iter().copied())
                .collect();
            let point = own.choose(&mut dice).copied().unwrap_or(Point::RecoveryLoaded);
            arms.push(Arm::Point { name: point.name().to_owned(), hit: 1 });
        }
        if goal == Class::Other && strace {
            let name = WRITES.choose(&mut dice).copied().unwrap_or("pwrite64").to_owned();
            arms = vec![Arm::Syscall { name, hit: dice.random_range(1..40) }];
        }
        Plan { scenario, arms }
    }

    /// Points that no scenario has passed.
    pub fn never_hit(&self) -> Vec<&'static str> {
        let missing = Point::ALL.iter().filter(|point| !self.passed.contains(point));
        missing.map(|point| point.name()).collect()
    }
}

/// Whether a point of this name lies between a commit and its first effect.
pub fn after_commit(name: &str) -> bool {
    Point::ALL.iter().any(|point| point.name() == name && point.place() == Place::AfterCommit)
}
