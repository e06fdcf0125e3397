//! What is going on when a kill comes, step by step, and how it is brought to an end afterwards.

use std::{
    io::Write as _,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    agent::{Agent, CONVERSATION, Line, WireLog, frames_of, has_outcome, has_stage},
    entry::{Entry, Host},
    server::{PATIENCE, Server},
};

/// Twenty minutes: the length of every focus period.
const FOCUS_MS: u64 = 20 * 60 * 1000;

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// A focus period from its start to its deadline.
    Focus,
    /// A focus period that the agent interrupts.
    Interrupt,
    /// Two more starts while the first one waits for the Host.
    Waiting,
    /// Texts of the agent and of the user.
    Texts,
    /// The deadline comes while no agent is connected.
    Unsent,
    /// The deadline comes while no Runtime is there.
    Away,
    /// The shortest focus period, on the machine's clock: for [`crate::clocks`].
    Minute,
}

impl Scenario {
    /// Those that are killed.
    pub const ALL: &[Self] = &[Self::Focus, Self::Interrupt, Self::Waiting, Self::Texts, Self::Unsent, Self::Away];

    /// The calls that the scenario makes, in order: the id, the tool, the input.
    fn calls(self) -> Vec<(&'static str, &'static str, Value)> {
        let start = |id| (id, "pomodoro.start", json!({ "minutes": 20 }));
        match self {
            Self::Focus | Self::Unsent | Self::Away => vec![start("k1")],
            Self::Interrupt => vec![start("k1"), ("k2", "pomodoro.interrupt", json!({}))],
            Self::Waiting => vec![start("k1"), start("k2"), start("k3")],
            Self::Minute => vec![("k1", "pomodoro.start", json!({ "minutes": 1 }))],
            Self::Texts => vec![],
        }
    }
}

/// Where a scenario is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Coming up and connecting.
    Joining,
    /// The first call's activation waits for the Host.
    Starting,
    /// More calls wait behind it.
    Waiting,
    /// The focus period runs.
    Focusing,
    /// The deadline has come or the agent interrupts, and the agent does not know.
    Settling,
    /// The same, and no agent is connected.
    Unsent,
    /// Nothing is open.
    Quiet,
}

impl Phase {
    const ALL: &[Self] =
        &[Self::Joining, Self::Starting, Self::Waiting, Self::Focusing, Self::Settling, Self::Unsent, Self::Quiet];

    /// Reads what [`World::mark`] wrote.
    pub fn read(line: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|phase| format!("== {phase:?}") == line)
    }
}

/// The line of the list after which no phase is.
pub const END: &str = "== end";

/// What survives the lives of a round: the data folder, the agent's log, what the user did.
pub struct World {
    pub scenario: Scenario,
    pub data: TempDir,
    pub log: WireLog,
    /// Where hits and phases are written.
    pub list: Option<PathBuf>,
    phase: Mutex<Phase>,
    acts: Mutex<Vec<Value>>,
}

impl World {
    pub fn new(scenario: Scenario, list: bool) -> Result<Self, String> {
        let data = tempfile::Builder::new().prefix("lineup-kill-").tempdir().map_err(|error| error.to_string())?;
        let list = list.then(|| data.path().join("hits"));
        let (log, phase, acts) = (WireLog::default(), Mutex::new(Phase::Joining), Mutex::default());
        Ok(Self { scenario, data, log, list, phase, acts })
    }

    pub fn phase(&self) -> Phase {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark(&self, phase: Phase) -> Result<(), String> {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.write(&format!("== {phase:?}"))
    }

    /// The scenario is over: what follows is the way to the end, which no kill is planned for.
    pub fn end_of_play(&self) -> Result<(), String> {
        self.write(END)
    }

    fn write(&self, line: &str) -> Result<(), String> {
        let Some(list) = &self.list else { return Ok(()) };
        let write = || writeln!(std::fs::File::options().append(true).create(true).open(list)?, "{line}");
        write().map_err(|error| format!("the list: {error}"))
    }

    /// The credential of a role.
    fn token(&self, role: &str) -> Result<String, String> {
        let text = std::fs::read(self.data.path().join("credentials.json")).map_err(|error| error.to_string())?;
        let tokens: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let token = if role == "agent" { &tokens["agents"]["demo"] } else { &tokens[role] };
        token.as_str().map(str::to_owned).ok_or_else(|| format!("there is no credential for {role}"))
    }
}

/// Everybody who is connected in one life of the server.
pub struct Life<'a> {
    world: &'a World,
    address: String,
    pub agent: Option<Agent>,
    host: Option<Host>,
    owner: Option<Entry>,
}

impl<'a> Life<'a> {
    pub fn new(world: &'a World, server: &Server) -> Self {
        Self { world, address: server.address.clone(), agent: None, host: None, owner: None }
    }

    async fn connect_agent(&mut self, hello: &str) -> Result<(), String> {
        let agent = Agent::connect(&self.address, &self.world.token("agent")?, &self.world.log).await?;
        let before = inventories(&self.world.log.read());
        agent.send(&json!({ "type": "lineup.v1.agent.hello", "id": hello, "conversation_id": CONVERSATION })).await?;
        self.agent = Some(agent);
        self.world.log.until("its tools", |lines| inventories(lines) > before).await
    }

    async fn connect_host(&mut self) -> Result<(), String> {
        self.host = Some(Host::connect(&self.address, &self.world.token("host")?, "screen").await?);
        Ok(())
    }

    fn agent(&self) -> Result<&Agent, String> {
        self.agent.as_ref().ok_or_else(|| "no agent is connected".to_owned())
    }

    fn confirm(&self) -> Result<(), String> {
        self.host.as_ref().map(Host::confirm).ok_or_else(|| "no Host is connected".to_owned())
    }

    async fn owner(&mut self, frame: Value) -> Result<Value, String> {
        if self.owner.is_none() {
            self.owner = Some(Entry::open(&self.address, "control", &self.world.token("owner")?).await?);
        }
        match &mut self.owner {
            Some(owner) => owner.ask(frame).await,
            None => Err("the owner's entry is shut".to_owned()),
        }
    }

    /// The scenario's call of this id.
    async fn call(&self, id: &str) -> Result<(), String> {
        let calls = self.world.scenario.calls();
        let (id, tool, input) = calls.iter().find(|(call, ..)| *call == id).ok_or("no such call")?;
        let revision = revision(&self.world.log.read()).ok_or("the agent has no tools")?;
        let envelope = json!({
            "type": "lineup.v1.tool.invoke", "id": format!("call-{id}"), "conversation_id": CONVERSATION,
            "call_id": id, "tool": tool, "input": input, "inventory_revision": revision,
        });
        self.agent()?.send(&envelope).await
    }

    /// The user says something, once, however often it is sent.
    async fn say(&self, name: &str) -> Result<(), String> {
        let act = json!({
            "type": "act", "session": "page", "conversation": CONVERSATION, "action_id": name,
            "method": "send-text", "input": { "text": format!("user {name}"), "echo_id": name },
        });
        self.world.acts.lock().unwrap_or_else(PoisonError::into_inner).push(act.clone());
        Entry::open(&self.address, "user", &self.world.token("user")?).await?.ask(act).await.map(drop)
    }

    async fn say_everything_again(&self) -> Result<(), String> {
        let acts = self.world.acts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if acts.is_empty() {
            return Ok(());
        }
        let mut user = Entry::open(&self.address, "user", &self.world.token("user")?).await?;
        for act in acts {
            user.ask(act).await?;
        }
        Ok(())
    }

    /// Much that changes nothing of the calls, so that there is something to be killed in.
    async fn noise(&self, name: &str) -> Result<(), String> {
        if let Some(host) = &self.host {
            host.fidget();
        }
        if let Some(agent) = &self.agent {
            agent.send_everything_again().await?;
            let id = format!("text-{name}");
            agent
                .send(&json!({
                    "type": "lineup.v1.message.text", "id": id, "conversation_id": CONVERSATION,
                    "text": format!("agent {name}"),
                }))
                .await?;
            self.world.log.until("its text to be safe", |lines| is_safe(lines, &id)).await?;
        }
        self.say(name).await?;
        if self.agent.is_some() {
            let text = format!("user {name}");
            self.world.log.until("the user's text", |lines| got_text(lines, &text)).await?;
        }
        Ok(())
    }

    /// Waits for the outcome of a call.
    pub async fn outcome(&self, call: &str, patience: Duration) -> Result<(), String> {
        self.world.log.until_for("the outcome", patience, |lines| has_outcome(lines, call)).await
    }

    async fn advance(&mut self, millis: u64) -> Result<(), String> {
        self.owner(json!({ "type": "advance", "ms": millis })).await.map(drop)
    }

    /// Waits until a look at the Runtime is empty.
    async fn until_none(&mut self, what: &str) -> Result<(), String> {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let rows = self.owner(json!({ "type": "inspect", "query": { "inspect": what } })).await?;
            if rows["rows"].as_array().is_some_and(Vec::is_empty) {
                return Ok(());
            }
            if tokio::time::Instant::now() > until {
                return Err(format!("{what} stay: {rows}"));
            }
        }
    }

    /// Plays the scenario from its beginning, in the first life.
    pub async fn play(&mut self) -> Result<(), String> {
        let log = &self.world.log;
        self.world.mark(Phase::Joining)?;
        self.connect_agent("hello-1").await?;
        self.connect_host().await?;
        let scenario = self.world.scenario;
        if scenario == Scenario::Texts {
            self.world.mark(Phase::Quiet)?;
            for name in ["a", "b", "c"] {
                self.noise(name).await?;
            }
            return Ok(());
        }
        self.call("k1").await?;
        log.until("starting", |lines| has_stage(lines, "k1", "starting")).await?;
        self.world.mark(Phase::Starting)?;
        self.noise("starting").await?;
        if scenario == Scenario::Waiting {
            for call in ["k2", "k3"] {
                self.call(call).await?;
                log.until("accepted", |lines| has_stage(lines, call, "accepted")).await?;
                self.world.mark(Phase::Waiting)?;
            }
            self.noise("waiting").await?;
        }
        self.confirm()?;
        log.until("started", |lines| has_stage(lines, "k1", "started")).await?;
        self.world.mark(Phase::Focusing)?;
        self.noise("focusing").await?;
        match scenario {
            Scenario::Unsent => {
                self.agent = None;
                self.say("away").await?;
                self.world.mark(Phase::Unsent)?;
                self.noise("unsent").await?;
                self.advance(FOCUS_MS).await?;
                self.until_none("operations").await?;
                self.until_none("outbox").await?;
                self.connect_agent("hello-2").await?;
                self.world.mark(Phase::Settling)?;
            }
            Scenario::Away | Scenario::Minute => return Ok(()),
            Scenario::Interrupt => {
                self.world.mark(Phase::Settling)?;
                self.call("k2").await?;
            }
            Scenario::Focus | Scenario::Waiting | Scenario::Texts => {
                self.world.mark(Phase::Settling)?;
                self.advance(FOCUS_MS).await?;
            }
        }
        for (call, ..) in scenario.calls() {
            log.until("the outcome", |lines| has_outcome(lines, call)).await?;
        }
        self.world.mark(Phase::Quiet)
    }

    /// Whatever happened: everything is sent once more, everything missing is sent, and it is driven
    /// until every call is over and the outbox is empty. `life` counts from 0.
    pub async fn finish(&mut self, life: usize) -> Result<(), String> {
        let log = &self.world.log;
        if self.agent.is_none() {
            self.connect_agent(&format!("hello-life-{life}")).await?;
        }
        if self.host.is_none() {
            self.connect_host().await?;
        }
        self.confirm()?;
        self.agent()?.send_everything_again().await?;
        self.say_everything_again().await?;
        let sent = |lines: &[Line], id: &str| {
            lines.iter().any(|line| matches!(line, Line::Sent { id: sent, .. } if sent == &format!("call-{id}")))
        };
        for (call, ..) in self.world.scenario.calls() {
            if !sent(&log.read(), call) {
                self.call(call).await?;
            }
        }
        for (call, ..) in self.world.scenario.calls() {
            log.until(&format!("{call} to be started or over"), |lines| {
                has_outcome(lines, call) || has_stage(lines, call, "started")
            })
            .await?;
        }
        if self.world.scenario.calls().iter().any(|(call, ..)| !has_outcome(&log.read(), call)) {
            self.advance(FOCUS_MS).await?;
        }
        for (call, ..) in self.world.scenario.calls() {
            log.until(&format!("the outcome of {call}"), |lines| has_outcome(lines, call)).await?;
        }
        // Once more, now that all is over: each is answered from its record (CALL-3).
        let answers = |lines: &[Line]| -> Vec<usize> {
            self.world.scenario.calls().iter().map(|(call, ..)| frames_of(lines, call).count()).collect()
        };
        let before = answers(&log.read());
        self.agent()?.send_everything_again().await?;
        log.until("the repeats to be answered", |lines| {
            answers(lines).iter().zip(&before).all(|(now, before)| now > before)
        })
        .await?;
        let ids: Vec<String> = log
            .read()
            .iter()
            .filter_map(|line| match line {
                Line::Sent { id, .. } => Some(id.clone()),
                Line::Safe { .. } | Line::Got { .. } => None,
            })
            .collect();
        log.until("every message to be safe", |lines| ids.iter().all(|id| is_safe(lines, id))).await?;
        let acts = self.world.acts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for act in acts {
            let text = act["input"]["text"].as_str().unwrap_or_default().to_owned();
            log.until("every text of the user's", |lines| got_text(lines, &text)).await?;
        }
        self.until_quiet().await?;
        self.until_none("outbox").await
    }

    /// Waits until MiniApps have taken what is in their inbox, as `inspect status` counts it.
    async fn until_quiet(&mut self) -> Result<(), String> {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let status = self.owner(json!({ "type": "inspect", "query": { "inspect": "status" } })).await?;
            let open = ["inbox", "actions"].iter().any(|name| status[*name].as_u64().is_some_and(|count| count > 0));
            if !open {
                return Ok(());
            }
            if tokio::time::Instant::now() > until {
                return Err(format!("work stays: {status}"));
            }
        }
    }

    /// Reads what the agent's socket still holds, after the server has died.
    pub async fn drain(mut self) {
        if let Some(agent) = self.agent.take() {
            agent.drain().await;
        }
    }
}

fn inventories(lines: &[Line]) -> usize {
    lines.iter().filter(|line| matches!(line, Line::Got { frame, .. } if frame["tools"].is_array())).count()
}

/// The revision of the newest inventory.
fn revision(lines: &[Line]) -> Option<String> {
    let inventories = lines.iter().filter_map(|line| match line {
        Line::Got { frame, .. } if frame["tools"].is_array() => Some(frame),
        Line::Got { .. } | Line::Sent { .. } | Line::Safe { .. } => None,
    });
    let newest = inventories.max_by_key(|frame| frame["sequence"].as_u64())?;
    newest["revision"].as_str().map(str::to_owned)
}

fn is_safe(lines: &[Line], id: &str) -> bool {
    lines.iter().any(|line| matches!(line, Line::Safe { id: safe } if safe == id))
}

fn got_text(lines: &[Line], text: &str) -> bool {
    lines.iter().any(|line| matches!(line, Line::Got { frame, .. } if frame["text"] == text))
}
