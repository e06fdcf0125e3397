//! One-time keys: how a person who can read the terminal brings a browser in.

use std::{
    io,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use tokio::time::Instant;

use crate::tokens::same;

/// How long a key is good for.
pub(crate) const GOOD_FOR: Duration = Duration::from_secs(10 * 60);
/// How many keys are remembered, good or not; then the oldest is forgotten.
const REMEMBERED: usize = 64;

/// The keys that were given out.
#[derive(Default)]
pub(crate) struct Keys(Mutex<Vec<Key>>);

struct Key {
    text: String,
    made: Instant,
    used: bool,
}

/// What became of a key that was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It was good, and is not any more.
    Good,
    /// It was used before, or its time is over.
    Spent,
    /// No such key was given out, as far as this process knows.
    Unknown,
}

impl Keys {
    /// A new key.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn give(&self) -> io::Result<String> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.len() == REMEMBERED {
            keys.remove(0);
        }
        keys.push(Key { text: text.clone(), made: Instant::now(), used: false });
        Ok(text)
    }

    /// Takes a key: a good one is good once. Looks at all of them, so that the time tells nothing.
    pub fn take(&self, shown: &str) -> Shown {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Shown::Unknown;
        for key in keys.iter_mut() {
            if same(&key.text, shown) {
                found = if key.used || key.made.elapsed() >= GOOD_FOR { Shown::Spent } else { Shown::Good };
                key.used = true;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ent_5_a_key_is_good_once() {
        let keys = Keys::default();
        let (one, other) = (keys.give().unwrap(), keys.give().unwrap());
        assert_ne!(one, other);
        assert_eq!(keys.take(&one), Shown::Good);
        assert_eq!(keys.take(&one), Shown::Spent);
        assert_eq!(keys.take(&other), Shown::Good);
        for unknown in ["", "x", &one[1..], &one.to_lowercase()] {
            assert_eq!(keys.take(unknown), Shown::Unknown, "{unknown}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn ent_5_a_key_is_good_for_ten_minutes() {
        let keys = Keys::default();
        let (early, late) = (keys.give().unwrap(), keys.give().unwrap());
        tokio::time::advance(GOOD_FOR - Duration::from_millis(1)).await;
        assert_eq!(keys.take(&early), Shown::Good);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(keys.take(&late), Shown::Spent);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_key_is_forgotten_when_there_are_too_many() {
        let keys = Keys::default();
        let first = keys.give().unwrap();
        let rest: Vec<String> = (0..REMEMBERED).map(|_| keys.give().unwrap()).collect();
        assert_eq!(keys.take(&first), Shown::Unknown);
        assert_eq!(keys.take(&rest[0]), Shown::Good);
    }
}
