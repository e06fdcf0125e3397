//! `cargo xtask test` and `cargo xtask ci`: what has to hold.

use std::process::{Command, ExitCode, Stdio};

use clap::Args;

use crate::{
    deps, links, manifests,
    programs::cargo,
    requirements,
    steps::{self, Step, Work},
    ui,
};

#[derive(Args)]
#[command(
    after_help = "What cannot run on this machine is skipped by name. With cargo-nextest installed the tests run \
                  side by side; without it `cargo test` runs the same ones.\n\
                  One crate: `cargo test -p lineup-core`. One test: `cargo test -p lineup-core call_5`."
)]
pub(crate) struct Test {
    /// Leaves a step out; can be given again
    #[arg(long, value_name = "STEP")]
    skip: Vec<String>,
    /// Prints what became of each step as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "To repair: `cargo fmt` for `format`, `cargo xtask manifests` for `manifests`; `clippy` and \
                        `documentation` say what to change.")]
pub(crate) struct Ci {
    /// Leaves out what `cargo xtask test` runs
    #[arg(long)]
    gates: bool,
    /// Leaves a step out; can be given again
    #[arg(long, value_name = "STEP")]
    skip: Vec<String>,
    /// Prints what became of each step as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the tests.
pub(crate) fn test(command: &Test) -> ExitCode {
    steps::run(test_steps(), &command.skip, command.json)
}

/// Runs every gate, the cheap ones first.
pub(crate) fn ci(command: &Ci) -> ExitCode {
    let mut all = vec![
        program("format", cargo(), &["fmt", "--all", "--check", "--", "-l"]),
        program("whitespace", git(), &["diff", "--check", EMPTY_TREE, "--", ".", ":!*.snap", ":!*.stderr"]),
    ];
    if !command.gates {
        all.extend(test_steps());
    }
    all.push(program("clippy", cargo(), &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
    let mut documentation = cargo();
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    all.push(program("documentation", documentation, &["doc", "--workspace", "--no-deps"]));
    all.push(licences());
    steps::run(all, &command.skip, command.json)
}

/// The tree without a file: against it every line is new.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

fn test_steps() -> Vec<Step> {
    let mut tests = cargo();
    if answers(cargo(), &["nextest", "--version"]) {
        tests.args(["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "fail"]);
    } else {
        tests.args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast", "--quiet"]);
    }
    let mut examples = cargo();
    examples.args(["test", "--workspace", "--doc", "--no-fail-fast", "--quiet"]);
    let mut all = vec![
        here("deps", || deps::run(&deps::Deps::default())),
        here("requirements", || requirements::run(&requirements::Requirements::check())),
        here("manifests", || manifests::run(&manifests::Manifests { check: true })),
        here("links", links::run),
        Step { name: "tests", work: Work::Tests(tests) },
        Step { name: "examples", work: Work::Tests(examples) },
        // The short form; `cargo xtask kill -- run` is the whole of it.
        program("kills", cargo(), &["run", "--quiet", "--package", "lineup-kill", "--", "run", "--kills", "20"]),
        program(
            "control",
            cargo(),
            &["run", "--quiet", "--package", "lineup-kill", "--", "run", "--control", "--kills", "20"],
        ),
    ];
    all.extend(ui::steps());
    all
}

fn licences() -> Step {
    let arguments = ["deny", "--workspace", "check", "licenses", "bans", "sources"];
    if answers(cargo(), &["deny", "--version"]) {
        program("licences", cargo(), &arguments)
    } else {
        let why = "cargo-deny is not installed (`cargo install cargo-deny`)".to_owned();
        Step { name: "licences", work: Work::Lacks(why) }
    }
}

fn program(name: &'static str, mut command: Command, arguments: &[&str]) -> Step {
    command.args(arguments);
    Step { name, work: Work::Program(command) }
}

fn here(name: &'static str, work: impl FnOnce() -> Result<String, String> + 'static) -> Step {
    Step { name, work: Work::Here(Box::new(work)) }
}

fn git() -> Command {
    let mut command = Command::new("git");
    command.current_dir(manifests::root());
    command
}

/// Whether a tool is there.
fn answers(mut command: Command, arguments: &[&str]) -> bool {
    let quiet = command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
