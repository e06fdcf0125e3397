//! The words of LineUp: ids, codes, descriptors, agent messages, and the strict reading of JSON.
//!
//! Every other crate speaks in these types. The crate knows no I/O, no clock and no machine: it
//! can say what a well-formed thing looks like, never what should happen to it.
//!
//! - Bytes from outside go through [`json::decode`] (or [`json::Fields`] for an envelope) and
//!   nothing else; past it there are only typed values.
//! - A [`schema::Schema`] is always inside the closed subset, a [`Manifest`] that was decoded or
//!   sealed contradicts itself nowhere: both refuse with every fault at once and where it stands.
//! - Identity of content is [`Digest::of`] its canonical JSON; there is no second way to compare.
//!
//! To add an id, add a line to [`id`]; to add a code, a line to [`ErrorCode`] and a page in
//! `docs/errors`; to add a keyword to the subset, a line to the table in [`schema`] and to its
//! parser, and nothing to the validator.
//!
//! ```
//! use lineup_model::{json, schema::{Validator, schema_of}};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Start {
//!     #[schemars(range(min = 1, max = 480))]
//!     minutes: u16,
//! }
//!
//! let validator = Validator::compile(&schema_of::<Start>().unwrap());
//! let input = json::decode(br#"{"minutes":"20"}"#, lineup_model::limits::BODY_BYTES)?;
//! let violation = validator.check(&input).unwrap_err();
//! assert_eq!((violation.pointer.as_str(), violation.message.as_str()), ("/minutes", "expected integer"));
//! # Ok::<(), json::JsonError>(())
//! ```
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
