//! One conversation: what was asked, what became of it, and what there is to say and do next.
//!
//! A function of what came in. It says of a call only what a receipt or the outcome said, each under an id
//! that follows from what it answers: said twice, it is said once.

use std::collections::{BTreeMap, VecDeque};

use lineup_agent::model::{
    CallId, ErrorCode, MessageId,
    message::{End, Stage},
};
use serde_json::{Value, json};

use crate::{
    Intent, Language, Tools, Wish, language,
    name::{self, Name},
    say::{Event, say},
    understand,
};

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Say it, under this id.
    Say(MessageId, String),
    /// Call a tool.
    Call(Order),
}

/// A call to make.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    pub call_id: CallId,
    pub tool: String,
    pub input: Value,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum News {
    Receipt(Stage),
    Ended(End),
    /// It was never made.
    Refused(ErrorCode),
}

/// What the agent knows of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// The last one that was spoken.
    language: Language,
    /// The agent has asked how long; what on is known, perhaps.
    asked: Option<Option<String>>,
    focuses: BTreeMap<CallId, Focus>,
    /// The last calls that are over: their receipts may come again.
    over: VecDeque<CallId>,
}

/// A focus period that was asked for.
#[derive(Debug, Default)]
struct Focus {
    title: Option<String>,
    /// It was found, not asked for here: when it began is not known.
    found: bool,
    /// Its preparation was told.
    ready: bool,
    /// When its time began to run, as far as this agent knows.
    since: Option<Since>,
    /// The person asked to stop it: that request is answered, the end of this one need not be told.
    stopping: bool,
}

#[derive(Clone, Copy, Debug)]
struct Since {
    millis: i64,
    /// It may have begun earlier.
    at_most: bool,
}

/// How many calls that are over are remembered.
const REMEMBERED: usize = 256;

impl Talk {
    /// Takes in what the person said, at this moment.
    pub fn heard(&mut self, id: &MessageId, text: &str, tools: &Tools, now: i64) -> Step {
        self.language = language(text).unwrap_or(self.language);
        let asked = self.asked.take();
        let event = match (understand(text, tools), asked) {
            (Intent::Start { minutes, title }, _) => return self.start(id, minutes, title, tools),
            (Intent::Length(Ok(minutes)), Some(title)) => return self.start(id, minutes, title, tools),
            (Intent::Length(Err(why)), Some(title)) | (Intent::Ask { why, title }, _) => {
                self.asked = Some(title);
                match &tools.start {
                    Some(start) => Event::HowLong(why, &start.minutes),
                    None => Event::Missing(Wish::Start),
                }
            }
            (Intent::Stop, _) => return self.stop(id, tools),
            (Intent::HowLongLeft, _) => self.left(now),
            (Intent::WhatCanYou, _) => Event::WhatICan(tools),
            (Intent::LeaveIt, _) => Event::LeftAsItIs,
            (Intent::Missing(wish), _) => Event::Missing(wish),
            (Intent::Unknown | Intent::Length(_), _) => Event::NotUnderstood(tools),
        };
        Step::Say(name::reply(id), say(&event, self.language))
    }

    /// Takes in what became of a call of this agent's, at this moment.
    pub fn happened(&mut self, call_id: &CallId, news: &News, now: i64) -> Option<Step> {
        let name = Name::of(call_id).filter(|_| !self.over.contains(call_id))?;
        let (event, about) = match (name.wish, news) {
            (Wish::Start, News::Receipt(stage)) => self.progressed(call_id, &name, *stage, now)?,
            (Wish::Stop, News::Receipt(_)) => return None,
            (_, News::Refused(ErrorCode::CallNotFound)) => {
                self.forget(call_id);
                return None;
            }
            (Wish::Start, News::Ended(end)) => {
                let focus = self.forget(call_id);
                (focus_ended(&name, end, focus.is_some_and(|focus| focus.stopping))?, "end")
            }
            (Wish::Start, News::Refused(code)) => {
                self.forget(call_id);
                (Event::Refused(Wish::Start, *code), "end")
            }
            (Wish::Stop, news) => {
                self.forget(call_id);
                let event = stop_ended(news);
                if !matches!(event, Event::Stopped | Event::StartCancelled) {
                    self.focuses.values_mut().for_each(|focus| focus.stopping = false);
                }
                (event, "end")
            }
        };
        Some(Step::Say(name::about(call_id, about), say(&event, name.language)))
    }

    /// A call of this agent's that this conversation does not know is followed from now on.
    pub fn finds(&mut self, call_id: &CallId) -> bool {
        let is_new = Name::of(call_id).is_some_and(|name| name.wish == Wish::Start)
            && !self.focuses.contains_key(call_id)
            && !self.over.contains(call_id);
        if is_new {
            self.focuses.insert(call_id.clone(), Focus { found: true, ..Focus::default() });
        }
        is_new
    }

    fn start(&mut self, id: &MessageId, minutes: i64, title: Option<String>, tools: &Tools) -> Step {
        let Some(start) = &tools.start else {
            return Step::Say(name::reply(id), say(&Event::Missing(Wish::Start), self.language));
        };
        let call_id = Name { wish: Wish::Start, language: self.language, minutes }.call(id);
        let mut input = json!({ "minutes": minutes });
        if let Some(title) = &title {
            input["title"] = json!(title);
        }
        self.focuses.entry(call_id.clone()).or_default().title = title;
        Step::Call(Order { call_id, tool: start.tool.clone(), input })
    }

    fn stop(&mut self, id: &MessageId, tools: &Tools) -> Step {
        let Some(stop) = &tools.stop else {
            return Step::Say(name::reply(id), say(&Event::Missing(Wish::Stop), self.language));
        };
        self.focuses.values_mut().for_each(|focus| focus.stopping = true);
        let call_id = Name { wish: Wish::Stop, language: self.language, minutes: 0 }.call(id);
        Step::Call(Order { call_id, tool: stop.tool.clone(), input: json!({}) })
    }

    fn progressed<'a>(
        &'a mut self,
        call_id: &CallId,
        name: &Name,
        stage: Stage,
        now: i64,
    ) -> Option<(Event<'a>, &'static str)> {
        let focus = self.focuses.entry(call_id.clone()).or_insert_with(|| Focus { found: true, ..Focus::default() });
        match stage {
            Stage::Accepted | Stage::Starting | Stage::ActivationReady if !focus.ready => {
                focus.ready = true;
                Some((Event::GettingReady { minutes: name.minutes, title: focus.title.as_deref() }, "ready"))
            }
            Stage::Started if focus.since.is_none() => {
                focus.since = Some(Since { millis: now, at_most: focus.found && !focus.ready });
                Some((Event::TimingNow { minutes: name.minutes }, "timing"))
            }
            Stage::Accepted
            | Stage::Starting
            | Stage::ActivationReady
            | Stage::Started
            | Stage::App
            // The outcome follows, and says more.
            | Stage::ActivationFailed
            | Stage::ActivationCancelled => None,
        }
    }

    fn left(&self, now: i64) -> Event<'static> {
        let running = self.focuses.iter().find_map(|(id, focus)| Some((Name::of(id)?.minutes, focus.since?)));
        match running {
            Some((minutes, since)) => {
                let passed = now.saturating_sub(since.millis);
                match minutes.saturating_mul(60_000).saturating_sub(passed) {
                    millis @ 1.. => Event::Remaining { millis, at_most: since.at_most },
                    _ => Event::AboutOver,
                }
            }
            None if self.focuses.is_empty() => Event::NoFocus,
            None => Event::NotYetTiming,
        }
    }

    fn forget(&mut self, call_id: &CallId) -> Option<Focus> {
        self.over.push_back(call_id.clone());
        if self.over.len() > REMEMBERED {
            self.over.pop_front();
        }
        self.focuses.remove(call_id)
    }
}

/// What there is to say of the end of a focus period; nothing, if the answer to a stop says it.
fn focus_ended<'a>(name: &Name, end: &'a End, stopping: bool) -> Option<Event<'a>> {
    let result = match end {
        End::Completed { result } => result,
        End::Failed { error } | End::Cancelled { error } | End::Expired { error } | End::Rejected { error } => {
            return Some(Event::Refused(Wish::Start, error.code));
        }
    };
    Some(match (result["status"].as_str(), result["by"].as_str(), result["reason"].as_str()) {
        (Some("completed"), ..) => Event::Completed { minutes: name.minutes },
        (Some("interrupted"), Some("left"), _) => Event::Left,
        (Some("interrupted"), ..) | (Some("not_started"), _, Some("cancelled")) if stopping => return None,
        (Some("interrupted"), ..) => Event::Interrupted,
        (Some("not_started"), _, reason) => Event::NotStarted(reason),
        _ => Event::Over,
    })
}

fn stop_ended(news: &News) -> Event<'static> {
    match news {
        News::Refused(code) => Event::Refused(Wish::Stop, *code),
        News::Ended(End::Completed { result }) => match result["status"].as_str() {
            Some("interrupted") => Event::Stopped,
            Some("start_cancelled") => Event::StartCancelled,
            Some("nothing_running") => Event::NothingRunning,
            _ => Event::Over,
        },
        News::Ended(end) => Event::Refused(Wish::Stop, end.code().unwrap_or(ErrorCode::Internal)),
        News::Receipt(_) => Event::Over,
    }
}

#[cfg(test)]
mod tests;
