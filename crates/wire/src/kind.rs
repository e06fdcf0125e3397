//! The types of envelope and who may send them.

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// A type of envelope that this version knows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// Every type, requests first.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in the envelope's `type`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => concat!("lineup.v1.", $text),)* }
            }
        }
    };
}

kinds! {
    /// Agent to Runtime: I join this conversation.
    AgentHello = "agent.hello",
    /// Agent to Runtime: call this tool (WIRE-2).
    ToolInvoke = "tool.invoke",
    /// Agent to Runtime: say again where this call stands.
    ToolStatus = "tool.status",
    /// Agent to Runtime: I would like this call to end (CALL-10).
    ToolCancel = "tool.cancel",
    /// Either way: a text in the conversation.
    MessageText = "message.text",
    /// Runtime to agent: the tools of this conversation (INV-7).
    ClientInventory = "client.inventory",
    /// Runtime to agent: a receipt or progress of a call (WIRE-3).
    MiniappToolProgress = "miniapp.tool.progress",
    /// Runtime to agent: an outcome other than `cancelled`, or a refusal (WIRE-3, CALL-7).
    MiniappToolResult = "miniapp.tool.result",
    /// Runtime to agent: the outcome `cancelled` (WIRE-3).
    MiniappToolCancel = "miniapp.tool.cancel",
}

/// Types that belong to the user's and the Host's entries, or that only the Runtime sends. On the
/// agent entry they are never requests (ENT-1, UI-11, case H40).
const FOREIGN: &[&str] = &[
    "lineup.v1.ui.",
    "lineup.v1.ui_action.",
    "lineup.v1.host.",
    "lineup.v1.lifecycle.",
    "lineup.v1.interaction.",
    "lineup.v1.inbox.",
    "lineup.v1.surface.",
    "lineup.v1.session.",
    "lineup.v1.miniapp.tool.progress",
    "lineup.v1.miniapp.tool.result",
    "lineup.v1.miniapp.tool.cancel",
    "lineup.v1.client.",
    "ui/",
];

impl Kind {
    /// The type with this word, if this version knows it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }

    /// Whether an agent sends it to the Runtime, so that a bad one is answered (WIRE-5).
    #[must_use]
    pub const fn is_request(self) -> bool {
        match self {
            Self::AgentHello | Self::ToolInvoke | Self::ToolStatus | Self::ToolCancel | Self::MessageText => true,
            Self::ClientInventory | Self::MiniappToolProgress | Self::MiniappToolResult | Self::MiniappToolCancel => {
                false
            }
        }
    }
}

/// Whether this type belongs to another entry than the agents'.
pub(crate) fn is_foreign(text: &str) -> bool {
    FOREIGN.iter().any(|prefix| text.starts_with(prefix))
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
