//! The credentials of the three entries.

use subtle::ConstantTimeEq as _;

use crate::gate::Role;

/// The shortest credential, in bytes.
const SHORTEST: usize = 16;

/// One credential per role (ENT-5). Never printed.
#[derive(Clone)]
pub struct Tokens {
    host: String,
    user: String,
    owner: String,
}

/// Why credentials cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// One is shorter than 16 bytes, or holds something that a header cannot carry.
    #[error("the {0} credential must be at least 16 visible ASCII characters")]
    Unfit(&'static str),
    /// Two roles have the same one.
    #[error("the host, user and owner credentials must differ from each other")]
    Shared,
}

impl Tokens {
    /// The credentials of the Host, the user and the owner.
    ///
    /// # Errors
    /// When one is too short or not visible ASCII, or two are equal.
    pub fn new(host: impl Into<String>, user: impl Into<String>, owner: impl Into<String>) -> Result<Self, TokenError> {
        let (host, user, owner) = (host.into(), user.into(), owner.into());
        for (role, token) in [("host", &host), ("user", &user), ("owner", &owner)] {
            if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(TokenError::Unfit(role));
            }
        }
        if host == user || user == owner || host == owner {
            return Err(TokenError::Shared);
        }
        Ok(Self { host, user, owner })
    }

    /// Whose credential this is. Looks at all of them, so that the time tells nothing.
    pub(crate) fn role_of(&self, presented: &str) -> Option<Role> {
        let is = |token: &str| bool::from(token.as_bytes().ct_eq(presented.as_bytes()));
        let matches = [(is(&self.host), Role::Host), (is(&self.user), Role::User), (is(&self.owner), Role::Owner)];
        matches.into_iter().find_map(|(same, role)| same.then_some(role))
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokens(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ent_5_roles_cannot_share_a_credential_and_a_short_one_is_refused() {
        let (a, b, c) = ("a".repeat(16), "b".repeat(16), "c".repeat(16));
        assert!(Tokens::new(&a, &b, &c).is_ok());
        for (host, user, owner) in [(&a, &a, &c), (&a, &b, &b), (&a, &b, &a)] {
            assert_eq!(Tokens::new(host, user, owner).unwrap_err(), TokenError::Shared);
        }
        let (short, spaced, newline) =
            ("a".repeat(15), format!("{} {}", "a".repeat(8), "b".repeat(8)), format!("{b}\n"));
        for unfit in [&short, &spaced, &newline] {
            assert_eq!(Tokens::new(unfit, &b, &c).unwrap_err(), TokenError::Unfit("host"));
            assert_eq!(Tokens::new(&a, &b, unfit).unwrap_err(), TokenError::Unfit("owner"));
        }
    }

    #[test]
    fn a_credential_is_never_printed() {
        let tokens = Tokens::new("h".repeat(16), "u".repeat(16), "o".repeat(16)).unwrap();
        assert_eq!(format!("{tokens:?}"), "Tokens(..)");
    }
}
