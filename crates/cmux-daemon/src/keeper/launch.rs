//! The launch of an agent: what it needs is written, it is named, and started in a pane of its own.

use std::sync::Arc;
use std::time::Duration;

use cmux_core::agent::{Agent, Pid};
use cmux_core::digest::Digest;
use cmux_core::id::{AgentId, RunId};
use cmux_core::plan::agents::START_WITHIN;
use cmux_core::report::Report;
use cmux_core::run::RunToken;
use cmux_drivers::process::Process;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::tmux::pane::Tags;
use cmux_drivers::tmux::spawn::{Spawn, Spawned};
use cmux_store::{agents, projects, runs, trust};
use tokio::task::spawn_blocking;
use tracing::warn;

use super::desk::Desk;
use super::house::House;
use super::prepare::{Around, Prepared, prepare};
use super::survey;
use super::watch::Watch;

/// How long tmux may take to make a pane.
const SPAWN_WITHIN: Duration = Duration::from_secs(20);

/// Why an agent was not launched.
pub(super) enum NotLaunched {
    /// It cannot be so, in words.
    Cannot(String),
    /// tmux does not answer. Whether it was launched is not known, and is seen when it does.
    Later,
}

impl From<String> for NotLaunched {
    fn from(why: String) -> NotLaunched {
        NotLaunched::Cannot(why)
    }
}

impl From<TmuxError> for NotLaunched {
    fn from(error: TmuxError) -> NotLaunched {
        match error {
            TmuxError::Late | TmuxError::Gone => NotLaunched::Later,
            TmuxError::Absent
            | TmuxError::TooOld { .. }
            | TmuxError::NoServer
            | TmuxError::NoPane(_)
            | TmuxError::Refused(_)
            | TmuxError::Garbled(_)
            | TmuxError::Unusable { .. }
            | TmuxError::Text(_) => NotLaunched::Cannot(error.to_string()),
        }
    }
}

/// Launches `run` of `agent` in `house`, unless it is too late for that or it is there already. Returns
/// why it cannot be, in words.
pub(super) async fn launch(
    desk: &Arc<Desk>,
    agent: &Agent,
    run: RunId,
    house: &House,
    others: &[House],
) -> Result<Option<Watch>, NotLaunched> {
    let Some(life) = agent.live_life().filter(|life| life.run == run) else { return Ok(None) };
    if desk.now().since(life.began_at) > START_WITHIN {
        return Ok(None);
    }
    for house in [house].into_iter().chain(others) {
        match already(desk, agent.id, run, house).await? {
            Already::This(spawned) => {
                return Ok(Some(watch(desk, agent, run, house, spawned)?));
            }
            Already::Another => return Ok(None),
            Already::Nobody => {}
        }
    }
    let around = around(desk, agent).await?;
    let (ready_desk, ready_agent) = (desk.clone(), agent.clone());
    let prepared = spawn_blocking(move || prepare(&ready_desk, &ready_agent, run, &around));
    let prepared = prepared.await.map_err(|error| NotLaunched::Cannot(error.to_string()))??;
    if !prepared.ignored.is_empty() {
        warn!(agent = %agent.id, ignored = ?prepared.ignored, "not all of its project's files act");
    }
    name(desk, agent, run, &prepared).await?;
    let spawn = Spawn {
        tags: Tags { agent: agent.id, run, name: agent.name.to_string(), kind: agent.kind.clone() },
        folder: agent.setup.cwd.clone(),
        environment: prepared.environment.into_iter().collect(),
        words: prepared.words,
    };
    let control = house.started().await?;
    let spawned = spawn.make(&control, SPAWN_WITHIN).await?;
    Ok(Some(watch(desk, agent, run, house, spawned)?))
}

/// Returns what the store knows of an agent's surroundings.
async fn around(desk: &Desk, agent: &Agent) -> Result<Around, String> {
    let (project, parent) = (agent.project.clone(), agent.parent);
    let found = desk.readers.read(move |view| {
        let parent = parent.map(|id| agents::find(view, id)).transpose()?.flatten();
        let trust = trust::find(view, &project)?;
        Ok((projects::find(view, &project)?, parent, trust))
    });
    let (project, parent, trust) = found.await.map_err(|error| error.to_string())?;
    let project = project.ok_or("its project is not there any more")?;
    Ok(Around { project, parent: parent.map(|parent| parent.name.to_string()), trust })
}

/// Who lives in a server already.
enum Already {
    Nobody,
    /// The very run.
    This(Spawned),
    /// Another run of the agent, which the store does not know to be over. It is told of.
    Another,
}

/// Looks whether an agent lives in a server already. A store that was put back does not know.
async fn already(
    desk: &Desk,
    agent: AgentId,
    run: RunId,
    house: &House,
) -> Result<Already, NotLaunched> {
    let panes = match house.panes().await {
        Ok(panes) => panes,
        Err(TmuxError::NoServer) => return Ok(Already::Nobody),
        Err(error) => return Err(error.into()),
    };
    for pane in &panes {
        let Some(tags) = pane.tags.as_ref().filter(|tags| tags.agent == agent) else { continue };
        if tags.run == run {
            let spawned = pane.pid.map(|pid| Spawned { pane: pane.id, pid });
            return Ok(spawned.map_or(Already::Nobody, Already::This));
        }
        let Some(tagged) = survey::tagged(house, pane, tags) else { continue };
        let other = tags.run;
        let found = desk.readers.read(move |view| runs::find_by_run(view, other)).await;
        let token = found.map_err(|error| error.to_string())?;
        let is_over = token.is_some_and(|token| !token.is_good());
        if let Some(report) = survey::report(house, tagged, tags).filter(|_| !is_over) {
            desk.inbox.tell(report);
            return Ok(Already::Another);
        }
    }
    Ok(Already::Nobody)
}

fn watch(
    desk: &Desk,
    agent: &Agent,
    run: RunId,
    house: &House,
    spawned: Spawned,
) -> Result<Watch, String> {
    // A process that has ended already had some beginning.
    let start = Process::find(spawned.pid).map_or(0, |process| process.start);
    let pid = Pid { pid: spawned.pid, start };
    Watch::new(desk, agent, run, house.clone(), spawned.pane, pid)
}

/// Has the kernel know by what a run is known, before it can show it.
async fn name(desk: &Desk, agent: &Agent, run: RunId, ready: &Prepared) -> Result<(), String> {
    let secret = Digest::of(ready.token.as_bytes());
    let token = RunToken::new(secret, run, agent.id, agent.project.clone(), desk.now());
    let session = ready.session.clone();
    let named = desk.inbox.ask(Report::RunNamed { token, session }).await;
    named.map(|_| ()).map_err(|denied| denied.to_string())
}
