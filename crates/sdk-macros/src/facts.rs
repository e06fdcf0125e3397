//! What a correct declaration says.

use proc_macro2::Ident;
use syn::{Attribute, Path, Type};

/// One MiniApp.
pub(crate) struct Facts {
    pub app: App,
    pub tools: Vec<Tool>,
    pub actions: Vec<Action>,
}

pub(crate) struct App {
    pub docs: Vec<Attribute>,
    pub name: Ident,
    pub scope: String,
    pub kind: Word,
    pub version: Option<String>,
    pub min_host: u32,
    pub surfaces: Vec<Surface>,
    pub surface_required: bool,
    pub subscriptions: Vec<String>,
    pub capabilities: Vec<String>,
}

pub(crate) struct Surface {
    pub id: String,
    pub title: String,
}

pub(crate) struct Tool {
    pub method: String,
    pub description: String,
    pub input: Option<Type>,
    pub version: u32,
    pub invocation: Word,
    pub readiness: Word,
    pub performer: Performer,
    pub timeout_ms: u64,
    pub risk: Word,
    pub visibility: Word,
    pub permissions: Vec<String>,
    pub host: Vec<String>,
    pub cancellable: bool,
    pub closes_instance: bool,
    pub restore_previous_focus: bool,
    pub operation: Operation,
}

pub(crate) enum Performer {
    Handler { path: Path, output: Type },
    DeadlineStart { unit: Word, field: Ident, when_busy: String },
    DeadlineInterrupt,
}

#[derive(Default)]
pub(crate) struct Operation {
    pub needs_foreground: bool,
    pub ends_on_leaving: bool,
    pub exclusive: Option<Word>,
}

pub(crate) struct Action {
    pub method: String,
    pub description: String,
    pub input: Option<Type>,
    pub handler: Path,
    pub confirm: bool,
}

/// A word of a closed set: as authors write it, and the variant that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: &'static str,
    pub variant: &'static str,
}

macro_rules! words {
    ($($set:ident { $($text:literal = $variant:literal),* $(,)? })*) => {$(
        pub(crate) const $set: &[Word] = &[$(Word { text: $text, variant: $variant }),*];
    )*};
}

words! {
    KINDS { "system" = "System", "bundled_reference" = "BundledReference" }
    INVOCATIONS { "query" = "Query", "command" = "Command", "interactive" = "Interactive", "operation" = "Operation" }
    READINESSES {
        "app_ready" = "AppReady",
        "foreground_required" = "ForegroundRequired",
        "activation_not_required" = "ActivationNotRequired",
    }
    RISKS { "low" = "Low", "medium" = "Medium", "high" = "High" }
    VISIBILITIES { "visible" = "Visible", "hidden" = "Hidden" }
    EXCLUSIVES { "workspace" = "Workspace", "conversation" = "Conversation" }
    UNITS { "seconds" = "Seconds", "minutes" = "Minutes", "hours" = "Hours" }
}
