//! What the world may ask of the Runtime. The Runtime's handle implements these; adapters hold them.

pub mod conversations;
pub mod entries;
pub mod miniapp;

pub use conversations::{
    ActionState, AgentView, AppView, CallEnd, ConversationView, Conversations, Item, Range, Running, ToolView, What,
};
pub use entries::{Agents, HostIntents, Inspect, InspectQuery, SetUp, UiActions};
pub use miniapp::{
    CallView, InboxMessage, InstanceState, MiniAppAnswer, MiniAppContext, MiniAppRequest, MiniAppRequests,
    OperationState, OperationView, Step, Work,
};
