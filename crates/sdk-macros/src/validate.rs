//! From clauses to facts: which words may stand where, and which belong together.

mod app;
mod clauses;
mod tool;

use std::collections::BTreeMap;

use proc_macro2::Ident;

use crate::{
    facts::{Action, App, Facts, Tool},
    mistake::Mistakes,
    parse::{ActionItem, AppItem, Item, Items, ToolItem, doc_text},
};
use clauses::{Clauses, Known};

/// Reads the facts of every item that is right. `None` without an app.
pub(crate) fn facts(items: Items, mistakes: &mut Mistakes) -> Option<Facts> {
    let (mut apps, mut tools, mut actions) = (Vec::new(), Vec::new(), Vec::new());
    for item in items.read {
        match item {
            Item::App(item) => apps.push(item),
            Item::Tool(item) => tools.push(item),
            Item::Action(item) => actions.push(item),
        }
    }
    twice("tool", tools.iter().map(|tool| &tool.name), mistakes);
    twice("action", actions.iter().map(|action| &action.name), mistakes);
    shared(&tools, &actions, mistakes);
    let tools: Vec<Tool> = tools.into_iter().filter_map(|item| tool::tool(item, mistakes)).collect();
    let actions: Vec<Action> = actions.into_iter().filter_map(|item| action(item, mistakes)).collect();
    let app = only_app(apps, items.has_app, mistakes)?;
    Some(Facts { app, tools, actions })
}

fn only_app(apps: Vec<AppItem>, has_app: bool, mistakes: &mut Mistakes) -> Option<App> {
    let mut apps = apps.into_iter();
    let Some(first) = apps.next() else {
        if has_app {
            // It cannot be read, which is noted.
            return None;
        }
        mistakes.take(syn::Error::new(
            proc_macro2::Span::call_site(),
            "a declaration needs an `app` line\n\nwrite, for example:\n    app Pomodoro in \"pomodoro\";",
        ));
        return None;
    };
    let others: Vec<AppItem> = apps.collect();
    if !others.is_empty() {
        for name in std::iter::once(&first.name).chain(others.iter().map(|app| &app.name)) {
            mistakes.add(
                name,
                "a crate declares one app, and this is one of several",
                "app Desk in \"desk\";   // and another crate for the other app",
            );
        }
    }
    Some(app::app(first, mistakes))
}

/// Underlines every item whose name was used before, and the first use.
fn twice<'a>(item: &str, names: impl Iterator<Item = &'a Ident>, mistakes: &mut Mistakes) {
    let mut seen: BTreeMap<String, Vec<&Ident>> = BTreeMap::new();
    for name in names {
        seen.entry(plain(name)).or_default().push(name);
    }
    for (text, uses) in seen.into_iter().filter(|(_, uses)| uses.len() > 1) {
        for (index, name) in uses.into_iter().enumerate() {
            let which = if index == 0 { "first declared here" } else { "declared again here" };
            mistakes.add(
                name,
                format!("two of the {item}s are named `{text}`: {which}"),
                format!("{item} {text}_more(…) …"),
            );
        }
    }
}

/// An agent's entry and a user's entry never share a name (ENT-1).
fn shared(tools: &[ToolItem], actions: &[ActionItem], mistakes: &mut Mistakes) {
    for tool in tools {
        for action in actions.iter().filter(|action| plain(&action.name) == plain(&tool.name)) {
            let text = plain(&tool.name);
            let what = format!("a tool and an action are both named `{text}`; each needs its own name");
            mistakes.add(&tool.name, &what, format!("tool {text}(…) …"));
            mistakes.add(&action.name, &what, format!("action user_{text}(…) …"));
        }
    }
}

fn action(item: ActionItem, mistakes: &mut Mistakes) -> Option<Action> {
    const KNOWN: Known = &[("handler", "handler: MyApp::set_state,"), ("confirm", "confirm,")];
    let owner = format!("action `{}`", plain(&item.name));
    let method = method(&item.name, "action", mistakes);
    let description =
        description(&item.docs, &item.name, &owner, "/// The user moves a task to another state.", mistakes);
    let clauses = Clauses::new(owner.clone(), KNOWN, item.clauses, mistakes);
    let handler = clauses.path("handler", mistakes);
    let confirm = clauses.flag("confirm", mistakes);
    if !clauses.has("handler") {
        mistakes.add(&item.name, format!("{owner} has no `handler`"), "handler: MyApp::set_state,");
    }
    Some(Action { method: method?, description: description?, input: item.input, handler: handler?, confirm })
}

/// The published name: `_` becomes `-`.
fn method(name: &Ident, item: &str, mistakes: &mut Mistakes) -> Option<String> {
    let text = plain(name);
    let fits = text.len() <= 32 && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !fits {
        mistakes.add(
            name,
            format!(
                "`{text}` cannot name {} {item}: 1 to 32 of a-z, 0-9 and `_`",
                if item == "action" { "an" } else { "a" }
            ),
            format!("{item} set_state(…) …"),
        );
        return None;
    }
    Some(text.replace('_', "-"))
}

fn description(
    docs: &[syn::Attribute],
    name: &Ident,
    owner: &str,
    example: &str,
    mistakes: &mut Mistakes,
) -> Option<String> {
    let text = doc_text(docs, mistakes);
    if text.is_empty() {
        mistakes.add(
            name,
            format!("{owner} has no description: the doc comment above it is what others read of it"),
            example,
        );
        return None;
    }
    Some(text)
}

/// A name without `r#`.
fn plain(name: &Ident) -> String {
    let text = name.to_string();
    text.strip_prefix("r#").map(str::to_owned).unwrap_or(text)
}
