//! Values in, values out: what is said about mistakes, and what is written for what is right. What
//! the compiler makes of it is shown in `crates/sdk/tests/ui`.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    expand::{self, Beside},
    facts::Facts,
    mistake::Mistakes,
    parse, validate,
};

#[test]
fn inv_1_a_declaration_expands_to_a_type_and_its_bundle() {
    insta::assert_snapshot!(expansion(quote! {
        /// Follows one task.
        app Desk in "desk" {
            kind: system,
            version: "1.2.3",
            surface "main" { title: "Desk", required },
            subscriptions: ["message.text"],
        }

        /// Open a task.
        ///
        /// Comes back when it is closed.
        tool open_it(Open) -> Opened {
            version: 2, invocation: interactive, readiness: foreground_required,
            timeout: 90 min, risk: high, permissions: ["tasks.read"], cancellable,
            restore_previous_focus: true,
            handler: Desk::open,
        }

        /// The user clears the desk.
        action clear() { handler: Desk::clear, confirm }
    }));
}

#[test]
fn app_4_a_tool_of_the_runtime_expands_to_facts_without_a_handler() {
    insta::assert_snapshot!(expansion(quote! {
        app Pomodoro in "pomodoro";

        /// Start a focus period.
        tool start(Start) {
            version: 1, invocation: operation, readiness: foreground_required,
            operation: { needs_foreground, ends_on_leaving, exclusive: workspace },
            runtime: deadline_operation::start { length: minutes(input.minutes), when_busy: "already_focusing" },
        }

        /// Stop it.
        tool interrupt() {
            version: 1, invocation: command, readiness: activation_not_required,
            runtime: deadline_operation::interrupt,
        }
    }));
}

#[test]
fn sur_1_a_published_miniapp_without_the_document_of_a_surface_is_not_compiled() {
    let desk = || quote! { app Desk in "desk" { surface "main" { title: "Desk" }, surface "side" { title: "Side" } } };
    let files = |manifest, surfaces: &[&str]| Beside {
        manifest,
        surfaces: surfaces.iter().map(|id| (*id).to_owned()).collect(),
    };
    let expanded = beside(desk(), &files(true, &["main"]));
    assert_eq!(expanded.matches("compile_error!").count(), 1, "{expanded}");
    assert!(expanded.contains("the surface `side` is declared, and its document surface/side.html is not there"));
    for (manifest, surfaces) in [(true, &["main", "side"][..]), (false, &["main"]), (false, &[])] {
        let expanded = beside(desk(), &files(manifest, surfaces));
        assert!(!expanded.contains("compile_error!"), "{expanded}");
        assert_eq!(expanded.matches(".html").count(), surfaces.len(), "{expanded}");
    }
}

#[test]
fn what_is_right_is_still_written_beside_mistakes() {
    let (facts, mistakes) = read(quote! {
        app Desk in "desk";

        /// Right.
        tool right() -> () { version: 1, invocation: command, readiness: app_ready, handler: Desk::right }

        /// Wrong.
        tool wrong() -> () { version: 0, invocation: command, readiness: app_ready, handler: Desk::wrong }
    });
    let methods: Vec<String> = facts.expect("there is an app").tools.into_iter().map(|tool| tool.method).collect();
    assert_eq!(methods, ["right"]);
    assert_eq!(mistakes.len(), 1, "{mistakes:?}");
}

#[test]
fn defaults_are_those_of_the_contract() {
    let (facts, mistakes) = read(quote! {
        app Desk in "desk";

        /// Do it.
        tool do_it() -> () { version: 1, invocation: command, readiness: app_ready, handler: Desk::do_it }
    });
    assert_eq!(mistakes, [""; 0]);
    let tool = facts.unwrap().tools.remove(0);
    assert_eq!((tool.method.as_str(), tool.timeout_ms, tool.cancellable), ("do-it", 60_000, false));
    assert_eq!((tool.risk.text, tool.visibility.text), ("low", "visible"));
    assert!(!tool.restore_previous_focus && !tool.closes_instance && tool.permissions.is_empty());
}

#[test]
fn lengths_of_time_are_read_in_their_units() {
    for (written, millis) in [
        (quote!(1 ms), Some(1)),
        (quote!(30 s), Some(30_000)),
        (quote!(90 min), Some(5_400_000)),
        (quote!(24 h), Some(86_400_000)),
        (quote!(25 h), None),
        (quote!(0 s), None),
        (quote!(1.5 h), None),
        (quote!(-1 h), None),
        (quote!(1 day), None),
        (quote!(99999999999999999999 h), None),
    ] {
        let (facts, mistakes) = read(quote! {
            app Desk in "desk";

            /// Do it.
            tool it() -> () {
                version: 1, invocation: command, readiness: app_ready, timeout: #written, handler: Desk::it,
            }
        });
        let read = facts.unwrap().tools.first().map(|tool| tool.timeout_ms);
        assert_eq!(read, millis, "{written}");
        assert_eq!(mistakes.len(), usize::from(millis.is_none()), "{written}: {mistakes:?}");
    }
}

#[test]
fn each_mistake_of_a_broken_declaration_is_said_once() {
    let rows: Vec<(TokenStream, &[&str])> = vec![
        (quote!(), &["a declaration needs an `app` line"]),
        (quote!(app), &["`app` needs the name of a type"]),
        (quote!(app Desk in "desk"), &["this `app` has no end"]),
        (quote!(app Desk in "desk"; "tool"), &["an item starts with"]),
        (quote!(app Desk in "desk" (1)), &["here the `app` goes on with `;` or `{ … }`"]),
        (quote!(app Desk in ""), &["this `app` has no end"]),
        (quote!(app Desk in "";), &["cannot name an app's scope"]),
        (quote!(app Desk in "a.b";), &["cannot name an app's scope"]),
        (quote!(app Desk in "desk" { , }), &["a comma without a clause before it"]),
        (quote!(app Desk in "desk" { kind: }), &["the clause `kind` has no value"]),
        (quote!(app Desk in "desk" { kind = system }), &["after the name of the clause `kind` comes `:`"]),
        (quote!(app Desk in "desk" { min_host: -1 }), &["is not a `min_host`"]),
        (quote!(app Desk in "desk" { capabilities: [1] }), &["is a list of texts"]),
        (quote!(app Desk in "desk" { "main" }), &["a clause starts with its name"]),
        (quote!(app Desk in "desk"; tool), &["after `tool` comes its name"]),
        (quote!(app Desk in "desk"; tool t() -> { }), &["after `->` comes the type"]),
        (quote!(app Desk in "desk"; action a(A, B) { handler: Desk::a }), &["stands one type, the input"]),
    ];
    for (declaration, said) in rows {
        let (_, mistakes) = read(declaration.clone());
        assert_eq!(mistakes.len(), said.len(), "{declaration}: {mistakes:?}");
        for (mistake, said) in mistakes.iter().zip(said) {
            assert!(mistake.contains(said), "{declaration}: {mistake}");
            assert!(mistake.contains("write, for example:\n    "), "{declaration}: {mistake}");
        }
    }
}

#[test]
fn no_tokens_make_the_macro_panic() {
    let tokens =
        ["app", "Desk", "in", "\"desk\"", ";", "tool", "t", "()", "{ a: , : b }", "->", ",", ":", "'x", "#", "!"];
    for first in tokens {
        for second in tokens {
            for third in tokens {
                let Ok(input) = format!("app Desk in \"desk\"; {first} {second} {third}").parse::<TokenStream>() else {
                    continue;
                };
                let written = expand::define_agent_tools(input).to_string();
                assert!(written.contains("fn bundle"), "{first} {second} {third}");
            }
        }
    }
}

#[test]
fn inv_2_the_facts_of_a_tool_do_not_name_its_handler() {
    let written = expansion(quote! {
        app Desk in "desk";

        /// Do it.
        tool it() -> () { version: 1, invocation: command, readiness: app_ready, handler: Desk::secret_name }
    });
    assert_eq!(written.matches("secret_name").count(), 1, "{written}");
    assert!(!written.contains("\"secret_name"), "{written}");
}

fn read(declaration: TokenStream) -> (Option<Facts>, Vec<String>) {
    let mut mistakes = Mistakes::default();
    let items = parse::declaration(declaration, &mut mistakes);
    let facts = validate::facts(items, &mut mistakes);
    (facts, mistakes.messages())
}

fn expansion(declaration: TokenStream) -> String {
    beside(declaration, &Beside { manifest: true, surfaces: ["main".to_owned()].into() })
}

/// The expansion in a crate that has these files.
fn beside(declaration: TokenStream, files: &Beside) -> String {
    let (facts, mistakes) = read(declaration);
    assert_eq!(mistakes, [""; 0]);
    let code = expand::expand(&facts.expect("there is an app"), files);
    prettyplease::unparse(&syn::parse2(code).expect("the expansion is Rust"))
}
