//! A row of checks: all of them run, each says one line, and the last line counts.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use serde::Serialize;

/// One check.
pub(crate) struct Step {
    /// A word that `--skip` takes.
    pub name: &'static str,
    /// What it does.
    pub work: Work,
}

/// What a check does.
pub(crate) enum Work {
    /// Starts a program. Its exit status is the verdict.
    Program(Command),
    /// Starts a program that reports tests, which are counted.
    Tests(Command),
    /// Calls a function of this program.
    Here(Box<dyn FnOnce() -> Result<String, String>>),
    /// Cannot be done on this machine, and this is why.
    Lacks(String),
}

/// What became of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Passed,
    Failed,
    Skipped,
}

/// The line of one check.
#[derive(Debug, Serialize)]
struct Line {
    step: &'static str,
    verdict: Verdict,
    said: String,
    passed: u64,
    failed: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct Summary<'a> {
    steps: &'a [Line],
    passed: u64,
    failed: u64,
    skipped: usize,
}

/// Runs every step, whatever became of the ones before it, and prints what became of them.
pub(crate) fn run(steps: Vec<Step>, skip: &[String], json: bool) -> ExitCode {
    if let Some(unknown) = skip.iter().find(|name| !steps.iter().any(|step| step.name == **name)) {
        let names: Vec<_> = steps.iter().map(|step| step.name).collect();
        eprintln!("there is no step `{unknown}`; there are: {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    let lines: Vec<Line> = steps.into_iter().map(|step| done(step, skip)).collect();
    let summary = Summary {
        passed: lines.iter().map(|line| line.passed).sum(),
        failed: lines.iter().map(|line| line.failed).sum(),
        skipped: lines.iter().filter(|line| line.verdict == Verdict::Skipped).count(),
        steps: &lines,
    };
    if json {
        println!("{}", serde_json::to_string_pretty(&summary).expect("plain fields are JSON"));
    } else {
        println!();
        for line in &lines {
            println!("{}", shown(line));
        }
        println!("\n{}", closing(&summary));
    }
    if summary.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn done(step: Step, skip: &[String]) -> Line {
    let begun = Instant::now();
    let name = step.name;
    let line = |verdict, said: String, (passed, failed)| Line {
        step: name,
        verdict,
        said,
        passed,
        failed,
        seconds: begun.elapsed().as_secs_f64(),
    };
    if skip.iter().any(|skipped| skipped == name) {
        return line(Verdict::Skipped, "left out as asked".to_owned(), (0, 0));
    }
    if !matches!(step.work, Work::Lacks(_)) {
        eprintln!("── {name}");
    }
    match step.work {
        Work::Lacks(why) => line(Verdict::Skipped, why, (0, 0)),
        Work::Here(work) => match work() {
            Ok(said) => line(Verdict::Passed, said, (1, 0)),
            Err(problem) => {
                eprintln!("{problem}");
                line(Verdict::Failed, first_line(&problem), (0, 1))
            }
        },
        // The first stream of such a program may be asked for as JSON: nothing else goes there.
        Work::Program(mut command) => match command.stdin(Stdio::null()).stdout(std::io::stderr()).status() {
            Ok(status) if status.success() => line(Verdict::Passed, String::new(), (1, 0)),
            Ok(status) => line(Verdict::Failed, status.to_string(), (0, 1)),
            Err(error) => line(Verdict::Failed, format!("cannot be started: {error}"), (0, 1)),
        },
        Work::Tests(command) => match counted(command) {
            Ok((true, Count { passed, failed: 0 })) => {
                line(Verdict::Passed, format!("{passed} tests passed"), (passed, 0))
            }
            // It failed before, or beside, any test: that counts as one failure.
            Ok((_, Count { passed, failed })) => {
                let failed = failed.max(1);
                line(Verdict::Failed, format!("{passed} tests passed, {failed} failed"), (passed, failed))
            }
            Err(error) => line(Verdict::Failed, format!("cannot be started: {error}"), (0, 1)),
        },
    }
}

/// Starts a program, passes on what it says and counts the tests that it reports.
fn counted(mut command: Command) -> std::io::Result<(bool, Count)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let streams: [Option<Box<dyn Read + Send>>; 2] =
        [child.stdout.take().map(|out| Box::new(out) as _), child.stderr.take().map(|err| Box::new(err) as _)];
    let readers: Vec<_> =
        streams.into_iter().flatten().map(|stream| std::thread::spawn(move || follow(stream))).collect();
    let mut count = Count::default();
    for reader in readers {
        count.add(reader.join().unwrap_or_default());
    }
    Ok((child.wait()?.success(), count))
}

fn follow(stream: Box<dyn Read + Send>) -> Count {
    let mut count = Count::default();
    for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        eprintln!("{line}");
        count.read(&line);
    }
    count
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Reads a closing line, of `cargo test` or of `cargo nextest`. Any other line says nothing.
    fn read(&mut self, line: &str) {
        let line = plain(line);
        let counts = if let Some(counts) = line.trim_start().strip_prefix("test result: ") {
            counts
        } else if let Some((_, counts)) = line.split_once(" tests run: ").or_else(|| line.split_once(" test run: ")) {
            counts
        } else {
            return;
        };
        for part in counts.split([',', ';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (words.next().and_then(|word| word.parse::<u64>().ok()), words.next())
            else {
                continue;
            };
            match what {
                "passed" => self.passed += number,
                "failed" | "timed" => self.failed += number,
                _ => {}
            }
        }
    }
}

/// The line without its colours.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        if character == '\u{1b}' {
            // A colour ends with the first letter.
            rest.by_ref().find(char::is_ascii_alphabetic);
        } else {
            text.push(character);
        }
    }
    text
}

fn first_line(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    match lines.count() {
        0 => first.to_owned(),
        more => format!("{first} (and {more} more)"),
    }
}

fn shown(line: &Line) -> String {
    let word = match line.verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "FAILED",
        Verdict::Skipped => "skipped",
    };
    format!("{word:<8} {:<13} {:>6.1} s  {}", line.step, line.seconds, line.said).trim_end().to_owned()
}

fn closing(summary: &Summary<'_>) -> String {
    let skipped = match summary.skipped {
        0 => String::new(),
        number => format!(", {number} skipped"),
    };
    format!("{} passed, {} failed{skipped}", summary.passed, summary.failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(lines: &[&str]) -> Count {
        let mut count = Count::default();
        lines.iter().for_each(|line| count.read(line));
        count
    }

    #[test]
    fn closing_lines_of_both_test_runners_are_added_up() {
        let cargo = "test result: FAILED. 12 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        let nextest = "     Summary [   1.2s] 40 tests run: 38 passed (1 slow), 1 failed, 1 timed out, 3 skipped";
        assert_eq!(count(&[cargo, nextest]), Count { passed: 50, failed: 4 });
        assert_eq!(
            count(&["\u{1b}[32;1m     Summary\u{1b}[0m [ 0.0s] 1 test run: \u{1b}[1m1\u{1b}[0m passed"]).passed,
            1
        );
    }

    #[test]
    fn other_lines_count_nothing() {
        let lines = ["test a ... ok", "5 passed by", "   Compiling x v0.1.0", "I say: 3 failed, 4 passed"];
        assert_eq!(count(&lines), Count::default());
    }

    #[test]
    fn a_program_that_fails_without_a_test_is_a_failure() {
        let step = Step { name: "none", work: Work::Tests(Command::new("false")) };
        let line = done(step, &[]);
        assert_eq!((line.verdict, line.passed, line.failed), (Verdict::Failed, 0, 1));
    }

    #[test]
    fn a_step_that_was_left_out_is_neither_passed_nor_failed() {
        let step = Step { name: "bad", work: Work::Here(Box::new(|| Err("bad".to_owned()))) };
        let line = done(step, &["bad".to_owned()]);
        assert_eq!((line.verdict, line.passed, line.failed), (Verdict::Skipped, 0, 0));
    }
}
