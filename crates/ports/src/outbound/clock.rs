//! The clock port: the only place that time enters from (OP-4).

use async_trait::async_trait;
use lineup_model::Wall;

/// One reading of the machine's clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Names this boot of the machine; another boot has another name.
    pub boot: String,
    /// Milliseconds since that boot, sleep included. Never goes back within one boot.
    pub boot_ms: u64,
    /// The wall clock. May jump either way.
    pub wall: Wall,
}

/// Reads the machine's clocks and waits on them.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Clock: Send + Sync {
    /// The clocks now. Never blocks and never fails.
    fn read(&self) -> ClockReading;

    /// Returns no later than 500 ms after the boot clock has passed `boot_ms`, also when the
    /// machine slept meanwhile. May return early; the caller reads again. Dropping the future is
    /// harmless.
    async fn wait_until(&self, boot_ms: u64);
}
