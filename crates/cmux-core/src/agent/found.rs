//! Agents that are found rather than launched: panes that a person started, or that the store forgot.

use super::{Agent, Intent, Life, LifeState, Pid, Place};
use crate::id::{AgentId, RunId};
use crate::phase::Phase;
use crate::report::NewAgent;
use crate::time::Timestamp;

/// A pane that carries an agent's tags, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged {
    pub agent: AgentId,
    pub run: RunId,
    pub place: Place,
    pub process: Pid,
}

/// What a tagged pane is to the agent that its tags name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is where the agent lives.
    Home,
    /// It is where the agent lives, and the store does not know that.
    Unknown,
    /// What a life that is over left behind.
    Left,
    /// The agent lives elsewhere, and this is not known to be over: it is left alone.
    Stranger,
}

impl Agent {
    /// Returns the agent of a pane that a person started.
    pub fn adopted(id: AgentId, new: NewAgent, tagged: &Tagged, now: Timestamp) -> Agent {
        let agent = Agent { adopted: true, ..Agent::new(id, new, now) };
        agent.living(tagged, now)
    }

    /// Returns the agent as it is once it was found living in `tagged`.
    #[must_use]
    pub fn living(&self, tagged: &Tagged, now: Timestamp) -> Agent {
        let state = LifeState::Alive { place: tagged.place.clone(), process: tagged.process };
        let life = Some(Life { run: tagged.run, began_at: now, state });
        // What was wanted of it may be from before it was last launched: what lives is not ended for that.
        let intent = match self.intent {
            Intent::Run | Intent::Stop => Intent::Run,
            Intent::Pause => Intent::Pause,
        };
        let agent = Agent { life, intent, word: None, seen_at: Some(now), ..self.clone() };
        let deadline = now + crate::plan::agents::START_WITHIN;
        agent.in_phase(Phase::Starting { deadline }, None, now)
    }

    /// Returns what a pane that carries this agent's tags is to it, where `is_over` says whether the
    /// store has recorded the end of that life.
    pub fn claim(&self, run: RunId, is_over: bool) -> Claim {
        let Some(life) = &self.life else {
            return if is_over { Claim::Left } else { Claim::Unknown };
        };
        match (&life.state, life.run == run) {
            (LifeState::Launching | LifeState::Alive { .. } | LifeState::Ending { .. }, true) => {
                Claim::Home
            }
            (LifeState::Ended { .. } | LifeState::Over, true) => Claim::Left,
            (_, false) if is_over => Claim::Left,
            // Nobody is there yet who would be in its way.
            (LifeState::Launching | LifeState::Over, false) => Claim::Unknown,
            // A store that was put back to an earlier time knows an earlier life.
            (_, false) if run > life.run => Claim::Unknown,
            (_, false) => Claim::Stranger,
        }
    }
}
