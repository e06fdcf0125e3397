//! Points in time. Everything the Runtime decides on is effective time (OP-4).

use serde::{Deserialize, Serialize};

/// A point on the Runtime's effective time line, in milliseconds since the workspace was made.
///
/// It only advances: by the boot clock while the machine stays up (sleep included), by the wall
/// clock across a reboot, never backwards (OP-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Effective(pub u64);

impl Effective {
    /// This point moved on by `millis`; saturates at the end of time.
    #[must_use]
    pub const fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this point, 0 if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// What the wall clock said, in milliseconds since 1970 (UTC). Shown to people, never decided on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wall(pub i64);

/// Both readings of one moment. Audit rows carry both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Instant {
    /// On the effective time line.
    pub effective: Effective,
    /// On the wall clock.
    pub wall: Wall,
}
