//! lineup-core
