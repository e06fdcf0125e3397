//! The ends of people: a Host that shows by reporting, the user, and the owner.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{net::TcpStream, sync::watch, task::JoinHandle, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest as _, http::HeaderValue},
};

use crate::server::PATIENCE;

/// An open entry.
pub struct Entry {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    requests: u64,
}

impl Entry {
    /// Opens `/host`, `/user` or `/control`.
    pub async fn open(address: &str, path: &str, token: &str) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("/{path}: {error}");
        let mut request = format!("ws://{address}/{path}").into_client_request().map_err(|error| failed(&error))?;
        let bearer = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|error| failed(&error))?;
        request.headers_mut().insert("authorization", bearer);
        let connected = timeout(PATIENCE, connect_async(request)).await.map_err(|late| failed(&late))?;
        let (socket, _) = connected.map_err(|error| failed(&error))?;
        Ok(Self { socket, requests: 0 })
    }

    /// Asks and waits for the answer.
    pub async fn ask(&mut self, frame: Value) -> Result<Value, String> {
        let id = self.send(frame.clone()).await?;
        loop {
            let answer = timeout(PATIENCE, self.next()).await.map_err(|_| format!("{frame} is not answered"))??;
            if answer["id"] == id.as_str() {
                return if answer["type"] == "ok" {
                    Ok(answer["value"].clone())
                } else {
                    Err(format!("{frame}: {answer}"))
                };
            }
        }
    }

    async fn send(&mut self, mut frame: Value) -> Result<String, String> {
        self.requests += 1;
        let id = format!("r{}", self.requests);
        frame["id"] = json!(id);
        self.socket.send(Message::text(frame.to_string())).await.map_err(|error| error.to_string())?;
        Ok(id)
    }

    async fn next(&mut self) -> Result<Value, String> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).map_err(|error| error.to_string()),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("the entry was closed".to_owned()),
            }
        }
    }
}

/// A Host session. It reports Surfaces at once, and the foreground from [`Host::confirm`] on.
pub struct Host {
    task: JoinHandle<()>,
    confirms: Arc<AtomicBool>,
    poke: watch::Sender<u64>,
}

impl Host {
    /// Connects and says hello.
    pub async fn connect(address: &str, token: &str, session: &str) -> Result<Self, String> {
        let mut entry = Entry::open(address, "host", token).await?;
        entry.send(json!({ "type": "hello", "session": session, "visible": true })).await?;
        let confirms = Arc::new(AtomicBool::new(false));
        let (poke, poked) = watch::channel(0);
        let task = tokio::spawn(show(entry, Arc::clone(&confirms), poked));
        Ok(Self { task, confirms, poke })
    }

    /// From now on every attempt that is asked for is confirmed.
    pub fn confirm(&self) {
        self.confirms.store(true, Ordering::SeqCst);
        self.poke.send_modify(|count| *count += 1);
    }

    /// Reports something that changes nothing.
    pub fn fidget(&self) {
        self.poke.send_modify(|count| *count += 1);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn show(mut entry: Entry, confirms: Arc<AtomicBool>, mut poked: watch::Receiver<u64>) {
    let (mut mounted, mut confirmed, mut asked) = (BTreeSet::new(), BTreeSet::new(), None::<String>);
    loop {
        let mut reports = Vec::new();
        tokio::select! {
            frame = entry.next() => {
                let Ok(view) = frame else { return };
                if view["type"] != "view" {
                    continue;
                }
                for instance in view["surfaces"].as_array().into_iter().flatten().filter_map(|one| one["instance"].as_str()) {
                    if mounted.insert(instance.to_owned()) {
                        reports.push(json!({ "type": "surface_ready", "instance": instance }));
                    }
                }
                asked = view["host"]["foreground"]["activation"].as_str().map(str::to_owned);
            }
            changed = poked.changed() => {
                if changed.is_err() {
                    return;
                }
                reports.push(json!({ "type": "visible", "visible": true }));
            }
        }
        if confirms.load(Ordering::SeqCst)
            && let Some(attempt) = &asked
            && confirmed.insert(attempt.clone())
        {
            reports.push(json!({ "type": "foreground", "activation": attempt }));
        }
        for report in reports {
            if entry.send(report).await.is_err() {
                return;
            }
        }
    }
}
