//! The `tool` items.

use proc_macro2::{Group, Ident, TokenStream};
use syn::{LitStr, Token, parse::Parser};

use super::clauses::{Clauses, Known, span_of};
use crate::{
    facts::{self, Operation, Performer, Tool, UNITS, Word},
    mistake::{Mistakes, one_of},
    parse::{self, ToolItem, shown},
};

const KNOWN: Known = &[
    ("version", "version: 1,"),
    ("invocation", "invocation: command,"),
    ("readiness", "readiness: app_ready,"),
    ("handler", "handler: MyApp::open,"),
    ("runtime", INTERRUPT_LINE),
    ("timeout", "timeout: 2 h,"),
    ("risk", "risk: low,"),
    ("visibility", "visibility: visible,"),
    ("permissions", "permissions: [\"calendar.read\"],"),
    ("host", "host: [\"foreground\"],"),
    ("cancellable", "cancellable,"),
    ("closes_instance", "closes_instance,"),
    ("restore_previous_focus", "restore_previous_focus: true,"),
    ("operation", OPERATION_LINE),
];

const OPERATION_LINE: &str = "operation: { needs_foreground, ends_on_leaving, exclusive: workspace },";
const START_LINE: &str =
    "runtime: deadline_operation::start { length: minutes(input.minutes), when_busy: \"already_focusing\" },";
const INTERRUPT_LINE: &str = "runtime: deadline_operation::interrupt,";

/// What the Runtime answers when its exclusivity is nobody's concern.
const NEVER_BUSY: &str = "busy";

pub(super) fn tool(item: ToolItem, mistakes: &mut Mistakes) -> Option<Tool> {
    let ToolItem { docs, name, input, output, clauses } = item;
    let owner = format!("tool `{}`", super::plain(&name));
    let method = super::method(&name, "tool", mistakes);
    let description =
        super::description(&docs, &name, &owner, "/// Follow a task and come back when it is closed.", mistakes);
    let clauses = Clauses::new(owner, KNOWN, clauses, mistakes);
    missing(&clauses, &name, mistakes);
    let version = clauses.count("version", mistakes);
    let invocation = clauses.word("invocation", facts::INVOCATIONS, mistakes);
    let readiness = clauses.word("readiness", facts::READINESSES, mistakes);
    let operation = operation(&clauses, mistakes);
    let performer = performer(&clauses, output, input.is_some(), operation.exclusive.is_some(), &name, mistakes);
    together(&clauses, invocation, readiness, &operation, mistakes);
    let timeout_ms = if clauses.has("timeout") { clauses.duration("timeout", mistakes) } else { Some(60_000) };
    let tool = Tool {
        risk: clauses.word("risk", facts::RISKS, mistakes).unwrap_or(facts::RISKS[0]),
        visibility: clauses.word("visibility", facts::VISIBILITIES, mistakes).unwrap_or(facts::VISIBILITIES[0]),
        permissions: clauses.names("permissions", mistakes),
        host: clauses.names("host", mistakes),
        cancellable: clauses.flag("cancellable", mistakes),
        closes_instance: clauses.flag("closes_instance", mistakes),
        restore_previous_focus: clauses.flag("restore_previous_focus", mistakes),
        method: method?,
        description: description?,
        input,
        version: version?,
        invocation: invocation?,
        readiness: readiness?,
        performer: performer?,
        timeout_ms: timeout_ms?,
        operation,
    };
    Some(tool)
}

/// One mistake for all that is not said.
fn missing(clauses: &Clauses, name: &Ident, mistakes: &mut Mistakes) {
    const REQUIRED: [(&str, &str); 3] =
        [("version", "version: 1,"), ("invocation", "invocation: command,"), ("readiness", "readiness: app_ready,")];
    let mut absent: Vec<(&str, &str)> = REQUIRED.into_iter().filter(|(clause, _)| !clauses.has(clause)).collect();
    if !clauses.has("handler") && !clauses.has("runtime") {
        absent.push(("handler", "handler: MyApp::open,"));
    }
    if !absent.is_empty() {
        let names: Vec<String> = absent.iter().map(|(clause, _)| format!("`{clause}`")).collect();
        let lines: Vec<&str> = absent.iter().map(|(_, line)| *line).collect();
        mistakes.add(name, format!("{} does not say its {}", clauses.owner(), names.join(", ")), lines.join(" "));
    }
}

/// Clauses that exclude or need each other.
fn together(
    clauses: &Clauses,
    invocation: Option<Word>,
    readiness: Option<Word>,
    operation: &Operation,
    mistakes: &mut Mistakes,
) {
    let is = |word: Option<Word>, text: &str| word.is_some_and(|word| word.text == text);
    let not = |word: Option<Word>, text: &str| word.is_some_and(|word| word.text != text);
    if let Some(clause) = clauses.name("operation").filter(|_| not(invocation, "operation")) {
        mistakes.add(
            clause,
            "only a tool with `invocation: operation` has a rule for its operation",
            "invocation: operation,",
        );
    }
    if let Some(clause) =
        clauses.name("readiness").filter(|_| operation.needs_foreground && not(readiness, "foreground_required"))
    {
        mistakes.add(
            clause,
            "the operation needs the foreground, so the tool cannot start without it",
            "readiness: foreground_required,",
        );
    }
    if let Some(clause) =
        clauses.name("readiness").filter(|_| is(invocation, "operation") && is(readiness, "activation_not_required"))
    {
        mistakes.add(
            clause,
            "an operation belongs to a running MiniApp, so the tool needs its activation",
            "readiness: app_ready,",
        );
    }
    if let Some(clause) = clauses.name("handler").filter(|_| is(readiness, "activation_not_required")) {
        mistakes.add(
            clause,
            "with `readiness: activation_not_required` the MiniApp is not started, so no handler can run",
            "readiness: app_ready,",
        );
    }
}

fn operation(clauses: &Clauses, mistakes: &mut Mistakes) -> Operation {
    const KNOWN: Known = &[
        ("needs_foreground", "needs_foreground,"),
        ("ends_on_leaving", "ends_on_leaving,"),
        ("exclusive", "exclusive: workspace,"),
    ];
    let Some(value) = clauses.value("operation", mistakes) else {
        return Operation::default();
    };
    let Some(inner) = block(&value) else {
        mistakes.add(&value, "the rule of an operation stands in `{ … }`", OPERATION_LINE);
        return Operation::default();
    };
    let read = parse::clauses(inner, mistakes);
    let rule = Clauses::new(format!("the operation of {}", clauses.owner()), KNOWN, read, mistakes);
    Operation {
        needs_foreground: rule.flag("needs_foreground", mistakes),
        ends_on_leaving: rule.flag("ends_on_leaving", mistakes),
        exclusive: rule.word("exclusive", facts::EXCLUSIVES, mistakes),
    }
}

fn performer(
    clauses: &Clauses,
    output: Option<(Token![->], syn::Type)>,
    has_input: bool,
    exclusive: bool,
    name: &Ident,
    mistakes: &mut Mistakes,
) -> Option<Performer> {
    match (clauses.name("handler"), clauses.name("runtime")) {
        (Some(handler), Some(runtime)) => {
            let what = "a tool is done by a `handler` or by the `runtime`, not by both";
            mistakes.add(handler, what, "handler: MyApp::open,");
            mistakes.add(runtime, what, INTERRUPT_LINE);
            None
        }
        (Some(_), None) => {
            let path = clauses.path("handler", mistakes);
            let Some((_, output)) = output else {
                mistakes.add(
                    name,
                    format!("{} has a handler, but does not say what it returns", clauses.owner()),
                    format!("tool {}(…) -> Summary {{ … }}   // or `-> ()` for nothing", super::plain(name)),
                );
                return None;
            };
            Some(Performer::Handler { path: path?, output })
        }
        (None, Some(_)) => {
            if let Some((arrow, output)) = output {
                mistakes.add(
                    quote::quote!(#arrow #output),
                    "the Runtime does this tool and knows what it returns",
                    format!("tool {}(…) {{ … }}", super::plain(name)),
                );
            }
            runtime(clauses, has_input, exclusive, mistakes)
        }
        // Noted as missing.
        (None, None) => None,
    }
}

fn runtime(clauses: &Clauses, has_input: bool, exclusive: bool, mistakes: &mut Mistakes) -> Option<Performer> {
    let value = clauses.value("runtime", mistakes)?;
    let read = |input: syn::parse::ParseStream<'_>| {
        let path = input.call(syn::Path::parse_mod_style)?;
        let body = if input.is_empty() { None } else { Some(input.parse::<Group>()?) };
        Ok((path, body))
    };
    let unknown = |mistakes: &mut Mistakes| {
        let actions = one_of(&["deadline_operation::start", "deadline_operation::interrupt"]);
        mistakes.add(
            &value,
            format!("`{}` is not done by the Runtime; it does {actions}", shown(&value)),
            INTERRUPT_LINE,
        );
    };
    let Ok((path, body)) = Parser::parse2(read, value.clone()) else {
        unknown(mistakes);
        return None;
    };
    let text = path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>().join("::");
    match text.as_str() {
        "deadline_operation::start" => {
            needs_words(clauses, "deadline_operation::start", &[("invocation", "operation")], mistakes);
            let Some(body) = body else {
                mistakes.add(&path, "a deadline operation needs the `length` of the operation", START_LINE);
                return None;
            };
            deadline_start(body, has_input, exclusive, mistakes)
        }
        "deadline_operation::interrupt" => {
            let words = [("invocation", "command"), ("readiness", "activation_not_required")];
            needs_words(clauses, "deadline_operation::interrupt", &words, mistakes);
            if let Some(body) = body {
                mistakes.add(body, "interrupting has nothing to be told", INTERRUPT_LINE);
                return None;
            }
            Some(Performer::DeadlineInterrupt)
        }
        _ => {
            unknown(mistakes);
            None
        }
    }
}

fn needs_words(clauses: &Clauses, action: &str, words: &[(&str, &str)], mistakes: &mut Mistakes) {
    for (clause, wanted) in words {
        // A word that is none of the set is noted where it is read.
        let Some(value) = clauses.value(clause, &mut Mistakes::default()) else {
            continue;
        };
        let known = facts::INVOCATIONS.iter().chain(facts::READINESSES).any(|word| word.text == value.to_string());
        if known && value.to_string() != *wanted {
            mistakes.add(&value, format!("`{action}` goes with `{clause}: {wanted}`"), format!("{clause}: {wanted},"));
        }
    }
}

fn deadline_start(body: Group, has_input: bool, exclusive: bool, mistakes: &mut Mistakes) -> Option<Performer> {
    const KNOWN: Known =
        &[("length", "length: minutes(input.minutes),"), ("when_busy", "when_busy: \"already_focusing\",")];
    let place = TokenStream::from(proc_macro2::TokenTree::Group(body.clone()));
    let read = parse::clauses(body.stream(), mistakes);
    let clauses = Clauses::new("`deadline_operation::start`".to_owned(), KNOWN, read, mistakes);
    let when_busy = match (clauses.has("when_busy"), exclusive) {
        (true, true) => when_busy(&clauses, mistakes),
        (true, false) => {
            let value = clauses.name("when_busy");
            mistakes.add(value, "the operation is not exclusive, so it is never busy", OPERATION_LINE);
            None
        }
        (false, true) => {
            mistakes.add(
                &place,
                "the operation is exclusive: `when_busy` is the reason that a second caller reads",
                "when_busy: \"already_focusing\",",
            );
            None
        }
        (false, false) => Some(NEVER_BUSY.to_owned()),
    };
    if !clauses.has("length") {
        mistakes.add(&place, "a deadline operation needs the `length` of the operation", START_LINE);
    }
    let length = clauses.value("length", mistakes);
    let (unit, field) = length.and_then(|value| length_of(&value, has_input, mistakes))?;
    Some(Performer::DeadlineStart { unit, field, when_busy: when_busy? })
}

fn when_busy(clauses: &Clauses, mistakes: &mut Mistakes) -> Option<String> {
    let text = clauses.text("when_busy", mistakes)?;
    let fits = text.len() <= 64 && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if !fits {
        let value = clauses.value("when_busy", mistakes)?;
        mistakes.add(
            LitStr::new(&text, span_of(&value)),
            format!("`{text}` is not a reason that programs read: 1 to 64 of a-z, 0-9 and `_`"),
            "when_busy: \"already_focusing\",",
        );
        return None;
    }
    Some(text)
}

/// `minutes(input.minutes)`.
fn length_of(value: &TokenStream, has_input: bool, mistakes: &mut Mistakes) -> Option<(Word, Ident)> {
    const LINE: &str = "length: minutes(input.minutes),";
    let read = |input: syn::parse::ParseStream<'_>| {
        let unit: Ident = input.parse()?;
        let inner;
        syn::parenthesized!(inner in input);
        let root: Ident = inner.parse()?;
        inner.parse::<Token![.]>()?;
        let name: Ident = inner.parse()?;
        if root == "input" { Ok((unit, name)) } else { Err(inner.error("")) }
    };
    let Ok((unit, field)) = Parser::parse2(read, value.clone()) else {
        mistakes.add(value, format!("`{}` is not a length: a unit and a field of the input", shown(value)), LINE);
        return None;
    };
    if !has_input {
        mistakes.add(value, "the tool takes no input, so the length has no field", "tool start(Start) { … }");
        return None;
    }
    let Some(word) = UNITS.iter().find(|word| unit == word.text) else {
        let units: Vec<&str> = UNITS.iter().map(|word| word.text).collect();
        mistakes.add(&unit, format!("`{unit}` is not a unit: one of {}", one_of(&units)), LINE);
        return None;
    };
    Some((*word, field))
}

/// The tokens inside `{ … }`.
fn block(value: &TokenStream) -> Option<TokenStream> {
    let group = syn::parse2::<Group>(value.clone()).ok()?;
    (group.delimiter() == proc_macro2::Delimiter::Brace).then(|| group.stream())
}
