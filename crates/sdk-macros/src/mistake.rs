//! Mistakes of authors: gathered, each at the token to mend.

use proc_macro2::TokenStream;
use quote::ToTokens;

/// All the mistakes of one declaration.
#[derive(Default)]
pub(crate) struct Mistakes(Option<syn::Error>);

impl Mistakes {
    /// Notes a mistake at `place`: what was found and what is allowed, and a correct line.
    pub fn add(&mut self, place: impl ToTokens, what: impl std::fmt::Display, write: impl std::fmt::Display) {
        self.take(syn::Error::new_spanned(place, format!("{what}\n\nwrite, for example:\n    {write}")));
    }

    /// Takes over a mistake that was made into an error elsewhere.
    pub fn take(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// A result's value, or a noted mistake.
    pub fn keep<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.take(error)).ok()
    }

    /// One `compile_error!` per mistake.
    pub fn into_tokens(self) -> TokenStream {
        self.0.map(|all| all.into_compile_error()).unwrap_or_default()
    }

    /// The messages, for tests.
    #[cfg(test)]
    pub fn messages(self) -> Vec<String> {
        self.0.into_iter().flatten().map(|error| error.to_string()).collect()
    }
}

/// "`a`, `b` or `c`".
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}
