//! Between the engine and the transport: decoding what comes in, sending what goes out.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use lineup_core::{
    Input, Rejected,
    journal::Addressed,
    workspace::input::{AgentInput, AgentRequest, TransportReport},
};
use lineup_failpoint::{Point, hit};
use lineup_model::{AgentId, ConversationId, MessageId, message::Refusal};
use lineup_ports::outbound::{Delivery, DeliveryToken, Outgoing, Transport, TransportEvent};
use lineup_wire::{RequestBody, decode_request};
use tokio::sync::mpsc;
use ulid::Ulid;

use crate::actor::Told;

/// Messages that wait for a slow connection before repeats are dropped: whoever wants one asks again.
const BACKLOG: usize = 10_000;

/// What the sending task is told.
enum Out {
    Messages(Vec<Addressed>),
    Refusal(AgentId, ConversationId, Refusal),
    Acknowledge(Vec<DeliveryToken>),
}

/// The way to the transport. Never waits.
#[derive(Clone)]
pub(crate) struct ToTransport {
    out: mpsc::UnboundedSender<Out>,
    waiting: Arc<AtomicUsize>,
    /// Whether messages were left to the outbox: until all of it was sent again nothing goes past
    /// them (I47).
    behind: Arc<AtomicBool>,
}

impl ToTransport {
    /// Starts the task that sends. Once it has caught up with a slow connection it asks `queue` for
    /// what was left to the outbox.
    pub(crate) fn start(transport: Arc<dyn Transport>, queue: mpsc::Sender<Told>) -> Self {
        let (out, mut orders) = mpsc::unbounded_channel::<Out>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let behind = Arc::new(AtomicBool::new(false));
        let (counted, late) = (waiting.clone(), behind.clone());
        tokio::spawn(async move {
            let mut asked = false;
            let mut gulp = Vec::with_capacity(64);
            while orders.recv_many(&mut gulp, 64).await > 0 {
                let mut messages = Vec::new();
                let mut acknowledged = Vec::new();
                for order in gulp.drain(..) {
                    match order {
                        Out::Messages(all) => {
                            counted.fetch_sub(all.len(), Relaxed);
                            messages.extend(all.into_iter().map(|sent| Outgoing {
                                id: sent.message.id.clone(),
                                recipient: sent.recipient,
                                payload: lineup_wire::encode(&sent.message),
                            }));
                        }
                        Out::Refusal(recipient, conversation, refusal) => {
                            counted.fetch_sub(1, Relaxed);
                            let id = refusal_id();
                            let payload = lineup_wire::encode_refusal(&id, &conversation, &refusal);
                            messages.push(Outgoing { id, recipient, payload });
                        }
                        Out::Acknowledge(tokens) => acknowledged.extend(tokens),
                    }
                }
                if !messages.is_empty() {
                    hit(Point::GateEncoded);
                    if let Err(error) = transport.send(messages).await {
                        tracing::error!(%error, "the transport is closed");
                        return;
                    }
                    hit(Point::GateSent);
                }
                if !acknowledged.is_empty() {
                    if let Err(error) = transport.acknowledge(acknowledged).await {
                        tracing::error!(%error, "the transport is closed");
                        return;
                    }
                    hit(Point::GateAcknowledged);
                }
                let caught_up = late.load(Relaxed) && counted.load(Relaxed) == 0;
                if caught_up && !asked && queue.send(Told::Connected).await.is_err() {
                    return;
                }
                asked = caught_up;
            }
        });
        Self { out, waiting, behind }
    }

    fn order(&self, count: usize, order: Out) {
        self.waiting.fetch_add(count, Relaxed);
        // A closed transport has said so in the log.
        let _ = self.out.send(order);
    }

    /// Sends messages in this order. What does not fit is in the outbox and sent once there is room,
    /// or is a repeat that is asked for again.
    pub(crate) fn send(&self, messages: Vec<Addressed>) {
        if messages.is_empty() || self.behind.load(Relaxed) {
            return;
        }
        if self.waiting.load(Relaxed) < BACKLOG {
            self.order(messages.len(), Out::Messages(messages));
        } else {
            self.behind.store(true, Relaxed);
            // The task may have caught up in this very moment: it looks again.
            self.order(0, Out::Messages(Vec::new()));
        }
    }

    /// Sends the whole outbox, after a reconnect or once there is room for what was left to it.
    pub(crate) fn send_all(&self, messages: Vec<Addressed>) {
        self.behind.store(false, Relaxed);
        if !messages.is_empty() {
            self.order(messages.len(), Out::Messages(messages));
        }
    }

    /// Answers a request with a refusal (CALL-7).
    pub(crate) fn refuse(&self, recipient: AgentId, conversation: ConversationId, request: MessageId, why: Rejected) {
        if self.waiting.load(Relaxed) < BACKLOG {
            self.order(1, Out::Refusal(recipient, conversation, refusal(request, why)));
        }
    }

    /// Tells AppServer that these deliveries are safe here.
    pub(crate) fn acknowledge(&self, tokens: Vec<DeliveryToken>) {
        if !tokens.is_empty() {
            self.order(0, Out::Acknowledge(tokens));
        }
    }
}

/// A rejection as it is sent.
pub(crate) fn refusal(request: MessageId, why: Rejected) -> Refusal {
    Refusal { in_reply_to: request, call_id: why.call_id, error: why.fault, current_revision: why.current_revision }
}

/// A refusal is not in the journal: its id is only unique.
fn refusal_id() -> MessageId {
    MessageId::new(format!("r{}", Ulid::generate())).expect("a letter and a ULID are a well-formed id")
}

/// Takes in what the transport has to say, until it can never connect again.
pub(crate) async fn listen(transport: Arc<dyn Transport>, queue: mpsc::Sender<Told>, out: ToTransport) {
    loop {
        let event = tokio::select! {
            event = transport.next() => event,
            () = queue.closed() => return,
        };
        let told = match event {
            Ok(TransportEvent::Connected) => Told::Connected,
            Ok(TransportEvent::Disconnected) => continue,
            Ok(TransportEvent::Acknowledged(message)) => {
                Told::Input(Input::Transport(TransportReport::Acknowledged(message)), None)
            }
            Ok(TransportEvent::Undeliverable(message, reason)) => {
                Told::Input(Input::Transport(TransportReport::Undeliverable { message, reason }), None)
            }
            Ok(TransportEvent::Delivered(delivery)) => match decode(delivery, &out) {
                Some(told) => {
                    hit(Point::GateDecoded);
                    told
                }
                None => continue,
            },
            Err(error) => {
                tracing::error!(%error, "the transport is closed");
                return;
            }
        };
        let envelope = matches!(told, Told::Envelope { .. });
        if queue.send(told).await.is_err() {
            return;
        }
        if envelope {
            hit(Point::GateQueued);
        }
    }
}

/// Decodes an envelope. One that is no request is dropped and counted; a request that cannot be
/// read is refused (WIRE-5).
fn decode(delivery: Delivery, out: &ToTransport) -> Option<Told> {
    let Delivery { token, sender, payload } = delivery;
    match decode_request(&payload) {
        Ok(request) => {
            let message = request.id.clone();
            let input = Input::Agent(AgentInput {
                agent: sender,
                message: request.id,
                conversation: request.conversation,
                request: asked(request.body),
            });
            Some(Told::Envelope { input, message, token })
        }
        Err(malformed) => {
            tracing::debug!(agent = %sender, reason = malformed.reason.as_str(), "an envelope was not read");
            if let (true, Some(request), Some(conversation)) =
                (malformed.is_request, malformed.in_reply_to, malformed.conversation)
            {
                let refusal = Refusal {
                    in_reply_to: request,
                    call_id: malformed.call_id,
                    error: malformed.fault,
                    current_revision: None,
                };
                out.order(1, Out::Refusal(sender, conversation, refusal));
            }
            out.acknowledge(vec![token]);
            None
        }
    }
}

fn asked(body: RequestBody) -> AgentRequest {
    match body {
        RequestBody::Hello => AgentRequest::Hello,
        RequestBody::Invoke(invoke) => AgentRequest::Invoke {
            call_id: invoke.call_id,
            tool: invoke.tool,
            input: Arc::new(serde_json::Value::Object(invoke.input)),
            revision: invoke.inventory_revision,
            expires_at: invoke.expires_at,
        },
        RequestBody::Status { call_id } => AgentRequest::Status { call_id },
        RequestBody::Cancel { call_id } => AgentRequest::Cancel { call_id },
        RequestBody::Text { text } => AgentRequest::Text { text },
    }
}

#[cfg(test)]
mod tests {
    use lineup_model::message::{AgentBody, AgentMessage};
    use lineup_ports::outbound::{MockTransport, TransportError};

    use super::*;

    /// A transport that delivers these bytes once, and says which messages and acknowledgements it
    /// was given.
    fn transport(payload: &'static [u8]) -> (Arc<MockTransport>, mpsc::UnboundedReceiver<String>) {
        let (said, heard) = mpsc::unbounded_channel();
        let mut transport = MockTransport::new();
        let mut events = vec![TransportEvent::Delivered(Delivery {
            token: DeliveryToken(7),
            sender: "ann".parse().expect("a plain word is an id"),
            payload: payload.to_vec(),
        })];
        transport.expect_next().returning(move || match events.pop() {
            Some(event) => Ok(event),
            None => Err(TransportError { operation: "next", retryable: false, source: None }),
        });
        let sent = said.clone();
        transport.expect_send().returning(move |messages| {
            for message in messages {
                let _ = sent.send(String::from_utf8_lossy(&message.payload).into_owned());
            }
            Ok(())
        });
        transport.expect_acknowledge().returning(move |tokens| {
            for token in tokens {
                let _ = said.send(format!("acknowledged {}", token.0));
            }
            Ok(())
        });
        (Arc::new(transport), heard)
    }

    async fn heard(payload: &'static [u8], lines: usize) -> (Vec<String>, Option<Told>) {
        let (transport, mut heard) = transport(payload);
        let (queue, mut told) = mpsc::channel(1);
        let out = ToTransport::start(transport.clone(), queue.clone());
        listen(transport, queue, out).await;
        let mut said = Vec::new();
        for _ in 0..lines {
            said.push(heard.recv().await.expect("the gate says something"));
        }
        (said, told.try_recv().ok())
    }

    #[tokio::test]
    async fn i48_what_a_slow_connection_had_no_room_for_is_asked_for_again_and_nothing_goes_past_it() {
        let (transport, mut heard) = transport(b"{}");
        let (queue, mut told) = mpsc::channel(1);
        let out = ToTransport::start(transport, queue);
        let message = |word: &str| Addressed {
            recipient: "ann".parse().expect("a plain word is an id"),
            message: Arc::new(AgentMessage {
                id: word.parse().expect("a plain word is an id"),
                conversation: "main".parse().expect("a plain word is an id"),
                body: AgentBody::Text { text: word.to_owned() },
            }),
        };
        // Nothing is sent before this test waits for something.
        out.send(vec![message("early"); BACKLOG]);
        out.send(vec![message("left")]);
        assert!(matches!(told.recv().await, Some(Told::Connected)));
        out.send(vec![message("next")]);
        out.send_all(vec![message("left"), message("next")]);
        out.send(vec![message("last")]);
        let mut said = Vec::new();
        for _ in 0..BACKLOG + 3 {
            said.push(heard.recv().await.expect("the gate says something"));
        }
        for (at, word) in ["left", "next", "last"].iter().enumerate() {
            assert!(said[BACKLOG + at].contains(word), "{}", said[BACKLOG + at]);
        }
    }

    #[tokio::test]
    async fn wire_5_what_is_no_request_is_acknowledged_dropped_and_never_answered() {
        let (said, told) = heard(br#"{"type":"lineup.v1.something.else","id":"m1","conversation_id":"main"}"#, 1).await;
        assert_eq!(said, ["acknowledged 7"]);
        assert!(told.is_none());
    }

    #[tokio::test]
    async fn wire_5_a_request_that_cannot_be_read_is_refused_and_reaches_nobody() {
        let bytes =
            br#"{"type":"lineup.v1.tool.status","id":"m1","conversation_id":"main","call_id":"k1","owner":"me"}"#;
        let (said, told) = heard(bytes, 2).await;
        assert!(said[0].contains("envelope_invalid") && said[0].contains("reserved_field"), "{said:?}");
        assert_eq!(said[1], "acknowledged 7");
        assert!(told.is_none());
    }

    #[tokio::test]
    async fn dur_3_a_request_that_was_read_is_not_acknowledged_before_it_is_settled() {
        let bytes = br#"{"type":"lineup.v1.tool.status","id":"m1","conversation_id":"main","call_id":"k1"}"#;
        let (said, told) = heard(bytes, 0).await;
        assert!(said.is_empty());
        assert!(matches!(told, Some(Told::Envelope { token: DeliveryToken(7), .. })));
    }
}
