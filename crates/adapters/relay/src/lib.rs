//! AppServer's relay: carries envelopes between the Runtime and its agents, and keeps what nobody
//! has acknowledged (WIRE-4).
//!
//! A sender is acknowledged when the envelope is safe: its receiver has acknowledged it, or it lies
//! on the relay's own disk. A connected receiver is tried first; what it has not acknowledged after
//! 20 ms, or what has no connected receiver, is written in a batch. Envelopes of one sender to one
//! recipient arrive in the order in which they were sent; after a reconnect everything that is not
//! acknowledged comes again, in order. The relay never reads a payload and never deduplicates.
//! `docs/wire.md` describes the frames.
//!
//! Who a client is follows from its token alone ([`Credentials`]). A second connection of the Runtime
//! replaces the first. An agent may have several: each gets everything for the agent, and one
//! acknowledgement of one of them is enough.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use axum::serve::ListenerExt as _;
//!
//! let relay = lineup_relay::Relay::open("data".as_ref()).await?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7777").await?;
//! // Frames are small and wait for each other: without this a call takes 40 ms longer.
//! let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
//! axum::serve(listener, relay.router()).await?;
//! # Ok(())
//! # }
//! ```
#![warn(missing_docs)]

mod config;
mod connection;
mod credentials;
mod disk;
mod hub;
mod line;
mod stats;
mod tasks;

use std::{
    collections::BTreeSet,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    extract::{State, WebSocketUpgrade},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse as _, Response},
    routing::get,
};
use lineup_model::AgentId;
use lineup_wire::relay::{FRAME_BYTES, Party};
use tokio::{sync::watch, task::JoinHandle};

pub use config::Config;
pub use credentials::{Credentials, CredentialsError, FILE as CREDENTIALS_FILE, Role, Token};
pub use stats::{PartyStats, Stats};

use hub::{Hub, SharedHub};

/// The path of the WebSocket, below wherever the host nests the router.
pub const PATH: &str = "/relay";

/// A running relay. Dropping it stops it at once, as a crash would; nothing acknowledged is lost.
pub struct Relay {
    shared: Arc<Shared>,
    reader: JoinHandle<()>,
    writer: Option<JoinHandle<()>>,
    _lock: File,
}

/// Reads what a relay has counted, also after that has closed.
#[derive(Clone)]
pub struct Counts(SharedHub);

impl Counts {
    /// What was counted since the relay was opened.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }
}

struct Shared {
    hub: SharedHub,
    credentials: Mutex<Credentials>,
}

/// Why a relay cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory or the lock file cannot be used.
    #[error("{path} cannot be used")]
    Io {
        /// What.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Another process has opened this relay.
    #[error("{path} is in use by another process")]
    InUse {
        /// The lock file.
        path: PathBuf,
    },
    /// The credentials cannot be used.
    #[error("the relay's credentials cannot be used")]
    Credentials(#[from] CredentialsError),
    /// The disk cannot be used.
    #[error("the relay's disk cannot be used")]
    Disk(#[from] sqlx::Error),
}

impl Relay {
    /// Opens the relay of a data directory: `relay.sqlite`, `relay.lock` and the credentials file.
    /// What an earlier relay left unacknowledged is delivered.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(dir: &Path) -> Result<Self, OpenError> {
        Self::open_with(dir, Config::default()).await
    }

    /// As [`Relay::open`], with limits of one's own.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open_with(dir: &Path, config: Config) -> Result<Self, OpenError> {
        let credentials = Credentials::load_or_create(dir)?;
        let lock = lock(dir.join("relay.lock"))?;
        let (writer, reader, last_seq) = disk::open(&dir.join("relay.sqlite")).await?;
        let hub = Arc::new(Hub::new(config, last_seq));
        hub.set_known(known(&credentials));
        Ok(Self {
            reader: tokio::spawn(tasks::read(Arc::clone(&hub), reader)),
            writer: Some(tokio::spawn(tasks::write(Arc::clone(&hub), writer))),
            shared: Arc::new(Shared { hub, credentials: Mutex::new(credentials) }),
            _lock: lock,
        })
    }

    /// The relay's route, for the host to serve or to nest. Serve it with `TCP_NODELAY` set.
    pub fn router(&self) -> Router {
        Router::new().route(PATH, get(upgrade)).with_state(Arc::clone(&self.shared))
    }

    /// What was counted since the relay was opened.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.hub.stats()
    }

    /// The same, for whoever does not hold the relay.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts(Arc::clone(&self.shared.hub))
    }

    /// The agents that are connected, as it changes.
    #[must_use]
    pub fn presence(&self) -> watch::Receiver<BTreeSet<AgentId>> {
        self.shared.hub.presence()
    }

    /// Ends every connection, writes what is not yet safe, and closes the file.
    pub async fn close(mut self) {
        self.shared.hub.close();
        if let Some(writer) = self.writer.take() {
            // It ends by itself once the hub is closed and everything is written.
            let _ = writer.await;
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.hub.close();
        self.reader.abort();
        if let Some(writer) = &self.writer {
            writer.abort();
        }
    }
}

/// Whoever has a token of a relay's party can be sent to.
fn known(credentials: &Credentials) -> BTreeSet<Party> {
    credentials.agents().cloned().map(Party::Agent).chain([Party::Runtime]).collect()
}

fn lock(path: PathBuf) -> Result<File, OpenError> {
    let io = |source| OpenError::Io { path: path.clone(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path }),
        Err(TryLockError::Error(source)) => Err(OpenError::Io { path, source }),
    }
}

async fn upgrade(State(shared): State<Arc<Shared>>, headers: HeaderMap, socket: WebSocketUpgrade) -> Response {
    let Some(party) = shared.authenticate(&headers) else {
        shared.hub.count_unauthorized();
        return StatusCode::UNAUTHORIZED.into_response();
    };
    socket
        .max_message_size(FRAME_BYTES)
        .max_frame_size(FRAME_BYTES)
        .read_buffer_size(16 * 1024)
        .write_buffer_size(64 * 1024)
        .max_write_buffer_size(4 * FRAME_BYTES)
        .on_upgrade(move |socket| connection::serve(Arc::clone(&shared.hub), party, socket))
}

impl Shared {
    /// Who this is. The file is read anew, so that a rotation by another process counts at once.
    fn authenticate(&self, headers: &HeaderMap) -> Option<Party> {
        let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        let mut credentials = self.credentials.lock().unwrap_or_else(PoisonError::into_inner);
        match Credentials::load(credentials.path()) {
            Ok(current) => {
                *credentials = current;
                self.hub.set_known(known(&credentials));
            }
            Err(error) => {
                tracing::warn!(%error, "the credentials cannot be read again; the last ones stay in use")
            }
        }
        match credentials.authenticate(token)? {
            Role::Runtime => Some(Party::Runtime),
            Role::Agent(id) => Some(Party::Agent(id)),
            Role::User | Role::Host | Role::Owner | Role::Page => None,
        }
    }
}
