//! A port that writes down what it is asked and answers at once.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
};

use futures_util::FutureExt as _;
use lineup_sdk::{
    Bundle,
    host::{
        self, ActionDelivery, CallDelivery, Canceller, Delivery, Fault, Generation, MiniAppAnswer, MiniAppContext,
        MiniAppRequest, MiniAppRequests,
    },
    prelude::*,
};

#[derive(Clone, Default)]
pub struct Port(Arc<Mutex<State>>);

#[derive(Default)]
pub struct State {
    asked: Vec<(MiniAppContext, MiniAppRequest)>,
    refusing: BTreeMap<&'static str, ErrorCode>,
    inbox: Vec<InboxMessage>,
    acknowledged: Vec<String>,
    /// The session data and its revision.
    pub session: (u64, Option<Value>),
    /// How often what a Surface shows was changed.
    pub shown: u64,
    /// How often another write comes first.
    pub overtaken: u32,
}

impl Port {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The writes, in order.
    pub fn requests(&self) -> Vec<MiniAppRequest> {
        self.state().asked.iter().map(|(_, request)| request.clone()).collect()
    }

    pub fn contexts(&self) -> Vec<MiniAppContext> {
        self.state().asked.iter().map(|(from, _)| from.clone()).collect()
    }

    pub fn refuse(&self, kind: &'static str, code: ErrorCode) {
        self.state().refusing.insert(kind, code);
    }

    pub fn post(&self, text: &str) {
        let mut state = self.state();
        let position = state.inbox.len() as u64 + 1;
        let id = format!("m{position}").parse().unwrap();
        state.inbox.push(InboxMessage { id, position, kind: "message.text".into(), body: json!({ "text": text }) });
    }

    pub fn acknowledged(&self) -> Vec<String> {
        self.state().acknowledged.clone()
    }

    pub fn sdk(&self) -> Sdk {
        let from = MiniAppContext {
            workspace: "w1".parse().unwrap(),
            app_scope: "desk".parse().unwrap(),
            instance: "i1".parse().unwrap(),
            conversation: "c1".parse().unwrap(),
            work: None,
        };
        host::sdk(Arc::new(self.clone()), from, "1.0.0", InstanceState::Foreground)
    }
}

/// Hands work to a bundle whose manifest is the one that it declares.
pub fn deliver(bundle: &Bundle, port: &Port, delivery: Delivery) -> Result<(), Fault> {
    let manifest = json!(bundle.manifest().expect("the declaration is right")).to_string();
    let verified = bundle.verified_against(&manifest).expect("the manifest is its own");
    verified.dispatch(&port.sdk(), delivery).now_or_never().expect("the port answers at once")
}

pub fn call(method: &str, input: Value) -> Delivery {
    Delivery::Call(CallDelivery {
        call: "k1".parse().unwrap(),
        method: method.parse().unwrap(),
        input,
        generation: Generation(7),
        attempt: 2,
        canceller: Canceller::new(),
    })
}

pub fn action(method: &str, input: Value) -> Delivery {
    Delivery::Action(ActionDelivery {
        action: "a1".parse().unwrap(),
        method: method.parse().unwrap(),
        input,
        generation: Generation(3),
        attempt: 1,
        canceller: Canceller::new(),
    })
}

#[async_trait::async_trait]
impl MiniAppRequests for Port {
    async fn request(&self, from: MiniAppContext, request: MiniAppRequest) -> Result<MiniAppAnswer, Fault> {
        let mut state = self.state();
        match &request {
            MiniAppRequest::ReadSession => {
                let (revision, data) = state.session.clone();
                return Ok(MiniAppAnswer::Session { revision, data: data.unwrap_or_else(|| json!({})) });
            }
            MiniAppRequest::ListInbox { after } => {
                let messages = state.inbox.iter().filter(|message| message.position > *after).cloned().collect();
                return Ok(MiniAppAnswer::Inbox { messages });
            }
            MiniAppRequest::AcknowledgeInbox { id } => {
                state.acknowledged.push(id.to_string());
                return Ok(MiniAppAnswer::Done);
            }
            _ => state.asked.push((from, request.clone())),
        }
        let kind = match &request {
            MiniAppRequest::ReportProgress { .. } => "progress",
            MiniAppRequest::RequestForeground { .. } => "foreground",
            MiniAppRequest::UpdateSurface { .. } => "surface",
            MiniAppRequest::Complete { .. } => "complete",
            _ => "other",
        };
        if let Some(code) = state.refusing.get(kind) {
            return Err(Fault::new(*code, "refused"));
        }
        if let MiniAppRequest::UpdateSurface { .. } = request {
            state.shown += 1;
            return Ok(MiniAppAnswer::Updated { revision: state.shown });
        }
        let MiniAppRequest::WriteSession { data, .. } = request else {
            return Ok(MiniAppAnswer::Done);
        };
        if state.overtaken > 0 {
            state.overtaken -= 1;
            state.session.0 += 1;
            return Err(Fault::new(ErrorCode::SessionRevisionConflict, "another write came first"));
        }
        state.session = (state.session.0 + 1, Some(data));
        Ok(MiniAppAnswer::Written { revision: state.session.0 })
    }
}
