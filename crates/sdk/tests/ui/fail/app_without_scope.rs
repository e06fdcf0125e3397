use lineup_sdk::prelude::*;

define_agent_tools! {
    app Desk;
}

fn main() {}
