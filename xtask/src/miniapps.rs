//! What a MiniApp crate may name (SDK-11): the SDK, and nothing that reaches past it.
//!
//! Dependencies are read from `cargo metadata`. Source is read as tokens, not as syntax: so a path
//! inside a macro call, a macro's body or a `use` tree is found like any other.

use std::{fs, path::Path};

use cargo_metadata::{DependencyKind, Package, TargetKind};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The one dependency.
const SDK: &str = "lineup-sdk";

/// Modules of `std` that reach the world, or that block or split the thread that the Runtime lent.
const MODULES: [&str; 6] = ["net", "fs", "process", "env", "thread", "os"];

/// Async runtimes: a handler runs on the one that the Runtime gives it.
const RUNTIMES: [&str; 8] = [
    "tokio",
    "async_std",
    "smol",
    "futures_executor",
    "async_executor",
    "async_global_executor",
    "pollster",
    "glommio",
];

/// Parts of the SDK that are for its adapters and its macros.
const NOT_FOR_AUTHORS: [&str; 2] = ["host", "__private"];

/// Everything that a MiniApp crate does that it may not. `workspace` names the crates that it may not
/// know, as they are written in source.
pub(crate) fn check(package: &Package, workspace: &[String]) -> Result<Vec<String>, String> {
    let mut problems = dependencies(package);
    let root = package.manifest_path.parent().expect("a manifest lies in a directory");
    if package.targets.iter().any(|target| target.kind.contains(&TargetKind::CustomBuild)) {
        problems.push(format!("{}: a MiniApp has no build script; `build.rs` runs outside the SDK", package.name));
    }
    let mut files = Vec::new();
    source_files(root.join("src").as_std_path(), &mut files).map_err(|error| format!("{root}/src: {error}"))?;
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let tokens: TokenStream = text.parse().map_err(|error| format!("{}: {error}", file.display()))?;
        let is_test = file.file_stem().is_some_and(|name| name == "tests");
        let mut names = Names { workspace, is_test, found: Vec::new() };
        names.stream(tokens);
        let place = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        problems
            .extend(names.found.iter().map(|(line, problem)| format!("{}: {place}:{line}: {problem}", package.name)));
    }
    Ok(problems)
}

fn dependencies(package: &Package) -> Vec<String> {
    let named = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    named
        .filter(|dependency| dependency.name != SDK)
        .map(|dependency| format!("{}: depends on {}; a MiniApp depends on {SDK} alone", package.name, dependency.name))
        .collect()
}

fn source_files(directory: &Path, files: &mut Vec<std::path::PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            source_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

struct Names<'a> {
    workspace: &'a [String],
    is_test: bool,
    /// Line and problem.
    found: Vec<(usize, String)>,
}

impl Names<'_> {
    fn stream(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.stream(group.stream()),
                TokenTree::Ident(word) if !is_inside_a_path(&tokens[..at]) => {
                    let name = plain(&word.to_string());
                    self.word(word.span().start().line, &name, &tokens[at + 1..]);
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// A word that may be the first of a path.
    fn word(&mut self, line: usize, name: &str, rest: &[TokenTree]) {
        let banned: &[&str] = match name {
            "std" => &MODULES,
            "lineup_sdk" if self.is_test => &NOT_FOR_AUTHORS[1..],
            "lineup_sdk" => &NOT_FOR_AUTHORS,
            _ => {
                let is_path = starts_path(rest) || is_word(rest.first(), "as");
                if is_path && RUNTIMES.contains(&name) {
                    self.found.push((line, format!("`{name}` is an async runtime; handlers run on the Runtime's")));
                } else if is_path && self.workspace.iter().any(|known| known == name) {
                    self.found.push((line, format!("`{name}` is not for MiniApps; name `lineup_sdk` instead")));
                }
                return;
            }
        };
        if is_word(rest.first(), "as") {
            self.found.push((line, format!("`{name}` under another name hides what is used of it")));
        } else if starts_path(rest) {
            self.members(line, name, banned, &rest[2..]);
        }
    }

    /// What comes after `std::` or `lineup_sdk::`.
    fn members(&mut self, line: usize, name: &str, banned: &[&str], rest: &[TokenTree]) {
        match rest.first() {
            Some(TokenTree::Ident(member)) => {
                let member = plain(&member.to_string());
                if banned.contains(&member.as_str()) {
                    self.found.push((line, format!("`{name}::{member}` reaches past the SDK")));
                } else if member == "self" && is_word(rest.get(1), "as") {
                    self.found.push((line, format!("`{name}` under another name hides what is used of it")));
                }
            }
            Some(TokenTree::Punct(star)) if star.as_char() == '*' && name == "std" => {
                self.found.push((line, format!("`{name}::*` hides what is used of it")));
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for item in inner.split(|token| matches!(token, TokenTree::Punct(comma) if comma.as_char() == ',')) {
                    let line = item.first().map_or(line, |token| token.span().start().line);
                    self.members(line, name, banned, item);
                }
            }
            _ => {}
        }
    }
}

/// Whether what stands before a word makes it a later part of a path, or a field.
fn is_inside_a_path(before: &[TokenTree]) -> bool {
    match before {
        [.., TokenTree::Ident(_) | TokenTree::Group(_), TokenTree::Punct(one), TokenTree::Punct(two)]
            if one.as_char() == ':' && two.as_char() == ':' =>
        {
            // `use ::std` and `as ::std` start a path.
            !matches!(&before[before.len() - 3], TokenTree::Ident(word) if ["use", "as", "in", "return"].contains(&word.to_string().as_str()))
        }
        // `Vec<T>::new` goes on with a path, `-> ::std` starts one.
        [head @ .., TokenTree::Punct(end), TokenTree::Punct(one), TokenTree::Punct(two)]
            if one.as_char() == ':' && two.as_char() == ':' =>
        {
            end.as_char() == '>' && !matches!(head, [.., TokenTree::Punct(dash)] if dash.as_char() == '-')
        }
        [.., TokenTree::Punct(dot)] => dot.as_char() == '.',
        _ => false,
    }
}

fn starts_path(rest: &[TokenTree]) -> bool {
    matches!(rest, [TokenTree::Punct(one), TokenTree::Punct(two), ..] if one.as_char() == ':' && two.as_char() == ':')
}

fn is_word(token: Option<&TokenTree>, text: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(word)) if word == text)
}

fn plain(word: &str) -> String {
    word.strip_prefix("r#").unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(source: &str) -> Vec<String> {
        let workspace = ["lineup_core".to_owned(), "lineup_ports".to_owned()];
        let mut names = Names { workspace: &workspace, is_test: false, found: Vec::new() };
        names.stream(source.parse().expect("the row is Rust"));
        names.found.into_iter().map(|(_, problem)| problem).collect()
    }

    #[test]
    fn sdk_11_what_reaches_past_the_sdk_is_found_however_it_is_written() {
        for source in [
            "use std::fs;",
            "use std::net::TcpStream;",
            "use ::std::fs::File;",
            "use std::{collections::BTreeMap, process::Command};",
            "use std::{fmt, {env}};",
            "use std as s;",
            "use std::{self as s};",
            "use std::*;",
            "extern crate std as s;",
            "fn f() { std::thread::sleep(d) }",
            "fn f() -> ::std::fs::File { g() }",
            "fn f() { println!(\"{}\", std::env::var(\"HOME\").unwrap()) }",
            "macro_rules! m { () => { std::fs::read(\"x\") } }",
            "fn f() { r#std::fs::read(\"x\") }",
            "type S = std::os::unix::net::UnixStream;",
            "use tokio::spawn;",
            "fn f() { pollster::block_on(g()) }",
            "use lineup_core::Workspace;",
            "use {lineup_ports::inbound};",
            "use lineup_sdk::host::MiniAppRequests;",
            "use lineup_sdk::{prelude::*, host};",
            "fn f() { lineup_sdk::__private::input::<()>(); }",
            "use lineup_sdk as l;",
        ] {
            assert_eq!(problems(source).len(), 1, "{source}: {:?}", problems(source));
        }
    }

    #[test]
    fn sdk_11_what_only_looks_alike_is_left_alone() {
        for source in [
            "use std::{collections::BTreeMap, fmt, sync::Arc};",
            "use crate::std::fs;",
            "mod fs { pub fn read() {} } fn f() { fs::read() }",
            "fn f(net: u8, env: u8) -> u8 { net + env }",
            "fn f(s: S) { s.tokio.lineup_core(); }",
            "/// Reads std::fs in words only.\nfn f() {}",
            "const TEXT: &str = \"std::fs\";",
            "use lineup_sdk::prelude::*;",
            "use lineup_sdk::{Bundle, prelude::*};",
            "struct std; ",
        ] {
            assert_eq!(problems(source), [""; 0], "{source}");
        }
    }

    #[test]
    fn sdk_11_the_fixture_that_breaks_every_rule_fails_by_every_rule() {
        let manifest = crate::manifests::root().join("xtask/fixtures/outlaw/Cargo.toml");
        let metadata = cargo_metadata::MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
        let found = check(&metadata.packages[0], &["lineup_core".to_owned()]).unwrap();
        assert_eq!(
            found,
            [
                "outlaw: depends on lineup-core; a MiniApp depends on lineup-sdk alone",
                "outlaw: depends on tokio; a MiniApp depends on lineup-sdk alone",
                "outlaw: a MiniApp has no build script; `build.rs` runs outside the SDK",
                "outlaw: src/hidden/deep.rs:4: `std::fs` reaches past the SDK",
                "outlaw: src/lib.rs:4: `lineup_core` is not for MiniApps; name `lineup_sdk` instead",
                "outlaw: src/lib.rs:5: `lineup_sdk::host` reaches past the SDK",
                "outlaw: src/lib.rs:8: `std::net` reaches past the SDK",
                "outlaw: src/lib.rs:9: `tokio` is an async runtime; handlers run on the Runtime's",
            ]
        );
    }
}
