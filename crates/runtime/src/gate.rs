//! Between the engine and the transport: decoding what comes in, sending what goes out.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed},
};

use lineup_core::{
    Input, Rejected,
    journal::Addressed,
    workspace::input::{AgentInput, AgentRequest, TransportReport},
};
use lineup_failpoint::{Point, hit};
use lineup_model::{AgentId, ConversationId, MessageId, message::Refusal};
use lineup_ports::outbound::{Connection, Delivery, DeliveryToken, Outgoing, Transport, TransportEvent};
use lineup_wire::{RequestBody, decode_request};
use tokio::sync::mpsc;
use ulid::Ulid;

use crate::actor::Told;

/// Messages that wait for a slow connection before repeats are dropped: whoever wants one asks again.
const BACKLOG: usize = 10_000;

/// What the sending task is told.
enum Out {
    Messages(Connection, Vec<Addressed>),
    Refusal(Connection, AgentId, ConversationId, Refusal),
    Acknowledge(Vec<DeliveryToken>),
}

/// The way to the transport. Never waits.
#[derive(Clone)]
pub(crate) struct ToTransport {
    out: mpsc::UnboundedSender<Out>,
    waiting: Arc<AtomicUsize>,
    /// The connection that has got the whole outbox. What is new goes there and nowhere else: on a
    /// newer one it would go past what is to be sent again first (I47).
    connection: Arc<AtomicU32>,
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
                let (mut on, mut messages) = (Connection::default(), Vec::new());
                let mut acknowledged = Vec::new();
                for order in gulp.drain(..) {
                    if let Out::Messages(connection, _) | Out::Refusal(connection, ..) = &order
                        && *connection > on
                    {
                        // What is left for an older one is sent again on this one.
                        messages.clear();
                        on = *connection;
                    }
                    match order {
                        Out::Messages(connection, all) => {
                            counted.fetch_sub(all.len(), Relaxed);
                            if connection < on {
                                continue;
                            }
                            messages.extend(all.into_iter().map(|sent| Outgoing {
                                id: sent.message.id.clone(),
                                recipient: sent.recipient,
                                payload: lineup_wire::encode(&sent.message),
                            }));
                        }
                        Out::Refusal(connection, recipient, conversation, refusal) => {
                            counted.fetch_sub(1, Relaxed);
                            if connection < on {
                                continue;
                            }
                            let id = refusal_id();
                            let payload = lineup_wire::encode_refusal(&id, &conversation, &refusal);
                            messages.push(Outgoing { id, recipient, payload });
                        }
                        Out::Acknowledge(tokens) => acknowledged.extend(tokens),
                    }
                }
                if !messages.is_empty() {
                    hit(Point::GateEncoded);
                    if let Err(error) = transport.send(on, messages).await {
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
                if caught_up && !asked && queue.send(Told::Room).await.is_err() {
                    return;
                }
                asked = caught_up;
            }
        });
        Self { out, waiting, connection: Arc::default(), behind }
    }

    fn connection(&self) -> Connection {
        Connection(self.connection.load(Relaxed))
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
            self.order(messages.len(), Out::Messages(self.connection(), messages));
        } else {
            self.behind.store(true, Relaxed);
            // The task may have caught up in this very moment: it looks again.
            self.order(0, Out::Messages(self.connection(), Vec::new()));
        }
    }

    /// Sends the whole outbox on a connection that stands now. What is new follows it there.
    pub(crate) fn connected(&self, connection: Connection, outbox: Vec<Addressed>) {
        self.connection.store(connection.0, Relaxed);
        self.send_all(outbox);
    }

    /// Sends the whole outbox, once there is room for what was left to it.
    pub(crate) fn send_all(&self, outbox: Vec<Addressed>) {
        self.behind.store(false, Relaxed);
        if !outbox.is_empty() {
            self.order(outbox.len(), Out::Messages(self.connection(), outbox));
        }
    }

    /// Answers a request with a refusal (CALL-7).
    pub(crate) fn refuse(&self, recipient: AgentId, conversation: ConversationId, request: MessageId, why: Rejected) {
        if self.waiting.load(Relaxed) < BACKLOG {
            self.order(1, Out::Refusal(self.connection(), recipient, conversation, refusal(request, why)));
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
    let mut on = Connection::default();
    loop {
        let event = tokio::select! {
            event = transport.next() => event,
            () = queue.closed() => return,
        };
        let told = match event {
            Ok(TransportEvent::Connected(connection)) => {
                on = connection;
                Told::Connected(connection)
            }
            Ok(TransportEvent::Disconnected) => continue,
            Ok(TransportEvent::Acknowledged(message)) => {
                Told::Input(Input::Transport(TransportReport::Acknowledged(message)), None)
            }
            Ok(TransportEvent::Undeliverable(message, reason)) => {
                Told::Input(Input::Transport(TransportReport::Undeliverable { message, reason }), None)
            }
            Ok(TransportEvent::Delivered(delivery)) => match decode(delivery, on, &out) {
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
fn decode(delivery: Delivery, on: Connection, out: &ToTransport) -> Option<Told> {
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
                out.order(1, Out::Refusal(on, sender, conversation, refusal));
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
        transport.expect_send().returning(move |_, messages| {
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

    fn text(word: &str) -> Addressed {
        Addressed {
            recipient: "ann".parse().expect("a plain word is an id"),
            message: Arc::new(AgentMessage {
                id: word.parse().expect("a plain word is an id"),
                conversation: "main".parse().expect("a plain word is an id"),
                body: AgentBody::Text { text: word.to_owned() },
            }),
        }
    }

    #[tokio::test]
    async fn i47_what_is_new_is_sent_only_where_the_whole_outbox_was_sent_before() {
        let (said, mut heard) = mpsc::unbounded_channel();
        let mut transport = MockTransport::new();
        transport.expect_send().returning(move |on, messages| {
            for message in messages {
                let _ = said.send((on, message.id.to_string()));
            }
            Ok(())
        });
        let out = ToTransport::start(Arc::new(transport), mpsc::channel(1).0);
        // A deadline that passed while nobody ran, settled before anyone has heard of a connection.
        out.send(vec![text("outcome")]);
        out.connected(Connection(1), vec![text("started"), text("outcome")]);
        out.send(vec![text("lost")]);
        out.connected(Connection(2), vec![text("lost")]);
        out.send(vec![text("newer")]);
        drop(out);
        let mut sent = Vec::new();
        while let Some(message) = heard.recv().await {
            sent.push(message);
        }
        assert_eq!(sent, [(Connection(2), "lost".to_owned()), (Connection(2), "newer".to_owned())]);
    }

    #[tokio::test]
    async fn i48_what_a_slow_connection_had_no_room_for_is_asked_for_again_and_nothing_goes_past_it() {
        let (transport, mut heard) = transport(b"{}");
        let (queue, mut told) = mpsc::channel(1);
        let out = ToTransport::start(transport, queue);
        // Nothing is sent before this test waits for something.
        out.send(vec![text("early"); BACKLOG]);
        out.send(vec![text("left")]);
        assert!(matches!(told.recv().await, Some(Told::Room)));
        out.send(vec![text("next")]);
        out.send_all(vec![text("left"), text("next")]);
        out.send(vec![text("last")]);
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
