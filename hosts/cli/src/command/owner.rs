//! What the owner of the workspace asks: looking, setting up, moving a manual clock.

use std::process::ExitCode;

use lineup_adapters::relay::{Credentials, PATH, Role};
use lineup_model::AgentId;
use serde_json::{Value, json};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{client::IntoClientRequest as _, http::HeaderValue},
};

use crate::{
    args::{ClockCommand, InspectCommand, SetupCommand},
    data::DataDir,
    entry::Entry,
    failure::Failure,
    print::Printer,
};

pub async fn clock(data: &DataDir, command: ClockCommand, printer: &Printer) -> Result<ExitCode, Failure> {
    let ClockCommand::Advance { length } = command;
    Entry::open(data, &Role::Owner).await?.ask(json!({ "type": "advance", "ms": length })).await?;
    printer.say(&json!({ "kind": "advanced", "ms": length }), || format!("{length} ms have passed"));
    Ok(ExitCode::SUCCESS)
}

pub async fn inspect(data: &DataDir, command: InspectCommand, printer: &Printer) -> Result<ExitCode, Failure> {
    let query = match command {
        InspectCommand::Calls { limit } => json!({ "inspect": "calls", "limit": limit }),
        InspectCommand::Call { id } => json!({ "inspect": "call", "id": id }),
        InspectCommand::Operations => json!({ "inspect": "operations" }),
        InspectCommand::Instances => json!({ "inspect": "instances" }),
        InspectCommand::Focus => json!({ "inspect": "focus" }),
        InspectCommand::Outbox => json!({ "inspect": "outbox" }),
        InspectCommand::Audit { limit } => json!({ "inspect": "audit", "limit": limit }),
        InspectCommand::Sessions { conversation, limit } => {
            json!({ "inspect": "sessions", "conversation": conversation, "limit": limit })
        }
        InspectCommand::Inventories => json!({ "inspect": "inventories" }),
        InspectCommand::Status => json!({ "inspect": "status" }),
    };
    printer.table(&look(data, query).await?);
    Ok(ExitCode::SUCCESS)
}

/// Asks the owner's entry to look.
pub async fn look(data: &DataDir, query: Value) -> Result<Value, Failure> {
    Entry::open(data, &Role::Owner).await?.ask(json!({ "type": "inspect", "query": query })).await
}

pub async fn setup(data: &DataDir, command: SetupCommand, printer: &Printer) -> Result<ExitCode, Failure> {
    let frame = match command {
        SetupCommand::Conversation { id, title, agents } => {
            json!({ "type": "conversation", "conversation": id, "title": title, "agents": agents })
        }
        SetupCommand::Pair { version, features } => json!({ "type": "pair", "version": version, "features": features }),
        SetupCommand::Agent { agent } => return enrol(data, &agent, printer).await,
    };
    Entry::open(data, &Role::Owner).await?.ask(frame).await?;
    printer.say(&json!({ "kind": "set_up" }), || "done".to_owned());
    Ok(ExitCode::SUCCESS)
}

/// Gives an agent a credential. Whoever can write the file is the owner.
async fn enrol(data: &DataDir, agent: &str, printer: &Printer) -> Result<ExitCode, Failure> {
    let agent = AgentId::new(agent).map_err(|error| Failure::Usage(error.to_string()))?;
    data.create()?;
    let token = Credentials::load_or_create(data.path())?.enrol(&agent)?;
    // A running relay reads the file when somebody comes in; so it knows the agent before anything
    // is sent to it.
    if let Ok(running) = data.running()
        && let Ok(mut request) = format!("ws://{}{PATH}", running.listen).into_client_request()
        && let Ok(bearer) = HeaderValue::from_str(&format!("Bearer {}", token.as_str()))
    {
        request.headers_mut().insert("authorization", bearer);
        drop(connect_async(request).await);
    }
    printer.say(&json!({ "kind": "set_up", "agent": agent }), || {
        format!(
            "agent {agent} has a credential; put it into a conversation beside those who are in it, such as \
             `lineup setup conversation main --agent demo --agent {agent}`"
        )
    });
    Ok(ExitCode::SUCCESS)
}
