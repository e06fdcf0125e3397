//! Seeded simulation of the Runtime and the independent oracle that judges it.

pub mod oracle;
