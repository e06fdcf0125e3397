//! The MiniApps of the world: the two of the product as they are shipped, and two of its own that
//! have everything the contract lets a tool declare.

use std::sync::Arc;

use lineup_model::{
    AppScope, Descriptor, Manifest, Method, ToolId,
    descriptor::{Exclusive, Executor, Invocation, OperationRule, Readiness, Risk, Target, Terminal, Visibility},
    manifest::{Kind, Surface, UiAction},
    schema::Schema,
};
use serde_json::{Value, json};

/// Reads an id that is known to be well formed.
pub(crate) fn id<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().expect("an id of the simulation is well formed")
}

fn schema(value: &Value) -> Schema {
    Schema::parse(value).expect("a schema of the simulation is inside the subset")
}

fn tool(scope: &str, method: &str) -> Descriptor {
    let (scope, method): (AppScope, Method) = (id(scope), id(method));
    Descriptor {
        id: ToolId::of(&scope, &method),
        app_scope: scope,
        method,
        contract_version: 1,
        description: "Does what the simulation asks.".into(),
        input_schema: schema(&json!({
            "type": "object", "additionalProperties": false,
            "properties": { "n": { "type": "integer", "minimum": 0, "maximum": 1000 } },
        })),
        output_schema: schema(&json!({
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

fn handled(tool: Descriptor) -> Descriptor {
    Descriptor { handling: Descriptor::handling_of(tool.invocation, tool.readiness), ..tool }
}

fn action(method: &str) -> UiAction {
    UiAction {
        method: id(method),
        description: "What the user does in the simulation.".into(),
        input_schema: schema(&json!({
            "type": "object", "additionalProperties": false,
            "properties": { "n": { "type": "integer", "minimum": 0, "maximum": 1000 } },
        })),
        confirm: false,
    }
}

fn sealed(scope: &str, mut tools: Vec<Descriptor>, surface: bool, actions: Vec<UiAction>) -> Arc<Manifest> {
    let mut manifest = Manifest::empty(id(scope), "1.0.0", Kind::BundledReference);
    tools.sort_by(|a, b| a.id.cmp(&b.id));
    manifest.tools = tools;
    manifest.ui_actions = actions;
    if surface {
        manifest.surfaces = vec![Surface { id: id("main"), title: scope.into() }];
        manifest.host.surface_required = true;
    }
    Arc::new(manifest.sealed().expect("a manifest of the simulation is consistent"))
}

fn shipped(bytes: &[u8]) -> Arc<Manifest> {
    Arc::new(Manifest::decode(bytes).expect("a shipped manifest is consistent"))
}

/// Pomodoro, as shipped: built-in deadline operations only.
#[must_use]
pub fn pomodoro() -> Arc<Manifest> {
    shipped(include_bytes!("../../../miniapps/pomodoro/manifest.json"))
}

/// Interact, as shipped.
#[must_use]
pub fn interact() -> Arc<Manifest> {
    shipped(include_bytes!("../../../miniapps/interact/manifest.json"))
}

/// A MiniApp without a Surface: commands, one that the agent may cancel, one that closes its
/// instance, and operations in the background.
#[must_use]
pub fn notes() -> Arc<Manifest> {
    let tools = vec![
        tool("notes", "add"),
        Descriptor { terminal: Terminal { agent_may_cancel: true, closes_instance: false }, ..tool("notes", "long") },
        Descriptor { terminal: Terminal { agent_may_cancel: false, closes_instance: true }, ..tool("notes", "once") },
        handled(Descriptor { invocation: Invocation::Operation, ..tool("notes", "export") }),
        handled(Descriptor {
            invocation: Invocation::Operation,
            operation: OperationRule {
                needs_foreground: false,
                ends_on_leaving: false,
                exclusive: Some(Exclusive::Conversation),
            },
            ..tool("notes", "index")
        }),
    ];
    sealed("notes", tools, false, Vec::new())
}

/// A MiniApp with a Surface: it comes to the foreground, and one of its operations holds it there.
#[must_use]
pub fn board() -> Arc<Manifest> {
    let not_started = schema(&json!({
        "type": "object", "additionalProperties": false, "required": ["status"],
        "properties": {
            "status": { "type": "string", "enum": ["done", "not_started"] },
            "reason": { "type": "string", "maxLength": 64 },
        },
    }));
    let tools = vec![
        handled(Descriptor {
            invocation: Invocation::Interactive,
            readiness: Readiness::ForegroundRequired,
            terminal: Terminal { agent_may_cancel: true, closes_instance: true },
            target: Target { restore_previous_focus: true },
            ..tool("board", "open")
        }),
        handled(Descriptor {
            readiness: Readiness::ForegroundRequired,
            output_schema: not_started.clone(),
            ..tool("board", "show")
        }),
        tool("board", "note"),
        handled(Descriptor {
            invocation: Invocation::Operation,
            readiness: Readiness::ForegroundRequired,
            output_schema: not_started,
            timeout_ms: 600_000,
            operation: OperationRule { needs_foreground: true, ends_on_leaving: false, exclusive: None },
            ..tool("board", "draw")
        }),
        handled(Descriptor {
            invocation: Invocation::Operation,
            readiness: Readiness::ForegroundRequired,
            operation: OperationRule {
                needs_foreground: true,
                ends_on_leaving: true,
                exclusive: Some(Exclusive::Workspace),
            },
            ..tool("board", "duel")
        }),
    ];
    sealed("board", tools, true, vec![action("add"), action("wipe")])
}

/// All of them.
#[must_use]
pub fn all() -> Vec<Arc<Manifest>> {
    vec![board(), interact(), notes(), pomodoro()]
}
