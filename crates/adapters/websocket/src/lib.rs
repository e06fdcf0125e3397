//! lineup-websocket
