//! Keeps each agent as it is wanted: launched, brought back, ended, and nothing of it left behind.

use std::time::Duration;

use crate::agent::{Agent, Intent, Life, LifeState, Sighting};
use crate::event::{Event, What};
use crate::id::{NewIds, RunId};
use crate::phase::Phase;
use crate::plan::{Action, Plan, Record, Step};
use crate::restart::RestartPolicy;
use crate::time::Timestamp;

/// How long an agent may take from its launch to its prompt.
pub const START_WITHIN: Duration = Duration::from_mins(2);

/// How long it may take to end an agent, or to clear away what it left, before it is tried again.
pub const END_WITHIN: Duration = Duration::from_secs(40);

/// Returns what is due for `agent` at `now`.
pub fn plan(agent: &Agent, policy: &RestartPolicy, now: Timestamp, ids: &mut dyn NewIds) -> Plan {
    let mut plan = Plan::default();
    match &agent.life {
        None => plan.keep_none(agent, now, ids),
        Some(life) => match &life.state {
            LifeState::Over => plan.keep_none(agent, now, ids),
            LifeState::Launching => plan.give_up_late(agent, life, policy, now, ids),
            LifeState::Alive { .. } => plan.keep_alive(agent, life, policy, now, ids),
            LifeState::Ending { deadline, .. } => {
                plan.at(*deadline, now, || end(agent, life.run, now));
            }
            LifeState::Ended { deadline, .. } => {
                plan.at(*deadline, now, || clear(agent, life.run, now));
            }
        },
    }
    plan
}

impl Plan {
    /// There is no process. If one is wanted, and its time has come, it is launched.
    fn keep_none(&mut self, agent: &Agent, now: Timestamp, ids: &mut dyn NewIds) {
        match agent.intent {
            Intent::Stop | Intent::Pause => return,
            Intent::Run => {}
        }
        match agent.phase {
            Phase::Down { retry_at } => self.at(retry_at, now, || launch(agent, now, ids)),
            Phase::Failed => {}
            Phase::Offline
            | Phase::Starting { .. }
            | Phase::Idle
            | Phase::Busy
            | Phase::Asking
            | Phase::Limited { .. } => self.at(now, now, || launch(agent, now, ids)),
        }
    }

    /// There is a process. If none is wanted, it is told to end; if it does not get to its prompt, too.
    fn keep_alive(
        &mut self,
        agent: &Agent,
        life: &Life,
        policy: &RestartPolicy,
        now: Timestamp,
        ids: &mut dyn NewIds,
    ) {
        match agent.intent {
            Intent::Stop => self.at(now, now, || end(agent, life.run, now)),
            Intent::Run | Intent::Pause => self.give_up_late(agent, life, policy, now, ids),
        }
    }

    fn give_up_late(
        &mut self,
        agent: &Agent,
        life: &Life,
        policy: &RestartPolicy,
        now: Timestamp,
        ids: &mut dyn NewIds,
    ) {
        let Phase::Starting { deadline } = agent.phase else { return };
        self.at(deadline, now, || give_up(agent, life.run, policy, now, ids));
    }

    /// Adds a step if its time has come, and in any case a wake-up for when it has.
    fn at(&mut self, at: Timestamp, now: Timestamp, step: impl FnOnce() -> Step) {
        if now < at {
            self.wake(at);
            return;
        }
        let step = step();
        if let Some(Record::Agent(agent)) = &step.record {
            self.wake(due(agent).unwrap_or(now + END_WITHIN));
        }
        self.steps.push(step);
    }
}

/// Returns when there is something to do for `agent` if nothing is heard.
fn due(agent: &Agent) -> Option<Timestamp> {
    let life = agent.life.as_ref().map(|life| &life.state);
    match life {
        Some(LifeState::Ending { deadline, .. } | LifeState::Ended { deadline, .. }) => {
            Some(*deadline)
        }
        Some(LifeState::Launching | LifeState::Alive { .. } | LifeState::Over) | None => {
            match agent.phase {
                Phase::Starting { deadline } => Some(deadline),
                Phase::Down { retry_at } => Some(retry_at),
                Phase::Offline
                | Phase::Idle
                | Phase::Busy
                | Phase::Asking
                | Phase::Limited { .. }
                | Phase::Failed => None,
            }
        }
    }
}

fn launch(agent: &Agent, now: Timestamp, ids: &mut dyn NewIds) -> Step {
    let run = RunId::new(ids.ulid());
    let launching = agent.launching(run, now + START_WITHIN, now);
    let action = Action::LaunchAgent { agent: Box::new(launching.clone()), run };
    step(agent, launching, Some(action))
}

fn end(agent: &Agent, run: RunId, now: Timestamp) -> Step {
    let ending = agent.ending(now + END_WITHIN);
    let action = Action::EndAgent { agent: Box::new(ending.clone()), run };
    step(agent, ending, Some(action))
}

fn clear(agent: &Agent, run: RunId, now: Timestamp) -> Step {
    let clearing = agent.clearing(now + END_WITHIN);
    let action = Action::ClearRun { agent: Box::new(clearing.clone()), run };
    step(agent, clearing, Some(action))
}

/// Takes a life that did not get to its prompt for over. What is left of it is cleared away next.
fn give_up(
    agent: &Agent,
    run: RunId,
    policy: &RestartPolicy,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Step {
    let sighting = Sighting::Overdue { screen: None };
    let dice = u128::from(ids.ulid()) as u64;
    match agent.after(run, sighting, now, policy, dice) {
        Ok(after) => step(agent, after, None),
        Err(_) => Step::default(),
    }
}

/// Returns the step to `after`, which tells of the phase if that is another.
fn step(before: &Agent, after: Agent, action: Option<Action>) -> Step {
    let event = (before.phase.name() != after.phase.name()).then(|| phase_event(before, &after));
    Step { record: Some(Record::Agent(after)), event, action }
}

/// Returns the event that tells that an agent is in another phase.
pub fn phase_event(before: &Agent, after: &Agent) -> Event {
    let what = What::AgentPhase {
        from: before.phase.name(),
        to: after.phase.name(),
        reason: after.reason.clone(),
    };
    let run = after.life.as_ref().map(|life| life.run);
    Event { agent: Some(after.id), run, ..Event::own_in(&after.project, what) }
}
