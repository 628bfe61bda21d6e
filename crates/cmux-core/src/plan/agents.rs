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

/// How much later whoever watches an agent start may tell that it is late, and what is on its screen.
pub const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// How long it may take to end an agent, or to clear away what it left, before it is tried again.
pub const END_WITHIN: Duration = Duration::from_secs(40);

/// How far two words for the end of one phase may be apart, and mean the same moment.
const COUNTED_LAG: Duration = Duration::from_secs(5);

/// Returns what is due for `agent` at `now`.
pub fn plan(agent: &Agent, policy: &RestartPolicy, now: Timestamp, ids: &mut dyn NewIds) -> Plan {
    let mut plan = Plan::default();
    match &agent.life {
        None => plan.keep_none(agent, now, ids),
        Some(life) => match &life.state {
            LifeState::Over => plan.keep_none(agent, now, ids),
            LifeState::Launching => plan.keep_launching(agent, life, policy, now, ids),
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
            Intent::Run if agent.adopted => return,
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

    /// A process is on its way. If none is wanted, and it was heard from before it was known where it
    /// lives, there is nobody to be told to end: it is cleared away.
    fn keep_launching(
        &mut self,
        agent: &Agent,
        life: &Life,
        policy: &RestartPolicy,
        now: Timestamp,
        ids: &mut dyn NewIds,
    ) {
        let is_heard = !matches!(agent.phase, Phase::Starting { .. });
        match agent.intent {
            Intent::Stop if is_heard => {
                let how = "it was not wanted any more".to_owned();
                self.give_up(agent, life, Sighting::Ended { how }, policy, now, ids);
            }
            Intent::Stop | Intent::Run | Intent::Pause => {
                self.give_up_late(agent, life, policy, now, ids);
            }
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
        let deadline = deadline + TOLD_WITHIN;
        if now < deadline {
            self.wake(deadline);
            return;
        }
        self.give_up(agent, life, Sighting::Overdue { screen: None }, policy, now, ids);
    }

    /// Takes a life for over, as this `sighting` says. What is left of it is cleared away next.
    fn give_up(
        &mut self,
        agent: &Agent,
        life: &Life,
        sighting: Sighting,
        policy: &RestartPolicy,
        now: Timestamp,
        ids: &mut dyn NewIds,
    ) {
        let dice = u128::from(ids.ulid()) as u64;
        let Ok(after) = agent.after(life.run, sighting, now, policy, dice) else { return };
        self.wake(due(&after).unwrap_or(now));
        let told = news(agent, &after).into_iter();
        self.steps.push(Step { record: Some(Record::Agent(Box::new(after))), ..Step::default() });
        self.steps.extend(told.map(|event| Step { event: Some(event), ..Step::default() }));
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
                Phase::Starting { deadline } => Some(deadline + TOLD_WITHIN),
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

/// Returns the step to `after`, which tells of the phase if that is another.
fn step(before: &Agent, after: Agent, action: Option<Action>) -> Step {
    let event = phase_event(before, &after);
    Step { record: Some(Record::Agent(Box::new(after))), event, action }
}

/// Returns what there is to tell of an agent that was `before` and is `after`: that its life ended, and
/// that it is in another phase.
pub fn news(before: &Agent, after: &Agent) -> Vec<Event> {
    [exit_event(before, after), phase_event(before, after)].into_iter().flatten().collect()
}

fn exit_event(before: &Agent, after: &Agent) -> Option<Event> {
    if before.live_life().is_none() || after.live_life().is_some() {
        return None;
    }
    let how = after.reason.clone().unwrap_or_default();
    Some(event(after, What::AgentExited { how }))
}

fn phase_event(before: &Agent, after: &Agent) -> Option<Event> {
    let (from, to) = (before.phase.name(), after.phase.name());
    let (reason, until) = (after.reason.clone(), after.phase.until());
    let is_news = from != to || is_another(before.phase.until(), until);
    is_news.then(|| event(after, What::AgentPhase { from, to, reason, until }))
}

/// Returns whether `after` is another end than `before`: a line that counts down says a little else at each look.
fn is_another(before: Option<Timestamp>, after: Option<Timestamp>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => before.since(after).max(after.since(before)) > COUNTED_LAG,
        (before, after) => before.is_some() != after.is_some(),
    }
}

/// Returns an event of cmux's own, of `agent` in its present life.
pub fn event(agent: &Agent, what: What) -> Event {
    let run = agent.life.as_ref().map(|life| life.run);
    Event { agent: Some(agent.id), run, ..Event::own_in(&agent.project, what) }
}

#[cfg(test)]
mod tests;
