//! Playing a seed, and making a failing one small.

use serde_json::{Value, json};

use crate::{Coverage, Plan, World};

/// Something that must not be.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The broken invariant, by its id.
    pub invariant: String,
    /// What was seen.
    pub what: String,
    /// When, in milliseconds of the world.
    pub at: u64,
}

/// A seed that was played.
#[derive(Debug)]
pub struct Played {
    /// How.
    pub plan: Plan,
    /// What was found; empty when all is well.
    pub failures: Vec<Failure>,
    /// Inputs that were offered.
    pub inputs: u64,
    /// Names everything that happened.
    pub digest: String,
    /// What was reached.
    pub coverage: Coverage,
    /// The log, if it was kept.
    pub log: Vec<String>,
}

impl Played {
    /// As JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let failures: Vec<Value> = self
            .failures
            .iter()
            .map(|failure| json!({ "invariant": failure.invariant, "what": failure.what, "at_ms": failure.at }))
            .collect();
        json!({
            "seed": self.plan.seed, "replay": self.plan.replay(), "inputs": self.inputs, "digest": self.digest,
            "failures": failures,
        })
    }
}

/// Plays a plan to its end.
#[must_use]
pub fn run(plan: Plan, keep_log: bool) -> Played {
    let mut world = World::new(plan.clone(), keep_log);
    world.play();
    let mut coverage = world.coverage.clone();
    for (invariant, count) in world.oracle.exercised() {
        *coverage.invariants.entry(invariant.to_owned()).or_default() += count;
    }
    for (invariant, count) in &world.ledger.looked {
        *coverage.invariants.entry((*invariant).to_owned()).or_default() += count;
    }
    Played {
        failures: world.failures().to_vec(),
        inputs: world.offered(),
        digest: world.log.digest(),
        log: world.log.lines(),
        coverage,
        plan,
    }
}

/// The same failure with fewer inputs and fewer faults, and its log.
#[must_use]
pub fn shrink(failed: &Played) -> Played {
    let Some(first) = failed.failures.first() else { return run(failed.plan.clone(), true) };
    let wanted = first.invariant.clone();
    let fails = |plan: &Plan| run(plan.clone(), false).failures.first().is_some_and(|found| found.invariant == wanted);
    let mut plan = failed.plan.clone();
    for fault in failed.plan.faults.clone() {
        let without = plan.clone().without(fault);
        if fails(&without) {
            plan = without;
        }
    }
    let mut step = plan.inputs / 2;
    while step > 0 {
        let fewer = plan.clone().with_inputs(plan.inputs.saturating_sub(step));
        if fails(&fewer) {
            plan = fewer;
        } else {
            step /= 2;
        }
        if step > plan.inputs {
            step = plan.inputs;
        }
    }
    run(plan, true)
}
