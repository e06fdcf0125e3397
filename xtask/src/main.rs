//! What a developer of this repository runs: `cargo xtask <command>`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod deps;
mod manifests;
mod miniapps;

#[derive(Parser)]
#[command(name = "xtask", about = "The commands of this repository")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes `manifest.json` of every MiniApp from its source.
    Manifests(manifests::Manifests),
    /// Checks that dependencies point inwards and that MiniApps name the SDK alone.
    Deps,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Manifests(command) => manifests::run(&command),
        Command::Deps => deps::run(),
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
