//! Plays the user, in the trusted view of Interact. What the user says is a UI Action, never an
//! Agent Tool (ENT-5).

use std::process::ExitCode;

use lineup_adapters::relay::Role;
use serde_json::json;

use crate::{args::UserCommand, data::DataDir, entry::Entry, failure::Failure, print::Printer};

pub async fn run(data: &DataDir, command: UserCommand, printer: &Printer) -> Result<ExitCode, Failure> {
    let UserCommand::Say { text, conversation, action_id } = command;
    let mut entry = Entry::open(data, &Role::User).await?;
    let action_id = action_id.unwrap_or_else(|| ulid::Ulid::generate().to_string());
    let act = json!({
        "type": "act", "session": "cli", "conversation": conversation, "action_id": action_id,
        // The action's id names the echo, too: said again, the text is shown once.
        "method": "send-text", "input": { "text": text, "echo_id": action_id },
    });
    entry.ask(act).await?;
    printer.say(&json!({ "kind": "said", "action_id": action_id }), || "said".to_owned());
    Ok(ExitCode::SUCCESS)
}
