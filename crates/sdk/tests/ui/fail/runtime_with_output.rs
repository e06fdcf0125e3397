use lineup_sdk::prelude::*;

/// How long.
#[derive(Deserialize, JsonSchema)]
pub struct Start {
    /// Minutes.
    #[schemars(range(min = 1, max = 1440))]
    pub minutes: u32,
}

/// What came of it.
#[derive(Serialize, JsonSchema)]
pub struct Opened {
    /// Whether it was there.
    pub found: bool,
}

define_agent_tools! {
    app Desk in "desk";

    /// Open something.
    tool start(Start) -> Opened {
        version: 1,
        invocation: operation,
        readiness: foreground_required,
        operation: { needs_foreground, exclusive: workspace },
        runtime: deadline_operation::start { length: minutes(input.minutes), when_busy: "busy" },
    }
}

fn main() {}
