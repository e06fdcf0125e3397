//! The ports of LineUp: what the Runtime needs of the world (`outbound`) and what the world may ask
//! of the Runtime (`inbound`). Traits only; small, object-safe, with one concrete error each.
//!
//! To add an adapter, implement one outbound trait and run its conformance suite from
//! `lineup-testkit`.
#![warn(missing_docs)]

pub mod inbound;
pub mod outbound;
