//! The MiniApps' requests (contract section 9). Every write is a request; this decides.

use std::sync::Arc;

use lineup_model::{
    ActionId, CallKey, Digest, ErrorCode, Generation, InstanceId, canonical, limits,
    manifest::Kind,
    message::{AgentBody, End, Fault, OutcomeClass, Progress, Stage},
};
use serde_json::{Value, json};

use super::{
    Workspace,
    change_set::{Document, EntryKey, Kept},
    decision::{Answer, Decided, Rejected},
    draft::Draft,
    facts::Facts,
    input::MiniAppInput,
};
use crate::{
    Seq,
    action::{self, Action, ActionInput},
    call::{self, Call, CallInput, CallState, Staged},
    inbox::InboxItem,
    instance::{Instance, InstanceState},
    journal::{Happened, Origin, Source},
    miniapp::{
        CallView, InboxMessage, MiniAppAnswer, MiniAppContext, MiniAppRequest, OperationState, OperationView, Step,
        Work,
    },
    outbox::place,
    session::DocumentHead,
    surface,
};

/// How many messages of an inbox are listed at once.
const INBOX_PAGE: usize = 100;
/// How many bytes of a MiniApp's words reach an agent in a failure.
const MESSAGE_BYTES: usize = 1024;

/// The handler that a write comes from, when it comes from one that still counts.
enum Writer {
    Call(Arc<Call>),
    Action(Arc<Action>),
    /// Outside a handler: nothing is keyed and nothing staged.
    Free,
}

/// Where a write of session data waits until the work is done.
enum Staging {
    Call(CallKey),
    /// Nowhere: it is made at once.
    None,
}

impl Writer {
    fn stage(&self) -> Staging {
        match self {
            Self::Call(call) => Staging::Call(call.key().clone()),
            Self::Action(_) | Self::Free => Staging::None,
        }
    }
}

impl Workspace {
    pub(super) fn decide_miniapp(&self, asked: &MiniAppInput, facts: Facts<'_>) -> Decided {
        let origin = Origin::new(Source::Miniapp, asked.from.app_scope.as_str());
        let instance = self.requester(&asked.from).map_err(|fault| Rejected::of(origin.clone(), fault))?;
        let draft = Draft::new(self, facts.now, origin.clone());
        let refuse = |fault| Rejected::of(origin.clone(), fault);
        match &asked.request {
            MiniAppRequest::Complete { call, generation, output } => {
                let call = self.own_call(&instance, call, facts).map_err(refuse)?;
                complete(draft, &call, *generation, output)
            }
            MiniAppRequest::Fail { call, generation, fault } => {
                let call = self.own_call(&instance, call, facts).map_err(refuse)?;
                let mut error = Fault::new(ErrorCode::ToolFailed, shortened(&fault.message));
                error.reason = fault.reason.as_deref().map(shortened);
                end(draft, &call, *generation, End::Failed { error })
            }
            MiniAppRequest::Cancel { call, generation, reason } => {
                let call = self.own_call(&instance, call, facts).map_err(refuse)?;
                let mut error = Fault::new(ErrorCode::ToolFailed, "the app cancelled the call");
                error.reason = Some(reason.as_deref().map_or_else(|| "cancelled_by_app".to_owned(), shortened));
                end(draft, &call, *generation, End::Cancelled { error })
            }
            MiniAppRequest::ReportProgress { call, step, progress } => {
                let call = self.own_call(&instance, call, facts).map_err(refuse)?;
                let writer = self.writer(&asked.from, &instance).map_err(refuse)?;
                let request = Digest::of(&json!({ "progress": progress }));
                write(draft, writer, step.as_ref(), &request, |draft| report(draft, &call, progress))
            }
            MiniAppRequest::ActionDone { action, generation, fault } => {
                self.action_done(draft, &instance, action, *generation, fault.as_ref())
            }
            MiniAppRequest::GetCall { call } => {
                let view = self.call_view(&instance, call, facts).map_err(refuse)?;
                Ok(draft.answered(Answer::MiniApp(MiniAppAnswer::Call(view))))
            }
            MiniAppRequest::ListOperations => {
                let answer = MiniAppAnswer::Operations(self.operation_views(&instance, facts));
                Ok(draft.answered(Answer::MiniApp(answer)))
            }
            MiniAppRequest::ReadSession => {
                let answer = self.read_session(&asked.from, &instance, facts);
                Ok(draft.answered(Answer::MiniApp(answer)))
            }
            MiniAppRequest::WriteSession { step, base_revision, data } => {
                let writer = self.writer(&asked.from, &instance).map_err(refuse)?;
                let request = Digest::of(&json!({ "base_revision": base_revision, "data": data }));
                let stage = writer.stage();
                write(draft, writer, step.as_ref(), &request, |draft| {
                    write_session(draft, &instance, &stage, *base_revision, data)
                })
            }
            MiniAppRequest::UpdateSurface { step, surface, base_revision, patch } => {
                let writer = self.writer(&asked.from, &instance).map_err(refuse)?;
                surface::check(patch).map_err(refuse)?;
                let request = json!({ "surface": surface, "base_revision": base_revision, "patch": patch });
                write(draft, writer, step.as_ref(), &Digest::of(&request), |draft| {
                    draft.update_surface(&instance, surface, *base_revision, patch)
                })
            }
            MiniAppRequest::RequestForeground { step } => {
                let writer = self.writer(&asked.from, &instance).map_err(refuse)?;
                write(draft, writer, step.as_ref(), &Digest::of(&"foreground"), |draft| foreground(draft, &instance))
            }
            MiniAppRequest::RequestBackground { step } => {
                let writer = self.writer(&asked.from, &instance).map_err(refuse)?;
                write(draft, writer, step.as_ref(), &Digest::of(&"background"), |draft| background(draft, &instance))
            }
            MiniAppRequest::RequestClose { step } => {
                let writer = self.writer(&asked.from, &instance).map_err(refuse)?;
                write(draft, writer, step.as_ref(), &Digest::of(&"close"), |draft| close(draft, &instance))
            }
            MiniAppRequest::SendText { step, text } => {
                let system = self.apps.get(&instance.app_scope).is_some_and(|app| app.manifest.kind == Kind::System);
                if !system {
                    return Err(refuse(Fault::new(
                        ErrorCode::CapabilityDenied,
                        "only a system app sends texts into a conversation",
                    )));
                }
                let writer = self.writer(&asked.from, &instance).map_err(refuse)?;
                let agents = self.agents(&instance.conversation);
                write(draft, writer, step.as_ref(), &Digest::of(&json!({ "text": text })), |draft| {
                    if text.is_empty() || text.len() > limits::TEXT_BYTES {
                        return Err(Fault::new(
                            ErrorCode::PayloadTooLarge,
                            format!("a text has 1 to {} bytes", limits::TEXT_BYTES),
                        ));
                    }
                    let messages =
                        agents.into_iter().map(|agent| (agent, AgentBody::Text { text: text.clone() })).collect();
                    let seq = draft.send(
                        Happened::TextSent,
                        instance.conversation.as_str(),
                        &instance.conversation,
                        messages,
                    );
                    Ok(MiniAppAnswer::Sent { message: seq.message_id(0) })
                })
            }
            MiniAppRequest::ListInbox { after } => {
                let messages = self.inbox_messages(&instance.id, *after);
                Ok(draft.answered(Answer::MiniApp(MiniAppAnswer::Inbox { messages })))
            }
            MiniAppRequest::AcknowledgeInbox { id } => {
                let mut draft = draft;
                // A message of another instance looks like one that was never there (DUR-3).
                let row = place(id).filter(|place| place.index == 0).and_then(|place| self.inbox.get(&place.seq));
                let found = row.filter(|row| row.instance == instance.id);
                if let Some(row) = found {
                    draft.record(Happened::InboxAcknowledged, id.as_str(), None);
                    let seq = row.seq;
                    draft.change(|set| set.inbox.push(Kept::Gone(seq)));
                }
                Ok(draft.answered(Answer::MiniApp(MiniAppAnswer::Done)))
            }
        }
    }

    /// The live instance that the request comes from; checked again at every request (AGT-2).
    fn requester(&self, from: &MiniAppContext) -> Result<Arc<Instance>, Fault> {
        let Some(instance) = self.instances.get(&from.instance) else {
            return Err(Fault::new(ErrorCode::AppInstanceNotFound, "this instance is closed"));
        };
        if instance.app_scope != from.app_scope
            || instance.conversation != from.conversation
            || from.workspace != self.id
        {
            return Err(Fault::new(
                ErrorCode::AppScopeMismatch,
                "this instance belongs to another app or conversation",
            ));
        }
        if self.policy.disabled_apps.contains(&instance.app_scope) {
            return Err(Fault::new(ErrorCode::AppDisabled, "this app is switched off"));
        }
        Ok(instance.clone())
    }

    /// The open call of this instance. One that is over is told apart only for its own app.
    fn own_call(&self, instance: &Instance, key: &CallKey, facts: Facts<'_>) -> Result<Arc<Call>, Fault> {
        if let Some(call) = self.call(key) {
            if call.instance.as_ref() == Some(&instance.id) {
                return Ok(call.clone());
            }
            return Err(not_yours());
        }
        let finished = Seq::of_call(key).and_then(|seq| facts.fetched.calls.get(&seq));
        match finished {
            Some(finished)
                if finished.facts.app_scope == instance.app_scope
                    && finished.facts.address.conversation == instance.conversation =>
            {
                Err(Fault::new(ErrorCode::CallAlreadyFinal, format!("call {key} has its outcome already")))
            }
            Some(_) | None => Err(not_yours()),
        }
    }

    /// Who writes. A handler of an older delivery, or of work that is over, is refused (DUR-4).
    fn writer(&self, from: &MiniAppContext, instance: &Instance) -> Result<Writer, Fault> {
        match &from.work {
            None => Ok(Writer::Free),
            Some(Work::Call { call, generation }) => match self.call(call) {
                Some(found) if found.instance.as_ref() == Some(&instance.id) => match &found.state {
                    CallState::Running { generation: current, .. } if current == generation => {
                        Ok(Writer::Call(found.clone()))
                    }
                    CallState::Running { .. }
                    | CallState::Waiting { .. }
                    | CallState::WaitingForTurn
                    | CallState::NeedsYou
                    | CallState::Operating { .. } => Err(stale()),
                },
                Some(_) => Err(not_yours()),
                None => Err(Fault::new(ErrorCode::CallAlreadyFinal, format!("call {call} has its outcome already"))),
            },
            Some(Work::Action { action, generation }) => match self.own_action(instance, action) {
                Some(found) if found.generation == *generation => Ok(Writer::Action(found)),
                Some(_) => Err(stale()),
                None => Err(Fault::new(ErrorCode::CallAlreadyFinal, "this UI Action is over")),
            },
        }
    }

    fn own_action(&self, instance: &Instance, action: &ActionId) -> Option<Arc<Action>> {
        let key = EntryKey::Action { instance: instance.id.clone(), action: action.clone() };
        self.actions.get(self.action_keys.get(&key)?.as_ref()).cloned()
    }

    fn action_done(
        &self,
        mut draft: Draft,
        instance: &Instance,
        action: &ActionId,
        generation: Generation,
        fault: Option<&Fault>,
    ) -> Decided {
        let Some(open) = self.own_action(instance, action) else {
            let fault = Fault::new(ErrorCode::CallAlreadyFinal, "this UI Action is over");
            return Err(Rejected::of(draft.origin().clone(), fault));
        };
        match action::decide(open.generation, ActionInput::Finish(generation)) {
            action::Transition::Final => {
                draft.end_action(&open, fault);
                Ok(draft.answered(Answer::MiniApp(MiniAppAnswer::Done)))
            }
            action::Transition::Stale | action::Transition::Delivered(_) | action::Transition::Exhausted => {
                Err(Rejected::of(draft.origin().clone(), stale()))
            }
        }
    }

    fn call_view(&self, instance: &Instance, key: &CallKey, facts: Facts<'_>) -> Result<CallView, Fault> {
        let view = |facts: &call::CallFacts, outcome: Option<OutcomeClass>| CallView {
            call: key.clone(),
            tool: facts.tool.clone(),
            input: facts.input.as_ref().clone(),
            outcome,
            cancelling: false,
        };
        if let Some(call) = self.call(key).filter(|call| call.instance.as_ref() == Some(&instance.id)) {
            return Ok(view(&call.facts, None));
        }
        let finished = Seq::of_call(key).and_then(|seq| facts.fetched.calls.get(&seq)).filter(|finished| {
            finished.facts.app_scope == instance.app_scope
                && finished.facts.address.conversation == instance.conversation
        });
        finished.map(|finished| view(&finished.facts, Some(finished.class))).ok_or_else(not_yours)
    }

    fn operation_views(&self, instance: &Instance, facts: Facts<'_>) -> Vec<OperationView> {
        self.operations
            .values()
            .filter(|operation| {
                operation.app_scope == instance.app_scope && operation.conversation == instance.conversation
            })
            .map(|operation| OperationView {
                operation: operation.id.clone(),
                call: operation.call.clone(),
                state: OperationState::Running,
                length_ms: operation.deadline.map(|deadline| deadline.since(operation.started.effective)),
                remaining_ms: operation.deadline.map(|deadline| deadline.since(facts.now.effective)),
            })
            .collect()
    }

    fn read_session(&self, from: &MiniAppContext, instance: &Instance, facts: Facts<'_>) -> MiniAppAnswer {
        // A handler sees what it has staged.
        if let Some(Work::Call { call, .. }) = &from.work
            && let Some(staged) = self.call(call).and_then(|call| call.staged.as_ref())
        {
            return MiniAppAnswer::Session { revision: staged.base_revision + 1, data: staged.data.as_ref().clone() };
        }
        match facts.fetched.documents.get(&instance.session) {
            Some((revision, data)) => MiniAppAnswer::Session { revision: *revision, data: data.as_ref().clone() },
            None => MiniAppAnswer::Session { revision: 0, data: json!({}) },
        }
    }

    fn inbox_messages(&self, instance: &InstanceId, after: u64) -> Vec<InboxMessage> {
        self.inbox
            .range(Seq(after).next()..)
            .map(|(_, row)| row)
            .filter(|row| row.instance == *instance && !row.parked)
            .take(INBOX_PAGE)
            .map(|row| {
                let InboxItem::Text { from, message, text } = &row.item;
                InboxMessage {
                    id: row.seq.message_id(0),
                    position: row.seq.0,
                    kind: "message.text".to_owned(),
                    body: json!({ "from": from, "message": message, "text": text }),
                }
            })
            .collect()
    }
}

/// Makes a keyed write: the same request under a used key gets the recorded answer and changes
/// nothing, another one ends the work `handler_diverged` (DUR-4).
fn write(
    mut draft: Draft,
    writer: Writer,
    step: Option<&Step>,
    request: &Digest,
    make: impl FnOnce(&mut Draft) -> Result<MiniAppAnswer, Fault>,
) -> Decided {
    let steps = match &writer {
        Writer::Call(call) => Some(&call.steps),
        Writer::Action(action) => Some(&action.steps),
        Writer::Free => None,
    };
    if let (Some(steps), Some(Step(name))) = (steps, step) {
        if name.is_empty() || name.len() > 64 {
            let fault = Fault::new(ErrorCode::EnvelopeInvalid, "a step key has 1 to 64 bytes").because("bad_id");
            return Err(Rejected::of(draft.origin().clone(), fault));
        }
        if let Some(recorded) = steps.get(name.as_str()) {
            // What a UI Action wrote of session data was made at once. Running again it reads what it
            // wrote itself, and so writes and shows something else: the step has happened, and happens once.
            let stateful = recorded.is_session_write() || recorded.is_surface_update();
            let happened = matches!(writer, Writer::Action(_)) && stateful;
            if recorded.request == *request || happened {
                return Ok(draft.answered(Answer::MiniApp(recall(&recorded.answer))));
            }
            let fault = Fault::new(
                ErrorCode::HandlerDiverged,
                format!("the handler asked for something else under the step `{}`", shortened(name)),
            );
            match &writer {
                Writer::Call(call) => draft.finish(call.key(), End::Failed { error: fault.clone() }),
                Writer::Action(action) => draft.end_action(action, Some(&fault)),
                Writer::Free => {}
            }
            draft.settle();
            return Ok(draft.answered(Answer::Refused(fault)));
        }
    }
    let answer = make(&mut draft).map_err(|fault| Rejected::of(draft.origin().clone(), fault))?;
    if let Some(Step(name)) = step {
        let recorded = call::Step { request: request.clone(), answer: record(&answer) };
        match &writer {
            Writer::Call(call) => {
                // The write itself may have changed the call's record.
                if let Some(call) = draft.call(call.key()) {
                    let mut call = Call::clone(&call);
                    call.steps.insert(Arc::from(name.as_str()), recorded);
                    draft.put_call(call);
                }
            }
            Writer::Action(action) => {
                // The write itself may have ended it, with its instance.
                if let Some(action) = draft.workspace.actions.get(&action.seq).cloned() {
                    let mut action = Action::clone(&action);
                    action.steps.insert(Arc::from(name.as_str()), recorded);
                    draft.put_action(action);
                }
            }
            Writer::Free => {}
        }
    }
    Ok(draft.answered(Answer::MiniApp(answer)))
}

/// The answers that keyed writes have, as they are recorded.
fn record(answer: &MiniAppAnswer) -> Value {
    match answer {
        MiniAppAnswer::Written { revision } => json!({ "revision": revision }),
        MiniAppAnswer::Updated { revision } => json!({ "surface_revision": revision }),
        MiniAppAnswer::Sent { message } => json!({ "message": message }),
        MiniAppAnswer::Done
        | MiniAppAnswer::Session { .. }
        | MiniAppAnswer::Inbox { .. }
        | MiniAppAnswer::Call(_)
        | MiniAppAnswer::Operations(_) => json!({}),
    }
}

fn recall(recorded: &Value) -> MiniAppAnswer {
    if let Some(revision) = recorded["revision"].as_u64() {
        return MiniAppAnswer::Written { revision };
    }
    if let Some(revision) = recorded["surface_revision"].as_u64() {
        return MiniAppAnswer::Updated { revision };
    }
    let message = recorded["message"].as_str().and_then(|text| lineup_model::MessageId::new(text).ok());
    message.map_or(MiniAppAnswer::Done, |message| MiniAppAnswer::Sent { message })
}

/// Checks that a completion counts: the call runs, and the delivery is the current one.
fn current(call: &Call, generation: Option<Generation>) -> Result<Generation, Fault> {
    match &call.state {
        CallState::Running { generation: current, .. } => match generation {
            Some(given) if given != *current => Err(stale()),
            Some(_) | None => Ok(*current),
        },
        CallState::Waiting { .. } | CallState::WaitingForTurn | CallState::NeedsYou | CallState::Operating { .. } => {
            Err(Fault::new(ErrorCode::LifecycleDenied, "the call was not handed to the app").because("not_delivered"))
        }
    }
}

fn end(mut draft: Draft, call: &Call, generation: Option<Generation>, end: End) -> Decided {
    let generation = current(call, generation).map_err(|fault| Rejected::of(draft.origin().clone(), fault))?;
    match call::decide(&call.state, CallInput::Finish { generation, end }) {
        call::Transition::Final(end) => draft.finish(call.key(), end),
        call::Transition::To(_) | call::Transition::Exhausted | call::Transition::Stale => {
            return Err(Rejected::of(draft.origin().clone(), stale()));
        }
    }
    draft.settle();
    Ok(draft.answered(Answer::MiniApp(MiniAppAnswer::Done)))
}

/// Completes a call with an output that fits, and with the writes that were staged on it; an output
/// that does not fit ends it as failed, without them (CALL-6).
fn complete(mut draft: Draft, call: &Call, generation: Option<Generation>, output: &Value) -> Decided {
    let generation = current(call, generation).map_err(|fault| Rejected::of(draft.origin().clone(), fault))?;
    let compiled = draft.compiled(call);
    let invalid = if canonical::to_string(output).len() > limits::BODY_BYTES {
        Some(Fault::new(ErrorCode::ToolOutputInvalid, "the output is over its limit").because("too_large"))
    } else {
        compiled.output.check(output).err().map(|violation| {
            Fault::new(ErrorCode::ToolOutputInvalid, violation.message)
                .because("schema_violation")
                .at(violation.pointer)
        })
    };
    if let Some(error) = invalid {
        draft.finish(call.key(), End::Failed { error: error.clone() });
        draft.settle();
        return Ok(draft.answered(Answer::Refused(error)));
    }
    if let Some(staged) = &call.staged {
        let instance = call.instance.as_ref().and_then(|id| draft.instance(id));
        if let Some(instance) = instance {
            if revision(&draft, &instance) != staged.base_revision {
                let error = conflict();
                draft.finish(call.key(), End::Failed { error: error.clone() });
                draft.settle();
                return Ok(draft.answered(Answer::Refused(error)));
            }
            store(&mut draft, &instance, staged.base_revision + 1, &staged.data);
        }
    }
    end(draft, call, Some(generation), End::Completed { result: output.clone() })
}

/// Writes a MiniApp's progress, held to the Runtime's fixed schema (CALL-12).
fn report(draft: &mut Draft, call: &Call, progress: &Progress) -> Result<MiniAppAnswer, Fault> {
    current(call, None)?;
    let size = canonical::to_string(progress).len();
    if progress.label.is_empty() || progress.label.len() > 64 || size > limits::PROGRESS_BYTES {
        return Err(Fault::new(
            ErrorCode::PayloadTooLarge,
            format!("progress has a label of 1 to 64 bytes and {} bytes in all", limits::PROGRESS_BYTES),
        ));
    }
    let owned = draft.compiled(call);
    let owned = owned.descriptor.output_schema.as_value();
    let properties = owned.get("properties").and_then(Value::as_object);
    if let (Some(Value::Object(detail)), Some(properties)) = (&progress.detail, properties)
        && let Some(field) = detail.keys().find(|field| properties.contains_key(*field))
    {
        return Err(Fault::new(
            ErrorCode::ToolOutputInvalid,
            format!("progress cannot carry `{}`: the output owns it", shortened(field)),
        )
        .because("progress_owns_output_field"));
    }
    let call = draft.call(call.key()).ok_or_else(not_yours)?;
    draft.progress(Call::clone(&call), Stage::App, None, Some(progress.clone()));
    Ok(MiniAppAnswer::Done)
}

/// Writes session data: staged on the outcome inside a call's handler, at once elsewhere. The last
/// write of a handler counts, on the revision that its first one saw.
fn write_session(
    draft: &mut Draft,
    instance: &Instance,
    staging: &Staging,
    base_revision: u64,
    data: &Value,
) -> Result<MiniAppAnswer, Fault> {
    if !data.is_object() {
        return Err(Fault::new(ErrorCode::EnvelopeInvalid, "session data is a JSON object").because("bad_envelope"));
    }
    if canonical::to_string(data).len() > limits::DOCUMENT_BYTES {
        return Err(Fault::new(
            ErrorCode::PayloadTooLarge,
            format!("session data has at most {} bytes", limits::DOCUMENT_BYTES),
        ));
    }
    let stored = revision(draft, instance);
    let data = Arc::new(data.clone());
    let staged = |before: Option<&Staged>| {
        let first = before.map_or(stored, |staged| staged.base_revision);
        let seen = before.map_or(stored, |staged| staged.base_revision + 1);
        if seen == base_revision { Ok(Staged { base_revision: first, data: data.clone() }) } else { Err(conflict()) }
    };
    let revision = match staging {
        Staging::Call(key) => {
            let mut call = Call::clone(&*draft.call(key).ok_or_else(not_yours)?);
            let staged = staged(call.staged.as_ref())?;
            let revision = staged.base_revision + 1;
            call.staged = Some(staged);
            draft.put_call(call);
            revision
        }
        Staging::None => {
            staged(None)?;
            store(draft, instance, stored + 1, &data);
            stored + 1
        }
    };
    Ok(MiniAppAnswer::Written { revision })
}

fn revision(draft: &Draft, instance: &Instance) -> u64 {
    draft.workspace.documents.get(&instance.session).map_or(0, |document| document.revision)
}

fn store(draft: &mut Draft, instance: &Instance, revision: u64, data: &Arc<Value>) {
    let text = canonical::to_string(data.as_ref());
    let head = DocumentHead {
        session: instance.session.clone(),
        revision,
        bytes: text.len() as u64,
        digest: Digest::of_bytes(text.as_bytes()),
    };
    draft.put_document(Document { head, data: data.clone() });
}

fn foreground(draft: &mut Draft, instance: &Instance) -> Result<MiniAppAnswer, Fault> {
    if instance.state == InstanceState::Starting || draft.foreground_is_bound(Some(&instance.id)) {
        return Err(Fault::new(ErrorCode::LifecycleDenied, "the foreground is not free; the user can switch")
            .because("foreground_bound"));
    }
    let stack = draft.workspace.focus.raised(&instance.id);
    draft.focus(stack);
    draft.settle();
    Ok(MiniAppAnswer::Done)
}

fn background(draft: &mut Draft, instance: &Instance) -> Result<MiniAppAnswer, Fault> {
    if draft.workspace.needs_foreground(&instance.id) {
        return Err(Fault::new(ErrorCode::LifecycleDenied, "a running operation needs the foreground")
            .because("operation_running"));
    }
    let stack = draft.workspace.focus.without(&instance.id);
    draft.focus(stack);
    draft.settle();
    Ok(MiniAppAnswer::Done)
}

fn close(draft: &mut Draft, instance: &Instance) -> Result<MiniAppAnswer, Fault> {
    let workspace = &draft.workspace;
    let operating = workspace.operations_on(&instance.id).next().is_some();
    if operating || workspace.calls_on(&instance.id).next().is_some() {
        return Err(
            Fault::new(ErrorCode::LifecycleDenied, "calls or operations are open on this instance").because("busy")
        );
    }
    draft.close(&instance.id);
    draft.settle();
    Ok(MiniAppAnswer::Done)
}

fn conflict() -> Fault {
    Fault::new(ErrorCode::SessionRevisionConflict, "the session data has moved on; read it and write again")
}

fn stale() -> Fault {
    Fault::new(ErrorCode::LifecycleDenied, "this delivery does not count any more; a newer one has taken its place")
        .because("stale_delivery")
}

/// The same for a call that is another's and for one that never was (H116).
fn not_yours() -> Fault {
    Fault::new(ErrorCode::CallNotFound, "this instance has no such call")
}

/// A MiniApp's words, cut to what fits.
fn shortened(text: &str) -> String {
    let mut end = text.len().min(MESSAGE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
