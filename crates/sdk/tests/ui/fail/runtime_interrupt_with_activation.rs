use lineup_sdk::prelude::*;

define_agent_tools! {
    app Desk in "desk";

    /// Open something.
    tool interrupt() {
        version: 1,
        invocation: command,
        readiness: app_ready,
        runtime: deadline_operation::interrupt,
    }
}

fn main() {}
