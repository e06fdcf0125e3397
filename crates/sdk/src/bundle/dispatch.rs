//! From a delivery to the handler, and from its result to the Runtime.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};
use lineup_model::{ErrorCode, message::Fault, schema::omit_nulls};
use lineup_ports::inbound::{InboxMessage, InstanceState, MiniAppRequest, Work};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    Action, Call, MiniApp, Sdk, SdkError,
    error::Origin,
    host::{ActionDelivery, CallDelivery, Delivery},
    request,
};

type CallHandler<A> =
    Box<dyn Fn(Arc<A>, Sdk, Call<Value>) -> BoxFuture<'static, Result<Value, SdkError>> + Send + Sync>;
type ActionHandler<A> =
    Box<dyn Fn(Arc<A>, Sdk, Action<Value>) -> BoxFuture<'static, Result<(), SdkError>> + Send + Sync>;

/// The dispatch table of one MiniApp: method to handler.
pub struct Handlers<A> {
    pub app: Arc<A>,
    pub hooks: Box<dyn Hooks>,
    pub calls: BTreeMap<&'static str, CallHandler<A>>,
    pub actions: BTreeMap<&'static str, ActionHandler<A>>,
}

/// The hooks of one MiniApp, without its type.
pub trait Hooks: Send + Sync {
    fn ready(&self, sdk: Sdk) -> BoxFuture<'static, Result<(), SdkError>>;
    fn message(&self, sdk: Sdk, message: InboxMessage) -> BoxFuture<'static, Result<(), SdkError>>;
    fn lifecycle(&self, sdk: Sdk, state: InstanceState) -> BoxFuture<'static, Result<(), SdkError>>;
}

/// The hooks that an author wrote.
pub struct AppHooks<A>(pub Arc<A>);

/// The hooks of an app without any.
pub struct Defaults;

impl MiniApp for Defaults {}

impl<A: MiniApp> Hooks for AppHooks<A> {
    fn ready(&self, sdk: Sdk) -> BoxFuture<'static, Result<(), SdkError>> {
        let app = Arc::clone(&self.0);
        Box::pin(async move { app.on_ready(&sdk).await })
    }

    fn message(&self, sdk: Sdk, message: InboxMessage) -> BoxFuture<'static, Result<(), SdkError>> {
        let app = Arc::clone(&self.0);
        Box::pin(async move { app.on_message(&sdk, &message).await })
    }

    fn lifecycle(&self, sdk: Sdk, state: InstanceState) -> BoxFuture<'static, Result<(), SdkError>> {
        let app = Arc::clone(&self.0);
        Box::pin(async move { app.on_lifecycle(&sdk, state).await })
    }
}

/// A MiniApp without its type.
pub trait Executable: Send + Sync {
    fn call(&self, method: &str, sdk: Sdk, call: Call<Value>) -> BoxFuture<'static, Result<Value, SdkError>>;
    fn action(&self, method: &str, sdk: Sdk, action: Action<Value>) -> BoxFuture<'static, Result<(), SdkError>>;
    fn hooks(&self) -> &dyn Hooks;
}

impl<A: Send + Sync + 'static> Executable for Handlers<A> {
    fn call(&self, method: &str, sdk: Sdk, call: Call<Value>) -> BoxFuture<'static, Result<Value, SdkError>> {
        match self.calls.get(method) {
            Some(handler) => handler(Arc::clone(&self.app), sdk, call),
            // The Runtime hands over only what the manifest declares with a handler.
            None => refused(ErrorCode::Internal, format!("the MiniApp has no handler for the tool `{method}`")),
        }
    }

    fn action(&self, method: &str, sdk: Sdk, action: Action<Value>) -> BoxFuture<'static, Result<(), SdkError>> {
        match self.actions.get(method) {
            Some(handler) => handler(Arc::clone(&self.app), sdk, action),
            None => refused(ErrorCode::UiActionNotDeclared, format!("the MiniApp has no action `{method}`")),
        }
    }

    fn hooks(&self) -> &dyn Hooks {
        self.hooks.as_ref()
    }
}

pub(super) fn run(app: Arc<dyn Executable>, sdk: &Sdk, delivery: Delivery) -> BoxFuture<'static, Result<(), Fault>> {
    match delivery {
        Delivery::Call(delivery) => {
            let work = Work::Call { call: delivery.call.clone(), generation: delivery.generation };
            Box::pin(run_call(app, sdk.within(Some(work)), delivery))
        }
        Delivery::Action(delivery) => {
            let work = Work::Action { action: delivery.action.clone(), generation: delivery.generation };
            Box::pin(run_action(app, sdk.within(Some(work)), delivery))
        }
        Delivery::Ready => hook(sdk, move |sdk| app.hooks().ready(sdk)),
        Delivery::Inbox => Box::pin(run_inbox(app, sdk.within(None))),
        Delivery::Lifecycle(state) => hook(sdk, move |sdk| app.hooks().lifecycle(sdk, state)),
    }
}

async fn run_call(app: Arc<dyn Executable>, sdk: Sdk, delivery: CallDelivery) -> Result<(), Fault> {
    let CallDelivery { call: key, method, input, generation, attempt, canceller } = delivery;
    let generation_of_end = Some(generation);
    let call = Call { input, key: key.clone(), generation, attempt, token: canceller.token(), sdk: sdk.clone() };
    let handler_sdk = sdk.clone();
    let result = guarded(move || app.call(method.as_str(), handler_sdk, call)).await;
    let end = match result {
        Ok(output) => MiniAppRequest::Complete { call: key, generation: generation_of_end, output },
        Err(error) if error.is_transient() => return Err(refusal(error)),
        Err(error) if error.origin() == Origin::Cancelled => {
            MiniAppRequest::Cancel { call: key, generation: generation_of_end, reason: error.reason }
        }
        Err(error) => MiniAppRequest::Fail { call: key, generation: generation_of_end, fault: error.into_fault() },
    };
    sdk.ask(end, request::done).await.map_err(refusal)
}

async fn run_action(app: Arc<dyn Executable>, sdk: Sdk, delivery: ActionDelivery) -> Result<(), Fault> {
    let ActionDelivery { action: id, method, input, generation, attempt, canceller } = delivery;
    let action = Action { input, id: id.clone(), attempt, token: canceller.token() };
    let handler_sdk = sdk.clone();
    let fault = match guarded(move || app.action(method.as_str(), handler_sdk, action)).await {
        Ok(()) => None,
        Err(error) if error.is_transient() => return Err(refusal(error)),
        Err(error) => Some(error.into_fault()),
    };
    sdk.ask(MiniAppRequest::ActionDone { action: id, generation, fault }, request::done).await.map_err(refusal)
}

/// Hands over every message that waits, in order, each acknowledged before the next.
async fn run_inbox(app: Arc<dyn Executable>, sdk: Sdk) -> Result<(), Fault> {
    let mut after = 0;
    loop {
        let messages = sdk.inbox().list(after).await.map_err(refusal)?;
        let Some(last) = messages.last() else {
            return Ok(());
        };
        after = last.position;
        for message in messages {
            let id = message.id.clone();
            let (app, handler_sdk) = (Arc::clone(&app), sdk.clone());
            guarded(move || app.hooks().message(handler_sdk, message)).await.map_err(SdkError::into_fault)?;
            sdk.inbox().acknowledge(id).await.map_err(refusal)?;
        }
    }
}

fn hook(
    sdk: &Sdk,
    run: impl FnOnce(Sdk) -> BoxFuture<'static, Result<(), SdkError>> + Send + 'static,
) -> BoxFuture<'static, Result<(), Fault>> {
    let sdk = sdk.within(None);
    Box::pin(async move { guarded(move || run(sdk)).await.map_err(SdkError::into_fault) })
}

/// Runs a handler; a panic in it is a failure of its own and leaves the MiniApp standing.
async fn guarded<T>(start: impl FnOnce() -> BoxFuture<'static, Result<T, SdkError>> + Send) -> Result<T, SdkError> {
    // What a handler shares with others it shares through the Runtime, so nothing half-changed is seen.
    let run = AssertUnwindSafe(async move { start().await });
    run.catch_unwind().await.unwrap_or_else(|_| Err(SdkError::failed("handler_panicked", "the handler panicked")))
}

/// A refusal of the Runtime's as it came, for the adapter.
fn refusal(error: SdkError) -> Fault {
    Fault { code: error.code, reason: error.reason, message: error.message, pointer: None }
}

fn refused<T: Send + 'static>(code: ErrorCode, message: String) -> BoxFuture<'static, Result<T, SdkError>> {
    Box::pin(std::future::ready(Err(SdkError::from(Fault::new(code, message)))))
}

/// A result as JSON: `None` is left out (INV-5), nothing at all is an empty object.
pub(crate) fn output_value(output: &impl Serialize) -> Result<Value, SdkError> {
    let mut value = serde_json::to_value(output)
        .map_err(|error| SdkError::failed("output_unwritable", format!("the value has no JSON: {error}")))?;
    omit_nulls(&mut value);
    Ok(if value.is_null() { Value::Object(Map::new()) } else { value })
}
