//! Builds the document while it is read, and stops at the first thing that is not allowed.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, map::Entry};

use super::{
    JsonError, MAX_SAFE_INTEGER, Reason,
    number::{self, Literals},
    pointer_to,
};
use crate::limits;

pub(super) fn read(text: &str) -> Result<Value, JsonError> {
    let mut reader =
        Reader { depth: 0, nodes: 0, numbers: 0, literals: Literals::of(text), fault: None, trail: Vec::new() };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Node(&mut reader).deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| reader.explain(&error))
}

/// What is known while a document is read.
struct Reader<'a> {
    depth: usize,
    nodes: usize,
    /// Numbers seen so far: the index of the next one among the literals.
    numbers: usize,
    literals: Literals<'a>,
    fault: Option<(Reason, String)>,
    /// The way to the fault, innermost step first; filled only while an error goes up.
    trail: Vec<Step>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Reader<'_> {
    fn refuse<T, E: Error>(&mut self, reason: Reason, message: impl Into<String>) -> Result<T, E> {
        self.fault = Some((reason, message.into()));
        // The text is never read: `explain` takes the fault.
        Err(E::custom(""))
    }

    fn count<E: Error>(&mut self) -> Result<(), E> {
        self.nodes += 1;
        if self.nodes > limits::JSON_NODES {
            return self.refuse(Reason::TooLarge, format!("more than {} values in one document", limits::JSON_NODES));
        }
        Ok(())
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.count()?;
        self.depth += 1;
        if self.depth > limits::JSON_DEPTH {
            return self
                .refuse(Reason::TooDeep, format!("arrays and objects nest more than {} deep", limits::JSON_DEPTH));
        }
        Ok(())
    }

    fn string<E: Error>(&mut self, text: &str) -> Result<(), E> {
        if text.as_bytes().contains(&0) {
            return self.refuse(Reason::BadString, "a string holds the character U+0000");
        }
        Ok(())
    }

    fn out_of_range<T, E: Error>(&mut self) -> Result<T, E> {
        self.refuse(Reason::NumberRange, "an integer is outside ±(2^53 - 1) and cannot be kept exactly")
    }

    fn integer<E: Error>(&mut self, value: i64) -> Result<Value, E> {
        self.count()?;
        self.numbers += 1;
        if (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&value) {
            return Ok(Value::from(value));
        }
        self.out_of_range()
    }

    /// A literal that the parser gives as a double: one with a fraction or exponent, but also an
    /// integer literal that fits no 64-bit integer, and `-0`. Only the literal tells them apart,
    /// and only these two ranges can hold an integer literal.
    fn double<E: Error>(&mut self, value: f64) -> Result<Value, E> {
        self.count()?;
        let index = self.numbers;
        self.numbers += 1;
        let may_be_integer = value == 0.0 || value.abs() >= i64::MAX as f64;
        if may_be_integer && self.literals.get(index).is_none_or(number::is_integer) {
            if value == 0.0 {
                return Ok(Value::from(0));
            }
            return self.out_of_range();
        }
        match Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None => self.refuse(Reason::NumberRange, "a number is too large for a double"),
        }
    }

    fn explain(mut self, error: &serde_json::Error) -> JsonError {
        let pointer = self.trail.iter().rev().try_fold(String::new(), |pointer, step| {
            let next = match step {
                Step::Key(key) => pointer_to(&pointer, key),
                Step::Index(index) => pointer_to(&pointer, &index.to_string()),
            };
            // Once a step is left out, the steps below it would name another place.
            if next == pointer { Err(pointer) } else { Ok(next) }
        });
        let pointer = pointer.unwrap_or_else(|stopped| stopped);
        let (reason, message) = self.fault.take().unwrap_or_else(|| {
            // The parser's own messages are fixed sentences with a line and a column. It has no
            // public kind for a number that overflows a double.
            let message = error.to_string();
            let reason = if message.starts_with("number out of range") { Reason::NumberRange } else { Reason::BadJson };
            (reason, message)
        });
        JsonError { reason, message, pointer }
    }
}

/// Reads one value.
struct Node<'r, 'a>(&'r mut Reader<'a>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.0.count()?;
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.0.count()?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.0.integer(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.0.integer(i64::try_from(value).unwrap_or(i64::MAX))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.0.double(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.0.count()?;
        self.0.string(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.enter()?;
        let mut array = Vec::new();
        loop {
            match items.next_element_seed(Node(&mut *self.0)) {
                Ok(Some(item)) => array.push(item),
                Ok(None) => break,
                Err(error) => {
                    self.0.trail.push(Step::Index(array.len()));
                    return Err(error);
                }
            }
        }
        self.0.depth -= 1;
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.enter()?;
        let mut object = Map::new();
        while let Some(key) = entries.next_key_seed(Key(&mut *self.0))? {
            match object.entry(key) {
                Entry::Occupied(taken) => {
                    self.0.trail.push(Step::Key(taken.key().clone()));
                    return self.0.refuse(Reason::DuplicateKey, "an object holds the same key twice");
                }
                Entry::Vacant(free) => match entries.next_value_seed(Node(&mut *self.0)) {
                    Ok(value) => {
                        free.insert(value);
                    }
                    Err(error) => {
                        self.0.trail.push(Step::Key(free.key().clone()));
                        return Err(error);
                    }
                },
            }
        }
        self.0.depth -= 1;
        Ok(Value::Object(object))
    }
}

/// Reads the key of an entry.
struct Key<'r, 'a>(&'r mut Reader<'a>);

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'_, '_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<String, E> {
        self.0.string(key)?;
        Ok(key.to_owned())
    }
}
