use lineup_sdk::prelude::*;

define_agent_tools! {
    app Desk in "Desk";
}

fn main() {}
