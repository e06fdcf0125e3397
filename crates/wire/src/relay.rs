//! The frames between AppServer and its clients.
