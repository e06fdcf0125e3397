//! Every credential at every entry of a served Runtime (ENT-5).
mod common;

use common::World;
use serde_json::Value;
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Error, client::IntoClientRequest as _, http::HeaderValue},
};

#[tokio::test]
async fn ent_5_no_credential_opens_another_roles_entry() {
    let mut world = World::empty();
    let listen = world.serve()["listen"].as_str().unwrap().to_owned();
    let credentials = std::fs::read(world.path().join("credentials.json")).unwrap();
    let credentials: Value = serde_json::from_slice(&credentials).unwrap();
    let token = |path: &str| credentials.pointer(path).and_then(Value::as_str).expect(path).to_owned();
    let roles = ["/host", "/user", "/owner", "/runtime", "/agents/demo", "/page"].map(token);
    // One row per entry, one column per credential, in the order above.
    for (entry, expected) in [
        ("host", [101, 403, 403, 401, 401, 403]),
        ("user", [403, 101, 403, 401, 401, 403]),
        ("control", [403, 403, 101, 401, 401, 403]),
        // The page's comes in as a cookie.
        ("page", [403, 403, 403, 401, 401, 403]),
        ("relay", [401, 401, 401, 101, 101, 401]),
    ] {
        let mut found = Vec::new();
        for token in &roles {
            found.push(knock(&listen, entry, token).await);
        }
        assert_eq!(found, expected, "/{entry}");
    }
}

/// The status that an entry answers with.
async fn knock(listen: &str, entry: &str, token: &str) -> u16 {
    let mut request = format!("ws://{listen}/{entry}").into_client_request().unwrap();
    request.headers_mut().insert("authorization", HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
    match connect_async(request).await {
        Ok((_socket, response)) => response.status().as_u16(),
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(broken) => panic!("neither let in nor refused: {broken}"),
    }
}
