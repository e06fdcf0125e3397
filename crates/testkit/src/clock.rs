//! A clock that moves when it is told to.

use std::sync::Mutex;

use async_trait::async_trait;
use lineup_model::Wall;
use lineup_ports::outbound::{Clock, ClockReading};
use tokio::sync::Notify;

/// A clock that moves when it is told to. Starts at boot `b1`, 0 ms, in 2026.
#[derive(Debug)]
pub struct VirtualClock {
    reading: Mutex<ClockReading>,
    moved: Notify,
}

impl Default for VirtualClock {
    fn default() -> Self {
        let reading = ClockReading { boot: "b1".into(), boot_ms: 0, wall: Wall(1_796_000_000_000) };
        Self { reading: Mutex::new(reading), moved: Notify::new() }
    }
}

impl VirtualClock {
    /// Changes the reading and wakes whoever waits.
    ///
    /// # Panics
    /// When another thread panicked while it changed the reading.
    pub fn set(&self, change: impl FnOnce(&mut ClockReading)) {
        change(&mut self.reading.lock().expect("no one panics while changing the reading"));
        self.moved.notify_waiters();
    }

    /// Lets time pass, on both clocks.
    pub fn advance(&self, millis: u64) {
        self.set(|reading| {
            reading.boot_ms += millis;
            reading.wall.0 += i64::try_from(millis).unwrap_or(i64::MAX);
        });
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn read(&self) -> ClockReading {
        self.reading.lock().expect("no one panics while changing the reading").clone()
    }

    async fn wait_until(&self, boot_ms: u64) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if self.read().boot_ms >= boot_ms {
                return;
            }
            moved.await;
        }
    }
}
