//! Lengths of time, in digits and in words, in English and Chinese.

use crate::token::{Kind, Token};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// A length of time in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length {
    /// How long, in milliseconds.
    pub millis: i64,
    /// Its first token.
    pub from: usize,
    /// The token behind its last.
    pub to: usize,
    /// It is one end of a range, such as "10 to 20 minutes".
    pub is_vague: bool,
}

/// Every length in a text, in order. What is written in parts, such as "1 hour 30 minutes", is one.
pub(crate) fn lengths(tokens: &[Token]) -> Vec<Length> {
    let mut found: Vec<Length> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((millis, to)) = one(tokens, at) else {
            // A number that is no length is passed over whole: "fifty-five" ends in no length of five.
            at = number(tokens, at).map_or(at + 1, |(_, next)| next);
            continue;
        };
        let next = Length { millis, from: at, to, is_vague: is_range(tokens, at) };
        match found.last_mut() {
            Some(last) if joins(&tokens[last.to..at]) && next.millis < last.millis => {
                last.millis = last.millis.saturating_add(next.millis);
                last.to = to;
            }
            _ => found.push(next),
        }
        at = to;
    }
    found
}

/// The number that begins here, in thousandths, and the token behind it.
pub(crate) fn number(tokens: &[Token], at: usize) -> Option<(i64, usize)> {
    let (number, next) = match &tokens.get(at)?.kind {
        Kind::Digits(number) => (*number, at + 1),
        Kind::Word(_) => english(tokens, at)?,
        Kind::Han(_) => chinese(tokens, at)?,
        Kind::Quoted | Kind::Mark => return None,
    };
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    let negative = before.is_some_and(|token| {
        token.is_word("minus") || token.is_word("negative") || token.is_han('负') || token.is_han('負')
    });
    Some((if negative { -number } else { number }, next))
}

/// What one of this unit is, in milliseconds.
pub(crate) fn unit_of_word(word: &str) -> Option<i64> {
    Some(match word {
        "minute" | "minutes" | "min" | "mins" | "m" => MINUTE,
        "hour" | "hours" | "hr" | "hrs" | "h" => HOUR,
        "second" | "seconds" | "sec" | "secs" | "s" => SECOND,
        _ => return None,
    })
}

/// Whether two lengths with this between them are one.
fn joins(between: &[Token]) -> bool {
    match between {
        [] => true,
        [token] => token.is_word("and") || token.is_han('零') || token.is_han('又'),
        _ => false,
    }
}

/// "10 to", "十到": the length that begins here is only the end of something.
fn is_range(tokens: &[Token], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| tokens.get(before)) else { return false };
    let joined = ["to", "or"].iter().any(|word| before.is_word(word))
        || ['到', '至', '或'].iter().any(|han| before.is_han(*han));
    joined && at >= 2 && (is_part_of_number(&tokens[at - 2]))
}

fn is_part_of_number(token: &Token) -> bool {
    match &token.kind {
        Kind::Digits(_) => true,
        Kind::Word(word) => small(word).is_some() || unit_of_word(word).is_some(),
        Kind::Han(han) => numeral(*han).is_some() || matches!(han, '钟' | '鐘' | '时' | '時' | '分'),
        Kind::Quoted | Kind::Mark => false,
    }
}

/// One length with one unit.
fn one(tokens: &[Token], at: usize) -> Option<(i64, usize)> {
    if let Some(found) = fraction(tokens, at) {
        return Some(found);
    }
    let word =
        |at: usize, words: &[&str]| tokens.get(at).is_some_and(|token| words.iter().any(|word| token.is_word(word)));
    let (mut number, mut next) = match number(tokens, at) {
        Some(found) => found,
        // "an hour"; "a second" is not meant.
        None if word(at, &["a", "an"]) && word(at + 1, &["hour", "minute"]) => (1_000, at + 1),
        None => return None,
    };
    // "one and a half hours", "一个半小时"
    if word(next, &["and"]) && word(next + 1, &["a"]) && word(next + 2, &["half"]) {
        (number, next) = (number + 500, next + 3);
    }
    let han = |at: usize, wanted: &[char]| {
        tokens.get(at).is_some_and(|token| wanted.iter().any(|wanted| token.is_han(*wanted)))
    };
    if han(next, &['个', '個']) {
        next += 1;
    }
    if han(next, &['半']) {
        (number, next) = (number + 500, next + 1);
    }
    let in_digits = matches!(tokens.get(at).map(|token| &token.kind), Some(Kind::Digits(_)));
    let (unit, mut next) = unit(tokens, next, in_digits)?;
    let mut millis = number.saturating_mul(unit) / 1_000;
    // "an hour and a half", "一小时半"
    if word(next, &["and"]) && word(next + 1, &["a"]) && word(next + 2, &["half"]) {
        (millis, next) = (millis.saturating_add(unit / 2), next + 3);
    } else if unit == HOUR && han(next, &['半']) {
        (millis, next) = (millis.saturating_add(unit / 2), next + 1);
    }
    Some((millis, next))
}

/// The unit that stands here.
fn unit(tokens: &[Token], at: usize, in_digits: bool) -> Option<(i64, usize)> {
    let han = |at: usize| match tokens.get(at).map(|token| &token.kind) {
        Some(Kind::Han(han)) => Some(*han),
        _ => None,
    };
    match &tokens.get(at)?.kind {
        // One letter is a unit behind digits alone.
        Kind::Word(word) if word.len() > 1 || in_digits => Some((unit_of_word(word)?, at + 1)),
        Kind::Han(first) => match (first, han(at + 1)) {
            ('分', Some('钟' | '鐘')) => Some((MINUTE, at + 2)),
            // "十分" is also "very".
            ('分', _) if in_digits => Some((MINUTE, at + 1)),
            ('小', Some('时' | '時')) | ('钟', Some('头')) | ('鐘', Some('頭')) => Some((HOUR, at + 2)),
            ('刻', Some('钟' | '鐘')) => Some((15 * MINUTE, at + 2)),
            ('秒', Some('钟' | '鐘')) => Some((SECOND, at + 2)),
            ('秒', _) => Some((SECOND, at + 1)),
            _ => None,
        },
        _ => None,
    }
}

/// Halves and quarters.
fn fraction(tokens: &[Token], at: usize) -> Option<(i64, usize)> {
    const PHRASES: [(&str, i64); 18] = [
        ("three quarters of an hour", 45 * MINUTE),
        ("quarter of an hour", 15 * MINUTE),
        ("quarter hour", 15 * MINUTE),
        ("half an hour", 30 * MINUTE),
        ("half a hour", 30 * MINUTE),
        ("half hour", 30 * MINUTE),
        ("half a minute", 30 * SECOND),
        ("half minute", 30 * SECOND),
        ("半个小时", 30 * MINUTE),
        ("半個小時", 30 * MINUTE),
        ("半小时", 30 * MINUTE),
        ("半小時", 30 * MINUTE),
        ("半个钟头", 30 * MINUTE),
        ("半個鐘頭", 30 * MINUTE),
        ("半个钟", 30 * MINUTE),
        ("半钟头", 30 * MINUTE),
        ("半分钟", 30 * SECOND),
        ("半分鐘", 30 * SECOND),
    ];
    PHRASES.iter().find_map(|(phrase, millis)| crate::phrase::at(tokens, at, phrase).map(|next| (*millis, next)))
}

/// The value of a number word below a hundred.
fn small(word: &str) -> Option<i64> {
    const ONES: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let place = |words: &[&str]| words.iter().position(|known| *known == word).and_then(|at| i64::try_from(at).ok());
    place(&ONES).or_else(|| place(&TENS).map(|at| (at + 2) * 10))
}

/// A number in English words, in thousandths: up to "nine thousand nine hundred and ninety-nine".
fn english(tokens: &[Token], at: usize) -> Option<(i64, usize)> {
    let word = |at: usize| match tokens.get(at).map(|token| &token.kind) {
        Some(Kind::Word(word)) => Some(word.as_str()),
        _ => None,
    };
    let below_hundred = |at: usize| {
        let first = small(word(at)?)?;
        match word(at + 1).and_then(small) {
            Some(second @ 1..=9) if first >= 20 => Some((first + second, at + 2)),
            _ => Some((first, at + 1)),
        }
    };
    let (mut total, mut next) = match below_hundred(at) {
        Some(found) => found,
        None if word(at) == Some("a") && matches!(word(at + 1), Some("hundred" | "thousand")) => (1, at + 1),
        None => return None,
    };
    for (scale, value) in [("thousand", 1_000), ("hundred", 100)] {
        // "two thousand five hundred": what stands before "hundred" counts for that alone.
        let before = total - total / 1_000 * 1_000;
        if word(next) == Some(scale) {
            total = if value == 100 { total - before + before * 100 } else { total * 1_000 };
            next += 1;
            let rest = if word(next) == Some("and") { next + 1 } else { next };
            if let Some((more, after)) = below_hundred(rest) {
                (total, next) = (total + more, after);
            }
        }
    }
    Some((total.saturating_mul(1_000), next))
}

/// What a Chinese numeral stands for.
enum Numeral {
    Digit(i64),
    Times(i64),
}

fn numeral(han: char) -> Option<Numeral> {
    Some(match han {
        '零' | '〇' => Numeral::Digit(0),
        '一' => Numeral::Digit(1),
        '二' | '两' | '兩' => Numeral::Digit(2),
        '三' => Numeral::Digit(3),
        '四' => Numeral::Digit(4),
        '五' => Numeral::Digit(5),
        '六' => Numeral::Digit(6),
        '七' => Numeral::Digit(7),
        '八' => Numeral::Digit(8),
        '九' => Numeral::Digit(9),
        '十' => Numeral::Times(10),
        '百' => Numeral::Times(100),
        '千' => Numeral::Times(1_000),
        '万' | '萬' => Numeral::Times(10_000),
        '亿' | '億' => Numeral::Times(100_000_000),
        _ => return None,
    })
}

/// A number in Chinese numerals, in thousandths: "二十五", "一百零五", "一百五", "一二〇".
fn chinese(tokens: &[Token], at: usize) -> Option<(i64, usize)> {
    let (mut total, mut section, mut digit) = (0_i64, 0_i64, None::<i64>);
    // The scale that the last numeral was; a digit right behind it counts a tenth of it.
    let mut scale = None::<i64>;
    let mut next = at;
    while let Some(Kind::Han(han)) = tokens.get(next).map(|token| &token.kind)
        && let Some(found) = numeral(*han)
    {
        match found {
            Numeral::Digit(0) => {
                digit = digit.map(|digit| digit.saturating_mul(10));
                scale = None;
            }
            Numeral::Digit(value) => digit = Some(digit.unwrap_or(0).saturating_mul(10).saturating_add(value)),
            Numeral::Times(value @ 10_000..) => {
                total = total.saturating_add(section).saturating_add(digit.take().unwrap_or(0)).saturating_mul(value);
                (section, scale) = (0, Some(value));
            }
            Numeral::Times(value) => {
                section = section.saturating_add(digit.take().unwrap_or(1).saturating_mul(value));
                scale = Some(value);
            }
        }
        next += 1;
    }
    if next == at {
        return None;
    }
    let last = match (digit, scale) {
        (Some(digit @ 1..=9), Some(scale @ 100..)) => digit * scale / 10,
        (digit, _) => digit.unwrap_or(0),
    };
    let number = total.saturating_add(section).saturating_add(last);
    Some((number.min(1_000_000_000) * 1_000, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokens;

    fn minutes(text: &str) -> Vec<f64> {
        #[expect(clippy::cast_precision_loss, reason = "the lengths of a test are short")]
        lengths(&tokens(text)).iter().map(|length| length.millis as f64 / MINUTE as f64).collect()
    }

    #[test]
    fn lengths_are_read_in_digits_and_words_of_both_languages() {
        for (text, expected) in [
            ("20 minutes", &[20.0][..]),
            ("20-minute", &[20.0]),
            ("25min", &[25.0]),
            ("1h30m", &[90.0]),
            ("1 hour and 30 minutes", &[90.0]),
            ("twenty minutes", &[20.0]),
            ("twenty-five minutes", &[25.0]),
            ("a hundred and twenty minutes", &[120.0]),
            ("two hundred minutes", &[200.0]),
            ("one thousand two hundred minutes", &[1200.0]),
            ("half an hour", &[30.0]),
            ("an hour", &[60.0]),
            ("an hour and a half", &[90.0]),
            ("one and a half hours", &[90.0]),
            ("three quarters of an hour", &[45.0]),
            ("90 seconds", &[1.5]),
            ("1.5 hours", &[90.0]),
            ("-5 minutes", &[-5.0]),
            ("minus five minutes", &[-5.0]),
            ("0 minutes", &[0.0]),
            ("20分钟", &[20.0]),
            ("２０ 分钟", &[20.0]),
            ("20分", &[20.0]),
            ("二十分钟", &[20.0]),
            ("二十五分钟", &[25.0]),
            ("十分钟", &[10.0]),
            ("两个小时", &[120.0]),
            ("一百零五分钟", &[105.0]),
            ("一百五分钟", &[150.0]),
            ("一百二十分钟", &[120.0]),
            ("一二〇分钟", &[120.0]),
            ("半小时", &[30.0]),
            ("半个钟头", &[30.0]),
            ("一个半小时", &[90.0]),
            ("一小时半", &[90.0]),
            ("1小时30分钟", &[90.0]),
            ("一刻钟", &[15.0]),
            ("负五分钟", &[-5.0]),
            ("2 hours, then 20 minutes", &[120.0, 20.0]),
            ("我十分想专注", &[]),
            ("wait a second", &[]),
            ("chapter 3", &[]),
            ("10-20 minutes", &[]),
            ("1/2 hour", &[]),
            ("一下 一起", &[]),
        ] {
            assert_eq!(minutes(text), expected, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_range_is_known_as_such() {
        for text in ["10 to 20 minutes", "ten or twenty minutes", "10到20分钟", "十至二十分钟"] {
            let found = lengths(&tokens(text));
            assert!(found.iter().any(|length| length.is_vague), "{text}: {found:?}");
        }
        assert!(!lengths(&tokens("I want to 20 minutes"))[0].is_vague);
    }

    #[test]
    fn what_is_too_large_to_count_stays_large() {
        for text in ["99999999999999999999999 hours", "九千万万万万万小时", &format!("{}小时", "九".repeat(300))]
        {
            assert!(lengths(&tokens(text))[0].millis > 1_000_000 * HOUR, "{text}");
        }
    }
}
