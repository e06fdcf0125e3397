//! The part that waits: texts and receipts in, texts and calls out.

use std::{collections::BTreeMap, time::Duration};

use lineup_agent::{
    Agent, AgentError, Call, CallOptions, Event, Incoming, Message,
    model::{CallId, ConversationId, ErrorCode, MessageId},
};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    Tools,
    talk::{News, Order, Step, Talk},
};

/// Takes what [`Agent::connect_listening`] gives, joins the conversation, and keeps talking there and
/// wherever else it is spoken to, until the agent's connection has ended for good. `now` is any clock that
/// does not go back; it is read to estimate how long is left. Dropping the future ends it; calls go on.
pub async fn run(
    (agent, mut incoming): (Agent, Incoming),
    conversation: ConversationId,
    now: impl Fn() -> Duration + Send,
) {
    let (found, mut finds) = mpsc::unbounded_channel();
    let (voice, said) = mpsc::unbounded_channel();
    let mut work = JoinSet::new();
    work.spawn(speak(agent.clone(), said));
    let mut dialogues = Dialogues { agent, talks: BTreeMap::new(), found, voice, work };
    dialogues.join(conversation);
    // Nothing in here waits for anything else: who does not read what comes in is answered nothing.
    loop {
        let find = tokio::select! {
            message = incoming.next() => match message {
                Some(message) => dialogues.came_in(message),
                None => return,
            },
            find = finds.recv() => find,
            Some(_done) = dialogues.work.join_next() => None,
        };
        if let Some(find) = find {
            let now = i64::try_from(now().as_millis()).unwrap_or(i64::MAX);
            dialogues.take_in(find, now);
        }
    }
}

/// What there is to take in.
enum Find {
    /// The person's words, once it is known what the agent may use.
    Text { conversation: ConversationId, id: MessageId, text: String },
    /// What became of a call.
    News { conversation: ConversationId, call_id: CallId, news: News },
}

/// What is said where, under which id.
type Words = (ConversationId, MessageId, String);

struct Dialogues {
    agent: Agent,
    talks: BTreeMap<ConversationId, Talk>,
    found: mpsc::UnboundedSender<Find>,
    voice: mpsc::UnboundedSender<Words>,
    work: JoinSet<()>,
}

impl Dialogues {
    fn join(&mut self, conversation: ConversationId) {
        let agent = self.agent.clone();
        self.work.spawn(async move {
            if let Err(error) = agent.hello(&conversation).await {
                tracing::warn!(%conversation, %error, "the demo agent is not in this conversation");
            }
        });
    }

    fn came_in(&mut self, message: Message) -> Option<Find> {
        match message {
            Message::Text { conversation, id, text } => {
                let find = Find::Text { conversation: conversation.clone(), id, text };
                if self.agent.inventory(&conversation).is_some() {
                    return Some(find);
                }
                // Before it knows what it may use, it would say that it may use nothing.
                let (agent, found) = (self.agent.clone(), self.found.clone());
                self.work.spawn(async move {
                    let joined = agent.hello(&conversation).await;
                    tracing::debug!(%conversation, ok = joined.is_ok(), "spoken to before it had joined");
                    let _ended = found.send(find);
                });
                None
            }
            Message::Call { conversation, call_id, event: Event::Receipt(_) } => {
                if self.talks.entry(conversation.clone()).or_default().finds(&call_id) {
                    let (agent, found) = (self.agent.clone(), self.found.clone());
                    self.work.spawn(async move {
                        if let Ok(call) = agent.status(&conversation, &call_id).await {
                            follow(call, &found, |_| false).await;
                        }
                    });
                }
                None
            }
            Message::Call { conversation, call_id, event } => {
                Some(Find::News { conversation, call_id, news: news(event) })
            }
            other => {
                tracing::debug!(?other, "the demo agent has nothing to say to this");
                None
            }
        }
    }

    fn take_in(&mut self, find: Find, now: i64) {
        let (conversation, step) = match find {
            Find::Text { conversation, id, text } => {
                let tools = self.agent.inventory(&conversation).map(|inventory| Tools::of(&inventory));
                let talk = self.talks.entry(conversation.clone()).or_default();
                let step = talk.heard(&id, &text, &tools.unwrap_or_default(), now);
                (conversation, Some(step))
            }
            Find::News { conversation, call_id, news } => {
                let talk = self.talks.entry(conversation.clone()).or_default();
                let step = talk.happened(&call_id, &news, now);
                (conversation, step)
            }
        };
        match step {
            // Nobody hears what is said while this ends.
            Some(Step::Say(id, text)) => drop(self.voice.send((conversation, id, text))),
            Some(Step::Call(order)) => {
                self.work.spawn(carry_out(self.agent.clone(), conversation, order, self.found.clone()));
            }
            None => {}
        }
    }
}

/// Says one thing after the other: each is safe at the relay before the next.
async fn speak(agent: Agent, mut words: mpsc::UnboundedReceiver<Words>) {
    while let Some((conversation, id, text)) = words.recv().await {
        if let Err(error) = agent.send_text_as(&conversation, id, text).await {
            tracing::warn!(%conversation, %error, "the demo agent was not heard");
        }
    }
}

/// Makes a call and follows it. If what it may use has changed meanwhile, it looks again and tries once more.
async fn carry_out(agent: Agent, conversation: ConversationId, order: Order, found: mpsc::UnboundedSender<Find>) {
    for is_last in [false, true] {
        let options = CallOptions { call_id: Some(order.call_id.clone()), ..CallOptions::default() };
        let code = match agent.invoke_with(&conversation, &order.tool, order.input.clone(), options).await {
            Ok(call) => {
                let is_stale = |code| !is_last && code == ErrorCode::InventoryRevisionMismatch;
                if !follow(call, &found, is_stale).await {
                    return;
                }
                match agent.hello(&conversation).await {
                    Ok(_) => continue,
                    Err(error) => code_of(&error),
                }
            }
            Err(error) => code_of(&error),
        };
        let news = News::Refused(code);
        let _ended = found.send(Find::News { conversation, call_id: order.call_id, news });
        return;
    }
}

/// Hands on what becomes of a call. Answers whether it was refused with a code that is to be hushed up.
async fn follow(mut call: Call, found: &mpsc::UnboundedSender<Find>, hush: impl Fn(ErrorCode) -> bool) -> bool {
    while let Some(event) = call.next().await {
        let news = news(event);
        if let News::Refused(code) = news
            && hush(code)
        {
            return true;
        }
        let (conversation, call_id) = (call.conversation().clone(), call.id().clone());
        if found.send(Find::News { conversation, call_id, news }).is_err() {
            break;
        }
    }
    false
}

fn news(event: Event) -> News {
    match event {
        Event::Receipt(receipt) => News::Receipt(receipt.stage),
        Event::Outcome(outcome) => News::Ended(outcome.end),
        Event::Refused(refusal) => News::Refused(refusal.error.code),
    }
}

fn code_of(error: &AgentError) -> ErrorCode {
    match error {
        AgentError::Malformed(fault) => fault.code,
        AgentError::Refused(refusal) => refusal.error.code,
        AgentError::TooManyRequests => ErrorCode::RateLimited,
        _ => ErrorCode::Internal,
    }
}
