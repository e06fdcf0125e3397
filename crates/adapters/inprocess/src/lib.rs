//! lineup-inprocess
