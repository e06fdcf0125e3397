//! lineup-sdk
