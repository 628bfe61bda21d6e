//! What is asked of agents, and what is seen of them.

use cmux_core::agent::{AGENTS_MAX, Agent, Intent, LifeState, Sighting};
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{AgentId, NewIds, RunId};
use cmux_core::phase::Phase;
use cmux_core::plan::agents::{event, news};
use cmux_core::plan::{Action, Subject};
use cmux_core::report::{Answer, NewAgent, Refused};
use cmux_core::restart::RestartPolicy;
use cmux_core::run::RunToken;
use cmux_core::time::Timestamp;
use cmux_store::{StoreError, Tx, agents, projects, runs, usage};

use crate::hear::{Heard, mail};

/// Asking twice is asking once: the agent that is there already, and was launched so, is the answer.
pub(super) fn spawn(
    tx: &mut Tx<'_>,
    actor: &Actor,
    new: &NewAgent,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    if let Err(why) = new.check() {
        return Ok(Heard::refused(why));
    }
    if projects::find(tx.view(), &new.project)?.is_none() {
        return Ok(Heard::refused(Refused::NoProject(new.project.clone())));
    }
    if let Some(agent) = agents::find_by_name(tx.view(), &new.project, new.name.as_str())? {
        return Ok(match agent.is_as(new) {
            true => Heard::told(answer(agent, false)),
            false => Heard::refused(Refused::NameTaken(agent.name)),
        });
    }
    if agents::count(tx.view(), &new.project)? >= AGENTS_MAX {
        return Ok(Heard::refused(Refused::TooManyAgents));
    }
    let agent = Agent::new(AgentId::new(ids.ulid()), new.clone(), now);
    agents::save(tx, &agent)?;
    let what = What::AgentSpawned {
        name: agent.name.to_string(),
        role: agent.role.clone(),
        kind: agent.kind.clone(),
        parent: agent.parent,
    };
    tx.append(&Event { actor: actor.clone(), ..event(&agent, what) }, now)?;
    Ok(touched(agent, true))
}

/// Has an agent run, pause or stop from now on.
pub(super) fn want(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: AgentId,
    intent: Intent,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(agent) = agents::find(tx.view(), id)? else { return Ok(missing(id)) };
    let is_possible = match intent {
        Intent::Run => agent.may_run(),
        Intent::Pause | Intent::Stop => true,
    };
    if !is_possible {
        return Ok(Heard::refused(Refused::Adopted(agent.name)));
    }
    let asked = agent.asked(intent, now);
    change(tx, actor, agent, asked, intent.name(), now)
}

/// Ends an agent's life, if it has one, so that another begins.
pub(super) fn restart(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: AgentId,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(agent) = agents::find(tx.view(), id)? else { return Ok(missing(id)) };
    if agent.adopted {
        return Ok(Heard::refused(Refused::Adopted(agent.name)));
    }
    let asked = agent.restarted(now);
    change(tx, actor, agent, asked, "restart", now)
}

/// Stores an agent of which something else is wanted, and tells of it. Asking twice is asking once.
fn change(
    tx: &mut Tx<'_>,
    actor: &Actor,
    before: Agent,
    after: Agent,
    intent: &'static str,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    if after == before {
        return Ok(Heard::told(answer(before, false)));
    }
    agents::save(tx, &after)?;
    let asked = event(&after, What::AgentAsked { intent });
    let cause = tx.append(&Event { actor: actor.clone(), ..asked }, now)?;
    for told in news(&before, &after) {
        tx.append(&Event { cause: Some(cause), ..told }, now)?;
    }
    Ok(touched(after, false))
}

/// Forgets an agent of whose life nothing is left, or nothing that is cmux's.
pub(super) fn remove(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: AgentId,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let Some(agent) = agents::find(tx.view(), id)? else { return Ok(missing(id)) };
    if !agent.may_be_forgotten() {
        return Ok(Heard::refused(Refused::AgentRuns(agent.name)));
    }
    agents::remove(tx, id)?;
    usage::forget(tx, id)?;
    let removed = event(&agent, What::AgentRemoved { name: agent.name.to_string() });
    tx.append(&Event { actor: actor.clone(), ..removed }, now)?;
    mail::reader_forgotten(tx, id, now, ids)?;
    let actions = vec![Action::ForgetAgent { agent: Box::new(agent) }];
    Ok(Heard { actions, ..Heard::new([Subject::Agent(id)]) })
}

/// What is seen of another life, too late or twice changes nothing.
pub(super) fn seen(
    tx: &mut Tx<'_>,
    id: AgentId,
    run: RunId,
    sighting: &Sighting,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let Some(agent) = agents::find(tx.view(), id)? else { return Ok(Heard::new([])) };
    let (policy, dice) = (RestartPolicy::default(), u128::from(ids.ulid()) as u64);
    let Ok(after) = agent.after(run, sighting.clone(), now, &policy, dice) else {
        return Ok(Heard::new([]));
    };
    remember(tx, &after, now, ids)?;
    for told in news(&agent, &after) {
        tx.append(&told, now)?;
    }
    Ok(Heard::new([Subject::Agent(id)]))
}

/// Takes what a life shows to be known, if that life is the agent's present one and goes on.
pub(super) fn named(
    tx: &mut Tx<'_>,
    token: &RunToken,
    session: Option<&str>,
) -> Result<Heard, StoreError> {
    let is_its_own = |agent: &Agent| {
        let life = agent.live_life();
        life.is_some_and(|life| life.run == token.run) && agent.project == token.project
    };
    let agent = agents::find(tx.view(), token.agent)?.filter(is_its_own);
    let Some(agent) = agent else { return Ok(Heard::refused(Refused::NoAgent(token.agent))) };
    runs::save(tx, token)?;
    if let Some(session) = session {
        agents::save(tx, &Agent { session: Some(session.to_owned()), ..agent })?;
    }
    Ok(Heard::new([]))
}

/// Has an agent stop in what it does, if it does anything.
pub(super) fn interrupt(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: AgentId,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(agent) = agents::find(tx.view(), id)? else { return Ok(missing(id)) };
    let Some(run) = agent.live_life().map(|life| life.run).filter(|_| agent.is_interruptible())
    else {
        let (name, phase) = (agent.name, agent.phase.name());
        return Ok(Heard::refused(Refused::NotBusy { name, phase }));
    };
    let asked = event(&agent, What::AgentAsked { intent: "interrupt" });
    let told = tx.append(&Event { actor: actor.clone(), ..asked }, now)?;
    let step = format!("interrupt-{}", told.0);
    let action = Action::InterruptAgent { agent: Box::new(agent.clone()), run, step };
    Ok(Heard { actions: vec![action], ..Heard::told(answer(agent, false)) })
}

/// Stores `agent`. What a life showed to be known is good for nothing once it has ended, and who has failed
/// is told of.
pub(crate) fn remember(
    tx: &mut Tx<'_>,
    agent: &Agent,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<(), StoreError> {
    if agent.phase == Phase::Failed {
        mail::agent_failed(tx, agent, now, ids)?;
    }
    agents::save(tx, agent)?;
    match &agent.life {
        Some(life) if matches!(life.state, LifeState::Ended { .. }) => runs::end(tx, life.run, now),
        Some(_) | None => Ok(()),
    }
}

fn missing(id: AgentId) -> Heard {
    Heard::refused(Refused::NoAgent(id))
}

pub(super) fn touched(agent: Agent, created: bool) -> Heard {
    let touched = [Subject::Agent(agent.id)].into();
    Heard { answer: Ok(answer(agent, created)), touched, actions: Vec::new() }
}

pub(super) fn answer(agent: Agent, created: bool) -> Answer {
    Answer::Agent { agent: Box::new(agent), created }
}
