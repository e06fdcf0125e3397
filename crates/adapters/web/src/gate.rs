//! Who may open which entry: loopback names only, no foreign page, the role's own credential.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use serde_json::json;

use crate::Shared;

/// Who an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A Host session.
    Host,
    /// The user.
    User,
    /// The owner of the workspace.
    Owner,
}

impl Role {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::User => "user",
            Self::Owner => "owner",
        }
    }
}

/// Lets a request through to the entry of `role`, or answers why not.
pub(crate) async fn admit(State((shared, role)): State<(Arc<Shared>, Role)>, request: Request, next: Next) -> Response {
    match check(&shared, role, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

/// Why the door stays shut. The codes are stable; `docs/host.md` lists them.
struct Shut {
    status: StatusCode,
    code: &'static str,
    message: String,
}

fn check(shared: &Shared, entry: Role, headers: &HeaderMap) -> Result<(), Shut> {
    let host = loopback_host(headers)?;
    same_origin(headers, &host)?;
    let presented = bearer(headers)?;
    match shared.tokens.role_of(presented) {
        None => Err(shut(StatusCode::UNAUTHORIZED, "credential_unknown", "this credential opens nothing here")),
        Some(role) if role != entry => Err(shut(
            StatusCode::FORBIDDEN,
            "wrong_role",
            format!("the {} credential does not open the {} entry", role.as_str(), entry.as_str()),
        )),
        Some(_) if shared.entries.get().is_none() => {
            Err(shut(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "the Runtime is starting; try again"))
        }
        Some(_) => Ok(()),
    }
}

/// A name that resolves elsewhere but leads here is an attack on a browser (DNS rebinding).
fn loopback_host(headers: &HeaderMap) -> Result<String, Shut> {
    let refused = || shut(StatusCode::FORBIDDEN, "host_refused", "ask for localhost, 127.0.0.1 or [::1]");
    let text = single(headers, header::HOST).map_err(|_| refused())?.ok_or_else(refused)?;
    let authority: axum::http::uri::Authority = text.parse().map_err(|_| refused())?;
    let plain = !text.contains('@');
    match authority.host() {
        "127.0.0.1" | "localhost" | "[::1]" if plain => Ok(text.to_owned()),
        _ => Err(refused()),
    }
}

/// Only browsers send `Origin`; only our own page may.
fn same_origin(headers: &HeaderMap, host: &str) -> Result<(), Shut> {
    let refused = || shut(StatusCode::FORBIDDEN, "origin_refused", "a page of another origin may not come in");
    let Some(origin) = single(headers, header::ORIGIN).map_err(|_| refused())? else {
        return Ok(());
    };
    let uri: Uri = origin.parse().map_err(|_| refused())?;
    let ours = uri.scheme_str() == Some("http") && uri.authority().is_some_and(|authority| authority.as_str() == host);
    if ours { Ok(()) } else { Err(refused()) }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Shut> {
    let missing =
        || shut(StatusCode::UNAUTHORIZED, "credential_missing", "send the header `Authorization: Bearer <credential>`");
    let text = single(headers, header::AUTHORIZATION).map_err(|_| missing())?.ok_or_else(missing)?;
    text.strip_prefix("Bearer ").filter(|token| !token.is_empty()).ok_or_else(missing)
}

/// The header's one value; two of them are one too many.
fn single(headers: &HeaderMap, name: header::HeaderName) -> Result<Option<&str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

fn shut(status: StatusCode, code: &'static str, message: impl Into<String>) -> Shut {
    Shut { status, code, message: message.into() }
}

impl axum::response::IntoResponse for Shut {
    fn into_response(self) -> Response {
        let body = json!({ "code": self.code, "message": self.message });
        (self.status, axum::Json(body)).into_response()
    }
}
