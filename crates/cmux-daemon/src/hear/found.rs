//! Agents that were found: adopted, forgotten by the store, or left without a server.

use cmux_core::agent::{Agent, AgentName, Claim, Setup, Sighting, Tagged};
use cmux_core::digest::Digest;
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{AgentId, NewIds};
use cmux_core::plan::Subject;
use cmux_core::plan::agents::{event, news};
use cmux_core::project::ProjectId;
use cmux_core::report::{NewAgent, Refused};
use cmux_core::restart::RestartPolicy;
use cmux_core::run::RunToken;
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, Tx, agents, projects, runs};

use super::agents::{answer, remember, touched};
use crate::hear::Heard;

/// How much later each agent comes back than the one before, when all lost their server, in milliseconds.
const APART_MS: i64 = 200;

/// The role of whom it is not known, and of whom its name tells.
const SUPERVISOR: &str = "supervisor";
const WORKER: &str = "worker";

/// Takes a pane that a person started for an agent. Asking twice is asking once.
pub(super) fn adopt(
    tx: &mut Tx<'_>,
    actor: &Actor,
    new: &NewAgent,
    tagged: &Tagged,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    if let Err(why) = new.check() {
        return Ok(Heard::refused(why));
    }
    if projects::find(tx.view(), &new.project)?.is_none() {
        return Ok(Heard::refused(Refused::NoProject(new.project.clone())));
    }
    if let Some(there) = agents::find_by_name(tx.view(), &new.project, new.name.as_str())? {
        let is_it = there.adopted && there.kind == new.kind && lives_in(&there, tagged);
        return Ok(match is_it {
            true => Heard::told(answer(there, false)),
            false => Heard::refused(Refused::NameTaken(there.name)),
        });
    }
    let living = agents::in_server(tx.view(), &tagged.place.server)?;
    if let Some(there) = living.iter().find(|it| lives_in(it, tagged)) {
        let pane = tagged.place.pane.clone();
        return Ok(Heard::refused(Refused::PaneTaken { pane, agent: there.id }));
    }
    let agent = Agent::adopted(tagged.agent, new.clone(), tagged, now);
    agents::save(tx, &agent)?;
    let (name, kind) = (agent.name.to_string(), agent.kind.clone());
    let what = What::AgentAdopted { name, kind, pane: tagged.place.pane.clone() };
    tx.append(&Event { actor: actor.clone(), ..event(&agent, what) }, now)?;
    Ok(touched(agent, true))
}

fn lives_in(agent: &Agent, tagged: &Tagged) -> bool {
    use cmux_core::agent::LifeState;
    agent.life.as_ref().is_some_and(|life| match &life.state {
        LifeState::Alive { place, .. } | LifeState::Ending { place, .. } => *place == tagged.place,
        LifeState::Launching | LifeState::Ended { .. } | LifeState::Over => false,
    })
}

/// Takes note of a pane that carries an agent's tags and is not where the store has that agent. It is
/// never ended for that.
pub(super) fn pane(
    tx: &mut Tx<'_>,
    tagged: &Tagged,
    secret: Option<Digest>,
    name: &str,
    kind: &str,
    project: &ProjectId,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let known = agents::find(tx.view(), tagged.agent)?;
    let agent = match known {
        Some(agent) => {
            let token = runs::find_by_run(tx.view(), tagged.run)?;
            let is_over = token.is_some_and(|token| !token.is_good());
            match agent.claim(tagged.run, is_over) {
                Claim::Unknown => {}
                Claim::Home | Claim::Left | Claim::Stranger => return Ok(Heard::new([])),
            }
            if let Some(life) = &agent.life {
                runs::end(tx, life.run, now)?;
            }
            agent
        }
        None => match forgotten(tx, tagged.agent, name, kind, project, now)? {
            Some(agent) => agent,
            None => return Ok(Heard::new([])),
        },
    };
    let found = agent.living(tagged, now);
    agents::save(tx, &found)?;
    if let Some(secret) = secret {
        // It goes on to be known by what it was given at its launch.
        let project = found.project.clone();
        runs::save(tx, &RunToken::new(secret, tagged.run, found.id, project, now))?;
    }
    let (name, kind) = (found.name.to_string(), found.kind.clone());
    let what = What::AgentFound { name, kind, pane: tagged.place.pane.clone() };
    let cause = tx.append(&event(&found, what), now)?;
    for told in news(&agent, &found) {
        tx.append(&Event { cause: Some(cause), ..told }, now)?;
    }
    Ok(Heard::new([Subject::Agent(found.id)]))
}

/// Returns an agent that the store does not know any more, as far as its tags tell of it.
fn forgotten(
    tx: &Tx<'_>,
    id: AgentId,
    name: &str,
    kind: &str,
    project: &ProjectId,
    now: Timestamp,
) -> Result<Option<Agent>, StoreError> {
    let Some(home) = projects::find(tx.view(), project)? else { return Ok(None) };
    let setup =
        Setup { cwd: home.root, task: None, args: Vec::new(), env: Vec::new(), permanent: true };
    let role = if name == SUPERVISOR { SUPERVISOR } else { WORKER }.to_owned();
    for number in 1..100 {
        let tried = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let Ok(name) = AgentName::new(&tried) else { return Ok(None) };
        if agents::find_by_name(tx.view(), project, name.as_str())?.is_some() {
            continue;
        }
        let (kind, project) = (kind.to_owned(), project.clone());
        let new = NewAgent { project, name, role, kind, parent: None, setup };
        return Ok(new.check().is_ok().then(|| Agent::new(id, new, now)));
    }
    Ok(None)
}

/// Takes note that a tmux server is gone: one event, and all who lived in it come back, supervisors
/// first.
pub(super) fn server_lost(
    tx: &mut Tx<'_>,
    server: &str,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let mut lost = agents::in_server(tx.view(), server)?;
    if lost.is_empty() {
        return Ok(Heard::new([]));
    }
    lost.sort_by_key(|agent| (agent.role != SUPERVISOR, agent.id));
    let what =
        What::TmuxLost { server: server.to_owned(), agents: lost.iter().map(|it| it.id).collect() };
    let project = lost.first().map(|agent| agent.project.clone());
    let cause = tx.append(&Event { project, ..Event::own(what) }, now)?;
    let (policy, mut retry_at) = (RestartPolicy::default(), now);
    let mut touched = Vec::new();
    for agent in lost {
        let Some(life) = &agent.life else { continue };
        let (sighting, dice) = (Sighting::Homeless { retry_at }, u128::from(ids.ulid()) as u64);
        let Ok(after) = agent.after(life.run, sighting, now, &policy, dice) else { continue };
        remember(tx, &after, now, ids)?;
        // That each of them ended goes without saying.
        for told in news(&agent, &after) {
            if matches!(told.what, What::AgentPhase { .. }) {
                tx.append(&Event { cause: Some(cause), ..told }, now)?;
            }
        }
        touched.push(Subject::Agent(agent.id));
        retry_at = Timestamp(retry_at.0 + APART_MS);
    }
    Ok(Heard::new(touched))
}
