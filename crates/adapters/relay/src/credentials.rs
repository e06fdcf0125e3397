//! The tokens of every role, in one file that only its owner can read (ENT-5).
//!
//! The file holds the tokens themselves, because it is also where the command line finds the one of
//! the role that it plays. A relay compares digests in constant time and keeps no token in memory
//! longer than it needs to.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use lineup_model::AgentId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The name of the file inside the data directory.
pub const FILE: &str = "credentials.json";

/// Whose token it is. Each role has its own; none opens the door of another (ENT-5).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The Runtime, at the relay.
    Runtime,
    /// An agent, at the relay.
    Agent(AgentId),
    /// The person, at the web adapter.
    User,
    /// A Host, at the web adapter.
    Host,
    /// Whoever administers the workspace.
    Owner,
    /// The page in a browser, at the web adapter.
    Page,
}

/// A token: 32 random bytes in base64url. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// The token, as it is sent after `Authorization: Bearer`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn generate() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The tokens of a data directory.
#[derive(Clone, Debug)]
pub struct Credentials {
    path: PathBuf,
    tokens: Tokens,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    version: u32,
    runtime: Token,
    user: Token,
    host: Token,
    owner: Token,
    /// Missing in a file of a version that had no page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    page: Option<Token>,
    agents: BTreeMap<AgentId, Token>,
}

/// Why the credentials cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialsError {
    /// The file cannot be read or written.
    #[error("{path} cannot be read or written")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Others than the owner can read or write the file.
    #[error("{path} is open to others than its owner; repair it with `chmod 600`, then rotate the tokens")]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// The file does not hold credentials of this version.
    #[error("{path} does not hold credentials that this version can read")]
    Malformed {
        /// The file.
        path: PathBuf,
    },
}

impl Credentials {
    /// Reads the credentials of a data directory; makes them, with a token for each role and no
    /// agent, if there are none yet. Two processes that do this at once end with the same tokens.
    ///
    /// # Errors
    /// See [`CredentialsError`].
    pub fn load_or_create(dir: &Path) -> Result<Self, CredentialsError> {
        let path = dir.join(FILE);
        match Self::load(&path) {
            Ok(mut loaded) => {
                if loaded.tokens.page.is_none() {
                    loaded.rotate(&Role::Page)?;
                }
                return Ok(loaded);
            }
            Err(CredentialsError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            unusable => return unusable,
        }
        let io = |source| CredentialsError::Io { path: path.clone(), source };
        std::fs::create_dir_all(dir).map_err(io)?;
        let tokens = Tokens {
            version: 1,
            runtime: Token::generate().map_err(io)?,
            user: Token::generate().map_err(io)?,
            host: Token::generate().map_err(io)?,
            owner: Token::generate().map_err(io)?,
            page: Some(Token::generate().map_err(io)?),
            agents: BTreeMap::new(),
        };
        match write(&path, &tokens, false) {
            // Somebody else was first: theirs are the tokens.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::load(&path),
            Err(error) => Err(io(error)),
            Ok(()) => Ok(Self { path, tokens }),
        }
    }

    /// Reads a credentials file that exists.
    ///
    /// # Errors
    /// See [`CredentialsError`].
    pub fn load(path: &Path) -> Result<Self, CredentialsError> {
        let io = |source| CredentialsError::Io { path: path.to_owned(), source };
        if is_exposed(path).map_err(io)? {
            return Err(CredentialsError::Exposed { path: path.to_owned() });
        }
        let bytes = std::fs::read(path).map_err(io)?;
        match serde_json::from_slice::<Tokens>(&bytes) {
            Ok(tokens) if tokens.version == 1 => Ok(Self { path: path.to_owned(), tokens }),
            _ => Err(CredentialsError::Malformed { path: path.to_owned() }),
        }
    }

    /// Where they are kept.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The token of a role; `None` for an agent that has none.
    #[must_use]
    pub fn token(&self, role: &Role) -> Option<&Token> {
        match role {
            Role::Runtime => Some(&self.tokens.runtime),
            Role::User => Some(&self.tokens.user),
            Role::Host => Some(&self.tokens.host),
            Role::Owner => Some(&self.tokens.owner),
            Role::Page => self.tokens.page.as_ref(),
            Role::Agent(id) => self.tokens.agents.get(id),
        }
    }

    /// The agents that have a token.
    pub fn agents(&self) -> impl Iterator<Item = &AgentId> {
        self.tokens.agents.keys()
    }

    /// The token of an agent, which gets one if it has none.
    ///
    /// # Errors
    /// When the file cannot be written; nothing is changed then.
    pub fn enrol(&mut self, agent: &AgentId) -> Result<Token, CredentialsError> {
        match self.tokens.agents.get(agent) {
            Some(token) => Ok(token.clone()),
            None => self.rotate(&Role::Agent(agent.clone())),
        }
    }

    /// Gives a role a new token; the old one opens nothing any more. An agent keeps its identity:
    /// its open calls and its call ids are still its own (CALL-2).
    ///
    /// # Errors
    /// When the file cannot be written; nothing is changed then.
    pub fn rotate(&mut self, role: &Role) -> Result<Token, CredentialsError> {
        let io = |source| CredentialsError::Io { path: self.path.clone(), source };
        let token = Token::generate().map_err(io)?;
        let mut tokens = self.tokens.clone();
        match role {
            Role::Runtime => tokens.runtime = token.clone(),
            Role::User => tokens.user = token.clone(),
            Role::Host => tokens.host = token.clone(),
            Role::Owner => tokens.owner = token.clone(),
            Role::Page => tokens.page = Some(token.clone()),
            Role::Agent(id) => drop(tokens.agents.insert(id.clone(), token.clone())),
        }
        write(&self.path, &tokens, true).map_err(io)?;
        self.tokens = tokens;
        Ok(token)
    }

    /// Whose token this is. Compares it with every token, each in constant time.
    #[must_use]
    pub fn authenticate(&self, presented: &str) -> Option<Role> {
        let presented = digest(presented);
        let fixed = [
            (Role::Runtime, &self.tokens.runtime),
            (Role::User, &self.tokens.user),
            (Role::Host, &self.tokens.host),
            (Role::Owner, &self.tokens.owner),
        ];
        let page = self.tokens.page.iter().map(|token| (Role::Page, token));
        let agents = self.tokens.agents.iter().map(|(id, token)| (Role::Agent(id.clone()), token));
        let mut found = None;
        for (role, token) in fixed.into_iter().chain(page).chain(agents) {
            if bool::from(digest(token.as_str()).ct_eq(&presented)) {
                found = Some(role);
            }
        }
        found
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// Writes the file so that it holds the old tokens or the new ones, never half of them.
fn write(path: &Path, tokens: &Tokens, replace: bool) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    // Made with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    let mut bytes = serde_json::to_vec_pretty(tokens)?;
    bytes.push(b'\n');
    file.write_all(&bytes)?;
    file.as_file().sync_all()?;
    let persisted = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map_err(|error| error.error)?;
    sync_directory(dir)
}

#[cfg(unix)]
fn sync_directory(dir: &Path) -> io::Result<()> {
    std::fs::File::open(dir)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_exposed(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_exposed(path: &Path) -> io::Result<bool> {
    std::fs::metadata(path).map(|_| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo() -> AgentId {
        AgentId::new("demo").unwrap()
    }

    #[test]
    fn ent_5_each_role_has_a_token_of_its_own_that_survives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let mut made = Credentials::load_or_create(dir.path()).unwrap();
        made.enrol(&demo()).unwrap();
        let found = Credentials::load_or_create(dir.path()).unwrap();
        let roles = [Role::Runtime, Role::User, Role::Host, Role::Owner, Role::Page, Role::Agent(demo())];
        for role in &roles {
            let token = found.token(role).unwrap();
            assert_eq!(Some(token), made.token(role));
            assert_eq!(token.as_str().len(), 43);
            assert_eq!(found.authenticate(token.as_str()).as_ref(), Some(role));
        }
        assert_eq!(found.agents().collect::<Vec<_>>(), [&demo()]);
    }

    #[test]
    fn ent_5_no_other_text_is_a_token() {
        let dir = tempfile::tempdir().unwrap();
        let credentials = Credentials::load_or_create(dir.path()).unwrap();
        let token = credentials.token(&Role::User).unwrap().as_str();
        for bad in ["", "x", &token[1..], &format!("{token} "), &token.to_lowercase(), "null"] {
            assert_eq!(credentials.authenticate(bad), None);
        }
        assert_eq!(credentials.token(&Role::Agent(demo())), None);
    }

    #[test]
    fn b15_rotation_replaces_the_token_and_keeps_the_identity() {
        let dir = tempfile::tempdir().unwrap();
        let mut credentials = Credentials::load_or_create(dir.path()).unwrap();
        let role = Role::Agent(demo());
        let old = credentials.enrol(&demo()).unwrap();
        assert_eq!(credentials.enrol(&demo()).unwrap(), old);
        let new = credentials.rotate(&role).unwrap();
        assert_ne!(old, new);
        let found = Credentials::load_or_create(dir.path()).unwrap();
        assert_eq!(found.authenticate(old.as_str()), None);
        assert_eq!(found.authenticate(new.as_str()), Some(role));
    }

    #[test]
    fn a_file_of_a_version_without_a_page_gets_its_token_and_keeps_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let made = Credentials::load_or_create(dir.path()).unwrap();
        let mut older: serde_json::Value = serde_json::from_slice(&std::fs::read(made.path()).unwrap()).unwrap();
        older.as_object_mut().unwrap().remove("page");
        std::fs::write(made.path(), older.to_string()).unwrap();
        let found = Credentials::load_or_create(dir.path()).unwrap();
        assert_eq!(found.token(&Role::Host), made.token(&Role::Host));
        let page = found.token(&Role::Page).expect("a page can come in");
        assert_ne!(Some(page), made.token(&Role::Page));
        assert_eq!(Credentials::load_or_create(dir.path()).unwrap().token(&Role::Page), Some(page));
    }

    #[cfg(unix)]
    #[test]
    fn ent_5_the_file_is_the_owners_alone_and_is_refused_when_it_is_not() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let mut credentials = Credentials::load_or_create(dir.path()).unwrap();
        credentials.rotate(&Role::Owner).unwrap();
        let path = credentials.path();
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Credentials::load_or_create(dir.path()), Err(CredentialsError::Exposed { .. })));
    }

    #[test]
    fn a_torn_file_is_refused_and_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let credentials = Credentials::load_or_create(dir.path()).unwrap();
        std::fs::write(credentials.path(), b"{").unwrap();
        assert!(matches!(Credentials::load_or_create(dir.path()), Err(CredentialsError::Malformed { .. })));
        assert_eq!(std::fs::read(credentials.path()).unwrap(), b"{");
    }

    #[test]
    fn a_token_does_not_show_in_debug() {
        let dir = tempfile::tempdir().unwrap();
        let credentials = Credentials::load_or_create(dir.path()).unwrap();
        let token = credentials.token(&Role::Owner).unwrap();
        assert!(!format!("{credentials:?}").contains(token.as_str()));
    }
}
