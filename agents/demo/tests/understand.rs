//! What people say, and what it means: one row per phrasing.

use lineup_demo_agent::{
    Intent,
    Intent::{Ask, HowLongLeft, LeaveIt, Length, Missing, Unknown, WhatCanYou},
    Language, Start, Stop, Tools, Why, Wish, language, understand,
};
use proptest::prelude::*;

fn tools() -> Tools {
    Tools {
        start: Some(Start { tool: "pomodoro.start".into(), minutes: 1..=1440, title: Some(120) }),
        stop: Some(Stop { tool: "pomodoro.interrupt".into() }),
        others: vec![],
    }
}

fn start(minutes: i64) -> Intent {
    Intent::Start { minutes, title: None }
}

fn on(minutes: i64, title: &str) -> Intent {
    Intent::Start { minutes, title: Some(title.to_owned()) }
}

fn ask(why: Why) -> Intent {
    Ask { why, title: None }
}

/// All rows are tried before the test fails.
fn check(rows: &[(&str, Intent)], tools: &Tools) {
    let wrong: Vec<String> = rows
        .iter()
        .map(|(text, expected)| (text, expected, understand(text, tools)))
        .filter(|(_, expected, found)| *expected != found)
        .map(|(text, expected, found)| format!("{text:?}\n  found    {found:?}\n  expected {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_start_is_understood_in_english() {
    check(
        &[
            ("start a 20 minute focus", start(20)),
            ("Start a 20-minute focus.", start(20)),
            ("START A 20 MINUTE FOCUS!!!", start(20)),
            ("“start a 20 minute focus”", start(20)),
            ("please start a twenty minute focus", start(20)),
            ("Could you please start a focus of 25 minutes?", start(25)),
            ("focus for 25 minutes on the report", on(25, "the report")),
            ("focus on the report for 25 minutes", on(25, "the report")),
            ("Help me focus for 20 minutes", start(20)),
            ("help me focus on Chapter 3 for half an hour, please", on(30, "Chapter 3")),
            ("let's focus for half an hour", start(30)),
            ("I want to focus for an hour and a half", start(90)),
            ("I'd like to focus for 45 min", start(45)),
            ("set a timer for 10 minutes", start(10)),
            ("time 15 minutes for me", start(15)),
            ("run a pomodoro for twenty-five minutes", start(25)),
            ("start a pomodoro, 25 minutes", start(25)),
            ("begin 25 minutes of focus now", start(25)),
            ("25 minute focus please", start(25)),
            ("25 minutes of focus", start(25)),
            ("half an hour of focus", start(30)),
            ("give me 30 minutes of focus", start(30)),
            ("do a 1 hour 30 minutes focus", start(90)),
            ("focus 25", start(25)),
            ("focus for 25", start(25)),
            ("focus for 25 on the report", on(25, "the report")),
            ("meditate for ten minutes", start(10)),
            ("start a 20 minute meditation", on(20, "meditation")),
            ("start a 20 minute focus on \"stop the war\"", on(20, "stop the war")),
            ("Hello! I have a report to write, start a 25 minute focus", start(25)),
            ("start a 25min focus", start(25)),
            ("start a ２０ minute focus", start(20)),
            ("start a 60 second focus", start(1)),
            ("don't disturb me, start a 20 minute focus", start(20)),
            ("why not start a 20 minute focus", start(20)),
            ("start a 1,440 minute focus", start(1440)),
        ],
        &tools(),
    );
}

#[test]
fn a_start_is_understood_in_chinese() {
    check(
        &[
            ("现在开始 20 分钟的冥想，帮我计时", on(20, "冥想")),
            ("开始二十分钟的专注", start(20)),
            ("开始20分钟专注", start(20)),
            ("请开始２０分钟的专注。", start(20)),
            ("帮我专注二十五分钟", start(25)),
            ("我要专注半小时", start(30)),
            ("我想专注一个半小时", start(90)),
            ("专注25分钟", start(25)),
            ("专注25", start(25)),
            ("专注25分钟写报告", on(25, "写报告")),
            ("专注写报告25分钟", on(25, "写报告")),
            ("专注于论文四十分钟", on(40, "论文")),
            ("来一个25分钟的番茄钟", start(25)),
            ("开始一个番茄钟，二十五分钟", start(25)),
            ("计时十分钟", start(10)),
            ("帮我倒计时十五分钟", start(15)),
            ("设个半个钟头的计时器", start(30)),
            ("学习一刻钟", start(15)),
            ("冥想10分钟", start(10)),
            ("可以开始20分钟专注吗？", start(20)),
            ("请帮我开始一次30分钟的“读《红楼梦》”专注", on(30, "读《红楼梦》")),
            ("開始二十分鐘的專注", start(20)),
            ("开始20分钟专注，别打扰我", start(20)),
            ("开始 20 minutes 的 focus", start(20)),
            ("start 二十分钟 focus", start(20)),
        ],
        &tools(),
    );
}

#[test]
fn a_stop_is_understood_in_both_languages_and_stops_nothing_else() {
    let texts = [
        "stop",
        "Stop!",
        "STOP",
        "stop it",
        "please stop",
        "stop, please",
        "can you stop the timer?",
        "stop the focus now",
        "stop the 20 minute focus",
        "cancel",
        "cancel that",
        "I want to stop",
        "end the session",
        "interrupt it",
        "quit",
        "I'm done",
        "that's enough",
        "ok stop",
        "finish early",
        "停止",
        "停止！",
        "停",
        "停下",
        "停一下吧",
        "取消",
        "请取消",
        "取消专注",
        "结束",
        "结束这次专注",
        "把计时停掉",
        "专注停止",
        "帮我停止计时",
        "现在停止",
        "中断",
        "不专注了",
        "别计时了",
        "终止番茄钟",
        "我想停止",
        "结束专注吧",
        "ｓｔｏｐ",
        "don't start, stop",
    ];
    check(&texts.map(|text| (text, Intent::Stop)), &tools());
    let other = [
        "nonstop music",
        "stopwatch",
        "the bus stop is far",
        "stop the music",
        "should I stop?",
        "cancel my order",
        "what happens if I stop",
        "I can't stop thinking",
        "取消订单",
        "停止播放音乐",
        "停车场在哪里",
        "unstoppable",
        "stop and start a 10 minute focus",
        "end of the month report",
        "🛑",
        "pause",
        "暂停",
    ];
    check(&other.map(|text| (text, Unknown)), &tools());
}

#[test]
fn a_denied_wish_leaves_everything_as_it_is() {
    let texts = [
        "don't start",
        "Don’t start a 20 minute focus",
        "do not start the timer",
        "please don't start",
        "don't stop",
        "do not stop the focus",
        "never start a focus",
        "no",
        "no thanks",
        "never mind",
        "nevermind",
        "start a 20 minute focus. No, don't",
        "start a 20 minute focus. No, don't start",
        "不要开始",
        "别开始20分钟的专注",
        "不用计时",
        "先不开始专注",
        "不要停止",
        "别停",
        "请不要停止专注",
        "算了",
        "不用了",
        "不要",
        "开始20分钟专注，算了",
    ];
    check(&texts.map(|text| (text, LeaveIt)), &tools());
}

#[test]
fn how_long_is_left_is_understood_in_both_languages() {
    let texts = [
        "how long left?",
        "How long is left",
        "how much time is left?",
        "how much longer?",
        "how many minutes left",
        "how many minutes are left?",
        "time left?",
        "what's the remaining time",
        "when does it end?",
        "is it over yet?",
        "how long?",
        "ok, how long until it's over?",
        "还剩多久",
        "还剩多久？",
        "还有多久",
        "还剩多少时间",
        "剩余时间",
        "还要多久",
        "还有几分钟？",
        "什么时候结束",
        "请问还剩多久",
        "還剩多久",
        "时间到了吗",
        "专注还有多长时间结束",
    ];
    check(&texts.map(|text| (text, HowLongLeft)), &tools());
}

#[test]
fn what_it_can_do_is_understood_in_both_languages() {
    let texts = [
        "what can you do?",
        "what may you use?",
        "What are you allowed to see?",
        "help",
        "Help!",
        "who are you",
        "which tools do you have?",
        "hi",
        "Hello!",
        "what do you see",
        "tell me what you can do",
        "how does this work?",
        "你能做什么",
        "你会做什么？",
        "你可以用什么",
        "你能看到什么",
        "有哪些工具",
        "你有什么功能",
        "你是谁",
        "帮助",
        "你好",
        "怎么用",
        "你能用什么工具？",
        "请问你会什么",
    ];
    check(&texts.map(|text| (text, WhatCanYou)), &tools());
}

#[test]
fn a_length_that_does_not_fit_is_asked_for_again() {
    check(
        &[
            ("start a focus", ask(Why::NotSaid)),
            ("start", ask(Why::NotSaid)),
            ("start a focus on chapter 3", Ask { why: Why::NotSaid, title: Some("chapter 3".into()) }),
            ("开始", ask(Why::NotSaid)),
            ("开始专注", ask(Why::NotSaid)),
            ("帮我计时", ask(Why::NotSaid)),
            ("我十分想开始专注", ask(Why::NotSaid)),
            ("start a 0 minute focus", ask(Why::OutOfBounds)),
            ("start a zero minute focus", ask(Why::OutOfBounds)),
            ("start a -5 minute focus", ask(Why::OutOfBounds)),
            ("focus for minus five minutes", ask(Why::OutOfBounds)),
            ("start a 1441 minute focus", ask(Why::OutOfBounds)),
            ("start a 25 hour focus", ask(Why::OutOfBounds)),
            ("focus for 99999999999999999999999999 minutes", ask(Why::OutOfBounds)),
            ("focus for 30 seconds", ask(Why::OutOfBounds)),
            ("开始零分钟的专注", ask(Why::OutOfBounds)),
            ("专注负五分钟", ask(Why::OutOfBounds)),
            ("专注一万亿小时", ask(Why::OutOfBounds)),
            ("专注九千万小时", ask(Why::OutOfBounds)),
            ("专注-5分钟", ask(Why::OutOfBounds)),
            ("start a 2.5 minute focus", ask(Why::NotWhole)),
            ("focus for 90 seconds", ask(Why::NotWhole)),
            ("focus for 20 minutes or 30 minutes", ask(Why::Several)),
            ("focus for 10 to 20 minutes", ask(Why::Several)),
            ("专注十到二十分钟", ask(Why::Several)),
            ("start a 10-20 minute focus", ask(Why::NotSaid)),
            ("start a focus at 20:00", ask(Why::NotSaid)),
            ("start a 1e9 minute focus", ask(Why::NotSaid)),
        ],
        &tools(),
    );
}

#[test]
fn the_bounds_and_the_title_are_those_of_the_tool() {
    let narrow =
        Tools { start: Some(Start { tool: "pomodoro.start".into(), minutes: 5..=60, title: Some(4) }), ..tools() };
    check(
        &[
            ("focus for 60 minutes on the report", on(60, "the")),
            ("专注25分钟写年度报告", on(25, "写年度报")),
            ("focus for 4 minutes", ask(Why::OutOfBounds)),
            ("focus for 61 minutes", ask(Why::OutOfBounds)),
            ("an hour", Length(Ok(60))),
            ("两小时", Length(Err(Why::OutOfBounds))),
        ],
        &narrow,
    );
    let untitled =
        Tools { start: Some(Start { tool: "pomodoro.start".into(), minutes: 1..=60, title: None }), ..tools() };
    check(&[("focus for 25 minutes on the report", start(25))], &untitled);
}

#[test]
fn a_length_alone_is_an_answer() {
    check(
        &[
            ("20", Length(Ok(20))),
            ("20 minutes, please", Length(Ok(20))),
            ("twenty", Length(Ok(20))),
            ("half an hour", Length(Ok(30))),
            ("make it 25", Length(Ok(25))),
            ("二十", Length(Ok(20))),
            ("半小时吧", Length(Ok(30))),
            ("那就20分钟", Length(Ok(20))),
            ("２０", Length(Ok(20))),
            ("0", Length(Err(Why::OutOfBounds))),
            ("-5", Length(Err(Why::OutOfBounds))),
            ("1.5", Length(Err(Why::NotWhole))),
            ("20 people", Unknown),
        ],
        &tools(),
    );
}

#[test]
fn a_tool_that_is_not_there_is_named_as_missing() {
    let none = Tools::default();
    check(
        &[
            ("start a 20 minute focus", Missing(Wish::Start)),
            ("开始二十分钟的专注", Missing(Wish::Start)),
            ("start a focus", Missing(Wish::Start)),
            ("stop", Missing(Wish::Stop)),
            ("取消", Missing(Wish::Stop)),
            ("don't start", LeaveIt),
            ("how long left?", HowLongLeft),
            ("what can you do?", WhatCanYou),
            ("20", Unknown),
        ],
        &none,
    );
}

#[test]
fn what_is_no_request_is_not_taken_for_one() {
    let texts = [
        "",
        " ",
        "\n\n",
        "🍅🍅🍅",
        "?",
        "!!!",
        "\0",
        "\u{202e}trats",
        "the weather is nice",
        "I focused for 20 minutes",
        "did you start a 20 minute focus?",
        "how was my 20 minute focus",
        "我昨天专注了20分钟",
        "为什么专注20分钟",
        "start the car",
        "I need 20 minutes",
        "20 minutes ago it rained",
        "bonjour le monde",
        "今天天气很好",
        "a b c",
        "\u{feff}",
        "ｗｈａｔ",
        "\"\"",
        "“",
        "1/2",
        "9223372036854775808 9223372036854775808",
    ];
    check(&texts.map(|text| (text, Unknown)), &tools());
}

#[test]
fn a_text_of_64_kib_is_answered_and_does_nothing() {
    for piece in ["stop ", "开始二十分钟的专注，", "9", "“", "-", "🍅", "\u{301}", "start a 20 minute focus. "]
    {
        let text = piece.repeat(64 * 1024 / piece.len());
        assert_eq!(understand(&text, &tools()), Unknown, "{piece}");
    }
}

#[test]
fn the_language_is_the_texts() {
    for (text, expected) in [
        ("start a focus", Some(Language::English)),
        ("开始", Some(Language::Chinese)),
        ("start 二十分钟 focus", Some(Language::Chinese)),
        ("bonjour", Some(Language::English)),
        ("20", None),
        ("🍅", None),
        ("", None),
    ] {
        assert_eq!(language(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_understood_as_something_and_never_as_a_length_out_of_bounds(text in any::<String>()) {
        if let Intent::Start { minutes, title } = understand(&text, &tools()) {
            prop_assert!((1..=1440).contains(&minutes));
            prop_assert!(title.is_none_or(|title| (1..=120).contains(&title.chars().count())));
        }
    }

    #[test]
    fn any_text_of_known_words_is_understood_as_something(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "start", "stop", "focus", "on", "for", "and", "half", "an", "hour", "twenty", "hundred", "thousand", "-5",
                "20", "minutes", "don't", ",", "“", "”", "专注", "半", "个", "小时", "二十", "万", "分钟", "的", "不要", "1h30m", "0",
            ]),
            0..24,
        ),
        glued in any::<bool>(),
    ) {
        let text = words.join(if glued { "" } else { " " });
        if let Intent::Start { minutes, title } = understand(&text, &tools()) {
            prop_assert!((1..=1440).contains(&minutes), "{text}");
            prop_assert!(title.is_none_or(|title| !title.trim().is_empty()));
        }
    }
}
