//! The built page, as `ui/shell/dist` holds it. A build with optimisation carries it; any other
//! reads it from there each time, so that a page that was built later is there at once.

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use headers::{ETag, HeaderMapExt as _, IfNoneMatch};
use rust_embed::{EmbeddedFile, RustEmbed};

/// Empty until `cargo xtask ui` was run.
#[derive(RustEmbed)]
#[folder = "../../../ui/shell/dist/"]
#[allow_missing = true]
struct Built;

/// The document that everything else is loaded from.
pub(super) const INDEX: &str = "index.html";
/// Files below this name change their name with their content.
const NAMED_BY_CONTENT: &str = "assets/";

/// Finds a file of the built page.
pub(super) fn find(path: &str) -> Option<EmbeddedFile> {
    Built::get(path)
}

/// The answer that holds a file, or that says that the browser has it already.
pub(super) fn answer(path: &str, file: EmbeddedFile, asked: &HeaderMap) -> Response {
    let digest: String = file.metadata.sha256_hash().iter().map(|byte| format!("{byte:02x}")).collect();
    // Weak: the same file may be sent compressed or not.
    let Ok(tag) = format!("W/\"{digest}\"").parse::<ETag>() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let is_known = asked.typed_get::<IfNoneMatch>().is_some_and(|known| !known.precondition_passes(&tag));
    let caching = if path.starts_with(NAMED_BY_CONTENT) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = file.metadata.mimetype();
        let kind = if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind.to_owned() };
        ([(header::CONTENT_TYPE, kind)], Body::from(file.data.into_owned())).into_response()
    };
    response.headers_mut().typed_insert(tag);
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static(caching));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &'static str) -> EmbeddedFile {
        let dir = std::env::temp_dir().join(format!("lineup-assets-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(name), text).unwrap();
        rust_embed::utils::read_file_from_fs(&dir.join(name)).unwrap()
    }

    fn header<'a>(response: &'a Response, name: &str) -> &'a str {
        response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[test]
    fn a_file_has_its_type_and_is_kept_as_long_as_its_name_is_its_own() {
        for (path, kind, caching) in [
            ("index.html", "text/html; charset=utf-8", "no-cache"),
            ("favicon.svg", "image/svg+xml", "no-cache"),
            ("assets/app-1a2b.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
            ("assets/app-1a2b.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"),
        ] {
            let response = answer(path, file(path.rsplit('/').next().unwrap(), "x"), &HeaderMap::new());
            assert_eq!(response.status(), 200, "{path}");
            assert_eq!(
                (header(&response, "content-type"), header(&response, "cache-control")),
                (kind, caching),
                "{path}"
            );
        }
    }

    #[test]
    fn a_browser_that_has_the_file_is_not_sent_it_again() {
        let first = answer("index.html", file("same.html", "one"), &HeaderMap::new());
        let tag = first.headers()["etag"].clone();
        let mut asked = HeaderMap::new();
        asked.insert("if-none-match", tag.clone());
        let again = answer("index.html", file("same.html", "one"), &asked);
        assert_eq!((again.status(), &again.headers()["etag"]), (StatusCode::NOT_MODIFIED, &tag));
        assert_eq!(answer("index.html", file("other.html", "two"), &asked).status(), 200);
    }

    #[test]
    fn a_path_leads_to_no_file_outside() {
        for path in ["../package.json", "../../../Cargo.toml", "/etc/passwd", "assets/../../package.json", ""] {
            assert!(find(path).is_none(), "{path}");
        }
    }
}
