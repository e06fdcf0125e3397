//! The user's entry: UI Actions in the trusted view of Interact (UIA-1).
//!
//! The view is the entry's own and is never taken from a frame: this entry can act in no Surface.

use std::sync::Arc;

use axum::{
    extract::{State, ws::WebSocketUpgrade},
    response::Response,
};
use lineup_core::workspace::input::{UiActionInput, View};
use lineup_failpoint::{Point, hit};
use lineup_model::{
    json::{Fields, JsonError},
    message::Fault,
};
use serde_json::Value;

use crate::{WebAdapter, frame, socket};

const TYPES: &[&str] = &["act"];

pub(crate) async fn connect(State(web): State<WebAdapter>, upgrade: WebSocketUpgrade) -> Response {
    socket::open(upgrade, move |connection| async move {
        let web = &web;
        socket::converse(connection, TYPES, |_act, fields| act(web, fields)).await;
    })
}

async fn act(web: &WebAdapter, fields: Fields) -> Result<Option<Value>, Fault> {
    let input = decode(fields).map_err(|error| frame::fault(&error))?;
    hit(Point::WebActionRead);
    let taken = web.entries().actions.act(input).await;
    hit(Point::WebActionTaken);
    taken.map(|()| None)
}

pub(crate) fn decode(mut fields: Fields) -> Result<UiActionInput, JsonError> {
    let input = UiActionInput {
        session: fields.id("session")?,
        view: View::Interact(fields.id("conversation")?),
        action_id: fields.id("action_id")?,
        method: fields.id("method")?,
        input: Arc::new(fields.value("input")?),
    };
    fields.finish()?;
    Ok(input)
}
