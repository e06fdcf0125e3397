//! A history that a test writes, as pages read it.

use std::{collections::BTreeMap, sync::Mutex};

use async_trait::async_trait;
use lineup_core::{Seq, session::AppSession};
use lineup_model::{ConversationId, message::Fault};
use lineup_ports::inbound::{
    AgentView, AppView, ConversationView, Conversations, Item, Range, Running, ToolView, What,
};
use serde_json::json;
use tokio::sync::watch;

/// What is durable, for two conversations: `main` with the agent `demo`, and `other` with nobody.
#[derive(Default)]
pub struct History {
    items: Mutex<BTreeMap<Seq, (ConversationId, Item)>>,
    pub sessions: Mutex<Vec<AppSession>>,
    durable: watch::Sender<Seq>,
    refusals: Mutex<Vec<Fault>>,
    /// How often items were read.
    reads: watch::Sender<usize>,
}

impl History {
    pub fn refuse_next(&self, fault: Fault) {
        self.refusals.lock().unwrap().push(fault);
    }

    /// Writes an item at the next place.
    pub fn add(&self, conversation: &str, what: What) -> u64 {
        let place = Seq(self.durable.borrow().0 + 1);
        self.set(conversation, place.0, what);
        place.0
    }

    /// Writes an item again, or at a place of its own.
    pub fn set(&self, conversation: &str, place: u64, what: What) {
        let item = Item { place: Seq(place), at: 1_000 + place as i64, what };
        self.items.lock().unwrap().insert(item.place, (conversation.parse().unwrap(), item));
        self.durable.send_modify(|durable| *durable = Seq((durable.0 + 1).max(place)));
    }

    pub fn say(&self, conversation: &str, text: &str) -> u64 {
        self.add(conversation, said(text))
    }

    /// Something became durable that no page shows.
    pub fn touch(&self) {
        self.durable.send_modify(|durable| *durable = durable.next());
    }

    pub fn reads(&self) -> usize {
        *self.reads.borrow()
    }

    fn refusal(&self) -> Result<(), Fault> {
        self.refusals.lock().unwrap().pop().map_or(Ok(()), Err)
    }
}

pub fn said(text: &str) -> What {
    What::AgentText { agent: "demo".parse().unwrap(), text: text.to_owned() }
}

/// A call that is open, with so much time left.
pub fn call(left_ms: u64) -> What {
    What::Call {
        call: "k1".parse().unwrap(),
        call_id: "c1".parse().unwrap(),
        agent: "demo".parse().unwrap(),
        tool: "pomodoro.start".parse().unwrap(),
        input: json!({ "minutes": 20 }),
        stage: Some(lineup_model::message::Stage::Started),
        running: Some(Running { length_ms: 1_200_000, remaining_ms: left_ms }),
        end: None,
    }
}

/// The same call, ended.
pub fn ended() -> What {
    let What::Call { call, call_id, agent, tool, input, .. } = call(0) else { unreachable!("it is a call") };
    let result = Some(json!({ "status": "completed" }));
    let class = lineup_model::message::OutcomeClass::Completed;
    let end = Some(lineup_ports::inbound::CallEnd { at: 9, class, result, error: None });
    What::Call { call, call_id, agent, tool, input, stage: None, running: None, end }
}

#[async_trait]
impl Conversations for History {
    async fn conversations(&self) -> Result<Vec<ConversationView>, Fault> {
        let tools = vec![ToolView { tool: "pomodoro.start".parse().unwrap(), description: "Starts.".to_owned() }];
        let agents = vec![AgentView { agent: "demo".parse().unwrap(), tools }];
        let view = |id: &str, title: &str, agents| ConversationView {
            conversation: id.parse().unwrap(),
            title: title.to_owned(),
            agents,
        };
        Ok(vec![view("main", "Main", agents), view("other", "", Vec::new())])
    }

    async fn apps(&self) -> Result<Vec<AppView>, Fault> {
        Ok(vec![AppView { app_scope: "pomodoro".parse().unwrap(), title: "Pomodoro".to_owned(), enabled: true }])
    }

    async fn items(&self, conversation: &ConversationId, range: Range, limit: u32) -> Result<Vec<Item>, Fault> {
        self.reads.send_modify(|reads| *reads += 1);
        self.refusal()?;
        let items = self.items.lock().unwrap();
        let ours = items.values().filter(|(of, _)| of == conversation).map(|(_, item)| item.clone());
        let limit = limit as usize;
        Ok(match range {
            Range::Before(before) => {
                let mut found: Vec<_> = ours.filter(|item| before.is_none_or(|before| item.place < before)).collect();
                found.reverse();
                found.truncate(limit);
                found
            }
            Range::After(after) => ours.filter(|item| item.place > after).take(limit).collect(),
            Range::At(places) => ours.filter(|item| places.contains(&item.place)).take(limit).collect(),
        })
    }

    async fn sessions(&self, conversation: &ConversationId, limit: u32) -> Result<Vec<AppSession>, Fault> {
        let sessions = self.sessions.lock().unwrap();
        let ours = sessions.iter().filter(|session| session.conversation == *conversation);
        Ok(ours.take(limit as usize).cloned().collect())
    }

    async fn changed(&self, after: Seq) -> Option<Seq> {
        let mut durable = self.durable.subscribe();
        durable.wait_for(|durable| *durable > after).await.ok().map(|durable| *durable)
    }
}
