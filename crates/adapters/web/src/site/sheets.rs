//! Small documents that say one thing and what to do, in English and Chinese.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse as _, Response},
};

use super::policy;
use crate::page::markdown;

const STYLE: &str = "\
:root{color-scheme:light dark;font:17px/1.6 system-ui,sans-serif}\
body{max-width:34rem;margin:18vh auto 0;padding:0 1.5rem}\
h1{font-size:1.35rem;line-height:1.35}\
section+section{margin-top:2.5rem;opacity:.85}\
code{font:.95em ui-monospace,monospace;padding:.15em .4em;border:1px solid color-mix(in srgb,currentColor 30%,transparent);\
border-radius:.35em;user-select:all}";

/// What a sheet says.
pub(super) enum Sheet<'a> {
    /// The browser has no cookie. Holds the command that makes a link.
    NoCookie(&'a str),
    /// The link was used or is too old.
    SpentLink(&'a str),
    /// The link is none of this process's.
    UnknownLink(&'a str),
    /// There is no page to show.
    NotBuilt,
    /// There is nothing at this address.
    Nothing,
}

impl Sheet<'_> {
    pub fn answer(&self) -> Response {
        let (status, words, command) = match self {
            Self::NoCookie(link) => (
                StatusCode::UNAUTHORIZED,
                [
                    (
                        "This browser has not come in yet.",
                        "Run this in a terminal and open the address that it prints:",
                    ),
                    ("这个浏览器还没有进来过。", "请在终端运行下面的命令，再打开它给出的地址："),
                ],
                Some(*link),
            ),
            Self::SpentLink(link) => (
                StatusCode::GONE,
                [
                    (
                        "This link was used already, or is older than ten minutes.",
                        "Run this in a terminal and open the new address that it prints:",
                    ),
                    ("这个链接已经用过，或者超过了十分钟。", "请在终端运行下面的命令，再打开它给出的新地址："),
                ],
                Some(*link),
            ),
            Self::UnknownLink(link) => (
                StatusCode::FORBIDDEN,
                [
                    (
                        "This link does not open this LineUp; it may be from before a restart.",
                        "Run this in a terminal and open the new address that it prints:",
                    ),
                    ("这个链接打不开这个 LineUp，可能是重启之前的。", "请在终端运行下面的命令，再打开它给出的新地址："),
                ],
                Some(*link),
            ),
            Self::NotBuilt => (
                StatusCode::SERVICE_UNAVAILABLE,
                [
                    (
                        "LineUp is running, and its page is not built yet.",
                        "Run this in the source folder (it needs Node 20 or newer), then start LineUp again:",
                    ),
                    (
                        "LineUp 正在运行，但页面还没有构建。",
                        "请在源码目录运行下面的命令（需要 Node 20 或更新的版本），然后重新启动 LineUp：",
                    ),
                ],
                Some("cargo xtask ui"),
            ),
            Self::Nothing => (
                StatusCode::NOT_FOUND,
                [
                    ("There is nothing at this address.", "The page itself is at the address without a path."),
                    ("这个地址没有内容。", "页面本身在不带路径的地址上。"),
                ],
                None,
            ),
        };
        let command = command.map_or_else(String::new, |command| format!("<p>{}</p>", markdown::code(command)));
        let [english, chinese] = words;
        let section = |language, (what, next): (&str, &str)| {
            format!("<section lang=\"{language}\"><h1>{what}</h1><p>{next}</p>{command}</section>")
        };
        let html = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><title>LineUp</title><style>{STYLE}</style></head><body><main>{}{}</main></body></html>",
            section("en", english),
            section("zh", chinese)
        );
        let mut response = (status, Html(html)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Ok(policy) = HeaderValue::from_str(&policy::sheet(STYLE)) {
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        }
        response
    }
}
