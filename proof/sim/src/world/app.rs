//! MiniApps and their handlers. What a handler does follows from its work alone, so that it does the
//! same when it runs again.

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
};

use lineup_core::{
    Answer, Input, Rejected,
    miniapp::{MiniAppAnswer, MiniAppContext, MiniAppRequest, Step, Work},
    workspace::input::{AppHappened, AppReport, MiniAppInput},
};
use lineup_model::{
    ActionId, ErrorCode, Generation, InstanceId, MessageId, Method,
    message::{Fault as Said, Progress},
};
use lineup_ports::outbound::Item;
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::{Happening, World, runtime::Waiter};
use crate::{oracle::MiniApp, plan::Fault, zoo::Mutant};

/// One thing that a handler does.
#[derive(Clone, Debug)]
enum Doing {
    Progress { label: String, detail: Value },
    Read,
    Write { n: u64, wrong: bool },
    WriteFreely,
    Show { n: u64, how: How },
    Foreground,
    Background,
    Close,
    Text,
    Look,
    Operations,
    Wait(u64),
    End(Ending),
}

/// What is wrong, or not, with a patch of what a Surface shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Well,
    Freely,
    Stale,
    Elsewhere,
    Hostile,
}

/// How a handler ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Valid,
    Invalid,
    Fail,
    Cancel,
    Outside,
    Older,
    Silent,
}

/// A handler at work.
#[derive(Debug)]
struct Handler {
    generation: Generation,
    method: Method,
    todo: VecDeque<Doing>,
    /// What it waits to hear about; asked again after `storage_unavailable`.
    asking: Option<(MiniAppRequest, bool)>,
    writes: BTreeMap<&'static str, u32>,
    revision: u64,
}

/// One start of an instance's MiniApp.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) launch: u32,
    context: MiniAppContext,
    ready: bool,
    handlers: BTreeMap<Item, Handler>,
    given: BTreeMap<Item, Generation>,
    reading: bool,
    acknowledging: VecDeque<MessageId>,
}

impl World {
    pub(super) fn reconcile_apps(&mut self) {
        // A handler that starts between a commit and its answer is not judged: the checker has seen the
        // commit and the engine has not.
        if !self.serving || self.is_ahead() {
            return;
        }
        let Some(engine) = &self.engine else { return };
        let durable = engine.durable();
        self.processes.retain(|instance, _| durable.instance(instance).is_some());
        let mut start = Vec::new();
        let mut work: Vec<(InstanceId, Item, Generation, Method)> = Vec::new();
        let mut letters = Vec::new();
        for instance in durable.wanted() {
            match self.processes.get(&instance.id) {
                None => {
                    let context = MiniAppContext {
                        workspace: durable.id().clone(),
                        app_scope: instance.app_scope.clone(),
                        instance: instance.id.clone(),
                        conversation: instance.conversation.clone(),
                        work: None,
                    };
                    start.push((instance.id.clone(), durable.app_process(&instance.id).launch + 1, context));
                }
                Some(process) if process.ready => {
                    for (call, generation) in durable.deliveries(&instance.id) {
                        let item = Item::Call(call.key().clone());
                        let method = call.facts.tool.as_str().split_once('.').map_or("none", |(_, method)| method);
                        if process.given.get(&item) != Some(&generation) {
                            work.push((instance.id.clone(), item, generation, crate::apps::id(method)));
                        }
                    }
                    for action in durable.action_deliveries(&instance.id) {
                        let item = Item::Action(action.id.clone());
                        if process.given.get(&item) != Some(&action.generation) {
                            work.push((instance.id.clone(), item, action.generation, action.method.clone()));
                        }
                    }
                    if !process.reading && durable.inbox().any(|row| row.instance == instance.id && !row.parked) {
                        letters.push((instance.id.clone(), process.launch));
                    }
                }
                Some(_) => {}
            }
        }
        // Handlers of work that is over are let go; some do not listen.
        for (instance, process) in &mut self.processes {
            let open: Vec<Item> = durable
                .deliveries(instance)
                .map(|(call, _)| Item::Call(call.key().clone()))
                .chain(durable.action_deliveries(instance).map(|action| Item::Action(action.id.clone())))
                .collect();
            process.given.retain(|item, _| open.contains(item));
        }
        for (instance, launch, context) in start {
            self.launch(&instance, launch, context);
        }
        for (instance, item, generation, method) in work {
            self.hand_over(&instance, item, generation, method);
        }
        for (instance, launch) in letters {
            if let Some(process) = self.processes.get_mut(&instance) {
                process.reading = true;
            }
            let after = self.within(1, 200);
            self.after(after, Happening::InboxRead(self.life, instance, launch));
        }
    }

    fn launch(&mut self, instance: &InstanceId, launch: u32, context: MiniAppContext) {
        let process = Process {
            launch,
            context,
            ready: false,
            handlers: BTreeMap::new(),
            given: BTreeMap::new(),
            reading: false,
            acknowledging: VecDeque::new(),
        };
        self.processes.insert(instance.clone(), process);
        self.app_reports(instance, launch, AppHappened::Starting);
        let slow = self.strikes(Fault::AppStarts, 0.2);
        let after = if slow { self.within(2_000, 14_000) } else { self.within(1, 300) };
        self.after(after, Happening::Started(self.life, instance.clone(), launch));
    }

    fn app_reports(&mut self, instance: &InstanceId, launch: u32, happened: AppHappened) {
        let report = AppReport { instance: instance.clone(), launch, happened };
        self.offer(Input::App(report), Waiter::Nobody);
    }

    fn process(&mut self, instance: &InstanceId, launch: u32) -> Option<&mut Process> {
        self.processes.get_mut(instance).filter(|process| process.launch == launch)
    }

    pub(super) fn app_started(&mut self, instance: &InstanceId, launch: u32) {
        if self.process(instance, launch).is_none() {
            return;
        }
        if self.strikes(Fault::AppStarts, 0.2) {
            self.processes.remove(instance);
            self.app_reports(instance, launch, AppHappened::Stopped { reason: "it does not start".into() });
            return;
        }
        self.app_reports(instance, launch, AppHappened::Ready);
        if let Some(process) = self.process(instance, launch) {
            process.ready = true;
        }
        self.pump();
        self.reconcile_apps();
    }

    pub(super) fn app_stops(&mut self, instance: &InstanceId, launch: u32) {
        if self.process(instance, launch).is_some() {
            self.processes.remove(instance);
            self.app_reports(instance, launch, AppHappened::Stopped { reason: "it stopped".into() });
        }
    }

    // ---- handlers ----

    fn hand_over(&mut self, instance: &InstanceId, item: Item, generation: Generation, method: Method) {
        let now = self.stamp();
        if let Item::Call(call) = &item {
            let first = self.coverage.handed(call, generation);
            if first {
                self.oracle.miniapp(MiniApp::Invoked { call: call.as_str(), generation: u64::from(generation.0) }, now);
            }
        }
        self.say(&format!("{instance} gets {item:?}, delivery {}", generation.0));
        let todo = self.script(&item, generation, &method);
        let handler = Handler { generation, method, todo, asking: None, writes: BTreeMap::new(), revision: 0 };
        let Some(process) = self.processes.get_mut(instance) else { return };
        process.given.insert(item.clone(), generation);
        process.handlers.insert(item.clone(), handler);
        let launch = process.launch;
        let after = self.within(1, 100);
        self.after(after, Happening::Step(self.life, instance.clone(), launch, item));
    }

    /// What a handler does: by its work alone, unless it is one that diverges.
    fn script(&mut self, item: &Item, generation: Generation, method: &Method) -> VecDeque<Doing> {
        let mut hasher = DefaultHasher::new();
        (self.plan.seed, format!("{item:?}")).hash(&mut hasher);
        let mut rng = StdRng::seed_from_u64(hasher.finish());
        let mut todo = VecDeque::new();
        let late = self.has(Fault::HandlerLate);
        for _ in 0..rng.random_range(0..4) {
            todo.push_back(match rng.random_range(0..20) {
                0..=3 => Doing::Progress { label: "working".into(), detail: json!({ "at": rng.random_range(0..9) }) },
                4 => Doing::Progress { label: "owned".into(), detail: json!({ "done": true, "status": "done" }) },
                5 => Doing::Look,
                6..=9 => Doing::Write { n: rng.random_range(0..9), wrong: rng.random_bool(0.1) },
                10 => Doing::WriteFreely,
                11 => Doing::Foreground,
                12 => Doing::Background,
                13 => Doing::Operations,
                14 => Doing::Close,
                16..=19 => {
                    let how = match rng.random_range(0..12) {
                        0 => How::Freely,
                        1 => How::Stale,
                        2 => How::Elsewhere,
                        3 => How::Hostile,
                        _ => How::Well,
                    };
                    Doing::Show { n: rng.random_range(0..9), how }
                }
                _ => Doing::Wait(rng.random_range(1..3_000)),
            });
        }
        if todo.iter().any(|doing| matches!(doing, Doing::Write { .. } | Doing::WriteFreely)) {
            todo.push_front(Doing::Read);
        }
        if method.as_str() == "send-text" {
            todo.push_back(Doing::Text);
        }
        let diverges = self.has(Fault::HandlerDiverges) && generation.0 > 1 && rng.random_bool(0.5);
        if diverges {
            for doing in &mut todo {
                if let Doing::Write { n, .. } | Doing::Show { n, .. } = doing {
                    *n += 100 * u64::from(generation.0);
                }
            }
        }
        if late && rng.random_bool(0.2) {
            todo.push_back(Doing::Wait(rng.random_range(20_000..90_000)));
        } else if matches!(method.as_str(), "draw" | "open" | "duel" | "export" | "index") {
            todo.push_back(Doing::Wait(rng.random_range(500..25_000)));
        }
        let chance = |rng: &mut StdRng, on: bool, chance: f64| on && rng.random_bool(chance);
        let ending = if chance(&mut rng, self.has(Fault::HandlerSilent), 0.15) {
            Ending::Silent
        } else if chance(&mut rng, self.has(Fault::HandlerInvalid), 0.2) {
            Ending::Invalid
        } else {
            match rng.random_range(0..12) {
                0 => Ending::Fail,
                1 => Ending::Cancel,
                2 => Ending::Outside,
                _ => Ending::Valid,
            }
        };
        if late && rng.random_bool(0.2) {
            todo.push_back(Doing::End(Ending::Older));
        }
        todo.push_back(Doing::End(ending));
        if late && rng.random_bool(0.2) {
            todo.push_back(Doing::End(Ending::Valid));
        }
        todo
    }

    pub(super) fn app_steps(&mut self, instance: &InstanceId, launch: u32, item: &Item) {
        let Some(process) = self.process(instance, launch) else { return };
        let context = process.context.clone();
        let Some(handler) = process.handlers.get_mut(item) else { return };
        let generation = handler.generation;
        if handler.asking.is_none() {
            let Some(doing) = handler.todo.pop_front() else {
                process.handlers.remove(item);
                return;
            };
            let free = matches!(
                doing,
                Doing::WriteFreely | Doing::Show { how: How::Freely, .. } | Doing::End(Ending::Outside)
            );
            handler.asking = requested(handler, item, &doing).map(|request| (request, free));
            if handler.asking.is_none() {
                let pause = if let Doing::Wait(millis) = doing { millis } else { 1 };
                return self.after(pause, Happening::Step(self.life, instance.clone(), launch, item.clone()));
            }
        }
        let Some((request, free)) = handler.asking.clone() else { return };
        let work = match item {
            Item::Call(call) => Work::Call { call: call.clone(), generation },
            Item::Action(action) => Work::Action { action: action.clone(), generation },
        };
        let from = MiniAppContext { work: (!free).then_some(work), ..context };
        if let MiniAppRequest::UpdateSurface { step, surface, base_revision: base, patch } = &request {
            let key = step.as_ref().filter(|_| !free).map(|Step(step)| format!("{item:?}/{step}"));
            let (instance, surface) = (instance.to_string(), surface.to_string());
            let (key, base) = (key.as_deref(), *base);
            let told = MiniApp::Patched { instance: &instance, surface: &surface, key, base, patch };
            let now = self.stamp();
            self.oracle.miniapp(told, now);
        }
        let request = self.answered(request);
        let waiter = Waiter::Handler { instance: instance.clone(), launch, item: item.clone() };
        self.offer(Input::MiniApp(MiniAppInput { from, request }), waiter);
    }

    /// Tells the checker what a handler says in the end, and lets defects of the entry in.
    fn answered(&mut self, mut request: MiniAppRequest) -> MiniAppRequest {
        let now = self.stamp();
        match &request {
            MiniAppRequest::Complete { call, generation, output } => {
                let generation = generation.map(|generation| u64::from(generation.0));
                let told = MiniApp::Answered { call: call.as_str(), generation, output: Some(output) };
                self.oracle.miniapp(told, now);
            }
            MiniAppRequest::Fail { call, generation, .. } | MiniAppRequest::Cancel { call, generation, .. } => {
                let generation = generation.map(|generation| u64::from(generation.0));
                let told = MiniApp::Answered { call: call.as_str(), generation, output: None };
                self.oracle.miniapp(told, now);
            }
            _ => {}
        }
        if self.mutant(Mutant::GenerationIgnored)
            && let MiniAppRequest::Complete { generation, .. } = &mut request
        {
            *generation = None;
        }
        request
    }

    pub(super) fn handler_hears(
        &mut self,
        instance: &InstanceId,
        launch: u32,
        item: &Item,
        outcome: Result<Answer, Box<Rejected>>,
    ) {
        let Some(process) = self.process(instance, launch) else { return };
        let Some(handler) = process.handlers.get_mut(item) else { return };
        let mut wait = 5;
        match outcome {
            Err(rejected) if rejected.fault.code == ErrorCode::StorageUnavailable => wait = 500,
            Ok(answer) => {
                match answer {
                    Answer::MiniApp(MiniAppAnswer::Session { revision, .. } | MiniAppAnswer::Written { revision }) => {
                        handler.revision = revision;
                    }
                    Answer::MiniApp(_) | Answer::Done | Answer::Call(_) | Answer::Refused(_) => {}
                }
                handler.asking = None;
            }
            Err(_) => handler.asking = None,
        }
        self.after(wait, Happening::Step(self.life, instance.clone(), launch, item.clone()));
    }

    // ---- the inbox ----

    pub(super) fn app_reads_inbox(&mut self, instance: &InstanceId, launch: u32) {
        let Some(process) = self.process(instance, launch) else { return };
        let request = match process.acknowledging.pop_front() {
            Some(id) => MiniAppRequest::AcknowledgeInbox { id },
            None => MiniAppRequest::ListInbox { after: 0 },
        };
        let from = process.context.clone();
        let waiter = Waiter::Inbox { instance: instance.clone(), launch };
        self.offer(Input::MiniApp(MiniAppInput { from, request }), waiter);
    }

    pub(super) fn inbox_hears(&mut self, instance: &InstanceId, launch: u32, outcome: Result<Answer, Box<Rejected>>) {
        let forgets = self.strikes(Fault::HandlerSilent, 0.4);
        let Some(process) = self.process(instance, launch) else { return };
        let listed = match outcome {
            Ok(Answer::MiniApp(MiniAppAnswer::Inbox { messages })) => messages,
            Ok(_) => Vec::new(),
            Err(rejected) if rejected.fault.code == ErrorCode::StorageUnavailable => {
                return self.after(500, Happening::InboxRead(self.life, instance.clone(), launch));
            }
            Err(_) => Vec::new(),
        };
        if !forgets {
            process.acknowledging.extend(listed.into_iter().map(|message| message.id));
        }
        if process.acknowledging.is_empty() {
            process.reading = false;
        } else {
            self.after(3, Happening::InboxRead(self.life, instance.clone(), launch));
        }
    }
}

/// The request that a handler makes now, keyed as the SDK keys it.
fn requested(handler: &mut Handler, item: &Item, doing: &Doing) -> Option<MiniAppRequest> {
    let revision = handler.revision;
    let mut step = |kind: &'static str| {
        let count = handler.writes.entry(kind).or_insert(0);
        *count += 1;
        Some(Step(format!("{kind}#{count}")))
    };
    let call = match item {
        Item::Call(call) => Some(call.clone()),
        Item::Action(_) => None,
    };
    Some(match doing {
        Doing::Progress { label, detail } => MiniAppRequest::ReportProgress {
            call: call?,
            step: step("progress"),
            progress: Progress { label: label.clone(), detail: Some(detail.clone()) },
        },
        Doing::Read => MiniAppRequest::ReadSession,
        Doing::Write { n, wrong } => MiniAppRequest::WriteSession {
            step: step("session.write"),
            base_revision: if *wrong { revision + 7 } else { revision },
            data: json!({ "n": n }),
        },
        Doing::WriteFreely => {
            MiniAppRequest::WriteSession { step: None, base_revision: revision, data: json!({ "free": true }) }
        }
        Doing::Show { n, how } => {
            // No two make the same of a document: who made it can be told.
            let step = step("surfaces.update");
            let last = json!({ "by": format!("{item:?}"), "step": step.as_ref().map(|Step(step)| step), "n": n });
            let removed = format!("n{}", (n + 1) % 9);
            let mut patch = json!({ "last": last, "all": { format!("n{n}"): [n, null], removed: null } });
            if *how == How::Hostile {
                patch["all"]["constructor"] = json!({ "prototype": n });
            }
            MiniAppRequest::UpdateSurface {
                step: step.filter(|_| *how != How::Freely),
                surface: crate::apps::id(if *how == How::Elsewhere { "side" } else { "main" }),
                base_revision: (*how == How::Stale).then_some(999),
                patch,
            }
        }
        Doing::Foreground => MiniAppRequest::RequestForeground { step: step("foreground") },
        Doing::Background => MiniAppRequest::RequestBackground { step: step("background") },
        Doing::Close => MiniAppRequest::RequestClose { step: step("close") },
        Doing::Text => MiniAppRequest::SendText { step: step("text"), text: "hello".into() },
        Doing::Look => MiniAppRequest::GetCall { call: call? },
        Doing::Operations => MiniAppRequest::ListOperations,
        Doing::Wait(_) => return None,
        Doing::End(ending) => return ended(*ending, item, handler.generation, &handler.method),
    })
}

fn ended(ending: Ending, item: &Item, generation: Generation, method: &Method) -> Option<MiniAppRequest> {
    let call = match item {
        Item::Call(call) => call.clone(),
        Item::Action(action) => return action_ended(ending, action, generation),
    };
    let output = match method.as_str() {
        "show" | "draw" => json!({ "status": "done" }),
        _ => json!({ "done": true }),
    };
    let counted = Some(generation);
    Some(match ending {
        Ending::Valid => MiniAppRequest::Complete { call, generation: counted, output },
        Ending::Invalid => MiniAppRequest::Complete { call, generation: counted, output: json!({ "done": 1 }) },
        Ending::Fail => MiniAppRequest::Fail {
            call,
            generation: counted,
            fault: Said::new(ErrorCode::ToolFailed, "the handler gives up").because("gave_up"),
        },
        Ending::Cancel => MiniAppRequest::Cancel { call, generation: counted, reason: Some("changed_its_mind".into()) },
        Ending::Outside => MiniAppRequest::Complete { call, generation: None, output },
        Ending::Older => MiniAppRequest::Complete {
            call,
            generation: Some(Generation(generation.0.saturating_sub(1))),
            output: json!({ "done": false }),
        },
        Ending::Silent => return None,
    })
}

fn action_ended(ending: Ending, action: &ActionId, generation: Generation) -> Option<MiniAppRequest> {
    let done = |generation, fault| MiniAppRequest::ActionDone { action: action.clone(), generation, fault };
    Some(match ending {
        Ending::Valid | Ending::Outside | Ending::Cancel => done(generation, None),
        Ending::Invalid | Ending::Fail => {
            done(generation, Some(Said::new(ErrorCode::ToolFailed, "the handler gives up")))
        }
        Ending::Older => done(Generation(generation.0.saturating_sub(1)), None),
        Ending::Silent => return None,
    })
}
