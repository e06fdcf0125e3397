//! The parts of [`crate::Sdk`], one per concern.

mod conversation;
mod inbox;
mod lifecycle;
mod operations;
mod session;
mod surfaces;
mod tools;

pub use conversation::Conversation;
pub use inbox::Inbox;
pub use lifecycle::Lifecycle;
pub use operations::Operations;
pub use session::{Session, Snapshot};
pub use surfaces::Surfaces;
pub use tools::Tools;

use crate::Sdk;

macro_rules! handles {
    ($($module:ident::$name:ident;)*) => {$(
        impl<'sdk> $module::$name<'sdk> {
            pub(crate) fn new(sdk: &'sdk Sdk) -> Self {
                Self { sdk }
            }
        }
    )*};
}

handles! {
    conversation::Conversation;
    inbox::Inbox;
    lifecycle::Lifecycle;
    operations::Operations;
    session::Session;
    surfaces::Surfaces;
    tools::Tools;
}
