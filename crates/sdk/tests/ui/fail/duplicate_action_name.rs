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
    action clear(Open) { handler: Desk::clear }

    /// Clear it.
    action clear(Open) { handler: Desk::clear }
}

impl Desk {
    async fn clear(&self, _sdk: &Sdk, action: Action<Open>) -> ActionResult {
        drop(action.input.id);
        Ok(())
    }
}

fn main() {}
