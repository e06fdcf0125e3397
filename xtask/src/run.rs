//! `cargo xtask run`: everything, with demo data, and what to type next.

use std::process::Command;

use clap::Args;

use crate::{manifests::root, programs::cargo};

#[derive(Args)]
#[command(after_help = "What follows `--` goes to `lineup serve`; `cargo run -- serve --help` shows what it takes.")]
pub(crate) struct Run {
    /// Builds with optimisation
    #[arg(long)]
    release: bool,
    /// What `lineup serve` is told
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Builds `lineup`, starts it and stays until it ends.
pub(crate) fn run(command: &Run) -> Result<String, String> {
    eprintln!("Building lineup. The first time takes a few minutes; after that, seconds.");
    let mut build = cargo();
    build.args(["build", "--package", "lineup"]);
    if command.release {
        build.arg("--release");
    }
    succeed(build, "lineup cannot be built")?;
    let directory = target().join(if command.release { "release" } else { "debug" });
    let mut serve = Command::new(directory.join(format!("lineup{}", std::env::consts::EXE_SUFFIX)));
    serve.current_dir(root()).arg("serve").args(&command.arguments);
    succeed(serve, "lineup serve")?;
    Ok("lineup has stopped; what it knew is kept for the next time".to_owned())
}

fn succeed(mut command: Command, what: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what}: {status}")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// Where cargo builds to.
fn target() -> std::path::PathBuf {
    let metadata = cargo_metadata::MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec();
    metadata.map_or_else(|_| root().join("target"), |metadata| metadata.target_directory.into_std_path_buf())
}
