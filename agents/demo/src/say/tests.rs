use super::*;
use crate::{Start, Stop};

fn tools() -> Tools {
    Tools {
        start: Some(Start { tool: "pomodoro.start".into(), minutes: 1..=1440, title: Some(120) }),
        stop: Some(Stop { tool: "pomodoro.interrupt".into() }),
        others: vec!["whiteboard.open".into()],
    }
}

#[test]
fn each_event_is_said_in_both_languages() {
    let tools = tools();
    let none = Tools::default();
    let bounds = 1..=1440;
    for (event, english, chinese) in [
        (
            Event::GettingReady { minutes: 20, title: None },
            "Getting ready: a focus of 20 minutes.",
            "正在准备 20 分钟的专注，",
        ),
        (
            Event::GettingReady { minutes: 1, title: Some("冥想") },
            "a focus of 1 minute on “冥想”.",
            "1 分钟的专注（冥想）",
        ),
        (Event::TimingNow { minutes: 20 }, "Timing now: 20 minutes.", "现在开始计时：20 分钟"),
        (Event::Completed { minutes: 20 }, "Done: 20 minutes of focus.", "20 分钟的专注完成了"),
        (Event::Left, "because you left it", "你离开了"),
        (Event::Interrupted, "was stopped early", "被提前停止了"),
        (Event::Over, "is over", "专注结束了"),
        (Event::NotStarted(Some("already_focusing")), "under way already", "已经有一个正在进行"),
        (Event::NotStarted(Some("host_unavailable")), "Open the page", "请打开页面"),
        (Event::NotStarted(Some("host_failed")), "could not be shown", "没能显示"),
        (Event::NotStarted(Some("app_failed")), "could not be opened", "没能打开"),
        (Event::NotStarted(Some("timeout")), "not shown in time", "没能及时"),
        (Event::NotStarted(Some("cancelled")), "called off", "取消"),
        (Event::NotStarted(Some("moon")), "not told why", "没有得到原因"),
        (Event::NotStarted(None), "not told why", "没有得到原因"),
        (Event::Stopped, "Stopped.", "已停止。"),
        (Event::StartCancelled, "before the time began", "开始计时之前"),
        (Event::NothingRunning, "Nothing is running", "没有正在进行"),
        (Event::Refused(Wish::Start, ErrorCode::InventoryRevisionMismatch), "say it again", "再说一次"),
        (
            Event::Refused(Wish::Stop, ErrorCode::ToolNotAdvertised),
            "could not stop it: I may not",
            "没能停止：我已经不能",
        ),
        (Event::Refused(Wish::Start, ErrorCode::LifecycleDenied), "not allowed", "没有得到允许"),
        (Event::Refused(Wish::Start, ErrorCode::StorageUnavailable), "went wrong", "出了问题"),
        (
            Event::Remaining { millis: 899_000, at_most: false },
            "There are about 15 minutes left.",
            "大约还剩 15 分钟。",
        ),
        (Event::Remaining { millis: 60_000, at_most: false }, "There is about 1 minute left.", "大约还剩 1 分钟。"),
        (Event::Remaining { millis: 1, at_most: false }, "There is less than a minute left.", "不到 1 分钟。"),
        (
            Event::Remaining { millis: 899_000, at_most: true },
            "at most 15 minutes left. I was away",
            "最多还剩 15 分钟。",
        ),
        (Event::AboutOver, "not been told yet", "还没有得到结束的消息"),
        (Event::NotYetTiming, "No time runs yet", "没有开始计时"),
        (Event::NoFocus, "no focus that I started", "没有由我开始"),
        (
            Event::WhatICan(&tools),
            "start a focus of 1 to 1440 minutes, stop it, and",
            "开始 1 到 1440 分钟的专注、停止专注",
        ),
        (Event::WhatICan(&tools), "whiteboard.open, but I do not know how", "whiteboard.open，但我不会用"),
        (Event::WhatICan(&tools), "not your screen", "看不到你的屏幕"),
        (Event::WhatICan(&none), "can do nothing", "什么也做不了"),
        (Event::Missing(Wish::Start), "may not start", "不能开始"),
        (Event::Missing(Wish::Stop), "may not stop", "不能停止"),
        (Event::HowLong(Why::NotSaid, &bounds), "For how many minutes? For example: “20 minutes”", "例如：“20 分钟”"),
        (Event::HowLong(Why::OutOfBounds, &bounds), "1 to 1440 minutes", "1 到 1440 分钟"),
        (Event::HowLong(Why::OutOfBounds, &(5..=i64::MAX)), "5 minutes or more", "5 分钟以上"),
        (Event::HowLong(Why::NotSaid, &(30..=60)), "“30 minutes”", "“30 分钟”"),
        (Event::HowLong(Why::NotWhole, &bounds), "whole minutes", "整分钟"),
        (Event::HowLong(Why::Several, &bounds), "more than one length", "不止一个时长"),
        (Event::LeftAsItIs, "leave everything as it is", "保持原样"),
        (Event::NotUnderstood(&tools), "Try “start a 20 minute focus” or “stop”.", "“开始 20 分钟的专注”或“停止”"),
    ] {
        for (language, expected) in [(Language::English, english), (Language::Chinese, chinese)] {
            let said = say(&event, language);
            assert!(said.contains(expected), "{event:?}: {said:?} without {expected:?}");
        }
    }
}

#[test]
fn no_code_is_said_in_words_of_ours() {
    for code in ErrorCode::ALL {
        for wish in [Wish::Start, Wish::Stop] {
            for language in [Language::English, Language::Chinese] {
                let said = say(&Event::Refused(wish, *code), language);
                for jargon in ["outcome", "activation", "receipt", "inventory", "revision", "Host", "_"] {
                    assert!(!said.contains(jargon), "{said}");
                }
            }
        }
    }
}

#[test]
fn what_it_says_it_can_do_it_understands() {
    for (text, expected) in [
        ("start a 20 minute focus", crate::Intent::Start { minutes: 20, title: None }),
        ("stop", crate::Intent::Stop),
        ("how long left?", crate::Intent::HowLongLeft),
        ("开始 20 分钟的专注", crate::Intent::Start { minutes: 20, title: None }),
        ("停止", crate::Intent::Stop),
        ("还剩多久", crate::Intent::HowLongLeft),
        ("20 分钟", crate::Intent::Length(Ok(20))),
        ("20 minutes", crate::Intent::Length(Ok(20))),
    ] {
        assert_eq!(crate::understand(text, &tools()), expected, "{text}");
    }
}
