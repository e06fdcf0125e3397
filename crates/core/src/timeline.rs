//! The effective time line (OP-4): it only advances, by the boot clock while the machine stays up,
//! by the wall clock across a reboot.

use lineup_model::{Effective, Instant, Wall};
use serde::{Deserialize, Serialize};

/// Where effective time stood when it was last written down, and what the clocks said then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeLine {
    /// The effective time.
    pub effective: Effective,
    /// The boot of the machine.
    pub boot: String,
    /// Its boot clock, in milliseconds.
    pub boot_ms: u64,
    /// Its wall clock.
    pub wall: Wall,
}

impl TimeLine {
    /// The time line of a new workspace: effective time 0 is this moment.
    #[must_use]
    pub fn start(boot: String, boot_ms: u64, wall: Wall) -> Self {
        Self { effective: Effective(0), boot, boot_ms, wall }
    }

    /// The time line at another reading of the clocks. Total: a clock that went back adds nothing.
    #[must_use]
    pub fn at(&self, boot: &str, boot_ms: u64, wall: Wall) -> Self {
        let elapsed = if boot == self.boot {
            boot_ms.saturating_sub(self.boot_ms)
        } else {
            u64::try_from(wall.0.saturating_sub(self.wall.0)).unwrap_or(0)
        };
        // Within one boot a reading that went back keeps the higher mark, or the same stretch
        // would be counted twice once the clock catches up (I38).
        let boot_ms = if boot == self.boot { boot_ms.max(self.boot_ms) } else { boot_ms };
        Self { effective: self.effective.plus(elapsed), boot: boot.to_owned(), boot_ms, wall }
    }

    /// This moment, on both lines.
    #[must_use]
    pub const fn instant(&self) -> Instant {
        Instant { effective: self.effective, wall: self.wall }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(effective: u64, boot: &str, boot_ms: u64, wall: i64) -> TimeLine {
        TimeLine { effective: Effective(effective), boot: boot.into(), boot_ms, wall: Wall(wall) }
    }

    #[test]
    fn op_4_within_a_boot_only_the_boot_clock_counts() {
        let start = line(100, "b1", 1_000, 50_000);
        for wall in [i64::MIN, 50_000 - 3_600_000, 50_000 + 3_600_000, i64::MAX] {
            assert_eq!(start.at("b1", 1_500, Wall(wall)).effective, Effective(600), "{wall}");
        }
    }

    #[test]
    fn op_4_across_a_boot_the_wall_clock_counts_and_never_backwards() {
        let start = line(100, "b1", 1_000, 50_000);
        assert_eq!(start.at("b2", 5, Wall(51_000)).effective, Effective(1_100));
        assert_eq!(start.at("b2", 5, Wall(0)).effective, Effective(100));
        assert_eq!(start.at("b2", 5, Wall(i64::MIN)).effective, Effective(100));
    }

    #[test]
    fn i38_a_boot_clock_that_steps_back_counts_no_stretch_twice() {
        let later = line(0, "b1", 1_000, 0).at("b1", 900, Wall(0)).at("b1", 1_000, Wall(0));
        assert_eq!(later.effective, Effective(0));
    }
}
