//! What a browser may do with what it gets from here.

use std::collections::BTreeSet;

use axum::{
    Router,
    http::{HeaderName, HeaderValue, header},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};
use tower_http::set_header::SetResponseHeaderLayer;

use super::surfaces::Inline;

/// For everything that is no document of its own.
const NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "accelerometer=(), bluetooth=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), \
         magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=(), xr-spatial-tracking=()",
    ),
];

/// Puts on every answer what every answer has.
pub(super) fn guarded<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    let set = |router: Router<S>, (name, value): (HeaderName, &'static str)| {
        router.layer(SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value)))
    };
    let router = HEADERS.into_iter().fold(router, set);
    let nothing = HeaderValue::from_static(NOTHING);
    router.layer(SetResponseHeaderLayer::if_not_present(header::CONTENT_SECURITY_POLICY, nothing))
}

/// The policy of the page. A `srcdoc` frame inherits it: what its Surfaces run inline stands here by
/// hash, and no other inline script runs anywhere. `frame-src` lets a frame go nowhere.
pub(super) fn page(inline: &Inline) -> String {
    format!(
        "default-src 'none'; script-src 'self'{}; style-src 'self'{}; img-src 'self' data:; connect-src 'self'; \
         frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        listed(&inline.scripts),
        listed(&inline.styles)
    )
}

/// The policy of a document that has one style and nothing else.
pub(super) fn sheet(style: &str) -> String {
    format!("{NOTHING}; style-src {}", hash(style))
}

/// The word that allows one inline script or style.
pub(super) fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

fn listed(hashes: &BTreeSet<String>) -> String {
    hashes.iter().map(|hash| format!(" {hash}")).collect()
}
