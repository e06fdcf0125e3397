//! The number literals of a JSON text, for the few numbers whose value does not tell how they
//! were written.

/// Walks the number literals of a text in order. Reads each byte of the text at most once, however
/// often it is asked.
pub(super) struct Literals<'a> {
    text: &'a str,
    at: usize,
    passed: usize,
}

impl<'a> Literals<'a> {
    pub(super) const fn of(text: &'a str) -> Self {
        Self { text, at: 0, passed: 0 }
    }

    /// The literal with this index; indices must grow from one question to the next. The text is
    /// known to be JSON up to and including that literal.
    pub(super) fn get(&mut self, index: usize) -> Option<&'a str> {
        loop {
            let literal = self.next_literal()?;
            self.passed += 1;
            if self.passed > index {
                return Some(literal);
            }
        }
    }

    fn next_literal(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'"' => self.skip_string(),
                b'-' | b'0'..=b'9' => {
                    let start = self.at;
                    let length = bytes[start..]
                        .iter()
                        .take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                        .count();
                    self.at += length;
                    return Some(&self.text[start..self.at]);
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip_string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += match byte {
                b'\\' => 2,
                _ => 1,
            };
            if *byte == b'"' {
                return;
            }
        }
    }
}

/// Whether the literal has neither a fraction nor an exponent.
pub(super) fn is_integer(literal: &str) -> bool {
    !literal.contains(['.', 'e', 'E'])
}
