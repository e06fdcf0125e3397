//! The checker notices what is broken on purpose. The long form is `lineup-sim zoo`.

use lineup_sim::{Mutant, Plan, run};

/// Which invariant notices a defect first, within so many seeds.
fn caught(mutant: Mutant, seeds: u64) -> Option<String> {
    (0..seeds).find_map(|seed| run(Plan::of(seed).mutated(mutant), false).failures.first().map(|f| f.invariant.clone()))
}

/// The long form plays every defect; this one leaves out those that take several restarts to show.
const SLOW: [Mutant; 6] = [
    Mutant::FetchForgets,
    Mutant::GenerationIgnored,
    Mutant::HideIsLeaving,
    Mutant::FocusForgotten,
    Mutant::OperationsForgotten,
    Mutant::OutboxForgotten,
];

#[test]
fn i70_each_defect_is_noticed_within_a_few_seeds() {
    let quick = Mutant::ALL.iter().filter(|mutant| !SLOW.contains(mutant));
    let missed = quick.filter(|mutant| caught(**mutant, 12).is_none());
    let free: Vec<&str> = missed.map(|mutant| mutant.word()).collect();
    assert!(free.is_empty(), "not noticed: {free:?}");
}
