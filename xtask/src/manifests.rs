//! `cargo xtask manifests`: from a MiniApp's source to its committed `manifest.json` (INV-2).

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::Args;
use lineup_sdk::Bundle;

/// A MiniApp of the repository.
struct MiniApp {
    directory: &'static str,
    bundle: fn() -> Bundle,
}

/// All of them.
const MINIAPPS: [MiniApp; 2] = [
    MiniApp { directory: "miniapps/interact", bundle: lineup_interact::bundle },
    MiniApp { directory: "miniapps/pomodoro", bundle: lineup_pomodoro::bundle },
];

#[derive(Args)]
pub(crate) struct Manifests {
    /// Writes nothing; fails when a manifest differs from its source.
    #[arg(long)]
    pub check: bool,
}

/// Writes or checks every manifest. Answers with a line for people.
pub(crate) fn run(command: &Manifests) -> Result<String, String> {
    let root = root();
    let unlisted = unlisted(&root)?;
    if unlisted.is_empty() { bring(&root, &MINIAPPS, command.check) } else { Err(unlisted.join("\n")) }
}

fn bring(root: &Path, miniapps: &[MiniApp], check: bool) -> Result<String, String> {
    let (mut problems, mut written) = (Vec::new(), Vec::new());
    for MiniApp { directory, bundle } in miniapps {
        let file = root.join(directory).join("manifest.json");
        match text_of(&bundle()) {
            Ok(text) if fs::read_to_string(&file).is_ok_and(|committed| committed == text) => {}
            Ok(_) if check => problems.push(format!(
                "{directory}/manifest.json differs from the source; run `cargo xtask manifests` and commit it"
            )),
            Ok(text) => {
                write(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
                written.push(format!("{directory}/manifest.json"));
            }
            Err(found) => problems.extend(found.into_iter().map(|problem| format!("{directory}: {problem}"))),
        }
    }
    match (problems.is_empty(), written.is_empty()) {
        (false, _) => Err(problems.join("\n")),
        (true, true) => Ok(format!("{} manifests say what their sources say", miniapps.len())),
        (true, false) => Ok(format!("wrote {}", written.join(", "))),
    }
}

/// The manifest as it is committed: readable, the same bytes on every machine.
fn text_of(bundle: &Bundle) -> Result<String, Vec<String>> {
    let manifest = bundle.manifest().map_err(|unfit| unfit.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let text = serde_json::to_string_pretty(&manifest).map_err(|error| vec![error.to_string()])?;
    Ok(text + "\n")
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let is_new = !file.exists();
    fs::write(file, text)?;
    if is_new {
        // The crate was compiled without the file and does not watch it yet; its source does change.
        let source = fs::File::options().append(true).open(file.with_file_name("src").join("lib.rs"))?;
        source.set_modified(SystemTime::now())?;
    }
    Ok(())
}

/// MiniApp crates that [`MINIAPPS`] does not know.
fn unlisted(root: &Path) -> Result<Vec<String>, String> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .map_err(|error| error.to_string())?;
    let directories = metadata.packages.iter().filter_map(|package| {
        let directory = package.manifest_path.parent()?.strip_prefix(&metadata.workspace_root).ok()?;
        directory.starts_with("miniapps").then(|| directory.as_str().to_owned())
    });
    let known = |directory: &String| MINIAPPS.iter().any(|known| known.directory == directory.as_str());
    Ok(directories
        .filter(|directory| !known(directory))
        .map(|directory| format!("{directory} is missing in MINIAPPS in xtask/src/manifests.rs"))
        .collect())
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lives in a directory of the repository").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    mod unfit {
        use lineup_sdk::prelude::*;

        /// Free keys.
        #[derive(Deserialize, JsonSchema)]
        pub struct Labels {
            /// The labels.
            pub labels: std::collections::BTreeMap<String, String>,
        }

        define_agent_tools! {
            app Unfit in "unfit";

            /// The user labels something.
            action label(Labels) { handler: Unfit::label }
        }

        impl Unfit {
            async fn label(&self, _sdk: &Sdk, action: Action<Labels>) -> ActionResult {
                drop(action.input.labels);
                Ok(())
            }
        }
    }

    const POMODORO: [MiniApp; 1] = [MiniApp { directory: "pomodoro", bundle: lineup_pomodoro::bundle }];

    fn a_crate() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory can be made");
        fs::create_dir_all(root.path().join("pomodoro/src")).unwrap();
        fs::write(root.path().join("pomodoro/src/lib.rs"), "").unwrap();
        root
    }

    #[test]
    fn inv_2_a_manifest_is_written_once_and_then_stands() {
        let root = a_crate();
        assert_eq!(bring(root.path(), &POMODORO, false), Ok("wrote pomodoro/manifest.json".into()));
        let text = fs::read_to_string(root.path().join("pomodoro/manifest.json")).unwrap();
        let stands = Ok("1 manifests say what their sources say".into());
        assert_eq!(bring(root.path(), &POMODORO, true), stands);
        assert_eq!(bring(root.path(), &POMODORO, false), stands);
        assert_eq!(fs::read_to_string(root.path().join("pomodoro/manifest.json")).unwrap(), text);
        assert!(lineup_pomodoro::bundle().verified_against(&text).is_ok());
    }

    #[test]
    fn inv_2_drift_fails_the_check_with_the_command_that_mends_it_and_writes_nothing() {
        let root = a_crate();
        let file = root.path().join("pomodoro/manifest.json");
        assert!(bring(root.path(), &POMODORO, true).is_err_and(|said| said.contains("run `cargo xtask manifests`")));
        assert!(!file.exists());
        bring(root.path(), &POMODORO, false).unwrap();
        let drifted = fs::read_to_string(&file).unwrap().replace("1440", "1441");
        fs::write(&file, &drifted).unwrap();
        assert!(bring(root.path(), &POMODORO, true).is_err_and(|said| said.contains("pomodoro/manifest.json differs")));
        assert_eq!(fs::read_to_string(&file).unwrap(), drifted);
    }

    #[test]
    fn inv_5_what_cannot_be_published_is_named_with_its_crate_type_and_field() {
        let root = a_crate();
        let unfit = [MiniApp { directory: "unfit", bundle: unfit::bundle }];
        let said = bring(root.path(), &unfit, false).unwrap_err();
        for part in ["unfit: ", "action `label`", "`Labels`", "`labels`"] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }

    #[test]
    fn every_miniapp_of_the_repository_is_listed() {
        assert_eq!(unlisted(&root()), Ok(Vec::new()));
    }
}
