//! The checker notices what is broken on purpose. The long form is `lineup-sim zoo`.

use lineup_sim::{Mutant, Plan, run};

/// Which invariant notices a defect first, within so many seeds.
fn caught(mutant: Mutant, seeds: u64) -> Option<String> {
    (0..seeds).find_map(|seed| run(Plan::of(seed).mutated(mutant), false).failures.first().map(|f| f.invariant.clone()))
}

#[test]
fn i70_each_of_these_defects_is_noticed_within_a_few_seeds() {
    let quick = [
        Mutant::AuditRowLost,
        Mutant::BatchTorn,
        Mutant::CommitLost,
        Mutant::OutcomeNotSent,
        Mutant::OutcomeTwice,
        Mutant::OutcomeInvalid,
        Mutant::ReceiptMiscounted,
        Mutant::OperationOutlives,
        Mutant::DeadlineMoves,
        Mutant::RevisionSkips,
        Mutant::StoredClockBack,
        Mutant::FocusKeepsClosed,
        Mutant::EntryPoses,
        Mutant::SendsBeforeCommit,
        Mutant::SendsReversed,
        Mutant::OutboxNotResent,
        Mutant::AcknowledgementsIgnored,
        Mutant::SenderForged,
        Mutant::HiddenConfirms,
        Mutant::ClockStopped,
    ];
    let free: Vec<&str> =
        quick.iter().filter(|mutant| caught(**mutant, 12).is_none()).map(|mutant| mutant.word()).collect();
    assert!(free.is_empty(), "not noticed: {free:?}");
}
