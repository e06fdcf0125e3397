//! The web adapter: the entries of people and their programs, as WebSockets on loopback, and the
//! page that uses them.
//!
//! | path | who | what crosses |
//! | --- | --- | --- |
//! | `/host` | a Host session (a page, a window, `lineup host attach`) | reports and intents up, views down |
//! | `/user` | the user | UI Actions in the trusted view of Interact |
//! | `/page` | the page | what people read: conversations, history |
//! | `/control` | the owner of the workspace | reading, setting up, a manual clock |
//! | `/`, `/enter`, `/surfaces` | a browser | the page's documents, and its way in |
//!
//! Each entry has a credential of its own, and no credential opens another's entry (ENT-5); the
//! page's is a cookie, which opens what a page needs and only from this server's own origin. Every
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
//! let web = WebAdapter::new(Tokens::new("host-0123456789abcdef", "user-0123456789abcdef", "owner-0123456789abcdef", "page-0123456789abcdef")?);
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
mod site;
mod socket;
mod tokens;
#[cfg(test)]
mod types;
mod user;

use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{Router, http::HeaderValue, middleware, routing::get};
use lineup_model::AgentId;
use lineup_ports::{
    inbound::{Conversations, HostIntents, Inspect, SetUp, UiActions},
    outbound::{Hosts, Surfaces},
};
use tokio::sync::watch;

pub use site::SurfaceFile;
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
    /// For `/page`.
    pub conversations: Arc<dyn Conversations>,
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
    presence: Option<watch::Receiver<BTreeSet<AgentId>>>,
    files: Arc<site::Surfaces>,
    page_policy: HeaderValue,
    link_command: Arc<str>,
}

/// A way in for a browser, good once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What comes after the server's address.
    pub path: String,
    /// How long it is good for.
    pub good_for: Duration,
}

pub(crate) struct Shared {
    tokens: Tokens,
    entries: OnceLock<Entries>,
    sessions: Arc<Sessions>,
    keys: site::Keys,
    pages: page::Pages,
}

impl WebAdapter {
    /// An adapter that opens its entries to these credentials. It answers `not_ready` until
    /// [`WebAdapter::attach`].
    #[must_use]
    pub fn new(tokens: Tokens) -> Self {
        let shared = Shared {
            tokens,
            entries: OnceLock::new(),
            sessions: Arc::default(),
            keys: site::Keys::default(),
            pages: page::Pages::default(),
        };
        let files = Arc::<site::Surfaces>::default();
        Self {
            shared: Arc::new(shared),
            clock: None,
            presence: None,
            page_policy: site::page_policy(&files),
            files,
            link_command: "lineup link".into(),
        }
    }

    /// Lets the owner move this clock. Without one, `advance` is refused.
    #[must_use]
    pub fn with_manual_clock(mut self, clock: Arc<dyn Advance>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Tells the page which agents are connected. Without it, none is shown as connected.
    #[must_use]
    pub fn with_presence(mut self, connected: watch::Receiver<BTreeSet<AgentId>>) -> Self {
        self.presence = Some(connected);
        self
    }

    /// The documents of the Surfaces, which the page puts into frames.
    #[must_use]
    pub fn with_surface_files(mut self, files: impl IntoIterator<Item = SurfaceFile>) -> Self {
        self.files = Arc::new(site::Surfaces::new(files));
        self.page_policy = site::page_policy(&self.files);
        self
    }

    /// The command that a person is told to run for a new link.
    #[must_use]
    pub fn with_link_command(mut self, command: &str) -> Self {
        self.link_command = command.into();
        self
    }

    /// A new way in for a browser.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn link(&self) -> io::Result<Link> {
        let key = self.shared.keys.give()?;
        Ok(Link { path: format!("{}?key={key}", site::ENTER), good_for: site::GOOD_FOR })
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
            .route("/page", get(page::connect).route_layer(entry(gate::Role::Page)))
            .route("/control", get(control::connect).route_layer(entry(gate::Role::Owner)))
            .merge(site::routes(self))
            .with_state(self.clone())
    }

    /// Closes every Host session and page with 1001 (going away). For a clean stop.
    pub fn close(&self) {
        self.shared.sessions.close_all();
        self.shared.pages.close_all();
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn presence(&self) -> Option<watch::Receiver<BTreeSet<AgentId>>> {
        self.presence.clone()
    }

    pub(crate) fn files(&self) -> &site::Surfaces {
        &self.files
    }

    pub(crate) const fn page_policy(&self) -> &HeaderValue {
        &self.page_policy
    }

    pub(crate) fn link_command(&self) -> &str {
        &self.link_command
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
