use lineup_sdk::prelude::*;

/// What to open.
#[derive(Deserialize, JsonSchema)]
pub struct Open {
    /// Stable id.
    pub id: String,
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
    tool open(Open) -> Opened {
        version: 1,
        invocation: command,
        readiness: app_ready,
    }
}

fn main() {}
