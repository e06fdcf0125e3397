//! The data folder: where a Runtime keeps everything, and how the other commands find it.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use lineup_adapters::relay::{CREDENTIALS_FILE, Credentials, Role, Token};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The name of the file that says where the running process listens.
const RUNNING: &str = "runtime.json";

/// The data folder.
#[derive(Clone, Debug)]
pub struct DataDir(PathBuf);

/// Where the running process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Running {
    /// Its process.
    pub pid: u32,
    /// The address that it listens on.
    pub listen: String,
    /// `system` or `manual`.
    pub clock: String,
}

impl DataDir {
    /// The folder that was named, by the command line or by `LINEUP_DATA`, else the usual one.
    pub fn find(named: Option<PathBuf>) -> Result<Self, Failure> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = || {
            set("XDG_DATA_HOME")
                .or_else(|| set("HOME").map(|home| home.join(".local/share")))
                .map_or_else(|| PathBuf::from("lineup-data"), |base| base.join("lineup"))
        };
        let folder = named.or_else(|| set("LINEUP_DATA")).unwrap_or_else(usual);
        let folder = std::path::absolute(&folder)
            .map_err(|error| Failure::Usage(format!("`{}` is not a path: {error}", folder.display())))?;
        Ok(Self(folder))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the folder, for its owner only.
    pub fn create(&self) -> Result<(), Failure> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.0).map_err(|error| {
            Failure::Unusable(format!(
                "the data folder {} cannot be made: {error}; choose another one with --data",
                self.0.display()
            ))
        })
    }

    /// The credentials, which only the folder's owner can read.
    pub fn credentials(&self) -> Result<Credentials, Failure> {
        let path = self.0.join(CREDENTIALS_FILE);
        if !path.exists() {
            return Err(self.nobody_there());
        }
        Ok(Credentials::load(&path)?)
    }

    /// The credential of one role.
    pub fn token(&self, role: &Role) -> Result<Token, Failure> {
        self.credentials()?.token(role).cloned().ok_or_else(|| Failure::Refused {
            code: "credential_unknown".to_owned(),
            reason: None,
            pointer: None,
            message: match role {
                Role::Agent(agent) => {
                    format!("agent `{agent}` has no credential; make one with `lineup setup agent {agent}`")
                }
                _ => "this role has no credential".to_owned(),
            },
        })
    }

    /// Where the running process is, as it said when it started.
    pub fn running(&self) -> Result<Running, Failure> {
        let text = match std::fs::read(self.0.join(RUNNING)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.nobody_there()),
            Err(error) => return Err(Failure::Unusable(format!("{} cannot be read: {error}", self.0.display()))),
        };
        serde_json::from_slice(&text).map_err(|_| {
            Failure::Unusable(format!("{} was not written by this program", self.0.join(RUNNING).display()))
        })
    }

    /// Says where this process is.
    pub fn announce(&self, running: &Running) -> Result<(), Failure> {
        let write = || -> io::Result<()> {
            let beside = self.0.join(format!("{RUNNING}.{}", running.pid));
            let mut options = std::fs::File::options();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&beside)?;
            serde_json::to_writer(&mut file, running)?;
            file.write_all(b"\n")?;
            std::fs::rename(beside, self.0.join(RUNNING))
        };
        write().map_err(|error| {
            Failure::Unusable(format!("{} cannot be written: {error}", self.0.join(RUNNING).display()))
        })
    }

    /// Takes back what [`DataDir::announce`] said.
    pub fn withdraw(&self) {
        // Whoever finds the file finds that nobody listens.
        let _gone = std::fs::remove_file(self.0.join(RUNNING));
    }

    /// The failure of a command that needs a running process.
    pub fn nobody_there(&self) -> Failure {
        let folder = self.0.display();
        Failure::Unreachable(format!(
            "no Runtime is running with the data folder {folder}; start one with `lineup serve --data {folder}`"
        ))
    }
}
