//! Every stable code has a page in `docs/errors`, and every page has a code (CALL-11).

use std::{collections::BTreeSet, fs, path::PathBuf};

use lineup_model::ErrorCode;

fn pages() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors")
}

fn page(name: &str) -> String {
    let file = pages().join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn call_11_the_codes_are_those_that_have_a_page() {
    let codes: BTreeSet<String> = ErrorCode::ALL.iter().map(ToString::to_string).collect();
    let written: BTreeSet<String> = fs::read_dir(pages())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .map(|name| name.strip_suffix(".md").unwrap_or(&name).to_owned())
        .collect();
    assert_eq!(codes, written);
}

#[test]
fn call_11_a_page_says_what_it_means_who_gets_it_what_to_do_and_what_becomes_of_the_call() {
    for code in ErrorCode::ALL {
        let text = page(&format!("{code}.md"));
        assert!(text.starts_with(&format!("# `{code}`\n\n")), "{code}: its title");
        for part in ["- **Who gets it:** ", "- **When:** ", "- **What to do:** ", "- **The call:** "] {
            assert_eq!(text.matches(part).count(), 1, "{code}: {part}");
        }
    }
}

#[test]
fn call_11_the_index_lists_every_code_in_order() {
    let index = page("README.md");
    let listed: Vec<&str> =
        index.lines().filter_map(|line| line.strip_prefix("| [`")?.split_once('`')).map(|(code, _)| code).collect();
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(listed, codes);
}

/// The literal reasons of the crates' sources, with the files that give them.
fn reasons() -> Vec<(String, String)> {
    fn walk(directory: &std::path::Path, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !["tests", "target", "snapshots"].contains(&name.as_str()) {
                walk(&path, found);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = fs::read_to_string(&path).unwrap();
                for rest in text.split(".because(\"").skip(1) {
                    let reason = rest.split('"').next().unwrap_or_default();
                    found.push((reason.to_owned(), path.display().to_string()));
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".."), &mut found);
    found
}

#[test]
fn call_11_every_reason_stands_on_a_page() {
    let all: String = ErrorCode::ALL.iter().map(|code| page(&format!("{code}.md"))).collect();
    let reasons = reasons();
    assert!(reasons.len() > 10, "the sources were not found: {reasons:?}");
    for (reason, file) in reasons {
        assert!(all.contains(&format!("\n| `{reason}` |")), "`{reason}` of {file} is on no page of docs/errors");
    }
}
