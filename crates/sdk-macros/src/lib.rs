//! lineup-sdk-macros
