//! lineup-testkit
