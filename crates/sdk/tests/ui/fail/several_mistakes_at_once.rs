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

    tool open(Open) -> Opened {
        version: 0,
        invocation: comand,
        readiness: ready,
        handler: Desk::look_up,
    }

    /// The user clears it.
    action clear(Open) { handler: Desk::clear, confirm: yes }
}

impl Desk {
    async fn look_up(&self, _sdk: &Sdk, call: Call<Open>) -> ToolResult<Opened> {
        Ok(Opened { found: !call.input.id.is_empty() })
    }
}

impl Desk {
    async fn clear(&self, _sdk: &Sdk, action: Action<Open>) -> ActionResult {
        drop(action.input.id);
        Ok(())
    }
}

fn main() {}
