//! What the agent says, in both languages: one table, in plain words.
//!
//! Nothing here is said before its receipt: [`crate::talk`] chooses the event, this says it.

use std::ops::RangeInclusive;

use lineup_agent::model::ErrorCode;

use crate::{
    Tools,
    understand::{Language, Why, Wish},
};

/// What there is to say.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<'a> {
    /// The focus period is being prepared.
    GettingReady {
        /// How long it will be.
        minutes: i64,
        /// What on.
        title: Option<&'a str>,
    },
    /// Its time runs.
    TimingNow {
        /// How long it will be.
        minutes: i64,
    },
    /// It is over; its time ran out.
    Completed {
        /// How long it was.
        minutes: i64,
    },
    /// It ended early: the person left it.
    Left,
    /// It ended early, by somebody who acts for this agent.
    Interrupted,
    /// It ended; how is not known.
    Over,
    /// It was never started, for this reason.
    NotStarted(Option<&'a str>),
    /// The request to stop was carried out.
    Stopped,
    /// The request to stop came before the time ran.
    StartCancelled,
    /// There was nothing to stop.
    NothingRunning,
    /// The request came to nothing, for this code.
    Refused(Wish, ErrorCode),
    /// About so long is left, in milliseconds.
    Remaining {
        /// As far as this agent can tell.
        millis: i64,
        /// It does not know when the time began: so long at most.
        at_most: bool,
    },
    /// The time should be over, and nobody has said so yet.
    AboutOver,
    /// It was asked for, and no time runs yet.
    NotYetTiming,
    /// No focus period of this agent's is under way.
    NoFocus,
    /// What it can do, may use and may see.
    WhatICan(&'a Tools),
    /// Something needs a tool that is not there.
    Missing(Wish),
    /// How long it shall be.
    HowLong(Why, &'a RangeInclusive<i64>),
    /// Nothing happens.
    LeftAsItIs,
    /// It was not understood.
    NotUnderstood(&'a Tools),
}

/// Says it.
#[must_use]
pub fn say(event: &Event<'_>, language: Language) -> String {
    match language {
        Language::English => english(event),
        Language::Chinese => chinese(event),
    }
}

fn english(event: &Event<'_>) -> String {
    let fixed = match event {
        Event::GettingReady { minutes, title } => {
            let on = title.map(|title| format!(" on “{title}”")).unwrap_or_default();
            return format!(
                "Getting ready: a focus of {}{on}. The time does not run yet.",
                minutes_in_english(*minutes)
            );
        }
        Event::TimingNow { minutes } => {
            return format!("Timing now: {}. Say “stop” to end it early.", minutes_in_english(*minutes));
        }
        Event::Completed { minutes } => return format!("Done: {} of focus. Well done.", minutes_in_english(*minutes)),
        Event::Left => "The focus ended early, because you left it.",
        Event::Interrupted => "The focus was stopped early.",
        Event::Over => "The focus is over.",
        Event::NotStarted(reason) => {
            return format!(
                "The focus did not start: {}",
                match reason {
                    Some("already_focusing") => "one is under way already. Say “stop” first, or wait for it to end.",
                    Some("host_unavailable") => "no window is open that could show it. Open the page, then ask again.",
                    Some("host_failed") => "it could not be shown. Ask again, or reload the page first.",
                    Some("app_failed") => "its app could not be opened. Ask again in a moment.",
                    Some("timeout") => "it was not shown in time. Bring the page to the front, then ask again.",
                    Some("cancelled") => "it was called off.",
                    _ => "I was not told why. You can ask again.",
                }
            );
        }
        Event::Stopped => "Stopped.",
        Event::StartCancelled => "Stopped before the time began to run.",
        Event::NothingRunning => "Nothing is running, so there is nothing to stop.",
        Event::Refused(wish, code) => {
            let what = match wish {
                Wish::Start => "I could not start the focus",
                Wish::Stop => "I could not stop it",
            };
            return format!("{what}: {}", why_in_english(*code));
        }
        Event::Remaining { millis, at_most } => {
            let left = match (left(*millis), at_most) {
                (None, _) => "less than a minute".to_owned(),
                (Some(minutes), false) => format!("about {}", minutes_in_english(minutes)),
                (Some(minutes), true) => format!("at most {}", minutes_in_english(minutes)),
            };
            let how = if *at_most {
                "I was away for a while and do not know when it began."
            } else {
                "This is my estimate, from when I was told that the time runs."
            };
            return format!("There {} {left} left. {how}", if left.ends_with("minutes") { "are" } else { "is" });
        }
        Event::AboutOver => "It should be over any moment, by my estimate. I have not been told yet that it is.",
        Event::NotYetTiming => "No time runs yet: I have not been told that it has begun.",
        Event::NoFocus => "I know of no focus that I started and that still runs.",
        Event::WhatICan(tools) => return what_in_english(tools),
        Event::Missing(Wish::Start) => "I may not start a focus here: nothing that could do it is open to me now.",
        Event::Missing(Wish::Stop) => "I may not stop a focus here: nothing that could do it is open to me now.",
        Event::HowLong(why, minutes) => {
            let example = example(minutes);
            return match why {
                Why::NotSaid => format!("For how many minutes? For example: “{example} minutes”."),
                Why::OutOfBounds => {
                    format!("I can do {}. For how many minutes shall it be?", bounds_in_english(minutes))
                }
                Why::NotWhole => {
                    format!("I can only do whole minutes. For how many? For example: “{example} minutes”.")
                }
                Why::Several => "I heard more than one length. For how many minutes shall it be?".to_owned(),
            };
        }
        Event::LeftAsItIs => "All right, I leave everything as it is.",
        Event::NotUnderstood(tools) => return format!("I did not understand that. {}", abilities_in_english(tools)),
    };
    fixed.to_owned()
}

fn chinese(event: &Event<'_>) -> String {
    let fixed = match event {
        Event::GettingReady { minutes, title } => {
            let on = title.map(|title| format!("（{title}）")).unwrap_or_default();
            return format!("正在准备 {minutes} 分钟的专注{on}，还没有开始计时。");
        }
        Event::TimingNow { minutes } => return format!("现在开始计时：{minutes} 分钟。想提前结束就说“停止”。"),
        Event::Completed { minutes } => return format!("{minutes} 分钟的专注完成了，做得好。"),
        Event::Left => "你离开了，专注提前结束。",
        Event::Interrupted => "专注被提前停止了。",
        Event::Over => "专注结束了。",
        Event::NotStarted(reason) => {
            return format!(
                "专注没有开始：{}",
                match reason {
                    Some("already_focusing") => "已经有一个正在进行。请先说“停止”，或者等它结束。",
                    Some("host_unavailable") => "没有打开可以显示它的窗口。请打开页面，再说一次。",
                    Some("host_failed") => "没能显示出来。请再说一次，或者先刷新页面。",
                    Some("app_failed") => "应用没能打开。请稍后再说一次。",
                    Some("timeout") => "没能及时显示出来。请把页面切到前面，再说一次。",
                    Some("cancelled") => "已经取消了。",
                    _ => "我没有得到原因。你可以再说一次。",
                }
            );
        }
        Event::Stopped => "已停止。",
        Event::StartCancelled => "在开始计时之前就停止了。",
        Event::NothingRunning => "没有正在进行的专注，不需要停止。",
        Event::Refused(wish, code) => {
            let what = match wish {
                Wish::Start => "没能开始专注",
                Wish::Stop => "没能停止",
            };
            return format!("{what}：{}", why_in_chinese(*code));
        }
        Event::Remaining { millis, at_most } => {
            let left = match (left(*millis), at_most) {
                (None, _) => "不到 1 分钟".to_owned(),
                (Some(minutes), false) => format!("大约还剩 {minutes} 分钟"),
                (Some(minutes), true) => format!("最多还剩 {minutes} 分钟"),
            };
            let how = if *at_most {
                "我离开过一会儿，不知道是什么时候开始的。"
            } else {
                "这是我从得知开始计时的时候算起的估计。"
            };
            return format!("{left}。{how}");
        }
        Event::AboutOver => "按我的估计应该马上就结束了，不过我还没有得到结束的消息。",
        Event::NotYetTiming => "还没有开始计时：我还没有得到开始的消息。",
        Event::NoFocus => "据我所知，没有由我开始、还在进行的专注。",
        Event::WhatICan(tools) => return what_in_chinese(tools),
        Event::Missing(Wish::Start) => "我在这里不能开始专注：现在没有可以让我用来开始的工具。",
        Event::Missing(Wish::Stop) => "我在这里不能停止专注：现在没有可以让我用来停止的工具。",
        Event::HowLong(why, minutes) => {
            let example = example(minutes);
            return match why {
                Why::NotSaid => format!("要多少分钟？例如：“{example} 分钟”。"),
                Why::OutOfBounds => format!("我可以计时 {}。要多少分钟？", bounds_in_chinese(minutes)),
                Why::NotWhole => format!("我只能按整分钟计时。要多少分钟？例如：“{example} 分钟”。"),
                Why::Several => "我听到了不止一个时长。要多少分钟？".to_owned(),
            };
        }
        Event::LeftAsItIs => "好的，一切保持原样。",
        Event::NotUnderstood(tools) => return format!("我没有听懂。{}", abilities_in_chinese(tools)),
    };
    fixed.to_owned()
}

/// What became of a request that was refused, or denied later.
fn why_in_english(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InventoryRevisionMismatch => "what I may use has just changed. Please say it again.",
        ErrorCode::ToolNotAdvertised | ErrorCode::AppDisabled => "I may not use that any more.",
        ErrorCode::LifecycleDenied | ErrorCode::CapabilityDenied | ErrorCode::AgentUnauthorized => {
            "it was not allowed."
        }
        ErrorCode::OperationConflict => "something else is under way. Say “stop” first, or wait for it to end.",
        ErrorCode::HostUnavailable => "no window is open that could show it. Open the page, then ask again.",
        ErrorCode::AppActivationFailed => "its app could not be opened. Ask again in a moment.",
        ErrorCode::AppActivationCancelled => "it was called off.",
        ErrorCode::CallExpired => "it took too long.",
        ErrorCode::RateLimited => "too much is waiting already. Ask again in a moment.",
        ErrorCode::ToolInputInvalid | ErrorCode::DeadlineInvalid => "the length or the title was not accepted.",
        _ => "something went wrong on the other side. You can ask again.",
    }
}

fn why_in_chinese(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InventoryRevisionMismatch => "我可以使用的工具刚刚变了，请再说一次。",
        ErrorCode::ToolNotAdvertised | ErrorCode::AppDisabled => "我已经不能使用它了。",
        ErrorCode::LifecycleDenied | ErrorCode::CapabilityDenied | ErrorCode::AgentUnauthorized => "没有得到允许。",
        ErrorCode::OperationConflict => "有别的正在进行。请先说“停止”，或者等它结束。",
        ErrorCode::HostUnavailable => "没有打开可以显示它的窗口。请打开页面，再说一次。",
        ErrorCode::AppActivationFailed => "应用没能打开。请稍后再说一次。",
        ErrorCode::AppActivationCancelled => "已经取消了。",
        ErrorCode::CallExpired => "等得太久了。",
        ErrorCode::RateLimited => "等待的事情太多了。请稍后再说一次。",
        ErrorCode::ToolInputInvalid | ErrorCode::DeadlineInvalid => "时长或者标题没有被接受。",
        _ => "另一边出了问题。你可以再说一次。",
    }
}

fn what_in_english(tools: &Tools) -> String {
    let mut said = abilities_in_english(tools);
    if !tools.others.is_empty() {
        said.push_str(&format!(" I may also use {}, but I do not know how.", tools.others.join(", ")));
    }
    said.push_str(
        " I see what you write here and what becomes of what I start; not your screen, your files or other apps.",
    );
    said
}

fn what_in_chinese(tools: &Tools) -> String {
    let mut said = abilities_in_chinese(tools);
    if !tools.others.is_empty() {
        said.push_str(&format!("我还可以使用 {}，但我不会用。", tools.others.join("、")));
    }
    said.push_str("我能看到你在这里写的话，以及我开始的事情的结果；看不到你的屏幕、文件和其他应用。");
    said
}

fn abilities_in_english(tools: &Tools) -> String {
    match (&tools.start, &tools.stop) {
        (Some(start), stop) => format!(
            "I can start a focus of {}{} and estimate how long is left. Try “start a {} minute focus” or “{}”.",
            bounds_in_english(&start.minutes),
            if stop.is_some() { ", stop it," } else { "" },
            example(&start.minutes),
            if stop.is_some() { "stop" } else { "how long left?" }
        ),
        (None, Some(_)) => "I can stop a focus. Try “stop” or “how long left?”.".to_owned(),
        (None, None) => {
            "I can do nothing for you here now, because I may use nothing that I know. Once I may, try “start a 20 minute focus” or “stop”."
                .to_owned()
        }
    }
}

fn abilities_in_chinese(tools: &Tools) -> String {
    match (&tools.start, &tools.stop) {
        (Some(start), stop) => format!(
            "我可以开始 {}的专注{}，并估计还剩多久。可以试试“开始 {} 分钟的专注”或“{}”。",
            bounds_in_chinese(&start.minutes),
            if stop.is_some() { "、停止专注" } else { "" },
            example(&start.minutes),
            if stop.is_some() { "停止" } else { "还剩多久" }
        ),
        (None, Some(_)) => "我可以停止专注。可以试试“停止”或“还剩多久”。".to_owned(),
        (None, None) => {
            "我现在在这里什么也做不了，因为没有我会用的工具。等有了以后，可以试试“开始 20 分钟的专注”或“停止”。"
                .to_owned()
        }
    }
}

fn minutes_in_english(minutes: i64) -> String {
    if minutes == 1 { "1 minute".to_owned() } else { format!("{minutes} minutes") }
}

fn bounds_in_english(minutes: &RangeInclusive<i64>) -> String {
    match (*minutes.start(), *minutes.end()) {
        (least, i64::MAX) => format!("{} or more", minutes_in_english(least)),
        (least, most) => format!("{least} to {}", minutes_in_english(most)),
    }
}

fn bounds_in_chinese(minutes: &RangeInclusive<i64>) -> String {
    match (*minutes.start(), *minutes.end()) {
        (least, i64::MAX) => format!("{least} 分钟以上"),
        (least, most) => format!("{least} 到 {most} 分钟"),
    }
}

/// A length that can be asked for.
fn example(minutes: &RangeInclusive<i64>) -> i64 {
    20.min(*minutes.end()).max(*minutes.start())
}

/// Whole minutes, rounded to the nearest; `None` below one.
fn left(millis: i64) -> Option<i64> {
    (millis >= 60_000).then(|| millis.saturating_add(30_000) / 60_000)
}

#[cfg(test)]
mod tests;
