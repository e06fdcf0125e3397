//! The kill proof: the real binary is killed at named points and at writes to disk, started again,
//! and an independent checker reads what the agent got and what the database says.
//!
//! `docs/reliability.md` says what it shows and what was measured.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode, time::Instant};

use clap::{Args, Parser, Subcommand};
use serde_json::json;

mod agent;
mod build;
mod check;
mod clocks;
mod db;
mod entry;
mod plan;
mod round;
mod scenario;
mod server;

use plan::{Class, Map, Plan};
use scenario::Scenario;

#[derive(Parser)]
#[command(name = "lineup-kill", about = "Kills the real server and checks what became of everything")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Kills until there are enough kills of every class
    Run(Run),
    /// Runs focus periods of one real minute: one is stopped across its deadline, the others have
    /// their wall clock set an hour forward and back
    Clocks(Clocks),
}

#[derive(Args)]
struct Clocks {
    /// A server that was built before, with its failpoints
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "A violation prints one line that plays its round again. `--control` builds a server that \
                        sends before it commits, and succeeds only if that is noticed.")]
struct Run {
    /// How many kills; the least number of each class grows with it
    #[arg(long, default_value_t = 200)]
    kills: usize,
    /// What the rounds are chosen by
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Plays this round alone
    #[arg(long)]
    round: Option<u64>,
    /// Kills a server that sends before it commits
    #[arg(long)]
    control: bool,
    /// A server that was built before, with its failpoints
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// Prints the counts as JSON
    #[arg(long)]
    json: bool,
    /// Says what every round does
    #[arg(long, short)]
    verbose: bool,
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(async {
        match command {
            Command::Run(run) => kill(&run).await,
            Command::Clocks(clocks) => {
                let binary = clocks.server.map_or_else(|| build::server(build::Build::Armed), Ok)?;
                clocks::run(&binary).await
            }
        }
    });
    match outcome {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// What a run came to.
#[derive(Default)]
struct Totals {
    rounds: u64,
    missed: usize,
    kills: BTreeMap<Class, usize>,
    by_point: BTreeMap<String, usize>,
    violations: Vec<String>,
}

impl Totals {
    fn count(&self) -> usize {
        self.kills.values().sum()
    }

    fn of(&self, class: Class) -> usize {
        self.kills.get(&class).copied().unwrap_or_default()
    }
}

/// How many kills of a class there must be.
fn least(class: usize, kills: usize) -> usize {
    class * kills / 200
}

async fn kill(run: &Run) -> Result<String, String> {
    let build = if run.control { build::Build::Control } else { build::Build::Armed };
    let binary = match &run.server {
        Some(binary) => binary.clone(),
        None => build::server(build)?,
    };
    let begun = Instant::now();
    let strace = has_strace();
    if !strace {
        eprintln!("skipped: kills at the k-th write, for strace is not installed");
    }
    let mut map = Map::default();
    for scenario in Scenario::ALL {
        let lines = round::listen(&binary, *scenario).await;
        match lines {
            Ok(lines) => map.add(*scenario, &lines),
            Err(problem) if run.control => return Ok(format!("the control run was caught: {problem}")),
            Err(problem) => return Err(problem),
        }
    }
    let silent = map.never_hit();
    if !silent.is_empty() {
        return Err(format!("points that no scenario passes: {}", silent.join(", ")));
    }
    if let Some(number) = run.round {
        let plan = map.plan(run.seed, number, strace);
        eprintln!("{}", described(&plan));
        let report = round::run(&binary, &plan).await?;
        return if report.violations.is_empty() {
            Ok(format!("round {number}: {} kills, nothing is wrong", report.kills.len()))
        } else {
            Err(report.violations.join("\n"))
        };
    }
    let mut totals = Totals::default();
    while !enough(&totals, run.kills) && totals.violations.is_empty() {
        let number = totals.rounds;
        totals.rounds += 1;
        if number > 3 * run.kills as u64 {
            break;
        }
        let plan = map.plan(run.seed, number, strace);
        let report = round::run(&binary, &plan).await?;
        if run.verbose {
            let classes: Vec<_> = report.kills.iter().map(|kill| kill.class.words()).collect();
            eprintln!("round {number}: {}: {}", described(&plan), classes.join(", "));
        }
        totals.missed += report.missed;
        for kill in report.kills {
            *totals.kills.entry(kill.class).or_default() += 1;
            *totals.by_point.entry(point_of(&kill.arm)).or_default() += 1;
        }
        for violation in report.violations {
            let control = if run.control { " --control" } else { "" };
            let again = format!("cargo xtask kill -- run{control} --seed {} --round {number}", run.seed);
            totals.violations.push(format!("{violation}\n  {}\n  again: {again}", described(&plan)));
        }
    }
    said(run, &totals, begun.elapsed().as_secs_f64())
}

fn point_of(arm: &server::Arm) -> String {
    let text = arm.to_string();
    text.rsplit_once(':').map_or(text.clone(), |(point, _)| point.to_owned())
}

fn described(plan: &Plan) -> String {
    let arms: Vec<String> = plan.arms.iter().map(ToString::to_string).collect();
    format!("{:?} killed at {}", plan.scenario, arms.join(", then "))
}

fn enough(totals: &Totals, kills: usize) -> bool {
    totals.count() >= kills && Class::ALL.iter().all(|(class, of_200)| totals.of(*class) >= least(*of_200, kills))
}

fn said(run: &Run, totals: &Totals, seconds: f64) -> Result<String, String> {
    let mut table = String::new();
    for (class, of_200) in Class::ALL {
        table.push_str(&format!(
            "{:>5}  {} (at least {})\n",
            totals.of(*class),
            class.words(),
            least(*of_200, run.kills)
        ));
    }
    let head = format!(
        "{} kills at {} points in {} rounds, seed {}, {} not reached, {seconds:.0} s",
        totals.count(),
        totals.by_point.len(),
        totals.rounds,
        run.seed,
        totals.missed,
    );
    let wrong = totals.violations.join("\n");
    let shown = if run.json {
        let classes: BTreeMap<_, _> = Class::ALL.iter().map(|(class, _)| (class.words(), totals.of(*class))).collect();
        let all = json!({
            "kills": totals.count(), "rounds": totals.rounds, "seed": run.seed, "missed": totals.missed,
            "seconds": seconds, "classes": classes, "points": totals.by_point, "violations": totals.violations,
        });
        all.to_string()
    } else {
        format!("{table}{head}, {} violations", totals.violations.len())
    };
    match (totals.violations.is_empty(), run.control) {
        (false, true) => Ok(format!("the control run was caught:\n{wrong}")),
        (true, true) => Err(format!("{shown}\nthe control run sends before it commits, and nobody noticed")),
        (false, false) => Err(format!("{shown}\n{wrong}")),
        (true, false) if enough(totals, run.kills) => Ok(shown),
        (true, false) => Err(format!("{shown}\nthere are not enough kills of every class")),
    }
}

/// Whether kills at system calls are possible here.
fn has_strace() -> bool {
    let tried = std::process::Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).status();
    tried.is_ok_and(|status| status.success())
}
