//! A text as the words, numbers and marks that it is made of.

/// A piece of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub kind: Kind,
    /// Where it begins in the text, in bytes.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Letters, in lower case and without apostrophes. What is glued together of letters and digits is a
    /// word as well, unless it is a length such as `25min`.
    Word(String),
    /// A number written in digits, in thousandths.
    Digits(i64),
    /// A Chinese character.
    Han(char),
    /// What stands between quotation marks: words that are mentioned, not said.
    Quoted,
    /// The end of a clause.
    Mark,
}

impl Token {
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(found) if found == word)
    }

    pub fn is_han(&self, han: char) -> bool {
        self.kind == Kind::Han(han)
    }

    pub fn is_mark(&self) -> bool {
        self.kind == Kind::Mark
    }
}

/// No number of a length of time is larger, in thousandths.
const LARGEST: i64 = 1_000_000_000_000;

/// Takes a text apart. Full-width letters and digits are read as the usual ones; what is no letter,
/// digit or mark, such as an emoji, is passed over.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let folded: Vec<(usize, char)> = text.char_indices().map(|(at, letter)| (at, fold(letter))).collect();
    let mut reader = Reader { folded, end: text.len(), found: Vec::new() };
    let mut at = 0;
    while at < reader.folded.len() {
        at = reader.read(at);
    }
    reader.found
}

/// Whether any of it is Chinese.
pub(crate) fn is_han(letter: char) -> bool {
    matches!(letter, '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

fn fold(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter).to_ascii_lowercase(),
        '\u{3000}' => ' ',
        '’' | 'ʼ' => '\'',
        '−' => '-',
        '–' | '—' | '〜' => '~',
        other => other.to_ascii_lowercase(),
    }
}

struct Reader {
    folded: Vec<(usize, char)>,
    end: usize,
    found: Vec<Token>,
}

impl Reader {
    fn letter(&self, at: usize) -> Option<char> {
        self.folded.get(at).map(|(_, letter)| *letter)
    }

    fn place(&self, at: usize) -> usize {
        self.folded.get(at).map_or(self.end, |(place, _)| *place)
    }

    fn push(&mut self, kind: Kind, from: usize, to: usize) {
        let (from, to) = (self.place(from), self.place(to));
        self.found.push(Token { kind, from, to });
    }

    /// Reads what begins here; answers where the next piece may begin.
    fn read(&mut self, at: usize) -> usize {
        let Some(letter) = self.letter(at) else { return at + 1 };
        if let Some(closing) = closing_of(letter)
            && let Some(length) = self.folded[at + 1..].iter().position(|(_, other)| *other == closing)
        {
            self.push(Kind::Quoted, at + 1, at + 1 + length);
            return at + length + 2;
        }
        if is_han(letter) {
            self.push(Kind::Han(letter), at, at + 1);
            return at + 1;
        }
        if matches!(letter, ',' | '.' | ';' | ':' | '!' | '?' | '\n' | '。' | '、' | '…') {
            self.push(Kind::Mark, at, at + 1);
            return at + 1;
        }
        if letter.is_alphanumeric() { self.glued(at) } else { at + 1 }
    }

    /// Reads what is glued together of letters and digits.
    fn glued(&mut self, from: usize) -> usize {
        let mut to = from + 1;
        while let Some(letter) = self.letter(to) {
            let before = self.letter(to - 1).unwrap_or(' ');
            let after = self.letter(to + 1).unwrap_or(' ');
            let inside = match letter {
                // "don't", "1,000", "1.5"; "10-20", "1/2" and "20:00" are no numbers of anything here.
                '\'' => is_letter(before) && is_letter(after),
                ',' | '.' | '-' | '~' | '/' | ':' => before.is_ascii_digit() && after.is_ascii_digit(),
                _ => is_letter(letter) || letter.is_ascii_digit(),
            };
            if !inside {
                break;
            }
            to += 1;
        }
        let negative = from > 0 && self.letter(from - 1) == Some('-');
        match self.parts(from, to) {
            Some(parts) => {
                for (kind, from, to) in parts {
                    let kind = match kind {
                        Kind::Digits(number) if negative => Kind::Digits(-number),
                        other => other,
                    };
                    self.push(kind, from, to);
                }
            }
            None => {
                let word = self.folded[from..to].iter().map(|(_, letter)| *letter).filter(|letter| *letter != '\'');
                let word = word.collect();
                self.push(Kind::Word(word), from, to);
            }
        }
        to
    }

    /// Digits, or digits with the units of lengths of time such as `1h30m`; `None` for anything else.
    fn parts(&self, from: usize, to: usize) -> Option<Vec<(Kind, usize, usize)>> {
        let mut parts = Vec::new();
        let mut at = from;
        while at < to {
            let digits = at;
            while at < to && self.letter(at).is_some_and(|letter| letter.is_ascii_digit() || ",.".contains(letter)) {
                at += 1;
            }
            let written: String = self.folded[digits..at].iter().map(|(_, letter)| *letter).collect();
            parts.push((Kind::Digits(number(&written)?), digits, at));
            let unit = at;
            while at < to && self.letter(at).is_some_and(is_letter) {
                at += 1;
            }
            if unit < at {
                let written: String = self.folded[unit..at].iter().map(|(_, letter)| *letter).collect();
                crate::length::unit_of_word(&written)?;
                parts.push((Kind::Word(written), unit, at));
            } else if at < to {
                return None;
            }
        }
        Some(parts)
    }
}

fn is_letter(letter: char) -> bool {
    letter.is_alphabetic() && !is_han(letter)
}

fn closing_of(letter: char) -> Option<char> {
    Some(match letter {
        '"' => '"',
        '“' => '”',
        '「' => '」',
        '『' => '』',
        '《' => '》',
        _ => return None,
    })
}

/// Digits with commas between thousands and at most one point, in thousandths.
fn number(written: &str) -> Option<i64> {
    let (whole, fraction) = written.split_once('.').unwrap_or((written, "0"));
    let mut groups = whole.split(',');
    let first = groups.next().filter(|group| !group.is_empty())?;
    let mut digits = first.to_owned();
    for group in groups {
        if group.len() != 3 || first.len() > 3 {
            return None;
        }
        digits.push_str(group);
    }
    if fraction.is_empty() || fraction.contains([',', '.']) {
        return None;
    }
    let thousandths: String = fraction.chars().chain("00".chars()).take(3).collect();
    // What is finer than a thousandth is no length that anybody asks for, and not the whole number either.
    let finer = i64::from(fraction.bytes().skip(3).any(|digit| digit != b'0'));
    let digits = digits.trim_start_matches('0');
    if digits.len() > 9 {
        return Some(LARGEST);
    }
    let whole: i64 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    Some((whole * 1000 + thousandths.parse::<i64>().ok()? + finer).min(LARGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).into_iter().map(|token| token.kind).collect()
    }

    fn word(word: &str) -> Kind {
        Kind::Word(word.to_owned())
    }

    #[test]
    fn a_text_is_taken_apart_into_words_numbers_and_marks() {
        for (text, expected) in [
            ("Don’t STOP!", vec![word("dont"), word("stop"), Kind::Mark]),
            ("nonstop", vec![word("nonstop")]),
            ("25min", vec![Kind::Digits(25_000), word("min")]),
            ("1h30m", vec![Kind::Digits(1_000), word("h"), Kind::Digits(30_000), word("m")]),
            ("1e9 c3po", vec![word("1e9"), word("c3po")]),
            ("10-20 1/2 20:00", vec![word("10-20"), word("1/2"), word("20:00")]),
            ("-5 20-minute", vec![Kind::Digits(-5_000), Kind::Digits(20_000), word("minute")]),
            ("1,000 1.5 1.2.3", vec![Kind::Digits(1_000_000), Kind::Digits(1_500), word("1.2.3")]),
            ("２０分", vec![Kind::Digits(20_000), Kind::Han('分')]),
            ("🍅 “stop” 停", vec![Kind::Quoted, Kind::Han('停')]),
            ("99999999999999999999", vec![Kind::Digits(LARGEST)]),
            ("20.00001", vec![Kind::Digits(20_001)]),
            ("", vec![]),
        ] {
            assert_eq!(kinds(text), expected, "{text}");
        }
    }

    #[test]
    fn a_piece_knows_its_place_in_the_text() {
        let text = "专注 “Ｒｅｐｏｒｔ” é";
        let found: Vec<&str> = tokens(text).iter().map(|token| &text[token.from..token.to]).collect();
        assert_eq!(found, ["专", "注", "Ｒｅｐｏｒｔ", "é"]);
    }
}
