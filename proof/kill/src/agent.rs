//! The agent's end: the real relay's frames over a WebSocket, and a log of every one of them.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use lineup_link::{Connection, Event, Link, Options, Outgoing};
use lineup_model::MessageId;
use lineup_wire::relay::Party;
use serde_json::Value;
use tokio::{sync::Notify, task::JoinHandle, time::timeout};

use crate::server::PATIENCE;

/// The conversation of every round.
pub const CONVERSATION: &str = "main";

/// One line of the log.
#[derive(Clone, Debug)]
pub enum Line {
    /// A message of the agent's.
    Sent { id: String, bytes: Vec<u8> },
    /// The relay has said that it is responsible for a message of the agent's.
    Safe { id: String },
    /// A message for the agent, as it came.
    Got { bytes: Vec<u8>, frame: Value },
}

/// Everything that crossed the agent's wire, over all connections.
#[derive(Clone, Default)]
pub struct WireLog(Arc<Shared>);

#[derive(Default)]
struct Shared {
    lines: Mutex<Vec<Line>>,
    grew: Notify,
}

impl WireLog {
    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, line: Line) {
        self.lines().push(line);
        self.0.grew.notify_waiters();
    }

    /// A copy of what there is.
    pub fn read(&self) -> Vec<Line> {
        self.lines().clone()
    }

    /// Waits until the log fits.
    pub async fn until(&self, what: &str, fits: impl Fn(&[Line]) -> bool) -> Result<(), String> {
        self.until_for(what, PATIENCE, fits).await
    }

    /// As [`WireLog::until`], for so long.
    pub async fn until_for(
        &self,
        what: &str,
        patience: Duration,
        fits: impl Fn(&[Line]) -> bool,
    ) -> Result<(), String> {
        let wait = async {
            loop {
                let grew = self.0.grew.notified();
                tokio::pin!(grew);
                grew.as_mut().enable();
                if fits(&self.lines()) {
                    return;
                }
                grew.await;
            }
        };
        timeout(patience, wait).await.map_err(|_| format!("the agent waits for {what} and it does not come"))
    }
}

/// What the frames got so far say of a call.
pub fn frames_of<'a>(lines: &'a [Line], call: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter_map(move |line| match line {
        Line::Got { frame, .. } if frame["call_id"] == call && frame["final"] != false => Some(frame),
        Line::Got { .. } | Line::Sent { .. } | Line::Safe { .. } => None,
    })
}

/// Whether the frame is an outcome.
pub fn is_outcome(frame: &Value) -> bool {
    frame["final"] == true
}

/// Whether the outcome is there.
pub fn has_outcome(lines: &[Line], call: &str) -> bool {
    frames_of(lines, call).any(is_outcome)
}

/// Whether this stage has come.
pub fn has_stage(lines: &[Line], call: &str, stage: &str) -> bool {
    frames_of(lines, call).any(|frame| frame["stage"] == stage)
}

/// One connection of the agent.
pub struct Agent {
    link: Arc<Link>,
    connection: Connection,
    task: JoinHandle<()>,
    log: WireLog,
}

impl Agent {
    /// Connects; returns once the relay has said welcome.
    pub async fn connect(address: &str, token: &str, log: &WireLog) -> Result<Self, String> {
        let link = Arc::new(Link::open(Options::new(format!("ws://{address}/relay"), token)));
        let connection = match timeout(PATIENCE, link.next()).await {
            Ok(Ok(Event::Connected { connection, .. })) => connection,
            other => return Err(format!("the relay did not say welcome: {other:?}")),
        };
        let task = tokio::spawn(listen(Arc::clone(&link), log.clone()));
        Ok(Self { link, connection, task, log: log.clone() })
    }

    /// Sends a message; it is in the log before.
    pub async fn send(&self, envelope: &Value) -> Result<(), String> {
        let id = envelope["id"].as_str().unwrap_or_default().to_owned();
        let bytes = envelope.to_string().into_bytes();
        self.log.push(Line::Sent { id: id.clone(), bytes: bytes.clone() });
        self.put(id, bytes).await
    }

    /// Sends every message of the log once more: the same ids, the same bytes.
    pub async fn send_everything_again(&self) -> Result<(), String> {
        let sent = self.log.read().into_iter().filter_map(|line| match line {
            Line::Sent { id, bytes } => Some((id, bytes)),
            Line::Safe { .. } | Line::Got { .. } => None,
        });
        for (id, bytes) in sent {
            self.put(id, bytes).await?;
        }
        Ok(())
    }

    async fn put(&self, id: String, payload: Vec<u8>) -> Result<(), String> {
        let id = MessageId::new(&id).map_err(|error| format!("{id}: {error}"))?;
        let message = Outgoing { id, to: Party::Runtime, payload };
        self.link.send(self.connection, vec![message]).await.map_err(|error| error.to_string())
    }

    /// Reads what is still in the socket of a server that has died.
    pub async fn drain(mut self) {
        let _late = timeout(PATIENCE, &mut self.task).await;
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(link: Arc<Link>, log: WireLog) {
    loop {
        match link.next().await {
            Ok(Event::Delivered { token, payload, .. }) => {
                let frame = serde_json::from_slice(&payload).unwrap_or(Value::Null);
                log.push(Line::Got { bytes: payload, frame });
                let _gone = link.acknowledge(vec![token]).await;
            }
            Ok(Event::Acknowledged(id)) => log.push(Line::Safe { id: id.to_string() }),
            Ok(Event::Connected { .. } | Event::Refused(..)) => {}
            Ok(Event::Disconnected { .. }) | Err(_) => return,
        }
    }
}
