//! Brings a browser in: the address of the page, with a key that is good once.

use std::{ffi::OsString, process::ExitCode};

use lineup_adapters::relay::Role;
use serde_json::json;

use crate::{
    data::DataDir,
    entry::Entry,
    failure::Failure,
    print::{Printer, plain},
};

pub async fn run(data: &DataDir, printer: &Printer) -> Result<ExitCode, Failure> {
    let running = data.running()?;
    let made = Entry::open(data, &Role::Owner).await?.ask(json!({ "type": "link" })).await?;
    let address = address(&running.listen, &plain(&made["path"]));
    printer.say(&json!({ "kind": "link", "link": address, "good_for_s": made["good_for_s"] }), || address.clone());
    Ok(ExitCode::SUCCESS)
}

/// What a browser is told.
pub fn address(listen: &str, path: &str) -> String {
    format!("http://{listen}{path}")
}

/// What a person types for a new link: this program, by the name that it was started by.
pub fn command(data: &DataDir) -> String {
    let program = std::env::args_os().next().unwrap_or_else(|| OsString::from("lineup"));
    format!("{} link --data {}", quoted(&program.to_string_lossy()), quoted(&data.path().to_string_lossy()))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:@\\".contains(letter);
    if word.chars().all(is_plain) && !word.is_empty() {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_needs_it() {
        for (word, expected) in [
            ("/home/me/.local/share/lineup", "/home/me/.local/share/lineup"),
            ("/my data", "'/my data'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("a;b", "'a;b'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
