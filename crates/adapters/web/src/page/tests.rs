use std::collections::BTreeSet;

use futures_util::FutureExt as _;
use lineup_ports::inbound::ActionState;
use serde_json::{Value, json};

use super::*;

#[path = "../../tests/common/history.rs"]
#[allow(dead_code, reason = "the other tests use their part")]
mod history;

use history::{History, call, ended, said};

fn world() -> (Arc<History>, Reader) {
    let history = Arc::new(History::default());
    let reader = Reader::new(history.clone(), None);
    (history, reader)
}

fn main() -> ConversationId {
    "main".parse().unwrap()
}

async fn told(reader: &mut Reader) -> Vec<Value> {
    let frames = reader.next().await.expect("the Runtime lives");
    frames.iter().map(|frame| serde_json::to_value(frame).unwrap()).collect()
}

/// The places of the items that the page is told of next.
async fn places(reader: &mut Reader) -> Vec<u64> {
    let mut frames = told(reader).await;
    assert_eq!(frames.len(), 1, "{frames:?}");
    places_in(&frames.remove(0)["items"])
}

fn places_in(items: &Value) -> Vec<u64> {
    items.as_array().unwrap().iter().map(|item| item["place"].as_u64().unwrap()).collect()
}

fn of(page: &Page) -> Vec<u64> {
    page.items.iter().map(|item| item.place).collect()
}

#[tokio::test(start_paused = true)]
async fn the_state_is_told_at_once_and_again_only_when_it_has_changed() {
    let history = Arc::new(History::default());
    let connected = watch::Sender::new(BTreeSet::new());
    let mut reader = Reader::new(history.clone(), Some(connected.subscribe()));
    let state = told(&mut reader).await.remove(0);
    assert_eq!(
        state,
        json!({
            "type": "state",
            "conversations": [
                { "conversation": "main", "title": "Main", "agents": [{
                    "agent": "demo", "connected": false,
                    "tools": [{ "tool": "pomodoro.start", "description": "Starts." }],
                }] },
                { "conversation": "other", "title": "", "agents": [] },
            ],
            "apps": [{ "app_scope": "pomodoro", "title": "Pomodoro", "enabled": true }],
        })
    );
    history.touch();
    assert!(tokio::time::timeout(Duration::from_secs(60), reader.next()).await.is_err(), "nothing that it shows");
    connected.send_replace(["demo".parse().unwrap()].into());
    let state = told(&mut reader).await.remove(0);
    assert_eq!(state["conversations"][0]["agents"][0]["connected"], true);
    drop(connected);
    assert!(tokio::time::timeout(Duration::from_secs(60), reader.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_comes_after_a_follow_is_told_once_and_in_its_order() {
    let (history, mut reader) = world();
    let first = history.say("main", "one");
    history.say("other", "not here");
    told(&mut reader).await;
    let page = reader.follow(main(), None, BTreeSet::new()).await.unwrap();
    assert_eq!((of(&page), page.older), (vec![first], Some(false)));
    let (second, third) = (history.say("main", "two"), history.say("main", "three"));
    assert_eq!(places(&mut reader).await, [second, third]);
    history.touch();
    assert!(tokio::time::timeout(Duration::from_secs(60), reader.next()).await.is_err(), "never again");
}

#[tokio::test(start_paused = true)]
async fn pushes_come_at_most_ten_times_a_second() {
    let (history, mut reader) = world();
    told(&mut reader).await;
    reader.follow(main(), None, BTreeSet::new()).await.unwrap();
    let begun = Instant::now();
    let (mut pushes, mut items) = (0, 0);
    while begun.elapsed() < Duration::from_secs(1) {
        history.say("main", "again");
        tokio::select! {
            frames = places(&mut reader) => {
                pushes += 1;
                items += frames.len();
            }
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
    }
    assert!((9..=11).contains(&pushes), "{pushes}");
    assert!(items > 500, "{items}");
}

#[tokio::test(start_paused = true)]
async fn what_may_still_change_is_told_again_when_it_has_and_not_for_its_time_alone() {
    let (history, mut reader) = world();
    let place = history.add("main", call(60_000));
    told(&mut reader).await;
    let page = reader.follow(main(), None, BTreeSet::new()).await.unwrap();
    assert_eq!(of(&page), [place]);
    history.set("main", place, call(59_000));
    assert!(tokio::time::timeout(Duration::from_secs(1), reader.next()).await.is_err());
    history.set("main", place, ended());
    let frames = told(&mut reader).await;
    assert_eq!(frames[0]["items"][0]["end"]["status"], "completed");
    history.set("main", place, call(1));
    assert!(
        tokio::time::timeout(Duration::from_secs(1), reader.next()).await.is_err(),
        "what is final is not read again"
    );
}

#[tokio::test(start_paused = true)]
async fn hst_3_after_a_reconnect_a_page_gets_what_it_missed_and_what_became_of_what_was_open() {
    let (history, _) = world();
    let (known, open) = (history.say("main", "known"), history.add("main", call(60_000)));
    let missed = history.say("main", "missed");
    history.set("main", open, ended());
    let mut reader = Reader::new(history.clone(), None);
    let page = reader.follow(main(), Some(Seq(open)), [Seq(open)].into()).await.unwrap();
    assert_eq!((of(&page), page.older), (vec![open, missed], None));
    assert!(known < open);
    let later = history.say("main", "later");
    let frames = told(&mut reader).await;
    assert_eq!((frames[0]["type"].as_str(), places_in(&frames[1]["items"])), (Some("state"), vec![later]));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_missed_much_gets_it_in_pieces_without_a_gap() {
    let (history, mut reader) = world();
    let all: Vec<u64> = (0..950).map(|_| history.say("main", "much")).collect();
    told(&mut reader).await;
    let mut got = of(&reader.follow(main(), Some(Seq(0)), BTreeSet::new()).await.unwrap());
    while got.len() < all.len() {
        got.extend(places(&mut reader).await);
    }
    assert_eq!(got, all);
}

#[tokio::test(start_paused = true)]
async fn long_texts_come_in_frames_of_a_bounded_size() {
    let (history, mut reader) = world();
    let all: Vec<u64> = (0..60).map(|_| history.say("main", &"x".repeat(16 * 1024))).collect();
    let page = reader.history(&main(), None, 60).await.unwrap();
    assert!(page.items.len() < 60 && page.older == Some(true));
    told(&mut reader).await;
    let mut got = of(&reader.follow(main(), Some(Seq(0)), BTreeSet::new()).await.unwrap());
    while got.len() < all.len() {
        let frames = told(&mut reader).await;
        assert!(frames[0].to_string().len() < 1024 * 1024);
        got.extend(places_in(&frames[0]["items"]));
    }
    assert_eq!(got, all);
}

#[tokio::test(start_paused = true)]
async fn history_is_read_backwards_to_its_beginning_and_what_is_open_in_it_is_followed() {
    let (history, mut reader) = world();
    let open = history.add("main", call(60_000));
    let all: Vec<u64> = (0..120).map(|_| history.say("main", "x")).collect();
    told(&mut reader).await;
    let page = reader.follow(main(), None, BTreeSet::new()).await.unwrap();
    assert_eq!((of(&page), page.older), (all[70..].to_vec(), Some(true)));
    let page = reader.history(&main(), Some(Seq(all[70])), 50).await.unwrap();
    assert_eq!((of(&page), page.older), (all[20..70].to_vec(), Some(true)));
    let page = reader.history(&main(), Some(Seq(all[20])), 50).await.unwrap();
    assert_eq!((of(&page).first().copied(), page.items.len(), page.older), (Some(open), 21, Some(false)));
    history.set("main", open, ended());
    assert_eq!(places(&mut reader).await, [open]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_store_is_tried_again_a_second_later() {
    let (history, mut reader) = world();
    told(&mut reader).await;
    reader.follow(main(), None, BTreeSet::new()).await.unwrap();
    history.refuse_next(Fault::new(ErrorCode::StorageUnavailable, "busy"));
    let place = history.say("main", "one");
    let begun = Instant::now();
    assert_eq!(places(&mut reader).await, [place]);
    assert_eq!(begun.elapsed().as_millis() / 1_000, 1);
}

#[tokio::test(start_paused = true)]
async fn a_push_that_is_interrupted_is_made_again() {
    let (history, mut reader) = world();
    told(&mut reader).await;
    reader.follow(main(), None, BTreeSet::new()).await.unwrap();
    let place = history.say("main", "one");
    for _ in 0..20 {
        assert!(reader.next().now_or_never().is_none(), "it waits for its turn");
    }
    assert_eq!(places(&mut reader).await, [place]);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_not_there_is_not_followed() {
    let (_, mut reader) = world();
    let fault = reader.follow("nowhere".parse().unwrap(), None, BTreeSet::new()).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::ConversationNotFound);
    let fault = reader.history(&"nowhere".parse().unwrap(), None, 1).await.unwrap_err();
    assert_eq!(fault.code, ErrorCode::ConversationNotFound);
}

#[tokio::test(start_paused = true)]
async fn uia_1_what_the_user_said_is_a_text_and_other_actions_are_not() {
    let (history, mut reader) = world();
    let action = |app: &str, method: &str, input, state| ports::What::Action {
        action: "x1".parse().unwrap(),
        app_scope: app.parse().unwrap(),
        method: method.parse().unwrap(),
        input,
        state,
    };
    let text = json!({ "text": "*hi*", "echo_id": "e" });
    history.add("main", action("chat", "send-text", text.clone(), ActionState::Open));
    history.add("main", action("chat", "send-text", text.clone(), ActionState::Done));
    history.add("main", action("chat", "send-text", text.clone(), ActionState::Failed(ErrorCode::AgentUnauthorized)));
    history.add("main", action("pomodoro", "send-text", text, ActionState::Done));
    history.add("main", action("chat", "send-text", json!({ "text": 1 }), ActionState::Done));
    history.add("main", said("[x](javascript:y)"));
    let page = serde_json::to_value(reader.history(&main(), None, 50).await.unwrap()).unwrap();
    let of = |number: usize| page["items"][number].clone();
    assert_eq!(
        of(0),
        json!({
            "place": 1, "at": 1001, "kind": "user_text", "action_id": "x1", "text": "*hi*",
            "html": "<p><em>hi</em></p>\n", "delivery": "sending",
        })
    );
    assert_eq!(of(1)["delivery"], "sent");
    assert_eq!((&of(2)["delivery"], &of(2)["code"]), (&json!("failed"), &json!("agent_unauthorized")));
    assert_eq!(of(3), json!({ "place": 4, "at": 1004, "kind": "other" }));
    assert_eq!(of(4)["kind"], "other");
    assert!(!of(5)["html"].as_str().unwrap().contains("javascript:"));
}
