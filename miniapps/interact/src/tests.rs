use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use lineup_sdk::{VerifiedBundle, host};

use super::*;
use timeline::{Author, Entry};

#[test]
fn app_1_the_echo_stands_before_the_text_is_sent_and_is_marked_after() {
    let world = World::new();
    world.act("e1", "Good morning").expect("the action is done");
    assert_eq!(world.log(), ["write echo", "send send", "write sent", "done"]);
    assert_eq!(
        world.timeline().entries,
        [Entry {
            id: "e1".into(),
            from: Author::Person,
            text: "Good morning".into(),
            delivery: Some(Delivery::Sent { message: "m1".into() }),
        }]
    );
}

#[test]
fn app_1_a_refused_text_is_shown_as_failed_with_its_code() {
    let world = World::new();
    world.refuse_texts(ErrorCode::RateLimited);
    world.act("e1", "Good morning").expect("the failure is reported");
    assert_eq!(world.log(), ["write echo", "send send", "write failed", "failed tool_failed/rate_limited"]);
    assert_eq!(world.timeline().entries[0].delivery, Some(Delivery::Failed { reason: "rate_limited".into() }));
}

#[test]
fn dur_4_a_text_whose_handler_is_cut_off_after_sending_is_echoed_and_sent_once() {
    let world = World::new();
    world.refuse_texts(ErrorCode::StorageUnavailable);
    world.act("e1", "Good morning").expect_err("the action is not settled");
    assert_eq!(world.timeline().entries[0].delivery, Some(Delivery::Sending));
    world.take_texts();
    world.act("e1", "Good morning").expect("the second run is done");
    assert_eq!(world.timeline().entries.len(), 1);
    assert_eq!(world.log(), ["write echo", "send send", "send send", "write sent", "done"]);
}

#[test]
fn dur_3_an_agents_text_is_shown_once_and_acknowledged_in_order() {
    let world = World::new();
    world.post(1, "message.text", json!({ "text": "one", "from": "ignored" }));
    world.post(2, "message.text", json!({ "later_form": true }));
    world.post(3, "message.text", json!({ "text": "two" }));
    world.dispatch(host::Delivery::Inbox).expect("the inbox is empty");
    let texts: Vec<String> = world.timeline().entries.into_iter().map(|entry| entry.text).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(world.log(), ["write -", "acknowledge m1", "acknowledge m2", "write -", "acknowledge m3"]);
}

#[test]
fn the_timeline_keeps_the_newest_texts_within_its_bounds() {
    let mut timeline = Timeline::default();
    for n in 0..=timeline::ENTRIES {
        timeline.receive(&format!("m{n}"), "text");
    }
    assert_eq!(timeline.entries.len(), timeline::ENTRIES);
    assert_eq!(timeline.entries[0].id, "m1");

    // Each control character takes six bytes in JSON.
    let longest = "\u{1}".repeat(16 * 1024);
    for n in 0..9 {
        timeline.receive(&format!("long{n}"), &longest);
    }
    let size = json!(timeline).to_string().len();
    assert!(size <= 256 * 1024, "{size}");
    assert_eq!(timeline.entries.last().unwrap().id, "long8");
}

#[test]
fn what_was_sent_stays_sent() {
    let mut timeline = Timeline::default();
    timeline.echo("e1", "text");
    let sent = Delivery::Sent { message: "m1".into() };
    timeline.mark("e1", &sent);
    timeline.mark("e1", &Delivery::Failed { reason: "rate_limited".into() });
    timeline.mark("unknown", &sent);
    assert_eq!(timeline.entries[0].delivery, Some(sent));
}

#[test]
fn inv_2_the_committed_manifest_is_that_of_the_source() {
    let verified = bundle().verified().unwrap();
    assert_eq!(verified.app_scope().as_str(), "chat");
    assert!(!verified.manifest().host.surface_required);
    assert_eq!(verified.manifest().subscriptions, ["message.text"]);
}

/// A Runtime of a few lines: what it is asked, in order, and the session data that it keeps.
struct World {
    bundle: VerifiedBundle,
    runtime: Arc<Runtime>,
}

#[derive(Default)]
struct Runtime(Mutex<State>);

#[derive(Default)]
struct State {
    log: Vec<String>,
    revision: u64,
    data: Option<Value>,
    inbox: Vec<InboxMessage>,
    refusing: Option<ErrorCode>,
}

impl World {
    fn new() -> Self {
        Self { bundle: bundle().verified().unwrap(), runtime: Arc::default() }
    }

    fn refuse_texts(&self, code: ErrorCode) {
        self.runtime.0.lock().unwrap().refusing = Some(code);
    }

    fn take_texts(&self) {
        self.runtime.0.lock().unwrap().refusing = None;
    }

    fn post(&self, position: u64, kind: &str, body: Value) {
        let id = format!("m{position}").parse().unwrap();
        self.runtime.0.lock().unwrap().inbox.push(InboxMessage { id, position, kind: kind.into(), body });
    }

    fn act(&self, echo_id: &str, text: &str) -> Result<(), host::Fault> {
        self.dispatch(host::Delivery::Action(host::ActionDelivery {
            action: "a1".parse().unwrap(),
            method: "send-text".parse().unwrap(),
            input: json!({ "text": text, "echo_id": echo_id }),
            generation: host::Generation(1),
            attempt: 1,
            canceller: host::Canceller::new(),
        }))
    }

    fn dispatch(&self, delivery: host::Delivery) -> Result<(), host::Fault> {
        let from = host::MiniAppContext {
            workspace: "w1".parse().unwrap(),
            app_scope: "chat".parse().unwrap(),
            instance: "i1".parse().unwrap(),
            conversation: "c1".parse().unwrap(),
            work: None,
        };
        let sdk = host::sdk(Arc::clone(&self.runtime) as _, from, "0.1.0", InstanceState::Foreground);
        self.bundle.dispatch(&sdk, delivery).now_or_never().expect("this Runtime answers at once")
    }

    fn log(&self) -> Vec<String> {
        self.runtime.0.lock().unwrap().log.clone()
    }

    fn timeline(&self) -> Timeline {
        let data = self.runtime.0.lock().unwrap().data.clone();
        Timeline::deserialize(data.unwrap_or_else(|| json!({}))).unwrap()
    }
}

#[async_trait::async_trait]
impl host::MiniAppRequests for Runtime {
    async fn request(
        &self,
        _from: host::MiniAppContext,
        request: host::MiniAppRequest,
    ) -> Result<host::MiniAppAnswer, host::Fault> {
        use host::{MiniAppAnswer as Answer, MiniAppRequest as Request};
        let mut state = self.0.lock().unwrap();
        let named = |step: Option<host::Step>| step.map_or("-".to_owned(), |step| step.0);
        match request {
            Request::ReadSession => {
                Ok(Answer::Session { revision: state.revision, data: state.data.clone().unwrap_or_else(|| json!({})) })
            }
            Request::WriteSession { step, base_revision, data } => {
                assert_eq!(base_revision, state.revision);
                state.revision += 1;
                state.data = Some(data);
                state.log.push(format!("write {}", named(step)));
                Ok(Answer::Written { revision: state.revision })
            }
            Request::SendText { step, .. } => {
                state.log.push(format!("send {}", named(step)));
                match state.refusing {
                    Some(code) => Err(host::Fault::new(code, "refused")),
                    None => Ok(Answer::Sent { message: "m1".parse().unwrap() }),
                }
            }
            Request::ListInbox { after } => Ok(Answer::Inbox {
                messages: state.inbox.iter().filter(|message| message.position > after).cloned().collect(),
            }),
            Request::AcknowledgeInbox { id } => {
                state.log.push(format!("acknowledge {id}"));
                Ok(Answer::Done)
            }
            Request::ActionDone { fault, .. } => {
                state.log.push(fault.map_or("done".to_owned(), |fault| {
                    format!("failed {}/{}", fault.code, fault.reason.unwrap_or_default())
                }));
                Ok(Answer::Done)
            }
            other => panic!("Interact does not ask for {other:?}"),
        }
    }
}
