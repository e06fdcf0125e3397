//! What a run reached: inputs, codes, and the cells of the machines.
//!
//! The machines are not watched from inside: a cell, a state and an input, is read off the durable
//! change sets, which hold every state that a decision left and every one that it came to. Inputs
//! that change nothing leave nothing there; those are counted when they are offered to an idle
//! engine, against the state that it is in.

use std::collections::{BTreeMap, BTreeSet};

use lineup_core::{
    Answer, Input, Kept, Rejected, Workspace,
    call::CallState,
    instance::InstanceState,
    journal::{Happened, Source},
    miniapp::MiniAppRequest,
    workspace::input::{AgentRequest, AppHappened, Intent, Report, Setup},
};
use lineup_model::{CallKey, ErrorCode, Generation, InstanceId};
use lineup_ports::outbound::{Commit, Committed};
use serde_json::{Value, json};

/// A state and an input of a machine.
type Cell = (&'static str, String);

/// Every cell that a world can reach. What is not in the list cannot be reached in this version:
/// a call that runs is never told to wait or to operate; nobody was handed a waiting call, so nobody
/// finishes one; one that waits on an activation has its turn, because whatever would take it from it
/// waits until that activation is over (`op_3_what_is_alone_in_the_workspace…` in core); an instance that closes in front is covered first; nothing suspends an instance yet.
pub const CELLS: &[(&str, &str)] = &[
    ("call", "new + wait"),
    ("call", "new + deliver"),
    ("call", "new + wait_for_turn"),
    ("call", "new + ask_for_you"),
    ("call", "new + operate"),
    ("call", "new + end"),
    ("call", "waiting + wait"),
    ("call", "waiting + ask_for_you"),
    ("call", "waiting + deliver"),
    ("call", "waiting + operate"),
    ("call", "waiting + end"),
    ("call", "waiting_for_turn + wait"),
    ("call", "waiting_for_turn + ask_for_you"),
    ("call", "waiting_for_turn + operate"),
    ("call", "waiting_for_turn + end"),
    ("call", "needs_you + wait"),
    ("call", "needs_you + wait_for_turn"),
    ("call", "needs_you + end"),
    ("call", "running + deliver"),
    ("call", "running + deliver exhausted"),
    ("call", "running + finish"),
    ("call", "running + finish stale"),
    ("call", "running + end"),
    ("call", "operating + end"),
    ("activation", "starting + reported pending"),
    ("activation", "starting + reported ready"),
    ("activation", "starting + clock pending"),
    ("activation", "starting + host_unavailable"),
    ("activation", "starting + host_failed"),
    ("activation", "starting + app_failed"),
    ("activation", "starting + timeout"),
    ("activation", "starting + cancelled"),
    ("instance", "starting + ready foreground"),
    ("instance", "starting + ready background"),
    ("instance", "background + ready foreground"),
    ("instance", "background + ready background"),
    ("instance", "background + raised"),
    ("instance", "foreground + covered"),
    ("instance", "starting + close"),
    ("instance", "background + close"),
    ("operation", "running + clock pending"),
    ("operation", "running + clock due"),
    ("operation", "running + interrupted"),
    ("operation", "running + left ends"),
    ("operation", "running + left stays"),
    ("operation", "running + call completed"),
    ("operation", "running + call failed"),
    ("action", "open + deliver"),
    ("action", "open + deliver exhausted"),
    ("action", "open + finish"),
    ("action", "open + finish stale"),
    ("action", "open + close"),
];

/// What was reached.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Inputs by kind.
    pub inputs: BTreeMap<String, u64>,
    /// Decisions that were granted.
    pub accepted: u64,
    /// Decisions that were rejections, by code.
    pub rejected: BTreeMap<String, u64>,
    /// Envelopes that were not read, by reason.
    pub malformed: BTreeMap<String, u64>,
    /// What the store answered.
    pub store: BTreeMap<String, u64>,
    /// Refusals that reached an agent, by code.
    pub refusals: BTreeMap<String, u64>,
    /// Cells of the machines.
    pub cells: BTreeMap<Cell, u64>,
    /// How often each invariant was looked at with something to see.
    pub invariants: BTreeMap<String, u64>,
    calls: BTreeMap<CallKey, CallState>,
    instances: BTreeMap<InstanceId, InstanceState>,
    invoked: BTreeSet<(CallKey, Generation)>,
}

impl Coverage {
    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        fn sum<K: Ord + Clone>(all: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
            for (key, count) in more {
                *all.entry(key.clone()).or_default() += count;
            }
        }
        sum(&mut self.inputs, &other.inputs);
        sum(&mut self.rejected, &other.rejected);
        sum(&mut self.malformed, &other.malformed);
        sum(&mut self.store, &other.store);
        sum(&mut self.refusals, &other.refusals);
        sum(&mut self.cells, &other.cells);
        sum(&mut self.invariants, &other.invariants);
        self.accepted += other.accepted;
    }

    /// The part of the decisions that were granted, in percent.
    #[must_use]
    pub fn accepted_share(&self) -> u64 {
        let all = self.accepted + self.rejected.values().sum::<u64>();
        (self.accepted * 100).checked_div(all).unwrap_or(100)
    }

    /// Cells that were never reached.
    #[must_use]
    pub fn missed(&self) -> Vec<String> {
        let hit = |machine: &str, cell: &str| self.cells.keys().any(|(m, c)| *m == machine && c == cell);
        CELLS.iter().filter(|(m, c)| !hit(m, c)).map(|(m, c)| format!("{m}: {c}")).collect()
    }

    /// Everything, as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let cells: BTreeMap<String, u64> =
            self.cells.iter().map(|((machine, cell), count)| (format!("{machine}: {cell}"), *count)).collect();
        json!({
            "inputs": self.inputs, "accepted": self.accepted, "accepted_percent": self.accepted_share(),
            "rejected": self.rejected, "malformed": self.malformed, "store": self.store, "refusals": self.refusals,
            "cells": cells, "cells_missed": self.missed(), "invariants": self.invariants,
        })
    }

    /// One look at an invariant.
    pub(crate) fn look(&mut self, invariant: &str) {
        *self.invariants.entry(invariant.to_owned()).or_default() += 1;
    }

    fn cell(&mut self, machine: &'static str, cell: impl Into<String>) {
        *self.cells.entry((machine, cell.into())).or_default() += 1;
    }

    pub(crate) fn malformed(&mut self, reason: &str) {
        *self.malformed.entry(reason.to_owned()).or_default() += 1;
    }

    pub(crate) fn refused(&mut self, code: ErrorCode) {
        *self.refusals.entry(code.to_string()).or_default() += 1;
    }

    pub(crate) fn store(&mut self, answer: &Committed) {
        let word = match answer {
            Committed::Committed => "committed".to_owned(),
            Committed::NothingChanged(cause) => format!("nothing_changed {}", first_word(&format!("{cause:?}"))),
            Committed::Unknown => "unknown".to_owned(),
            Committed::Fenced => "fenced".to_owned(),
        };
        *self.store.entry(word).or_default() += 1;
    }

    pub(crate) fn settled(&mut self, outcome: &Result<Answer, Box<Rejected>>) {
        match outcome {
            Ok(Answer::Refused(fault)) => *self.rejected.entry(fault.code.to_string()).or_default() += 1,
            Ok(Answer::Done | Answer::Call(_) | Answer::MiniApp(_)) => self.accepted += 1,
            Err(rejected) => *self.rejected.entry(rejected.fault.code.to_string()).or_default() += 1,
        }
    }

    /// Whether this delivery is handed over for the first time: the same one twice runs once.
    pub(crate) fn handed(&mut self, call: &CallKey, generation: Generation) -> bool {
        self.invoked.insert((call.clone(), generation))
    }

    /// An input, against the state that decides on it.
    pub(crate) fn offered(&mut self, input: &Input, head: &Workspace, quiet: bool) {
        *self.inputs.entry(kind(input)).or_default() += 1;
        if !quiet {
            return;
        }
        match input {
            Input::MiniApp(asked) => match &asked.request {
                MiniAppRequest::Complete { call, generation: Some(generation), .. }
                | MiniAppRequest::Fail { call, generation: Some(generation), .. }
                | MiniAppRequest::Cancel { call, generation: Some(generation), .. } => {
                    match head.call(call).map(|call| &call.state) {
                        Some(CallState::Running { generation: current, .. }) if current != generation => {
                            self.cell("call", "running + finish stale");
                        }
                        Some(_) | None => {}
                    }
                }
                MiniAppRequest::ActionDone { action, generation, .. } => {
                    let open = head.actions().find(|open| open.id == *action);
                    if open.is_some_and(|open| open.generation != *generation) {
                        self.cell("action", "open + finish stale");
                    }
                }
                _ => {}
            },
            Input::Clock => {
                if head.operations().next().is_some() {
                    self.cell("operation", "running + clock pending");
                }
                if head.activations().next().is_some() {
                    self.cell("activation", "starting + clock pending");
                }
            }
            Input::HostReport(_) | Input::App(_) => {
                if head.activations().next().is_some() {
                    self.cell("activation", "starting + reported pending");
                }
            }
            Input::HostIntent(intent) => {
                let top = head.focus().top();
                let stays = head.operations().any(|op| Some(&op.instance) == top && !op.rule.ends_on_leaving);
                if stays && matches!(intent.intent, Intent::Switch { to: None } | Intent::Back) {
                    self.cell("operation", "running + left stays");
                }
            }
            Input::Agent(_) | Input::UiAction(_) | Input::Transport(_) | Input::Setup(_) | Input::Recovered { .. } => {}
        }
    }

    /// A durable batch.
    pub(crate) fn durable(&mut self, commit: &Commit) {
        for set in &commit.changes {
            let exhausted = set.journal.iter().any(|row| row.code == Some(ErrorCode::AppDeliveryExhausted));
            let accepted: BTreeSet<&CallKey> = set
                .journal
                .iter()
                .filter(|row| row.happened == Happened::CallAccepted)
                .filter_map(|row| row.call.as_ref())
                .collect();
            for (at, change) in set.calls.iter().enumerate() {
                match change {
                    // One that is taken in is new until it stands where its decision leaves it.
                    Kept::Put(call)
                        if accepted.contains(call.key())
                            && set.calls[at + 1..].iter().any(|later| match later {
                                Kept::Put(later) => later.key() == call.key(),
                                Kept::Gone(key) => key == call.key(),
                            }) => {}
                    Kept::Put(call) => {
                        let key = call.key().clone();
                        let before = self.calls.insert(key, call.state.clone());
                        if before.as_ref() != Some(&call.state) {
                            let from = before.as_ref().map_or("new", word);
                            let input = match &call.state {
                                CallState::Waiting { .. } => "wait",
                                CallState::WaitingForTurn => "wait_for_turn",
                                CallState::NeedsYou => "ask_for_you",
                                CallState::Running { .. } => "deliver",
                                CallState::Operating { .. } => "operate",
                            };
                            self.cell("call", format!("{from} + {input}"));
                        }
                    }
                    Kept::Gone(key) => {
                        let before = self.calls.remove(key);
                        if before.is_none() && !accepted.contains(key) {
                            continue;
                        }
                        let row = set
                            .journal
                            .iter()
                            .find(|row| row.happened == Happened::CallEnded && row.call.as_ref() == Some(key));
                        let by_app = row.is_some_and(|row| row.origin.source == Source::Miniapp);
                        let from = before.as_ref().map_or("new", word);
                        let cell = if accepted.contains(key) {
                            "new + end".to_owned()
                        } else if exhausted && from == "running" {
                            "running + deliver exhausted".to_owned()
                        } else if by_app && from == "running" {
                            "running + finish".to_owned()
                        } else {
                            format!("{from} + end")
                        };
                        self.cell("call", cell);
                    }
                }
            }
            for row in &set.journal {
                let detail = row.body.detail.as_ref();
                match row.happened {
                    Happened::ActivationEnded => {
                        let end = detail.and_then(|detail| detail["end"].as_str()).unwrap_or("none");
                        let reason = detail.and_then(|detail| detail["reason"].as_str());
                        let word = if end == "ready" { "reported ready" } else { reason.unwrap_or(end) };
                        self.cell("activation", format!("starting + {word}"));
                    }
                    Happened::OperationEnded => {
                        let ended = detail.map(|detail| &detail["ended"]);
                        let end = ended.and_then(|ended| ended["end"].as_str()).unwrap_or("none");
                        let by = ended.and_then(|ended| ended["by"].as_str());
                        let cell = match (end, by, row.origin.source) {
                            ("interrupted", Some("left"), _) => "running + left ends",
                            ("interrupted", _, _) => "running + interrupted",
                            ("completed", _, Source::Runtime) => "running + clock due",
                            ("completed", _, _) => "running + call completed",
                            _ => "running + call failed",
                        };
                        self.cell("operation", cell);
                    }
                    Happened::ActionDelivered => self.cell("action", "open + deliver"),
                    Happened::ActionEnded => {
                        let cell = match (row.code, row.origin.source) {
                            (Some(ErrorCode::AppDeliveryExhausted), _) => "open + deliver exhausted",
                            (_, Source::Miniapp) => "open + finish",
                            _ => "open + close",
                        };
                        self.cell("action", cell);
                    }
                    _ => {}
                }
            }
            let raised = set.focus.is_some();
            let ready = set.journal.iter().any(|row| {
                row.happened == Happened::ActivationEnded
                    && row.body.detail.as_ref().is_some_and(|detail| detail["end"] == "ready")
            });
            for change in &set.instances {
                match change {
                    Kept::Put(instance) => {
                        let before = self.instances.insert(instance.id.clone(), instance.state);
                        let Some(before) = before else { continue };
                        let from = place(before);
                        let cell = match (before, instance.state) {
                            (_, InstanceState::Foreground) if ready => format!("{from} + ready foreground"),
                            (InstanceState::Starting, _) => format!("{from} + ready background"),
                            (_, InstanceState::Foreground) if raised => format!("{from} + raised"),
                            (InstanceState::Foreground, _) => format!("{from} + covered"),
                            (_, to) => format!("{from} + {}", place(to)),
                        };
                        self.cell("instance", cell);
                    }
                    Kept::Gone(id) => {
                        if let Some(before) = self.instances.remove(id) {
                            self.cell("instance", format!("{} + close", place(before)));
                        }
                    }
                }
            }
            if ready && !raised && set.instances.is_empty() {
                self.cell("instance", "background + ready background");
            }
        }
    }
}

fn first_word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or(text)
}

fn word(state: &CallState) -> &'static str {
    match state {
        CallState::Waiting { .. } => "waiting",
        CallState::WaitingForTurn => "waiting_for_turn",
        CallState::NeedsYou => "needs_you",
        CallState::Running { .. } => "running",
        CallState::Operating { .. } => "operating",
    }
}

fn place(state: InstanceState) -> &'static str {
    match state {
        InstanceState::Starting => "starting",
        InstanceState::Foreground => "foreground",
        InstanceState::Background => "background",
        InstanceState::Suspended => "suspended",
    }
}

/// What kind of input it is.
fn kind(input: &Input) -> String {
    let name = match input {
        Input::Agent(asked) => match &asked.request {
            AgentRequest::Hello => "agent hello",
            AgentRequest::Invoke { .. } => "agent invoke",
            AgentRequest::Status { .. } => "agent status",
            AgentRequest::Cancel { .. } => "agent cancel",
            AgentRequest::Text { .. } => "agent text",
        },
        Input::UiAction(_) => "ui action",
        Input::HostIntent(asked) => match &asked.intent {
            Intent::Switch { .. } => "intent switch",
            Intent::Back => "intent back",
            Intent::Close { .. } => "intent close",
            Intent::Hide | Intent::Lock | Intent::Sleep | Intent::Resume => "intent not leaving",
        },
        Input::HostReport(asked) => match &asked.report {
            Report::Connected { .. } => "report connected",
            Report::Disconnected => "report disconnected",
            Report::Visible(_) => "report visible",
            Report::Foreground { .. } => "report foreground",
            Report::Failed { .. } => "report failed",
            Report::SurfaceReady { .. } => "report surface ready",
            Report::SurfaceGone { .. } => "report surface gone",
        },
        Input::MiniApp(asked) => return format!("miniapp {}", first_word(&format!("{:?}", asked.request))),
        Input::App(report) => match report.happened {
            AppHappened::Starting => "app starting",
            AppHappened::Ready => "app ready",
            AppHappened::Stopped { .. } => "app stopped",
        },
        Input::Transport(_) => "acknowledged",
        Input::Setup(Setup::Conversation(_)) => "setup conversation",
        Input::Setup(Setup::Pair(_)) => "setup pair",
        Input::Setup(Setup::Policy(_)) => "setup policy",
        Input::Clock => "clock",
        Input::Recovered { .. } => "recovered",
    };
    name.to_owned()
}

/// An input as one line of the log.
#[must_use]
pub(crate) fn line(input: &Input) -> String {
    match input {
        Input::Agent(asked) => {
            let request = match &asked.request {
                AgentRequest::Hello => "hello".to_owned(),
                AgentRequest::Invoke { call_id, tool, input, expires_at, .. } => {
                    format!("invoke {call_id} {tool} {input} {expires_at:?}")
                }
                AgentRequest::Status { call_id } => format!("status {call_id}"),
                AgentRequest::Cancel { call_id } => format!("cancel {call_id}"),
                AgentRequest::Text { .. } => "text".to_owned(),
            };
            format!("{} in {} ({}): {request}", asked.agent, asked.conversation, asked.message)
        }
        Input::UiAction(asked) => {
            format!("{} acts {} {} in {:?} {}", asked.session, asked.action_id, asked.method, asked.view, asked.input)
        }
        Input::HostIntent(asked) => format!("{} intends {} {:?}", asked.session, asked.intent_id, asked.intent),
        Input::HostReport(asked) => format!("{} reports {:?}", asked.session, asked.report),
        Input::MiniApp(asked) => {
            format!("{} asks as {:?}: {:?}", asked.from.instance, asked.from.work, asked.request)
        }
        Input::App(report) => format!("{} start {}: {:?}", report.instance, report.launch, report.happened),
        Input::Transport(report) => format!("relay: {report:?}"),
        Input::Setup(_) => "setup".to_owned(),
        Input::Clock => "clock".to_owned(),
        Input::Recovered { manifests } => {
            let scopes: Vec<&str> = manifests.iter().map(|manifest| manifest.app_scope.as_str()).collect();
            format!("recovered with {scopes:?}")
        }
    }
}
