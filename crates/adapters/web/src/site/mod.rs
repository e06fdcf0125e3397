//! The page's documents: the way in, the built page, the Surfaces' files.

mod assets;
mod keys;
mod policy;
mod sheets;
mod surfaces;

use axum::{
    Router,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use cookie::{Cookie, SameSite};
use serde::Deserialize;
use serde_json::json;
use tower_http::compression::CompressionLayer;

pub(crate) use keys::{GOOD_FOR, Keys};
pub use surfaces::SurfaceFile;
pub(crate) use surfaces::Surfaces;

use crate::{WebAdapter, gate};
use keys::Shown;
use sheets::Sheet;

/// Where a one-time key is shown.
pub(crate) const ENTER: &str = "/enter";

/// The routes, without the adapter's state.
pub(crate) fn routes(web: &WebAdapter) -> Router<WebAdapter> {
    let compressed = Router::new().route("/", get(index)).route("/{*path}", get(asset)).layer(CompressionLayer::new());
    let router = Router::new()
        .route(ENTER, get(enter))
        .route("/surfaces", get(surfaces))
        .route("/surface/{app_scope}/{surface}", get(surface))
        .merge(compressed)
        .layer(middleware::from_fn_with_state(web.clone(), visit));
    policy::guarded(router)
}

/// Whether the browser has the page's cookie.
#[derive(Clone, Copy)]
struct Visitor {
    is_known: bool,
}

/// Refuses what comes by a foreign name or from a foreign page.
async fn visit(State(web): State<WebAdapter>, mut request: axum::extract::Request, next: Next) -> Response {
    match gate::visitor(web.shared(), request.headers()) {
        Ok(is_known) => {
            request.extensions_mut().insert(Visitor { is_known });
            next.run(request).await
        }
        Err(shut) => shut.into_response(),
    }
}

#[derive(Deserialize)]
struct Enter {
    key: String,
}

/// Takes a one-time key for the cookie.
async fn enter(
    State(web): State<WebAdapter>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    method: Method,
    query: Result<Query<Enter>, QueryRejection>,
) -> Response {
    if method == Method::HEAD {
        // Whoever only looks whether the address is there does not use the key up.
        return StatusCode::NO_CONTENT.into_response();
    }
    let shown = query.map_or(Shown::Unknown, |Query(Enter { key })| web.shared().keys.take(&key));
    let home = Redirect::to("/").into_response();
    match shown {
        Shown::Good => with_cookie(home, web.shared().tokens.page()),
        // The same link again, in the browser that it has let in.
        _ if visitor.is_known => home,
        Shown::Spent => Sheet::SpentLink(web.link_command()).answer(),
        Shown::Unknown => Sheet::UnknownLink(web.link_command()).answer(),
    }
}

fn with_cookie(mut response: Response, token: &str) -> Response {
    let cookie = Cookie::build((gate::COOKIE, token)).path("/").http_only(true).same_site(SameSite::Strict);
    let headers = response.headers_mut();
    if let Ok(cookie) = HeaderValue::from_str(&cookie.build().to_string()) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn index(
    State(web): State<WebAdapter>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    headers: HeaderMap,
) -> Response {
    if !visitor.is_known {
        return Sheet::NoCookie(web.link_command()).answer();
    }
    let Some(file) = assets::find(assets::INDEX) else { return Sheet::NotBuilt.answer() };
    let mut response = assets::answer(assets::INDEX, file, &headers);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, web.page_policy().clone());
    response
}

/// A file of the built page. They are the same for everybody and hold nothing of anybody.
async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match assets::find(&path) {
        Some(file) if path != assets::INDEX => assets::answer(&path, file, &headers),
        _ => Sheet::Nothing.answer(),
    }
}

/// Which Surfaces have a document here.
async fn surfaces(State(web): State<WebAdapter>, axum::Extension(visitor): axum::Extension<Visitor>) -> Response {
    if !visitor.is_known {
        return Sheet::NoCookie(web.link_command()).answer();
    }
    ([(header::CACHE_CONTROL, "no-cache")], axum::Json(json!({ "surfaces": web.files().list() }))).into_response()
}

/// The document of a Surface, as text: only the page may make a frame of it (SUR-1), and a browser
/// that opens this address itself must not run it with the page's own rights.
async fn surface(
    State(web): State<WebAdapter>,
    axum::Extension(visitor): axum::Extension<Visitor>,
    Path((app_scope, surface)): Path<(String, String)>,
) -> Response {
    if !visitor.is_known {
        return Sheet::NoCookie(web.link_command()).answer();
    }
    match web.files().html(app_scope, surface) {
        Some(html) => {
            let headers = [
                (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
                (header::CACHE_CONTROL, "no-cache"),
                (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox; frame-ancestors 'none'"),
            ];
            (headers, html.to_owned()).into_response()
        }
        None => Sheet::Nothing.answer(),
    }
}

/// The page's policy as a header.
pub(crate) fn page_policy(surfaces: &Surfaces) -> HeaderValue {
    HeaderValue::from_str(&policy::page(&surfaces.inline)).expect("words and base64 are a header")
}
