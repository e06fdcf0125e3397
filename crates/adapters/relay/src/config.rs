//! The limits of a relay.

use std::time::Duration;

/// What a relay allows. The defaults are the ones of `docs/wire.md`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// How long a connected receiver has to acknowledge before the envelope is written to disk.
    pub grace: Duration,
    /// How long an acknowledged envelope may stay on disk, so that removals share a commit. After
    /// a crash of the relay within this time it is delivered once more.
    pub linger: Duration,
    /// Connections that one agent may have at once.
    pub connections: usize,
    /// Bytes that are kept for one connection of an agent after another one has acknowledged them;
    /// a connection that is further behind is closed.
    pub owed_bytes: usize,
    /// Deliveries that one connection may leave unacknowledged.
    pub window: usize,
    /// Bytes of payload that one connection may leave unacknowledged (a single larger one passes).
    pub window_bytes: usize,
    /// Bytes of payload that one sender may have in memory, not yet safe. It is not read meanwhile.
    pub unsafe_bytes: usize,
    /// Frames that wait to be written to one connection; one more closes it.
    pub queue: usize,
    /// How often a silent connection is pinged.
    pub ping: Duration,
    /// How long a connection may be silent.
    pub idle: Duration,
    /// How long a new connection may take to say hello.
    pub hello: Duration,
    /// Pings and pongs that a client may send within one second.
    pub control_frames: u32,
    /// How long the relay waits after its disk has failed before it tries again.
    pub retry: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            grace: Duration::from_millis(20),
            linger: Duration::from_millis(500),
            connections: 16,
            owed_bytes: 2 * 1024 * 1024,
            window: 256,
            window_bytes: 2 * 1024 * 1024,
            unsafe_bytes: 4 * 1024 * 1024,
            queue: 4096,
            ping: Duration::from_secs(15),
            idle: Duration::from_secs(45),
            hello: Duration::from_secs(10),
            control_frames: 64,
            retry: Duration::from_secs(1),
        }
    }
}
