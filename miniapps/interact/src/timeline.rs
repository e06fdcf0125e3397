//! What Interact's view shows, as its session data keeps it: the last texts, oldest first.
use lineup_sdk::prelude::*;

/// The longest timeline that is kept, in texts. Older ones stay in the conversation's history.
pub const ENTRIES: usize = 200;

/// The longest timeline that is kept, in bytes of JSON: well inside the session data's 256 KiB.
pub const BYTES: usize = 192 * 1024;

/// The session data of Interact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The texts, oldest first.
    #[serde(default)]
    pub entries: Vec<Entry>,
}

/// One text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The view's echo id of the person's text, or the message that brought an agent's.
    pub id: String,
    /// Who wrote it.
    pub from: Author,
    /// The text, to be shown as text.
    pub text: String,
    /// Where the person's text is on its way.
    #[serde(default)]
    pub delivery: Option<Delivery>,
}

/// Who wrote a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// The person in front of the page.
    Person,
    /// An agent of the conversation.
    Agent,
}

/// Where the person's text is on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Delivery {
    /// It is shown, and not yet in the outbox.
    Sending,
    /// It is in the outbox.
    Sent {
        /// The message that carries it.
        message: String,
    },
    /// It was refused; the person may write it again.
    Failed {
        /// The stable code.
        reason: String,
    },
}

impl Timeline {
    /// Shows a text of the person's at once. An echo that is there stays as it is.
    pub fn echo(&mut self, echo_id: &str, text: &str) {
        self.add(echo_id, Author::Person, text, Some(Delivery::Sending));
    }

    /// Shows a text of an agent's. A message that comes twice is shown once.
    pub fn receive(&mut self, message: &str, text: &str) {
        self.add(message, Author::Agent, text, None);
    }

    /// Marks where the person's text is. What was sent stays sent; an echo that is not kept any more
    /// is not missed.
    pub fn mark(&mut self, echo_id: &str, delivery: &Delivery) {
        let echo = self.entries.iter_mut().find(|entry| entry.is(echo_id, Author::Person));
        if let Some(echo) = echo
            && !matches!(echo.delivery, Some(Delivery::Sent { .. }))
        {
            echo.delivery = Some(delivery.clone());
        }
    }

    fn add(&mut self, id: &str, from: Author, text: &str, delivery: Option<Delivery>) {
        if self.entries.iter().any(|entry| entry.is(id, from)) {
            return;
        }
        self.entries.push(Entry { id: id.to_owned(), from, text: text.to_owned(), delivery });
        let mut bytes = 0;
        let kept = self.entries.iter().rev().take(ENTRIES).take_while(|entry| {
            bytes += entry.bytes();
            bytes <= BYTES
        });
        let kept = kept.count().max(1);
        self.entries.drain(..self.entries.len() - kept);
    }
}

impl Entry {
    fn is(&self, id: &str, from: Author) -> bool {
        self.id == id && self.from == from
    }

    /// Its share of the session data; a mark that comes later is counted in.
    fn bytes(&self) -> usize {
        const MARK: usize = 256;
        json!({ "id": self.id, "text": self.text }).to_string().len() + MARK
    }
}
