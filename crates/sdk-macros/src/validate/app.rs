//! The `app` line.

use syn::LitStr;

use super::clauses::{Clauses, Known};
use crate::{
    facts::{App, KINDS, Surface},
    mistake::Mistakes,
    parse::{self, AppItem, Clause},
};

const KNOWN: Known = &[
    ("kind", "kind: bundled_reference,"),
    ("version", "version: \"1.2.0\","),
    ("surface", SURFACE_LINE),
    ("subscriptions", "subscriptions: [\"message.text\"],"),
    ("capabilities", "capabilities: [\"host.notice\"],"),
    ("min_host", "min_host: 1,"),
];

const SURFACE_LINE: &str = "surface \"main\" { title: \"Focus\", required },";

/// Reads the facts; a part with a mistake gets its default, so that the items after it are read.
pub(super) fn app(item: AppItem, mistakes: &mut Mistakes) -> App {
    let AppItem { docs, name, scope, clauses } = item;
    let owner = format!("app `{name}`");
    parse::doc_text(&docs, mistakes);
    let line = format!("app {name} in \"task-dashboard\";");
    let scope = scope.map(|scope| published_name(&scope, "an app's scope", &line, mistakes)).unwrap_or_default();
    let (surfaces, clauses): (Vec<Clause>, Vec<Clause>) =
        clauses.into_iter().partition(|clause| clause.name == "surface");
    let clauses = Clauses::new(owner, KNOWN, clauses, mistakes);
    let mut surface_required = false;
    let mut declared: Vec<Surface> = Vec::new();
    for clause in surfaces {
        if let Some((surface, required)) = surface(clause, &declared, mistakes) {
            surface_required |= required;
            declared.push(surface);
        }
    }
    App {
        docs,
        name,
        scope,
        kind: clauses.word("kind", KINDS, mistakes).unwrap_or(KINDS[1]),
        version: clauses.text("version", mistakes),
        min_host: clauses.count("min_host", mistakes).unwrap_or(1),
        surfaces: declared,
        surface_required,
        subscriptions: clauses.names("subscriptions", mistakes),
        capabilities: clauses.names("capabilities", mistakes),
    }
}

fn surface(clause: Clause, declared: &[Surface], mistakes: &mut Mistakes) -> Option<(Surface, bool)> {
    const KNOWN: Known = &[("title", "title: \"Focus\","), ("required", "required,")];
    let Some(label) = clause.label else {
        mistakes.add(&clause.name, "after `surface` comes its name in double quotes, then `{ … }`", SURFACE_LINE);
        return None;
    };
    let id = published_name(&label, "a surface", SURFACE_LINE, mistakes);
    if declared.iter().any(|surface| surface.id == id) {
        mistakes.add(&label, format!("the surface `{id}` is declared already"), "surface \"second\" { title: \"…\" },");
        return None;
    }
    let Ok(body) = syn::parse2::<proc_macro2::Group>(clause.value.clone()) else {
        mistakes.add(
            &label,
            format!("after `surface {:?}` comes `{{ … }}` with its title", label.value()),
            SURFACE_LINE,
        );
        return None;
    };
    let read = parse::clauses(body.stream(), mistakes);
    let clauses = Clauses::new(format!("surface `{id}`"), KNOWN, read, mistakes);
    let required = clauses.flag("required", mistakes);
    if !clauses.has("title") {
        mistakes.add(&label, format!("the surface `{id}` has no title"), SURFACE_LINE);
    }
    let title = clauses.text("title", mistakes)?;
    Some((Surface { id, title }, required))
}

/// A name that is published as it is written.
fn published_name(text: &LitStr, what: &str, line: &str, mistakes: &mut Mistakes) -> String {
    let name = text.value();
    let fits = (1..=32).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !fits {
        mistakes.add(text, format!("`{name}` cannot name {what}: 1 to 32 of a-z, 0-9 and `-`"), line);
    }
    name
}
