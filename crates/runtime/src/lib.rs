//! lineup-runtime
