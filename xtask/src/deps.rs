//! `cargo xtask deps`: dependencies point inwards only, and MiniApps name the SDK alone.

use std::collections::BTreeMap;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use crate::{manifests::root, miniapps};

/// What each crate may depend on, of this workspace. A crate that is not listed may depend on
/// everything; MiniApps are judged by [`miniapps`].
const ARROWS: &[(&str, &[&str])] = &[
    ("lineup-model", &[]),
    ("lineup-core", &["lineup-model"]),
    ("lineup-ports", &["lineup-core", "lineup-model"]),
    ("lineup-wire", &["lineup-model"]),
    ("lineup-agent", &["lineup-link", "lineup-model", "lineup-wire"]),
    ("lineup-link", &["lineup-model", "lineup-wire"]),
    ("lineup-runtime", &["lineup-core", "lineup-model", "lineup-ports", "lineup-wire"]),
    ("lineup-sdk-macros", &[]),
    ("lineup-sdk", &["lineup-model", "lineup-ports", "lineup-sdk-macros"]),
    ("lineup-sql", &ADAPTER),
    ("lineup-relay", &ADAPTER),
    ("lineup-websocket", &["lineup-core", "lineup-link", "lineup-model", "lineup-ports", "lineup-wire"]),
    ("lineup-web", &ADAPTER),
    ("lineup-inprocess", &["lineup-core", "lineup-model", "lineup-ports", "lineup-sdk", "lineup-wire"]),
];

const ADAPTER: [&str; 4] = ["lineup-core", "lineup-model", "lineup-ports", "lineup-wire"];

/// Crates that core, which decides and never waits, may not reach by any way.
const FAR_FROM_CORE: [&str; 4] = ["tokio", "sqlx", "async-trait", "tracing"];

/// Checks every arrow. Answers with a line for people.
pub(crate) fn run() -> Result<String, String> {
    let metadata =
        MetadataCommand::new().manifest_path(root().join("Cargo.toml")).exec().map_err(|error| error.to_string())?;
    let packages = metadata.workspace_packages();
    let mut problems = arrows(&packages);
    problems.extend(far_from_core(&metadata));
    let names: Vec<String> =
        packages.iter().map(|package| package.name.replace('-', "_")).filter(|name| name != "lineup_sdk").collect();
    for package in packages.iter().filter(|package| is_miniapp(package, &metadata)) {
        let others: Vec<String> =
            names.iter().filter(|name| **name != package.name.replace('-', "_")).cloned().collect();
        problems.extend(miniapps::check(package, &others)?);
    }
    if problems.is_empty() {
        Ok(format!("{} crates, and every arrow points inwards", packages.len()))
    } else {
        Err(problems.join("\n"))
    }
}

fn is_miniapp(package: &Package, metadata: &Metadata) -> bool {
    package.manifest_path.starts_with(metadata.workspace_root.join("miniapps"))
}

fn arrows(packages: &[&Package]) -> Vec<String> {
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut problems = Vec::new();
    for package in packages {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package.name.as_str()) else { continue };
        let inside = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.kind != DependencyKind::Development)
            .filter(|dependency| names.contains(&dependency.name.as_str()));
        for dependency in inside.filter(|dependency| !allowed.contains(&dependency.name.as_str())) {
            problems.push(format!(
                "{} depends on {}; it may depend on {}",
                package.name,
                dependency.name,
                if allowed.is_empty() { "no crate of the workspace".to_owned() } else { allowed.join(", ") }
            ));
        }
    }
    problems
}

/// The ways from core to what it may not reach.
fn far_from_core(metadata: &Metadata) -> Vec<String> {
    let Some(resolve) = &metadata.resolve else { return Vec::new() };
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let names: BTreeMap<_, &str> =
        metadata.packages.iter().map(|package| (&package.id, package.name.as_str())).collect();
    let name = |id: &PackageId| names.get(id).copied().unwrap_or_default();
    let Some(core) = resolve.nodes.iter().find(|node| name(&node.id) == "lineup-core") else { return Vec::new() };
    let (mut seen, mut next) = (BTreeMap::from([(&core.id, vec![name(&core.id)])]), vec![&core.id]);
    while let Some(id) = next.pop() {
        let way = seen[id].clone();
        let normal =
            nodes[id].deps.iter().filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal));
        for dep in normal {
            if !seen.contains_key(&dep.pkg) {
                let mut way = way.clone();
                way.push(name(&dep.pkg));
                seen.insert(&dep.pkg, way);
                next.push(&dep.pkg);
            }
        }
    }
    let reached = seen.into_values().filter(|way| way.last().is_some_and(|last| FAR_FROM_CORE.contains(last)));
    reached.map(|way| format!("core may not reach this: {}", way.join(" -> "))).collect()
}
