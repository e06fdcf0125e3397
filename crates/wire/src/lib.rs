//! lineup-wire
