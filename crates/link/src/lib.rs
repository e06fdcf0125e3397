//! One connection to AppServer's relay, kept up: the Runtime's transport and the agent client both
//! stand on it.
//!
//! A [`Link`] connects, says hello, and reconnects with growing, jittered pauses. It knows the
//! relay's frames and nothing of what they carry. Queues are bounded: a consumer that does not call
//! [`Link::next`] slows the relay down, not the memory up.
//!
//! To add a frame, see `lineup_wire::relay`; here it becomes an [`Event`].
#![warn(missing_docs)]

mod session;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use lineup_model::MessageId;
use lineup_wire::relay::{Party, RefuseReason};
use tokio::{
    sync::{Mutex as AsyncMutex, mpsc},
    task::AbortHandle,
};

/// Where to connect, and as whom.
#[derive(Clone)]
pub struct Options {
    /// The relay's WebSocket, such as `ws://127.0.0.1:7777/relay`.
    pub url: String,
    /// The token, for `Authorization: Bearer`.
    pub token: String,
    /// The first pause after a lost connection; later ones double.
    pub first_pause: Duration,
    /// The longest pause, before jitter.
    pub longest_pause: Duration,
    /// How long the relay may be silent; it pings every 15 s.
    pub idle: Duration,
}

impl Options {
    /// The usual pauses: 50 ms to 5 s.
    #[must_use]
    pub fn new(url: impl Into<String>, token: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            token: token.into(),
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(5),
            idle: Duration::from_secs(45),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Names one connection of a link. A later one is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(u32);

impl Connection {
    /// The connection as a number, and back with [`Connection::from_number`].
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The connection with this number. Number 0 is none that ever stands.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// Names one delivery, across reconnects: a token of an earlier connection is never mistaken for
/// one of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u64);

impl Token {
    const CONNECTION_SHIFT: u32 = (lineup_wire::relay::MAX_TOKEN + 1).trailing_zeros();

    fn new(connection: u32, token: u64) -> Self {
        Self((u64::from(connection) << Self::CONNECTION_SHIFT) | token)
    }

    /// The token as a number, and back with [`Token::from_number`].
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// The token with this number.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// The relay's own token, if it belongs to this connection.
    fn on(self, connection: u32) -> Option<u64> {
        (self.0 >> Self::CONNECTION_SHIFT == u64::from(connection)).then_some(self.0 & lineup_wire::relay::MAX_TOKEN)
    }
}

/// One message for another party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its name; the same when it is sent again.
    pub id: MessageId,
    /// Who gets it.
    pub to: Party,
    /// What is carried.
    pub payload: Vec<u8>,
}

/// What the link has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The relay is reachable. Whatever it has not acknowledged is to be sent again, in order.
    Connected {
        /// For [`Link::send`].
        connection: Connection,
        /// Who we are, as the relay says.
        identity: Party,
    },
    /// The relay is out of reach.
    Disconnected {
        /// Why, for people.
        reason: String,
    },
    /// A message came in. It comes again on a later connection until it is acknowledged.
    Delivered {
        /// For [`Link::acknowledge`].
        token: Token,
        /// Who sent it: the relay's word.
        from: Party,
        /// The sender's name for it.
        id: MessageId,
        /// What is carried.
        payload: Vec<u8>,
    },
    /// The relay is responsible for this message now.
    Acknowledged(MessageId),
    /// The relay will never take this message.
    Refused(MessageId, RefuseReason),
}

/// Why the link has ended for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The relay does not know the token.
    #[error("the relay refused the credential")]
    Unauthorized,
    /// The URL is not one of a WebSocket.
    #[error("{url:?} is not the address of a relay")]
    BadAddress {
        /// The URL.
        url: String,
    },
    /// The relay speaks another version.
    #[error("the relay speaks version {found}, this program version {}", lineup_wire::relay::VERSION)]
    Version {
        /// The relay's.
        found: u32,
    },
    /// The link was closed from this side.
    #[error("the link is closed")]
    Closed,
}

/// One connection to the relay, kept up by a task of its own. Must be opened inside a tokio runtime.
pub struct Link {
    events: AsyncMutex<mpsc::Receiver<Event>>,
    commands: mpsc::Sender<Command>,
    shared: Arc<Shared>,
    task: AbortHandle,
}

/// What the caller and the task share.
#[derive(Default)]
struct Shared {
    end: Mutex<Option<LinkError>>,
}

impl Shared {
    fn end(&self) -> LinkError {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or(LinkError::Closed)
    }
}

enum Command {
    Send { connection: Connection, messages: Vec<Outgoing> },
    Acknowledge(Vec<Token>),
}

/// Events that wait for the consumer, and batches that wait for the connection.
const QUEUE: usize = 64;

impl Link {
    /// Starts to connect.
    #[must_use]
    pub fn open(options: Options) -> Self {
        let (events, received) = mpsc::channel(QUEUE);
        let (commands, ordered) = mpsc::channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(session::keep_up(options, Arc::clone(&shared), events, ordered));
        Self { events: AsyncMutex::new(received), commands, shared, task: task.abort_handle() }
    }

    /// The next event. Dropping the future loses no event.
    ///
    /// # Errors
    /// When the link can never connect again.
    pub async fn next(&self) -> Result<Event, LinkError> {
        let event = self.events.lock().await.recv().await;
        event.ok_or_else(|| self.shared.end())
    }

    /// Hands messages to this connection, in this order. If it is not the one that stands they are
    /// dropped: on a newer one they would overtake what is sent again there, after its
    /// [`Event::Connected`]. Waits while the connection is slow.
    ///
    /// # Errors
    /// As [`Link::next`].
    pub async fn send(&self, connection: Connection, messages: Vec<Outgoing>) -> Result<(), LinkError> {
        self.command(Command::Send { connection, messages }).await
    }

    /// Tells the relay that these deliveries are safe here. Tokens of earlier connections are
    /// ignored: those deliveries come again.
    ///
    /// # Errors
    /// As [`Link::next`].
    pub async fn acknowledge(&self, tokens: Vec<Token>) -> Result<(), LinkError> {
        self.command(Command::Acknowledge(tokens)).await
    }

    async fn command(&self, command: Command) -> Result<(), LinkError> {
        self.commands.send(command).await.map_err(|_| self.shared.end())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}
