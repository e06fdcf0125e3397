//! What can be published, what cannot, and what is said about it (INV-2 to INV-5).

use lineup_sdk::{Drift, prelude::*};

mod fitting {
    use super::*;

    /// Whom to greet.
    #[derive(Deserialize, JsonSchema)]
    pub struct Greet {
        /// The name.
        #[schemars(length(min = 1, max = 64))]
        pub name: String,
        /// The tone.
        pub tone: Option<Tone>,
    }

    /// A tone.
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Tone {
        /// Friendly.
        Friendly,
        /// Formal.
        VeryFormal,
    }

    /// What was said.
    #[derive(Serialize, JsonSchema)]
    pub struct Greeting {
        /// The words.
        pub text: String,
    }

    define_agent_tools! {
        app Greeter in "greeter";

        /// Greet a person by name.
        tool greet(Greet) -> Greeting {
            version: 1, invocation: command, readiness: app_ready, handler: Greeter::handler_with_a_private_name,
        }
    }

    impl Greeter {
        async fn handler_with_a_private_name(&self, _sdk: &Sdk, call: Call<Greet>) -> ToolResult<Greeting> {
            let text = match call.input.tone {
                Some(Tone::VeryFormal) => format!("Good morning, {}.", call.input.name),
                Some(Tone::Friendly) | None => format!("Hello {}!", call.input.name),
            };
            Ok(Greeting { text })
        }
    }
}

mod unfit {
    use super::*;

    /// A map has free keys.
    #[derive(Deserialize, JsonSchema)]
    pub struct Labels {
        /// The labels.
        pub labels: std::collections::BTreeMap<String, String>,
        /// A pair.
        pub position: (u8, u8),
    }

    /// A length without bounds.
    #[derive(Deserialize, JsonSchema)]
    pub struct Endless {
        /// Hours.
        pub hours: u32,
    }

    /// A length that may be absent under another name.
    #[derive(Deserialize, JsonSchema)]
    pub struct Renamed {
        /// Minutes.
        #[serde(rename = "length")]
        pub minutes: u32,
    }

    define_agent_tools! {
        app Unfit in "unfit";

        /// Label something.
        tool label(Labels) -> () { version: 1, invocation: command, readiness: app_ready, handler: Unfit::label }

        /// Wait for hours.
        tool wait(Endless) {
            version: 1, invocation: operation, readiness: app_ready,
            runtime: deadline_operation::start { length: hours(input.hours) },
        }

        /// Wait for minutes.
        tool linger(Renamed) {
            version: 1, invocation: operation, readiness: app_ready,
            runtime: deadline_operation::start { length: minutes(input.minutes) },
        }
    }

    impl Unfit {
        async fn label(&self, _sdk: &Sdk, call: Call<Labels>) -> ToolResult<()> {
            drop((call.input.labels, call.input.position));
            Ok(())
        }
    }
}

#[test]
fn inv_2_a_manifest_names_no_handler() {
    let text = json!(fitting::bundle().manifest().unwrap()).to_string();
    assert!(!text.contains("private_name") && !text.contains("Greeter"), "{text}");
}

#[test]
fn inv_5_the_published_schema_is_inside_the_subset() {
    let manifest = fitting::bundle().manifest().unwrap();
    assert_eq!(
        *manifest.tools[0].input_schema.as_value(),
        json!({
            "type": "object",
            "description": "Whom to greet.",
            "properties": {
                "name": { "type": "string", "description": "The name.", "minLength": 1, "maxLength": 64 },
                "tone": { "type": "string", "description": "The tone.", "enum": ["friendly", "very_formal"] },
            },
            "required": ["name"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn inv_5_what_cannot_be_published_is_named_with_type_and_field_all_at_once() {
    let said: Vec<String> = unfit::bundle().manifest().unwrap_err().iter().map(ToString::to_string).collect();
    for part in [
        ["tool `label`, input type `Labels`", "`labels`", "map"],
        ["tool `label`, input type `Labels`", "`position`", "tuple"],
        ["tool `wait`, input type `Endless`", "`hours`", "range(min = 1, max = 24)"],
        ["tool `linger`, input type `Renamed`", "`minutes`", "renamed"],
    ] {
        assert!(said.iter().any(|said| part.iter().all(|part| said.contains(part))), "{part:?} in {said:#?}");
    }
    assert_eq!(said.len(), 4, "{said:#?}");
}

#[test]
fn inv_2_a_bundle_without_a_committed_manifest_does_not_start() {
    assert_eq!(fitting::bundle().verified().unwrap_err(), Drift::Missing);
    assert!(matches!(unfit::bundle().verified().unwrap_err(), Drift::Unfit(found) if found.len() == 4));
}
