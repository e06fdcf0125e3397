//! A workspace in a test: inputs go in, what would be sent comes out, nothing waits.
#![allow(dead_code, unused_imports, reason = "each test file uses its part of the scene")]

mod mirror;

use std::{collections::BTreeMap, sync::Arc};

use lineup_core::{
    Answer, ChangeSet, Facts, Input, Rejected, Workspace,
    journal::{Addressed, Happened, JournalRow},
    policy::Conversation,
    workspace::{
        change_set::{EntryChange, EntryKey},
        facts::{Fetched, FinishedCall, Known},
        input::{AgentInput, AgentRequest, AppHappened, AppReport, HostIntentInput, HostReport, Intent, Report, Setup},
    },
};
use lineup_model::{
    AgentId, CallId, CallKey, ConversationId, Effective, HostSessionId, InstanceId, Instant, IntentId, Manifest,
    MessageId, Wall, WorkspaceId,
    message::{AgentBody, End, Stage},
};
pub use lineup_testkit::manifests::{id, manifest, pomodoro, tool};
use serde_json::{Value, json};

pub const MINUTE: u64 = 60_000;

pub struct Scene {
    pub workspace: Workspace,
    pub now: u64,
    pub wall: i64,
    /// Every row of the journal.
    pub journal: Vec<JournalRow>,
    /// What was sent, in order: new messages and repeats.
    pub sent: Vec<Addressed>,
    /// How many messages of those were repeats.
    pub resent: usize,
    ended: BTreeMap<EntryKey, Known>,
    facts: BTreeMap<lineup_core::Seq, Arc<FinishedCall>>,
    documents: BTreeMap<lineup_model::AppSessionId, (u64, Arc<Value>)>,
    mirror: mirror::Mirror,
    messages: u32,
}

impl Scene {
    /// Conversation `main` with agent `ann`, `side` with `ann` and `bob`, and these MiniApps.
    pub fn new(manifests: Vec<Arc<Manifest>>) -> Self {
        let mut scene = Self {
            workspace: Workspace::new(id::<WorkspaceId>("w")),
            now: 0,
            wall: 1_000_000_000_000,
            journal: Vec::new(),
            sent: Vec::new(),
            resent: 0,
            ended: BTreeMap::new(),
            facts: BTreeMap::new(),
            documents: BTreeMap::new(),
            mirror: mirror::Mirror::default(),
            messages: 0,
        };
        scene.put(Input::Recovered { manifests }).unwrap();
        for (conversation, agents) in [("main", vec!["ann"]), ("side", vec!["ann", "bob"])] {
            let conversation = Conversation {
                id: id(conversation),
                title: conversation.into(),
                agents: agents.into_iter().map(id).collect(),
            };
            scene.put(Input::Setup(Setup::Conversation(conversation))).unwrap();
        }
        scene.sent.clear();
        scene
    }

    pub fn decide(&self, input: &Input) -> Result<lineup_core::Decision, Box<Rejected>> {
        let fetched =
            Fetched { entries: self.ended.clone(), calls: self.facts.clone(), documents: self.documents.clone() };
        let now = Instant { effective: Effective(self.now), wall: Wall(self.wall) };
        self.workspace.decide(input, Facts { now, fetched: &fetched })
    }

    /// Decides, applies, and checks what holds after every input.
    pub fn put(&mut self, input: Input) -> Result<Answer, Box<Rejected>> {
        let before = format!("{:?}", self.workspace);
        let decided = self.decide(&input);
        assert_eq!(format!("{:?}", self.workspace), before, "deciding changes nothing");
        let decision = decided?;
        self.keep(&decision.changes);
        self.mirror.keep(&decision.changes);
        self.workspace.apply(&decision.changes);
        self.resent += decision.resend.len();
        self.sent.extend(decision.resend);
        self.check();
        Ok(decision.answer)
    }

    /// Decides and applies without looking: for crowds.
    pub fn hurry(&mut self, input: &Input) {
        let changes = self.decide(input).expect("it is granted").changes;
        self.workspace.apply(&changes);
    }

    fn keep(&mut self, changes: &ChangeSet) {
        for change in &changes.entries {
            match change {
                EntryChange::Taken { key, .. } => {
                    if !matches!(key, EntryKey::Call(_)) {
                        assert!(self.ended.insert(key.clone(), Known::Taken).is_none(), "taken in once: {key:?}");
                    }
                }
                EntryChange::Ended { key, seq, ended } => {
                    let open = self.workspace.call(&seq.call_key()).map(|call| call.facts.clone());
                    let row = |at| changes.journal.iter().find(|row| row.seq == at).expect("its row is in the change");
                    if matches!(key, EntryKey::Call(_)) {
                        let facts = open.or_else(|| row(*seq).body.call.clone()).expect("its facts are known");
                        let outcome = row(*ended)
                            .body
                            .messages
                            .iter()
                            .find(|sent| matches!(sent.message.body, AgentBody::Outcome(_)))
                            .expect("a row that ends a call holds its outcome");
                        let AgentBody::Outcome(said) = &outcome.message.body else { unreachable!() };
                        let finished = Arc::new(FinishedCall {
                            facts,
                            class: said.end.class(),
                            outcome: Some(outcome.message.clone()),
                        });
                        self.facts.insert(*seq, finished.clone());
                        let before = self.ended.insert(key.clone(), Known::Call(finished));
                        assert!(before.is_none(), "CALL-5: one outcome per call");
                    }
                }
            }
        }
        for document in &changes.documents {
            self.documents.insert(document.head.session.clone(), (document.head.revision, document.data.clone()));
        }
        for row in &changes.journal {
            let last = self.journal.last().map_or(0, |row| row.seq.0);
            assert_eq!(row.seq.0, last + 1, "places have no gap");
            assert_eq!(row.conversation.is_some(), is_seen(row.happened), "{row:?}");
            self.sent.extend(row.body.messages.iter().cloned());
            self.journal.push(row.clone());
        }
    }

    /// What holds after every input (invariants I20, I25, I26, I56).
    fn check(&self) {
        let workspace = &self.workspace;
        let mut differing = workspace.differing(&self.mirror.restored(workspace));
        // What was reported towards an activation is asked for again after a restart.
        differing.retain(|part| !["processes", "reported"].contains(part));
        assert!(differing.is_empty(), "I20: a restart would find something else: {differing:?}");
        let activating: Vec<_> = workspace.activations().map(|activation| &activation.instance).collect();
        let unique: std::collections::BTreeSet<_> = activating.iter().collect();
        assert_eq!(unique.len(), activating.len(), "I25: one activation per instance");
        for call in workspace.calls() {
            if let lineup_core::call::CallState::Waiting { activation } = &call.state {
                assert!(workspace.activations().any(|live| live.id == *activation), "I26: {call:?} waits on nothing");
            }
        }
        for entry in workspace.focus().entries() {
            assert!(workspace.instance(entry).is_some(), "I56: {entry} in the focus stack is not live");
        }
    }

    // ---- the agent ----

    pub fn request(&mut self, agent: &str, conversation: &str, request: AgentRequest) -> Result<Answer, Box<Rejected>> {
        self.messages += 1;
        let message: MessageId = id(&format!("x{}", self.messages));
        self.put(Input::Agent(AgentInput { agent: id(agent), message, conversation: id(conversation), request }))
    }

    pub fn invocation(&self, agent: &str, conversation: &str, tool: &str, call_id: &str, input: Value) -> AgentRequest {
        let (agent, conversation): (AgentId, ConversationId) = (id(agent), id(conversation));
        let revision = self.workspace.inventory(&agent, &conversation).expect("in this conversation").revision.clone();
        AgentRequest::Invoke {
            call_id: id::<CallId>(call_id),
            tool: id(tool),
            input: Arc::new(input),
            revision,
            expires_at: None,
        }
    }

    /// Agent `ann` calls a tool in `main`.
    pub fn call(&mut self, tool: &str, call_id: &str, input: Value) -> Result<CallKey, Box<Rejected>> {
        self.call_in("main", tool, call_id, input)
    }

    pub fn call_in(&mut self, at: &str, tool: &str, call_id: &str, input: Value) -> Result<CallKey, Box<Rejected>> {
        let request = self.invocation("ann", at, tool, call_id, input);
        match self.request("ann", at, request)? {
            Answer::Call(key) => Ok(key),
            other => panic!("an accepted call is answered with its key, not {other:?}"),
        }
    }

    // ---- the world ----

    pub fn host(&mut self, session: &str, report: Report) {
        self.put(Input::HostReport(HostReport { session: id::<HostSessionId>(session), report })).unwrap();
    }

    pub fn intend(&mut self, intent_id: &str, intent: Intent) -> Result<Answer, Box<Rejected>> {
        let intent_id: IntentId = id(intent_id);
        self.put(Input::HostIntent(HostIntentInput { session: id("tab"), intent_id, intent }))
    }

    pub fn app(&mut self, instance: &InstanceId, happened: AppHappened) {
        let launch = self.workspace.app_process(instance).launch;
        let launch = if happened == AppHappened::Starting { launch + 1 } else { launch };
        self.put(Input::App(AppReport { instance: instance.clone(), launch, happened })).unwrap();
    }

    pub fn advance(&mut self, millis: u64) {
        self.now += millis;
        self.wall += i64::try_from(millis).unwrap();
        self.put(Input::Clock).unwrap();
    }

    /// The instance of an app in a conversation.
    pub fn instance(&self, conversation: &str, scope: &str) -> Option<InstanceId> {
        self.workspace
            .instances()
            .find(|found| found.conversation.as_str() == conversation && found.app_scope.as_str() == scope)
            .map(|found| found.id.clone())
    }

    /// The MiniApp comes up, with its Surface.
    pub fn come_up(&mut self, instance: &InstanceId) {
        self.app(instance, AppHappened::Starting);
        self.app(instance, AppHappened::Ready);
        self.host("tab", Report::SurfaceReady { instance: instance.clone() });
    }

    /// A visible session confirms the activation that is asked for.
    pub fn confirm(&mut self) {
        let view = self.workspace.host_view();
        let activation =
            view.foreground.and_then(|asked| asked.activation).expect("an activation asks for the foreground");
        self.host("tab", Report::Foreground { activation });
    }

    /// A focus in `main`, confirmed and running.
    pub fn focusing(minutes: u64) -> Self {
        let mut scene = Self::new(vec![pomodoro()]);
        scene.host("tab", Report::Connected { visible: true });
        scene.call("pomodoro.start", "k1", json!({ "minutes": minutes })).unwrap();
        let instance = scene.instance("main", "pomodoro").unwrap();
        scene.come_up(&instance);
        scene.confirm();
        scene
    }

    // ---- what was said ----

    /// The words of a call, in order: stages, then the status of its outcome.
    pub fn words(&self, call_id: &str) -> Vec<String> {
        self.sent
            .iter()
            .filter_map(|sent| match &sent.message.body {
                AgentBody::Receipt(receipt) if receipt.call_id.as_str() == call_id => Some(stage(receipt.stage)),
                AgentBody::Outcome(outcome) if outcome.call_id.as_str() == call_id => {
                    Some(outcome.end.class().as_str().to_owned())
                }
                AgentBody::Receipt(_)
                | AgentBody::Outcome(_)
                | AgentBody::Inventory { .. }
                | AgentBody::Text { .. } => None,
            })
            .collect()
    }

    pub fn outcome(&self, call_id: &str) -> Option<End> {
        self.sent.iter().find_map(|sent| match &sent.message.body {
            AgentBody::Outcome(outcome) if outcome.call_id.as_str() == call_id => Some(outcome.end.clone()),
            _ => None,
        })
    }

    pub fn result(&self, call_id: &str) -> Value {
        match self.outcome(call_id) {
            Some(End::Completed { result }) => result,
            other => panic!("{call_id} did not complete: {other:?}"),
        }
    }
}

/// Whether people see rows of this kind in a conversation.
fn is_seen(happened: Happened) -> bool {
    matches!(
        happened,
        Happened::CallAccepted
            | Happened::ActionAccepted
            | Happened::InboxReceived
            | Happened::InstanceOpened
            | Happened::InstanceClosed
            | Happened::OperationEnded
    )
}

fn stage(stage: Stage) -> String {
    serde_json::to_value(stage).unwrap().as_str().unwrap().to_owned()
}
