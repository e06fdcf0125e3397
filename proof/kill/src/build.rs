//! Builds the server that is killed: the real binary with its failpoints armed.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// With failpoints.
    Armed,
    /// With failpoints, and it sends before it commits: the checker must notice.
    Control,
}

/// Builds it and puts it aside, so that the next plain build does not replace it half way.
pub fn server(build: Build) -> Result<PathBuf, String> {
    let (feature, name) = match build {
        Build::Armed => ("failpoints", "lineup-failpoints"),
        Build::Control => ("control-send-before-commit", "lineup-control"),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(cargo)
        .current_dir(&root)
        .args(["build", "--quiet", "--package", "lineup", "--features", feature, "--message-format", "json"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("the server was not built: {}", output.status));
    }
    let built = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|line| {
            let is_ours = line["reason"] == "compiler-artifact" && line["target"]["name"] == "lineup";
            line["executable"].as_str().filter(|_| is_ours).map(PathBuf::from)
        })
        .ok_or("cargo did not say where the server is")?;
    let aside = built.parent().map_or_else(PathBuf::new, |folder| folder.join("kill"));
    std::fs::create_dir_all(&aside).map_err(|error| error.to_string())?;
    let aside = aside.join(name);
    let _not_there = std::fs::remove_file(&aside);
    std::fs::copy(&built, &aside).map_err(|error| format!("{} cannot be copied: {error}", built.display()))?;
    Ok(aside)
}
