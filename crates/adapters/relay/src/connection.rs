//! One WebSocket connection: reads frames, writes frames, and ends with a reason.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code},
};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use lineup_failpoint::{Point, hit};
use lineup_wire::relay::{ClientFrame, FrameError, Party, VERSION};
use tokio::{
    sync::{Semaphore, mpsc},
    time::{Instant, MissedTickBehavior, interval, timeout},
};

use tokio_tungstenite::tungstenite::{self, error::ProtocolError};

use crate::hub::{Connected, ConnectionId, Ending, SharedHub};

/// Permits are counted in units of this many bytes, and each envelope costs one more.
const UNIT: usize = 1024;

/// Serves a connection of this party until it ends.
pub(crate) async fn serve(hub: SharedHub, party: Party, mut socket: WebSocket) {
    let close = match hello(&hub, &party, &mut socket).await {
        Err(close) => Some(close),
        Ok(()) => match hub.connect(&party) {
            Err(ending) => Some(Close::from(ending)),
            Ok(connected) => return run(hub, party, socket, connected).await,
        },
    };
    if let Some(close) = close {
        hub.count(&party, |stats| stats.faults += 1);
        close.say(&mut socket).await;
    }
}

async fn run(hub: SharedHub, party: Party, socket: WebSocket, connected: Connected) {
    let Connected { id, frames, mut ended } = connected;
    let (mut sink, mut stream) = socket.split();
    let close = tokio::select! {
        biased;
        ending = &mut ended => ending.ok().map(Close::from),
        close = read(&hub, &party, id, &mut stream) => close,
        // The queue ends when the hub ends the connection; it has said why before.
        () = write(&hub, &party, &mut sink, frames) => ended.try_recv().ok().map(Close::from),
    };
    hub.disconnect(id);
    if let Some(close) = close {
        if close.is_fault {
            hub.count(&party, |stats| stats.faults += 1);
        }
        let Ok(mut socket) = sink.reunite(stream) else {
            return;
        };
        close.say(&mut socket).await;
    }
}

async fn hello(hub: &SharedHub, party: &Party, socket: &mut WebSocket) -> Result<(), Close> {
    let first = timeout(hub.config.hello, socket.recv()).await;
    let Ok(Some(message)) = first else {
        return Err(Close::policy("hello is missing"));
    };
    match message.map_err(|error| Close::of_error(error).unwrap_or(Close::policy("hello is missing")))? {
        Message::Binary(bytes) => {
            hub.count(party, |stats| stats.frames_in += 1);
            match ClientFrame::decode(&bytes)? {
                (ClientFrame::Hello { version: VERSION }, _) => Ok(()),
                (ClientFrame::Hello { .. }, _) => Err(Close::policy("this relay speaks version 1")),
                _ => Err(Close::policy("hello comes first")),
            }
        }
        _ => Err(Close::policy("hello comes first")),
    }
}

/// Reads until the client is gone (`None`) or is to be closed.
async fn read(hub: &SharedHub, party: &Party, id: ConnectionId, stream: &mut SplitStream<WebSocket>) -> Option<Close> {
    let units = hub.config.unsafe_bytes / UNIT;
    let memory = Arc::new(Semaphore::new(units));
    let mut control = Control::new(hub.config.control_frames);
    loop {
        let message = match timeout(hub.config.idle, stream.next()).await {
            Err(_) => return Some(Close::policy("the connection was silent for too long")),
            Ok(None) => return None,
            Ok(Some(Err(error))) => return Close::of_error(error),
            Ok(Some(Ok(message))) => message,
        };
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Ping(_) | Message::Pong(_) if control.allows() => continue,
            Message::Ping(_) | Message::Pong(_) => {
                return Some(Close::policy("too many control frames"));
            }
            Message::Text(_) => return Some(Close::policy("frames are binary messages")),
            Message::Close(_) => return None,
        };
        hub.count(party, |stats| stats.frames_in += 1);
        let (frame, payload) = match ClientFrame::decode(&bytes) {
            Err(error) => return Some(error.into()),
            Ok((frame, payload)) => (frame, payload.len()),
        };
        hit(Point::RelayFrameRead);
        match frame {
            ClientFrame::Hello { .. } => return Some(Close::policy("hello comes once")),
            ClientFrame::Ack { token } => hub.acknowledge(id, token),
            ClientFrame::Send { id: message, to } => {
                let cost = (payload / UNIT + 1).min(units);
                let cost = u32::try_from(cost).expect("a frame is at most 1 MiB");
                let permit = Arc::clone(&memory).acquire_many_owned(cost).await.expect("never closed");
                hub.send(id, message, to, bytes.slice(bytes.len() - payload..), permit);
            }
        }
    }
}

/// Writes until the client or the queue is gone.
async fn write(
    hub: &SharedHub,
    party: &Party,
    sink: &mut SplitSink<WebSocket, Message>,
    mut frames: mpsc::Receiver<Bytes>,
) {
    let mut ping = interval(hub.config.ping);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ping.reset();
    let mut batch = Vec::with_capacity(64);
    loop {
        let written = tokio::select! {
            count = frames.recv_many(&mut batch, 64) => {
                if count == 0 {
                    return;
                }
                hub.count(party, |stats| stats.frames_out += count as u64);
                let written = flush(sink, batch.drain(..).map(Message::Binary)).await;
                hit(Point::RelayFramesWritten);
                written
            }
            _ = ping.tick() => flush(sink, [Message::Ping(Bytes::new())]).await,
        };
        if written.is_err() {
            return;
        }
    }
}

async fn flush(
    sink: &mut SplitSink<WebSocket, Message>,
    messages: impl IntoIterator<Item = Message>,
) -> Result<(), axum::Error> {
    for message in messages {
        sink.feed(message).await?;
    }
    sink.flush().await
}

/// Counts control frames by the second.
struct Control {
    limit: u32,
    count: u32,
    since: Instant,
}

impl Control {
    fn new(limit: u32) -> Self {
        Self { limit, count: 0, since: Instant::now() }
    }

    fn allows(&mut self) -> bool {
        if self.since.elapsed().as_secs() >= 1 {
            (self.count, self.since) = (0, Instant::now());
        }
        self.count += 1;
        self.count <= self.limit
    }
}

/// How a connection is ended.
#[derive(Debug)]
struct Close {
    code: u16,
    reason: &'static str,
    is_fault: bool,
}

impl Close {
    fn policy(reason: &'static str) -> Self {
        Self { code: close_code::POLICY, reason, is_fault: true }
    }

    /// What the WebSocket layer says about what came; `None` when the client is just gone.
    fn of_error(error: axum::Error) -> Option<Self> {
        let error = error.into_inner();
        match error.downcast_ref::<tungstenite::Error>() {
            Some(tungstenite::Error::Capacity(_)) => Some(Self::too_large()),
            Some(
                tungstenite::Error::Io(_)
                | tungstenite::Error::ConnectionClosed
                | tungstenite::Error::AlreadyClosed
                | tungstenite::Error::Protocol(ProtocolError::ResetWithoutClosingHandshake),
            ) => None,
            _ => Some(Self { code: close_code::PROTOCOL, reason: "not the WebSocket protocol", is_fault: true }),
        }
    }

    const fn too_large() -> Self {
        Self { code: close_code::SIZE, reason: "the frame is too large", is_fault: true }
    }

    /// Says why, and reads on for a moment: closing a socket with unread bytes in it would reset
    /// the connection, and the client might never see the reason.
    async fn say(self, socket: &mut WebSocket) {
        let frame = CloseFrame { code: self.code, reason: Utf8Bytes::from_static(self.reason) };
        let farewell = async {
            if socket.send(Message::Close(Some(frame))).await.is_ok() {
                for _ in 0..64 {
                    if socket.recv().await.is_none() {
                        break;
                    }
                }
            }
        };
        // The client may be gone already, or may not read.
        let _ = timeout(Duration::from_secs(1), farewell).await;
    }
}

impl From<FrameError> for Close {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::TooLarge => Self::too_large(),
            FrameError::NoHeader | FrameError::Header(_) | FrameError::StrayPayload => {
                Self::policy("the frame is malformed")
            }
        }
    }
}

impl From<Ending> for Close {
    fn from(ending: Ending) -> Self {
        let (code, reason) = match ending {
            Ending::Replaced => (close_code::POLICY, "replaced by a newer connection"),
            Ending::TooMany => (close_code::POLICY, "the agent has too many connections"),
            Ending::TooSlow => (close_code::POLICY, "the connection does not read"),
            Ending::GoingAway => (close_code::AWAY, "the relay is closing"),
        };
        Self { code, reason, is_fault: matches!(ending, Ending::TooMany | Ending::TooSlow) }
    }
}
