//! From what the macro wrote down to a manifest.
#![expect(missing_docs, reason = "the fields are the clauses, which the macro documents")]

use lineup_model::{
    AppScope, Descriptor, Manifest, Method, ToolId,
    descriptor::{
        BuiltIn, Executor, Invocation, Length, OperationRule, Readiness, Risk, Target, Terminal, Unit, Visibility,
    },
    limits,
    manifest::{HostNeeds, Kind, ManifestFault, Surface, UiAction},
    schema::Schema,
};
use serde_json::Value;

use crate::schema::SchemaOf;

/// A part of a declaration that cannot go into a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Unfit {
    /// The part: the app, or a tool or action with the type concerned, such as
    /// "tool `start`, input type `Start`".
    pub place: String,
    /// What is wrong and how to mend it.
    pub message: String,
}

/// What the macro wrote down about a MiniApp.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub app: App,
    pub tools: Vec<Tool>,
    pub actions: Vec<Action>,
}

/// The facts of the `app` line.
#[derive(Clone, Copy, Debug)]
pub struct App {
    pub scope: &'static str,
    pub version: &'static str,
    pub kind: Kind,
    pub min_host: u32,
    pub surface_required: bool,
    pub surfaces: &'static [(&'static str, &'static str)],
    /// The documents of its Surfaces, by their ids.
    pub documents: &'static [(&'static str, &'static str)],
    pub subscriptions: &'static [&'static str],
    pub capabilities: &'static [&'static str],
    /// The text of `manifest.json` when the crate was compiled.
    pub committed: Option<&'static str>,
}

/// The facts of one `tool`.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    pub method: &'static str,
    pub version: u32,
    pub description: &'static str,
    pub input: SchemaOf,
    pub result: Performer,
    pub invocation: Invocation,
    pub readiness: Readiness,
    pub permissions: &'static [&'static str],
    pub risk: Risk,
    pub visibility: Visibility,
    pub timeout_ms: u64,
    pub terminal: Terminal,
    pub operation: OperationRule,
    pub target: Target,
    pub host: &'static [&'static str],
}

/// Who does the work of a tool, and where its output schema comes from.
#[derive(Clone, Copy, Debug)]
pub enum Performer {
    /// A handler; the type that it returns.
    Handler(SchemaOf),
    /// `runtime: deadline_operation::start`.
    DeadlineStart { unit: Unit, field: &'static str, when_busy: &'static str },
    /// `runtime: deadline_operation::interrupt`.
    DeadlineInterrupt,
}

/// The facts of one `action`.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    pub method: &'static str,
    pub description: &'static str,
    pub input: SchemaOf,
    pub confirm: bool,
}

impl Declaration {
    pub fn manifest(&self) -> Result<Manifest, Vec<Unfit>> {
        let mut unfit = Vec::new();
        let app = &self.app;
        let scope = keep(AppScope::new(app.scope), "the app's scope", &mut unfit);
        let Some(scope) = scope else {
            return Err(unfit);
        };
        let mut manifest = Manifest::empty(scope.clone(), app.version, app.kind);
        manifest.tools = self.tools.iter().filter_map(|tool| tool.descriptor(&scope, &mut unfit)).collect();
        manifest.ui_actions = self.actions.iter().filter_map(|action| action.declare(&mut unfit)).collect();
        for (id, title) in app.surfaces {
            if let Some(id) = keep(Method::new(id), &format!("surface `{id}`"), &mut unfit) {
                manifest.surfaces.push(Surface { id, title: (*title).to_owned() });
            }
        }
        manifest.subscriptions = owned(app.subscriptions);
        manifest.requested_capabilities = owned(app.capabilities);
        manifest.host = HostNeeds { min_version: app.min_host, surface_required: app.surface_required };
        if !unfit.is_empty() {
            return Err(unfit);
        }
        let at_pointer =
            |fault: ManifestFault| Unfit { place: format!("manifest, at `{}`", fault.pointer), message: fault.message };
        manifest.sealed().map_err(|faults| faults.into_iter().map(at_pointer).collect())
    }
}

impl Tool {
    fn descriptor(&self, scope: &AppScope, unfit: &mut Vec<Unfit>) -> Option<Descriptor> {
        let name = format!("tool `{}`", self.method);
        let method = keep(Method::new(self.method), &name, unfit);
        let input_schema = self.input.read(&name, "input", unfit);
        let (executor, output_schema) = match self.result {
            Performer::Handler(output) => (Executor::MiniappSdk, output.read(&name, "output", unfit)),
            Performer::DeadlineStart { unit, field, when_busy } => {
                let length = Length { unit, input: field.to_owned() };
                if let Some(schema) = &input_schema {
                    check_length(&length, schema, &format!("{name}, input type `{}`", self.input.type_name()), unfit);
                }
                built_in(BuiltIn::DeadlineStart { length, when_busy: when_busy.to_owned() })
            }
            Performer::DeadlineInterrupt => built_in(BuiltIn::DeadlineInterrupt),
        };
        let (method, input_schema, output_schema) = (method?, input_schema?, output_schema?);
        Some(Descriptor {
            id: ToolId::of(scope, &method),
            app_scope: scope.clone(),
            method,
            contract_version: self.version,
            description: self.description.to_owned(),
            input_schema,
            output_schema,
            invocation: self.invocation,
            readiness: self.readiness,
            executor,
            permissions: owned(self.permissions),
            risk: self.risk,
            visibility: self.visibility,
            timeout_ms: self.timeout_ms,
            terminal: self.terminal,
            operation: self.operation,
            target: self.target,
            host_requirements: owned(self.host),
            handling: Descriptor::handling_of(self.invocation, self.readiness),
        })
    }
}

impl Action {
    fn declare(&self, unfit: &mut Vec<Unfit>) -> Option<UiAction> {
        let name = format!("action `{}`", self.method);
        let method = keep(Method::new(self.method), &name, unfit);
        let input_schema = self.input.read(&name, "input", unfit);
        Some(UiAction {
            method: method?,
            description: self.description.to_owned(),
            input_schema: input_schema?,
            confirm: self.confirm,
        })
    }
}

fn built_in(action: BuiltIn) -> (Executor, Option<Schema>) {
    let output = action.output_schema();
    (Executor::Runtime { action }, Some(output))
}

/// The field that a deadline's length is taken from must always hold a length that can be kept.
fn check_length(length: &Length, input: &Schema, place: &str, unfit: &mut Vec<Unfit>) {
    let Length { unit, input: field } = length;
    let most = limits::DEADLINE_MS / unit.millis();
    let mut refuse = |message: String| unfit.push(Unfit { place: place.to_owned(), message });
    let Some(property) = input.property(field) else {
        return refuse(format!(
            "`{field}` holds the length of the operation, but the type is written to JSON without it: a length field \
             is not renamed or skipped"
        ));
    };
    if !input.requires(field) {
        refuse(format!("`{field}` holds the length of the operation: it cannot be an `Option` or have a default"));
    }
    let bound = |name: &str| property.get(name).and_then(Value::as_f64);
    let (low, high) = (bound("minimum"), bound("maximum"));
    #[expect(clippy::cast_precision_loss, reason = "24 h in any unit is far below 2^53")]
    let fits = low.is_some_and(|low| low >= 1.0) && high.is_some_and(|high| high <= most as f64);
    if !fits {
        refuse(format!(
            "`{field}` holds the length of the operation: it needs bounds inside 1 and {most} (24 h). \
             Write `#[schemars(range(min = 1, max = {most}))]` above it"
        ));
    }
}

fn keep<T>(id: Result<T, lineup_model::IdError>, place: &str, unfit: &mut Vec<Unfit>) -> Option<T> {
    id.map_err(|error| unfit.push(Unfit { place: place.to_owned(), message: error.to_string() })).ok()
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
