use lineup_sdk::prelude::*;

define_agent_tools! {
    app Desk in "desk" { capabilities: ["host notice"] }
}

fn main() {}
