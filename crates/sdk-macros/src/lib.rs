//! The macros of `lineup-sdk`; authors use them through its prelude.
//!
//! The way of a declaration: `parse` reads tokens into clauses, `validate` reads clauses into
//! facts, `expand` writes Rust. Each collects its mistakes in `mistake::Mistakes` and goes on,
//! so that an author hears of all of them at once. To add a clause, add it to a table in
//! `validate/`, to the facts in `facts.rs`, and to `expand.rs`; then write the mistake that it makes
//! possible into `crates/sdk/tests/ui/fail`.

use proc_macro::TokenStream;

mod derive;
mod expand;
mod facts;
mod mistake;
mod parse;
#[cfg(test)]
mod tests;
mod validate;

/// Declares the Agent Tools and UI Actions of a MiniApp (INV-1), once: the crate's `bundle()`, the
/// dispatch to its handlers and its `manifest.json` all come from here.
///
/// ```text
/// define_agent_tools! {
///     app Pomodoro in "pomodoro" {               // or: app Pomodoro in "pomodoro";
///         surface "main" { title: "Focus", required },
///     }
///
///     /// Start a focus period and keep the time.        (what the agent reads)
///     tool start(Start) {
///         version: 1,
///         invocation: operation,
///         readiness: foreground_required,
///         operation: { needs_foreground, ends_on_leaving, exclusive: workspace },
///         runtime: deadline_operation::start { length: minutes(input.minutes), when_busy: "already_focusing" },
///     }
///
///     /// Add a note.
///     tool add(Note) -> Added { version: 1, invocation: command, readiness: app_ready, handler: Pomodoro::add }
///
///     /// The user clears the notes.                     (no agent ever sees it)
///     action clear() { handler: Pomodoro::clear, confirm }
/// }
/// ```
///
/// Clauses of `app`:
///
/// | clause | meaning | default |
/// | --- | --- | --- |
/// | `kind: system \| bundled_reference` | where the MiniApp comes from | `bundled_reference` |
/// | `version: "1.2.0"` | its version, for people | the crate's |
/// | `surface "main" { title: "…", required }` | a view, whose document is `surface/main.html` beside `Cargo.toml`; `required`: ready only once it stands | none |
/// | `subscriptions: ["message.text"]` | message types for the inbox | none |
/// | `capabilities: ["…"]` | capabilities that it may ask for | none |
/// | `min_host: 1` | the lowest Host version | `1` |
///
/// Clauses of `tool`:
///
/// | clause | meaning | default |
/// | --- | --- | --- |
/// | `version: 1` | contract version; grows with the meaning (INV-11) | required |
/// | `invocation: query \| command \| interactive \| operation` | the kind of work | required |
/// | `readiness: app_ready \| foreground_required \| activation_not_required` | what must stand first (ACT-2) | required |
/// | `handler: Type::method` | `async fn method(&self, sdk: &Sdk, call: Call<Input>) -> ToolResult<Output>` | this or `runtime` |
/// | `runtime: …` | `deadline_operation::start { length: minutes(input.field), when_busy: "word" }` or `deadline_operation::interrupt` | this or `handler` |
/// | `timeout: 2 h` | running time; `ms`, `s`, `min` or `h`, at most 24 h (CALL-9) | `60 s` |
/// | `risk: low \| medium \| high` | how much harm a call can do | `low` |
/// | `visibility: visible \| hidden` | whether agents see it before policy says so | `visible` |
/// | `permissions: ["…"]` | permissions to be granted first | none |
/// | `host: ["…"]` | Host features that must be there (INV-6) | none |
/// | `cancellable` | the agent may cancel its call (CALL-10) | no |
/// | `closes_instance` | the instance closes after its last call (ACT-7) | no |
/// | `restore_previous_focus` | the previous app gets the foreground back | no |
/// | `operation: { needs_foreground, ends_on_leaving, exclusive: workspace \| conversation }` | OP-3 | none of them |
///
/// Clauses of `action`: `handler: Type::method`
/// (`async fn method(&self, sdk: &Sdk, action: Action<Input>) -> ActionResult`) and `confirm`.
///
/// A MiniApp that does something beside its handlers implements `MiniApp`; there is nothing to declare.
///
/// A flag is written bare or as `flag: true`. `_` in a name becomes `-` in the method: `set_state`
/// is published as `set-state`.
#[proc_macro]
pub fn define_agent_tools(input: TokenStream) -> TokenStream {
    expand::define_agent_tools(input.into()).into()
}

/// serde's `Deserialize`, for crates that depend on the SDK alone. Takes the `#[serde(…)]` attributes.
#[proc_macro_derive(Deserialize, attributes(serde, schemars))]
pub fn deserialize(input: TokenStream) -> TokenStream {
    derive::deserialize(input.into()).into()
}

/// serde's `Serialize`, for crates that depend on the SDK alone. Takes the `#[serde(…)]` attributes.
#[proc_macro_derive(Serialize, attributes(serde, schemars))]
pub fn serialize(input: TokenStream) -> TokenStream {
    derive::serialize(input.into()).into()
}

/// schemars' `JsonSchema`, for crates that depend on the SDK alone. Takes the `#[serde(…)]` and
/// `#[schemars(…)]` attributes.
#[proc_macro_derive(JsonSchema, attributes(serde, schemars))]
pub fn json_schema(input: TokenStream) -> TokenStream {
    derive::json_schema(input.into()).into()
}
