//! The demo agent in the served process: what the user says, and what it answers.
mod common;

use common::World;
use serde_json::Value;

/// How often the workspace is looked at before a test fails. Each look goes through the Runtime.
const LOOKS: usize = 500;

/// What the agent has said, in order, once there is so much of it.
fn said(world: &World, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    for _ in 0..LOOKS {
        texts = heard(world);
        if texts.len() >= count {
            break;
        }
    }
    assert_eq!(texts.len(), count, "{texts:#?}");
    texts
}

fn heard(world: &World) -> Vec<String> {
    let audit = world.ask(&["inspect", "audit", "--limit", "500"]);
    let mut rows: Vec<&Value> =
        audit["rows"].as_array().unwrap().iter().filter(|row| row["happened"] == "inbox_received").collect();
    rows.sort_by_key(|row| row["seq"].as_u64());
    rows.iter().map(|row| row["body"]["detail"]["text"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn begin_with(texts: &[String], expected: &[&str]) {
    assert_eq!(texts.len(), expected.len(), "{texts:#?}");
    for (text, expected) in texts.iter().zip(expected) {
        assert!(text.starts_with(expected), "{text:?} does not begin with {expected:?}");
    }
}

#[test]
fn call_8_the_user_says_a_sentence_and_the_agent_keeps_the_focus_to_its_end() {
    let mut world = World::empty();
    world.serve_with_demo_agent("127.0.0.1:0");
    let _host = world.host(&[]);
    world.ask(&["user", "say", "start a 20 minute focus"]);
    begin_with(&said(&world, 2), &["Getting ready", "Timing now: 20 minutes"]);
    world.ask(&["clock", "advance", "5m"]);
    world.ask(&["user", "say", "还剩多久？"]);
    begin_with(&said(&world, 3)[2..], &["大约还剩 15 分钟"]);
    world.ask(&["clock", "advance", "15m"]);
    begin_with(&said(&world, 4)[3..], &["Done: 20 minutes"]);
    world.ask(&["user", "say", "stop"]);
    begin_with(&said(&world, 5)[4..], &["Nothing is running"]);
}

#[test]
fn dur_4_a_demo_agent_that_was_killed_with_its_runtime_goes_on_with_the_focus() {
    let mut world = World::empty();
    world.serve_with_demo_agent("127.0.0.1:0");
    let host = world.host(&[]);
    world.ask(&["user", "say", "现在开始 20 分钟的冥想，帮我计时"]);
    begin_with(&said(&world, 2), &["正在准备 20 分钟的专注（冥想）", "现在开始计时：20 分钟"]);
    drop(host);
    world.kill();
    world.serve_with_demo_agent("127.0.0.1:0");
    world.ask(&["clock", "advance", "20m"]);
    // That it is being timed was said before, and is not said again.
    begin_with(&said(&world, 3)[2..], &["20 分钟的专注完成了"]);
}
