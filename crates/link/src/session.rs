//! The task behind a link: connect, talk, pause, again.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use lineup_wire::relay::{ClientFrame, FRAME_BYTES, Party, ServerFrame, VERSION};
use tokio::{
    net::TcpStream,
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest as _,
        handshake::client::Request,
        http::{HeaderValue, StatusCode, header::AUTHORIZATION},
        protocol::WebSocketConfig,
    },
};

use crate::{Command, Connection, Event, LinkError, Options, Shared, Token};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A connection that held for this long ends a row of failures: the next pause is short again.
const HELD: Duration = Duration::from_secs(5);
/// How long connecting and the answer to `hello` may take.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Why a connection ended.
enum End {
    /// Another one may do better.
    Lost(String),
    /// No other one can.
    Final(LinkError),
}

impl<T: std::fmt::Display> From<T> for End {
    fn from(cause: T) -> Self {
        Self::Lost(cause.to_string())
    }
}

/// Keeps the link up until it can never connect again or nobody listens.
pub(crate) async fn keep_up(
    options: Options,
    shared: Arc<Shared>,
    events: mpsc::Sender<Event>,
    mut commands: mpsc::Receiver<Command>,
) {
    let pauses = ExponentialBuilder::default()
        .with_min_delay(options.first_pause)
        .with_max_delay(options.longest_pause)
        .with_jitter()
        .without_max_times();
    let mut row = pauses.build();
    let mut connection = 0;
    loop {
        let reason = match connect(&options).await {
            Ok((socket, identity)) => {
                connection += 1;
                let since = Instant::now();
                if events.send(Event::Connected { connection: Connection(connection), identity }).await.is_err() {
                    return;
                }
                let reason = talk(socket, connection, options.idle, &events, &mut commands).await;
                if events.send(Event::Disconnected { reason: reason.clone() }).await.is_err() {
                    return;
                }
                if since.elapsed() >= HELD {
                    row = pauses.build();
                }
                reason
            }
            Err(End::Lost(reason)) => reason,
            Err(End::Final(error)) => {
                *shared.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                return;
            }
        };
        let pause = row.next().unwrap_or(options.longest_pause);
        tracing::debug!(%reason, ?pause, "no connection to the relay");
        // Without a connection whatever is handed over is dropped, so that nobody waits for it.
        tokio::select! {
            () = sleep(pause) => {}
            () = drop_all(&mut commands) => return,
        }
    }
}

/// Returns when nobody can hand anything over any more.
async fn drop_all(commands: &mut mpsc::Receiver<Command>) {
    while commands.recv().await.is_some() {}
}

async fn connect(options: &Options) -> Result<(Socket, Party), End> {
    let request = request(options)?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(FRAME_BYTES))
        .max_frame_size(Some(FRAME_BYTES))
        .read_buffer_size(16 * 1024)
        .write_buffer_size(64 * 1024)
        .max_write_buffer_size(4 * FRAME_BYTES);
    let (mut socket, _) = match timeout(HANDSHAKE, connect_async_with_config(request, Some(config), true)).await? {
        Err(tungstenite::Error::Http(response)) if response.status() == StatusCode::UNAUTHORIZED => {
            return Err(End::Final(LinkError::Unauthorized));
        }
        Err(tungstenite::Error::Url(_)) => return Err(End::Final(bad_address(options))),
        connected => connected?,
    };
    socket.send(Message::binary(ClientFrame::Hello { version: VERSION }.encode(b""))).await?;
    let answer = timeout(HANDSHAKE, socket.next()).await?;
    match answer {
        Some(Ok(Message::Binary(bytes))) => match ServerFrame::decode(&bytes)? {
            (ServerFrame::Welcome { version: VERSION, identity }, _) => Ok((socket, identity)),
            (ServerFrame::Welcome { version, .. }, _) => Err(End::Final(LinkError::Version { found: version })),
            _ => Err(End::from("the relay did not say welcome")),
        },
        Some(Ok(Message::Close(Some(close)))) => Err(End::from(close)),
        Some(Err(error)) => Err(End::from(error)),
        Some(Ok(_)) | None => Err(End::from("the relay did not say welcome")),
    }
}

fn request(options: &Options) -> Result<Request, End> {
    let mut request = options.url.as_str().into_client_request().map_err(|_| End::Final(bad_address(options)))?;
    let mut bearer =
        HeaderValue::from_str(&format!("Bearer {}", options.token)).map_err(|_| End::Final(LinkError::Unauthorized))?;
    bearer.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, bearer);
    Ok(request)
}

fn bad_address(options: &Options) -> LinkError {
    LinkError::BadAddress { url: options.url.clone() }
}

/// Reads and writes at the same time: a connection that waited for one of the two could wait for a
/// relay that waits for the other.
async fn talk(
    socket: Socket,
    connection: u32,
    idle: Duration,
    events: &mpsc::Sender<Event>,
    commands: &mut mpsc::Receiver<Command>,
) -> String {
    let (mut sink, mut stream) = socket.split();
    let end = tokio::select! {
        end = read(&mut stream, connection, idle, events) => end,
        end = write(&mut sink, connection, commands) => end,
    };
    match end {
        End::Lost(reason) => reason,
        End::Final(error) => error.to_string(),
    }
}

async fn read(stream: &mut SplitStream<Socket>, connection: u32, idle: Duration, events: &mpsc::Sender<Event>) -> End {
    loop {
        let message = match timeout(idle, stream.next()).await {
            Err(_) => return End::from("the relay was silent for too long"),
            Ok(None) => return End::from("the relay closed the connection"),
            Ok(Some(Err(error))) => return End::from(error),
            Ok(Some(Ok(message))) => message,
        };
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
            Message::Text(_) => return End::from("the relay sent a text message"),
            Message::Close(Some(close)) => return End::from(close),
            Message::Close(None) => return End::from("the relay closed the connection"),
        };
        let event = match ServerFrame::decode(&bytes) {
            Err(error) => return End::from(error),
            Ok((ServerFrame::Welcome { .. }, _)) => {
                return End::from("the relay said welcome twice");
            }
            Ok((ServerFrame::Deliver { token, from, id }, payload)) => {
                Event::Delivered { token: Token::new(connection, token), from, id, payload: payload.to_vec() }
            }
            Ok((ServerFrame::Ack { id }, _)) => Event::Acknowledged(id),
            Ok((ServerFrame::Refuse { id, reason }, _)) => Event::Refused(id, reason),
        };
        if events.send(event).await.is_err() {
            return End::Final(LinkError::Closed);
        }
    }
}

async fn write(sink: &mut SplitSink<Socket, Message>, connection: u32, commands: &mut mpsc::Receiver<Command>) -> End {
    let mut batch = Vec::with_capacity(crate::QUEUE);
    loop {
        if commands.recv_many(&mut batch, crate::QUEUE).await == 0 {
            return End::Final(LinkError::Closed);
        }
        for command in batch.drain(..) {
            if let Err(error) = feed(sink, connection, command).await {
                return End::from(error);
            }
        }
        if let Err(error) = sink.flush().await {
            return End::from(error);
        }
    }
}

async fn feed(
    sink: &mut SplitSink<Socket, Message>,
    connection: u32,
    command: Command,
) -> Result<(), tungstenite::Error> {
    match command {
        Command::Send { connection: meant, messages } if meant == Connection(connection) => {
            for message in messages {
                let frame = ClientFrame::Send { id: message.id, to: message.to };
                sink.feed(Message::binary(frame.encode(&message.payload))).await?;
            }
        }
        // Meant for a connection that is gone: it will be sent again.
        Command::Send { .. } => {}
        Command::Acknowledge(tokens) => {
            for token in tokens.into_iter().filter_map(|token| token.on(connection)) {
                sink.feed(Message::binary(ClientFrame::Ack { token }.encode(b""))).await?;
            }
        }
    }
    Ok(())
}
