//! The names of calls and texts.
//!
//! A call is named after the text that asked for it, and a text after what it answers, so two agents of this
//! kind that hear the same text make one call and say one answer. The name of a call is also all that the
//! agent remembers of it over a restart.

use lineup_agent::model::{CallId, MessageId};

use crate::{Language, Wish};

/// What the name of a call says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub wish: Wish,
    pub language: Language,
    /// Of the focus period; 0 for a stop.
    pub minutes: i64,
}

/// How long an id may be, and how much of it belongs to the longest ending of [`about`].
const LONGEST: usize = 64;
const ENDING: usize = "-timing".len();

impl Name {
    /// The name of the call that this text asks for.
    pub fn call(self, text: &MessageId) -> CallId {
        let language = match self.language {
            Language::English => "en",
            Language::Chinese => "zh",
        };
        let beginning = match self.wish {
            Wish::Start => format!("demo-focus-{language}-{}-", self.minutes),
            Wish::Stop => format!("demo-stop-{language}-"),
        };
        let id = format!("{beginning}{}", tail(text.as_str(), LONGEST - ENDING - beginning.len()));
        id.parse().expect("it is made of parts of ids, and short enough")
    }

    /// Reads the name; `None` if the call was made by somebody else.
    pub fn of(call: &CallId) -> Option<Self> {
        let (what, rest) = call.as_str().strip_prefix("demo-")?.split_once('-')?;
        let (language, rest) = rest.split_once('-')?;
        let language = match language {
            "en" => Language::English,
            "zh" => Language::Chinese,
            _ => return None,
        };
        match what {
            "focus" => {
                let minutes = rest.split_once('-')?.0.parse().ok()?;
                Some(Self { wish: Wish::Start, language, minutes })
            }
            "stop" => Some(Self { wish: Wish::Stop, language, minutes: 0 }),
            _ => None,
        }
    }
}

/// The id of the answer to a text.
pub(crate) fn reply(text: &MessageId) -> MessageId {
    const BEGINNING: &str = "demo-re-";
    let id = format!("{BEGINNING}{}", tail(text.as_str(), LONGEST - BEGINNING.len()));
    id.parse().expect("it is made of parts of ids, and short enough")
}

/// The id of what is said about a call: "ready", "timing" or "end".
pub(crate) fn about(call: &CallId, what: &str) -> MessageId {
    let id = format!("{}-{what}", tail(call.as_str(), LONGEST - ENDING));
    id.parse().expect("it is made of parts of ids, and short enough")
}

/// The last characters: the Runtime's ids are short, and what tells long ones apart stands at their end.
fn tail(id: &str, most: usize) -> &str {
    &id[id.len().saturating_sub(most)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_from_the_call_and_fits_with_everything_said_about_it() {
        for id in ["m17-0", "x", &"a".repeat(64)] {
            let text = MessageId::new(id).unwrap();
            for wish in [Wish::Start, Wish::Stop] {
                for (language, minutes) in [(Language::English, 1), (Language::Chinese, i64::MAX)] {
                    let minutes = if wish == Wish::Stop { 0 } else { minutes };
                    let name = Name { wish, language, minutes };
                    let call = name.call(&text);
                    assert_eq!(Name::of(&call), Some(name), "{call}");
                    let ids = ["ready", "timing", "end"].map(|what| about(&call, what));
                    assert!(ids.iter().all(|one| ids.iter().filter(|other| *other == one).count() == 1));
                    assert_ne!(reply(&text), ids[0]);
                }
            }
        }
    }

    #[test]
    fn the_names_of_others_are_not_read() {
        for id in ["k1", "demo-", "demo-focus-en", "demo-focus-fr-20-m1", "demo-focus-en-x-m1", "demo-dance-en-m1"] {
            assert_eq!(Name::of(&CallId::new(id).unwrap()), None, "{id}");
        }
    }
}
