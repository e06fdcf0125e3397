//! lineup-agent
