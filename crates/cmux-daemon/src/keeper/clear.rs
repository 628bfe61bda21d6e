//! The end of an agent: its own way out first, then signals, and nothing of it is left.

use std::time::Duration;

use cmux_core::agent::{Agent, Life, LifeState, Place};
use cmux_core::id::{AgentId, RunId};
use cmux_drivers::process::{Process, descendants, with_variable};
use cmux_drivers::tmux::{TmuxError, pane, visit};
use rustix::process::Signal;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::debug;

use super::desk::Desk;
use super::house::{ANSWER_WITHIN, House};
use super::saying::Said;
use super::watch::Watch;

/// How long a CLI may take to end when it is told to in its own way, and when it gets a signal.
const LEAVE_WITHIN: Duration = Duration::from_secs(6);
const TERM_WITHIN: Duration = Duration::from_secs(6);

/// How often it is looked again whether something is left.
const ROUNDS_MAX: u32 = 5;

/// How long what was killed may take to be gone.
const KILL_WITHIN: Duration = Duration::from_secs(5);

/// Ends the life that is watched, if it has not ended: asked in its own way, then by signals to all that
/// came of it. That it has ended is seen by whoever watches.
pub(super) async fn end(watch: &mut Watch, desk: &Desk) {
    watch.is_ending = true;
    if ask(watch, desk).await && has_ended(watch, LEAVE_WITHIN).await {
        return;
    }
    let launcher = watch.process;
    // The launcher passes it on, and ends what is left behind.
    signal(vec![launcher], Signal::TERM).await;
    if has_ended(watch, TERM_WITHIN).await {
        return;
    }
    // Not the launcher: as long as it lives, nothing gets away from it.
    let below = spawn_blocking(move || descendants(launcher.pid).unwrap_or_default()).await;
    signal(below.unwrap_or_default(), Signal::KILL).await;
    if !has_ended(watch, KILL_WITHIN).await {
        signal(vec![launcher], Signal::KILL).await;
    }
}

async fn has_ended(watch: &Watch, within: Duration) -> bool {
    timeout(within, watch.ended()).await.is_ok()
}

/// Asks a CLI to end in its own way, if it is at its prompt with nothing in it: what a person has typed
/// there must not be submitted. Returns whether it was asked.
async fn ask(watch: &mut Watch, desk: &Desk) -> bool {
    let Some(exit) = watch.kind.manifest.keys.exit.clone() else { return false };
    watch.say(&exit, "exit", desk).await == Said::Left
}

/// Sees to it that nothing is left of `run`: no process, and no pane in any of these servers. Returns why
/// something is, if it is.
pub(super) async fn clear(agent: AgentId, run: RunId, houses: &[House]) -> Result<(), String> {
    for _ in 0..ROUNDS_MAX {
        let gone = spawn_blocking(move || end_all(run)).await.map_err(|error| error.to_string())?;
        gone?;
        let mut closed = 0;
        for house in houses {
            match close(agent, run, house).await {
                Ok(count) => closed += count,
                Err(TmuxError::NoServer | TmuxError::NoPane(_)) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        // What was in a pane may take a while to end.
        if closed == 0 {
            return Ok(());
        }
    }
    Err("panes of it come again and again".to_owned())
}

/// Takes the tags from the pane of an adopted agent, in its server if it is known. All that runs there is
/// the person's own.
pub(super) async fn release(agent: &Agent, house: Option<&House>) -> Result<(), TmuxError> {
    let (Some(life), Some(house)) = (&agent.life, house) else { return Ok(()) };
    let pane = place_of(life).and_then(|place| place.pane.parse().ok());
    let Some(pane) = pane.filter(|_| house.is_persons()) else { return Ok(()) };
    let untagged = match house.control().await {
        Ok(control) => visit::untag(&control, pane, life.run, ANSWER_WITHIN).await,
        Err(error) => Err(error),
    };
    match untagged {
        Err(TmuxError::NoServer | TmuxError::NoPane(_)) => Ok(()),
        untagged => untagged,
    }
}

fn place_of(life: &Life) -> Option<&Place> {
    match &life.state {
        LifeState::Alive { place, .. } | LifeState::Ending { place, .. } => Some(place),
        LifeState::Ended { place, .. } => place.as_ref(),
        LifeState::Launching | LifeState::Over => None,
    }
}

/// Ends every process that is of `run`, and returns when they are gone.
fn end_all(run: RunId) -> Result<(), String> {
    for (signal, patience) in [(Signal::TERM, TERM_WITHIN), (Signal::KILL, KILL_WITHIN)] {
        let left = of_run(run)?;
        if left.is_empty() {
            return Ok(());
        }
        debug!(%run, left = left.len(), ?signal, "processes of it are left");
        // Those that launch others end what they launched, and only then themselves.
        for process in &left {
            let _ = process.signal(signal);
        }
        let begun = std::time::Instant::now();
        for process in left {
            process.wait_end(patience.saturating_sub(begun.elapsed()));
        }
    }
    match of_run(run)?.first() {
        None => Ok(()),
        Some(process) => Err(format!("process {} does not end", process.pid)),
    }
}

/// Returns every process that is of `run`: by its environment, or because it comes from one that is.
fn of_run(run: RunId) -> Result<Vec<Process>, String> {
    let mut found = with_variable("CMUX_RUN", &run.to_string()).map_err(|it| it.to_string())?;
    // A daemon does not end itself, wherever it was started.
    found.retain(|process| process.pid != std::process::id());
    let roots: Vec<u32> = found.iter().map(|process| process.pid).collect();
    for root in roots {
        for process in descendants(root).map_err(|it| it.to_string())? {
            if !found.contains(&process) && process.is_alive() {
                found.push(process);
            }
        }
    }
    Ok(found)
}

/// Closes the panes of `run` in a server, and returns how many there were.
async fn close(agent: AgentId, run: RunId, house: &House) -> Result<u32, TmuxError> {
    let control = house.control().await?;
    let mut closed = 0;
    for pane in pane::survey(&control, ANSWER_WITHIN).await? {
        let is_its_own =
            pane.tags.as_ref().is_some_and(|tags| tags.agent == agent && tags.run == run);
        if is_its_own {
            pane::kill(&control, pane.id, ANSWER_WITHIN).await?;
            closed += 1;
        }
    }
    Ok(closed)
}

async fn signal(processes: Vec<Process>, signal: Signal) {
    for process in processes {
        // It may have ended just now.
        let _ = process.signal(signal);
    }
}
