//! The machine that LineUp hangs on: a workspace decides what an input changes.
//!
//! Deciding is a function of values: [`Workspace::decide`] takes an [`Input`] and [`Facts`] and
//! answers a [`Decision`], whose [`ChangeSet`] is everything that becomes durable.
//! [`Workspace::apply`] is the only way state changes: live, in recovery and in tests. There is no
//! clock, no randomness, no logging and no I/O here; ids are places in the journal.
//!
//! Each machine (call, activation, instance, operation, UI action) has a folder with its states and
//! its own pure `decide`; `workspace` composes them. To add a machine: add its folder, its record
//! to [`ChangeSet`] and [`Records`], and its arm to `apply`.
#![warn(missing_docs)]

pub mod action;
pub mod activation;
pub mod call;
pub mod desired;
pub mod focus;
pub mod inbox;
pub mod instance;
pub mod journal;
mod map;
pub mod miniapp;
pub mod operation;
pub mod outbox;
pub mod policy;
pub mod registry;
pub mod seq;
pub mod session;
pub mod surface;
pub mod timeline;
pub mod workspace;

pub use seq::Seq;
pub use timeline::TimeLine;
pub use workspace::{
    Workspace,
    change_set::{ChangeSet, Kept, Volatile},
    decision::{Answer, Decision, Rejected},
    facts::{Facts, Known, Needs},
    input::Input,
    records::Records,
};
