//! Focus periods of one real minute on the machine's clock (OP-4): a process that is stopped across
//! its deadline, and wall clocks that are set an hour forward and back.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::Signal;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    agent::{Line, frames_of, is_outcome},
    check,
    db::Database,
    scenario::{Life, Scenario, World},
    server::{Arm, Server, Start, Started, start},
};

/// The length of the period.
const MINUTE: Duration = Duration::from_secs(60);
/// How late an outcome may be (OP-4), with what the way to the agent takes.
const LATE: Duration = Duration::from_millis(1_000);
/// How early it may seem: the period began a moment before the agent heard of it.
const EARLY: Duration = Duration::from_millis(500);

/// What is done to the period.
enum What {
    /// SIGSTOP before the deadline, SIGCONT after it.
    Stopped,
    /// The wall clock is set by these hours in the middle, with libfaketime.
    Set(&'static str, PathBuf),
}

/// Runs them side by side and says what was seen.
pub async fn run(binary: &Path) -> Result<String, String> {
    let Some(library) = library() else {
        let stopped = period(binary, What::Stopped).await?;
        return Ok(format!("{stopped}\nskipped: a wall clock that is set, for libfaketime is not installed"));
    };
    let (stopped, forward, back) = tokio::try_join!(
        period(binary, What::Stopped),
        period(binary, What::Set("+1h", library.clone())),
        period(binary, What::Set("-1h", library)),
    )?;
    Ok(format!("{stopped}\n{forward}\n{back}"))
}

fn library() -> Option<PathBuf> {
    let places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    places.iter().map(|place| Path::new(place).join("faketime/libfaketimeMT.so.1")).find(|file| file.exists())
}

async fn period(binary: &Path, what: What) -> Result<String, String> {
    let world = World::new(Scenario::Minute, false)?;
    let wall = world.data.path().join("wall");
    std::fs::write(&wall, "+0").map_err(|error| error.to_string())?;
    let told = match &what {
        What::Stopped => vec![],
        // The wall clock alone: the other clocks stay the machine's.
        What::Set(_, library) => vec![
            ("LD_PRELOAD", library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", wall.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ],
    };
    let (arm, list) = (Arm::Nothing, None);
    let how = Start { binary, data: world.data.path(), arm, list, away: 0, system_clock: Some(told) };
    let Started::Ready(server) = start(how).await? else { return Err("the server does not start".to_owned()) };
    let mut life = Life::new(&world, &server);
    life.play().await?;
    let begun = Instant::now();
    let said = match &what {
        What::Stopped => stopped(&server, &life, begun).await?,
        What::Set(by, _) => {
            sleep(Duration::from_secs(10)).await;
            std::fs::write(&wall, by).map_err(|error| error.to_string())?;
            let took = ended(&life, begun).await?;
            format!("wall clock {by} after 10 s: ended {took} ms after it began")
        }
    };
    drop(life);
    server.stop().await?;
    let (lines, database) = (world.log.read(), Database::read(world.data.path()).await?);
    let wrong = check::always(&lines, &database);
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    one_outcome(&lines)?;
    let moved = database.wall_range();
    match &what {
        What::Set("+1h", _) if moved < 3_600_000 => Err(format!("the wall clock was not set: it moved {moved} ms")),
        What::Set("-1h", _) if moved > -3_000_000 => Err(format!("the wall clock was not set: it moved {moved} ms")),
        What::Set(..) | What::Stopped => Ok(format!("{said}, once; the journal's wall clock moved {moved} ms")),
    }
}

/// Stops the process before its deadline and lets it go on after it.
async fn stopped(server: &Server, life: &Life<'_>, begun: Instant) -> Result<String, String> {
    sleep_until(begun + MINUTE - Duration::from_secs(5)).await;
    server.signal(Signal::STOP);
    sleep_until(begun + MINUTE + Duration::from_secs(5)).await;
    server.signal(Signal::CONT);
    let again = Instant::now();
    life.outcome("k1", LATE).await.map_err(|_| "not settled within 1 s after SIGCONT".to_owned())?;
    Ok(format!(
        "stopped from 5 s before to 5 s after the deadline: settled {} ms after SIGCONT",
        again.elapsed().as_millis()
    ))
}

async fn ended(life: &Life<'_>, begun: Instant) -> Result<u128, String> {
    life.outcome("k1", MINUTE + LATE).await?;
    let took = begun.elapsed();
    if took < MINUTE - EARLY || took > MINUTE + LATE {
        return Err(format!("a minute took {took:?}"));
    }
    Ok(took.as_millis())
}

fn one_outcome(lines: &[Line]) -> Result<(), String> {
    match frames_of(lines, "k1").filter(|frame| is_outcome(frame)).count() {
        1 => Ok(()),
        count => Err(format!("{count} outcomes were received")),
    }
}
