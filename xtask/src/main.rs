//! What a developer of this repository runs: `cargo xtask <command>`.
//!
//! Everything here is light: it reads sources and starts other programs. The heavy ones (the bench, the
//! simulation, the kill run) are binaries of their own in `proof/`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod deps;
mod gates;
mod links;
mod manifests;
mod miniapps;
mod programs;
mod requirements;
mod run;
mod scan;
mod steps;
mod ui;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The commands of this repository",
    after_help = "To try it:      cargo xtask run\nTo check it:    cargo xtask test\nBefore a merge: cargo xtask ci"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds and starts everything with demo data, and says what to type next
    Run(run::Run),
    /// Runs every test that can run on this machine
    Test(gates::Test),
    /// Runs every gate that a change has to pass. Writes nothing
    Ci(gates::Ci),
    /// Checks that every dependency between crates points the right way
    Deps(deps::Deps),
    /// Says which requirements a test shows, and which none does
    Requirements(requirements::Requirements),
    /// Writes `manifest.json` of every MiniApp from its source
    Manifests(manifests::Manifests),
    /// Builds the page, with Node
    Ui(ui::Ui),
    /// Measures: durable calls against the raw floor of the store (proof/bench)
    Bench(programs::Program),
    /// Simulates: seeded worlds with faults and an independent oracle (proof/sim)
    Sim(programs::Program),
    /// Kills: the real binary, killed in the middle and opened again (proof/kill)
    Kill(programs::Program),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(command) => run::run(&command),
        Command::Test(command) => return gates::test(&command),
        Command::Ci(command) => return gates::ci(&command),
        Command::Deps(command) => deps::run(&command),
        Command::Ui(command) => ui::run(&command),
        Command::Requirements(command) => requirements::run(&command),
        Command::Manifests(command) => manifests::run(&command),
        Command::Bench(command) => programs::run("lineup-bench", &command),
        Command::Sim(command) => programs::run("lineup-sim", &command),
        Command::Kill(command) => programs::run_plain("lineup-kill", &command),
    };
    match done {
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
