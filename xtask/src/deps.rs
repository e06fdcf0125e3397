//! `cargo xtask deps`: which crate may depend on which (ARCHITECTURE.md), read from `cargo metadata`; and
//! what a MiniApp's source may name (SDK-11).

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use clap::Args;
use serde::Serialize;

use crate::{manifests::root, miniapps};

#[derive(Args, Default)]
#[command(
    after_help = "A new crate gets a row in `ROWS` in xtask/src/deps.rs; directories of MiniApps, agents, hosts \
                        and proofs have one already."
)]
pub(crate) struct Deps {
    /// Prints every arrow inside the repository as JSON
    #[arg(long)]
    json: bool,
}

/// What a crate may depend on. The word before the arrows is a package or a directory with `/`.
struct Row {
    who: &'static str,
    may: &'static [&'static str],
    /// In tests as well.
    tests_may: &'static [&'static str],
}

/// Stands for every package of the repository.
const ANY: &str = "*";

/// What an adapter may see: never the runtime, never another adapter.
const ADAPTER: &[&str] = &["lineup-core", "lineup-failpoint", "lineup-model", "lineup-ports", "lineup-wire"];

/// The arrows that may be there. A pair that is not here points the wrong way.
const ROWS: &[Row] = &[
    Row { who: "lineup-model", may: &[], tests_may: &[] },
    Row { who: "lineup-core", may: &["lineup-model"], tests_may: &["lineup-testkit"] },
    Row { who: "lineup-ports", may: &["lineup-core", "lineup-model"], tests_may: &[] },
    Row { who: "lineup-wire", may: &["lineup-model"], tests_may: &[] },
    // Empty functions in every program but the one that proof/kill builds.
    Row { who: "lineup-failpoint", may: &[], tests_may: &[] },
    Row { who: "lineup-link", may: &["lineup-wire", "lineup-model"], tests_may: &["lineup-relay"] },
    Row {
        who: "lineup-runtime",
        may: &["lineup-core", "lineup-failpoint", "lineup-model", "lineup-ports", "lineup-wire"],
        // The whole way of a call, through a real store.
        tests_may: &["lineup-testkit", "lineup-sql"],
    },
    Row { who: "lineup-agent", may: &["lineup-link", "lineup-model", "lineup-wire"], tests_may: &["lineup-relay"] },
    Row { who: "lineup-sdk-macros", may: &[], tests_may: &[] },
    Row { who: "lineup-sdk", may: &["lineup-model", "lineup-ports", "lineup-sdk-macros"], tests_may: &[] },
    Row {
        who: "lineup-adapters",
        may: &["lineup-inprocess", "lineup-relay", "lineup-sql", "lineup-web", "lineup-websocket"],
        tests_may: &[],
    },
    Row { who: "lineup-sql", may: ADAPTER, tests_may: &["lineup-testkit"] },
    Row { who: "lineup-web", may: ADAPTER, tests_may: &["lineup-testkit"] },
    // The ends of a connection are tried out against each other.
    Row { who: "lineup-relay", may: ADAPTER, tests_may: &["lineup-testkit", "lineup-link"] },
    Row {
        who: "lineup-websocket",
        may: &["lineup-core", "lineup-failpoint", "lineup-link", "lineup-model", "lineup-ports", "lineup-wire"],
        tests_may: &["lineup-testkit", "lineup-relay"],
    },
    Row {
        who: "lineup-inprocess",
        may: &["lineup-core", "lineup-failpoint", "lineup-model", "lineup-ports", "lineup-sdk", "lineup-wire"],
        tests_may: &["lineup-testkit", "miniapps/"],
    },
    Row {
        who: "lineup-testkit",
        may: &[
            "lineup-agent",
            "lineup-core",
            "lineup-model",
            "lineup-ports",
            "lineup-runtime",
            "lineup-sdk",
            "lineup-wire",
            "lineup-inprocess",
        ],
        tests_may: &[],
    },
    Row { who: "miniapps/", may: &["lineup-sdk"], tests_may: &["lineup-testkit"] },
    // An agent's program sees what an agent may see. In its tests the Runtime is played.
    Row {
        who: "agents/",
        may: &["lineup-agent"],
        tests_may: &["lineup-link", "lineup-model", "lineup-relay", "lineup-testkit", "lineup-wire"],
    },
    Row { who: "hosts/", may: &[ANY], tests_may: &[] },
    Row { who: "proof/", may: &[ANY], tests_may: &[] },
    Row { who: "xtask", may: &["lineup-sdk", "miniapps/"], tests_may: &[] },
];

/// What some crates must not reach, however long the way.
const OUT_OF_REACH: &[(&str, &[&str], &str)] = &[
    ("lineup-model", &["tokio", "sqlx", "async-trait", "reqwest"], "the model is values"),
    (
        "lineup-core",
        &["tokio", "sqlx", "async-trait", "axum", "tracing", "log", "rand", "chrono", "time"],
        "core decides: no async, clock, randomness, logging or I/O",
    ),
    ("lineup-ports", &["tokio", "sqlx", "axum"], "a port names no technology"),
    ("lineup-wire", &["tokio", "sqlx", "async-trait"], "a codec does no I/O"),
    ("lineup-runtime", &["sqlx", "axum", "tokio-tungstenite"], "the runtime knows ports, not technologies"),
    ("lineup-agent", &["sqlx", "axum"], "the agent side has no store and no server"),
    (
        "miniapps/",
        &["tokio", "sqlx", "axum", "reqwest", "hyper", "async-std", "smol"],
        "a MiniApp reaches the world only through the SDK",
    ),
    ("xtask", &["tokio", "sqlx"], "xtask stays light"),
];

/// What of the workspace's dependencies matters here.
#[derive(Debug, Default)]
struct Graph {
    /// The packages of the repository: their names, and their directories from the root.
    ours: BTreeMap<String, String>,
    /// Arrows from packages of the repository, with whether tests alone need them.
    arrows: BTreeSet<(String, String, bool)>,
    /// Every arrow between any packages, as they are built (tests left out).
    built: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Serialize)]
struct Arrow<'a> {
    from: &'a str,
    to: &'a str,
    tests_only: bool,
}

/// Checks every arrow.
pub(crate) fn run(command: &Deps) -> Result<String, String> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--locked".to_owned()])
        .exec()
        .map_err(|error| error.to_string())?;
    let graph = graph(&metadata);
    let mut problems = check(&graph);
    problems.extend(named(&metadata)?);
    if !problems.is_empty() {
        return Err(problems.join("\n"));
    }
    let inside = graph.arrows.iter().filter(|(_, to, _)| graph.ours.contains_key(to));
    if command.json {
        let arrows: Vec<_> = inside.map(|(from, to, tests_only)| Arrow { from, to, tests_only: *tests_only }).collect();
        return serde_json::to_string_pretty(&arrows).map_err(|error| error.to_string());
    }
    Ok(format!("{} arrows between {} crates point the right way", inside.count(), graph.ours.len()))
}

/// What the sources of MiniApps name and may not.
fn named(metadata: &Metadata) -> Result<Vec<String>, String> {
    let packages = metadata.workspace_packages();
    let written = |package: &Package| package.name.replace('-', "_");
    let mut problems = Vec::new();
    for miniapp in packages.iter().filter(|package| is_miniapp(package, metadata)) {
        let own = written(miniapp);
        let others: Vec<String> = packages
            .iter()
            .map(|package| written(package))
            .filter(|name| *name != "lineup_sdk" && *name != own)
            .collect();
        problems.extend(miniapps::check(miniapp, &others)?);
    }
    Ok(problems)
}

fn is_miniapp(package: &Package, metadata: &Metadata) -> bool {
    package.manifest_path.starts_with(metadata.workspace_root.join("miniapps"))
}

fn graph(metadata: &Metadata) -> Graph {
    let mut graph = Graph::default();
    for package in metadata.workspace_packages() {
        let directory = package.manifest_path.parent().unwrap_or(&package.manifest_path);
        let directory = directory.strip_prefix(&metadata.workspace_root).unwrap_or(directory);
        graph.ours.insert(package.name.to_string(), directory.as_str().replace('\\', "/"));
        for dependency in &package.dependencies {
            let tests_only = dependency.kind == DependencyKind::Development;
            graph.arrows.insert((package.name.to_string(), dependency.name.clone(), tests_only));
        }
    }
    let names: BTreeMap<_, _> =
        metadata.packages.iter().map(|package| (&package.id, package.name.to_string())).collect();
    for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
        let Some(from) = names.get(&node.id) else { continue };
        let built = graph.built.entry(from.clone()).or_default();
        for dependency in &node.deps {
            // What a build script or a macro needs is not part of the program.
            if dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
                && let Some(to) = names.get(&dependency.pkg)
            {
                built.insert(to.clone());
            }
        }
    }
    graph
}

fn check(graph: &Graph) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, directory) in &graph.ours {
        if row(name, directory).is_none() {
            problems.push(format!("{name} ({directory}) has no row in ROWS in xtask/src/deps.rs"));
        }
    }
    for (from, to, tests_only) in &graph.arrows {
        let (Some(from_directory), Some(to_directory)) = (graph.ours.get(from), graph.ours.get(to)) else { continue };
        let Some(row) = row(from, from_directory) else { continue };
        let allowed = |list: &[&str]| list.iter().any(|word| *word == ANY || is(word, to, to_directory));
        if !(allowed(row.may) || *tests_only && allowed(row.tests_may)) {
            let tests = if *tests_only { " in its tests" } else { "" };
            problems.push(format!("{from} must not depend on {to}{tests}: it may depend on {}", listed(row.may)));
        }
    }
    for (who, forbidden, why) in OUT_OF_REACH {
        for (name, _) in graph.ours.iter().filter(|(name, directory)| is(who, name, directory)) {
            for target in *forbidden {
                if let Some(way) = way(graph, name, target) {
                    problems.push(format!("{name} must not reach {target} ({why}): {}", way.join(" → ")));
                }
            }
        }
    }
    problems
}

fn row(name: &str, directory: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| is(row.who, name, directory))
}

/// Whether a word of the table means this package.
fn is(word: &str, name: &str, directory: &str) -> bool {
    if word.ends_with('/') { directory.starts_with(word) } else { word == name }
}

fn listed(words: &[&str]) -> String {
    if words.is_empty() { "no crate of the repository".to_owned() } else { words.join(", ") }
}

/// The shortest way from a package to another, if there is one.
fn way(graph: &Graph, from: &str, to: &str) -> Option<Vec<String>> {
    let mut seen = BTreeSet::from([from.to_owned()]);
    let mut ways = std::collections::VecDeque::from([vec![from.to_owned()]]);
    while let Some(way) = ways.pop_front() {
        let here = way.last()?;
        if here == to {
            return Some(way);
        }
        for next in graph.built.get(here).into_iter().flatten() {
            if seen.insert(next.clone()) {
                ways.push_back(way.iter().chain([next]).cloned().collect());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &[(&str, &str)] = &[
        ("lineup-model", "crates/model"),
        ("lineup-core", "crates/core"),
        ("lineup-ports", "crates/ports"),
        ("lineup-wire", "crates/wire"),
        ("lineup-agent", "crates/agent"),
        ("lineup-runtime", "crates/runtime"),
        ("lineup-sdk", "crates/sdk"),
        ("lineup-testkit", "crates/testkit"),
        ("lineup-sql", "crates/adapters/sql"),
        ("lineup-web", "crates/adapters/web"),
        ("lineup-pomodoro", "miniapps/pomodoro"),
        ("lineup-demo-agent", "agents/demo"),
        ("lineup", "hosts/cli"),
        ("xtask", "xtask"),
    ];

    /// The problems of a repository with these arrows; a name that begins with `test:` is for tests alone.
    fn problems(arrows: &[(&str, &str)]) -> Vec<String> {
        let mut graph = Graph {
            ours: OURS.iter().map(|(name, directory)| ((*name).to_owned(), (*directory).to_owned())).collect(),
            ..Graph::default()
        };
        for (from, to) in arrows {
            let tests_only = to.starts_with("test:");
            let to = to.trim_start_matches("test:");
            graph.arrows.insert(((*from).to_owned(), to.to_owned(), tests_only));
            if !tests_only {
                graph.built.entry((*from).to_owned()).or_default().insert(to.to_owned());
            }
        }
        check(&graph)
    }

    #[test]
    fn arrows_that_point_inwards_are_no_problem() {
        let arrows = [
            ("lineup-core", "lineup-model"),
            ("lineup-ports", "lineup-core"),
            ("lineup-ports", "async-trait"),
            ("lineup-runtime", "lineup-ports"),
            ("lineup-runtime", "tokio"),
            ("lineup-runtime", "test:lineup-testkit"),
            ("lineup-sql", "lineup-ports"),
            ("lineup-sql", "sqlx"),
            ("lineup-pomodoro", "lineup-sdk"),
            ("lineup-demo-agent", "lineup-agent"),
            ("lineup-demo-agent", "test:lineup-wire"),
            ("lineup", "lineup-sql"),
            ("xtask", "lineup-pomodoro"),
        ];
        assert_eq!(problems(&arrows), Vec::<String>::new());
    }

    #[test]
    fn every_arrow_that_points_the_wrong_way_is_named() {
        let wrong = [
            ("lineup-model", "lineup-core"),
            ("lineup-core", "lineup-ports"),
            ("lineup-ports", "lineup-runtime"),
            ("lineup-runtime", "lineup-sql"),
            ("lineup-runtime", "lineup-testkit"),
            ("lineup-sql", "lineup-runtime"),
            ("lineup-sql", "lineup-web"),
            ("lineup-sql", "test:lineup-web"),
            ("lineup-sdk", "lineup-core"),
            ("lineup-pomodoro", "lineup-model"),
            ("lineup-pomodoro", "lineup-runtime"),
            ("lineup-demo-agent", "lineup-wire"),
            ("lineup-demo-agent", "lineup-runtime"),
            ("xtask", "lineup-runtime"),
            ("lineup-model", "test:lineup-testkit"),
            ("lineup-core", "lineup-testkit"),
        ];
        for (from, to) in wrong {
            let found = problems(&[(from, to)]);
            let expected = format!("{from} must not depend on {}", to.trim_start_matches("test:"));
            assert!(found.iter().any(|problem| problem.starts_with(&expected)), "{from} → {to}: {found:?}");
        }
    }

    #[test]
    fn core_reaches_no_runtime_however_long_the_way() {
        for target in ["tokio", "sqlx", "async-trait", "rand", "tracing"] {
            let found = problems(&[("lineup-core", "small"), ("small", "smaller"), ("smaller", target)]);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].ends_with(&format!("lineup-core → small → smaller → {target}")), "{found:?}");
        }
    }

    #[test]
    fn a_miniapp_reaches_no_async_runtime_and_no_network() {
        for target in ["tokio", "reqwest", "axum"] {
            assert_eq!(problems(&[("lineup-pomodoro", target)]).len(), 1, "{target}");
        }
    }

    #[test]
    fn a_crate_without_a_row_is_a_problem() {
        let mut graph = Graph::default();
        graph.ours.insert("lineup-new".to_owned(), "crates/new".to_owned());
        assert_eq!(check(&graph), ["lineup-new (crates/new) has no row in ROWS in xtask/src/deps.rs"]);
    }
}
