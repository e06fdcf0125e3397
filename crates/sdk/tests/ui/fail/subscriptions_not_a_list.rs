use lineup_sdk::prelude::*;

define_agent_tools! {
    app Desk in "desk" { subscriptions: "message.text" }
}

fn main() {}
