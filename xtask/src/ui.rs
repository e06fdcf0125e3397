//! `cargo xtask ui`: builds the page with Node, and the types that it shares with the Runtime.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use clap::{Args, Subcommand};

use crate::{
    manifests::root,
    programs::cargo,
    steps::{Step, Work},
};

/// The oldest Node that builds the page.
const NODE: u32 = 20;

#[derive(Args)]
pub(crate) struct Ui {
    #[command(subcommand)]
    command: Option<UiCommand>,
}

#[derive(Subcommand)]
enum UiCommand {
    /// Writes the page's TypeScript types from the frames of crates/adapters/web
    Types {
        /// Writes nothing; fails if the file differs
        #[arg(long)]
        check: bool,
    },
}

/// Builds the page, or its types.
pub(crate) fn run(command: &Ui) -> Result<String, String> {
    match command.command {
        None => build(),
        Some(UiCommand::Types { check }) => types(check),
    }
}

fn types(check: bool) -> Result<String, String> {
    let mut test = cargo();
    test.args(["test", "--quiet", "--package", "lineup-web", "--lib", "the_pages_types_say_what_the_frames_say"]);
    if !check {
        test.env("LINEUP_WRITE_TYPES", "1");
    }
    finish("the types", test)?;
    Ok(format!("ui/shell/src/generated/frames.ts {}", if check { "says what the frames say" } else { "is written" }))
}

/// Installs what the page is built with, once, and builds it. Says how long each took.
pub(crate) fn build() -> Result<String, String> {
    node()?;
    let begun = Instant::now();
    if stale() {
        timed("npm ci", npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    }
    timed("npm run build", npm(&["run", "--silent", "build"]))?;
    Ok(format!("the page is built, in {:.1} s", begun.elapsed().as_secs_f64()))
}

/// What a change of the page has to pass. Left out, by name, where Node is missing.
pub(crate) fn steps() -> Vec<Step> {
    if let Err(why) = node() {
        return vec![Step { name: "ui", work: Work::Lacks(why) }];
    }
    let program = |name, arguments: &[&str]| Step { name, work: Work::Program(npm(arguments)) };
    vec![
        program("ui-packages", &["ci", "--no-audit", "--no-fund", "--loglevel=error"]),
        program("ui-lint", &["run", "--silent", "lint"]),
        program("ui-tests", &["test", "--silent", "--", "--run"]),
        program("ui-build", &["run", "--silent", "build"]),
    ]
}

/// Whether a Node that is new enough is there; else what to do.
pub(crate) fn node() -> Result<(), String> {
    let said = Command::new("node").arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let version = said.ok().filter(|said| said.status.success()).map(|said| said.stdout).unwrap_or_default();
    judge(String::from_utf8_lossy(&version).trim())
}

fn judge(version: &str) -> Result<(), String> {
    let major = version.strip_prefix('v').and_then(|rest| rest.split('.').next()).and_then(|major| major.parse().ok());
    match major {
        Some(major) if NODE <= major => Ok(()),
        Some::<u32>(_) => Err(format!(
            "Node {version} is too old to build the page; install Node {NODE} or newer from https://nodejs.org"
        )),
        None => Err(format!("Node is missing; to build the page install Node {NODE} or newer from https://nodejs.org")),
    }
}

/// Whether the packages are not those of the lock file.
fn stale() -> bool {
    let time = |file: &str| root().join("ui").join(file).metadata().and_then(|found| found.modified()).ok();
    match (time("package-lock.json"), time("node_modules/.package-lock.json")) {
        (Some(wanted), Some(installed)) => installed < wanted,
        _ => true,
    }
}

fn npm(arguments: &[&str]) -> Command {
    let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.current_dir(root().join("ui")).args(arguments);
    npm
}

fn timed(name: &str, command: Command) -> Result<(), String> {
    eprintln!("── {name}");
    let begun = Instant::now();
    finish(name, command)?;
    eprintln!("   {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn finish(name: &str, mut command: Command) -> Result<(), String> {
    let status = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name} cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_missing_or_too_old_is_named_with_what_to_do() {
        assert_eq!(judge("v20.20.2"), Ok(()));
        assert_eq!(judge("v24.0.0"), Ok(()));
        for (version, word) in [("v18.19.1", "too old"), ("", "missing"), ("nonsense", "missing")] {
            let why = judge(version).unwrap_err();
            assert!(why.contains(word) && why.contains("https://nodejs.org"), "{why}");
        }
    }
}
