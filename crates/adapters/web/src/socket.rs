//! What the three entries' sockets have in common.

use axum::{
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code},
    response::Response,
};
use lineup_model::{json::Fields, limits, message::Fault};
use serde_json::Value;

use crate::frame;

/// Takes the upgrade, with the limits of every entry, and runs `serve` on the socket.
pub(crate) fn open<F>(upgrade: WebSocketUpgrade, serve: impl FnOnce(WebSocket) -> F + Send + 'static) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    upgrade
        .max_message_size(limits::WEBSOCKET_MESSAGE_BYTES)
        .max_frame_size(limits::WEBSOCKET_MESSAGE_BYTES)
        .on_upgrade(serve)
}

/// Answers one request after the other until the client goes.
pub(crate) async fn converse<F>(
    mut socket: WebSocket,
    types: &'static [&'static str],
    answer: impl Fn(String, Fields) -> F,
) where
    F: Future<Output = Result<Option<Value>, Fault>>,
{
    while let Some(Ok(message)) = socket.recv().await {
        let reply = match message {
            Message::Text(text) => match frame::decode(text.as_bytes(), types) {
                Ok(request) => frame::answer(&request.id, &answer(request.kind, request.fields).await),
                Err(refused) => frame::refusal(&refused),
            },
            Message::Binary(_) => {
                let _gone = socket.send(unsupported()).await;
                return;
            }
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => return,
        };
        if socket.send(Message::Text(reply.into())).await.is_err() {
            return;
        }
    }
}

/// What is sent to a client that sends binary messages.
pub(crate) fn unsupported() -> Message {
    closing(close_code::UNSUPPORTED, "frames are text")
}

/// A close frame.
pub(crate) fn closing(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame { code, reason: Utf8Bytes::from_static(reason) }))
}
