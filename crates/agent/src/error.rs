//! What can go wrong for an agent.

use lineup_link::LinkError;
use lineup_model::message::{Fault, Refusal};

/// Why an agent's request came to nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The connection has ended for good.
    #[error("the connection to the relay has ended")]
    Link(#[source] LinkError),
    /// The token is not one of an agent's.
    #[error("the credential is not one of an agent's")]
    NotAnAgent,
    /// The request cannot be written; nothing was sent.
    #[error("the request is malformed: {}", .0.message)]
    Malformed(Fault),
    /// The Runtime refused the request (CALL-7).
    #[error("the request was refused: {}", .0.error.code)]
    Refused(Box<Refusal>),
    /// A request with this message id waits for its answer.
    #[error("a request with this message id waits for an answer")]
    IdInUse,
    /// [`crate::MAX_OPEN_REQUESTS`] requests wait for an answer.
    #[error("too many requests wait for an answer")]
    TooManyRequests,
}
