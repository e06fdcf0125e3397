//! From what a person says to what they want.

use std::ops::RangeInclusive;

use crate::{
    length::{self, Length},
    phrase::{self, has, is, only},
    title,
    token::{Kind, Token, is_han, tokens},
    tools::Tools,
    vocabulary as words,
};

/// What a person wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// A focus period.
    Start {
        /// How long, within what the tool takes.
        minutes: i64,
        /// What on, if they said it and the tool takes it.
        title: Option<String>,
    },
    /// A focus period, and they have to be asked how long.
    Ask {
        /// Why.
        why: Why,
        /// What on.
        title: Option<String>,
    },
    /// Nothing but a length: the answer to a question.
    Length(Result<i64, Why>),
    /// That it stops.
    Stop,
    /// To know how long it still takes.
    HowLongLeft,
    /// To know what the agent can do, may use and may see.
    WhatCanYou,
    /// That nothing happens.
    LeaveIt,
    /// Something that needs a tool which is not there.
    Missing(Wish),
    /// Nobody knows.
    Unknown,
}

/// Why a person has to be asked for the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// They did not say it.
    NotSaid,
    /// It is too short or too long.
    OutOfBounds,
    /// It is not a number of whole minutes.
    NotWhole,
    /// They said more than one.
    Several,
}

/// What a tool is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// Starting a focus period.
    Start,
    /// Stopping it.
    Stop,
}

/// The languages that the agent speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese.
    Chinese,
}

/// The language of a text; `None` if there is no letter in it.
#[must_use]
pub fn language(text: &str) -> Option<Language> {
    if text.chars().any(is_han) {
        Some(Language::Chinese)
    } else {
        text.chars().any(char::is_alphabetic).then_some(Language::English)
    }
}

/// A request is short: what has more characters is not read as one.
const LONGEST: usize = 400;

/// Understands a text. Any text has an answer, and what is in doubt is [`Intent::Unknown`].
#[must_use]
pub fn understand(text: &str, tools: &Tools) -> Intent {
    if text.chars().nth(LONGEST).is_some() {
        return Intent::Unknown;
    }
    let text = without_quotes(text);
    let all = tokens(text);
    let clauses: Vec<&[Token]> = all.split(Token::is_mark).filter(|clause| !clause.is_empty()).collect();
    let said: Vec<Said> = clauses.iter().map(|clause| said(clause)).collect();
    let any = |wanted: Said| said.contains(&wanted);
    if any(Said::HowLongLeft) {
        return Intent::HowLongLeft;
    }
    let taken_back = said.last() == Some(&Said::No);
    let start = any(Said::Start) && !any(Said::NoStart) && !taken_back;
    let stop = any(Said::Stop) && !any(Said::NoStop) && !taken_back;
    match (start, stop) {
        (true, true) => Intent::Unknown,
        (true, false) => starting(text, &all, &clauses, tools),
        (false, true) if tools.stop.is_some() => Intent::Stop,
        (false, true) => Intent::Missing(Wish::Stop),
        (false, false) if any(Said::WhatCanYou) => Intent::WhatCanYou,
        (false, false) if taken_back || any(Said::NoStart) || any(Said::NoStop) => Intent::LeaveIt,
        (false, false) => answer(&all, tools).map_or(Intent::Unknown, Intent::Length),
    }
}

/// What one clause says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Start,
    Stop,
    NoStart,
    NoStop,
    No,
    HowLongLeft,
    WhatCanYou,
    Nothing,
}

fn said(clause: &[Token]) -> Said {
    let request = phrase::without_beginning(clause, words::POLITE);
    if has(clause, words::HOW_LONG_LEFT) || is(request, words::HOW_LONG_LEFT_ALONE) {
        return Said::HowLongLeft;
    }
    if has(clause, words::WHAT_CAN_YOU) || is(clause, words::WHAT_CAN_YOU_ALONE) {
        return Said::WhatCanYou;
    }
    if is(request, words::NO) || is(clause, words::NO) {
        return Said::No;
    }
    if stops(request) || stops(clause) {
        return Said::Stop;
    }
    if let Some(no) = phrase::find(request, words::NEGATIONS) {
        let denied = &request[no..];
        if has(denied, words::STOPPING) {
            return Said::NoStop;
        }
        if has(denied, words::STARTING) {
            return Said::NoStart;
        }
    }
    if starts(request) || starts(clause) { Said::Start } else { Said::Nothing }
}

/// Whether the clause asks to stop, and nothing but the focus period.
fn stops(clause: &[Token]) -> bool {
    if is(clause, words::STOP_ALONE) {
        return true;
    }
    // "stop the 20 minute focus": the length says which.
    let lengths: Vec<Length> = length_of(clause).collect();
    let is_length = |at: usize| lengths.iter().any(|length| (length.from..length.to).contains(&at));
    let clause: Vec<Token> =
        clause.iter().enumerate().filter(|(at, _)| !is_length(*at)).map(|(_, token)| token.clone()).collect();
    let clause = &clause[..];
    let verb = words::STOP.iter().filter_map(|verb| phrase::at(clause, 0, verb)).max();
    if verb.is_some_and(|end| only(&clause[end..], words::STOPPED)) {
        return true;
    }
    // In Chinese the verb may stand behind what is stopped.
    is_chinese(clause)
        && has(clause, words::STOP)
        && !has(clause, words::NEGATIONS)
        && only(clause, &[words::STOP, words::STOPPED, words::POLITE].concat())
}

/// Whether the clause asks to start.
fn starts(clause: &[Token]) -> bool {
    let has_length = length_of(clause).next().is_some();
    let has_focus = has(clause, words::FOCUS);
    let begins = |phrases: &[&str]| phrases.iter().any(|phrase| phrase::at(clause, 0, phrase).is_some());
    if is(clause, words::START_ALONE) {
        return true;
    }
    let english = begins(words::START) && (has_focus || has_length)
        || begins(words::FOCUSING) && (has_length || begins(words::FOCUS))
        || begins(words::GIVE) && has_focus && has_length
        || length::number(clause, 0).is_some() && has_focus && has_length
        || length_of(clause).any(|length| length.from == 0) && has_focus;
    let chinese = is_chinese(clause)
        && !has(clause, words::NOT_A_REQUEST)
        && (has(clause, words::STRONG_FOCUS) && bare(clause).is_some()
            || has(clause, words::BEGIN) && (has_length || has_focus)
            || has(clause, words::WANT) && has(clause, words::STRONG_FOCUS)
            || has_length && (has(clause, words::STRONG_FOCUS) || has(clause, words::WEAK_FOCUS)));
    english || chinese
}

fn is_chinese(clause: &[Token]) -> bool {
    clause.iter().any(|token| matches!(token.kind, Kind::Han(_)))
}

fn length_of(clause: &[Token]) -> impl Iterator<Item = Length> {
    length::lengths(clause).into_iter()
}

fn starting(text: &str, all: &[Token], clauses: &[&[Token]], tools: &Tools) -> Intent {
    let Some(start) = &tools.start else { return Intent::Missing(Wish::Start) };
    let lengths = length::lengths(all);
    let bare = if lengths.is_empty() { bare(all) } else { None };
    let place = lengths.first().or(bare.as_ref());
    let title = start.title.and_then(|most| {
        let title = title::of(text, all, clauses, place)?;
        let title: String = title.chars().take(most).collect();
        Some(title.trim().to_owned()).filter(|title| !title.is_empty())
    });
    let minutes = match (&lengths[..], &bare) {
        ([], None) => Err(Why::NotSaid),
        ([length], _) | ([], Some(length)) if !length.is_vague => fit(length.millis, &start.minutes),
        _ => Err(Why::Several),
    };
    match minutes {
        Ok(minutes) => Intent::Start { minutes, title },
        Err(why) => Intent::Ask { why, title },
    }
}

/// A number without a unit where a length would stand: "focus for 25", "专注25".
fn bare(all: &[Token]) -> Option<Length> {
    (0..all.len()).find_map(|from| {
        let (number, to) = length::number(all, from)?;
        let in_digits = matches!(all[from].kind, Kind::Digits(_));
        let before = match from.checked_sub(1) {
            Some(before) => {
                all[before].is_mark()
                    || all[before].is_word("for")
                    || in_digits && words::STRONG_FOCUS.iter().any(|focus| ends_with(&all[..from], focus))
            }
            None => false,
        };
        let after = all.get(to).is_none_or(Token::is_mark)
            || ["on", "please", "now", "thanks"].contains(&phrase::word(all.get(to)).unwrap_or_default());
        (before && after).then(|| Length { millis: number.saturating_mul(60), from, to, is_vague: false })
    })
}

fn ends_with(text: &[Token], phrase: &str) -> bool {
    phrase::without_end(text, &[phrase]).len() < text.len()
}

/// The length, if the text says nothing else.
fn answer(all: &[Token], tools: &Tools) -> Option<Result<i64, Why>> {
    let start = tools.start.as_ref()?;
    let said: Vec<Token> = all.iter().filter(|token| !token.is_mark()).cloned().collect();
    let said = phrase::without_end(phrase::without_beginning(&said, words::AROUND_A_LENGTH), words::AROUND_A_LENGTH);
    let millis = match length::lengths(said)[..] {
        [Length { millis, from: 0, to, .. }] if to == said.len() => millis,
        [] => match length::number(said, 0)? {
            (number, to) if to == said.len() => number.saturating_mul(60),
            _ => return None,
        },
        _ => return None,
    };
    Some(fit(millis, &start.minutes))
}

fn fit(millis: i64, minutes: &RangeInclusive<i64>) -> Result<i64, Why> {
    const MINUTE: i64 = 60_000;
    let whole = millis.div_euclid(MINUTE);
    let is_whole = millis.rem_euclid(MINUTE) == 0;
    if minutes.contains(&whole) && is_whole {
        Ok(whole)
    } else if minutes.contains(&whole) && minutes.contains(&whole.saturating_add(1)) {
        Err(Why::NotWhole)
    } else {
        Err(Why::OutOfBounds)
    }
}

/// A request that was copied with the quotation marks around it is still a request.
fn without_quotes(text: &str) -> &str {
    let text = text.trim();
    for (open, close) in [('"', '"'), ('“', '”'), ('「', '」'), ('\'', '\''), ('‘', '’')] {
        if let Some(inner) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close))
            && !inner.contains([open, close])
        {
            return inner;
        }
    }
    text
}
