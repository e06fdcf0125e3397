//! Phrases of whole words: "stop" is not in "nonstop".

use crate::token::{Kind, Token, tokens};

/// Whether the phrase stands at this place; answers with the place behind it.
pub(crate) fn at(text: &[Token], place: usize, phrase: &str) -> Option<usize> {
    stands(text, place, &tokens(phrase))
}

/// Where the first of these phrases stands.
pub(crate) fn find(text: &[Token], phrases: &[&str]) -> Option<usize> {
    let phrases: Vec<_> = phrases.iter().map(|phrase| tokens(phrase)).collect();
    (0..text.len()).find(|place| phrases.iter().any(|phrase| stands(text, *place, phrase).is_some()))
}

fn stands(text: &[Token], place: usize, phrase: &[Token]) -> Option<usize> {
    let end = place.checked_add(phrase.len())?;
    let here = text.get(place..end)?;
    (!phrase.is_empty() && here.iter().zip(phrase).all(|(one, other)| one.kind == other.kind)).then_some(end)
}

/// Whether one of these phrases stands in it.
pub(crate) fn has(text: &[Token], phrases: &[&str]) -> bool {
    find(text, phrases).is_some()
}

/// Whether it is one of these phrases and nothing else.
pub(crate) fn is(text: &[Token], phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| at(text, 0, phrase) == Some(text.len()))
}

/// What is left behind the longest row of these phrases at its beginning.
pub(crate) fn without_beginning<'a>(mut text: &'a [Token], phrases: &[&str]) -> &'a [Token] {
    while let Some(end) = phrases.iter().filter_map(|phrase| at(text, 0, phrase)).max() {
        text = &text[end..];
    }
    text
}

/// What is left before the longest row of these phrases at its end.
pub(crate) fn without_end<'a>(mut text: &'a [Token], phrases: &[&str]) -> &'a [Token] {
    let length = |phrase: &&str| tokens(phrase).len();
    while let Some(end) = phrases
        .iter()
        .filter_map(|phrase| {
            let place = text.len().checked_sub(length(phrase))?;
            at(text, place, phrase).map(|_| place)
        })
        .min()
    {
        text = &text[..end];
    }
    text
}

/// Whether it is made of these phrases alone.
pub(crate) fn only(text: &[Token], phrases: &[&str]) -> bool {
    without_beginning(text, phrases).is_empty()
}

/// The word here.
pub(crate) fn word(token: Option<&Token>) -> Option<&str> {
    match token.map(|token| &token.kind) {
        Some(Kind::Word(word)) => Some(word),
        _ => None,
    }
}
