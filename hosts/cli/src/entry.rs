//! A client of the Runtime's entries for Hosts, the user and the owner.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use lineup_adapters::relay::Role;
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{
        Error, Message, client::IntoClientRequest as _, http::HeaderValue, protocol::frame::coding::CloseCode,
    },
};

use crate::{data::DataDir, failure::Failure};

/// How long the Runtime may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open entry.
pub struct Entry {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    requests: u64,
    /// Whether the Runtime ended this connection for what this side did: another one took its place,
    /// or it was silent or slow.
    ended_for_good: bool,
}

impl Entry {
    /// Opens the entry of a role with that role's own credential (ENT-5).
    pub async fn open(data: &DataDir, role: &Role) -> Result<Self, Failure> {
        let path = match role {
            Role::Host => "host",
            Role::User => "user",
            Role::Owner => "control",
            Role::Runtime | Role::Agent(_) | Role::Page => {
                return Err(Failure::Broken("this role comes in elsewhere".to_owned()));
            }
        };
        let running = data.running()?;
        let token = data.token(role)?;
        let broken = |error: &dyn std::fmt::Display| Failure::Broken(error.to_string());
        let mut request =
            format!("ws://{}/{path}", running.listen).into_client_request().map_err(|error| broken(&error))?;
        let bearer = HeaderValue::from_str(&format!("Bearer {}", token.as_str())).map_err(|error| broken(&error))?;
        request.headers_mut().insert("authorization", bearer);
        match timeout(PATIENCE, connect_async(request)).await {
            Ok(Ok((socket, _response))) => Ok(Self { socket, requests: 0, ended_for_good: false }),
            Ok(Err(Error::Http(response))) => Err(refusal(response.status().as_u16(), response.body().as_deref())),
            Ok(Err(Error::Io(_))) => Err(data.nobody_there()),
            Ok(Err(error)) => {
                Err(Failure::Unreachable(format!("the Runtime at {} cannot be reached: {error}", running.listen)))
            }
            Err(_late) => Err(silent()),
        }
    }

    /// Asks, and waits for the answer; frames in between are passed over.
    pub async fn ask(&mut self, frame: Value) -> Result<Value, Failure> {
        let id = self.send(frame).await?;
        timeout(PATIENCE, async {
            loop {
                let frame = self.next().await?;
                if frame["id"] == id.as_str() {
                    return answer(&frame);
                }
            }
        })
        .await
        .map_err(|_late| silent())?
    }

    /// Sends a frame under a fresh name, which the answer will carry.
    pub async fn send(&mut self, mut frame: Value) -> Result<String, Failure> {
        self.requests += 1;
        let id = format!("r{}", self.requests);
        frame["id"] = json!(id);
        self.socket.send(Message::text(frame.to_string())).await.map_err(|_| gone(None))?;
        Ok(id)
    }

    /// Whether connecting again would not help.
    pub const fn is_ended_for_good(&self) -> bool {
        self.ended_for_good
    }

    /// The next frame.
    pub async fn next(&mut self) -> Result<Value, Failure> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text)
                        .map_err(|error| Failure::Broken(format!("the Runtime's answer cannot be read: {error}")));
                }
                Some(Ok(Message::Close(frame))) => {
                    self.ended_for_good |= frame.as_ref().is_some_and(|frame| frame.code == CloseCode::Policy);
                    return Err(gone(frame.map(|frame| frame.reason.to_string())));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(gone(None)),
            }
        }
    }
}

/// What an answer says.
pub fn answer(frame: &Value) -> Result<Value, Failure> {
    if frame["type"] == "ok" {
        return Ok(frame.get("value").cloned().unwrap_or(Value::Null));
    }
    let text = |name: &str| frame[name].as_str().map(str::to_owned);
    Err(Failure::Refused {
        code: text("code").unwrap_or_else(|| "internal".to_owned()),
        reason: text("reason"),
        pointer: text("pointer"),
        message: text("message").unwrap_or_default(),
    })
}

fn refusal(status: u16, body: Option<&[u8]>) -> Failure {
    let body: Value = body.and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
    let code = body["code"].as_str().map_or_else(|| format!("http_{status}"), str::to_owned);
    let message = body["message"].as_str().unwrap_or("the entry stays shut").to_owned();
    if code == "not_ready" {
        Failure::Unreachable(message)
    } else {
        Failure::Refused { code, reason: None, pointer: None, message }
    }
}

fn gone(reason: Option<String>) -> Failure {
    let reason = reason.filter(|reason| !reason.is_empty());
    Failure::Unreachable(reason.map_or_else(
        || "the Runtime has closed the connection".to_owned(),
        |reason| format!("the Runtime has closed the connection: {reason}"),
    ))
}

fn silent() -> Failure {
    Failure::Unreachable("the Runtime does not answer within 30 s".to_owned())
}
