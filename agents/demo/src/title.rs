//! What a person wants to focus on, in their own words.

use crate::{
    length::Length,
    phrase,
    token::{Kind, Token},
};

/// Words that say nothing of their own around what is focused on.
const PLAIN: &[&str] = &[
    "focus",
    "focusing",
    "focused",
    "session",
    "timer",
    "pomodoro",
    "period",
    "block",
    "countdown",
    "sprint",
    "time",
    "concentration",
    "a",
    "the",
    "my",
    "me",
    "long",
    "of",
    "work",
    "专注",
    "專注",
    "番茄钟",
    "番茄鐘",
    "番茄",
    "倒计时",
    "倒計時",
    "计时器",
    "計時器",
    "计时",
    "計時",
    "时间",
    "時間",
    "一个",
    "一個",
    "一段",
    "一次",
    "的",
    "地",
    "吧",
    "了",
    "呢",
    "左右",
    "一下",
    "谢谢",
    "可以吗",
    "好吗",
    "行吗",
    "吗",
    "嗎",
    "来",
    "去",
    "用来",
    "于",
    "於",
    "在",
    "上",
    "好不好",
    "请",
    "集中",
    "精力",
    "注意力",
];

/// Words that what is focused on never begins with, or goes beyond.
const BEHIND: &[&str] = &[
    "for",
    "on",
    "please",
    "now",
    "and",
    "with",
    "thanks",
    "thank you",
    "starting",
    "so",
    "to",
    "in",
    "at",
    "right",
    "then",
    "from",
    "if",
    "because",
    "would",
    "will",
    "is",
    "should",
];

/// Words that begin another request, or belong to a length.
const REQUESTS: &[&str] = &[
    "开始", "開始", "启动", "啟動", "帮我", "幫我", "给我", "給我", "设", "設", "计时", "計時", "停", "取消", "不",
    "别", "別", "谢", "提醒", "告诉", "到", "至", "或", "or", "负", "負", "minus", "negative",
];

/// The longest that is taken for a title when nothing marks it as one, in words or characters.
const MOST: usize = 12;

/// Finds it. Quotation marks mark it; else it is what stands behind "on", beside the length, or behind the
/// word for focusing.
pub(crate) fn of(text: &str, tokens: &[Token], clauses: &[&[Token]], length: Option<&Length>) -> Option<String> {
    let quoted = tokens.iter().find(|token| token.kind == Kind::Quoted).map(std::slice::from_ref);
    let length = length.and_then(|length| tokens.get(length.from..length.to));
    let found = quoted.or_else(|| clauses.iter().find_map(|clause| unmarked(clause, length)))?;
    written(text, found)
}

fn unmarked<'a>(clause: &'a [Token], length: Option<&[Token]>) -> Option<&'a [Token]> {
    // Where the length stands in this clause, if it stands in it.
    let place = length.and_then(|length| {
        let (first, last) = (length.first()?, length.last()?);
        let from = clause.iter().position(|token| token.from == first.from)?;
        let to = clause.iter().position(|token| token.to == last.to)? + 1;
        Some((from, to))
    });
    if let Some(on) = phrase::find(clause, &["on"]) {
        let rest = &clause[on + 1..];
        let end = place.map_or(clause.len(), |(from, _)| if from > on { from } else { clause.len() });
        let rest = &rest[..end - on - 1];
        let rest = phrase::without_end(rest, &["for", "please", "now", "thanks", "for me", "right now", "about"]);
        return (!rest.is_empty()).then_some(rest);
    }
    let behind = place.and_then(|(_, to)| plain(&clause[to..]));
    behind.or_else(|| {
        let focus = ["专注", "專注", "集中精力", "专心"].iter().find_map(|word| {
            let at = phrase::find(clause, &[word])?;
            phrase::at(clause, at, word)
        })?;
        let end = place.map_or(clause.len(), |(from, _)| if from >= focus { from } else { focus });
        plain(&clause[focus..end])
    })
}

/// What is left without the plain words around it, if that can be a title.
fn plain(tokens: &[Token]) -> Option<&[Token]> {
    let inner = phrase::without_beginning(tokens, PLAIN);
    let inner = phrase::find(inner, BEHIND).map_or(inner, |end| &inner[..end]);
    let inner = phrase::without_end(inner, PLAIN);
    let fits = (1..=MOST).contains(&inner.len()) && !phrase::has(inner, REQUESTS);
    let says_something = inner.iter().any(|token| matches!(token.kind, Kind::Han(_) | Kind::Word(_)));
    (fits && says_something).then_some(inner)
}

/// As it stands in the text, without what a title cannot hold.
fn written(text: &str, tokens: &[Token]) -> Option<String> {
    let part = text.get(tokens.first()?.from..tokens.last()?.to)?;
    let is_invisible = |letter: char| matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let visible: String = part
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .filter(|letter| !is_invisible(*letter))
        .collect();
    let words: Vec<&str> = visible.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}
