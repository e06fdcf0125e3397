use lineup_agent::model::message::Fault;

use super::*;
use crate::{Start, Stop};

const MINUTE: i64 = 60_000;

fn tools() -> Tools {
    Tools {
        start: Some(Start { tool: "pomodoro.start".into(), minutes: 1..=1440, title: Some(120) }),
        stop: Some(Stop { tool: "pomodoro.interrupt".into() }),
        others: vec![],
    }
}

/// A talk with what is needed to go on with it.
#[derive(Default)]
struct Dialogue {
    talk: Talk,
    now: i64,
    texts: u32,
}

impl Dialogue {
    fn hear(&mut self, text: &str) -> Step {
        self.texts += 1;
        let id = MessageId::new(format!("t{}", self.texts)).unwrap();
        self.talk.heard(&id, text, &tools(), self.now)
    }

    /// What is answered at once.
    fn answer(&mut self, text: &str) -> String {
        match self.hear(text) {
            Step::Say(_, said) => said,
            Step::Call(order) => panic!("{order:?}"),
        }
    }

    fn call(&mut self, text: &str) -> Order {
        match self.hear(text) {
            Step::Call(order) => order,
            Step::Say(_, said) => panic!("{said}"),
        }
    }

    /// A focus period whose time runs.
    fn running(&mut self, text: &str) -> CallId {
        let call = self.call(text).call_id;
        self.tell(&call, News::Receipt(Stage::Starting));
        self.tell(&call, News::Receipt(Stage::Started));
        call
    }

    fn tell(&mut self, call: &CallId, news: News) -> Option<String> {
        match self.talk.happened(call, &news, self.now)? {
            Step::Say(_, said) => Some(said),
            Step::Call(order) => panic!("{order:?}"),
        }
    }
}

fn completed(result: Value) -> News {
    News::Ended(End::Completed { result })
}

#[track_caller]
fn says(said: Option<String>, words: &str) {
    let said = said.expect("something is said");
    assert!(said.contains(words), "{said}");
}

#[test]
fn call_8_nothing_is_said_before_its_receipt_and_each_thing_once() {
    let mut dialogue = Dialogue::default();
    let order = dialogue.call("focus for 20 minutes on the report");
    assert_eq!(order.tool, "pomodoro.start");
    assert_eq!(order.input, json!({ "minutes": 20, "title": "the report" }));
    assert!(dialogue.answer("how long left?").contains("No time runs yet"));
    let call = order.call_id;
    says(dialogue.tell(&call, News::Receipt(Stage::Starting)), "Getting ready: a focus of 20 minutes on “the report”");
    for stage in [Stage::Accepted, Stage::Starting, Stage::ActivationReady, Stage::App] {
        assert_eq!(dialogue.tell(&call, News::Receipt(stage)), None);
    }
    assert!(dialogue.answer("how long left?").contains("No time runs yet"));
    says(dialogue.tell(&call, News::Receipt(Stage::Started)), "Timing now: 20 minutes");
    assert_eq!(dialogue.tell(&call, News::Receipt(Stage::Started)), None);
    says(dialogue.tell(&call, completed(json!({ "status": "completed" }))), "Done: 20 minutes");
    assert_eq!(dialogue.tell(&call, completed(json!({ "status": "completed" }))), None);
    assert_eq!(dialogue.tell(&call, News::Receipt(Stage::Started)), None);
    assert!(dialogue.answer("how long left?").contains("no focus that I started"));
}

#[test]
fn how_long_is_left_is_an_estimate_from_when_started_came() {
    let mut dialogue = Dialogue::default();
    let call = dialogue.call("开始二十分钟的专注").call_id;
    dialogue.now = 5 * MINUTE;
    says(dialogue.tell(&call, News::Receipt(Stage::Starting)), "正在准备 20 分钟");
    dialogue.now = 6 * MINUTE;
    says(dialogue.tell(&call, News::Receipt(Stage::Started)), "现在开始计时");
    dialogue.now = 11 * MINUTE;
    assert_eq!(dialogue.answer("还剩多久"), "大约还剩 15 分钟。这是我从得知开始计时的时候算起的估计。");
    assert!(dialogue.answer("how long left?").starts_with("There are about 15 minutes left."));
    dialogue.now = 25 * MINUTE + MINUTE / 2;
    assert!(dialogue.answer("how long left?").starts_with("There is less than a minute left."));
    dialogue.now = 26 * MINUTE;
    assert!(dialogue.answer("how long left?").contains("not been told yet"));
}

#[test]
fn every_end_is_said_in_plain_words_in_the_language_of_the_request() {
    let denied = |code| News::Ended(End::Rejected { error: Fault::new(code, "no") });
    for (news, english, chinese) in [
        (completed(json!({ "status": "completed" })), "Done", "完成了"),
        (completed(json!({ "status": "interrupted", "by": "left" })), "because you left it", "你离开了"),
        (completed(json!({ "status": "interrupted", "by": "agent" })), "stopped early", "提前停止了"),
        (completed(json!({ "status": "interrupted" })), "stopped early", "提前停止了"),
        (
            completed(json!({ "status": "not_started", "reason": "already_focusing" })),
            "under way already",
            "已经有一个",
        ),
        (completed(json!({ "status": "not_started", "reason": "host_unavailable" })), "Open the page", "打开页面"),
        (completed(json!({ "status": "not_started" })), "not told why", "没有得到原因"),
        (completed(json!({ "status": "dancing" })), "is over", "结束了"),
        (completed(json!({})), "is over", "结束了"),
        (denied(ErrorCode::LifecycleDenied), "not allowed", "没有得到允许"),
        (denied(ErrorCode::AppDisabled), "not use that any more", "不能使用"),
        (News::Ended(End::Expired { error: Fault::new(ErrorCode::CallExpired, "") }), "too long", "太久"),
        (News::Refused(ErrorCode::InventoryRevisionMismatch), "say it again", "再说一次"),
        (News::Refused(ErrorCode::RateLimited), "in a moment", "稍后"),
    ] {
        for (text, expected) in [("start a 20 minute focus", english), ("开始20分钟的专注", chinese)] {
            let mut dialogue = Dialogue::default();
            let call = dialogue.running(text);
            // The person goes on in the other language; what becomes of the call stays in its own.
            dialogue.answer(if expected == english { "你好" } else { "hello" });
            says(dialogue.tell(&call, news.clone()), expected);
        }
    }
}

#[test]
fn a_stop_is_answered_once_whichever_end_comes_first() {
    for stop_first in [true, false] {
        let mut dialogue = Dialogue::default();
        let focus = dialogue.running("start a 20 minute focus");
        let stop = dialogue.call("stop");
        assert_eq!((stop.tool.as_str(), &stop.input), ("pomodoro.interrupt", &json!({})));
        let interrupted = completed(json!({ "status": "interrupted", "by": "agent" }));
        let stopped = completed(json!({ "status": "interrupted" }));
        if stop_first {
            says(dialogue.tell(&stop.call_id, stopped), "Stopped.");
            assert_eq!(dialogue.tell(&focus, interrupted), None);
        } else {
            assert_eq!(dialogue.tell(&focus, interrupted), None);
            says(dialogue.tell(&stop.call_id, stopped), "Stopped.");
        }
    }
}

#[test]
fn a_stop_that_came_to_nothing_silences_nothing() {
    for news in [completed(json!({ "status": "nothing_running" })), News::Refused(ErrorCode::ToolNotAdvertised)] {
        let mut dialogue = Dialogue::default();
        let focus = dialogue.running("start a 20 minute focus");
        let stop = dialogue.call("stop").call_id;
        assert!(dialogue.tell(&stop, news).is_some());
        says(dialogue.tell(&focus, completed(json!({ "status": "interrupted", "by": "agent" }))), "stopped early");
    }
    let mut dialogue = Dialogue::default();
    let focus = dialogue.running("start a 20 minute focus");
    let stop = dialogue.call("stop").call_id;
    says(dialogue.tell(&focus, completed(json!({ "status": "interrupted", "by": "left" }))), "you left");
    says(dialogue.tell(&stop, completed(json!({ "status": "nothing_running" }))), "Nothing is running");
}

#[test]
fn a_start_that_is_called_off_while_it_gets_ready_is_answered_once() {
    let mut dialogue = Dialogue::default();
    let focus = dialogue.call("start a 20 minute focus").call_id;
    dialogue.tell(&focus, News::Receipt(Stage::Starting));
    let stop = dialogue.call("stop").call_id;
    assert_eq!(dialogue.tell(&focus, News::Receipt(Stage::ActivationCancelled)), None);
    assert_eq!(dialogue.tell(&focus, completed(json!({ "status": "not_started", "reason": "cancelled" }))), None);
    says(dialogue.tell(&stop, completed(json!({ "status": "start_cancelled" }))), "before the time began");
}

#[test]
fn it_asks_for_a_length_and_takes_the_answer_with_what_was_said_before() {
    let mut dialogue = Dialogue::default();
    assert!(dialogue.answer("focus on the report").starts_with("For how many minutes?"));
    assert!(dialogue.answer("0").contains("1 to 1440 minutes"));
    assert_eq!(dialogue.call("25").input, json!({ "minutes": 25, "title": "the report" }));
    // The question is answered; a number alone asks for nothing.
    assert!(dialogue.answer("25").starts_with("I did not understand"));
    assert!(dialogue.answer("开始专注").contains("要多少分钟"));
    assert!(dialogue.answer("算了").contains("保持原样"));
    // A text without letters is answered in the language of the one before.
    assert!(dialogue.answer("25").contains("没有听懂"));
}

#[test]
fn call_3_two_agents_that_hear_the_same_make_the_same_call_and_the_same_texts() {
    let (mut one, mut other) = (Dialogue::default(), Dialogue::default());
    for text in ["start a 20 minute focus", "what can you do?", "stop"] {
        assert_eq!(one.hear(text), other.hear(text));
    }
    let call = CallId::new("demo-focus-en-20-t1").unwrap();
    for stage in [Stage::Starting, Stage::Started] {
        let said = one.talk.happened(&call, &News::Receipt(stage), 0);
        assert!(said.is_some());
        assert_eq!(said, other.talk.happened(&call, &News::Receipt(stage), 7));
    }
}

#[test]
fn a_focus_that_is_found_after_a_restart_is_known_by_its_name_and_its_end_is_told() {
    let mut dialogue = Dialogue { now: 100 * MINUTE, ..Dialogue::default() };
    let call = CallId::new("demo-focus-zh-20-t1").unwrap();
    assert!(dialogue.talk.finds(&call));
    assert!(!dialogue.talk.finds(&call), "it is followed already");
    assert!(!dialogue.talk.finds(&CallId::new("k1").unwrap()), "it is somebody else's");
    says(dialogue.tell(&call, News::Receipt(Stage::Started)), "20 分钟");
    dialogue.now += 5 * MINUTE;
    assert!(dialogue.answer("how long left?").contains("at most 15 minutes left. I was away"));
    says(dialogue.tell(&call, completed(json!({ "status": "completed" }))), "20 分钟的专注完成了");
    assert!(!dialogue.talk.finds(&call), "it is over");
    // Found before its time ran: then the beginning is known.
    let call = CallId::new("demo-focus-en-20-t2").unwrap();
    dialogue.tell(&call, News::Receipt(Stage::Starting));
    dialogue.tell(&call, News::Receipt(Stage::Started));
    assert!(dialogue.answer("how long left?").contains("about 20 minutes"));
    // The Runtime does not know it: nothing is said, nothing is claimed.
    assert_eq!(dialogue.tell(&call, News::Refused(ErrorCode::CallNotFound)), None);
    assert!(dialogue.answer("how long left?").contains("no focus"));
}

#[test]
fn what_somebody_else_calls_is_not_talked_about() {
    let mut dialogue = Dialogue::default();
    let call = CallId::new("k1").unwrap();
    assert_eq!(dialogue.tell(&call, News::Receipt(Stage::Started)), None);
    assert_eq!(dialogue.tell(&call, completed(json!({ "status": "completed" }))), None);
    assert!(dialogue.answer("how long left?").contains("no focus that I started"));
}
