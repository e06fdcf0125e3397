//! One round: a scenario, killed once or twice, brought to its end, and checked.

use std::path::Path;

use crate::{
    agent::{Line, frames_of, has_outcome, is_outcome},
    check,
    db::Database,
    plan::{Class, Plan},
    scenario::{Life, Phase, Scenario, World},
    server::{Arm, Start, Started, start},
};

/// How long nobody runs in the scenario of that name, on the wall clock.
const AWAY_MS: i64 = 30 * 60 * 1000;

/// One kill that happened.
#[derive(Clone, Debug)]
pub struct Kill {
    pub class: Class,
    pub arm: Arm,
}

/// What a round came to.
#[derive(Debug, Default)]
pub struct Report {
    pub kills: Vec<Kill>,
    /// Arms that were not reached.
    pub missed: usize,
    pub violations: Vec<String>,
}

/// How a life ended.
enum End {
    Killed(Kill),
    Over,
}

/// Plays a round. `Err` is a fault of the round itself: it hung, or something answered wrongly.
pub async fn run(binary: &Path, plan: &Plan) -> Result<Report, String> {
    let world = World::new(plan.scenario, false)?;
    let mut report = Report::default();
    let outcome = lives(binary, plan, &world, &mut report).await;
    if let Err(problem) = outcome {
        report.violations.push(problem);
    }
    if report.violations.is_empty() {
        let database = Database::read(world.data.path()).await?;
        report.violations = check::at_the_end(&world.log.read(), &database);
    }
    Ok(report)
}

async fn lives(binary: &Path, plan: &Plan, world: &World, report: &mut Report) -> Result<(), String> {
    let mut away = 0;
    for (number, arm) in plan.arms.iter().chain([&Arm::Nothing]).enumerate() {
        let how = Start { binary, data: world.data.path(), arm: arm.clone(), list: None, away, system_clock: None };
        let end = life(how, plan, world, number).await?;
        if let End::Killed(kill) = end {
            report.kills.push(kill);
        } else if *arm != Arm::Nothing {
            report.missed += 1;
        }
        report.violations.extend(check::always(&world.log.read(), &Database::read(world.data.path()).await?));
        if !report.violations.is_empty() {
            return Ok(());
        }
        if plan.scenario == Scenario::Away {
            away += AWAY_MS;
        }
    }
    Ok(())
}

/// One life: until it is killed, or to the clean end.
async fn life(how: Start<'_>, plan: &Plan, world: &World, number: usize) -> Result<End, String> {
    let arm = how.arm.clone();
    let mut server = match start(how).await? {
        Started::Ready(server) => server,
        Started::Died(status) if arm == Arm::Nothing => return Err(format!("the server does not start: {status}")),
        Started::Died(_) => {
            // A first start has nothing to recover.
            let class = if number == 0 { Class::Other } else { Class::Recovery };
            return Ok(End::Killed(Kill { class, arm }));
        }
    };
    let mut life = Life::new(world, &server);
    let (first, last) = (number == 0, arm == Arm::Nothing);
    let played = tokio::select! {
        biased;
        // Dead, whatever the others say of it.
        status = server.ended() => Err(status?),
        done = drive(&mut life, first, last, number) => match done {
            Ok(()) => Ok(()),
            // A connection that breaks may be how the death is noticed first.
            Err(problem) => match tokio::time::timeout(std::time::Duration::from_secs(2), server.ended()).await {
                Ok(status) => Err(status?),
                Err(_alive) => return Err(problem),
            },
        },
    };
    match played {
        Ok(()) if last => {
            drop(life);
            server.stop().await?;
            Ok(End::Over)
        }
        Ok(()) => {
            // Not reached: it ends as a power cut would, here and now.
            server.kill().await?;
            life.drain().await;
            Ok(End::Over)
        }
        Err(status) if arm == Arm::Nothing => Err(format!("the server died by itself: {status}")),
        Err(_killed) => {
            let connected = life.agent.is_some();
            life.drain().await;
            let database = Database::read(world.data.path()).await?;
            let class = observed(&arm, plan.scenario, world.phase(), connected, &world.log.read(), &database);
            Ok(End::Killed(Kill { class, arm }))
        }
    }
}

async fn drive(life: &mut Life<'_>, first: bool, last: bool, number: usize) -> Result<(), String> {
    if first {
        life.play().await?;
    }
    if !first || last {
        life.finish(number).await?;
    }
    Ok(())
}

/// What a kill hit: by the point where it is one between a commit and its first effect, else by what
/// the database and the agent's log say. Each kill counts once.
fn observed(
    arm: &Arm,
    scenario: Scenario,
    phase: Phase,
    connected: bool,
    lines: &[Line],
    database: &Database,
) -> Class {
    if let Arm::Point { name, .. } = arm
        && crate::plan::after_commit(name)
    {
        return Class::AfterCommit;
    }
    let got = |id: &str| lines.iter().any(|line| matches!(line, Line::Got { frame, .. } if frame["id"] == id));
    let unsent = database
        .messages()
        .any(|message| database.outbox.contains(&(message.place, message.index)) && !got(&message.id));
    if !connected && unsent {
        return Class::Unsent;
    }
    let open = database.open_calls.len();
    let starting = database.of_kind("activation").next().is_some();
    let focusing = database.of_kind("operation").next().is_some();
    let unheard = |call: &str| frames_of(lines, call).next().is_some() && !has_outcome(lines, call);
    let asked = phase == Phase::Settling && scenario != Scenario::Texts;
    if asked && (unheard("k1") || database.facts("call_ended").count() > lines_outcomes(lines)) {
        return Class::Settling;
    }
    match (starting, open, focusing) {
        (true, 2.., _) => Class::Waiting,
        (true, _, _) => Class::Starting,
        (false, _, true) => Class::Focusing,
        (false, _, false) => Class::Other,
    }
}

fn lines_outcomes(lines: &[Line]) -> usize {
    let calls: std::collections::BTreeSet<&str> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Got { frame, .. } if is_outcome(frame) => frame["call_id"].as_str(),
            Line::Got { .. } | Line::Sent { .. } | Line::Safe { .. } => None,
        })
        .collect();
    calls.len()
}

/// Plays a scenario with nothing armed, and gives the lines of its list: every hit and every phase.
pub async fn listen(binary: &Path, scenario: Scenario) -> Result<Vec<String>, String> {
    let world = World::new(scenario, true)?;
    let how = Start {
        binary,
        data: world.data.path(),
        arm: Arm::Nothing,
        list: world.list.clone(),
        away: 0,
        system_clock: None,
    };
    let Started::Ready(server) = start(how).await? else {
        return Err("the server does not start".to_owned());
    };
    let mut life = Life::new(&world, &server);
    life.play().await?;
    world.end_of_play()?;
    life.finish(0).await?;
    drop(life);
    server.stop().await?;
    let database = Database::read(world.data.path()).await?;
    let violations = check::at_the_end(&world.log.read(), &database);
    if !violations.is_empty() {
        return Err(format!("{scenario:?} without any kill: {}", violations.join("; ")));
    }
    let list = world.list.as_deref().unwrap_or_else(|| Path::new(""));
    let text = std::fs::read_to_string(list).map_err(|error| error.to_string())?;
    Ok(text.lines().map(str::to_owned).collect())
}
