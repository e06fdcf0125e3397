//! The page's entry: what people read of their conversations. It reads only (ENT-1); what the page
//! does, it does on `/host` and `/user`.

pub(crate) mod frames;
mod items;
pub(crate) mod markdown;
mod reader;
pub(crate) mod up;

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{
        State,
        ws::{Message, WebSocket, WebSocketUpgrade, close_code},
    },
    response::Response,
};
use futures_util::{SinkExt as _, StreamExt as _, stream::SplitSink};
use lineup_model::message::Fault;
use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, interval_at, sleep_until, timeout},
};

use crate::{WebAdapter, frame, socket};
use reader::Reader;
use up::Up;

/// The most pages at a time.
const MOST: usize = 64;
/// How often a silent client is asked whether it is there.
const PING: Duration = Duration::from_secs(10);
/// How long a client may be silent before it counts as gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a client may take to read one frame.
const WRITE: Duration = Duration::from_secs(10);

/// All connected pages.
pub(crate) struct Pages {
    seats: Arc<Semaphore>,
    closing: watch::Sender<bool>,
}

impl Default for Pages {
    fn default() -> Self {
        Self { seats: Arc::new(Semaphore::new(MOST)), closing: watch::Sender::default() }
    }
}

impl Pages {
    pub fn close_all(&self) {
        self.closing.send_replace(true);
    }
}

pub(crate) async fn connect(State(web): State<WebAdapter>, upgrade: WebSocketUpgrade) -> Response {
    socket::open(upgrade, move |connection| serve(web, connection))
}

async fn serve(web: WebAdapter, connection: WebSocket) {
    let (mut down, mut up) = connection.split();
    let pages = &web.shared().pages;
    let Ok(_seat) = Arc::clone(&pages.seats).try_acquire_owned() else {
        let _gone = down.send(socket::closing(close_code::AGAIN, "too many pages")).await;
        return;
    };
    let mut closing = pages.closing.subscribe();
    let mut reader = Reader::new(Arc::clone(&web.entries().conversations), web.presence());
    let mut signs_of_life = interval_at(Instant::now() + PING, PING);
    let mut heard = Instant::now();
    let farewell = loop {
        let written = tokio::select! {
            () = closed(&mut closing) => break socket::closing(close_code::AWAY, "the Runtime stops"),
            message = up.next() => {
                heard = Instant::now();
                match message {
                    Some(Ok(Message::Text(text))) => write(&mut down, answer(&mut reader, text.as_bytes()).await).await,
                    Some(Ok(Message::Binary(_))) => break socket::unsupported(),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                }
            }
            news = reader.next() => {
                let Some(frames) = news else { break socket::closing(close_code::AWAY, "the Runtime stops") };
                let mut written = Ok(());
                for frame in &frames {
                    if written.is_ok() {
                        written = write(&mut down, text_of(frame)).await;
                    }
                }
                written
            }
            _ = signs_of_life.tick() => send(&mut down, Message::Ping(axum::body::Bytes::new())).await,
            () = sleep_until(heard + SILENCE) => break socket::closing(close_code::POLICY, "silent for 30 s"),
        };
        match written {
            Ok(()) => {}
            Err(Unwritten::Gone) => return,
            Err(Unwritten::Slow) => break socket::closing(close_code::POLICY, "too slow"),
        }
    };
    let _gone = timeout(WRITE, down.send(farewell)).await;
}

async fn closed(closing: &mut watch::Receiver<bool>) {
    let _closed = closing.wait_for(|closing| *closing).await;
}

/// Why a frame was not written.
enum Unwritten {
    Gone,
    Slow,
}

async fn write(down: &mut SplitSink<WebSocket, Message>, text: String) -> Result<(), Unwritten> {
    send(down, Message::Text(text.into())).await
}

async fn send(down: &mut SplitSink<WebSocket, Message>, message: Message) -> Result<(), Unwritten> {
    match timeout(WRITE, down.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Unwritten::Gone),
        Err(_late) => Err(Unwritten::Slow),
    }
}

async fn answer(reader: &mut Reader, bytes: &[u8]) -> String {
    match up::decode(bytes) {
        Ok((id, up)) => frame::answer(&id, &read(reader, up).await),
        Err(refused) => frame::refusal(&refused),
    }
}

async fn read(reader: &mut Reader, up: Up) -> Result<Option<Value>, Fault> {
    Ok(Some(match up {
        Up::Follow { conversation, after, open } => value(&reader.follow(conversation, after, open).await?),
        Up::History { conversation, before, limit } => value(&reader.history(&conversation, before, limit).await?),
        Up::Session(session) => value(&reader.session(&session).await?),
    }))
}

fn value(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).expect("frames hold string keys and plain values only")
}

fn text_of(frame: &frames::PageDown) -> String {
    serde_json::to_string(frame).expect("frames hold string keys and plain values only")
}
