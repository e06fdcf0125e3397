//! lineup-adapters
