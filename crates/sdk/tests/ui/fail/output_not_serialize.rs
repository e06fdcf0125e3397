use lineup_sdk::prelude::*;

/// What to open.
#[derive(Deserialize, JsonSchema)]
pub struct Open {
    /// Stable id.
    pub id: String,
}

/// What came of it.
#[derive(JsonSchema)]
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
        handler: Desk::look_up,
    }
}

impl Desk {
    async fn look_up(&self, _sdk: &Sdk, call: Call<Open>) -> ToolResult<Opened> {
        Ok(Opened { found: !call.input.id.is_empty() })
    }
}

fn main() {}
