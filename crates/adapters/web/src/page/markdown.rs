//! Texts of people and agents as markup: CommonMark with tables and strikethrough, without HTML of
//! their own, and cleaned again at the end. This is the only markup that the page takes.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use ammonia::{Builder, UrlRelative};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// What is nested deeper is shown as it was written.
const DEEPEST: usize = 24;

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let tags = [
        "a",
        "blockquote",
        "br",
        "code",
        "del",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
        "strong",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
        "ul",
    ];
    let mut cleaner = Builder::empty();
    cleaner
        .tags(HashSet::from(tags))
        .tag_attributes(HashMap::from([("a", HashSet::from(["href"])), ("ol", HashSet::from(["start"]))]))
        .generic_attributes(HashSet::new())
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer"))
        .set_tag_attribute_value("a", "target", "_blank");
    cleaner
});

/// The text as markup that can do nothing.
pub(crate) fn render(text: &str) -> String {
    let Some(events) = events(text) else {
        return written([Event::Start(Tag::Paragraph), Event::Text(text.into()), Event::End(TagEnd::Paragraph)]);
    };
    CLEANER.clean(&written(events)).to_string()
}

/// A text in code letters.
pub(crate) fn code(text: &str) -> String {
    written([Event::Code(text.into())])
}

fn written<'a>(events: impl IntoIterator<Item = Event<'a>>) -> String {
    let mut markup = String::new();
    html::push_html(&mut markup, events.into_iter());
    markup
}

/// What the text consists of: markup as text, pictures as links; `None` if it is nested too deeply.
fn events(text: &str) -> Option<Vec<Event<'_>>> {
    let mut events = Vec::new();
    let (mut depth, mut links) = (0, 0_usize);
    // For each picture that is open: whether a link stands for it.
    let mut pictures = Vec::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match &event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth > DEEPEST {
            return None;
        }
        let event = match event {
            Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
            Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
            Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
            Event::Start(Tag::Image { link_type, dest_url, id, .. }) => {
                // A link cannot stand inside of another.
                pictures.push(links == 0);
                if links > 0 {
                    continue;
                }
                links += 1;
                Event::Start(Tag::Link { link_type, dest_url, title: CowStr::Borrowed(""), id })
            }
            Event::End(TagEnd::Image) => {
                if pictures.pop() != Some(true) {
                    continue;
                }
                links -= 1;
                Event::End(TagEnd::Link)
            }
            Event::Start(Tag::Link { .. }) => {
                links += 1;
                event
            }
            Event::End(TagEnd::Link) => {
                links -= 1;
                event
            }
            other => other,
        };
        events.push(event);
    }
    Some(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = r#"target="_blank" rel="noopener noreferrer""#;

    #[test]
    fn markdown_becomes_markup() {
        for (text, expected) in [
            ("Hello **you**, _there_ ~~not~~", "<p>Hello <strong>you</strong>, <em>there</em> <del>not</del></p>"),
            ("a\n\nb", "<p>a</p>\n<p>b</p>"),
            ("- one\n- two", "<ul>\n<li>one</li>\n<li>two</li>\n</ul>"),
            ("3. three", "<ol start=\"3\">\n<li>three</li>\n</ol>"),
            ("`a < b`", "<p><code>a &lt; b</code></p>"),
            ("```rust\nfn x() {}\n```", "<pre><code>fn x() {}\n</code></pre>"),
            ("现在开始 20 分钟的冥想", "<p>现在开始 20 分钟的冥想</p>"),
        ] {
            assert_eq!(render(text).trim_end(), expected, "{text}");
        }
    }

    #[test]
    fn a_link_leads_out_and_takes_nothing_along() {
        for (text, expected) in [
            ("[x](https://a.example/b)", format!(r#"<p><a href="https://a.example/b" {LINK}>x</a></p>"#)),
            ("<http://a.example>", format!(r#"<p><a href="http://a.example" {LINK}>http://a.example</a></p>"#)),
            ("[x](mailto:me@a.example)", format!(r#"<p><a href="mailto:me@a.example" {LINK}>x</a></p>"#)),
            (
                "![a cat](https://a.example/c.png)",
                format!(r#"<p><a href="https://a.example/c.png" {LINK}>a cat</a></p>"#),
            ),
            (
                "[![a cat](https://a.example/c.png)](https://b.example)",
                format!(r#"<p><a href="https://b.example" {LINK}>a cat</a></p>"#),
            ),
        ] {
            assert_eq!(render(text).trim_end(), expected, "{text}");
        }
    }

    #[test]
    fn hostile_texts_are_shown_and_do_nothing() {
        for text in [
            "<script>alert(1)</script>",
            "hi <img src=x onerror=alert(1)>",
            "<svg onload=alert(1)>",
            "<iframe src=//evil.example></iframe>",
            "<a href=\"javascript:alert(1)\">x</a>",
            "<style>*{display:none}</style>",
            "<!--><img src=x onerror=alert(1)>-->",
            "<base href=//evil.example>",
            "<form action=//evil.example><input name=q>",
            "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](java\tscript:alert(1))",
            "[x](&#106;avascript:alert(1))",
            "[x](<javascript:alert(1)>)",
            "[x](vbscript:x)",
            "[x](data:text/html;base64,PHNjcmlwdD4=)",
            "[x](file:///etc/passwd)",
            "[x](/enter?key=1)",
            "[x](//evil.example)",
            "[x](#top)",
            "![x](javascript:alert(1))",
            "![x](data:image/svg+xml;base64,PHN2Zz4=)",
            "[x][y]\n\n[y]: javascript:alert(1)",
            "<javascript:alert(1)>",
            "[x](https://a.example \"\\\" onmouseover=\\\"alert(1)\")",
            "```\"><script>alert(1)</script>\nx\n```",
            "| <script>x</script> |\n| --- |\n| <img src=x onerror=y> |",
            "[<img src=x onerror=alert(1)>](https://a.example)",
            "\u{0}<script\u{0}>alert(1)</script>",
        ] {
            let markup = render(text);
            let dom = markup.to_lowercase();
            for tag in dom.split('<').skip(1) {
                let tag = tag.split('>').next().unwrap();
                let name: String =
                    tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
                assert!(CLEANER.clone_tags().contains(name.as_str()), "{text}: {markup}");
                assert!(!tag.replace(LINK, "").contains(" on"), "{text}: {markup}");
                for scheme in ["script:", "data:", "file:"] {
                    assert!(!tag.contains(scheme), "{text}: {markup}");
                }
                if let Some((_, href)) = tag.split_once("href=\"") {
                    assert!(
                        ["http://", "https://", "mailto:"].iter().any(|good| href.starts_with(good)),
                        "{text}: {markup}"
                    );
                }
            }
        }
        assert_eq!(render("<b>x</b>").trim_end(), "<p>&lt;b&gt;x&lt;/b&gt;</p>");
    }

    #[test]
    fn huge_and_deeply_nested_texts_end_in_plain_words() {
        let nested =
            [">".repeat(8_000), "- ".repeat(8_000), "*a ".repeat(5_000), "[".repeat(16_000), "`".repeat(16_000)];
        for text in &nested {
            let markup = render(text);
            let (mut depth, mut deepest) = (0_i32, 0);
            for part in markup.split('<').skip(1) {
                depth += if part.starts_with('/') { -1 } else { 1 };
                deepest = deepest.max(depth);
            }
            assert!(deepest <= 2 * DEEPEST as i32, "{deepest}: {}", &text[..10]);
        }
        assert!(render(&"a ".repeat(500_000)).len() >= 999_000);
        assert_eq!(render(""), "");
    }
}
