//! Every clause, once.
use lineup_sdk::prelude::*;

/// Which task to follow.
#[derive(Deserialize, JsonSchema)]
pub struct Open {
    /// Stable id of the task.
    #[schemars(length(min = 1, max = 64))]
    pub task_id: String,
    /// Title as the user knows it.
    pub title: Option<String>,
}

/// How it ended.
#[derive(Serialize, JsonSchema)]
pub struct Closed {
    /// The end.
    pub status: Status,
}

/// The end of a task.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

/// How long.
#[derive(Deserialize, JsonSchema)]
pub struct Start {
    /// Minutes.
    #[schemars(range(min = 1, max = 1440))]
    pub minutes: u32,
}

define_agent_tools! {
    /// Follows one task with the user.
    app Everything in "every-thing" {
        kind: bundled_reference,
        version: "1.2.3",
        surface "main" { title: "Everything", required },
        subscriptions: ["message.text"],
        capabilities: ["host.notice"],
        min_host: 2,
    }

    /// Follow a task.
    ///
    /// Comes back when it is closed.
    tool open(Open) -> Closed {
        version: 3,
        invocation: interactive,
        readiness: foreground_required,
        timeout: 2 h,
        risk: medium,
        visibility: hidden,
        permissions: ["tasks.read", "tasks.write"],
        host: ["foreground"],
        cancellable: true,
        closes_instance,
        restore_previous_focus: true,
        handler: Everything::open,
    }

    /// Start a period.
    tool start(Start) {
        version: 1,
        invocation: operation,
        readiness: foreground_required,
        operation: { needs_foreground, ends_on_leaving, exclusive: workspace },
        runtime: deadline_operation::start { length: minutes(input.minutes), when_busy: "already_there" },
    }

    /// Stop it.
    tool interrupt() {
        version: 1, invocation: command, readiness: activation_not_required,
        runtime: deadline_operation::interrupt,
    }

    /// Forget everything.
    tool forget_all() -> () { version: 1, invocation: command, readiness: app_ready, handler: Everything::forget_all }

    /// The user opens a task.
    action open_it(Open) { handler: Everything::open_it, confirm }
}

impl Everything {
    async fn open(&self, sdk: &Sdk, call: Call<Open>) -> ToolResult<Closed> {
        call.progress("shown", json!({ "title": call.input.title })).await?;
        sdk.session().write(0, &json!({ "open": call.input.task_id })).step("remember").await?;
        if call.is_cancelled() {
            return Ok(Closed { status: Status::Cancelled });
        }
        Ok(Closed { status: Status::Completed })
    }

    async fn forget_all(&self, sdk: &Sdk, _call: Call<()>) -> ToolResult<()> {
        sdk.lifecycle().request_close().await
    }

    async fn open_it(&self, _sdk: &Sdk, action: Action<Open>) -> ActionResult {
        if action.input.title.is_none() { Err(SdkError::failed("untitled", "the task has no title")) } else { Ok(()) }
    }
}

impl MiniApp for Everything {
    async fn on_message(&self, sdk: &Sdk, message: &InboxMessage) -> Result<(), SdkError> {
        sdk.inbox().acknowledge(message.id.clone()).await
    }
}

fn main() {
    let manifest = bundle().manifest().unwrap();
    let ids: Vec<&str> = manifest.tools.iter().map(|tool| tool.id.as_str()).collect();
    assert_eq!(ids, ["every-thing.forget-all", "every-thing.interrupt", "every-thing.open", "every-thing.start"]);
    assert_eq!(manifest.version, "1.2.3");
    assert_eq!(manifest.ui_actions[0].method.as_str(), "open-it");
    assert_eq!(manifest.tools[2].description, "Follow a task.\n\nComes back when it is closed.");
    assert_eq!(manifest.tools[2].timeout_ms, 7_200_000);
}
