//! AppServer without a network: what agents send goes in, what the Runtime sends is kept.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use async_trait::async_trait;
use lineup_model::AgentId;
use lineup_ports::outbound::{
    Connection, Delivery, DeliveryToken, Outgoing, Transport, TransportError, TransportEvent,
};
use tokio::sync::{Mutex as AsyncMutex, mpsc, watch};

/// AppServer without a network. Acknowledges what the Runtime sends unless it is told not to.
#[derive(Debug)]
pub struct InMemoryTransport {
    events: mpsc::UnboundedSender<TransportEvent>,
    next: AsyncMutex<mpsc::UnboundedReceiver<TransportEvent>>,
    connection: AtomicU32,
    token: AtomicU64,
    acknowledges: bool,
    sent: Mutex<Vec<Outgoing>>,
    taken: Mutex<Vec<DeliveryToken>>,
    count: watch::Sender<usize>,
    relay: Option<mpsc::UnboundedSender<Outgoing>>,
}

impl InMemoryTransport {
    /// One that acknowledges at once what it is given, and keeps it.
    #[must_use]
    pub fn acknowledging() -> Arc<Self> {
        Self::new(true, None)
    }

    /// One that never acknowledges.
    #[must_use]
    pub fn silent() -> Arc<Self> {
        Self::new(false, None)
    }

    /// One that acknowledges at once and passes everything on instead of keeping it.
    #[must_use]
    pub fn passing_on(to: mpsc::UnboundedSender<Outgoing>) -> Arc<Self> {
        Self::new(true, Some(to))
    }

    fn new(acknowledges: bool, relay: Option<mpsc::UnboundedSender<Outgoing>>) -> Arc<Self> {
        let (events, next) = mpsc::unbounded_channel();
        let transport = Arc::new(Self {
            events,
            next: AsyncMutex::new(next),
            connection: AtomicU32::new(0),
            token: AtomicU64::new(0),
            acknowledges,
            sent: Mutex::default(),
            taken: Mutex::default(),
            count: watch::channel(0).0,
            relay,
        });
        transport.reconnect();
        transport
    }

    /// A new connection stands from now on; what is sent on an older one is dropped.
    pub fn reconnect(&self) -> Connection {
        let connection = Connection(self.connection.fetch_add(1, Ordering::SeqCst) + 1);
        self.event(TransportEvent::Connected(connection));
        connection
    }

    /// Delivers an envelope of an agent's.
    pub fn deliver(&self, sender: &AgentId, payload: Vec<u8>) -> DeliveryToken {
        let token = DeliveryToken(self.token.fetch_add(1, Ordering::Relaxed));
        self.event(TransportEvent::Delivered(Delivery { token, sender: sender.clone(), payload }));
        token
    }

    /// Says something to the Runtime.
    pub fn event(&self, event: TransportEvent) {
        // A Runtime that is gone hears nothing.
        let _ = self.events.send(event);
    }

    /// Everything that the Runtime sent, in order.
    ///
    /// # Panics
    /// When another thread panicked while it held the list.
    #[must_use]
    pub fn sent(&self) -> Vec<Outgoing> {
        self.sent.lock().expect("no one panics while holding the list").clone()
    }

    /// The deliveries that the Runtime acknowledged.
    ///
    /// # Panics
    /// When another thread panicked while it held the list.
    #[must_use]
    pub fn acknowledged(&self) -> Vec<DeliveryToken> {
        self.taken.lock().expect("no one panics while holding the list").clone()
    }

    /// Waits until the Runtime has sent this many messages for which this holds, and returns the last.
    ///
    /// # Panics
    /// When another thread panicked while it held the list.
    pub async fn nth(&self, nth: usize, holds: impl Fn(&Outgoing) -> bool) -> Outgoing {
        let mut count = self.count.subscribe();
        loop {
            let found = self.sent().into_iter().filter(|sent| holds(sent)).nth(nth - 1);
            if let Some(found) = found {
                return found;
            }
            count.changed().await.expect("the sender is in self");
        }
    }

    /// Waits until the Runtime has sent something for which this holds, and returns it.
    ///
    /// # Panics
    /// When another thread panicked while it held the list.
    pub async fn until(&self, holds: impl Fn(&Outgoing) -> bool) -> Outgoing {
        self.nth(1, holds).await
    }

    /// Waits until the Runtime has acknowledged this many deliveries.
    pub async fn until_acknowledged(&self, deliveries: usize) {
        let mut count = self.count.subscribe();
        while self.acknowledged().len() < deliveries {
            count.changed().await.expect("the sender is in self");
        }
    }
}

#[async_trait]
impl Transport for InMemoryTransport {
    async fn next(&self) -> Result<TransportEvent, TransportError> {
        match self.next.lock().await.recv().await {
            Some(event) => Ok(event),
            None => std::future::pending().await,
        }
    }

    async fn send(&self, connection: Connection, messages: Vec<Outgoing>) -> Result<(), TransportError> {
        if connection.0 != self.connection.load(Ordering::SeqCst) {
            return Ok(());
        }
        for message in messages {
            if self.acknowledges {
                self.event(TransportEvent::Acknowledged(message.id.clone()));
            }
            match &self.relay {
                Some(relay) => {
                    // Nobody listens any more: the test is over.
                    let _ = relay.send(message);
                }
                None => self.sent.lock().expect("no one panics while holding the list").push(message),
            }
        }
        self.count.send_modify(|count| *count += 1);
        Ok(())
    }

    async fn acknowledge(&self, deliveries: Vec<DeliveryToken>) -> Result<(), TransportError> {
        self.taken.lock().expect("no one panics while holding the list").extend(deliveries);
        self.count.send_modify(|count| *count += 1);
        Ok(())
    }
}
