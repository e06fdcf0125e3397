//! The Runtime's handle: the inbound ports.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use lineup_core::{
    Answer, Input, Rejected, Seq,
    miniapp::{MiniAppAnswer, MiniAppContext, MiniAppRequest},
    workspace::input::{AgentInput, HostIntentInput, HostReport, MiniAppInput, Setup, UiActionInput},
};
use lineup_model::{
    ErrorCode, WorkspaceId,
    message::{Fault, Refusal},
};
use lineup_ports::{
    inbound::{Agents, HostIntents, Inspect, InspectQuery, MiniAppRequests, SetUp, UiActions},
    outbound::Store,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    actor::{Glance, Told},
    builder::Builder,
    gate, inspect,
};

/// A running workspace. Cheap to clone; all clones speak to the same one.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) workspace: WorkspaceId,
    pub(crate) queue: mpsc::Sender<Told>,
    /// The last place that is durable.
    pub(crate) durable: watch::Receiver<Seq>,
    /// The actor alone owns the store: it is closed when the actor stops.
    pub(crate) store: Weak<dyn Store>,
}

impl Runtime {
    /// Plugs a Runtime together.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Which workspace it runs.
    #[must_use]
    pub fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// Commits what is under way and stops. What comes in afterwards is refused. Handlers are not
    /// waited for: their work is handed over again at the next start (DUR-4).
    pub async fn stop(&self) {
        let (stopped, done) = oneshot::channel();
        if self.queue.send(Told::Stop(stopped)).await.is_ok() {
            let _ = done.await;
        }
    }

    pub(crate) async fn look(&self) -> Result<Glance, Fault> {
        let (who, glance) = oneshot::channel();
        self.queue.send(Told::Look(who)).await.map_err(|_| stopped())?;
        glance.await.map_err(|_| stopped())
    }

    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Fault> {
        self.store.upgrade().ok_or_else(stopped)
    }

    async fn ask(&self, input: Input) -> Result<Answer, Box<Rejected>> {
        let origin = lineup_core::journal::Origin::runtime();
        let gone = |_| Rejected::of(origin.clone(), stopped());
        let (caller, answer) = oneshot::channel();
        self.queue.send(Told::Input(input, Some(caller))).await.map_err(|_| Rejected::of(origin.clone(), stopped()))?;
        answer.await.map_err(gone)?
    }

    async fn granted(&self, input: Input) -> Result<(), Fault> {
        match self.ask(input).await {
            Ok(Answer::Refused(fault)) => Err(fault),
            Ok(Answer::Done | Answer::Call(_) | Answer::MiniApp(_)) => Ok(()),
            Err(rejected) => Err(rejected.fault),
        }
    }
}

fn stopped() -> Fault {
    Fault::new(ErrorCode::StorageUnavailable, "the runtime has stopped; start it again")
}

#[async_trait]
impl Agents for Runtime {
    async fn receive(&self, input: AgentInput) -> Result<Answer, Box<Refusal>> {
        let message = input.message.clone();
        self.ask(Input::Agent(input)).await.map_err(|why| Box::new(gate::refusal(message, *why)))
    }
}

#[async_trait]
impl UiActions for Runtime {
    async fn act(&self, input: UiActionInput) -> Result<(), Fault> {
        self.granted(Input::UiAction(input)).await
    }
}

#[async_trait]
impl HostIntents for Runtime {
    async fn intend(&self, input: HostIntentInput) -> Result<(), Fault> {
        self.granted(Input::HostIntent(input)).await
    }

    async fn report(&self, input: HostReport) -> Result<(), Fault> {
        self.granted(Input::HostReport(input)).await
    }
}

#[async_trait]
impl SetUp for Runtime {
    async fn set_up(&self, setup: Setup) -> Result<(), Fault> {
        self.granted(Input::Setup(setup)).await
    }
}

#[async_trait]
impl MiniAppRequests for Runtime {
    async fn request(&self, from: MiniAppContext, request: MiniAppRequest) -> Result<MiniAppAnswer, Fault> {
        match self.ask(Input::MiniApp(MiniAppInput { from, request })).await {
            Ok(Answer::MiniApp(answer)) => Ok(answer),
            Ok(Answer::Done | Answer::Call(_)) => Ok(MiniAppAnswer::Done),
            Ok(Answer::Refused(fault)) => Err(fault),
            Err(rejected) => Err(rejected.fault),
        }
    }
}

#[async_trait]
impl Inspect for Runtime {
    async fn inspect(&self, query: InspectQuery) -> Result<Value, Fault> {
        inspect::answer(self, query).await
    }
}
