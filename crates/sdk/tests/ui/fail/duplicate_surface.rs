use lineup_sdk::prelude::*;

define_agent_tools! {
    app Desk in "desk" {
        surface "main" { title: "Desk" },
        surface "main" { title: "Desk again" },
    }
}

fn main() {}
