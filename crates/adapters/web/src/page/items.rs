//! From what the Runtime reads to what the page is told.

use std::collections::BTreeSet;

use lineup_core::registry;
use lineup_model::AgentId;
use lineup_ports::inbound::{self as ports, ActionState, AgentView, AppView, CallEnd, ConversationView};
use serde_json::Value;

use super::{
    frames::{Agent, App, Call, Conversation, Delivery, End, Item, Life, State, Time, Tool, What},
    markdown,
};

/// What the user says is this UI Action of Interact's.
const SEND_TEXT: &str = "send-text";

/// All that the rail shows.
pub(super) fn state(conversations: Vec<ConversationView>, apps: Vec<AppView>, connected: &BTreeSet<AgentId>) -> State {
    let agent = |AgentView { agent, tools }: AgentView| Agent {
        connected: connected.contains(&agent),
        agent,
        tools: tools.into_iter().map(Tool::from).collect(),
    };
    let conversation = |ConversationView { conversation, title, agents }: ConversationView| Conversation {
        conversation,
        title,
        agents: agents.into_iter().map(agent).collect(),
    };
    State {
        conversations: conversations.into_iter().map(conversation).collect(),
        apps: apps.into_iter().map(App::from).collect(),
    }
}

/// One item, as the page is told.
pub(super) fn item(item: ports::Item) -> Item {
    Item { place: item.place.0, at: item.at, what: what(item.what) }
}

/// Whether an item may still change.
pub(super) fn is_open(item: &ports::Item) -> bool {
    match &item.what {
        ports::What::Call { end, .. } => end.is_none(),
        ports::What::Action { state, .. } => *state == ActionState::Open,
        _ => false,
    }
}

/// Whether two readings of one item say the same. How much time is left does not count: a page
/// counts down by itself.
pub(super) fn say_the_same(one: &ports::Item, other: &ports::Item) -> bool {
    fn timeless(item: &ports::Item) -> ports::Item {
        let mut item = item.clone();
        if let ports::What::Call { running: Some(running), .. } = &mut item.what {
            running.remaining_ms = 0;
        }
        item
    }
    timeless(one) == timeless(other)
}

fn what(what: ports::What) -> What {
    match what {
        ports::What::AgentText { agent, text } => {
            let html = markdown::render(&text);
            What::AgentText { agent, text, html }
        }
        ports::What::Action { action, app_scope, method, input, state } => {
            let is_said = app_scope == registry::interact() && method.as_str() == SEND_TEXT;
            let Some(text) = input.get("text").and_then(Value::as_str).filter(|_| is_said) else { return What::Other };
            let (delivery, code) = match state {
                ActionState::Open => (Delivery::Sending, None),
                ActionState::Done => (Delivery::Sent, None),
                ActionState::Failed(code) => (Delivery::Failed, Some(code)),
            };
            What::UserText { action_id: action, text: text.to_owned(), html: markdown::render(text), delivery, code }
        }
        ports::What::Call { call, call_id, agent, tool, input, stage, running, end } => What::Call(Box::new(Call {
            call,
            call_id,
            agent,
            app_scope: tool.app_scope(),
            tool,
            input,
            stage,
            time: running.map(Time::from),
            end: end.map(ending),
        })),
        ports::What::Opened { instance, app_scope, session } => What::Opened(Life { instance, app_scope, session }),
        ports::What::Closed { instance, app_scope, session } => What::Closed(Life { instance, app_scope, session }),
        ports::What::Ended { call, app_scope, end, .. } => What::Ended { app_scope, call, end: end.into() },
        ports::What::Other => What::Other,
    }
}

fn ending(CallEnd { at, class, result, error }: CallEnd) -> End {
    let mut end = End { at, status: class, result, code: None, reason: None, message: None };
    if let Some(error) = error {
        end.code = Some(error.code);
        end.reason = error.reason;
        end.message = Some(error.message);
    }
    end
}
