//! What the agent may use, as far as it knows how.

use std::ops::RangeInclusive;

use lineup_agent::model::{Inventory, inventory::AdvertisedTool};

/// The tools of an inventory that this agent knows how to use, and the names of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// Starts a focus period.
    pub start: Option<Start>,
    /// Stops it.
    pub stop: Option<Stop>,
    /// What it may use and does not know how to.
    pub others: Vec<String>,
}

/// A tool that starts a focus period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its id.
    pub tool: String,
    /// How many minutes it takes.
    pub minutes: RangeInclusive<i64>,
    /// How many characters its title may have, if it takes one.
    pub title: Option<usize>,
}

/// A tool that stops a focus period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Its id.
    pub tool: String,
}

impl Tools {
    /// Reads an inventory. A tool whose input is not the one that this agent knows is one of the others.
    #[must_use]
    pub fn of(inventory: &Inventory) -> Self {
        let mut tools = Self::default();
        for tool in &inventory.tools {
            match tool.id.as_str() {
                "pomodoro.start" => tools.start = start(tool),
                "pomodoro.interrupt" => tools.stop = stop(tool),
                _ => {}
            }
            let known = [tools.start.as_ref().map(|start| &start.tool), tools.stop.as_ref().map(|stop| &stop.tool)];
            if !known.contains(&Some(&tool.id.as_str().to_owned())) {
                tools.others.push(tool.id.as_str().to_owned());
            }
        }
        tools
    }
}

fn start(tool: &AdvertisedTool) -> Option<Start> {
    let schema = &tool.input_schema;
    let minutes = schema.property("minutes").filter(|minutes| minutes["type"] == "integer")?;
    let bound = |name: &str, otherwise| minutes[name].as_i64().unwrap_or(otherwise);
    let title = schema.property("title").filter(|title| title["type"] == "string");
    let title = title.map(|title| title["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok()));
    takes_no_more_than(tool, &["minutes"]).then(|| Start {
        tool: tool.id.as_str().to_owned(),
        minutes: bound("minimum", 1)..=bound("maximum", i64::MAX),
        // Without a bound of its own, one line.
        title: title.map(|most| most.unwrap_or(120)),
    })
}

fn stop(tool: &AdvertisedTool) -> Option<Stop> {
    takes_no_more_than(tool, &[]).then(|| Stop { tool: tool.id.as_str().to_owned() })
}

/// Whether a call is complete with these properties.
fn takes_no_more_than(tool: &AdvertisedTool, properties: &[&str]) -> bool {
    let required = tool.input_schema.as_value()["required"].as_array();
    required.into_iter().flatten().all(|name| name.as_str().is_some_and(|name| properties.contains(&name)))
}

#[cfg(test)]
mod tests {
    use lineup_agent::model::{Digest, Revision};
    use serde_json::{Value, json};

    use super::*;

    fn tools(rows: &[(&str, Value)]) -> Tools {
        let tools: Vec<Value> = rows
            .iter()
            .map(|(id, input)| {
                let (scope, method) = id.split_once('.').unwrap();
                json!({
                    "id": id, "app_scope": scope, "method": method, "contract_version": 1, "description": "",
                    "input_schema": input, "output_schema": { "type": "object", "additionalProperties": false },
                    "invocation": "command", "readiness": "app_ready", "risk": "low", "timeout_ms": 60000,
                    "cancellable": false
                })
            })
            .collect();
        let revision = Revision(Digest::of(&tools));
        Tools::of(&Inventory { revision, tools: serde_json::from_value(tools.into()).unwrap() })
    }

    fn object(properties: Value, required: &[&str]) -> Value {
        let mut object = json!({ "type": "object", "additionalProperties": false, "properties": properties });
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        object
    }

    #[test]
    fn the_bounds_are_those_of_the_descriptor() {
        let input = object(
            json!({
                "minutes": { "type": "integer", "minimum": 5, "maximum": 90 },
                "title": { "type": "string", "minLength": 1, "maxLength": 7 }
            }),
            &["minutes"],
        );
        let found = tools(&[("pomodoro.interrupt", object(json!({}), &[])), ("pomodoro.start", input)]);
        let start = Start { tool: "pomodoro.start".into(), minutes: 5..=90, title: Some(7) };
        let stop = Stop { tool: "pomodoro.interrupt".into() };
        assert_eq!(found, Tools { start: Some(start), stop: Some(stop), others: vec![] });
    }

    #[test]
    fn a_tool_with_another_input_is_not_used() {
        for input in [
            object(json!({}), &[]),
            object(json!({ "minutes": { "type": "string" } }), &["minutes"]),
            object(json!({ "minutes": { "type": "integer" }, "task": { "type": "string" } }), &["minutes", "task"]),
        ] {
            let found = tools(&[("pomodoro.start", input.clone()), ("whiteboard.open", object(json!({}), &[]))]);
            let others = vec!["pomodoro.start".to_owned(), "whiteboard.open".to_owned()];
            assert_eq!(found, Tools { others, ..Tools::default() }, "{input}");
        }
    }
}
