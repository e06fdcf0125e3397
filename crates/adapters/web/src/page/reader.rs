//! What one page has been told, and what it is to be told next.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use lineup_core::Seq;
use lineup_model::{AgentId, AppSessionId, ConversationId, ErrorCode, message::Fault};
use lineup_ports::inbound::{self as ports, Conversations, Range};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{
    frames::{Item, Items, Page, PageDown, Session, State},
    items,
};

/// The shortest time between two pushes (ADR 0010).
const BETWEEN: Duration = Duration::from_millis(100);
/// How long after a failure it is read again.
const AGAIN: Duration = Duration::from_secs(1);
/// The most items in one frame.
pub(super) const MOST: u32 = 200;
/// The most letters in one frame, about; one item is always in it.
const BUDGET: usize = 512 * 1024;
/// The items of an answer that was asked for no number.
pub(super) const USUAL: u32 = 50;
/// The most items of which a page is told what becomes of them.
pub(super) const OPEN: usize = 256;
/// The most App sessions of a conversation that one is looked for in.
const SESSIONS: u32 = 1_000;

/// One page's place in what is durable.
pub(super) struct Reader {
    conversations: Arc<dyn Conversations>,
    presence: Option<watch::Receiver<BTreeSet<AgentId>>>,
    /// Up to here it is known that something has changed.
    seen: Seq,
    /// Whether something is to be read.
    due: bool,
    not_before: Instant,
    told: Option<State>,
    followed: Option<Followed>,
}

/// The conversation that a page follows.
struct Followed {
    conversation: ConversationId,
    /// Up to here the page has been told everything.
    place: Seq,
    /// What it was told and may still change, as it was told; `None` where that is not known.
    open: BTreeMap<Seq, Option<ports::Item>>,
}

impl Reader {
    pub fn new(conversations: Arc<dyn Conversations>, presence: Option<watch::Receiver<BTreeSet<AgentId>>>) -> Self {
        let not_before = Instant::now();
        Self { conversations, presence, seen: Seq(0), due: true, not_before, told: None, followed: None }
    }

    /// Waits for something to tell; `None` once the Runtime has stopped. Dropped in the middle it has
    /// told nothing and forgotten nothing.
    pub async fn next(&mut self) -> Option<Vec<PageDown>> {
        loop {
            if !self.due {
                self.seen = tokio::select! {
                    seen = self.conversations.changed(self.seen) => seen?,
                    () = changed(&mut self.presence) => self.seen,
                };
                self.due = true;
            }
            sleep_until(self.not_before).await;
            match self.read().await {
                Ok(frames) if frames.is_empty() => {}
                Ok(frames) => {
                    self.not_before = Instant::now() + BETWEEN;
                    return Some(frames);
                }
                Err(fault) => {
                    tracing::warn!(code = %fault.code, "what a page is to be told cannot be read; it is tried again");
                    self.not_before = Instant::now() + AGAIN;
                }
            }
        }
    }

    /// Reads what is new. What was told is written down after the last wait, so that a read that is
    /// dropped is done again.
    async fn read(&mut self) -> Result<Vec<PageDown>, Fault> {
        let mut frames = Vec::new();
        let state = self.state().await?;
        let news = match &self.followed {
            Some(followed) => Some(self.news(followed).await?),
            None => None,
        };
        self.due = news.as_ref().is_some_and(|news| news.more);
        if self.told.as_ref() != Some(&state) {
            frames.push(PageDown::State(state.clone()));
            self.told = Some(state);
        }
        if let (Some(news), Some(followed)) = (news, &mut self.followed)
            && !news.items.is_empty()
        {
            let conversation = followed.conversation.clone();
            followed.take(&news.items, news.place);
            let items = news.items.into_values().map(items::item).collect();
            frames.push(PageDown::Items(Items { conversation, items }));
        }
        Ok(frames)
    }

    async fn state(&self) -> Result<State, Fault> {
        let (conversations, apps) = (self.conversations.conversations().await?, self.conversations.apps().await?);
        let connected = self.presence.as_ref().map(|presence| presence.borrow().clone()).unwrap_or_default();
        Ok(items::state(conversations, apps, &connected))
    }

    async fn news(&self, followed: &Followed) -> Result<News, Fault> {
        let mut news = News { place: followed.place, items: BTreeMap::new(), more: false };
        if !followed.open.is_empty() {
            let (places, most) = (followed.open.keys().copied().collect(), OPEN as u32);
            for item in self.conversations.items(&followed.conversation, Range::At(places), most).await? {
                let told = followed.open.get(&item.place).and_then(Option::as_ref);
                if told.is_none_or(|told| !items::say_the_same(told, &item)) {
                    news.items.insert(item.place, item);
                }
            }
        }
        let after = self.conversations.items(&followed.conversation, Range::After(followed.place), MOST).await?;
        let count = after.len();
        let fitting = within(after);
        news.more = fitting.len() < count || count == MOST as usize;
        for item in fitting {
            news.place = item.place;
            news.items.insert(item.place, item);
        }
        Ok(news)
    }

    /// Follows a conversation from now on.
    pub async fn follow(
        &mut self,
        conversation: ConversationId,
        after: Option<Seq>,
        open: BTreeSet<Seq>,
    ) -> Result<Page, Fault> {
        self.known(&conversation).await?;
        let Some(after) = after else {
            let mut followed = Followed { conversation, place: Seq(0), open: unknown(open) };
            let (items, older) = self.before(&followed.conversation, None, USUAL).await?;
            let place = items.last_key_value().map_or(Seq(0), |(place, _)| *place);
            followed.take(&items, place);
            self.start(followed);
            return Ok(page(items, Some(older)));
        };
        let mut followed = Followed { conversation, place: after, open: unknown(open) };
        let news = self.news(&followed).await?;
        followed.take(&news.items, news.place);
        self.start(followed);
        Ok(page(news.items, None))
    }

    fn start(&mut self, followed: Followed) {
        self.followed = Some(followed);
        // What came while this was read is read again.
        self.due = true;
    }

    /// Items before a place, or the newest. Those that may still change are told of from now on, if
    /// their conversation is followed.
    pub async fn history(
        &mut self,
        conversation: &ConversationId,
        before: Option<Seq>,
        limit: u32,
    ) -> Result<Page, Fault> {
        self.known(conversation).await?;
        let (items, older) = self.before(conversation, before, limit).await?;
        if let Some(followed) = self.followed.as_mut().filter(|followed| followed.conversation == *conversation) {
            followed.take(&items, followed.place);
        }
        Ok(page(items, Some(older)))
    }

    /// An App session, wherever it is.
    pub async fn session(&self, session: &AppSessionId) -> Result<Option<Session>, Fault> {
        for view in self.conversations.conversations().await? {
            let sessions = self.conversations.sessions(&view.conversation, SESSIONS).await?;
            if let Some(found) = sessions.into_iter().find(|found| found.id == *session) {
                return Ok(Some(found.into()));
            }
        }
        Ok(None)
    }

    async fn before(
        &self,
        conversation: &ConversationId,
        before: Option<Seq>,
        limit: u32,
    ) -> Result<(BTreeMap<Seq, ports::Item>, bool), Fault> {
        let found = self.conversations.items(conversation, Range::Before(before), limit + 1).await?;
        let count = found.len();
        let mut fitting = within(found);
        fitting.truncate(limit as usize);
        let older = fitting.len() < count;
        Ok((fitting.into_iter().map(|item| (item.place, item)).collect(), older))
    }

    async fn known(&self, conversation: &ConversationId) -> Result<(), Fault> {
        let conversations = self.conversations.conversations().await?;
        if conversations.iter().any(|view| view.conversation == *conversation) {
            return Ok(());
        }
        Err(Fault::new(ErrorCode::ConversationNotFound, format!("there is no conversation `{conversation}`")))
    }
}

/// What a page is to be told about a conversation.
struct News {
    items: BTreeMap<Seq, ports::Item>,
    /// Up to here it has been told everything then.
    place: Seq,
    /// Whether there may be more.
    more: bool,
}

impl Followed {
    /// Writes down what the page was told.
    fn take(&mut self, items: &BTreeMap<Seq, ports::Item>, place: Seq) {
        for (place, item) in items {
            if items::is_open(item) {
                self.open.insert(*place, Some(item.clone()));
            } else {
                self.open.remove(place);
            }
        }
        while self.open.len() > OPEN {
            self.open.pop_first();
        }
        self.place = self.place.max(place);
    }
}

fn unknown(open: BTreeSet<Seq>) -> BTreeMap<Seq, Option<ports::Item>> {
    open.into_iter().map(|place| (place, None)).collect()
}

fn page(items: BTreeMap<Seq, ports::Item>, older: Option<bool>) -> Page {
    let items: Vec<Item> = items.into_values().map(items::item).collect();
    Page { items, older }
}

/// The first items that fit into one frame, at least one.
fn within(mut items: Vec<ports::Item>) -> Vec<ports::Item> {
    let mut letters = 0;
    let mut fit = 0;
    for item in &items {
        letters += weight(item);
        if fit > 0 && letters > BUDGET {
            break;
        }
        fit += 1;
    }
    items.truncate(fit);
    items
}

/// About how many letters an item has as a frame. Rendered text is there twice, with its markup.
fn weight(item: &ports::Item) -> usize {
    200 + match &item.what {
        ports::What::AgentText { text, .. } => 3 * text.len(),
        ports::What::Action { input, .. } => 3 * input.to_string().len(),
        ports::What::Call { input, end, .. } => {
            let result = end.as_ref().and_then(|end| end.result.as_ref());
            input.to_string().len() + result.map_or(0, |result| result.to_string().len())
        }
        _ => 0,
    }
}

/// Waits until other agents are there; for ever, where nobody says it.
async fn changed(presence: &mut Option<watch::Receiver<BTreeSet<AgentId>>>) {
    if let Some(watched) = presence {
        if watched.changed().await.is_ok() {
            return;
        }
        // Nobody says it any more.
        *presence = None;
    }
    std::future::pending().await
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
