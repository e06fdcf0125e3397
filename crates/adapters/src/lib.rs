//! The adapters of LineUp in one place, for hosts: one module per technology, each behind a feature
//! of its own. Nothing is defined here.
#![warn(missing_docs)]

#[cfg(feature = "inprocess")]
pub use lineup_inprocess as inprocess;
#[cfg(feature = "relay")]
pub use lineup_relay as relay;
#[cfg(feature = "sql")]
pub use lineup_sql as sql;
#[cfg(feature = "web")]
pub use lineup_web as web;
#[cfg(feature = "websocket")]
pub use lineup_websocket as websocket;
