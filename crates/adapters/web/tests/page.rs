//! The page's socket.
mod common;

use common::{PAGE, World, history::said};
use lineup_core::session::AppSession;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn hst_3_a_page_is_told_the_state_and_then_what_it_asks_for_and_what_is_new() {
    let world = World::new().await;
    let first = world.history.say("main", "**one**");
    let mut page = world.open(world.page_request("/page")).await.unwrap();
    let state = page.next().await;
    assert_eq!((&state["type"], &state["apps"][0]["title"]), (&json!("state"), &json!("Pomodoro")));
    page.send(json!({ "type": "follow", "id": "1", "conversation": "main" })).await;
    let item = json!({
        "place": first, "at": 1001, "kind": "agent_text", "agent": "demo", "text": "**one**",
        "html": "<p><strong>one</strong></p>\n",
    });
    assert_eq!(page.next().await, json!({ "type": "ok", "id": "1", "value": { "items": [item], "older": false } }));
    let second = world.history.add("main", said("two"));
    let news = page.next().await;
    assert_eq!((&news["type"], &news["conversation"]), (&json!("items"), &json!("main")));
    assert_eq!((news["items"].as_array().unwrap().len(), &news["items"][0]["place"]), (1, &json!(second)));
    page.send(json!({ "type": "history", "id": "2", "conversation": "main", "before": second, "limit": 1 })).await;
    let answer = page.next().await;
    assert_eq!((&answer["id"], &answer["value"]["items"][0]["place"]), (&json!("2"), &json!(first)));
    page.send(json!({ "type": "follow", "id": "3", "conversation": "main", "after": first })).await;
    let answer = page.next().await;
    assert_eq!(answer["value"]["items"].as_array().unwrap().len(), 1);
    assert_eq!(answer["value"].get("older"), None);
}

#[tokio::test]
async fn ses_2_an_app_session_is_found_by_its_id() {
    let world = World::new().await;
    let at = lineup_model::Instant::default();
    world.history.sessions.lock().unwrap().push(AppSession {
        id: "s1".parse().unwrap(),
        conversation: "other".parse().unwrap(),
        app_scope: "pomodoro".parse().unwrap(),
        instance: "i1".parse().unwrap(),
        opened: at,
        closed: None,
        runs: Vec::new(),
    });
    let mut page = world.open(world.page_request("/page")).await.unwrap();
    assert_eq!(page.next().await["type"], "state");
    page.send(json!({ "type": "session", "id": "1", "session": "s1" })).await;
    let session = json!({
        "session": "s1", "conversation": "other", "app_scope": "pomodoro", "instance": "i1", "opened": 0, "runs": [],
    });
    assert_eq!(page.next().await, json!({ "type": "ok", "id": "1", "value": session }));
    page.send(json!({ "type": "session", "id": "2", "session": "s2" })).await;
    assert_eq!(page.next().await, json!({ "type": "ok", "id": "2", "value": null }));
}

#[tokio::test]
async fn ent_1_the_page_takes_nothing_but_questions() {
    let mut world = World::new().await;
    let mut page = world.open(world.page_request("/page")).await.unwrap();
    assert_eq!(page.next().await["type"], "state");
    for kind in ["hello", "foreground", "intent", "act", "inspect", "pair", "link", "lineup.v1.tool.invoke"] {
        page.send(json!({ "type": kind, "id": "1" })).await;
        assert_eq!(page.next().await["reason"], "wrong_entry", "{kind}");
    }
    for text in ["", "{", "[]", r#"{"type":"follow","id":"1","id":"2"}"#, r#"{"type":"follow","id":"1"}"#] {
        page.raw(Message::text(text)).await;
        assert_eq!(page.next().await["code"], "envelope_invalid", "{text}");
    }
    page.send(json!({ "type": "follow", "id": "9", "conversation": "nowhere" })).await;
    assert_eq!(page.next().await["code"], "conversation_not_found");
    assert!(world.asked_nothing());
    page.raw(Message::binary(vec![1])).await;
    assert_eq!(page.closed().await, 1003);
}

#[tokio::test]
async fn a_clean_stop_tells_every_page_that_the_runtime_goes_away() {
    let world = World::new().await;
    let mut page = world.open(world.page_request("/page")).await.unwrap();
    assert_eq!(page.next().await["type"], "state");
    world.web.close();
    assert_eq!(page.closed().await, 1001);
}

#[tokio::test]
async fn the_sixty_fifth_page_is_refused_until_one_has_gone() {
    let world = World::new().await;
    let mut pages = Vec::new();
    for _ in 0..64 {
        let mut page = world.open(world.page_request("/page")).await.unwrap();
        assert_eq!(page.next().await["type"], "state");
        pages.push(page);
    }
    let mut late = world.open(world.page_request("/page")).await.unwrap();
    assert_eq!(late.closed().await, 1013);
}

#[tokio::test]
async fn ent_5_the_cookie_opens_what_a_page_needs_only_from_this_servers_own_origin() {
    let world = World::new().await;
    let own = format!("http://{}", world.address);
    let cookie = format!("lineup_page={PAGE}");
    for path in ["/host", "/user", "/page"] {
        for (origin, expected) in [
            (Some(own.as_str()), Ok(())),
            (None, Err((403, "origin_refused".to_owned()))),
            (Some("null"), Err((403, "origin_refused".to_owned()))),
            (Some("http://127.0.0.1:1"), Err((403, "origin_refused".to_owned()))),
            (Some("http://evil.example"), Err((403, "origin_refused".to_owned()))),
        ] {
            let mut headers = vec![("cookie", cookie.as_str())];
            headers.extend(origin.map(|origin| ("origin", origin)));
            let opened = world.open(world.request_with(path, &headers)).await.map(|_| ());
            assert_eq!(opened, expected, "{path} from {origin:?}");
        }
    }
}

#[tokio::test]
async fn ent_5_the_cookie_is_no_owner_and_no_other_credential_is_a_cookie() {
    let world = World::new().await;
    let own = format!("http://{}", world.address);
    assert_eq!(
        world.open(world.page_request("/control")).await.map(|_| ()).unwrap_err(),
        (403, "wrong_role".to_owned())
    );
    let bearer = format!("Bearer {PAGE}");
    let twice = format!("lineup_page={PAGE}; lineup_page={PAGE}");
    let shorter = format!("lineup_page={}", &PAGE[1..]);
    for path in ["/host", "/user", "/page", "/control"] {
        for (name, value, expected) in [
            ("authorization", bearer.clone(), (403, "wrong_role")),
            ("cookie", format!("lineup_page={}", common::HOST), (403, "wrong_role")),
            ("cookie", format!("lineup_page={}", common::USER), (403, "wrong_role")),
            ("cookie", format!("lineup_page={}", common::OWNER), (403, "wrong_role")),
            ("cookie", shorter.clone(), (401, "credential_unknown")),
            ("cookie", "lineup_page=".to_owned(), (401, "credential_unknown")),
            ("cookie", twice.clone(), (401, "credential_missing")),
            ("cookie", format!("other={PAGE}"), (401, "credential_missing")),
        ] {
            let request = world.request_with(path, &[(name, &value), ("origin", &own)]);
            let refused = world.open(request).await.map(|_| ()).unwrap_err();
            assert_eq!(refused, (expected.0, expected.1.to_owned()), "{path} with {name}: {value}");
        }
    }
    let bearer = format!("Bearer {}", common::HOST);
    let cookie = format!("lineup_page={PAGE}");
    let request = world.request_with("/host", &[("authorization", &bearer), ("cookie", &cookie)]);
    assert!(world.open(request).await.is_ok(), "a program with its own credential needs no Origin");
    let request = world.request_with("/page", &[("authorization", &bearer)]);
    assert_eq!(world.open(request).await.map(|_| ()).unwrap_err(), (403, "wrong_role".to_owned()));
}

#[tokio::test]
async fn a_name_that_is_not_loopbacks_is_refused_with_the_cookie_too() {
    let world = World::new().await;
    let cookie = format!("lineup_page={PAGE}");
    for (host, expected) in [
        ("localhost:7310", Ok(())),
        ("rebound.example:7310", Err((403, "host_refused".to_owned()))),
        ("127.0.0.1.evil.example", Err((403, "host_refused".to_owned()))),
    ] {
        let origin = format!("http://{host}");
        let request = world.request_with("/page", &[("cookie", &cookie), ("origin", &origin), ("host", host)]);
        assert_eq!(world.open_as_is(request).await.map(|_| ()), expected, "{host}");
    }
}
