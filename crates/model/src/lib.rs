//! The words of LineUp: ids, codes, descriptors, agent messages, and the strict reading of JSON.
//!
//! Every other crate speaks in these types. The crate knows no I/O, no clock and no machine: it
//! can say what a well-formed thing looks like, never what should happen to it.
//!
//! To add an id, add a line to [`id`]; to add a code, a line to [`ErrorCode`] and a page in
//! `docs/errors`.
#![warn(missing_docs)]

pub mod canonical;
pub mod code;
pub mod descriptor;
pub mod id;
pub mod inventory;
pub mod json;
pub mod limits;
pub mod manifest;
pub mod message;
pub mod schema;
pub mod time;

pub use canonical::Digest;
pub use code::ErrorCode;
pub use descriptor::Descriptor;
pub use id::*;
pub use inventory::{Inventory, Revision};
pub use manifest::Manifest;
pub use time::{Effective, Instant, Wall};
