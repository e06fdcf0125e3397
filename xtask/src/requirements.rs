//! `cargo xtask requirements`: the ids of `docs/contract.md` and `docs/cases`, and the tests that show
//! them.
//!
//! A test shows an id by its name: `call_3_a_repeat_is_answered_byte_equal` shows CALL-3,
//! `h48_h50_a_type_is_one_word` shows H48 and H50. In `ui/` the title of a test does the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use clap::Args;

use crate::{
    manifests::root,
    scan::{self, Source},
};

#[derive(Args, Default)]
#[command(after_help = "A test shows an id by the beginning of its name: `call_3_…` shows CALL-3, `h6_…` shows H6, \
                        `i47_dur_2_…` shows both.")]
pub(crate) struct Requirements {
    /// Fails on an id that no document has, in a test's name or in a comment
    #[arg(long)]
    check: bool,
    /// Prints each id with the tests that show it as JSON
    #[arg(long)]
    json: bool,
}

impl Requirements {
    /// As the gate asks.
    pub(crate) const fn check() -> Self {
        Self { check: true, json: false }
    }
}

/// Where the code is.
const CODE: &[&str] = &["crates", "miniapps", "hosts", "agents", "proof", "ui", "xtask"];

/// Compares documents and tests. Answers with the table for people or programs.
pub(crate) fn run(command: &Requirements) -> Result<String, String> {
    let root = root();
    let documents: Vec<Source> =
        scan::sources(&root, &["docs"], &["md"])?.into_iter().filter(|document| declares(&document.path)).collect();
    let code = scan::sources(&root, CODE, &["rs", "ts", "tsx"])?;
    let found = compare(&documents, &code);
    if command.check && !found.problems.is_empty() {
        return Err(found.problems.join("\n"));
    }
    if command.json {
        return serde_json::to_string_pretty(&found.shown).map_err(|error| error.to_string());
    }
    if command.check {
        let with = found.shown.values().filter(|tests| !tests.is_empty()).count();
        return Ok(format!("{with} of {} ids are shown by a test", found.shown.len()));
    }
    let mut said = table(&found.shown);
    for problem in &found.problems {
        let _ = write!(said, "\n{problem}");
    }
    Ok(said)
}

/// Documents that declare ids; others only cite them.
fn declares(path: &str) -> bool {
    path == "docs/contract.md" || path.starts_with("docs/cases/")
}

/// A requirement's id: `CALL-3` or `H6`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    family: String,
    number: u32,
}

impl Id {
    fn text(&self) -> String {
        let dash = if self.family.len() > 1 { "-" } else { "" };
        format!("{}{dash}{}", self.family, self.number)
    }

    /// Reads `CALL-3` or `H6`, written exactly so.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.find(|character: char| character.is_ascii_digit())?;
        let (family, number) = text.split_at(digits);
        let family = match family.strip_suffix('-') {
            Some(family) if family.len() > 1 => family,
            None if family.len() == 1 => family,
            _ => return None,
        };
        let id = Self { family: family.to_owned(), number: number.parse().ok()? };
        (family.bytes().all(|byte| byte.is_ascii_uppercase()) && id.text() == text).then_some(id)
    }
}

struct Found {
    /// Each id of the documents, with the tests that show it.
    shown: BTreeMap<String, Vec<String>>,
    problems: Vec<String>,
}

fn compare(documents: &[Source], code: &[Source]) -> Found {
    let mut problems = Vec::new();
    let mut known: BTreeMap<Id, Vec<String>> = BTreeMap::new();
    for document in documents {
        for (number, line) in document.text.lines().enumerate() {
            if let Some(id) = declared(line)
                && known.insert(id.clone(), Vec::new()).is_some()
            {
                problems.push(format!("{}:{}: {} is there twice", document.path, number + 1, id.text()));
            }
        }
    }
    let families: BTreeSet<String> = known.keys().map(|id| id.family.clone()).collect();
    for source in code {
        for (line, name) in tests(source) {
            for id in leading(&name, &families) {
                match known.get_mut(&id) {
                    Some(tests) => tests.push(format!("{}:{line} {name}", source.path)),
                    None => {
                        problems.push(format!(
                            "{}:{line}: `{name}` names {}, which no document has",
                            source.path,
                            id.text()
                        ));
                    }
                }
            }
        }
        for (number, line) in source.text.lines().enumerate() {
            for id in cited(line, &families).filter(|id| !known.contains_key(id)) {
                problems.push(format!("{}:{}: cites {}, which no document has", source.path, number + 1, id.text()));
            }
        }
    }
    Found { shown: known.into_iter().map(|(id, tests)| (id.text(), tests)).collect(), problems }
}

/// The id that a line of a document declares: the first word of an item.
fn declared(line: &str) -> Option<Id> {
    let item = line.strip_prefix("- ")?;
    Id::parse(item.split_whitespace().next()?.trim_matches('*'))
}

/// The ids at the beginning of a test's name.
fn leading(name: &str, families: &BTreeSet<String>) -> Vec<Id> {
    let words: Vec<&str> = name.split(|character: char| !character.is_ascii_alphanumeric()).collect();
    let mut ids = Vec::new();
    let mut rest = words.as_slice();
    loop {
        let (text, after) = match rest {
            [family, number, after @ ..] if families.contains(&family.to_ascii_uppercase()) && family.len() > 1 => {
                (format!("{}-{number}", family.to_ascii_uppercase()), after)
            }
            [word, after @ ..] => (word.to_ascii_uppercase(), after),
            [] => return ids,
        };
        match Id::parse(&text).filter(|id| families.contains(&id.family)) {
            Some(id) => ids.push(id),
            None => return ids,
        }
        rest = after;
    }
}

/// The contract's ids in a line. Ids of one letter are too short to be told from other words.
fn cited<'a>(line: &'a str, families: &'a BTreeSet<String>) -> impl Iterator<Item = Id> + 'a {
    line.split(|character: char| !character.is_ascii_alphanumeric() && character != '-')
        .filter_map(Id::parse)
        .filter(|id| id.family.len() > 1 && families.contains(&id.family))
}

/// The tests of a file, with their lines.
fn tests(source: &Source) -> Vec<(usize, String)> {
    if source.path.ends_with(".rs") {
        rust_tests(&source.text, conformance(&source.path))
    } else {
        titles(&source.text)
    }
}

/// Conformance cases are public functions, from which a macro makes the tests of an adapter.
fn conformance(path: &str) -> bool {
    path.starts_with("crates/testkit/src/")
}

fn rust_tests(text: &str, public_functions: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut attribute = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(path) = line.strip_prefix("#[") {
            let path = path.split(['(', ']', ' ']).next().unwrap_or_default();
            attribute |= path == "test" || path.ends_with("::test");
        }
        if let Some(name) = function(line) {
            if attribute || (public_functions && line.starts_with("pub ")) {
                found.push((number + 1, name.to_owned()));
            }
            attribute = false;
        }
    }
    found
}

/// The name of the function that begins in this line.
fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("#[test] ").unwrap_or(line);
    let rest = rest.strip_prefix("pub ").unwrap_or(rest);
    let rest = rest.strip_prefix("async ").unwrap_or(rest).strip_prefix("fn ")?;
    let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_')?;
    Some(&rest[..end])
}

/// The titles of `test("…")` and `it("…")` in TypeScript.
fn titles(text: &str) -> Vec<(usize, String)> {
    let title = |line: &str| {
        let call = line.trim().strip_prefix("test(").or_else(|| line.trim().strip_prefix("it("))?;
        let quote = call.chars().next().filter(|quote| ['"', '\'', '`'].contains(quote))?;
        Some(call[1..].split(quote).next()?.to_owned())
    };
    text.lines().enumerate().filter_map(|(number, line)| Some((number + 1, title(line)?))).collect()
}

fn table(shown: &BTreeMap<String, Vec<String>>) -> String {
    let mut families: BTreeMap<String, (usize, Vec<Id>)> = BTreeMap::new();
    for (text, tests) in shown {
        let Some(id) = Id::parse(text) else { continue };
        let (with, without) = families.entry(id.family.clone()).or_default();
        if tests.is_empty() {
            without.push(id);
        } else {
            *with += 1;
        }
    }
    let mut said = String::new();
    for (family, (with, mut without)) in families {
        without.sort();
        let _ = write!(said, "{family:<5} {with:>3} of {:>3} shown by a test", with + without.len());
        if !without.is_empty() {
            let _ = write!(said, "; none yet for {}", without.iter().map(Id::text).collect::<Vec<_>>().join(", "));
        }
        said.push('\n');
    }
    let with = shown.values().filter(|tests| !tests.is_empty()).count();
    let _ = write!(said, "{with} of {} in all", shown.len());
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    fn contract() -> Vec<Source> {
        vec![
            source("docs/contract.md", "- CALL-3 Replay.\n- CALL-4 Conflict.\n- UI-1 Requests.\n"),
            source("docs/cases/hostile-inputs.md", "- **H6** a key twice\n- **H7** deep\n"),
        ]
    }

    #[test]
    fn a_test_shows_every_id_at_the_beginning_of_its_name() {
        let code = source("crates/a/src/lib.rs", "#[test]\nfn h6_h7_call_3_a_sentence_about_call_4() {}\n");
        let found = compare(&contract(), &[code]);
        assert!(found.problems.is_empty(), "{:?}", found.problems);
        let shown: Vec<&str> =
            found.shown.iter().filter(|(_, tests)| !tests.is_empty()).map(|(id, _)| id.as_str()).collect();
        assert_eq!(shown, ["CALL-3", "H6", "H7"]);
    }

    #[test]
    fn only_tests_show_an_id() {
        let text =
            "fn call_3_helper() {}\n#[cfg(test)]\nmod tests {}\nfn call_4_helper() {}\n#[must_use]\nfn h6_x() {}\n";
        let found = compare(&contract(), &[source("crates/a/src/lib.rs", text)]);
        assert!(found.shown.values().all(Vec::is_empty));
    }

    #[test]
    fn tests_of_other_runners_and_conformance_cases_and_titles_count() {
        let code = [
            source("crates/a/tests/b.rs", "    #[tokio::test(start_paused = true)]\n    async fn call_3_x() {}\n"),
            source("crates/testkit/src/store.rs", "pub async fn call_4_x(store: &dyn Store) {}\nfn h6_helper() {}\n"),
            source("ui/shell/a.test.ts", "test(\"UI-1 the card is drawn\", () => {});\n"),
        ];
        let found = compare(&contract(), &code);
        let shown: Vec<&str> =
            found.shown.iter().filter(|(_, tests)| !tests.is_empty()).map(|(id, _)| id.as_str()).collect();
        assert_eq!(shown, ["CALL-3", "CALL-4", "UI-1"]);
    }

    #[test]
    fn an_id_that_no_document_has_is_a_problem_in_a_name_and_in_a_comment() {
        // Put together here, for this file is read as well.
        let unknown = concat!("CALL", "-77");
        let text = format!("// See {unknown}.\n#[test]\nfn h99_x() {{}}\n");
        let found = compare(&contract(), &[source("crates/a/src/lib.rs", &text)]);
        assert_eq!(
            found.problems,
            [
                "crates/a/src/lib.rs:3: `h99_x` names H99, which no document has".to_owned(),
                format!("crates/a/src/lib.rs:1: cites {unknown}, which no document has"),
            ]
        );
    }

    #[test]
    fn words_that_only_look_like_ids_are_left_alone() {
        let text = "// UTF-8, RFC-8785, SHA-256, CALL-03\n#[test]\nfn utf_8_is_read() {}\n";
        assert!(compare(&contract(), &[source("crates/a/src/lib.rs", text)]).problems.is_empty());
    }

    #[test]
    fn an_id_that_is_declared_twice_is_a_problem() {
        let twice = source("docs/cases/platform.md", "- **H6** again\n");
        let documents: Vec<Source> = contract().into_iter().chain([twice]).collect();
        assert_eq!(compare(&documents, &[]).problems, ["docs/cases/platform.md:1: H6 is there twice"]);
    }
}
