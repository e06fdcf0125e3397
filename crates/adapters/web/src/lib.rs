//! The web adapter: the entries of people and their programs, as WebSockets on loopback.
//!
//! | path | who | what crosses |
//! | --- | --- | --- |
//! | `/host` | a Host session (a page, a window, `lineup host attach`) | reports and intents up, views down |
//! | `/user` | the user | UI Actions in the trusted view of Interact |
//! | `/control` | the owner of the workspace | reading, setting up, a manual clock |
//!
//! Each entry has a credential of its own, and no credential opens another's entry (ENT-5). Every
//! frame is decoded strictly before anything is asked of the Runtime; the frames stand in
//! `docs/host.md`. The adapter implements the [`Hosts`] and [`Surfaces`] ports and holds the inbound
//! ones; it deliberately knows no rule of the Runtime's: what a report means is decided elsewhere
//! (ACT-9).
//!
//! To add a frame: a row in the table of its entry's module, an arm in its decoder, a line in
//! `docs/host.md`, and rows in `tests/entries.rs`.
//!
//! ```no_run
//! # async fn serve(entries: lineup_web::Entries) -> Result<(), Box<dyn std::error::Error>> {
//! use lineup_web::{Tokens, WebAdapter};
//!
//! let web = WebAdapter::new(Tokens::new("host-0123456789abcdef", "user-0123456789abcdef", "owner-0123456789abcdef")?);
//! let (hosts, surfaces) = (web.hosts(), web.surfaces()); // for the Runtime's builder
//! web.attach(entries); // the Runtime's handle
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7310").await?;
//! axum::serve(listener, web.router()).await?;
//! # Ok(()) }
//! ```
#![warn(missing_docs)]

mod control;
mod frame;
mod gate;
mod host;
mod page;
mod socket;
mod tokens;
#[cfg(test)]
mod types;
mod user;

use std::sync::{Arc, OnceLock};

use axum::{Router, middleware, routing::get};
use lineup_ports::{
    inbound::{HostIntents, Inspect, SetUp, UiActions},
    outbound::{Hosts, Surfaces},
};

pub use tokens::{TokenError, Tokens};

use host::Sessions;

/// What the Runtime offers to the entries of this adapter.
#[derive(Clone)]
pub struct Entries {
    /// For `/host`.
    pub hosts: Arc<dyn HostIntents>,
    /// For `/user`.
    pub actions: Arc<dyn UiActions>,
    /// For `/control`.
    pub setup: Arc<dyn SetUp>,
    /// For `/control`.
    pub inspect: Arc<dyn Inspect>,
}

/// A clock that moves only when it is told to.
pub trait Advance: Send + Sync {
    /// Moves it forward.
    fn advance(&self, millis: u64);
}

/// The entries of people and their programs. Cheap to clone.
#[derive(Clone)]
pub struct WebAdapter {
    shared: Arc<Shared>,
    clock: Option<Arc<dyn Advance>>,
}

pub(crate) struct Shared {
    tokens: Tokens,
    entries: OnceLock<Entries>,
    sessions: Arc<Sessions>,
}

impl WebAdapter {
    /// An adapter that opens its entries to these credentials. It answers `not_ready` until
    /// [`WebAdapter::attach`].
    #[must_use]
    pub fn new(tokens: Tokens) -> Self {
        let shared = Shared { tokens, entries: OnceLock::new(), sessions: Arc::default() };
        Self { shared: Arc::new(shared), clock: None }
    }

    /// Lets the owner move this clock. Without one, `advance` is refused.
    #[must_use]
    pub fn with_manual_clock(mut self, clock: Arc<dyn Advance>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where requests go from now on. Only the first call has an effect.
    pub fn attach(&self, entries: Entries) {
        let _first_wins = self.shared.entries.set(entries);
    }

    /// The connected Host sessions, as the Runtime tells them what to show.
    #[must_use]
    pub fn hosts(&self) -> Arc<dyn Hosts> {
        self.shared.sessions.clone()
    }

    /// The connected Host sessions, as the Runtime tells them what to mount.
    #[must_use]
    pub fn surfaces(&self) -> Arc<dyn Surfaces> {
        self.shared.sessions.clone()
    }

    /// The routes. Listen on loopback only: the credentials cross in the clear.
    pub fn router(&self) -> Router {
        let entry = |role| middleware::from_fn_with_state((Arc::clone(&self.shared), role), gate::admit);
        Router::new()
            .route("/host", get(host::connect).route_layer(entry(gate::Role::Host)))
            .route("/user", get(user::connect).route_layer(entry(gate::Role::User)))
            .route("/control", get(control::connect).route_layer(entry(gate::Role::Owner)))
            .with_state(self.clone())
    }

    /// Closes every Host session with 1001 (going away). For a clean stop.
    pub fn close(&self) {
        self.shared.sessions.close_all();
    }

    pub(crate) fn sessions(&self) -> &Arc<Sessions> {
        &self.shared.sessions
    }

    pub(crate) fn clock(&self) -> Option<&dyn Advance> {
        self.clock.as_deref()
    }

    /// The Runtime's entries; the gate lets nobody in before they are there.
    pub(crate) fn entries(&self) -> &Entries {
        self.shared.entries.get().expect("the gate answers not_ready before this is set")
    }
}

impl std::fmt::Debug for WebAdapter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebAdapter").field("attached", &self.shared.entries.get().is_some()).finish_non_exhaustive()
    }
}
