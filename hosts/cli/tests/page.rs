//! A browser's way in to a served Runtime, and what its page is told.
mod common;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use common::World;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

/// Asks as a browser does: the status line, the headers and the body.
fn get(address: &str, cookie: Option<&str>) -> String {
    let (listen, path) = address.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(listen).unwrap();
    let cookie = cookie.map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {listen}\r\n{cookie}Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

fn cookie(answer: &str) -> String {
    let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("it lets the browser in");
    line.split(';').next().unwrap().to_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

type Page = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

async fn page(listen: &str, cookie: &str) -> Page {
    let mut request = format!("ws://{listen}/page").into_client_request().unwrap();
    request.headers_mut().insert("cookie", cookie.parse().unwrap());
    request.headers_mut().insert("origin", format!("http://{listen}").parse().unwrap());
    connect_async(request).await.unwrap().0
}

/// The next frame that fits.
async fn until(page: &mut Page, fits: impl Fn(&Value) -> bool) -> Value {
    loop {
        if let Message::Text(text) = page.next().await.unwrap().unwrap() {
            let frame: Value = serde_json::from_str(&text).unwrap();
            if fits(&frame) {
                return frame;
            }
        }
    }
}

/// The next item that fits.
async fn item(page: &mut Page, fits: impl Fn(&Value) -> bool) -> Value {
    let found =
        |frame: &Value| frame["items"].as_array().and_then(|items| items.iter().find(|item| fits(item)).cloned());
    let frame = until(page, |frame| found(frame).is_some()).await;
    found(&frame).unwrap()
}

#[test]
fn ent_5_the_printed_link_lets_one_browser_in_and_link_makes_another() {
    let mut world = World::empty();
    let ready = world.serve();
    let link = text(&ready["link"]);
    assert!(link.starts_with(&format!("http://{}/enter?key=", text(&ready["listen"]))), "{link}");
    let first = get(link, None);
    assert_eq!(status(&first), 303, "{first}");
    let cookie = cookie(&first);
    let again = get(link, None);
    assert_eq!(status(&again), 410, "{again}");
    assert!(again.contains("link --data") && again.contains(world.path().to_str().unwrap()), "{again}");
    assert_eq!(status(&get(link, Some(&cookie))), 303, "the browser that is in may use it again");

    let made = world.ask(&["link"]);
    assert_eq!((&made["kind"], &made["good_for_s"]), (&json!("link"), &json!(600)));
    assert_eq!(status(&get(text(&made["link"]), None)), 303);
    let home = format!("http://{}/", text(&ready["listen"]));
    assert_eq!(status(&get(&home, None)), 401);
    assert!(matches!(status(&get(&home, Some(&cookie))), 200 | 503), "built or not, it is let in");
}

#[test]
fn hst_3_a_browser_that_is_in_stays_in_over_a_restart_and_an_old_link_does_not() {
    let mut world = World::empty();
    let ready = world.serve();
    let (old, cookie) = (world.ask(&["link"]), cookie(&get(text(&ready["link"]), None)));
    world.kill();
    let ready = world.serve();
    let home = format!("http://{}/surfaces", text(&ready["listen"]));
    assert_eq!(status(&get(&home, Some(&cookie))), 200);
    let listen = text(&ready["listen"]);
    let (_, path) = text(&old["link"]).strip_prefix("http://").unwrap().split_once('/').unwrap();
    let refused = get(&format!("http://{listen}/{path}"), None);
    assert_eq!(status(&refused), 403);
    assert!(refused.contains("lineup") && refused.contains("link --data"), "{refused}");
}

#[test]
fn sur_1_the_document_of_a_bundled_surface_is_there_for_the_page() {
    let mut world = World::empty();
    let ready = world.serve();
    let cookie = cookie(&get(text(&ready["link"]), None));
    let at = |path: &str| format!("http://{}{path}", text(&ready["listen"]));
    let list = get(&at("/surfaces"), Some(&cookie));
    assert!(list.ends_with(r#"{"surfaces":[{"app_scope":"pomodoro","surface":"main"}]}"#), "{list}");
    let document = get(&at("/surface/pomodoro/main"), Some(&cookie));
    assert!(document.contains("content-type: text/plain") && document.contains("<script"), "{document}");
    assert_eq!(status(&get(&at("/surface/pomodoro/main"), None)), 401);
}

#[test]
fn without_a_runtime_there_is_no_link() {
    let world = World::empty();
    let output = world.words(&["link"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8(output.stderr).unwrap().contains("start one with `lineup serve --data"));
}

#[tokio::test]
async fn a_page_sees_its_agents_come_and_go_and_what_they_and_the_user_say() {
    let mut world = World::empty();
    let ready = world.serve();
    let mut page = page(text(&ready["listen"]), &cookie(&get(text(&ready["link"]), None))).await;
    let connected = |frame: &Value| frame["conversations"][0]["agents"][0]["connected"] == true;
    let state = until(&mut page, |frame| frame["type"] == "state").await;
    assert!(!connected(&state), "{state}");
    let follow = json!({ "type": "follow", "id": "1", "conversation": "main" });
    page.send(Message::text(follow.to_string())).await.unwrap();
    let answer = until(&mut page, |frame| frame["id"] == "1").await;
    assert_eq!(answer["value"]["older"], false, "{answer}");

    let mut agent = world.start(&["agent", "watch"]);
    agent.until(|line| line["kind"] == "watching");
    until(&mut page, |frame| frame["type"] == "state" && connected(frame)).await;
    world.ask(&["user", "say", "Help **me**", "--action-id", "x1"]);
    let sent = item(&mut page, |item| item["delivery"] == "sent").await;
    assert_eq!((&sent["kind"], &sent["action_id"]), (&json!("user_text"), &json!("x1")));
    assert_eq!(sent["html"], "<p>Help <strong>me</strong></p>\n");
    assert_eq!(world.run(&["agent", "say", "Yes"]).0, 0);
    let said = item(&mut page, |item| item["kind"] == "agent_text").await;
    assert_eq!((&said["agent"], &said["text"]), (&json!("demo"), &json!("Yes")));
    drop(agent);
    until(&mut page, |frame| frame["type"] == "state" && !connected(frame)).await;
}
