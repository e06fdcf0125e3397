//! The Hosts' entry: reports and intents up, views down (HST-1, HST-3).

pub(crate) mod frames;
mod sessions;

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{
        State,
        ws::{Message, WebSocket, WebSocketUpgrade, close_code},
    },
    response::Response,
};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use lineup_core::workspace::input::{HostReport, Report};
use lineup_failpoint::{Point, hit};
use lineup_model::{ErrorCode, HostSessionId, message::Fault};
use tokio::{
    sync::mpsc,
    time::{Instant, interval_at, sleep, timeout},
};

pub(crate) use sessions::Sessions;

use crate::{WebAdapter, frame, socket};
use frames::{Up, first, later};
use sessions::{Full, Session};

/// How long a client may take to say hello.
const HELLO: Duration = Duration::from_secs(5);
/// How often a silent client is asked whether it is there.
const PING: Duration = Duration::from_secs(10);
/// How long a client may be silent before it counts as gone.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a client may take to read one frame.
const WRITE: Duration = Duration::from_secs(10);
/// Answers that wait for a slow client; then its requests wait, too.
const ANSWERS: usize = 64;

pub(crate) async fn connect(State(web): State<WebAdapter>, upgrade: WebSocketUpgrade) -> Response {
    socket::open(upgrade, move |connection| serve(web, connection))
}

async fn serve(web: WebAdapter, connection: WebSocket) {
    let (mut down, mut up) = connection.split();
    let Some((session, hello)) = greet(&web, &mut up, &mut down).await else {
        return;
    };
    let (answers, pending) = mpsc::channel(ANSWERS);
    let writer = tokio::spawn(write(Arc::clone(&session), down, pending));
    let connected = report(&web, &session.id, Report::Connected { visible: hello.visible }).await;
    let welcome = connected.is_ok();
    let _closed = answers.send(frame::answer(&hello.id, &connected.map(|()| None))).await;
    if welcome {
        listen(&web, &session, up, &answers).await;
    }
    drop(answers);
    if web.sessions().leave(&session) {
        part(&web, &session.id).await;
    }
    let _written = writer.await;
}

/// What a client said first.
struct Hello {
    id: String,
    visible: bool,
}

/// Waits for the hello and registers the session. A session that is there already is replaced: the
/// same page has connected again.
async fn greet(
    web: &WebAdapter,
    up: &mut SplitStream<WebSocket>,
    down: &mut SplitSink<WebSocket, Message>,
) -> Option<(Arc<Session>, Hello)> {
    let text = match timeout(HELLO, next(up)).await {
        Ok(Some(Message::Text(text))) => text,
        Ok(Some(_)) => return farewell(down, socket::unsupported()).await,
        Ok(None) => return None,
        Err(_late) => {
            return farewell(down, socket::closing(close_code::POLICY, "no hello within 5 s")).await;
        }
    };
    let (id, session, visible) = match first(text.as_bytes()) {
        Ok(hello) => hello,
        Err(refused) => {
            let _gone = down.send(Message::Text(frame::refusal(&refused).into())).await;
            return farewell(down, socket::closing(close_code::POLICY, "the first frame must be a hello")).await;
        }
    };
    let (session, replaced) = match web.sessions().join(session) {
        Ok(joined) => joined,
        Err(Full) => {
            let fault = Fault::new(ErrorCode::RateLimited, "64 Host sessions are connected; close one");
            let _gone = down.send(Message::Text(frame::answer(&id, &Err(fault)).into())).await;
            return farewell(down, socket::closing(close_code::AGAIN, "too many sessions")).await;
        }
    };
    if replaced {
        part(web, &session.id).await;
    }
    Some((session, Hello { id, visible }))
}

async fn farewell<T>(down: &mut SplitSink<WebSocket, Message>, message: Message) -> Option<T> {
    let _gone = down.send(message).await;
    None
}

/// The next message that is not a sign of life; `None` when the client is gone.
async fn next(up: &mut SplitStream<WebSocket>) -> Option<Message> {
    while let Some(Ok(message)) = up.next().await {
        match message {
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => return None,
            Message::Text(_) | Message::Binary(_) => return Some(message),
        }
    }
    None
}

/// Takes frames until the client goes, is silent for too long, or is replaced.
async fn listen(web: &WebAdapter, session: &Session, mut up: SplitStream<WebSocket>, answers: &mpsc::Sender<String>) {
    loop {
        let message = tokio::select! {
            message = timeout(SILENCE, up.next()) => message,
            () = session.ended() => return,
        };
        let reply = match message {
            Ok(Some(Ok(Message::Text(text)))) => match later(text.as_bytes()) {
                Ok((id, up)) => {
                    hit(Point::WebReportRead);
                    let taken = take(web, session, up).await;
                    hit(Point::WebReportTaken);
                    frame::answer(&id, &taken.map(|()| None))
                }
                Err(refused) => frame::refusal(&refused),
            },
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue,
            Ok(Some(Ok(Message::Binary(_)))) => {
                return session.end(close_code::UNSUPPORTED, "frames are text");
            }
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => {
                return session.end(close_code::NORMAL, "bye");
            }
            Err(_silent) => return session.end(close_code::POLICY, "silent for 30 s"),
        };
        if answers.send(reply).await.is_err() {
            return;
        }
    }
}

async fn take(web: &WebAdapter, session: &Session, up: Up) -> Result<(), Fault> {
    if session.has_ended() {
        // The page is connected anew; what its old connection says belongs to nobody.
        return Err(Fault::new(ErrorCode::HostUnavailable, "this connection of the session was replaced"));
    }
    match up {
        Up::Report(what) => report(web, &session.id, what).await,
        Up::Intent(intent_id, intent) => {
            let input =
                lineup_core::workspace::input::HostIntentInput { session: session.id.clone(), intent_id, intent };
            web.entries().hosts.intend(input).await
        }
    }
}

/// Writes answers in order, and the newest view whenever there is a newer one.
async fn write(session: Arc<Session>, mut down: SplitSink<WebSocket, Message>, mut answers: mpsc::Receiver<String>) {
    let mut signs_of_life = interval_at(Instant::now() + PING, PING);
    loop {
        let (message, seq) = tokio::select! {
            // Answers first: a client learns that its report was taken before it sees what follows.
            biased;
            answer = answers.recv() => match answer {
                Some(text) => (Message::Text(text.into()), None),
                None => break,
            },
            () = session.ended() => break,
            (seq, text) = session.newer_view() => (Message::Text(text.into()), Some(seq)),
            _ = signs_of_life.tick() => (Message::Ping(axum::body::Bytes::new()), None),
        };
        match timeout(WRITE, down.send(message)).await {
            Ok(Ok(())) => {
                if let Some(seq) = seq {
                    hit(Point::WebViewWritten);
                    session.written(seq);
                }
            }
            Ok(Err(_)) | Err(_) => {
                session.end(close_code::POLICY, "too slow");
                break;
            }
        }
    }
    // Answers that were made already are still said, for example why a hello was refused.
    while let Ok(text) = answers.try_recv() {
        let _gone = timeout(WRITE, down.send(Message::Text(text.into()))).await;
    }
    let (code, reason) = session.farewell();
    let _gone = timeout(WRITE, down.send(socket::closing(code, reason))).await;
}

async fn report(web: &WebAdapter, session: &HostSessionId, report: Report) -> Result<(), Fault> {
    web.entries().hosts.report(HostReport { session: session.clone(), report }).await
}

/// Reports that a session is gone, until the Runtime has taken it or the session is back.
async fn part(web: &WebAdapter, session: &HostSessionId) {
    let mut pause = Duration::from_millis(250);
    loop {
        match report(web, session, Report::Disconnected).await {
            Err(fault) if fault.code == ErrorCode::StorageUnavailable && !web.sessions().knows(session) => {
                sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(5));
            }
            Err(fault) => {
                tracing::warn!(%session, code = %fault.code, "the Runtime did not take the end of a Host session");
                return;
            }
            Ok(()) => return,
        }
    }
}
