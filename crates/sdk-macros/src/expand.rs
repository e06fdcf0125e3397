//! From facts to Rust.

use std::{collections::BTreeSet, path::PathBuf};

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Type, spanned::Spanned};

use crate::{
    facts::{Action, App, Facts, Operation, Performer, Tool, Word},
    mistake::Mistakes,
    parse, validate,
};

/// The whole way. With mistakes, everything that is right is still written, so that the compiler
/// says nothing about names that only the mistakes keep away.
pub(crate) fn define_agent_tools(input: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let items = parse::declaration(input, &mut mistakes);
    let facts = validate::facts(items, &mut mistakes);
    let code = facts.map(|facts| expand(&facts, &Beside::look(&facts.app))).unwrap_or_default();
    let errors = mistakes.into_tokens();
    quote!(#errors #code)
}

/// What the bundle takes in from beside the crate's `Cargo.toml`.
#[derive(Default)]
pub(crate) struct Beside {
    /// Whether there is a committed manifest (INV-2).
    pub manifest: bool,
    /// The Surfaces that have their document there.
    pub surfaces: BTreeSet<String>,
}

impl Beside {
    fn look(app: &App) -> Self {
        let Some(directory) = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from) else { return Self::default() };
        let is_there = |id: &&String| directory.join(document(id)).is_file();
        Self {
            manifest: directory.join(MANIFEST).is_file(),
            surfaces: app.surfaces.iter().map(|surface| &surface.id).filter(is_there).cloned().collect(),
        }
    }
}

const MANIFEST: &str = "manifest.json";

/// Where the document of a Surface is.
fn document(id: &str) -> String {
    format!("surface/{id}.html")
}

/// The text of a file of the crate, which is compiled anew when it changes.
fn text_of(file: &str) -> TokenStream {
    let file = format!("/{file}");
    quote!(::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #file)))
}

pub(crate) fn expand(facts: &Facts, beside: &Beside) -> TokenStream {
    let Facts { app, tools, actions } = facts;
    let name = &app.name;
    let docs = &app.docs;
    let doc = docs.is_empty().then(|| format!("The MiniApp `{}`.", app.scope)).map(|text| quote!(#[doc = #text]));
    let app_facts = app_facts(app, beside);
    let missing = missing(app, beside);
    let tools = tools.iter().map(|tool| expand_tool(name, tool));
    let actions = actions.iter().map(|action| expand_action(name, action));
    quote! {
        #missing
        #doc
        #(#docs)*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct #name;

        /// The MiniApp as the Runtime gets it: its declaration and its handlers.
        #[must_use]
        pub fn bundle() -> ::lineup_sdk::Bundle {
            #[allow(unused_imports, reason = "one of the two is used")]
            use ::lineup_sdk::__private::{Absent as _, Written as _};
            let app = ::std::sync::Arc::new(#name);
            let hooks = (&::lineup_sdk::__private::Probe(&app)).hooks();
            let builder = ::lineup_sdk::__private::Builder::new(app, hooks, #app_facts);
            #(#tools)*
            #(#actions)*
            builder.build()
        }
    }
}

/// A MiniApp that is published has a document for each of its Surfaces. One without a manifest, in a
/// test or before its first `cargo xtask manifests`, may do without.
fn missing(app: &App, beside: &Beside) -> TokenStream {
    let without = app.surfaces.iter().filter(|surface| beside.manifest && !beside.surfaces.contains(&surface.id));
    without
        .map(|surface| {
            let (id, file) = (&surface.id, document(&surface.id));
            let message = format!(
                "the surface `{id}` is declared, and its document {file} is not there; put one self-contained HTML \
                 file beside Cargo.toml, as `npm run surfaces` in ui/ does for the bundled MiniApps"
            );
            quote!(::core::compile_error!(#message);)
        })
        .collect()
}

fn app_facts(app: &App, beside: &Beside) -> TokenStream {
    let App {
        docs: _,
        name: _,
        scope,
        kind,
        version,
        min_host,
        surfaces: declared,
        surface_required,
        subscriptions,
        capabilities,
    } = app;
    let kind = variant("Kind", *kind);
    let version =
        version.as_ref().map_or_else(|| quote!(::core::env!("CARGO_PKG_VERSION")), |version| quote!(#version));
    let surfaces = declared.iter().map(|surface| {
        let (id, title) = (&surface.id, &surface.title);
        quote!((#id, #title))
    });
    let documents = declared.iter().map(|surface| &surface.id).filter(|id| beside.surfaces.contains(*id)).map(|id| {
        let html = text_of(&document(id));
        quote!((#id, #html))
    });
    let committed = if beside.manifest {
        let text = text_of(MANIFEST);
        quote!(::core::option::Option::Some(#text))
    } else {
        quote!(::core::option::Option::None)
    };
    quote! {
        ::lineup_sdk::__private::AppFacts {
            scope: #scope,
            version: #version,
            kind: #kind,
            min_host: #min_host,
            surface_required: #surface_required,
            surfaces: &[#(#surfaces),*],
            documents: &[#(#documents),*],
            subscriptions: &[#(#subscriptions),*],
            capabilities: &[#(#capabilities),*],
            committed: #committed,
        }
    }
}

fn expand_tool(app: &Ident, tool: &Tool) -> TokenStream {
    let facts = tool_facts(tool);
    let input = typed("input", tool.input.as_ref());
    match &tool.performer {
        Performer::Handler { path, output } => {
            let handler = handler(app, "Call", tool.input.as_ref(), path, output);
            let output = typed("output", Some(output));
            quote! {
                let builder = {
                    let (input, output) = (#input, #output);
                    builder.tool(#facts, input, output, #handler)
                };
            }
        }
        Performer::DeadlineStart { .. } | Performer::DeadlineInterrupt => quote! {
            let builder = {
                let input = #input;
                builder.built_in(#facts)
            };
        },
    }
}

fn tool_facts(tool: &Tool) -> TokenStream {
    let Tool {
        method,
        description,
        input,
        version,
        invocation,
        readiness,
        performer,
        timeout_ms,
        risk,
        visibility,
        permissions,
        host,
        cancellable,
        closes_instance,
        restore_previous_focus,
        operation,
    } = tool;
    let result = result(performer, input.as_ref());
    let (invocation, readiness) = (variant("Invocation", *invocation), variant("Readiness", *readiness));
    let (risk, visibility) = (variant("Risk", *risk), variant("Visibility", *visibility));
    let Operation { needs_foreground, ends_on_leaving, exclusive } = operation;
    let exclusive = match exclusive {
        Some(word) => {
            let word = variant("Exclusive", *word);
            quote!(::core::option::Option::Some(#word))
        }
        None => quote!(::core::option::Option::None),
    };
    quote! {
        ::lineup_sdk::__private::ToolFacts {
            method: #method,
            version: #version,
            description: #description,
            input: input.schema,
            result: #result,
            invocation: #invocation,
            readiness: #readiness,
            permissions: &[#(#permissions),*],
            risk: #risk,
            visibility: #visibility,
            timeout_ms: #timeout_ms,
            terminal: ::lineup_sdk::__private::Terminal {
                agent_may_cancel: #cancellable,
                closes_instance: #closes_instance,
            },
            operation: ::lineup_sdk::__private::OperationRule {
                needs_foreground: #needs_foreground,
                ends_on_leaving: #ends_on_leaving,
                exclusive: #exclusive,
            },
            target: ::lineup_sdk::__private::Target { restore_previous_focus: #restore_previous_focus },
            host: &[#(#host),*],
        }
    }
}

fn result(performer: &Performer, input: Option<&Type>) -> TokenStream {
    match performer {
        Performer::Handler { path: _, output: _ } => {
            quote!(::lineup_sdk::__private::Performer::Handler(output.schema))
        }
        Performer::DeadlineStart { unit, field, when_busy } => {
            let unit = variant("Unit", *unit);
            let name = field.to_string();
            // Names the field in Rust, too, so that a missing or unfit one is found at its own place.
            let check = quote_spanned! {field.span()=>
                let _ = |input: &#input| ::lineup_sdk::__private::length(&input.#field);
            };
            quote! {{
                #check
                ::lineup_sdk::__private::Performer::DeadlineStart { unit: #unit, field: #name, when_busy: #when_busy }
            }}
        }
        Performer::DeadlineInterrupt => {
            quote!(::lineup_sdk::__private::Performer::DeadlineInterrupt)
        }
    }
}

fn expand_action(app: &Ident, action: &Action) -> TokenStream {
    let Action { method, description, input, handler: path, confirm } = action;
    let handler = handler(app, "Action", input.as_ref(), path, &syn::parse_quote!(()));
    let input = typed("input", input.as_ref());
    quote! {
        let builder = {
            let input = #input;
            builder.action(
                ::lineup_sdk::__private::ActionFacts {
                    method: #method,
                    description: #description,
                    input: input.schema,
                    confirm: #confirm,
                },
                input,
                #handler,
            )
        };
    }
}

/// The closure that calls a handler; its mistakes are found at the handler's name.
fn handler(app: &Ident, given: &str, input: Option<&Type>, path: &syn::Path, output: &Type) -> TokenStream {
    let given = format_ident!("{given}");
    let input = input.map_or_else(|| quote!(()), |input| quote!(#input));
    let span = path.span().resolved_at(Span::mixed_site());
    let [the_app, sdk, work] = ["app", "sdk", "work"].map(|name| Ident::new(name, span));
    let call = quote_spanned! {span=>
        ::lineup_sdk::__private::run::<#output, _>(async move {
            ::lineup_sdk::__private::asynchronous(#path(&#the_app, &#sdk, #work)).await
        })
    };
    quote! {
        |#the_app: ::std::sync::Arc<#app>, #sdk: ::lineup_sdk::Sdk, #work: ::lineup_sdk::#given<#input>| #call
    }
}

/// The type as a value of the SDK's, made at the type's own place so that its mistakes are found there.
fn typed(role: &str, ty: Option<&Type>) -> TokenStream {
    let role = format_ident!("{role}");
    match ty {
        Some(ty) => quote_spanned!(ty.span()=> ::lineup_sdk::__private::#role::<#ty>()),
        None => quote!(::lineup_sdk::__private::#role::<()>()),
    }
}

fn variant(name: &str, word: Word) -> TokenStream {
    let (name, word) = (format_ident!("{name}"), format_ident!("{}", word.variant));
    quote!(::lineup_sdk::__private::#name::#word)
}
