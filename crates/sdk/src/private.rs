//! What the expansion of `define_agent_tools!` is written in. Not for authors; it may change.

use std::{collections::BTreeMap, future::Future, sync::Arc};

use futures_util::future::BoxFuture;
use lineup_model::{ErrorCode, message::Fault, schema::read_checked};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use lineup_model::{
    descriptor::{Exclusive, Invocation, OperationRule, Readiness, Risk, Target, Terminal, Unit, Visibility},
    manifest::Kind,
};
pub use schemars;
pub use serde;

use crate::{
    Action, ActionResult, Bundle, Call, MiniApp, Sdk, SdkError, ToolResult,
    bundle::{AppHooks, Declaration, Defaults, Handlers, Hooks, output_value},
};
pub use crate::{
    bundle::declare::{Action as ActionFacts, App as AppFacts, Performer, Tool as ToolFacts},
    schema::SchemaOf,
};

/// Gathers one MiniApp.
pub struct Builder<A> {
    declaration: Declaration,
    handlers: Handlers<A>,
}

impl<A: Send + Sync + 'static> Builder<A> {
    /// A MiniApp without tools.
    #[must_use]
    pub fn new(app: Arc<A>, hooks: AppHooksOf, facts: AppFacts) -> Self {
        Self {
            declaration: Declaration { app: facts, tools: Vec::new(), actions: Vec::new() },
            handlers: Handlers { app, hooks: hooks.0, calls: BTreeMap::new(), actions: BTreeMap::new() },
        }
    }

    /// A tool that the Runtime executes.
    #[must_use]
    pub fn built_in(mut self, facts: ToolFacts) -> Self {
        self.declaration.tools.push(facts);
        self
    }

    /// A tool with a handler.
    #[must_use]
    pub fn tool<I: 'static, O: 'static>(
        mut self,
        facts: ToolFacts,
        input: InputType<I>,
        output: OutputType<O>,
        handler: impl Fn(Arc<A>, Sdk, Call<I>) -> BoxFuture<'static, ToolResult<O>> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.calls.insert(
            facts.method,
            Box::new(move |app, sdk, mut call| match (input.read)(call.input.take()) {
                Ok(input) => {
                    let run = handler(app, sdk, call.with(input));
                    Box::pin(async move { (output.write)(&run.await?) })
                }
                Err(error) => failed(ErrorCode::ToolInputInvalid, &error),
            }),
        );
        self.declaration.tools.push(facts);
        self
    }

    /// A UI Action.
    #[must_use]
    pub fn action<I: 'static>(
        mut self,
        facts: ActionFacts,
        input: InputType<I>,
        handler: impl Fn(Arc<A>, Sdk, Action<I>) -> BoxFuture<'static, ActionResult> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.actions.insert(
            facts.method,
            Box::new(move |app, sdk, mut action| match (input.read)(action.input.take()) {
                Ok(input) => handler(app, sdk, action.with(input)),
                Err(error) => failed(ErrorCode::UiActionInvalid, &error),
            }),
        );
        self.declaration.actions.push(facts);
        self
    }

    /// The MiniApp.
    #[must_use]
    pub fn build(self) -> Bundle {
        Bundle { declaration: Arc::new(self.declaration), app: Arc::new(self.handlers) }
    }
}

fn failed<T: Send + 'static>(code: ErrorCode, error: &serde_json::Error) -> BoxFuture<'static, Result<T, SdkError>> {
    let fault = Fault::new(code, format!("the input fits its schema but not its type: {error}"));
    Box::pin(std::future::ready(Err(SdkError::from(fault))))
}

/// The hooks of an app.
pub struct AppHooksOf(Box<dyn Hooks>);

/// Finds out whether the author implemented [`MiniApp`]: `(&Probe(&app)).hooks()` is the method of
/// [`Written`] when the bound holds, and that of [`Absent`], one reference further away, when not.
pub struct Probe<'app, A>(pub &'app Arc<A>);

/// See [`Probe`].
pub trait Written {
    /// The hooks that the author wrote.
    fn hooks(&self) -> AppHooksOf;
}

/// See [`Probe`].
pub trait Absent {
    /// The defaults.
    fn hooks(&self) -> AppHooksOf;
}

impl<A: MiniApp> Written for Probe<'_, A> {
    fn hooks(&self) -> AppHooksOf {
        AppHooksOf(Box::new(AppHooks(Arc::clone(self.0))))
    }
}

impl<A> Absent for &Probe<'_, A> {
    fn hooks(&self) -> AppHooksOf {
        AppHooksOf(Box::new(AppHooks(Arc::new(Defaults))))
    }
}

/// What a tool or action can take.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an input: an agent's JSON has to be read into it, and its schema published",
    label = "not readable from JSON, or without a schema",
    note = "write `#[derive(Deserialize, JsonSchema)]` above the type"
)]
pub trait Input: DeserializeOwned + schemars::JsonSchema + Send + 'static {
    #[doc(hidden)]
    fn read(value: Value) -> Result<Self, serde_json::Error>;
}

impl<T: DeserializeOwned + schemars::JsonSchema + Send + 'static> Input for T {
    fn read(value: Value) -> Result<Self, serde_json::Error> {
        read_checked(value)
    }
}

/// What a tool can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an output: it has to be written to JSON, and its schema published",
    label = "not writable to JSON, or without a schema",
    note = "write `#[derive(Serialize, JsonSchema)]` above the type"
)]
pub trait Output: Serialize + schemars::JsonSchema + Send + 'static {}

impl<T: Serialize + schemars::JsonSchema + Send + 'static> Output for T {}

/// An input type as a value. It is made at the type's own place, and nothing after it asks for more:
/// so a type that cannot be an input is one mistake.
pub struct InputType<T> {
    /// Its schema.
    pub schema: SchemaOf,
    read: fn(Value) -> Result<T, serde_json::Error>,
}

/// An output type as a value; see [`InputType`].
pub struct OutputType<T> {
    /// Its schema.
    pub schema: SchemaOf,
    write: fn(&T) -> Result<Value, SdkError>,
}

impl<T> Clone for InputType<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for InputType<T> {}

impl<T> Clone for OutputType<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OutputType<T> {}

/// The input type `T`.
#[must_use]
pub fn input<T: Input>() -> InputType<T> {
    InputType { schema: SchemaOf::type_of::<T>(), read: T::read }
}

/// The output type `T`.
#[must_use]
pub fn output<T: Output>() -> OutputType<T> {
    OutputType { schema: SchemaOf::type_of::<T>(), write: |value| output_value(value) }
}

/// What the handler of a tool with output `O` may return.
#[diagnostic::on_unimplemented(
    message = "the handler returns `{Self}`, but by its declaration it returns `ToolResult<{O}>`",
    label = "this handler's result",
    note = "write `-> ToolResult<{O}>` at the handler, or another `-> …` at the tool; an action's handler returns `ActionResult`"
)]
pub trait Returns<O> {
    #[doc(hidden)]
    fn result(self) -> Result<O, SdkError>;
}

impl<O> Returns<O> for Result<O, SdkError> {
    fn result(self) -> Self {
        self
    }
}

/// What calling a handler gives.
#[diagnostic::on_unimplemented(
    message = "the handler is not an `async fn`",
    label = "this handler returns `{Self}` at once",
    note = "write `async fn` at the handler"
)]
pub trait Asynchronous: Future {}

impl<F: Future> Asynchronous for F {}

/// Asserts that a handler is asynchronous.
pub fn asynchronous<F: Asynchronous>(future: F) -> F {
    future
}

/// Boxes the future of a handler.
pub fn run<O: 'static, F>(future: F) -> BoxFuture<'static, Result<O, SdkError>>
where
    F: Future<Output: Returns<O>> + Send + 'static,
{
    Box::pin(async move { future.await.result() })
}

/// An integer that can hold a length.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a length of time",
    label = "not an integer",
    note = "make the field an integer such as `u32`, with bounds: `#[schemars(range(min = 1, max = 1440))]`"
)]
pub trait WholeNumber {}

macro_rules! whole_numbers {
    ($($name:ty)*) => { $(impl WholeNumber for $name {})* };
}

whole_numbers! { u8 u16 u32 u64 i8 i16 i32 i64 }

/// Asserts at the field's own place that it can hold a length.
pub fn length<T: WholeNumber>(_field: &T) {}
