//! The log of a run: one line per thing that happened, in order.

use std::collections::VecDeque;

use lineup_model::Digest;

/// Lines that are kept; the digest covers all of them.
const KEPT: usize = 20_000;

/// The log of a run.
#[derive(Debug)]
pub struct Log {
    lines: VecDeque<String>,
    digest: Digest,
    count: u64,
    kept: bool,
}

impl Log {
    /// An empty log; `kept` says whether the lines are wanted or the digest alone.
    #[must_use]
    pub fn new(kept: bool) -> Self {
        Self { lines: VecDeque::new(), digest: Digest::of_bytes(b""), count: 0, kept }
    }

    /// Adds a line. It is made only when it counts.
    pub fn say(&mut self, now: u64, line: &str) {
        self.count += 1;
        let chained = format!("{}\n{now} {line}", self.digest);
        self.digest = Digest::of_bytes(chained.as_bytes());
        if self.kept {
            if self.lines.len() == KEPT {
                self.lines.pop_front();
            }
            self.lines.push_back(format!("{now:>9} {line}"));
        }
    }

    /// Names everything that happened: two runs of one seed have the same.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digest.to_string()
    }

    /// How many lines there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The kept lines.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }
}
