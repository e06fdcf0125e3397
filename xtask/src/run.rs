//! `cargo xtask run`: everything, with demo data, and what to type next.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use clap::Args;

use crate::{manifests::root, programs::cargo, ui};

#[derive(Args)]
#[command(after_help = "What follows `--` goes to `lineup serve`. To let 20 minutes pass in a second:\n  \
                        cargo xtask run -- --clock manual       # then, elsewhere: lineup clock advance 20m")]
pub(crate) struct Run {
    /// Builds with optimisation
    #[arg(long)]
    release: bool,
    /// Where the workspace is kept; without it, `demo` where cargo builds to. Remove it to begin anew
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Leaves the demo agent out, so that you are the only agent
    #[arg(long)]
    no_demo_agent: bool,
    /// What `lineup serve` is told
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Builds `lineup`, starts it and stays until it ends.
pub(crate) fn run(command: &Run) -> Result<String, String> {
    let target = target()?;
    if !target.exists() {
        eprintln!("The first build takes a few minutes; after that, seconds.");
    }
    // Without it everything but the page is there.
    if let Err(why) = ui::node().and_then(|()| ui::build()) {
        eprintln!("There will be no page: {why}");
    }
    let begun = Instant::now();
    let mut build = cargo();
    build.args(["build", "--package", "lineup"]);
    if command.release {
        build.arg("--release");
    }
    let built = build.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !built.success() {
        return Err("lineup was not built".to_owned());
    }
    eprintln!("   {:.1} s", begun.elapsed().as_secs_f64());
    let programs = target.join(if command.release { "release" } else { "debug" });
    let data = command.data.clone().map_or_else(|| Ok(target.join("demo")), std::path::absolute);
    let data = data.map_err(|error| error.to_string())?;
    eprintln!("{}", next(&programs, &data, !command.no_demo_agent));
    let mut serve = Command::new(programs.join(format!("lineup{}", std::env::consts::EXE_SUFFIX)));
    serve.current_dir(root()).arg("serve").arg("--data").arg(&data);
    if !command.no_demo_agent {
        serve.arg("--demo-agent");
    }
    serve.args(&command.arguments);
    stay(serve)
}

/// What to type in another terminal.
fn next(programs: &Path, data: &Path, demo_agent: bool) -> String {
    let answered = if demo_agent { "      # the demo agent answers" } else { "" };
    format!(
        "\nIn every other terminal, once:\n  export PATH=\"{}:$PATH\" LINEUP_DATA=\"{}\"\n\n\
         The page is the Host: open the link that comes below. Without a browser, in a terminal that stays:\n  \
         lineup host attach\n\nAnd one for everybody else:\n  lineup agent tools\n  lineup agent call pomodoro.start '{{\"minutes\": 20}}'\n  \
         lineup user say 'start a 20 minute focus'{answered}\n  lineup inspect calls\n\n\
         README.md explains what you see. Ctrl-C here stops it; what it knew is kept for the next time.\n",
        programs.display(),
        data.display()
    )
}

/// Becomes the program, so that Ctrl-C is its own to handle.
#[cfg(unix)]
fn stay(mut program: Command) -> Result<String, String> {
    use std::os::unix::process::CommandExt as _;
    Err(format!("lineup cannot be started: {}", program.exec()))
}

#[cfg(not(unix))]
fn stay(mut program: Command) -> Result<String, String> {
    match program.status() {
        Ok(status) if status.success() => Ok("lineup has stopped".to_owned()),
        Ok(status) => Err(format!("lineup: {status}")),
        Err(error) => Err(format!("lineup cannot be started: {error}")),
    }
}

/// Where cargo builds to.
fn target() -> Result<PathBuf, String> {
    let metadata = cargo_metadata::MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec();
    metadata.map(|metadata| metadata.target_directory.into_std_path_buf()).map_err(|error| error.to_string())
}
