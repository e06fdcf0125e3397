//! The page's documents and a browser's way in.
mod common;

use axum::{
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use common::{HOST, OWNER, PAGE, World, tokens};
use http_body_util::BodyExt as _;
use lineup_web::{SurfaceFile, WebAdapter};
use serde_json::json;
use tower::ServiceExt as _;

/// What a browser gets.
struct Got {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn cookie(&self) -> Option<&str> {
        self.headers.get("set-cookie").map(|value| value.to_str().unwrap())
    }
}

async fn ask(web: &WebAdapter, method: &str, path: &str, headers: &[(&str, &str)]) -> Got {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "127.0.0.1:7310");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = web.router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Got { status: parts.status, headers: parts.headers, body }
}

async fn get(web: &WebAdapter, path: &str) -> Got {
    ask(web, "GET", path, &[]).await
}

async fn get_known(web: &WebAdapter, path: &str) -> Got {
    let cookie = format!("theme=dark; lineup_page={PAGE}");
    ask(web, "GET", path, &[("cookie", &cookie)]).await
}

fn web() -> WebAdapter {
    WebAdapter::new(tokens()).with_link_command("lineup link --data '/a & b'")
}

#[tokio::test]
async fn ent_5_a_link_lets_one_browser_in_once() {
    let web = web();
    let link = web.link().unwrap();
    let got = get(&web, &link.path).await;
    assert_eq!((got.status, got.header("location")), (StatusCode::SEE_OTHER, "/"));
    assert_eq!(got.cookie(), Some(&*format!("lineup_page={PAGE}; HttpOnly; SameSite=Strict; Path=/")));
    assert_eq!((got.header("cache-control"), got.header("referrer-policy")), ("no-store", "no-referrer"));

    let again = get(&web, &link.path).await;
    assert_eq!((again.status, again.cookie()), (StatusCode::GONE, None));
    assert!(again.body.contains("<code>lineup link --data '/a &amp; b'</code>"), "{}", again.body);
    assert!(again.body.contains("lang=\"zh\"") && again.body.contains("ten minutes"), "{}", again.body);
    let known = get_known(&web, &link.path).await;
    assert_eq!((known.status, known.header("location"), known.cookie()), (StatusCode::SEE_OTHER, "/", None));
}

#[tokio::test(start_paused = true)]
async fn ent_5_a_link_is_good_for_ten_minutes() {
    let web = web();
    let (early, late) = (web.link().unwrap(), web.link().unwrap());
    tokio::time::advance(early.good_for - std::time::Duration::from_secs(1)).await;
    assert_eq!(get(&web, &early.path).await.status, StatusCode::SEE_OTHER);
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    let got = get(&web, &late.path).await;
    assert_eq!((got.status, got.cookie()), (StatusCode::GONE, None));
}

#[tokio::test]
async fn ent_5_no_other_key_lets_anybody_in() {
    let web = web();
    let link = web.link().unwrap();
    for path in [
        "/enter".to_owned(),
        "/enter?key=".to_owned(),
        format!("/enter?key={HOST}"),
        format!("/enter?key={OWNER}"),
        format!("/enter?key={PAGE}"),
        format!("{}x", link.path),
        link.path[..link.path.len() - 1].to_owned(),
        link.path.replace("key", "Key"),
        format!("{}&key=x", link.path),
    ] {
        let got = get(&web, &path).await;
        assert_eq!((got.status, got.cookie()), (StatusCode::FORBIDDEN, None), "{path}");
        assert!(got.body.contains("lineup link"), "{path}: {}", got.body);
    }
    assert_eq!(get(&web, &link.path).await.status, StatusCode::SEE_OTHER, "nothing of this used it up");
}

#[tokio::test]
async fn whoever_only_looks_whether_a_link_is_there_does_not_use_it_up() {
    let web = web();
    let link = web.link().unwrap();
    let looked = ask(&web, "HEAD", &link.path, &[]).await;
    assert_eq!((looked.status, looked.cookie()), (StatusCode::NO_CONTENT, None));
    assert_eq!(get(&web, &link.path).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn ent_5_without_the_cookie_a_browser_is_told_how_to_come_in() {
    let web = web();
    for path in ["/", "/surfaces", "/surface/pomodoro/main"] {
        for cookie in
            ["", "lineup_page=", "lineup_page=x", &*format!("lineup_page={HOST}"), "lineup_page=x; lineup_page=y"]
        {
            let got = ask(&web, "GET", path, &[("cookie", cookie)]).await;
            assert_eq!(got.status, StatusCode::UNAUTHORIZED, "{path} {cookie}");
            assert!(got.body.contains("lineup link") && got.body.contains("lang=\"zh\""), "{path}: {}", got.body);
        }
        assert_ne!(get_known(&web, path).await.status, StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn a_foreign_name_or_origin_gets_no_document() {
    let web = web();
    let cookie = format!("lineup_page={PAGE}");
    let link = web.link().unwrap();
    for path in ["/surfaces", "/", "/enter?key=x", &link.path, "/assets/x.js"] {
        for (name, value, code) in [
            ("host", "rebound.example:7310", "host_refused"),
            ("host", "127.0.0.1.evil.example", "host_refused"),
            ("host", "", "host_refused"),
            ("origin", "http://evil.example", "origin_refused"),
            ("origin", "null", "origin_refused"),
            ("origin", "https://127.0.0.1:7310", "origin_refused"),
        ] {
            let got = ask(&web, "GET", path, &[("cookie", &cookie), (name, value)]).await;
            assert_eq!(got.status, StatusCode::FORBIDDEN, "{path} {name}: {value}");
            assert!(got.body.contains(code), "{path} {name}: {value}: {}", got.body);
        }
    }
    let own = [("cookie", &*cookie), ("origin", "http://127.0.0.1:7310")];
    assert_eq!(ask(&web, "GET", "/surfaces", &own).await.status, StatusCode::OK);
    assert_eq!(get(&web, &link.path).await.status, StatusCode::SEE_OTHER, "nothing of this used it up");
}

#[tokio::test]
async fn sur_1_the_document_of_a_surface_is_text_and_its_scripts_are_in_the_pages_policy() {
    let html = "<!doctype html><style>a{}</style><script>alert(1)</script>";
    let file = SurfaceFile { app_scope: "pomodoro".to_owned(), surface: "main".to_owned(), html: html.to_owned() };
    let web = web().with_surface_files([file]);
    let list = get_known(&web, "/surfaces").await;
    let list: serde_json::Value = serde_json::from_str(&list.body).unwrap();
    assert_eq!(list, json!({ "surfaces": [{ "app_scope": "pomodoro", "surface": "main" }] }));
    let got = get_known(&web, "/surface/pomodoro/main").await;
    assert_eq!((got.status, got.body.as_str()), (StatusCode::OK, html));
    assert_eq!(got.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(got.header("content-security-policy"), "default-src 'none'; sandbox; frame-ancestors 'none'");
    for path in ["/surface/pomodoro/other", "/surface/interact/main", "/surface/pomodoro", "/surface/pomodoro/main/x"] {
        assert_eq!(get_known(&web, path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn every_answer_says_what_a_browser_may_do_with_it() {
    let world = World::new().await;
    for path in ["/", "/enter?key=x", "/surfaces", "/surface/a/b", "/assets/none.js", "/none", "/../x"] {
        for got in [get(&world.web, path).await, get_known(&world.web, path).await] {
            assert_eq!(got.header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(got.header("referrer-policy"), "no-referrer", "{path}");
            assert_eq!(got.header("cross-origin-opener-policy"), "same-origin", "{path}");
            assert!(got.header("permissions-policy").contains("camera=()"), "{path}");
            let policy = got.header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{path}: {policy}");
            assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        }
    }
}

#[tokio::test]
async fn the_page_is_there_or_says_how_it_is_built() {
    let got = get_known(&web(), "/").await;
    // Whether this machine has built it is not this test's to choose.
    if got.status == StatusCode::OK {
        assert_eq!(got.header("content-type"), "text/html; charset=utf-8");
        assert_eq!(got.header("cache-control"), "no-cache");
        for part in ["script-src 'self';", "connect-src 'self';", "frame-src 'none';", "form-action 'none';"] {
            assert!(got.header("content-security-policy").contains(part), "{part}");
        }
    } else {
        assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(got.body.contains("<code>cargo xtask ui</code>"), "{}", got.body);
    }
}
