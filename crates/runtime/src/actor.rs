//! The actor: the small asynchronous loop around the engine. Awaits its queue and the store only.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use lineup_core::{Answer, Input, Rejected, Seq, Workspace, workspace::facts::Fetched};
use lineup_failpoint::{Point, hit};
use lineup_model::{WorkspaceId, message::AgentBody};
use lineup_ports::outbound::{Clock, Committed, Connection, DeliveryToken, Store, StoreError};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    effects::Ticket,
    engine::{Engine, EngineCounters, Standing},
    gate::ToTransport,
    questions::{FromStore, Questions},
    reconcile::Reconciler,
};

/// The least pause between two ticks for the same alarm, in milliseconds.
const TICK: u64 = 100;
/// Inputs taken from the queue at once.
const GULP: usize = 256;

/// What the actor is told.
pub(crate) enum Told {
    /// Something happened; the one who asked may wait for the answer.
    Input(Input, Option<oneshot::Sender<Result<Answer, Box<Rejected>>>>),
    /// An envelope was decoded; its delivery is acknowledged once it is settled.
    Envelope { input: Input, message: lineup_model::MessageId, token: DeliveryToken },
    /// AppServer is reachable on this connection: everything in the outbox is to be sent there.
    Connected(Connection),
    /// There is room again for what was left to the outbox.
    Room,
    /// Someone wants to look at what is durable.
    Look(oneshot::Sender<Glance>),
    /// The process is about to stop.
    Stop(oneshot::Sender<()>),
}

/// What is durable, and how busy the engine is.
pub(crate) struct Glance {
    pub(crate) workspace: Workspace,
    pub(crate) counters: EngineCounters,
    pub(crate) backlog: usize,
    pub(crate) standing: Standing,
    pub(crate) effective: lineup_model::Effective,
}

/// Whoever waits for a ticket.
enum Waiter {
    Caller(oneshot::Sender<Result<Answer, Box<Rejected>>>),
    Delivery {
        token: DeliveryToken,
        message: lineup_model::MessageId,
        recipient: lineup_model::AgentId,
        conversation: lineup_model::ConversationId,
    },
}

pub(crate) struct Actor {
    pub(crate) workspace: WorkspaceId,
    pub(crate) engine: Engine,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) queue: mpsc::Receiver<Told>,
    /// The last place that is durable, for whoever waits for more.
    pub(crate) last: watch::Sender<Seq>,
    pub(crate) transport: ToTransport,
    pub(crate) reconciler: Reconciler,
}

impl Actor {
    pub(crate) async fn run(self) {
        let Self { workspace, mut engine, store, clock, mut queue, last, transport, mut reconciler } = self;
        let mut waiters: BTreeMap<Ticket, Waiter> = BTreeMap::new();
        let mut gulp = Vec::with_capacity(GULP);
        let mut questions = Questions::new(store.clone(), workspace.clone());
        let mut stopping: Option<oneshot::Sender<()>> = None;
        // Nothing is told to anyone before the recovery is durable: it counts the deliveries anew.
        let mut recovered = false;
        // Whether a batch has become durable and nothing has followed from it yet.
        let mut fresh = false;
        // The tick that is under way: time is not told twice what it has been told once.
        let mut tick: Option<Ticket> = None;
        let mut ticked_at: Option<lineup_model::Effective> = None;
        loop {
            // Deciding and committing, as far as it goes without waiting.
            loop {
                let mut moved = false;
                if let Some(needs) = engine.take_needs() {
                    hit(Point::ActorFactsAsked);
                    if let Some(fetched) = questions.fetch(needs).await {
                        facts(&mut engine, fetched, true);
                    }
                    moved = true;
                }
                if let Some(commit) = engine.take_batch() {
                    hit(if recovered { Point::ActorBatchTaken } else { Point::RecoveryDecided });
                    if lineup_failpoint::sends_before_commit() {
                        // The control run of proof/kill: what nobody may ever do.
                        let messages = |changes: &lineup_core::ChangeSet| {
                            changes.journal.iter().flat_map(|row| row.body.messages.clone()).collect::<Vec<_>>()
                        };
                        transport.send(commit.changes.iter().flat_map(messages).collect());
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    if let Some(answer) = questions.commit(commit).await {
                        fresh |= settle(&mut engine, answer, recovered);
                    }
                    moved = true;
                }
                let mut effects = engine.take_effects();
                if effects != crate::Effects::default() {
                    moved = true;
                    if std::mem::take(&mut fresh) {
                        hit(Point::ActorEffectsTaken);
                    }
                    let mut acknowledged = Vec::new();
                    let mut send = std::mem::take(&mut effects.send);
                    for (ticket, outcome) in std::mem::take(&mut effects.settled) {
                        if tick == Some(ticket) {
                            tick = None;
                        }
                        match waiters.remove(&ticket) {
                            Some(Waiter::Caller(caller)) => {
                                // A caller that went away needs no answer.
                                let _ = caller.send(outcome);
                            }
                            Some(Waiter::Delivery { token, message, recipient, conversation }) => {
                                if let Err(rejected) = outcome {
                                    transport.refuse(recipient, conversation, message, *rejected);
                                }
                                acknowledged.push(token);
                            }
                            None => {}
                        }
                    }
                    // A superseded inventory that was not sent yet is not worth sending.
                    send.retain(|sent| match &sent.message.body {
                        AgentBody::Inventory { sequence, .. } => {
                            engine.durable().is_current(&sent.recipient, &sent.message.conversation, *sequence)
                        }
                        AgentBody::Receipt(_) | AgentBody::Outcome(_) | AgentBody::Text { .. } => true,
                    });
                    transport.send(send);
                    hit(Point::ActorSendOrdered);
                    transport.acknowledge(acknowledged);
                    hit(Point::ActorAckOrdered);
                    reconciler.follow(engine.durable(), engine.time().effective, &effects);
                    hit(Point::ActorFollowed);
                    let place = engine.durable().last();
                    last.send_if_modified(|last| std::mem::replace(last, place) != place);
                    if !recovered {
                        recovered = true;
                        hit(Point::RecoveryFollowed);
                        reconciler.everything(engine.durable(), engine.time().effective);
                        hit(Point::RecoveryShown);
                    }
                }
                if !moved {
                    break;
                }
            }
            match engine.standing() {
                Standing::Serving => {}
                Standing::Unavailable => questions.probe(),
                Standing::Unknown => questions.reopen(false),
                Standing::Fenced => {
                    tracing::error!(%workspace, "another process owns the workspace; this one stops");
                    store.close().await;
                    if let Some(stopped) = stopping.take() {
                        let _ = stopped.send(());
                    }
                    return;
                }
            }
            // What is kept while the store takes nothing comes again at the next start: a full disk
            // does not keep the process.
            let done = engine.backlog() == 0 || engine.standing() == Standing::Unavailable;
            if stopping.is_some() && done {
                store.close().await;
                if let Some(stopped) = stopping.take() {
                    let _ = stopped.send(());
                }
                return;
            }

            let wait = match engine.durable().next_alarm() {
                Some(alarm) if tick.is_none() && engine.standing() == Standing::Serving => {
                    let reading = clock.read();
                    let now = engine.time().at(&reading.boot, reading.boot_ms, reading.wall).effective;
                    // One that is still due after its tick is a fault of ours; it must not spin.
                    let pause = if ticked_at.is_some_and(|at| alarm <= at) { TICK } else { 0 };
                    Some(reading.boot_ms.saturating_add(alarm.since(now).max(pause)))
                }
                Some(_) | None => None,
            };
            tokio::select! {
                biased;
                answered = questions.answer() => {
                    engine.read_clock(&clock.read());
                    match answered {
                        FromStore::Settled(answer) => fresh |= settle(&mut engine, answer, recovered),
                        FromStore::Fetched(fetched) => facts(&mut engine, fetched, false),
                        FromStore::Probed(Ok(())) => engine.available(),
                        FromStore::Probed(Err(_)) => {}
                        FromStore::Reopened(Ok(last_batch)) => engine.reopened(last_batch),
                        FromStore::Reopened(Err(error)) => {
                            tracing::error!(%workspace, %error, "the store could not be reopened");
                            // Asked again after a pause: nothing is sent meanwhile.
                            questions.reopen(true);
                        }
                    }
                }
                count = queue.recv_many(&mut gulp, GULP) => {
                    if count == 0 {
                        return;
                    }
                    engine.read_clock(&clock.read());
                    for told in gulp.drain(..) {
                        match told {
                            Told::Input(input, caller) => {
                                let point = offered(&input);
                                let ticket = engine.offer(input);
                                hit(point);
                                if let Some(caller) = caller {
                                    waiters.insert(ticket, Waiter::Caller(caller));
                                }
                            }
                            Told::Envelope { input, message, token } => {
                                let Input::Agent(asked) = &input else { continue };
                                let (recipient, conversation) = (asked.agent.clone(), asked.conversation.clone());
                                let ticket = engine.offer(input);
                                hit(Point::ActorEnvelopeOffered);
                                waiters.insert(ticket, Waiter::Delivery { token, message, recipient, conversation });
                            }
                            Told::Connected(connection) => {
                                hit(Point::ActorResending);
                                transport.connected(connection, engine.outbox());
                            }
                            Told::Room => transport.send_all(engine.outbox()),
                            Told::Look(who) => {
                                let _ = who.send(Glance {
                                    workspace: engine.durable().clone(),
                                    counters: engine.counters(),
                                    backlog: engine.backlog(),
                                    standing: engine.standing(),
                                    effective: engine.time().effective,
                                });
                            }
                            Told::Stop(stopped) => {
                                engine.flush();
                                stopping = Some(stopped);
                            }
                        }
                    }
                }
                () = until(&*clock, wait) => {
                    engine.read_clock(&clock.read());
                    if engine.durable().next_alarm().is_some_and(|at| at <= engine.time().effective) {
                        ticked_at = Some(engine.time().effective);
                        tick = Some(engine.offer(Input::Clock));
                        hit(Point::ActorTickOffered);
                    }
                }
            }
        }
    }
}

/// Takes in what became of a batch; says whether it is durable.
fn settle(engine: &mut Engine, answer: Committed, recovered: bool) -> bool {
    let durable = answer == Committed::Committed;
    if durable {
        hit(if recovered { Point::ActorCommitAnswered } else { Point::RecoveryCommitted });
    } else {
        tracing::warn!(?answer, "a batch was not committed");
    }
    engine.settled(answer);
    if durable {
        hit(Point::ActorSettled);
    }
    durable
}

/// Takes in what was fetched; `at_once` says that the store did not read for it.
fn facts(engine: &mut Engine, fetched: Result<Fetched, StoreError>, at_once: bool) {
    match fetched {
        Ok(fetched) if at_once => engine.known(fetched),
        Ok(fetched) => engine.fetched(Some(fetched)),
        Err(error) => {
            tracing::error!(%error, "facts could not be read");
            engine.fetched(None);
        }
    }
    hit(Point::ActorFactsTaken);
}

/// Which point an input passes.
fn offered(input: &Input) -> Point {
    match input {
        Input::HostReport(_) => Point::ActorHostOffered,
        Input::UiAction(_) | Input::HostIntent(_) | Input::Setup(_) => Point::ActorUserOffered,
        Input::App(_) | Input::MiniApp(_) => Point::ActorAppOffered,
        Input::Transport(_) => Point::ActorAcceptedOffered,
        Input::Clock => Point::ActorTickOffered,
        Input::Agent(_) => Point::ActorEnvelopeOffered,
        Input::Recovered { .. } => Point::RecoveryOffered,
    }
}

async fn until(clock: &dyn Clock, boot_ms: Option<u64>) {
    match boot_ms {
        Some(boot_ms) => clock.wait_until(boot_ms).await,
        None => std::future::pending().await,
    }
}
