//! The two clocks: the machine's own, and one for tests that only the owner moves.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use lineup_adapters::web::Advance;
use lineup_model::Wall;
use lineup_ports::outbound::{Clock, ClockReading};
use tokio::sync::watch;

/// How long one wait is at most: tokio's timers stand still while the machine sleeps, so a later
/// moment is looked for again and again (OP-4).
const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// The machine's clocks: the boot clock, which counts sleep, and the wall clock.
pub struct SystemClock {
    boot: String,
    /// What the boot clock said when this was made.
    base_ms: u64,
    made: boot_time::Instant,
}

impl SystemClock {
    /// Finds out which boot this is. Where the system does not say it, this process is its own boot
    /// and time between two processes is the wall clock's.
    pub fn new() -> Self {
        let made = boot_time::Instant::now();
        let named = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let uptime = std::fs::read_to_string("/proc/uptime").ok().and_then(|text| uptime_ms(&text));
        let (boot, base_ms) = match (named, uptime) {
            (Some(boot), Some(base_ms)) if !boot.trim().is_empty() => (boot.trim().to_owned(), base_ms),
            _ => (format!("process-{}", ulid::Ulid::generate()), 0),
        };
        Self { boot, base_ms, made }
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn read(&self) -> ClockReading {
        let wall = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
        };
        let elapsed = u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX);
        ClockReading { boot: self.boot.clone(), boot_ms: self.base_ms.saturating_add(elapsed), wall: Wall(wall) }
    }

    async fn wait_until(&self, boot_ms: u64) {
        let left = Duration::from_millis(boot_ms.saturating_sub(self.read().boot_ms));
        tokio::time::sleep(left.min(LONGEST_WAIT)).await;
    }
}

/// `/proc/uptime` in milliseconds: seconds since boot with sleep, as `12345.67 …`.
fn uptime_ms(text: &str) -> Option<u64> {
    let (seconds, rest) = text.split_whitespace().next()?.split_once('.')?;
    let hundredths: u64 = rest.get(..2)?.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(hundredths * 10)
}

/// A clock that stands still until it is advanced. Each process is a boot of its own, and its wall
/// clock starts from the same moment, so that no time passes between two of them.
pub struct ManualClock {
    boot: String,
    wall: i64,
    now: watch::Sender<u64>,
}

/// 2026-01-01T00:00:00Z.
const MANUAL_WALL: i64 = 1_767_225_600_000;

impl ManualClock {
    /// A clock that stands at its beginning.
    pub fn new() -> Self {
        let boot = format!("manual-{}", ulid::Ulid::generate());
        Self { boot, wall: MANUAL_WALL + away(), now: watch::Sender::new(0) }
    }
}

/// How many milliseconds pass between two processes.
#[cfg(not(feature = "failpoints"))]
const fn away() -> i64 {
    0
}

/// How many milliseconds have passed since the first process: the kill proof says it.
#[cfg(feature = "failpoints")]
fn away() -> i64 {
    std::env::var("LINEUP_CLOCK_AWAY_MS").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Advance for ManualClock {
    fn advance(&self, millis: u64) {
        self.now.send_modify(|now| *now = now.saturating_add(millis));
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn read(&self) -> ClockReading {
        let boot_ms = *self.now.borrow();
        let wall = self.wall.saturating_add(i64::try_from(boot_ms).unwrap_or(i64::MAX));
        ClockReading { boot: self.boot.clone(), boot_ms, wall: Wall(wall) }
    }

    async fn wait_until(&self, boot_ms: u64) {
        // The sender is a field of this clock, so it is there as long as anybody waits.
        let mut now = self.now.subscribe();
        let _reached = now.wait_for(|now| *now >= boot_ms).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use lineup_core::timeline::TimeLine;

    use super::*;

    #[test]
    fn proc_uptime_is_read_in_milliseconds() {
        assert_eq!(uptime_ms("12345.67 54321.00\n"), Some(12_345_670));
        assert_eq!(uptime_ms("0.00 0.00"), Some(0));
        for odd in ["", "12345", "x.00", "1.x0", "99999999999999999999.00"] {
            assert_eq!(uptime_ms(odd), None, "{odd}");
        }
    }

    #[test]
    fn op_4_the_boot_clock_never_goes_back_and_two_clocks_of_one_boot_agree() {
        let (one, other) = (SystemClock::new(), SystemClock::new());
        let (first, second, third) = (one.read(), other.read(), one.read());
        assert_eq!(first.boot, second.boot);
        assert!(third.boot_ms >= first.boot_ms);
        // /proc/uptime counts in hundredths of a second.
        assert!(second.boot_ms + 20 >= first.boot_ms);
    }

    #[tokio::test]
    async fn a_manual_clock_waits_for_its_owner_alone() {
        let clock = ManualClock::new();
        let early = clock.wait_until(1_000);
        tokio::pin!(early);
        assert!((&mut early).now_or_never().is_none());
        clock.advance(999);
        assert!((&mut early).now_or_never().is_none());
        clock.advance(1);
        early.await;
        assert_eq!(clock.read().boot_ms, 1_000);
    }

    #[test]
    fn op_4_a_restart_with_a_manual_clock_takes_no_time_and_gives_none_back() {
        let first = ManualClock::new();
        let start = first.read();
        first.advance(60_000);
        let end = first.read();
        let line = TimeLine::start(start.boot, start.boot_ms, start.wall).at(&end.boot, end.boot_ms, end.wall);
        assert_eq!(line.effective.0, 60_000);
        let second = ManualClock::new();
        let again = second.read();
        let line = line.at(&again.boot, again.boot_ms, again.wall);
        assert_eq!(line.effective.0, 60_000);
        second.advance(5);
        let later = second.read();
        assert_eq!(line.at(&later.boot, later.boot_ms, later.wall).effective.0, 60_005);
    }
}
