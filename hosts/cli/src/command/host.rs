//! Plays a Host without a screen: it shows by printing, and reports as it is told to.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    process::ExitCode,
    time::Duration,
};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use lineup_adapters::relay::Role;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines, Stdin, stdin},
    time::{Instant, sleep, sleep_until},
};

use crate::{
    args::{Attach, HostCommand, IntentCommand},
    data::DataDir,
    entry::{Entry, answer},
    failure::Failure,
    print::{Printer, plain},
};

/// An attempt that nobody asked for.
const WRONG: &str = "wrong-attempt";
/// How long after a wrong confirmation the right one comes.
const BETWEEN: Duration = Duration::from_secs(1);
/// The pauses between two tries to connect again: the first one, and what they grow to.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

pub async fn run(data: &DataDir, command: HostCommand, printer: &Printer) -> Result<ExitCode, Failure> {
    match command {
        HostCommand::Attach(attach) => {
            let entry = Entry::open(data, &Role::Host).await?;
            Screen::new(entry, attach, printer).run(data).await
        }
        HostCommand::Intent { intent, intent_id, session } => intend(data, &intent, intent_id, session, printer).await,
    }
}

async fn intend(
    data: &DataDir,
    intent: &IntentCommand,
    intent_id: Option<String>,
    session: Option<String>,
    printer: &Printer,
) -> Result<ExitCode, Failure> {
    let intent_id = intent_id.unwrap_or_else(fresh);
    let mut frame = json!({ "type": "intent", "intent_id": intent_id });
    let what = match intent {
        IntentCommand::Switch { to } => {
            if let Some(to) = to {
                frame["to"] = json!(to);
            }
            "switch"
        }
        IntentCommand::Back => "back",
        IntentCommand::Close { instance } => {
            frame["instance"] = json!(instance);
            "close"
        }
        IntentCommand::Hide => "hide",
        IntentCommand::Lock => "lock",
        IntentCommand::Sleep => "sleep",
        IntentCommand::Resume => "resume",
    };
    frame["intent"] = json!(what);
    let mut entry = Entry::open(data, &Role::Host).await?;
    // Out of sight: this session shows nothing, so it must not be asked to confirm anything.
    let session = session.unwrap_or_else(|| format!("intent-{}", fresh()));
    entry.ask(json!({ "type": "hello", "session": session, "visible": false })).await?;
    entry.ask(frame).await?;
    printer.say(&json!({ "kind": "intent", "intent": what, "intent_id": intent_id }), || format!("{what}: taken in"));
    Ok(ExitCode::SUCCESS)
}

/// Connects again, with growing, jittered pauses, until it is let in or refused.
async fn again(data: &DataDir) -> Result<Entry, Failure> {
    let mut pauses = ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times()
        .build();
    loop {
        sleep(pauses.next().unwrap_or(LONGEST_PAUSE)).await;
        match Entry::open(data, &Role::Host).await {
            Err(Failure::Unreachable(_)) => {}
            opened => return opened,
        }
    }
}

/// A Host session.
struct Screen<'a> {
    entry: Entry,
    attach: Attach,
    printer: &'a Printer,
    /// What people were last shown.
    shown: String,
    /// The attempt that was last asked for.
    attempt: Option<String>,
    /// The Surfaces whose handshake was reported.
    mounted: BTreeSet<String>,
    /// What is to be reported, and when.
    due: VecDeque<(Instant, Value)>,
    /// The reports that wait for their answer.
    asked: BTreeMap<String, Value>,
}

impl<'a> Screen<'a> {
    fn new(entry: Entry, attach: Attach, printer: &'a Printer) -> Self {
        let (mounted, due, asked) = (BTreeSet::new(), VecDeque::new(), BTreeMap::new());
        Self { entry, attach, printer, shown: String::new(), attempt: None, mounted, due, asked }
    }

    /// Shows and reports until it is told to end. A Runtime that goes away is waited for (HST-2: that
    /// is not leaving).
    async fn run(mut self, data: &DataDir) -> Result<ExitCode, Failure> {
        let session = self.attach.session.clone().unwrap_or_else(|| format!("cli-{}", fresh()));
        let mut words = self.attach.by_hand.then(|| BufReader::new(stdin()).lines());
        loop {
            match self.show_on(&session, &mut words).await {
                Err(Failure::Unreachable(_)) if !self.entry.is_ended_for_good() => {}
                ended => return ended,
            }
            eprintln!("lineup: the connection is lost; it is tried again (Ctrl-C ends it)");
            tokio::select! {
                entry = again(data) => self.entry = entry?,
                _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
            }
            eprintln!("lineup: connected again");
            // The new connection is told everything again, and nothing of the old one is due.
            self.attempt = None;
            self.mounted.clear();
            self.due.clear();
            self.asked.clear();
        }
    }

    /// One connection.
    async fn show_on(
        &mut self,
        session: &str,
        words: &mut Option<Lines<BufReader<Stdin>>>,
    ) -> Result<ExitCode, Failure> {
        self.report(json!({ "type": "hello", "session": session, "visible": !self.attach.hidden })).await?;
        loop {
            let next = self.due.front().map(|(at, _)| *at);
            tokio::select! {
                frame = self.entry.next() => self.take(frame?).await?,
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                    if let Some((_, report)) = self.due.pop_front() {
                        self.report(report).await?;
                    }
                }
                word = next_word(words), if words.is_some() => match word {
                    Some(word) => self.obey(word.trim()).await?,
                    None => *words = None,
                },
                _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
            }
        }
    }

    async fn take(&mut self, frame: Value) -> Result<(), Failure> {
        if frame["type"] == "view" {
            return self.show(frame).await;
        }
        let Some(report) = frame["id"].as_str().and_then(|id| self.asked.remove(id)) else { return Ok(()) };
        let what = plain(&report["type"]);
        match answer(&frame) {
            Ok(_) => {
                let mut line = report.clone();
                line["kind"] = json!("reported");
                self.printer.say(&line, || self.printer.faint(&format!("reported {}", words_of(&report))));
                Ok(())
            }
            // Without a hello there is no session; everything else is said and goes on.
            Err(failure) if what == "hello" => Err(failure),
            Err(failure) => {
                self.printer.failure(&failure);
                Ok(())
            }
        }
    }

    async fn show(&mut self, mut view: Value) -> Result<(), Failure> {
        view["kind"] = json!("view");
        let picture = picture(&view, self.printer);
        // Machines get every view; people see no difference between two that read the same.
        if self.printer.is_json() || picture != self.shown {
            self.printer.say(&view, || picture.clone());
            self.shown = picture;
        }
        if let Some(surfaces) = view["surfaces"].as_array() {
            let shown: BTreeSet<String> =
                surfaces.iter().filter_map(|surface| surface["instance"].as_str()).map(str::to_owned).collect();
            self.mounted.retain(|instance| shown.contains(instance));
            if !self.attach.no_surface {
                for instance in shown {
                    if self.mounted.insert(instance.clone()) {
                        self.report(json!({ "type": "surface_ready", "instance": instance })).await?;
                    }
                }
            }
        }
        let asked = view["host"]["foreground"]["activation"].as_str().map(str::to_owned);
        if asked != self.attempt {
            self.attempt.clone_from(&asked);
            if let (Some(activation), false) = (asked, self.attach.by_hand || self.attach.hidden) {
                self.plan(&activation);
            }
        }
        Ok(())
    }

    /// Plans what is reported about an attempt.
    fn plan(&mut self, activation: &str) {
        let mut at = Instant::now() + Duration::from_millis(self.attach.withhold);
        if self.attach.wrong_attempt {
            self.due.push_back((at, json!({ "type": "foreground", "activation": WRONG })));
            at += BETWEEN;
        }
        let kind = if self.attach.fail { "failed" } else { "foreground" };
        self.due.push_back((at, json!({ "type": kind, "activation": activation })));
    }

    /// Does what a word on standard input says.
    async fn obey(&mut self, word: &str) -> Result<(), Failure> {
        let attempt = self.attempt.clone();
        let report = match (word, attempt) {
            ("confirm", Some(activation)) => json!({ "type": "foreground", "activation": activation }),
            ("fail", Some(activation)) => json!({ "type": "failed", "activation": activation }),
            ("confirm" | "fail", None) => return self.note("nothing is to be confirmed"),
            ("confirm-wrong", _) => json!({ "type": "foreground", "activation": WRONG }),
            ("show", _) => json!({ "type": "visible", "visible": true }),
            ("hide", _) => json!({ "type": "visible", "visible": false }),
            ("", _) => return Ok(()),
            _ => return self.note("the words are confirm, confirm-wrong, fail, show and hide"),
        };
        self.report(report).await
    }

    fn note(&self, words: &str) -> Result<(), Failure> {
        self.printer.say(&json!({ "kind": "note", "message": words }), || words.to_owned());
        Ok(())
    }

    async fn report(&mut self, report: Value) -> Result<(), Failure> {
        let id = self.entry.send(report.clone()).await?;
        self.asked.insert(id, report);
        Ok(())
    }
}

async fn next_word(words: &mut Option<Lines<BufReader<Stdin>>>) -> Option<String> {
    words.as_mut()?.next_line().await.ok().flatten()
}

/// A report in a few words.
fn words_of(report: &Value) -> String {
    let fields = report.as_object().into_iter().flatten().filter(|(name, _)| *name != "type");
    fields.fold(plain(&report["type"]), |words, (name, value)| format!("{words} {name} {}", plain(value)))
}

/// A view in a few words.
fn picture(view: &Value, printer: &Printer) -> String {
    let front = &view["host"]["foreground"];
    let title = match (front["app_scope"].as_str(), front["activation"].as_str()) {
        (Some(app), Some(attempt)) => format!("{app} is to come to the front (attempt {attempt})"),
        (Some(app), None) => format!("{app} is in front"),
        (None, _) => "Interact is in front".to_owned(),
    };
    let mut picture = printer.strong(&title);
    for listed in view["host"]["instances"].as_array().into_iter().flatten() {
        picture.push_str(&format!(
            "\n  {} {} {}",
            plain(&listed["app_scope"]),
            plain(&listed["state"]),
            printer.faint(&plain(&listed["instance"]))
        ));
    }
    for surface in view["surfaces"].as_array().into_iter().flatten() {
        if let Some(left) = surface["time"]["remaining_ms"].as_u64() {
            picture.push_str(&format!("\n  {}: {} s left", plain(&surface["app_scope"]), left.div_ceil(1000)));
        }
    }
    picture
}

fn fresh() -> String {
    ulid::Ulid::generate().to_string()
}
