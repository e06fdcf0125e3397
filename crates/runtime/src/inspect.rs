//! Looking into a running workspace: reads of what is durable, for people and machines.

use lineup_core::Seq;
use lineup_model::{CallKey, ErrorCode, message::Fault};
use lineup_ports::{
    inbound::InspectQuery,
    outbound::{AuditQuery, AuditRow, StoreError, StoreErrorKind},
};
use serde_json::{Value, json};

use crate::handle::Runtime;

pub(crate) async fn answer(runtime: &Runtime, query: InspectQuery) -> Result<Value, Fault> {
    let glance = runtime.look().await?;
    let durable = &glance.workspace;
    let now = glance.effective;
    Ok(match query {
        InspectQuery::Calls { limit } => {
            let accepted = audit(runtime, AuditQuery::Calls { limit }).await?;
            let mut rows = Vec::new();
            for row in accepted {
                let Some(seq) = row.call.as_ref().and_then(Seq::of_call) else { continue };
                rows.push(match row.call.as_ref().and_then(|key| durable.call(key)) {
                    Some(call) => json!({
                        "call": row.call, "call_id": call.facts.address.call_id, "tool": call.facts.tool,
                        "agent": call.facts.address.agent, "conversation": call.facts.address.conversation,
                        "status": call.status(), "state": call.state, "attempts": call.attempts,
                        "receipts": call.receipts, "accepted": row.wall,
                    }),
                    None => {
                        let facts = &row.body["call"];
                        let story = audit(runtime, AuditQuery::Story { call: seq }).await?;
                        let ended = story.iter().find(|row| row.happened == "call_ended");
                        json!({
                            "call": row.call, "call_id": facts["address"]["call_id"], "tool": facts["tool"],
                            "agent": facts["address"]["agent"], "conversation": facts["address"]["conversation"],
                            "status": ended.and_then(outcome_status).unwrap_or(Value::Null),
                            "accepted": row.wall, "ended": ended.map(|row| row.wall),
                        })
                    }
                });
            }
            json!({ "rows": rows })
        }
        InspectQuery::Call { id } => {
            let seq = find_call(runtime, &id).await?;
            let story = audit(runtime, AuditQuery::Story { call: seq }).await?;
            if story.is_empty() {
                return Err(Fault::new(ErrorCode::CallNotFound, format!("there is no call `{id}`")));
            }
            json!({ "call": seq.call_key(), "open": durable.call(&seq.call_key()).map(|call| json!({
                "status": call.status(), "state": call.state, "attempts": call.attempts, "instance": call.instance,
            })), "rows": story })
        }
        InspectQuery::Operations => {
            let rows: Vec<Value> = durable
                .operations()
                .map(|operation| {
                    json!({
                        "operation": operation.id, "call": operation.call, "app_scope": operation.app_scope,
                        "conversation": operation.conversation, "instance": operation.instance,
                        "started": operation.started.wall,
                        "length_ms": operation.deadline.map(|at| at.since(operation.started.effective)),
                        "remaining_ms": operation.deadline.map(|at| at.since(now)),
                    })
                })
                .collect();
            json!({ "rows": rows })
        }
        InspectQuery::Instances => {
            let rows: Vec<Value> = durable
                .instances()
                .map(|instance| {
                    let activation = durable.activations().find(|activation| activation.instance == instance.id);
                    let process = durable.app_process(&instance.id);
                    json!({
                        "instance": instance.id, "app_scope": instance.app_scope,
                        "conversation": instance.conversation, "session": instance.session, "state": instance.state,
                        "activation": activation, "app_ready": process.ready, "surface_ready": process.surface_ready,
                    })
                })
                .collect();
            json!({ "rows": rows })
        }
        InspectQuery::Focus => json!({ "rows": durable.focus().entries(), "foreground": durable.focus().top() }),
        InspectQuery::Outbox => {
            let rows: Vec<Value> = durable
                .outbox()
                .map(|row| {
                    json!({ "place": row.key, "recipient": row.recipient, "message": row.message.id,
                        "conversation": row.message.conversation, "body": row.message.body })
                })
                .collect();
            json!({ "rows": rows })
        }
        InspectQuery::Audit { limit } => {
            let rows = audit(runtime, AuditQuery::Latest { limit }).await?;
            let refusals = audit(runtime, AuditQuery::Refusals { limit }).await?;
            json!({ "rows": rows, "refusals": refusals })
        }
        InspectQuery::Sessions { conversation, limit } => {
            let sessions =
                runtime.store()?.sessions(&runtime.workspace, &conversation, limit).await.map_err(unreadable)?;
            json!({ "rows": sessions })
        }
        InspectQuery::Inventories => {
            let rows: Vec<Value> = durable
                .conversations()
                .flat_map(|conversation| {
                    conversation.agents.iter().map(|agent| {
                        json!({ "conversation": conversation.id, "agent": agent,
                            "inventory": durable.inventory(agent, &conversation.id) })
                    })
                })
                .collect();
            json!({ "rows": rows })
        }
        InspectQuery::Status => {
            let hosts: Vec<Value> =
                durable.hosts().map(|(session, host)| json!({ "session": session, "visible": host.visible })).collect();
            json!({
                "workspace": durable.id(), "hosts": hosts, "open_calls": durable.calls().count(),
                "outbox": durable.outbox().count(), "inbox": durable.inbox().count(),
                "actions": durable.actions().count(),
                "backlog": glance.backlog, "store": format!("{:?}", glance.standing).to_lowercase(),
                "decided": glance.counters.decided, "rejected": glance.counters.rejected,
                "batches": glance.counters.batches, "effective_ms": now,
            })
        }
    })
}

/// A call by the Runtime's key, or by the agent's id of it (the newest one).
async fn find_call(runtime: &Runtime, id: &str) -> Result<Seq, Fault> {
    let by_key = CallKey::new(id).ok().as_ref().and_then(Seq::of_call);
    if let Some(seq) = by_key
        && !audit(runtime, AuditQuery::Story { call: seq }).await?.is_empty()
    {
        return Ok(seq);
    }
    let accepted = audit(runtime, AuditQuery::Calls { limit: 10_000 }).await?;
    accepted
        .iter()
        .find(|row| row.body["call"]["address"]["call_id"] == id)
        .and_then(|row| row.call.as_ref())
        .and_then(Seq::of_call)
        .ok_or_else(|| Fault::new(ErrorCode::CallNotFound, format!("there is no call `{id}`")))
}

fn outcome_status(ended: &AuditRow) -> Option<Value> {
    let messages = ended.body["messages"].as_array()?;
    messages.iter().map(|sent| &sent["message"]["body"]["status"]).find(|status| status.is_string()).cloned()
}

pub(crate) async fn audit(runtime: &Runtime, query: AuditQuery) -> Result<Vec<AuditRow>, Fault> {
    runtime.store()?.audit(&runtime.workspace, query).await.map_err(unreadable)
}

pub(crate) fn unreadable(error: StoreError) -> Fault {
    let code = match error.kind {
        StoreErrorKind::Corrupt => ErrorCode::StorageCorrupt,
        _ => ErrorCode::StorageUnavailable,
    };
    Fault::new(code, error.to_string())
}
