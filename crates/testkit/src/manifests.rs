//! Manifests for tests: a plain tool, and Pomodoro as its author declares it.

use std::sync::Arc;

use lineup_model::{
    AppScope, Descriptor, Manifest, Method, ToolId,
    descriptor::{
        BuiltIn, Exclusive, Executor, Invocation, Length, OperationRule, Readiness, Risk, Target, Terminal, Unit,
        Visibility,
    },
    manifest::{Kind, Surface, UiAction},
    schema::Schema,
};
use serde_json::json;

/// Reads an id of any kind.
///
/// # Panics
/// When it is not well formed.
#[must_use]
pub fn id<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("a test's id is well formed")
}

/// A tool of the test's own, with a handler, in the background.
/// Its input is `{n?: 0..=1000}`, its output `{done: boolean}`.
///
/// # Panics
/// When the scope or method is not a name.
#[must_use]
pub fn tool(scope: &str, method: &str) -> Descriptor {
    let schema = |value| Schema::parse(&value).expect("a test's schema is inside the subset");
    let (scope, method): (AppScope, Method) = (id(scope), id(method));
    Descriptor {
        id: ToolId::of(&scope, &method),
        app_scope: scope,
        method,
        contract_version: 1,
        description: "Does what the test asks.".into(),
        input_schema: schema(json!({
            "type": "object", "additionalProperties": false,
            "properties": { "n": { "type": "integer", "minimum": 0, "maximum": 1000 } },
        })),
        output_schema: schema(json!({
            "type": "object", "additionalProperties": false,
            "properties": { "done": { "type": "boolean" } }, "required": ["done"],
        })),
        invocation: Invocation::Command,
        readiness: Readiness::AppReady,
        executor: Executor::MiniappSdk,
        permissions: Vec::new(),
        risk: Risk::Low,
        visibility: Visibility::Visible,
        timeout_ms: 60_000,
        terminal: Terminal::default(),
        operation: OperationRule::default(),
        target: Target::default(),
        host_requirements: Vec::new(),
        handling: Descriptor::handling_of(Invocation::Command, Readiness::AppReady),
    }
}

/// A MiniApp with these tools, sorted by id.
///
/// # Panics
/// When they do not fit together.
#[must_use]
pub fn manifest(scope: &str, tools: Vec<Descriptor>) -> Arc<Manifest> {
    let mut manifest = Manifest::empty(id(scope), "1.0.0", Kind::BundledReference);
    manifest.tools = tools;
    Arc::new(manifest.sealed().expect("a test's manifest is consistent"))
}

/// Interact with its one UI Action, `send-text` with `{text, echo_id}`.
///
/// # Panics
/// Never: it is consistent.
#[must_use]
pub fn interact() -> Arc<Manifest> {
    let mut manifest = Manifest::empty(id("chat"), "1.0.0", Kind::System);
    manifest.ui_actions = vec![UiAction {
        method: id("send-text"),
        description: "Send a text of the person's to the agents of the conversation.".into(),
        input_schema: Schema::parse(&json!({
            "type": "object", "additionalProperties": false, "required": ["text", "echo_id"],
            "properties": {
                "text": { "type": "string", "minLength": 1, "maxLength": 4000 },
                "echo_id": { "type": "string", "minLength": 1, "maxLength": 64 },
            },
        }))
        .expect("a test's schema is inside the subset"),
        confirm: false,
    }];
    manifest.subscriptions = vec!["message.text".into()];
    Arc::new(manifest.sealed().expect("a test's manifest is consistent"))
}

/// The tools of Pomodoro, as its author declares them.
///
/// # Panics
/// Never: it is consistent.
#[must_use]
pub fn pomodoro() -> Arc<Manifest> {
    let start = Descriptor {
        input_schema: Schema::parse(&json!({
            "type": "object", "additionalProperties": false, "required": ["minutes"],
            "properties": { "minutes": { "type": "integer", "minimum": 0, "maximum": 2000 } },
        }))
        .unwrap(),
        output_schema: deadline_start().output_schema(),
        invocation: Invocation::Operation,
        readiness: Readiness::ForegroundRequired,
        executor: Executor::Runtime { action: deadline_start() },
        operation: OperationRule {
            needs_foreground: true,
            ends_on_leaving: true,
            exclusive: Some(Exclusive::Workspace),
        },
        handling: Descriptor::handling_of(Invocation::Operation, Readiness::ForegroundRequired),
        ..tool("pomodoro", "start")
    };
    let interrupt = Descriptor {
        input_schema: Schema::empty_object(),
        output_schema: BuiltIn::DeadlineInterrupt.output_schema(),
        readiness: Readiness::ActivationNotRequired,
        executor: Executor::Runtime { action: BuiltIn::DeadlineInterrupt },
        handling: Descriptor::handling_of(Invocation::Command, Readiness::ActivationNotRequired),
        ..tool("pomodoro", "interrupt")
    };
    let mut manifest = Manifest::empty(id("pomodoro"), "1.0.0", Kind::BundledReference);
    manifest.tools = vec![interrupt, start];
    manifest.surfaces = vec![Surface { id: id("main"), title: "Pomodoro".into() }];
    manifest.host.surface_required = true;
    Arc::new(manifest.sealed().expect("a test's manifest is consistent"))
}

fn deadline_start() -> BuiltIn {
    BuiltIn::DeadlineStart {
        length: Length { unit: Unit::Minutes, input: "minutes".into() },
        when_busy: "already_focusing".into(),
    }
}
