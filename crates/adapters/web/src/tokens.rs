//! The credentials of the entries.

use std::collections::BTreeSet;

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
    page: String,
}

/// Why credentials cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// One is shorter than 16 bytes, or holds something that a header cannot carry.
    #[error("the {0} credential must be at least 16 visible ASCII characters")]
    Unfit(&'static str),
    /// Two roles have the same one.
    #[error("the host, user, owner and page credentials must differ from each other")]
    Shared,
}

impl Tokens {
    /// The credentials of the Host, the user, the owner, and the page in a browser.
    ///
    /// # Errors
    /// When one is too short or not visible ASCII, or two are equal.
    pub fn new(
        host: impl Into<String>,
        user: impl Into<String>,
        owner: impl Into<String>,
        page: impl Into<String>,
    ) -> Result<Self, TokenError> {
        let tokens = Self { host: host.into(), user: user.into(), owner: owner.into(), page: page.into() };
        let named = tokens.named();
        for (role, token) in named {
            if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(TokenError::Unfit(role.as_str()));
            }
        }
        let different: BTreeSet<&str> = named.iter().map(|(_, token)| *token).collect();
        if different.len() < named.len() {
            return Err(TokenError::Shared);
        }
        Ok(tokens)
    }

    fn named(&self) -> [(Role, &str); 4] {
        [(Role::Host, &self.host), (Role::User, &self.user), (Role::Owner, &self.owner), (Role::Page, &self.page)]
    }

    /// The credential that a page's cookie holds.
    pub(crate) fn page(&self) -> &str {
        &self.page
    }

    /// Whose credential this is. Looks at all of them, so that the time tells nothing.
    pub(crate) fn role_of(&self, presented: &str) -> Option<Role> {
        let matches = self.named().map(|(role, token)| (same(token, presented), role));
        matches.into_iter().find_map(|(same, role)| same.then_some(role))
    }
}

/// Whether two secrets are the same, in a time that says nothing about where they differ.
pub(crate) fn same(secret: &str, presented: &str) -> bool {
    secret.as_bytes().ct_eq(presented.as_bytes()).into()
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
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|letter| letter.repeat(16));
        assert!(Tokens::new(&a, &b, &c, &d).is_ok());
        for (host, user, owner, page) in [(&a, &a, &c, &d), (&a, &b, &b, &d), (&a, &b, &a, &d), (&a, &b, &c, &c)] {
            assert_eq!(Tokens::new(host, user, owner, page).unwrap_err(), TokenError::Shared);
        }
        let (short, spaced, newline) =
            ("a".repeat(15), format!("{} {}", "a".repeat(8), "b".repeat(8)), format!("{b}\n"));
        for unfit in [&short, &spaced, &newline] {
            assert_eq!(Tokens::new(unfit, &b, &c, &d).unwrap_err(), TokenError::Unfit("host"));
            assert_eq!(Tokens::new(&a, &b, unfit, &d).unwrap_err(), TokenError::Unfit("owner"));
            assert_eq!(Tokens::new(&a, &b, &c, unfit).unwrap_err(), TokenError::Unfit("page"));
        }
    }

    #[test]
    fn a_credential_is_never_printed() {
        let tokens = Tokens::new("h".repeat(16), "u".repeat(16), "o".repeat(16), "p".repeat(16)).unwrap();
        assert_eq!(format!("{tokens:?}"), "Tokens(..)");
    }
}
