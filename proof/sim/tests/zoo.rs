//! The checker notices what is broken on purpose. The long form is `lineup-sim zoo`.

use lineup_sim::{Mutant, Plan, run};

/// Which invariant notices a defect first, within so many seeds.
fn caught(mutant: Mutant, seeds: u64) -> Option<String> {
    (0..seeds).find_map(|seed| run(Plan::of(seed).mutated(mutant), false).failures.first().map(|f| f.invariant.clone()))
}

#[test]
fn i70_each_defect_is_noticed_within_a_few_seeds() {
    let free: Vec<&str> =
        Mutant::ALL.iter().filter(|mutant| caught(**mutant, 40).is_none()).map(|mutant| mutant.word()).collect();
    assert!(free.is_empty(), "not noticed: {free:?}");
}
