//! The documents of the bundled Surfaces, and what they run inline.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use html5ever::{
    buffer_queue::BufferQueue,
    tendril::StrTendril,
    tokenizer::{
        Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
        states::RawKind::{Rawtext, Rcdata, ScriptData},
    },
};

use super::policy;
use crate::page::frames::Surface;

/// One Surface of a MiniApp: a self-contained HTML file of its bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurfaceFile {
    /// The MiniApp.
    pub app_scope: String,
    /// Which of its Surfaces.
    pub surface: String,
    /// The document.
    pub html: String,
}

/// All of them, by MiniApp and Surface.
#[derive(Default)]
pub(crate) struct Surfaces {
    files: BTreeMap<(String, String), String>,
    pub inline: Inline,
}

/// The hashes of inline scripts and styles, as a policy names them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Inline {
    pub scripts: BTreeSet<String>,
    pub styles: BTreeSet<String>,
}

impl Surfaces {
    pub fn new(files: impl IntoIterator<Item = SurfaceFile>) -> Self {
        let mut surfaces = Self::default();
        for SurfaceFile { app_scope, surface, html } in files {
            let found = inline(&html);
            surfaces.inline.scripts.extend(found.scripts);
            surfaces.inline.styles.extend(found.styles);
            surfaces.files.insert((app_scope, surface), html);
        }
        surfaces
    }

    pub fn list(&self) -> Vec<Surface> {
        let named = |(app_scope, surface): &(String, String)| Surface {
            app_scope: app_scope.clone(),
            surface: surface.clone(),
        };
        self.files.keys().map(named).collect()
    }

    pub fn html(&self, app_scope: String, surface: String) -> Option<&str> {
        self.files.get(&(app_scope, surface)).map(String::as_str)
    }
}

/// What a document has inline, as a browser's parser finds it. Where the two could differ (a style
/// inside of foreign content), a hash is missing and the browser runs less, never more.
fn inline(html: &str) -> Inline {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(Finder::default(), TokenizerOpts::default());
    let _fed = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.found.into_inner()
}

#[derive(Default)]
struct Finder {
    /// The text of the element that is open, if it is one of those that count.
    open: RefCell<Option<String>>,
    found: RefCell<Inline>,
}

impl TokenSink for Finder {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(Tag { kind: TagKind::StartTag, name, .. }) => match &*name {
                "script" | "style" => {
                    *self.open.borrow_mut() = Some(String::new());
                    return TokenSinkResult::RawData(if &*name == "script" { ScriptData } else { Rawtext });
                }
                "title" | "textarea" => return TokenSinkResult::RawData(Rcdata),
                "iframe" | "noembed" | "noframes" | "xmp" => return TokenSinkResult::RawData(Rawtext),
                _ => {}
            },
            Token::TagToken(Tag { kind: TagKind::EndTag, name, .. }) => {
                if let ("script" | "style", Some(text)) = (&*name, self.open.borrow_mut().take()) {
                    let mut found = self.found.borrow_mut();
                    let hashes = if &*name == "script" { &mut found.scripts } else { &mut found.styles };
                    hashes.insert(policy::hash(&text));
                }
            }
            Token::CharacterTokens(text) => {
                if let Some(open) = &mut *self.open.borrow_mut() {
                    open.push_str(&text);
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sur_1_every_inline_script_and_style_is_found_and_nothing_else() {
        let html = "<!doctype html><title><script>no()</script></title><style>a{}</style>\
                    <!-- <script>no()</script> --><SCRIPT type=module>one(\"<b>\")</SCRIPT><p title='<script>'>\
                    <textarea><style>no</style></textarea><script>two()</script ><style></style>";
        let hashes = |texts: &[&str]| texts.iter().map(|text| policy::hash(text)).collect::<BTreeSet<_>>();
        let found = inline(html);
        assert_eq!(found.scripts, hashes(&["one(\"<b>\")", "two()"]));
        assert_eq!(found.styles, hashes(&["a{}", ""]));
    }

    #[test]
    fn a_line_ends_as_the_browsers_parser_reads_it() {
        assert_eq!(inline("<script>a\r\nb</script>"), inline("<script>a\nb</script>"));
    }

    #[test]
    fn a_hash_is_written_as_the_policy_wants_it() {
        // As `printf 'alert(1)' | openssl dgst -sha256 -binary | base64` says.
        assert_eq!(policy::hash("alert(1)"), "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='");
    }

    #[test]
    fn a_script_that_does_not_end_runs_nowhere() {
        assert_eq!(inline("<script>a()"), Inline::default());
    }
}
