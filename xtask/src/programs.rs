//! `cargo xtask bench | sim | kill`: programs of their own, started here.

use std::process::Command;

use clap::Args;

#[derive(Args)]
#[command(after_help = "What follows `--` goes to the program: `cargo xtask sim -- --help` shows what it takes.")]
pub(crate) struct Program {
    /// What the program is told
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Builds the package with optimisation and runs it with these arguments.
pub(crate) fn run(package: &str, program: &Program) -> Result<String, String> {
    start(package, &["--release"], program)
}

/// The same without optimisation: for a program that waits for others.
pub(crate) fn run_plain(package: &str, program: &Program) -> Result<String, String> {
    start(package, &[], program)
}

fn start(package: &str, how: &[&str], program: &Program) -> Result<String, String> {
    let mut command = cargo();
    command.arg("run").args(how).args(["--package", package, "--"]).args(&program.arguments);
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if status.success() { Ok(format!("{package}: done")) } else { Err(format!("{package}: {status}")) }
}

/// The cargo that started this program, in the root of the repository.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::manifests::root());
    command
}
