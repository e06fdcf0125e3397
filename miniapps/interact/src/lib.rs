//! lineup-interact
