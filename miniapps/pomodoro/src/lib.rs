//! Pomodoro: keeps the time of one focus period (APP-4, APP-5).
//!
//! There is no handler here. The Runtime starts, ends and times the period; the Surface shows it.
use lineup_sdk::prelude::*;

/// How long to focus, and on what.
#[derive(Deserialize, JsonSchema)]
pub struct Start {
    /// Length of the focus period in minutes.
    #[schemars(range(min = 1, max = 1440))]
    pub minutes: u32,
    /// What the person focuses on, as they know it.
    #[schemars(length(min = 1, max = 120))]
    pub title: Option<String>,
}

define_agent_tools! {
    /// The Pomodoro MiniApp.
    app Pomodoro in "pomodoro" {
        surface "main" { title: "Pomodoro", required },
    }

    /// Start a focus period and keep the time. The person sees it in the foreground; leaving it ends
    /// it. Completes when the period is over, was interrupted, or could not start.
    tool start(Start) {
        version: 1,
        invocation: operation,
        readiness: foreground_required,
        operation: { needs_foreground, ends_on_leaving, exclusive: workspace },
        runtime: deadline_operation::start {
            length: minutes(input.minutes),
            when_busy: "already_focusing",
        },
    }

    /// Stop this conversation's focus period, or a start that is under way.
    tool interrupt() {
        version: 1,
        invocation: command,
        readiness: activation_not_required,
        runtime: deadline_operation::interrupt,
    }
}

#[cfg(test)]
mod tests;
