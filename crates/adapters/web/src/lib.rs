//! lineup-web
