//! What is said on standard output, for people or for machines.

use std::io::{IsTerminal, Write as _};

use serde_json::Value;

use crate::failure::Failure;

/// Prints results to standard output and failures to standard error; with `--json`, one line of
/// JSON per fact, failures too, all on standard output.
pub struct Printer {
    json: bool,
    colours: bool,
}

/// Whether colours are wanted there: on a terminal, unless `NO_COLOR` is set.
pub fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

impl Printer {
    /// A printer for machines or for people.
    pub fn new(json: bool) -> Self {
        Self { json, colours: !json && colours(&std::io::stdout()) }
    }

    /// Whether machines read.
    pub const fn is_json(&self) -> bool {
        self.json
    }

    /// Says one thing, in both ways.
    pub fn say(&self, json: &Value, words: impl FnOnce() -> String) {
        if self.json {
            line(&json.to_string());
        } else {
            line(&words());
        }
    }

    /// Says something to people only.
    pub fn words(&self, words: &str) {
        if !self.json {
            line(words);
        }
    }

    /// Says what went wrong.
    pub fn failure(&self, failure: &Failure) {
        if self.json {
            line(&failure.to_json().to_string());
            return;
        }
        eprintln!("lineup: {}", failure.to_words());
    }

    /// The text in bold.
    pub fn strong(&self, text: &str) -> String {
        if self.colours { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// The text stepped back.
    pub fn faint(&self, text: &str) -> String {
        if self.colours { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// An answer of the Runtime's to look at: a table of its `rows`, or its fields.
    pub fn table(&self, value: &Value) {
        if self.json {
            return line(&value.to_string());
        }
        let Some(fields) = value.as_object() else { return line(&value.to_string()) };
        for (name, field) in fields {
            match field.as_array() {
                Some(rows) if rows.iter().all(Value::is_object) => {
                    if name != "rows" {
                        line(&self.strong(&format!("{name}:")));
                    }
                    if rows.is_empty() {
                        line(&self.faint("(none)"));
                    }
                    for row in rows {
                        line(&self.row(row));
                    }
                }
                _ => line(&format!("{} {}", self.faint(name), plain(field))),
            }
        }
    }

    fn row(&self, row: &Value) -> String {
        let fields = row.as_object().into_iter().flatten();
        let cells = fields.filter(|(_, value)| !value.is_null());
        cells.map(|(name, value)| format!("{} {}", self.faint(name), short(value))).collect::<Vec<_>>().join("  ")
    }
}

/// A value without the quotes of a text.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A value in a row, where an object or list that is long is cut; `--json` has it whole.
fn short(value: &Value) -> String {
    const LETTERS: usize = 100;
    let text = plain(value);
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) if value.is_object() || value.is_array() => format!("{}…", &text[..end]),
        _ => text,
    }
}

/// Writes a line at once, so that whoever reads a pipe sees it; a reader that has gone ends the
/// program quietly, as other tools do.
fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
