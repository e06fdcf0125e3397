//! What people read of their conversations: rows of the journal, with what became of them.

use async_trait::async_trait;
use lineup_core::{
    Seq,
    call::CallFacts,
    journal::{Body, Happened},
    operation::OperationEnd,
    session::AppSession,
    workspace::change_set::EntryKey,
};
use lineup_model::{
    AppScope, AppSessionId, CallKey, ConversationId, ErrorCode, IdError, Manifest, Method,
    message::{AgentBody, AgentMessage, End, Fault, OutcomeClass, Stage},
};
use lineup_ports::{
    inbound::{
        ActionState, AgentView, AppView, CallEnd, ConversationView, Conversations, Item, Range, Running, ToolView, What,
    },
    outbound::{AuditQuery, AuditRow},
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    actor::Glance,
    handle::Runtime,
    inspect::{audit, unreadable},
};

#[async_trait]
impl Conversations for Runtime {
    async fn conversations(&self) -> Result<Vec<ConversationView>, Fault> {
        let durable = self.look().await?.workspace;
        let views = durable.conversations().map(|conversation| {
            let agents = conversation.agents.iter().map(|agent| {
                let inventory = durable.inventory(agent, &conversation.id);
                let tools = inventory.iter().flat_map(|inventory| &inventory.tools);
                AgentView {
                    agent: agent.clone(),
                    tools: tools
                        .map(|tool| ToolView { tool: tool.id.clone(), description: tool.description.clone() })
                        .collect(),
                }
            });
            ConversationView {
                conversation: conversation.id.clone(),
                title: conversation.title.clone(),
                agents: agents.collect(),
            }
        });
        Ok(views.collect())
    }

    async fn apps(&self) -> Result<Vec<AppView>, Fault> {
        let durable = self.look().await?.workspace;
        let views = durable.apps().map(|app| AppView {
            app_scope: app.manifest.app_scope.clone(),
            title: title(&app.manifest),
            enabled: !durable.policy().disabled_apps.contains(&app.manifest.app_scope),
        });
        Ok(views.collect())
    }

    async fn items(&self, conversation: &ConversationId, range: Range, limit: u32) -> Result<Vec<Item>, Fault> {
        // First what is live, then what is stored: a call that ends in between is found ended.
        let glance = self.look().await?;
        let query = AuditQuery::Conversation { conversation: conversation.clone(), range, limit };
        let rows = audit(self, query).await?;
        rows.into_iter().map(|row| item(row, &glance)).collect()
    }

    async fn sessions(&self, conversation: &ConversationId, limit: u32) -> Result<Vec<AppSession>, Fault> {
        self.store()?.sessions(&self.workspace, conversation, limit).await.map_err(unreadable)
    }

    async fn changed(&self, after: Seq) -> Option<Seq> {
        let mut durable = self.durable.clone();
        durable.wait_for(|place| *place > after).await.ok().map(|place| *place)
    }
}

/// A manifest has no title of its own: its first Surface's is what people see above it.
fn title(manifest: &Manifest) -> String {
    manifest.surfaces.first().map_or_else(|| manifest.app_scope.to_string(), |surface| surface.title.clone())
}

fn item(row: AuditRow, glance: &Glance) -> Result<Item, Fault> {
    let (place, at) = (row.seq, row.wall);
    Ok(Item { place, at, what: what(row, glance).map_err(|error| wrong(place, &error))?.unwrap_or(What::Other) })
}

/// What a row says; `None` if this version has no words for it.
fn what(row: AuditRow, glance: &Glance) -> serde_json::Result<Option<What>> {
    let AuditRow { happened, subject, body, ended, .. } = row;
    let Ok(happened) = serde_json::from_value::<Happened>(Value::String(happened)) else { return Ok(None) };
    Ok(match happened {
        Happened::CallAccepted => {
            let Body { call, messages, .. } = serde_json::from_value(body)?;
            let Some(facts) = call else { return Ok(None) };
            Some(call_item(&facts, messages.first().map(|first| &*first.message), ended, glance)?)
        }
        Happened::ActionAccepted => {
            let Acted { entry: EntryKey::Action { action, .. }, app_scope, method, input } = detail(body)? else {
                return Ok(None);
            };
            let state = match ended.map(|ended| ended.code) {
                None => ActionState::Open,
                Some(None) => ActionState::Done,
                Some(Some(code)) => ActionState::Failed(code.parse().unwrap_or(ErrorCode::Internal)),
            };
            Some(What::Action { action, app_scope, method, input, state })
        }
        Happened::InboxReceived => match detail(body)? {
            Said { entry: EntryKey::Text { agent, .. }, text } => Some(What::AgentText { agent, text }),
            Said { .. } => None,
        },
        Happened::InstanceOpened => {
            let Moved { app_scope, session } = detail(body)?;
            Some(What::Opened { instance: id(subject)?, app_scope, session })
        }
        Happened::InstanceClosed => {
            let Moved { app_scope, session } = detail(body)?;
            Some(What::Closed { instance: id(subject)?, app_scope, session })
        }
        Happened::OperationEnded => {
            let Over { call, app_scope, ended } = detail(body)?;
            Some(What::Ended { operation: id(subject)?, call, app_scope, end: ended })
        }
        Happened::CallDelivered
        | Happened::CallProgressed
        | Happened::CallEnded
        | Happened::ActionDelivered
        | Happened::ActionEnded
        | Happened::InstanceMoved
        | Happened::ActivationStarted
        | Happened::ActivationEnded
        | Happened::OperationStarted
        | Happened::FocusMoved
        | Happened::IntentDone
        | Happened::SessionDataWritten
        | Happened::SurfaceUpdated
        | Happened::InboxAcknowledged
        | Happened::InboxParked
        | Happened::TextSent
        | Happened::InventoryPublished
        | Happened::AppsRegistered
        | Happened::ConversationChanged
        | Happened::HostPaired
        | Happened::PolicyChanged
        | Happened::MessageDead
        | Happened::Recovered => None,
    })
}

/// `first`: the receipt in the row of the acceptance, if there is one.
fn call_item(
    facts: &CallFacts,
    first: Option<&AgentMessage>,
    ended: Option<Box<AuditRow>>,
    glance: &Glance,
) -> serde_json::Result<What> {
    let end = ended.map(|ended| call_end(*ended)).transpose()?;
    let (mut last, mut running) = (None, None);
    if end.is_none() {
        let durable = &glance.workspace;
        // One that was accepted after the glance has had its first receipt and no more.
        last = durable.call(&facts.key).map_or(first, |call| call.latest.as_deref());
        running = durable.operation_of(&facts.key).and_then(|operation| {
            let deadline = operation.deadline?;
            Some(Running {
                length_ms: deadline.since(operation.started.effective),
                remaining_ms: deadline.since(glance.effective),
            })
        });
    }
    Ok(What::Call {
        call: facts.key.clone(),
        call_id: facts.address.call_id.clone(),
        agent: facts.address.agent.clone(),
        tool: facts.tool.clone(),
        input: facts.input.as_ref().clone(),
        stage: last.and_then(stage),
        running,
        end,
    })
}

fn stage(message: &AgentMessage) -> Option<Stage> {
    match &message.body {
        AgentBody::Receipt(receipt) => Some(receipt.stage),
        AgentBody::Outcome(_) | AgentBody::Inventory { .. } | AgentBody::Text { .. } => None,
    }
}

/// How the call ended, from the row that ended it.
fn call_end(mut row: AuditRow) -> serde_json::Result<CallEnd> {
    let retired: Option<OutcomeClass> = serde_json::from_value(take(&mut row.body, "class"))?;
    let Body { messages, .. } = serde_json::from_value(row.body)?;
    let outcome = messages.into_iter().find_map(|addressed| match &addressed.message.body {
        AgentBody::Outcome(outcome) => Some(outcome.end.clone()),
        AgentBody::Receipt(_) | AgentBody::Inventory { .. } | AgentBody::Text { .. } => None,
    });
    let (class, result, error) = match outcome {
        Some(end) => {
            let class = end.class();
            match end {
                End::Completed { result } => (class, Some(result), None),
                End::Failed { error } | End::Cancelled { error } | End::Expired { error } | End::Rejected { error } => {
                    (class, None, Some(error))
                }
            }
        }
        // Retention keeps how a call ended, and not what it carried (CALL-13).
        None => {
            let class = retired.ok_or_else(|| serde::de::Error::custom("it holds no outcome"))?;
            (class, None, None)
        }
    };
    Ok(CallEnd { at: row.wall, class, result, error })
}

#[derive(Deserialize)]
struct Acted {
    entry: EntryKey,
    app_scope: AppScope,
    method: Method,
    input: Value,
}

#[derive(Deserialize)]
struct Said {
    entry: EntryKey,
    text: String,
}

#[derive(Deserialize)]
struct Moved {
    app_scope: AppScope,
    session: AppSessionId,
}

#[derive(Deserialize)]
struct Over {
    call: CallKey,
    app_scope: AppScope,
    ended: OperationEnd,
}

fn detail<T: for<'a> Deserialize<'a>>(mut body: Value) -> serde_json::Result<T> {
    serde_json::from_value(take(&mut body, "detail"))
}

fn take(body: &mut Value, field: &str) -> Value {
    body.get_mut(field).map(Value::take).unwrap_or_default()
}

fn id<T: std::str::FromStr<Err = IdError>>(subject: String) -> serde_json::Result<T> {
    subject.parse().map_err(serde::de::Error::custom)
}

fn wrong(place: Seq, error: &serde_json::Error) -> Fault {
    Fault::new(
        ErrorCode::StorageCorrupt,
        format!("journal row {place} cannot be read: {error}; restore the database from a backup"),
    )
}

#[cfg(test)]
mod tests {
    use lineup_core::Workspace;
    use lineup_model::Effective;
    use lineup_testkit::{
        manifests,
        store::samples::{accept, finish},
    };
    use serde_json::json;

    use super::*;

    /// A glance at a workspace in which nothing is live.
    fn glance() -> Glance {
        Glance {
            workspace: Workspace::new(manifests::id("w")),
            counters: crate::EngineCounters::default(),
            backlog: 0,
            standing: crate::Standing::Serving,
            effective: Effective(0),
        }
    }

    fn row(happened: &str, body: Value) -> AuditRow {
        AuditRow {
            seq: Seq(1),
            source: "agent_tool".into(),
            actor: "ada".into(),
            happened: happened.into(),
            subject: "c1".into(),
            call: None,
            code: None,
            wall: 7,
            effective: 0,
            body,
            ended: None,
        }
    }

    fn accepted() -> AuditRow {
        row("call_accepted", json!(accept(Seq(1), "k1").journal[0].body))
    }

    #[test]
    fn a_row_that_this_version_has_no_words_for_is_still_an_item_at_its_place() {
        let text = json!({ "detail": { "entry": { "entry": "intent", "intent": "n1" }, "text": "Hello." } });
        for strange in [row("dreamt", json!({})), row("recovered", json!({})), row("inbox_received", text)] {
            let item = item(strange.clone(), &glance());
            assert_eq!(item, Ok(Item { place: Seq(1), at: 7, what: What::Other }), "{strange:?}");
        }
    }

    #[test]
    fn a_row_that_cannot_be_read_is_told_with_its_place() {
        for body in [json!({}), json!({ "detail": {} }), json!({ "detail": { "app_scope": "A", "session": "s1" } })] {
            let fault = item(row("instance_opened", body.clone()), &glance()).unwrap_err();
            assert_eq!(fault.code, ErrorCode::StorageCorrupt, "{body}");
            assert!(fault.message.starts_with("journal row 1 cannot be read"), "{fault:?}");
        }
        let no_outcome = AuditRow { ended: Some(Box::new(row("call_ended", json!({})))), ..accepted() };
        assert_eq!(item(no_outcome, &glance()).unwrap_err().code, ErrorCode::StorageCorrupt);
    }

    #[test]
    fn a_call_that_was_accepted_after_the_glance_stands_where_its_first_receipt_says() {
        let What::Call { stage, running, end, .. } = item(accepted(), &glance()).unwrap().what else {
            panic!("it is a call")
        };
        assert_eq!((stage, running, end), (Some(Stage::Accepted), None, None));
    }

    #[test]
    fn call_13_a_call_whose_outcome_is_no_longer_kept_still_says_how_it_ended() {
        let ended = |body| {
            let found =
                AuditRow { ended: Some(Box::new(AuditRow { wall: 9, ..row("call_ended", body) })), ..accepted() };
            match item(found, &glance()).unwrap().what {
                What::Call { stage: None, running: None, end: Some(end), .. } => end,
                other => panic!("it is a call that has ended: {other:?}"),
            }
        };
        let kept = ended(json!(finish(Seq(2), Seq(1), Seq(1), "k1").journal[0].body));
        let retired = ended(json!({ "class": "completed" }));
        assert!(kept.result.is_some());
        assert_eq!(retired, CallEnd { at: 9, class: OutcomeClass::Completed, result: None, error: None });
        assert_eq!(CallEnd { result: None, ..kept }, retired);
    }
}
