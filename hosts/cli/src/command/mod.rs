//! One module per role.

pub mod agent;
pub mod doctor;
pub mod host;
pub mod link;
pub mod owner;
pub mod serve;
pub mod trace;
pub mod user;
