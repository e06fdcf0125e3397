//! lineup-relay
