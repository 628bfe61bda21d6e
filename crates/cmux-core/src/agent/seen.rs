//! What sightings make of an agent.

use std::time::Duration;

use super::{Agent, Doing, Ignored, Intent, LOOK_LAG, Life, LifeState, Pid, Place, Sighting, Word};
use crate::hook::Talk;
use crate::id::RunId;
use crate::phase::Phase;
use crate::restart::RestartPolicy;
use crate::time::Timestamp;

/// How soon after its launch the end of its server may have to do with it.
const HOMELESS_EARLY: Duration = Duration::from_mins(1);

/// The longest name of a session, in bytes.
const SESSION_MAX: usize = 128;

impl Agent {
    /// Returns the agent as it is after a `sighting` of its life `run` at `now`. `dice` spreads restarts.
    pub fn after(
        &self,
        run: RunId,
        sighting: Sighting,
        now: Timestamp,
        policy: &RestartPolicy,
        dice: u64,
    ) -> Result<Agent, Ignored> {
        let Some(life) = self.life.as_ref().filter(|life| life.run == run) else {
            return Err(Ignored::Outdated);
        };
        match sighting {
            Sighting::Launched { place, process } => self.launched(life, place, process, now),
            Sighting::NotLaunched { why } => self.ended(life, &why, now, policy, dice),
            Sighting::Ended { how } => self.ended(life, &how, now, policy, dice),
            Sighting::Missing => match life.state {
                // A process on its way cannot be found yet; only its deadline speaks against it.
                LifeState::Launching => Err(Ignored::NoNews),
                LifeState::Alive { .. }
                | LifeState::Ending { .. }
                | LifeState::Ended { .. }
                | LifeState::Over => self.ended(life, "its window is gone", now, policy, dice),
            },
            Sighting::Homeless { retry_at } => self.homeless(life, retry_at, now, policy),
            Sighting::Overdue { screen } => match self.phase {
                Phase::Starting { deadline } if deadline <= now => {
                    let why = overdue(screen.as_deref());
                    self.ended(life, &why, now, policy, dice)
                }
                Phase::Starting { .. }
                | Phase::Offline
                | Phase::Idle
                | Phase::Busy
                | Phase::Asking
                | Phase::Limited { .. }
                | Phase::Down { .. }
                | Phase::Failed => Err(Ignored::NoNews),
            },
            Sighting::Cleared => self.cleared(life),
            Sighting::NotCleared { why } => self.not_cleared(life, &why),
            Sighting::Doing { doing, rank } => {
                let is_better = |word: Word| word.rank < rank && now.since(word.at) <= LOOK_LAG;
                let seen = self.told(life, doing, rank, now)?;
                if self.word.is_some_and(is_better) { Err(Ignored::Outranked) } else { Ok(seen) }
            }
            Sighting::Told { doing, rank } => self.told(life, doing, rank, now),
            Sighting::Session { id } => self.in_session(run, id),
        }
    }

    fn in_session(&self, run: RunId, id: String) -> Result<Agent, Ignored> {
        if !is_session(&id) {
            return Err(Ignored::Senseless);
        }
        let talk = Talk { heard_in: Some(run), ..self.talk };
        let heard = Agent { session: Some(id), talk, ..self.clone() };
        if heard == *self { Err(Ignored::NoNews) } else { Ok(heard) }
    }

    fn launched(
        &self,
        life: &Life,
        place: Place,
        process: Pid,
        now: Timestamp,
    ) -> Result<Agent, Ignored> {
        let alive = LifeState::Alive { place, process };
        match &life.state {
            LifeState::Launching => {
                let life = Some(Life { state: alive, ..life.clone() });
                Ok(Agent { life, seen_at: Some(now), ..self.clone() })
            }
            LifeState::Alive { .. } | LifeState::Ending { .. } => Err(Ignored::NoNews),
            LifeState::Ended { .. } | LifeState::Over => Err(Ignored::Over),
        }
    }

    /// Returns the agent after its life ended: offline if that was wanted, down or failed if not.
    fn ended(
        &self,
        life: &Life,
        how: &str,
        now: Timestamp,
        policy: &RestartPolicy,
        dice: u64,
    ) -> Result<Agent, Ignored> {
        let (place, was_told) = match &life.state {
            LifeState::Launching => (None, false),
            LifeState::Alive { place, .. } => (Some(place.clone()), false),
            LifeState::Ending { place, .. } => (Some(place.clone()), true),
            LifeState::Ended { .. } | LifeState::Over => return Err(Ignored::Over),
        };
        let mut agent = self.clone();
        agent.life =
            Some(Life { state: LifeState::Ended { place, deadline: now }, ..life.clone() });
        agent.word = None;
        let phase = match self.intent {
            Intent::Run if self.adopted => Phase::Offline,
            Intent::Stop | Intent::Pause => Phase::Offline,
            Intent::Run if was_told => Phase::Offline,
            Intent::Run => match agent.exits.add(now, policy, dice) {
                Some(retry_at) => Phase::Down { retry_at },
                None => Phase::Failed,
            },
        };
        Ok(agent.in_phase(phase, Some(how.to_owned()), now))
    }

    /// Returns the agent after the server that it lived in went away under it.
    fn homeless(
        &self,
        life: &Life,
        retry_at: Timestamp,
        now: Timestamp,
        policy: &RestartPolicy,
    ) -> Result<Agent, Ignored> {
        let was_told = match life.state {
            LifeState::Alive { .. } => false,
            LifeState::Ending { .. } => true,
            LifeState::Launching => return Err(Ignored::NoNews),
            LifeState::Ended { .. } | LifeState::Over => return Err(Ignored::Over),
        };
        let mut exits = self.exits.clone();
        // A server that dies again and again may die of what is launched in it.
        let is_early = now.since(life.began_at) < HOMELESS_EARLY;
        let phase = match self.intent {
            Intent::Run if was_told || self.adopted => Phase::Offline,
            Intent::Run if is_early => match exits.add(now, policy, 0) {
                // Those who are to come first do so still.
                Some(later) => Phase::Down { retry_at: later + retry_at.since(now) },
                None => Phase::Failed,
            },
            Intent::Run => Phase::Down { retry_at },
            Intent::Stop | Intent::Pause => Phase::Offline,
        };
        let state = LifeState::Ended { place: None, deadline: now };
        let life = Some(Life { state, ..life.clone() });
        let agent = Agent { life, exits, word: None, ..self.clone() };
        Ok(agent.in_phase(phase, Some("the tmux server that it lived in is gone".into()), now))
    }

    fn cleared(&self, life: &Life) -> Result<Agent, Ignored> {
        match life.state {
            LifeState::Ended { .. } => {
                let life = Some(Life { state: LifeState::Over, ..life.clone() });
                Ok(Agent { life, ..self.clone() })
            }
            LifeState::Over => Err(Ignored::Over),
            LifeState::Launching | LifeState::Alive { .. } | LifeState::Ending { .. } => {
                Err(Ignored::NoNews)
            }
        }
    }

    /// Says why the next life does not begin.
    fn not_cleared(&self, life: &Life, why: &str) -> Result<Agent, Ignored> {
        let reason = Some(format!("something of its last life is left: {why}"));
        match life.state {
            LifeState::Ended { .. } if self.reason != reason => {
                Ok(Agent { reason, ..self.clone() })
            }
            LifeState::Ended { .. }
            | LifeState::Launching
            | LifeState::Alive { .. }
            | LifeState::Ending { .. } => Err(Ignored::NoNews),
            LifeState::Over => Err(Ignored::Over),
        }
    }

    fn told(&self, life: &Life, doing: Doing, rank: u8, now: Timestamp) -> Result<Agent, Ignored> {
        match life.state {
            LifeState::Ended { .. } | LifeState::Over => return Err(Ignored::Over),
            LifeState::Launching | LifeState::Alive { .. } | LifeState::Ending { .. } => {}
        }
        let (phase, reason) = match doing {
            Doing::AtPrompt => (Phase::Idle, None),
            Doing::Working => (Phase::Busy, None),
            Doing::Asking { what } => (Phase::Asking, Some(what)),
            Doing::Limited { until } => (Phase::Limited { until }, None),
        };
        if phase == self.phase && reason == self.reason {
            // Nothing new but that somebody says it still.
            return Err(Ignored::NoNews);
        }
        let seen = Agent { word: Some(Word { rank, at: now }), ..self.clone() };
        let seen = Agent { seen_at: Some(now), ..seen };
        Ok(seen.in_phase(phase, reason, now))
    }
}

/// Returns whether this can be the name of a session, which is told to a program as one of its words.
fn is_session(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=SESSION_MAX).contains(&id.len())
        && id.chars().all(allowed)
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn overdue(screen: Option<&str>) -> String {
    match screen.map(str::trim).filter(|screen| !screen.is_empty()) {
        Some(screen) => format!("it was not ready in time; on its screen was: {screen}"),
        None => "it was not ready in time, and nothing was on its screen".to_owned(),
    }
}
