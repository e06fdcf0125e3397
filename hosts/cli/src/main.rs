//! `lineup`: the one binary. It runs a Runtime with everything that belongs to it, and plays every
//! role against a running one: agent, user, Host, owner.
//!
//! Each role comes in by its own entry with its own credential (ENT-5). This is the only place that
//! joins concrete adapters. To add a command: a variant in `args.rs`, a function in `command/`, a
//! paragraph in `docs/cli.md`.

mod args;
mod clock;
mod command;
mod data;
mod entry;
mod failure;
mod print;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, Command};
use failure::Failure;
use print::Printer;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    log_to_stderr();
    let printer = Printer::new(args.json);
    match run(args, &printer).await {
        Ok(code) => code,
        Err(failure) => {
            printer.failure(&failure);
            failure.exit_code()
        }
    }
}

async fn run(args: Args, printer: &Printer) -> Result<ExitCode, Failure> {
    let data = data::DataDir::find(args.data)?;
    match args.command {
        Command::Serve(serve) => command::serve::run(&data, serve, printer).await,
        Command::Link => command::link::run(&data, printer).await,
        Command::Agent(agent) => command::agent::run(&data, agent, printer).await,
        Command::User(user) => command::user::run(&data, user, printer).await,
        Command::Host(host) => command::host::run(&data, host, printer).await,
        Command::Clock(clock) => command::owner::clock(&data, clock, printer).await,
        Command::Inspect(inspect) => command::owner::inspect(&data, inspect, printer).await,
        Command::Trace { call } => command::trace::run(&data, &call, printer).await,
        Command::Setup(setup) => command::owner::setup(&data, setup, printer).await,
        Command::Doctor => command::doctor::run(&data, printer).await,
    }
}

/// What the Runtime logs; `LINEUP_LOG` chooses how much, in the words of tracing's filters.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("LINEUP_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(print::colours(&std::io::stderr()))
        .init();
}
