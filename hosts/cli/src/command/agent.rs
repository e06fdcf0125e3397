//! Plays a remote agent, by the agent client and the relay: it sees only what an agent may see (AGT-1).

use std::{process::ExitCode, time::Duration};

use lineup_adapters::relay::{PATH, Role};
use lineup_agent::{Agent, Call, CallOptions, Connection, Event, Message};
use lineup_model::{
    AgentId, ConversationId, Revision,
    id::IdError,
    json, limits,
    message::{End, Receipt},
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};

use crate::{
    args::{AgentCommand, As},
    data::DataDir,
    failure::{ENDED_OTHERWISE, Failure},
    print::{Printer, plain},
};

/// How long the relay may take to let an agent in.
const PATIENCE: Duration = Duration::from_secs(10);

pub async fn run(data: &DataDir, command: AgentCommand, printer: &Printer) -> Result<ExitCode, Failure> {
    match command {
        AgentCommand::Tools { who } => tools(data, &who, printer).await,
        AgentCommand::Call { tool, input, call_id, revision, who } => {
            let input = json::decode(input.as_bytes(), limits::ENVELOPE_BYTES).map_err(|error| {
                Failure::Usage(format!(
                    "the input is not JSON that LineUp takes: {error}; write it in single quotes, such as '{{\"minutes\": 20}}'"
                ))
            })?;
            let options = CallOptions {
                call_id: call_id.map(|id| id.parse().map_err(usage)).transpose()?,
                revision: revision.as_deref().map(revision_of).transpose()?,
                expires_at: None,
            };
            let (agent, conversation) = join(data, &who).await?;
            let call = agent.invoke_with(&conversation, &tool, input, options).await?;
            follow(&agent, call, printer).await
        }
        AgentCommand::Status { call_id, who } => {
            let (agent, conversation) = join(data, &who).await?;
            let call = agent.status(&conversation, &call_id.parse().map_err(usage)?).await?;
            follow(&agent, call, printer).await
        }
        AgentCommand::Cancel { call_id, who } => {
            let (agent, conversation) = join(data, &who).await?;
            agent.cancel(&conversation, &call_id.parse().map_err(usage)?).await?;
            printer.say(&json!({ "kind": "over", "call_id": call_id }), || format!("call {call_id} is over"));
            Ok(ExitCode::SUCCESS)
        }
        AgentCommand::Say { text, who } => {
            let (agent, conversation) = join(data, &who).await?;
            agent.send_text(&conversation, text).await?;
            printer.say(&json!({ "kind": "said" }), || "said".to_owned());
            Ok(ExitCode::SUCCESS)
        }
        AgentCommand::Watch { who } => watch(data, &who, printer).await,
    }
}

async fn tools(data: &DataDir, who: &As, printer: &Printer) -> Result<ExitCode, Failure> {
    let (agent, conversation) = join(data, who).await?;
    let inventory = agent.hello(&conversation).await?;
    if printer.is_json() {
        printer.say(&as_line("inventory", &*inventory), String::new);
        return Ok(ExitCode::SUCCESS);
    }
    let seen = serde_json::to_value(&*inventory).unwrap_or_default();
    printer.words(&printer.faint(&format!("revision {}", plain(&seen["revision"]))));
    for tool in seen["tools"].as_array().into_iter().flatten() {
        printer.words(&format!("{}  {}", printer.strong(&plain(&tool["id"])), plain(&tool["description"])));
        printer.words(&printer.faint(&format!("  input {}", tool["input_schema"])));
    }
    Ok(ExitCode::SUCCESS)
}

async fn watch(data: &DataDir, who: &As, printer: &Printer) -> Result<ExitCode, Failure> {
    let (agent, conversation) = join(data, who).await?;
    let mut incoming = agent.incoming();
    agent.hello(&conversation).await?;
    printer.say(&json!({ "kind": "watching" }), || printer.faint("watching; Ctrl-C ends it"));
    loop {
        let message = tokio::select! {
            message = incoming.next() => message,
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        };
        match message {
            None => return Err(Failure::Unreachable("the connection has ended".to_owned())),
            Some(Message::Text { conversation, id, text }) => printer.say(
                &json!({ "kind": "text", "conversation": conversation, "id": id, "text": text }),
                || format!("{} {text}", printer.strong(&format!("{conversation}:"))),
            ),
            Some(Message::Inventory { conversation, sequence, inventory }) => printer.say(
                &json!({ "kind": "inventory", "conversation": conversation, "sequence": sequence, "inventory": &*inventory }),
                || printer.faint(&format!("{conversation}: inventory {sequence}, {}", inventory.revision)),
            ),
            Some(Message::Refused { conversation, refusal }) => printer.say(
                &refused(&refusal),
                || format!("{conversation}: refused ({}): {}", refusal.error.code, refusal.error.message),
            ),
            // What happens to calls is printed by the command that follows them.
            Some(Message::Call { .. }) => {}
            Some(other) => printer.words(&format!("{other:?}")),
        }
    }
}

/// Prints what happens to a call until it is over.
async fn follow(agent: &Agent, mut call: Call, printer: &Printer) -> Result<ExitCode, Failure> {
    let mut connection = agent.connection();
    loop {
        let event = tokio::select! {
            event = call.next() => event,
            Ok(()) = connection.changed() => {
                tell_connection(&connection.borrow_and_update());
                continue;
            }
        };
        let Some(event) = event else { break };
        match event {
            Event::Receipt(receipt) => printer.say(&as_line("receipt", &receipt), || words_of(&receipt, printer)),
            Event::Outcome(outcome) => {
                printer.say(&as_line("outcome", &outcome), || match &outcome.end {
                    End::Completed { result } => format!("{} {result}", printer.strong("completed")),
                    End::Failed { error }
                    | End::Cancelled { error }
                    | End::Expired { error }
                    | End::Rejected { error } => {
                        let class = printer.strong(outcome.end.class().as_str());
                        let reason = error.reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default();
                        format!("{class} ({}{reason}): {}", error.code, error.message)
                    }
                });
                let completed = matches!(outcome.end, End::Completed { .. });
                return Ok(if completed { ExitCode::SUCCESS } else { ExitCode::from(ENDED_OTHERWISE) });
            }
            Event::Refused(refusal) => {
                let failure = Failure::from(refusal.clone());
                let code = failure.exit_code();
                if printer.is_json() {
                    printer.say(&refused(&refusal), String::new);
                } else {
                    printer.failure(&failure);
                }
                return Ok(code);
            }
        }
    }
    Err(Failure::Unreachable("the connection has ended; the call goes on, ask with `lineup agent status`".to_owned()))
}

/// Says on standard error that the call goes on without a connection.
fn tell_connection(connection: &Connection) {
    match connection {
        Connection::Up => eprintln!("lineup: connected again"),
        Connection::Down => eprintln!(
            "lineup: the connection is lost; the call goes on, and this waits for it (Ctrl-C ends the waiting)"
        ),
        // The call's own end says it.
        Connection::Ended(_) => {}
    }
}

fn words_of(receipt: &Receipt, printer: &Printer) -> String {
    let line = as_line("receipt", receipt);
    let mut words = plain(&line["stage"]);
    for detail in [&line["reason"], &line["progress"]["label"]] {
        if let Some(detail) = detail.as_str() {
            words.push_str(&format!(" ({detail})"));
        }
    }
    format!("{words}  {}", printer.faint(&format!("#{} call {}", receipt.seq, receipt.call_id)))
}

/// A fact as one line, with its kind first.
fn as_line(kind: &str, fact: &impl Serialize) -> Value {
    let mut line = json!({ "kind": kind });
    if let (Some(line), Ok(Value::Object(fields))) = (line.as_object_mut(), serde_json::to_value(fact)) {
        line.extend(fields);
    }
    line
}

fn refused(refusal: &lineup_model::message::Refusal) -> Value {
    let mut line = as_line("refused", &refusal.error);
    if let Some(call) = &refusal.call_id {
        line["call_id"] = json!(call);
    }
    if let Some(revision) = &refusal.current_revision {
        line["current_revision"] = json!(revision);
    }
    line
}

/// Connects as an agent. The agent client waits for a relay for ever; a person does not.
async fn join(data: &DataDir, who: &As) -> Result<(Agent, ConversationId), Failure> {
    let agent = AgentId::new(&who.agent).map_err(usage)?;
    let conversation = ConversationId::new(&who.conversation).map_err(usage)?;
    let running = data.running()?;
    let token = data.token(&Role::Agent(agent))?;
    TcpStream::connect(&running.listen).await.map_err(|_| data.nobody_there())?;
    let url = format!("ws://{}{PATH}", running.listen);
    match timeout(PATIENCE, Agent::connect(url, token.as_str())).await {
        Ok(agent) => Ok((agent?, conversation)),
        Err(_late) => Err(Failure::Unreachable(format!("the relay at {} does not answer", running.listen))),
    }
}

fn revision_of(text: &str) -> Result<Revision, Failure> {
    serde_json::from_value(json!(text)).map_err(|_| Failure::Usage(format!("`{text}` is not an inventory revision")))
}

fn usage(error: IdError) -> Failure {
    Failure::Usage(error.to_string())
}
