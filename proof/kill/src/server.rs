//! One life of the server process.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// How long anything may take before the round fails instead of hanging.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What ends a life early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Nothing.
    Nothing,
    /// The k-th hit of a point.
    Point {
        /// The point's name.
        name: String,
        /// Which hit, from 1.
        hit: u64,
    },
    /// The k-th system call of this name in one thread (`strace`).
    Syscall {
        /// Such as `pwrite64`.
        name: String,
        /// Which one, from 1.
        hit: u64,
    },
}

impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Point { name, hit } => write!(f, "{name}:{hit}"),
            Self::Syscall { name, hit } => write!(f, "strace.{name}:{hit}"),
        }
    }
}

/// How a life begins.
pub struct Start<'a> {
    pub binary: &'a Path,
    pub data: &'a Path,
    pub arm: Arm,
    /// Where every hit is written.
    pub list: Option<PathBuf>,
    /// How far the wall clock of this life is ahead of the first one's, in milliseconds.
    pub away: i64,
    /// The machine's clock instead of one that stands still, and what else the process is told.
    pub system_clock: Option<Vec<(&'static str, String)>>,
}

/// A process that said that it is ready.
pub struct Server {
    child: Child,
    pid: Pid,
    pub address: String,
    _stdout: Lines<BufReader<ChildStdout>>,
}

/// How a start went.
pub enum Started {
    Ready(Box<Server>),
    /// It ended before it was ready.
    Died(ExitStatus),
}

/// Starts a server and waits until it is ready or dead.
pub async fn start(how: Start<'_>) -> Result<Started, String> {
    let mut command = match &how.arm {
        Arm::Syscall { name, hit } => {
            let mut command = Command::new("strace");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e"]).arg(format!("trace={name}"));
            command.arg("-e").arg(format!("inject={name}:signal=KILL:when={hit}")).arg(how.binary);
            command
        }
        Arm::Point { .. } | Arm::Nothing => Command::new(how.binary),
    };
    let clock = if how.system_clock.is_some() { "system" } else { "manual" };
    command.args(["serve", "--listen", "127.0.0.1:0", "--json", "--clock", clock, "--data"]).arg(how.data);
    command.env("LINEUP_LOG", "off").env("LINEUP_CLOCK_AWAY_MS", how.away.to_string());
    command.env_remove("LINEUP_FAILPOINT").env_remove("LINEUP_FAILPOINT_LIST");
    command.envs(how.system_clock.into_iter().flatten());
    if let Arm::Point { .. } = &how.arm {
        command.env("LINEUP_FAILPOINT", how.arm.to_string());
    }
    if let Some(list) = how.list {
        command.env("LINEUP_FAILPOINT_LIST", list);
    }
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn();
    let mut child = spawned.map_err(|error| format!("the server cannot be started: {error}"))?;
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let line = timeout(PATIENCE, stdout.next_line()).await.map_err(|_| "the server is not ready within 20 s")?;
    let Ok(Some(line)) = line else {
        let status = timeout(PATIENCE, child.wait()).await.map_err(|_| "the server does not end")?;
        return Ok(Started::Died(status.map_err(|error| error.to_string())?));
    };
    let ready: Value = serde_json::from_str(&line).map_err(|error| format!("`{line}`: {error}"))?;
    let pid = ready["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let pid = pid.ok_or_else(|| format!("`{line}` names no process"))?;
    let address = ready["listen"].as_str().unwrap_or_default().to_owned();
    Ok(Started::Ready(Box::new(Server { child, pid, address, _stdout: stdout })))
}

impl Server {
    /// Waits for its end.
    pub async fn ended(&mut self) -> Result<ExitStatus, String> {
        self.child.wait().await.map_err(|error| error.to_string())
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // It may have ended by itself.
        let _gone = kill_process(self.pid, signal);
    }

    /// Ends it as a power cut would.
    pub async fn kill(mut self) -> Result<(), String> {
        self.signal(Signal::KILL);
        timeout(PATIENCE, self.ended()).await.map_err(|_| "the server does not die")?.map(drop)
    }

    /// Ends it politely; it must exit with 0.
    pub async fn stop(mut self) -> Result<(), String> {
        self.signal(Signal::TERM);
        let status = timeout(PATIENCE, self.ended()).await.map_err(|_| "the server does not stop")??;
        if status.success() { Ok(()) } else { Err(format!("a clean stop ended with {status}")) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.id().is_some() {
            self.signal(Signal::KILL);
        }
    }
}
