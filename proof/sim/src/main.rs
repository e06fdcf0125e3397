//! `lineup-sim`: plays seeds, and shows that the checker notices what is broken on purpose.

use std::{collections::BTreeMap, ops::Range, process::ExitCode, time::Instant};

use clap::{Parser, Subcommand};
use lineup_sim::{Coverage, Fault, Mutant, Plan, plan::INPUTS, run, shrink};
use serde_json::json;

/// Plays a seeded world around the Runtime's engine.
#[derive(Debug, Parser)]
#[command(version)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Plays seeds and reports what they reached.
    Run {
        /// Seeds from and up to, without the last: `0..1000`.
        #[arg(long, value_parser = range, conflicts_with = "seed")]
        seeds: Option<Range<u64>>,
        /// One seed; a failing one is made small and its log printed.
        #[arg(long)]
        seed: Option<u64>,
        /// Inputs before the faults of a seed stop.
        #[arg(long, default_value_t = INPUTS)]
        inputs: u64,
        /// Faults to leave out.
        #[arg(long, value_delimiter = ',')]
        without: Vec<Fault>,
        /// A defect to build in.
        #[arg(long)]
        mutant: Option<Mutant>,
        /// Print the whole log of `--seed`.
        #[arg(long)]
        log: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Builds each defect in and counts the seeds until an invariant notices.
    Zoo {
        /// At most so many seeds for each.
        #[arg(long, default_value_t = 200)]
        seeds: u64,
        /// Inputs before the faults of a seed stop.
        #[arg(long, default_value_t = INPUTS)]
        inputs: u64,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

fn range(text: &str) -> Result<Range<u64>, String> {
    let (from, to) = text.split_once("..").ok_or("expected A..B")?;
    let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
    Ok(number(from)?..number(to)?)
}

fn main() -> ExitCode {
    match Line::parse().command {
        Command::Run { seeds, seed, inputs, without, mutant, log, json } => {
            let seeds = seeds.unwrap_or_else(|| seed.map_or(0..100, |seed| seed..seed + 1));
            let plan = |seed| {
                let mut plan =
                    without.iter().fold(Plan::of(seed).with_inputs(inputs), |plan, fault| plan.without(*fault));
                plan.mutant = mutant;
                plan
            };
            if log && let Some(seed) = seed {
                for line in run(plan(seed), true).log {
                    println!("{line}");
                }
            }
            play(seeds, plan, json)
        }
        Command::Zoo { seeds, inputs, json } => zoo(seeds, inputs, json),
    }
}

fn play(seeds: Range<u64>, plan: impl Fn(u64) -> Plan, as_json: bool) -> ExitCode {
    let began = Instant::now();
    let mut coverage = Coverage::default();
    let (mut inputs, mut failed) = (0, Vec::new());
    for seed in seeds.clone() {
        let played = run(plan(seed), false);
        inputs += played.inputs;
        coverage.add(&played.coverage);
        if !played.failures.is_empty() {
            if failed.is_empty() && !as_json {
                tell(&played);
            }
            failed.push(played);
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    if as_json {
        let failures: Vec<_> = failed.iter().map(lineup_sim::Played::json).collect();
        let total = json!({
            "seeds": [seeds.start, seeds.end], "inputs": inputs, "seconds": seconds, "failures": failures,
            "coverage": coverage.json(),
        });
        println!("{total:#}");
    } else {
        print(&coverage);
        println!("seeds {}..{}: {inputs} inputs in {seconds:.1} s, {} failed", seeds.start, seeds.end, failed.len());
        for played in failed.iter().skip(1) {
            if let Some(first) = played.failures.first() {
                println!("{}: {}", first.invariant, played.plan.replay());
            }
        }
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(played: &lineup_sim::Played) {
    let small = shrink(played);
    for line in small.log.iter().rev().take(80).rev() {
        println!("{line}");
    }
    for failure in small.failures.iter().take(3) {
        println!("{}: {}", failure.invariant, failure.what);
    }
    println!("replay: {}", small.plan.replay());
}

fn print(coverage: &Coverage) {
    let table = |title: &str, rows: &BTreeMap<String, u64>| {
        println!("{title}");
        for (name, count) in rows {
            println!("  {count:>9}  {name}");
        }
    };
    table("inputs", &coverage.inputs);
    println!("decisions: {} granted ({} %)", coverage.accepted, coverage.accepted_share());
    table("rejections", &coverage.rejected);
    table("envelopes not read", &coverage.malformed);
    table("store", &coverage.store);
    let cells = coverage.cells.iter().map(|((machine, cell), count)| (format!("{machine}: {cell}"), *count)).collect();
    table("cells", &cells);
    for missed in coverage.missed() {
        println!("          -  {missed}");
    }
    table("invariants", &coverage.invariants);
}

fn zoo(seeds: u64, inputs: u64, as_json: bool) -> ExitCode {
    let mut rows = Vec::new();
    let mut free = 0;
    for mutant in Mutant::ALL {
        let caught = (0..seeds).find_map(|seed| {
            let played = run(Plan::of(seed).with_inputs(inputs).mutated(*mutant), false);
            played.failures.first().map(|failure| (failure.invariant.clone(), seed + 1))
        });
        free += u32::from(caught.is_none());
        if !as_json {
            match &caught {
                Some((invariant, seeds)) => println!("{:<26} {invariant:<10} {seeds}", mutant.word()),
                None => println!("{:<26} NOT CAUGHT in {seeds}", mutant.word()),
            }
        }
        rows.push(json!({
            "mutant": mutant.word(), "invariant": caught.as_ref().map(|(invariant, _)| invariant),
            "seeds": caught.as_ref().map(|(_, seeds)| seeds),
        }));
    }
    let dirty: Vec<u64> =
        (0..seeds).filter(|seed| !run(Plan::of(*seed).with_inputs(inputs), false).failures.is_empty()).collect();
    if as_json {
        println!("{:#}", json!({ "mutants": rows, "control": { "seeds": seeds, "failed": dirty } }));
    } else {
        println!("{:<26} {} of {seeds} seeds failed", "(no defect)", dirty.len());
        println!("{} of {} caught", Mutant::ALL.len() - free as usize, Mutant::ALL.len());
    }
    if free == 0 && dirty.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
