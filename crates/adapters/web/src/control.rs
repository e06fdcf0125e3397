//! The owner's entry: looking, setting up, and a manual clock.

use axum::{
    extract::{State, ws::WebSocketUpgrade},
    response::Response,
};
use lineup_core::{
    policy::{Conversation, HostProfile},
    workspace::input::Setup,
};
use lineup_model::{
    ErrorCode,
    json::{Fields, JsonError},
    limits,
    message::Fault,
};
use lineup_ports::inbound::InspectQuery;
use serde_json::{Value, json};

use crate::{WebAdapter, frame, socket};

const TYPES: &[&str] = &["inspect", "conversation", "pair", "advance", "link"];

/// The most rows that one request may ask for.
const MOST_ROWS: u32 = 1_000;
/// The rows that a request gets that names no number.
const ROWS: u32 = 50;

pub(crate) async fn connect(State(web): State<WebAdapter>, upgrade: WebSocketUpgrade) -> Response {
    socket::open(upgrade, move |connection| async move {
        let web = &web;
        socket::converse(connection, TYPES, |kind, fields| answer(web, kind, fields)).await;
    })
}

/// What the owner asks.
#[derive(Debug, PartialEq)]
enum Ask {
    Inspect(InspectQuery),
    SetUp(Setup),
    Advance(u64),
    Link,
}

async fn answer(web: &WebAdapter, kind: String, fields: Fields) -> Result<Option<Value>, Fault> {
    match decode(&kind, fields).map_err(|error| frame::fault(&error))? {
        Ask::Inspect(query) => web.entries().inspect.inspect(query).await.map(Some),
        Ask::SetUp(setup) => web.entries().setup.set_up(setup).await.map(|()| None),
        Ask::Advance(millis) => {
            let Some(clock) = web.clock() else {
                let message = "this Runtime runs on the machine's clock, which nobody can advance";
                return Err(Fault::new(ErrorCode::CapabilityDenied, message).because("clock_not_manual"));
            };
            clock.advance(millis);
            Ok(Some(json!({ "advanced_ms": millis })))
        }
        Ask::Link => match web.link() {
            Ok(link) => Ok(Some(json!({ "path": link.path, "good_for_s": link.good_for.as_secs() }))),
            Err(error) => Err(Fault::new(ErrorCode::Internal, format!("no key can be made: {error}"))),
        },
    }
}

fn decode(kind: &str, mut fields: Fields) -> Result<Ask, JsonError> {
    let ask = match kind {
        "inspect" => {
            let mut query = fields.object("query")?;
            let asked = inspect(&mut query)?;
            query.finish()?;
            Ask::Inspect(asked)
        }
        "conversation" => Ask::SetUp(Setup::Conversation(Conversation {
            id: fields.id("conversation")?,
            title: fields.required("title")?,
            agents: fields.required("agents")?,
        })),
        "pair" => Ask::SetUp(Setup::Pair(HostProfile {
            paired: true,
            version: fields.required("version")?,
            features: fields.required("features")?,
        })),
        "link" => Ask::Link,
        _advance => {
            let millis: u64 = fields.required("ms")?;
            if millis > limits::DEADLINE_MS {
                return Err(fields.wrong("ms", "at most 24 h at once"));
            }
            Ask::Advance(millis)
        }
    };
    fields.finish()?;
    Ok(ask)
}

fn inspect(query: &mut Fields) -> Result<InspectQuery, JsonError> {
    let what: String = query.required("inspect")?;
    Ok(match what.as_str() {
        "calls" => InspectQuery::Calls { limit: rows(query)? },
        "call" => InspectQuery::Call { id: call_id(query)? },
        "operations" => InspectQuery::Operations,
        "instances" => InspectQuery::Instances,
        "focus" => InspectQuery::Focus,
        "outbox" => InspectQuery::Outbox,
        "audit" => InspectQuery::Audit { limit: rows(query)? },
        "sessions" => InspectQuery::Sessions { conversation: query.id("conversation")?, limit: rows(query)? },
        "inventories" => InspectQuery::Inventories,
        "status" => InspectQuery::Status,
        _ => {
            return Err(query.wrong(
                "inspect",
                "one of calls, call, operations, instances, focus, outbox, audit, sessions, inventories, status",
            ));
        }
    })
}

/// A call's key or the agent's id of it: both are opaque ids.
fn call_id(query: &mut Fields) -> Result<String, JsonError> {
    query.id::<lineup_model::CallId>("id").map(|id| id.as_str().to_owned())
}

fn rows(query: &mut Fields) -> Result<u32, JsonError> {
    let limit = query.optional("limit")?.unwrap_or(ROWS);
    if (1..=MOST_ROWS).contains(&limit) { Ok(limit) } else { Err(query.wrong("limit", "1 to 1000")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(kind: &str, fields: Value) -> Result<Ask, String> {
        let Value::Object(fields) = fields else { panic!("an object") };
        decode(kind, Fields::of(fields)).map_err(|error| format!("{}: {error}", error.reason))
    }

    #[test]
    fn every_query_is_read_and_its_rows_are_bounded() {
        let calls = decoded("inspect", json!({ "query": { "inspect": "calls" } }));
        assert_eq!(calls, Ok(Ask::Inspect(InspectQuery::Calls { limit: 50 })));
        for (query, words) in [
            (json!({ "inspect": "calls", "limit": 0 }), "1 to 1000"),
            (json!({ "inspect": "audit", "limit": 1001 }), "1 to 1000"),
            (json!({ "inspect": "call" }), "`id` is missing"),
            (json!({ "inspect": "call", "id": "../x" }), "bad_id"),
            (json!({ "inspect": "focus", "limit": 3 }), "unknown_field"),
            (json!({ "inspect": "secrets" }), "one of calls"),
        ] {
            let error = decoded("inspect", json!({ "query": query })).unwrap_err();
            assert!(error.contains(words), "{query}: {error}");
        }
    }

    #[test]
    fn an_inspect_query_reads_back_as_it_is_written() {
        for query in [
            InspectQuery::Calls { limit: 3 },
            InspectQuery::Call { id: "k1".to_owned() },
            InspectQuery::Operations,
            InspectQuery::Instances,
            InspectQuery::Focus,
            InspectQuery::Outbox,
            InspectQuery::Audit { limit: 3 },
            InspectQuery::Sessions { conversation: "main".parse().unwrap(), limit: 3 },
            InspectQuery::Inventories,
            InspectQuery::Status,
        ] {
            assert_eq!(decoded("inspect", json!({ "query": query })), Ok(Ask::Inspect(query)));
        }
    }

    #[test]
    fn h61_a_step_of_the_clock_is_a_whole_number_of_at_most_a_day() {
        assert_eq!(decoded("advance", json!({ "ms": 86_400_000 })), Ok(Ask::Advance(86_400_000)));
        for ms in [json!(86_400_001), json!(-1), json!(1.5), json!("1"), Value::Null] {
            assert!(decoded("advance", json!({ "ms": ms })).is_err(), "{ms}");
        }
    }
}
