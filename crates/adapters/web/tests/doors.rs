//! Who may open which entry (ENT-5).
mod common;

use common::{HOST, OWNER, USER, World, tokens};
use lineup_web::WebAdapter;

#[tokio::test]
async fn ent_5_each_credential_opens_its_own_entry_and_no_other() {
    let world = World::new().await;
    let roles = [("/host", HOST), ("/user", USER), ("/control", OWNER)];
    for (path, own) in roles {
        for (_, token) in roles {
            let opened = world.open(world.request(path, token)).await.map(|_| ());
            let expected = if token == own { Ok(()) } else { Err((403, "wrong_role".to_owned())) };
            assert_eq!(opened, expected, "{path} with {token}");
        }
    }
}

#[tokio::test]
async fn ent_5_no_entry_opens_without_a_known_credential() {
    let world = World::new().await;
    let stranger = format!("Bearer {}", "x".repeat(HOST.len()));
    let prefix = format!("Bearer {}", &HOST[..HOST.len() - 1]);
    let longer = format!("Bearer {HOST}x");
    let basic = format!("Basic {HOST}");
    let lower = format!("bearer {HOST}");
    for path in ["/host", "/user", "/control"] {
        for (headers, code) in [
            (vec![], "credential_missing"),
            (vec![("authorization", "Bearer ")], "credential_missing"),
            (vec![("authorization", HOST)], "credential_missing"),
            (vec![("authorization", basic.as_str())], "credential_missing"),
            (vec![("authorization", lower.as_str())], "credential_missing"),
            (vec![("authorization", stranger.as_str())], "credential_unknown"),
            (vec![("authorization", prefix.as_str())], "credential_unknown"),
            (vec![("authorization", longer.as_str())], "credential_unknown"),
        ] {
            let refused = world.open(world.request_with(path, &headers)).await.map(|_| ()).unwrap_err();
            assert_eq!(refused, (401, code.to_owned()), "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused_and_our_own_is_not() {
    let world = World::new().await;
    let own = format!("http://{}", world.address);
    let bearer = format!("Bearer {HOST}");
    for (origin, expected) in [
        (own.as_str(), Ok(())),
        ("http://evil.example", Err((403, "origin_refused".to_owned()))),
        ("http://127.0.0.1:1", Err((403, "origin_refused".to_owned()))),
        ("null", Err((403, "origin_refused".to_owned()))),
        (own.replace("http", "https").as_str(), Err((403, "origin_refused".to_owned()))),
    ] {
        let request = world.request_with("/host", &[("authorization", &bearer), ("origin", origin)]);
        assert_eq!(world.open(request).await.map(|_| ()), expected, "{origin}");
    }
}

#[tokio::test]
async fn a_name_that_is_not_loopbacks_is_refused() {
    let world = World::new().await;
    let bearer = format!("Bearer {HOST}");
    for (host, expected) in [
        ("localhost:7310", Ok(())),
        ("[::1]:7310", Ok(())),
        ("127.0.0.1", Ok(())),
        ("rebound.example", Err((403, "host_refused".to_owned()))),
        ("127.0.0.1.evil.example", Err((403, "host_refused".to_owned()))),
        ("localhost@evil.example", Err((403, "host_refused".to_owned()))),
        ("x@localhost", Err((403, "host_refused".to_owned()))),
    ] {
        let request = world.request_with("/host", &[("authorization", &bearer), ("host", host)]);
        assert_eq!(world.open_as_is(request).await.map(|_| ()), expected, "{host}");
    }
}

#[tokio::test]
async fn before_the_runtime_is_there_every_entry_says_so_to_its_own_role_only() {
    let world = World::without_runtime(false).await;
    for (path, token) in [("/host", HOST), ("/user", USER), ("/control", OWNER)] {
        let refused = world.open(world.request(path, token)).await.map(|_| ()).unwrap_err();
        assert_eq!(refused, (503, "not_ready".to_owned()), "{path}");
    }
    let refused = world.open(world.request("/control", USER)).await.map(|_| ()).unwrap_err();
    assert_eq!(refused, (403, "wrong_role".to_owned()));
}

#[test]
fn the_adapter_prints_no_credential() {
    let web = WebAdapter::new(tokens());
    assert!(!format!("{web:?}").contains("0123456789abcdef"));
}
