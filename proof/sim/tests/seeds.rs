//! Seeds of the simulation in the ordinary test run.

use lineup_sim::{Coverage, Plan, run, shrink};

fn clean(seeds: std::ops::Range<u64>) -> Coverage {
    let mut coverage = Coverage::default();
    for seed in seeds {
        let played = run(Plan::of(seed).with_inputs(150), false);
        if let Some(failure) = played.failures.first() {
            let small = shrink(&played);
            let log = small.log.iter().rev().take(40).rev().cloned().collect::<Vec<_>>().join("\n");
            panic!("{log}\n{}: {}\nreplay: {}", failure.invariant, failure.what, small.plan.replay());
        }
        coverage.add(&played.coverage);
    }
    coverage
}

#[test]
fn every_invariant_holds_in_the_first_seeds() {
    clean(0..50);
}

#[test]
fn every_invariant_holds_in_the_next_seeds() {
    clean(50..100);
}

#[test]
fn i70_the_world_reaches_both_sides_of_the_contract_and_most_cells_of_its_machines() {
    let coverage = clean(1_000..1_030);
    assert!(coverage.accepted_share() >= 50, "{} % granted", coverage.accepted_share());
    assert!(coverage.missed().len() <= 12, "missed: {:?}", coverage.missed());
    let needed =
        ["I9", "I13", "I14", "I16", "I17", "I18", "I25", "I31", "I34", "I45", "I47", "I56", "I68", "HST-2", "CALL-3"];
    for invariant in needed {
        assert!(coverage.invariants.get(invariant).is_some_and(|count| *count > 0), "{invariant} was never looked at");
    }
}

#[test]
fn a_seed_plays_the_same_way_twice() {
    for seed in [3, 33, 333] {
        let (first, second) = (run(Plan::of(seed), false), run(Plan::of(seed), false));
        assert_eq!(first.digest, second.digest, "seed {seed}");
        assert_eq!(first.inputs, second.inputs, "seed {seed}");
    }
}
