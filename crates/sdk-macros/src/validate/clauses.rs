//! The clauses of one item: known, said once, and read as what they are.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span, TokenStream};
use syn::{LitInt, LitStr, Path, Token, parse::Parser, punctuated::Punctuated};

use crate::{
    facts::Word,
    mistake::{Mistakes, one_of},
    parse::{Clause, literal, shown},
};

/// The clauses that an item has, each with a correct line.
pub(super) type Known = &'static [(&'static str, &'static str)];

/// The longest running time and deadline: 24 h.
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub(super) struct Clauses {
    owner: String,
    known: Known,
    said: BTreeMap<String, Clause>,
}

impl Clauses {
    /// Sorts the clauses by name; notes unknown ones and ones that are said twice.
    pub fn new(owner: String, known: Known, clauses: Vec<Clause>, mistakes: &mut Mistakes) -> Self {
        let mut said: BTreeMap<String, Clause> = BTreeMap::new();
        for clause in clauses {
            let name = clause.name.to_string();
            let Some((_, example)) = known.iter().find(|(known, _)| *known == name) else {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                let nearest = nearest(known, &name, |(known, _)| known).map_or("", |(_, line)| *line);
                mistakes.add(
                    &clause.name,
                    format!("`{name}` is not a clause of {owner}; it takes {}", one_of(&names)),
                    nearest,
                );
                continue;
            };
            if let Some(first) = said.get(&name) {
                mistakes.add(&first.name, format!("{owner} says `{name}` twice: first here"), example);
                mistakes.add(&clause.name, format!("{owner} says `{name}` twice: again here"), example);
                continue;
            }
            if let Some(label) = &clause.label {
                mistakes.add(label, format!("after `{name}` comes `:` and its value"), example);
                continue;
            }
            said.insert(name, clause);
        }
        Self { owner, known, said }
    }

    pub fn has(&self, name: &str) -> bool {
        self.said.contains_key(name)
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name token of a clause, for mistakes about it.
    pub fn name(&self, name: &str) -> Option<&Ident> {
        self.said.get(name).map(|clause| &clause.name)
    }

    /// The value of a clause that is said, or a mistake when it is a bare flag.
    pub fn value(&self, name: &str, mistakes: &mut Mistakes) -> Option<TokenStream> {
        let clause = self.said.get(name)?;
        if clause.value.is_empty() {
            mistakes.add(&clause.name, format!("the clause `{name}` needs a value"), self.line(name));
            return None;
        }
        Some(clause.value.clone())
    }

    /// One word of a closed set.
    pub fn word(&self, name: &str, set: &[Word], mistakes: &mut Mistakes) -> Option<Word> {
        let value = self.value(name, mistakes)?;
        let text = value.to_string();
        let found = set.iter().find(|word| word.text == text).copied();
        if found.is_none() {
            let words: Vec<&str> = set.iter().map(|word| word.text).collect();
            let kind =
                if name.starts_with(['a', 'e', 'i', 'o', 'u']) { format!("an {name}") } else { format!("a {name}") };
            let kind = if name == "exclusive" { "a place to be exclusive in".to_owned() } else { kind };
            let nearest = nearest(set, &text, |word| word.text).map_or("", |word| word.text);
            mistakes.add(
                &value,
                format!("`{}` is not {kind}: one of {}", shown(&value), one_of(&words)),
                format!("{name}: {nearest},"),
            );
        }
        found
    }

    /// A flag: bare, or with `true` or `false`.
    pub fn flag(&self, name: &str, mistakes: &mut Mistakes) -> bool {
        let Some(clause) = self.said.get(name) else {
            return false;
        };
        match clause.value.to_string().as_str() {
            "" | "true" => true,
            "false" => false,
            _ => {
                mistakes.add(
                    &clause.value,
                    format!("`{name}` is a flag: it is written alone, or with `true` or `false`"),
                    self.line(name),
                );
                false
            }
        }
    }

    /// A whole number from 1.
    pub fn count(&self, name: &str, mistakes: &mut Mistakes) -> Option<u32> {
        let value = self.value(name, mistakes)?;
        let number = syn::parse2::<LitInt>(value.clone()).ok().filter(|number| number.suffix().is_empty());
        let number = number.and_then(|number| number.base10_parse::<u32>().ok()).filter(|number| *number >= 1);
        if number.is_none() {
            mistakes.add(
                &value,
                format!("`{}` is not a `{name}`: a whole number from 1 to {}", shown(&value), u32::MAX),
                self.line(name),
            );
        }
        number
    }

    /// A text in double quotes that is not empty.
    pub fn text(&self, name: &str, mistakes: &mut Mistakes) -> Option<String> {
        let value = self.value(name, mistakes)?;
        let text = syn::parse2::<LitStr>(value.clone()).ok().map(|text| text.value()).filter(|text| !text.is_empty());
        if text.is_none() {
            mistakes.add(&value, format!("`{name}` is a text in double quotes, and not empty"), self.line(name));
        }
        text
    }

    /// Texts in brackets, each `[a-z0-9._-]{1,64}` and said once.
    pub fn names(&self, name: &str, mistakes: &mut Mistakes) -> Vec<String> {
        let Some(value) = self.value(name, mistakes) else {
            return Vec::new();
        };
        let read = |input: syn::parse::ParseStream<'_>| {
            let content;
            syn::bracketed!(content in input);
            Punctuated::<LitStr, Token![,]>::parse_terminated(&content)
        };
        let Ok(texts) = Parser::parse2(read, value.clone()) else {
            mistakes.add(
                &value,
                format!("`{name}` is a list of texts: double quotes inside brackets"),
                self.line(name),
            );
            return Vec::new();
        };
        let mut names: Vec<String> = Vec::new();
        for literal in texts {
            let text = literal.value();
            let fits = (1..=64).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b));
            if !fits {
                mistakes.add(
                    &literal,
                    format!("`{text}` cannot stand in `{name}`: 1 to 64 of a-z, 0-9, `.`, `_` and `-`"),
                    self.line(name),
                );
            } else if names.contains(&text) {
                mistakes.add(&literal, format!("`{text}` stands in `{name}` already"), self.line(name));
            } else {
                names.push(text);
            }
        }
        names
    }

    /// A path to a method.
    pub fn path(&self, name: &str, mistakes: &mut Mistakes) -> Option<Path> {
        let value = self.value(name, mistakes)?;
        let path = syn::parse2::<Path>(value.clone()).ok();
        let fits =
            |path: &Path| path.segments.len() >= 2 && path.segments.first().is_some_and(|first| first.ident != "Self");
        let path = path.filter(fits);
        if path.is_none() {
            mistakes.add(
                &value,
                format!("`{}` does not name a handler: `Type::method`, with the type's own name", shown(&value)),
                self.line(name),
            );
        }
        path
    }

    /// `2 h`, in milliseconds.
    pub fn duration(&self, name: &str, mistakes: &mut Mistakes) -> Option<u64> {
        let value = self.value(name, mistakes)?;
        let read = |input: syn::parse::ParseStream<'_>| {
            let number: LitInt = input.parse()?;
            let unit: Ident = input.parse()?;
            Ok((number, unit))
        };
        let length = Parser::parse2(read, value.clone()).ok().and_then(|(number, unit)| {
            let millis = match unit.to_string().as_str() {
                "ms" => 1,
                "s" => 1_000,
                "min" => 60_000,
                "h" => 3_600_000,
                _ => return None,
            };
            let number = number.suffix().is_empty().then(|| number.base10_parse::<u64>().ok())??;
            number.checked_mul(millis)
        });
        match length {
            Some(length) if (1..=DAY_MS).contains(&length) => Some(length),
            Some(_) => {
                mistakes.add(
                    &value,
                    format!("`{}` is out of bounds: from 1 ms to 24 h", shown(&value)),
                    self.line(name),
                );
                None
            }
            None => {
                let hint = match literal(&value).map(|literal| literal.to_string()) {
                    Some(text) if text.bytes().all(|b| b.is_ascii_digit()) => "a unit is missing: ",
                    Some(_) => "a space stands before the unit: ",
                    None => "",
                };
                mistakes.add(
                    &value,
                    format!(
                        "`{}` is not a length of time: {hint}a whole number and `ms`, `s`, `min` or `h`",
                        shown(&value)
                    ),
                    self.line(name),
                );
                None
            }
        }
    }

    fn line(&self, name: &str) -> &'static str {
        self.known.iter().find(|(known, _)| *known == name).map_or("", |(_, line)| line)
    }
}

/// The choice that is most like what was written; the first one when none is.
fn nearest<'a, T>(choices: &'a [T], written: &str, text: impl Fn(&T) -> &str) -> Option<&'a T> {
    /// Two shared pairs of letters.
    const ALIKE: usize = 4;
    let likeness = |choice: &T| likeness(text(choice), written);
    choices
        .iter()
        .rev()
        .max_by_key(|choice| likeness(choice))
        .filter(|choice| likeness(choice) >= ALIKE)
        .or(choices.first())
}

/// How much two words are alike: the pairs of letters that they share, and their first letters.
fn likeness(one: &str, other: &str) -> usize {
    let shared =
        one.as_bytes().windows(2).filter(|pair| other.as_bytes().windows(2).any(|found| found == *pair)).count();
    let start = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    2 * shared + start
}

/// Where a value stands, for mistakes about its absence.
pub(super) fn span_of(value: &TokenStream) -> Span {
    value.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}
