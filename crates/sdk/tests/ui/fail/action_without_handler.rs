use lineup_sdk::prelude::*;

/// What to open.
#[derive(Deserialize, JsonSchema)]
pub struct Open {
    /// Stable id.
    pub id: String,
}

define_agent_tools! {
    app Desk in "desk";

    /// Clear it.
    action clear(Open) { confirm }
}

fn main() {}
