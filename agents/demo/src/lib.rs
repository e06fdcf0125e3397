//! The demo agent: keeps focus periods for a person, by fixed rules, without a network or a language model.
//!
//! It is a remote Agent like any other (AGT-1): it stands on `lineup-agent`, sees its inventory and the texts
//! of its conversations, calls tools, and says what their receipts and outcomes say, in the language of
//! the text it answers.
//!
//! [`understand`] and [`say()`] are total functions of values, and so is the dialogue between them; [`run`] is
//! the small part that waits. To teach it a phrasing, add it to `vocabulary.rs` and a row to
//! `tests/understand.rs`; for another tool, begin at [`Tools`].
//!
//! Several of them may be the same agent at once. Calls and texts are named after what they answer, so the
//! Runtime takes each in once (CALL-3). The name of a call is also all that is remembered over a restart:
//! joining tells the open calls, and they are followed to their ends. What is forgotten is when their time
//! began, so how long is left is then told as a bound, and a question that waited for its answer.
#![warn(missing_docs)]

mod length;
mod name;
mod phrase;
mod run;
mod say;
mod talk;
mod title;
mod token;
mod tools;
mod understand;
#[rustfmt::skip] // one phrase a line is no table
mod vocabulary;

pub use run::run;
pub use say::{Event, say};
pub use tools::{Start, Stop, Tools};
pub use understand::{Intent, Language, Why, Wish, language, understand};
