//! Who may open which entry: loopback names only, no foreign page, the role's own credential.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use cookie::Cookie;
use serde_json::json;

use crate::{Shared, tokens::same};

/// The name of the page's cookie.
pub(crate) const COOKIE: &str = "lineup_page";

/// Who an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A Host session.
    Host,
    /// The user.
    User,
    /// The owner of the workspace.
    Owner,
    /// The page in a browser: a Host session, the user's entry and a reader in one.
    Page,
}

impl Role {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::User => "user",
            Self::Owner => "owner",
            Self::Page => "page",
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
pub(crate) struct Shut {
    status: StatusCode,
    code: &'static str,
    message: String,
}

fn check(shared: &Shared, entry: Role, headers: &HeaderMap) -> Result<(), Shut> {
    let host = loopback_host(headers)?;
    let origin = same_origin(headers, &host)?;
    let role = match presented(headers)? {
        Presented::Bearer(token) => match shared.tokens.role_of(token).ok_or_else(unknown)? {
            // Whoever reads the cookie must not be able to leave the browser with it.
            Role::Page => return Err(wrong("the page credential comes in as a cookie only")),
            role => role,
        },
        Presented::Cookie(token) => match shared.tokens.role_of(&token).ok_or_else(unknown)? {
            Role::Page if entry == Role::Owner => Role::Page,
            Role::Page if !origin => {
                let message = "a request with the page's cookie must name this server as its Origin";
                return Err(shut(StatusCode::FORBIDDEN, "origin_refused", message));
            }
            Role::Page => entry,
            _ => return Err(wrong("only the page's credential comes in as a cookie")),
        },
    };
    if role != entry {
        return Err(wrong(format!("the {} credential does not open the {} entry", role.as_str(), entry.as_str())));
    }
    if shared.entries.get().is_none() {
        return Err(shut(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "the Runtime is starting; try again"));
    }
    Ok(())
}

/// Whether a browser that asks for a document has the page's cookie. One that another site has sent
/// here, or that asks for a name that is not loopback's, is refused.
pub(crate) fn visitor(shared: &Shared, headers: &HeaderMap) -> Result<bool, Shut> {
    let host = loopback_host(headers)?;
    same_origin(headers, &host)?;
    Ok(cookie(headers).is_some_and(|token| same(shared.tokens.page(), &token)))
}

/// The credential of a request.
enum Presented<'a> {
    Bearer(&'a str),
    Cookie(String),
}

fn presented(headers: &HeaderMap) -> Result<Presented<'_>, Shut> {
    if !headers.contains_key(header::AUTHORIZATION)
        && let Some(token) = cookie(headers)
    {
        return Ok(Presented::Cookie(token));
    }
    bearer(headers).map(Presented::Bearer)
}

/// The value of the page's cookie, if there is one and not two.
fn cookie(headers: &HeaderMap) -> Option<String> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut ours = pairs
        .flat_map(Cookie::split_parse)
        .filter_map(Result::ok)
        .filter(|cookie| cookie.name() == COOKIE)
        .map(|cookie| cookie.value().to_owned());
    match (ours.next(), ours.next()) {
        (Some(value), None) => Some(value),
        _ => None,
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

/// Only browsers send `Origin`; only our own page may. Answers whether it was sent.
fn same_origin(headers: &HeaderMap, host: &str) -> Result<bool, Shut> {
    let refused = || shut(StatusCode::FORBIDDEN, "origin_refused", "a page of another origin may not come in");
    let Some(origin) = single(headers, header::ORIGIN).map_err(|_| refused())? else {
        return Ok(false);
    };
    let uri: Uri = origin.parse().map_err(|_| refused())?;
    let ours = uri.scheme_str() == Some("http") && uri.authority().is_some_and(|authority| authority.as_str() == host);
    if ours { Ok(true) } else { Err(refused()) }
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

fn unknown() -> Shut {
    shut(StatusCode::UNAUTHORIZED, "credential_unknown", "this credential opens nothing here")
}

fn wrong(message: impl Into<String>) -> Shut {
    shut(StatusCode::FORBIDDEN, "wrong_role", message)
}

fn shut(status: StatusCode, code: &'static str, message: impl Into<String>) -> Shut {
    Shut { status, code, message: message.into() }
}

impl IntoResponse for Shut {
    fn into_response(self) -> Response {
        let body = json!({ "code": self.code, "message": self.message });
        (self.status, axum::Json(body)).into_response()
    }
}
