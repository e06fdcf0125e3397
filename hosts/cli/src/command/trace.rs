//! The whole story of one call, as the journal has it.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::{
    command::owner,
    data::DataDir,
    failure::Failure,
    print::{Printer, plain},
};

pub async fn run(data: &DataDir, call: &str, printer: &Printer) -> Result<ExitCode, Failure> {
    let story = owner::look(data, json!({ "inspect": "call", "id": call })).await?;
    if printer.is_json() {
        printer.table(&story);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<&Value> = story["rows"].as_array().into_iter().flatten().collect();
    printer.words(&printer.strong(&format!("call {}", plain(&story["call"]))));
    if let Some(facts) = rows.iter().find_map(|row| row["body"]["call"].as_object()) {
        let address = &facts["address"];
        printer.words(&format!(
            "{} {}, called {} by agent {} in {}",
            plain(&facts["tool"]),
            facts.get("input").map(Value::to_string).unwrap_or_default(),
            plain(&address["call_id"]),
            plain(&address["agent"]),
            plain(&address["conversation"]),
        ));
    }
    let began = rows.first().and_then(|row| row["effective"].as_u64()).unwrap_or_default();
    for row in rows {
        printer.words(&line_of(row, began, printer));
        for message in row["body"]["messages"].as_array().into_iter().flatten() {
            printer
                .words(&printer.faint(&format!("               to the agent: {}", said(&message["message"]["body"]))));
        }
    }
    if let Some(open) = story["open"].as_object() {
        printer.words(&format!("It is {} now.", open.get("status").map(plain).unwrap_or_default()));
    }
    Ok(ExitCode::SUCCESS)
}

fn line_of(row: &Value, began: u64, printer: &Printer) -> String {
    let after = row["effective"].as_u64().unwrap_or_default().saturating_sub(began);
    let code = row["code"].as_str().map(|code| format!(" ({code})")).unwrap_or_default();
    format!(
        "{:>12}  {}{code}  {}",
        format!("+{}.{:03} s", after / 1000, after % 1000),
        plain(&row["happened"]).replace('_', " "),
        printer.faint(&format!("{} {}, {}", plain(&row["source"]), plain(&row["actor"]), plain(&row["subject"]))),
    )
}

/// A message to an agent in a few words.
fn said(body: &Value) -> String {
    match body["kind"].as_str() {
        Some("receipt") => plain(&body["stage"]).replace('_', " "),
        Some("outcome") => {
            let detail = body.get("result").or_else(|| body.get("error")).map(Value::to_string).unwrap_or_default();
            format!("{} {detail}", plain(&body["status"]))
        }
        _ => body.to_string(),
    }
}
