//! The Hosts and Surfaces ports: what people see (HST-*, SUR-*).

use async_trait::async_trait;
use lineup_core::desired::{HostView, SurfaceView};
use lineup_model::HostSessionId;

/// Why a Host session could not be told something. The Runtime tells it again after a short
/// pause, until it takes it or is gone; nothing is rolled back (ACT-8).
#[derive(Debug, thiserror::Error)]
#[error("host session {session}: {detail}")]
pub struct HostError {
    /// The session.
    pub session: HostSessionId,
    /// What stands in the way.
    pub detail: String,
}

/// The shells that show MiniApps. Level-triggered: each call carries all that should be seen, so a
/// lost or repeated one does no harm.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Hosts: Send + Sync {
    /// Shows this and nothing else in a session. Returns once the session was told; what it does
    /// about it comes back as reports.
    ///
    /// # Errors
    /// When the session is gone or does not take it.
    async fn show(&self, session: &HostSessionId, view: HostView) -> Result<(), HostError>;
}

/// The restricted views of MiniApps. Level-triggered, as [`Hosts`].
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Surfaces: Send + Sync {
    /// Mounts these Surfaces and no others in a session, each with its projection.
    ///
    /// # Errors
    /// When the session is gone or does not take it.
    async fn show(&self, session: &HostSessionId, views: Vec<SurfaceView>) -> Result<(), HostError>;
}
