use lineup_sdk::prelude::*;

/// How long.
#[derive(Deserialize, JsonSchema)]
pub struct Start {
    /// Minutes.
    #[schemars(range(min = 1, max = 1440))]
    pub minutes: u32,
}

define_agent_tools! {
    app Desk in "desk";

    /// Open something.
    tool start(Start) {
        version: 1,
        invocation: operation,
        readiness: foreground_required,
        operation: { needs_foreground, exclusive: workspace },
        runtime: deadline_operation::start { length: minutes(input.minuets), when_busy: "busy" },
    }
}

fn main() {}
