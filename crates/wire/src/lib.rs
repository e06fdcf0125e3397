//! The language of the wire: `lineup.v1` envelopes and the frames that carry them.
//!
//! One strict codec for every adapter (WIRE-1): [`decode_request`] is the only way in to the
//! Runtime from an agent, [`encode`] and [`encode_refusal`] the only way out, and [`decode_reply`]
//! and [`encode_request`] are the same two doors seen from the agent's side. [`relay`] holds the
//! frames between AppServer and its clients, which carry envelopes without reading them (WIRE-4).
//!
//! The crate deliberately knows no socket, no store and no rule about calls: it says whether bytes
//! are a well-formed request, never what should happen to it. Bytes written here are a function of
//! the fact that they state, so a repeat is byte-equal (CALL-3).
//!
//! To add an envelope: a line in [`Kind`], a shape in `shape.rs` (its JSON Schema follows), an arm
//! in `request.rs` or `reply.rs`, fixtures in `fixtures/`; then bless the schemas with
//! `LINEUP_BLESS=1 cargo test -p lineup-wire`. An earlier request type (WIRE-2) is one more arm of
//! the decoder that ends in the same [`RequestBody`].
//!
//! ```
//! use lineup_wire::{RequestBody, decode_request};
//!
//! let request = decode_request(
//!     br#"{"type":"lineup.v1.tool.status","id":"m1","conversation_id":"c1","call_id":"k1"}"#,
//! )?;
//! assert!(matches!(request.body, RequestBody::Status { call_id } if call_id.as_str() == "k1"));
//!
//! let refused = decode_request(
//!     br#"{"type":"lineup.v1.tool.status","id":"m1","conversation_id":"c1","call_id":"k1","owner":"me"}"#,
//! ).unwrap_err();
//! assert_eq!(refused.reason.as_str(), "reserved_field");
//! assert!(refused.is_request);
//! # Ok::<(), lineup_wire::Malformed>(())
//! ```
#![warn(missing_docs)]

mod header;
mod kind;
mod malformed;
pub mod relay;
mod reply;
mod request;
mod shape;

pub use kind::Kind;
pub use malformed::{Malformed, Reason};
pub use reply::{Reply, ReplyError, decode_reply, encode, encode_refusal};
pub use request::{Invoke, Request, RequestBody, decode_request, encode_request};
pub use shape::schemas;
