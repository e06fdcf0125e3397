use lineup_sdk::prelude::*;

define_agent_tools! {
    app Desk in "desk";
    app Shelf in "shelf";
}

fn main() {}
