//! The agent's side of LineUp: join a conversation, see its tools, call one, follow the call.
//!
//! An [`Agent`] is a remote Agent's only way to a Runtime (AGT-1). It keeps one connection to the
//! relay, adopts inventories, sends each request until it is answered, always under the same message
//! id and with the same bytes, and hands receipts, outcomes and refusals to whoever waits for them
//! (CALL-7). Every call ends with exactly one [`Event::Outcome`] or [`Event::Refused`], however often
//! the relay and the Runtime say it.
//!
//! Several programs, or several [`Agent`]s of one program, may be the same agent at once. Each hears
//! everything that is said to the agent: inventories are adopted, receipts and outcomes of calls that
//! it does not follow go to its subscriber ([`Message::Call`]). That is also how a program finds the
//! calls that it made before it was restarted.
//!
//! It deliberately decides nothing: which tool to call, and what to do about a refusal, is the
//! agent's business. To add a request, add it to `lineup_wire::RequestBody`, then a method here and
//! a line in `state.rs` that says when it is answered.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use lineup_agent::{Agent, Event};
//! use lineup_model::ConversationId;
//! use serde_json::json;
//!
//! let agent = Agent::connect("ws://127.0.0.1:7777/relay", "the agent's token").await?;
//! let conversation = ConversationId::new("demo")?;
//! let mut call = agent.invoke(&conversation, "pomodoro.start", json!({ "minutes": 20 })).await?;
//! while let Some(event) = call.next().await {
//!     match event {
//!         Event::Receipt(receipt) => println!("{:?}", receipt.stage),
//!         Event::Outcome(outcome) => println!("{:?}", outcome.end), // exactly one
//!         Event::Refused(refusal) => println!("{}", refusal.error.code),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod call;
mod error;
mod incoming;
mod state;
mod task;

use std::sync::Arc;

use lineup_link::Link;
use lineup_model::{
    AgentId, CallId, ConversationId, ErrorCode, Inventory, MessageId, Revision, ToolId, Wall, message::Fault,
};
use lineup_wire::{Invoke, Request, RequestBody, decode_request, encode_request};
use serde_json::Value;
use tokio::{sync::watch, task::AbortHandle};

pub use call::{Call, Event};
pub use error::AgentError;
pub use incoming::{Incoming, Message};
// What an agent's program names: it needs no other crate of this repository.
pub use lineup_link::Options;
pub use lineup_model as model;
pub use state::Counters;

use call::Track;
use state::{Answer, Pending, State, Waiting};

/// Requests that may wait for an answer at the same time.
pub const MAX_OPEN_REQUESTS: usize = 10_000;

/// A connected agent. Clones share the connection, which ends when the last of them and of their
/// [`Call`]s is dropped.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
    identity: AgentId,
    _alive: Arc<Alive>,
}

struct Inner {
    link: Link,
    state: State,
    connection: watch::Sender<Connection>,
}

/// Ends the task when the last handle is dropped.
struct Alive(AbortHandle);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// How the connection stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Connection {
    /// Not yet, or not any more; it is being tried.
    Down,
    /// The relay is reachable.
    Up,
    /// It can never stand again.
    Ended(AgentError),
}

/// What a call may carry beside its tool and input.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// The call's id; a fresh one if absent. The same id with the same content is the same call
    /// (CALL-3).
    pub call_id: Option<CallId>,
    /// The inventory that the tool was chosen from; the adopted one if absent (INV-8).
    pub revision: Option<Revision>,
    /// When the call is of no more use, on the wall clock (CALL-9).
    pub expires_at: Option<Wall>,
}

impl Agent {
    /// Connects to the relay at `url`, such as `ws://127.0.0.1:7777/relay`, and waits until the
    /// connection stands. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When no later attempt can do better: the token is not one of an agent's, the address is none.
    pub async fn connect(url: impl Into<String>, token: impl Into<String>) -> Result<Self, AgentError> {
        Self::connect_with(Options::new(url, token)).await
    }

    /// As [`Agent::connect`], with pauses of one's own.
    ///
    /// # Errors
    /// As [`Agent::connect`].
    pub async fn connect_with(options: Options) -> Result<Self, AgentError> {
        Self::over(options, State::default()).await
    }

    /// As [`Agent::connect_with`], with a subscriber that hears also what was kept for the agent while
    /// it was away: that comes at once. See [`Agent::incoming`].
    ///
    /// # Errors
    /// As [`Agent::connect`].
    pub async fn connect_listening(options: Options) -> Result<(Self, Incoming), AgentError> {
        let state = State::default();
        let incoming = state.subscribe();
        Ok((Self::over(options, state).await?, incoming))
    }

    async fn over(options: Options, state: State) -> Result<Self, AgentError> {
        let connection = watch::Sender::new(Connection::Down);
        let inner = Arc::new(Inner { link: Link::open(options), state, connection });
        let (identity, welcomed) = tokio::sync::oneshot::channel();
        let alive = Arc::new(Alive(tokio::spawn(task::run(Arc::clone(&inner), identity)).abort_handle()));
        match welcomed.await {
            Ok(identity) => Ok(Self { inner, identity, _alive: alive }),
            Err(_) => Err(inner.ended()),
        }
    }

    /// Who this agent is, as the relay says.
    #[must_use]
    pub const fn identity(&self) -> &AgentId {
        &self.identity
    }

    /// How the connection stands, now and when it changes.
    #[must_use]
    pub fn connection(&self) -> watch::Receiver<Connection> {
        self.inner.connection.subscribe()
    }

    /// Joins a conversation and returns its tools. It is joined again after each reconnect.
    ///
    /// # Errors
    /// When the Runtime refuses, or the connection has ended.
    pub async fn hello(&self, conversation: &ConversationId) -> Result<Arc<Inventory>, AgentError> {
        self.inner.state.join(conversation);
        match self.ask(conversation, RequestBody::Hello, |answer| Waiting::Hello(Some(answer))).await? {
            Answer::Done => self.inventory(conversation).ok_or_else(|| self.inner.ended()),
            Answer::Refused(refusal) => Err(AgentError::Refused(refusal)),
        }
    }

    /// The tools of a conversation, as far as this agent has heard of them (INV-7).
    #[must_use]
    pub fn inventory(&self, conversation: &ConversationId) -> Option<Arc<Inventory>> {
        self.inner.state.inventory(conversation)
    }

    /// Calls a tool of the adopted inventory; joins the conversation first if there is none yet.
    ///
    /// # Errors
    /// When the request cannot be written, or the connection has ended. What the Runtime refuses is
    /// an [`Event::Refused`] of the call.
    pub async fn invoke(&self, conversation: &ConversationId, tool: &str, input: Value) -> Result<Call, AgentError> {
        self.invoke_with(conversation, tool, input, CallOptions::default()).await
    }

    /// As [`Agent::invoke`], with an id, a revision or an expiry of one's own.
    ///
    /// # Errors
    /// As [`Agent::invoke`].
    pub async fn invoke_with(
        &self,
        conversation: &ConversationId,
        tool: &str,
        input: Value,
        options: CallOptions,
    ) -> Result<Call, AgentError> {
        let tool = ToolId::new(tool)
            .map_err(|error| AgentError::Malformed(Fault::new(ErrorCode::ToolNotAdvertised, error.to_string())))?;
        let Value::Object(input) = input else {
            let message = "a tool's input is a JSON object";
            return Err(AgentError::Malformed(Fault::new(ErrorCode::ToolInputInvalid, message)));
        };
        let inventory_revision = match options.revision {
            Some(revision) => revision,
            None => match self.inventory(conversation) {
                Some(inventory) => inventory.revision.clone(),
                None => self.hello(conversation).await?.revision.clone(),
            },
        };
        let call_id = options.call_id.unwrap_or_else(fresh);
        let invoke =
            Invoke { call_id: call_id.clone(), tool, input, inventory_revision, expires_at: options.expires_at };
        self.follow(conversation, call_id, RequestBody::Invoke(invoke)).await
    }

    /// Asks where a call stands, and follows it from there: the way back to a call after a restart
    /// of the agent. A call that the Runtime does not know is an [`Event::Refused`].
    ///
    /// # Errors
    /// When the connection has ended.
    pub async fn status(&self, conversation: &ConversationId, call_id: &CallId) -> Result<Call, AgentError> {
        let body = RequestBody::Status { call_id: call_id.clone() };
        self.follow(conversation, call_id.clone(), body).await
    }

    /// Asks the Runtime to end a call (CALL-10), and waits until the call is over, whichever way.
    ///
    /// # Errors
    /// [`AgentError::Refused`] when the call goes on, for example with `call_not_cancellable`.
    pub async fn cancel(&self, conversation: &ConversationId, call_id: &CallId) -> Result<(), AgentError> {
        let body = RequestBody::Cancel { call_id: call_id.clone() };
        let about = call_id.clone();
        match self.ask(conversation, body, |answer| Waiting::Cancel(about, answer)).await? {
            Answer::Done => Ok(()),
            Answer::Refused(refusal) => Err(AgentError::Refused(refusal)),
        }
    }

    /// Says something in a conversation, and waits until the relay has it safe.
    ///
    /// # Errors
    /// When the text cannot be written, or the connection has ended. A later refusal of the
    /// Runtime's is a [`Message::Refused`].
    pub async fn send_text(&self, conversation: &ConversationId, text: impl Into<String>) -> Result<(), AgentError> {
        self.send_text_as(conversation, fresh(), text).await
    }

    /// As [`Agent::send_text`], under an id of one's own: the Runtime takes the texts of one agent in by
    /// their ids, so one that is said again under its id, also by another connection of the same
    /// agent, is said once.
    ///
    /// # Errors
    /// As [`Agent::send_text`], and [`AgentError::IdInUse`] while a request of this id waits.
    pub async fn send_text_as(
        &self,
        conversation: &ConversationId,
        id: MessageId,
        text: impl Into<String>,
    ) -> Result<(), AgentError> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let body = RequestBody::Text { text: text.into() };
        self.send_as(id, conversation, body, Waiting::Relay(answer)).await?;
        self.answer(answered).await.and_then(|answer| match answer {
            Answer::Done => Ok(()),
            Answer::Refused(refusal) => Err(AgentError::Refused(refusal)),
        })
    }

    /// Everything that comes in and belongs to no request of this handle's: texts, inventories, what
    /// happens to calls that it does not follow, late refusals, and refusals of what another connection
    /// of the same agent asked. The newest subscriber gets them; without one they are acknowledged and
    /// forgotten. One that does not read holds up everything else, also its calls: read it or drop it.
    #[must_use]
    pub fn incoming(&self) -> Incoming {
        self.inner.state.subscribe()
    }

    /// What was ignored since the agent was connected.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.inner.state.counters()
    }

    async fn follow(
        &self,
        conversation: &ConversationId,
        call_id: CallId,
        body: RequestBody,
    ) -> Result<Call, AgentError> {
        let track = Arc::new(Track::default());
        let waiting = match body {
            RequestBody::Status { .. } => Waiting::Status(call_id.clone(), Arc::clone(&track)),
            _ => Waiting::Call(call_id.clone(), Arc::clone(&track)),
        };
        // The handle stops following when it is dropped, also when sending fails.
        let call = Call::new(self.clone(), conversation.clone(), call_id, track);
        self.send(conversation, body, waiting).await?;
        Ok(call)
    }

    async fn ask(
        &self,
        conversation: &ConversationId,
        body: RequestBody,
        waiting: impl FnOnce(state::AnswerTo) -> Waiting,
    ) -> Result<Answer, AgentError> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        self.send(conversation, body, waiting(answer)).await?;
        self.answer(answered).await
    }

    async fn answer(&self, answered: tokio::sync::oneshot::Receiver<Answer>) -> Result<Answer, AgentError> {
        answered.await.map_err(|_| self.inner.ended())
    }

    async fn send(&self, conversation: &ConversationId, body: RequestBody, waiting: Waiting) -> Result<(), AgentError> {
        self.send_as(fresh(), conversation, body, waiting).await
    }

    async fn send_as(
        &self,
        id: MessageId,
        conversation: &ConversationId,
        body: RequestBody,
        waiting: Waiting,
    ) -> Result<(), AgentError> {
        let bytes = encode_request(&Request { id: id.clone(), conversation: conversation.clone(), body });
        // The codec that the Runtime uses has the last word on what may be sent.
        decode_request(&bytes).map_err(|malformed| AgentError::Malformed(malformed.fault))?;
        let pending = Pending { conversation: conversation.clone(), bytes, waiting };
        let (connection, message) = self.inner.state.open(id, pending)?;
        // Without a connection this is dropped here, and sent once there is one.
        self.inner.link.send(connection, vec![message]).await.map_err(AgentError::Link)
    }
}

impl Inner {
    fn ended(&self) -> AgentError {
        match &*self.connection.borrow() {
            Connection::Ended(error) => error.clone(),
            Connection::Up | Connection::Down => AgentError::Link(lineup_link::LinkError::Closed),
        }
    }
}

/// A fresh id that sorts by time.
fn fresh<T: std::str::FromStr<Err: std::fmt::Debug>>() -> T {
    ulid::Ulid::generate().to_string().parse().expect("a ULID is 26 characters of 0-9 A-Z")
}
