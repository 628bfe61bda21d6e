//! The life of an agent, as far as cmux has seen it.
//!
//! An agent has an *intent*, which only people change, and a *phase*, which changes only here: when it is
//! [asked for](Agent::asked), [launched](Agent::launching) or [seen](Agent::after). Nothing waits for the
//! two to agree; [`plan`](crate::plan) works out what would bring them closer. A new life does not begin
//! before every process of the one before is proven gone.

mod found;
mod name;
mod seen;

use std::time::Duration;

pub use self::found::{Claim, Tagged};
pub use self::name::{AgentName, BadName, NAME_MAX};
use crate::hook::Talk;
use crate::id::{AgentId, RunId};
use crate::phase::Phase;
use crate::plan::agents::START_WITHIN;
use crate::project::ProjectId;
use crate::report::NewAgent;
use crate::restart::Exits;
pub use crate::setup::{BadSetup, Setup};
use crate::time::Timestamp;

/// How long a word of a better witness stands against one of a lesser: a look at the screen may be behind
/// what the agent's hooks have said.
pub const LOOK_LAG: Duration = Duration::from_secs(5);

/// How many agents a project may have.
pub const AGENTS_MAX: u64 = 1000;

/// An AI coding session that cmux keeps alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub project: ProjectId,
    pub name: AgentName,
    pub role: String,
    pub kind: String,
    /// Who launched it, if an agent did.
    pub parent: Option<AgentId>,
    pub setup: Setup,
    /// Whether a person started it and cmux only watches over it. It is never launched.
    pub adopted: bool,
    pub created_at: Timestamp,
    pub intent: Intent,
    pub phase: Phase,
    /// Since when it is in that phase, and why, if there is more to say.
    pub since: Timestamp,
    pub reason: Option<String>,
    pub life: Option<Life>,
    /// Who decided on the phase, and when that was last said.
    pub word: Option<Word>,
    pub exits: Exits,
    /// The provider's own name for the conversation, by which it is resumed.
    pub session: Option<String>,
    pub talk: Talk,
    pub seen_at: Option<Timestamp>,
}

/// What people want of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    Run,
    /// The process stays, nothing is delivered, and it is not brought back.
    Pause,
    Stop,
}

impl Intent {
    /// Returns its name, as everybody sees it.
    pub fn name(self) -> &'static str {
        match self {
            Intent::Run => "run",
            Intent::Pause => "pause",
            Intent::Stop => "stop",
        }
    }
}

/// One life of an agent, from its launch until nothing is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    pub run: RunId,
    pub began_at: Timestamp,
    pub state: LifeState,
}

/// How far a life has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LifeState {
    /// On its way. Nothing was heard yet.
    Launching,
    Alive {
        place: Place,
        process: Pid,
    },
    /// Told to end, and told again at `deadline`.
    Ending {
        place: Place,
        process: Pid,
        deadline: Timestamp,
    },
    /// It has ended; what it left behind is cleared away, and tried again at `deadline`.
    Ended {
        place: Option<Place>,
        deadline: Timestamp,
    },
    /// Nothing is left of it.
    Over,
}

impl LifeState {
    /// Returns its name.
    pub fn name(&self) -> &'static str {
        match self {
            LifeState::Launching => "launching",
            LifeState::Alive { .. } => "alive",
            LifeState::Ending { .. } => "ending",
            LifeState::Ended { .. } => "ended",
            LifeState::Over => "over",
        }
    }
}

/// Where an agent lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The tmux server's socket.
    pub server: String,
    /// The pane, as tmux numbers it: `%7`.
    pub pane: String,
}

/// A process, told apart from a later one of the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pid {
    pub pid: u32,
    pub start: u64,
}

/// Who said what an agent does, the best witness first, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    pub rank: u8,
    pub at: Timestamp,
}

/// Something seen of one life of an agent: by tmux, by a witness, or by the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    Launched {
        place: Place,
        process: Pid,
    },
    /// It could not be launched.
    NotLaunched {
        why: String,
    },
    Doing {
        doing: Doing,
        rank: u8,
    },
    /// It told so itself as it happened: what was seen before does not speak against it.
    Told {
        doing: Doing,
        rank: u8,
    },
    /// Its conversation is the one that its provider calls so.
    Session {
        id: String,
    },
    /// Its process ended.
    Ended {
        how: String,
    },
    /// It was looked for, and is not there.
    Missing,
    /// The tmux server that it lived in is gone, which is no fault of its own. It comes back then.
    Homeless {
        retry_at: Timestamp,
    },
    /// Every process of it is gone.
    Cleared,
    /// Something of it is left that could not be ended.
    NotCleared {
        why: String,
    },
    /// It was not heard from in time. This is what was on its screen, if anything was.
    Overdue {
        screen: Option<String>,
    },
}

/// What a witness saw it doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    AtPrompt,
    Working,
    Asking { what: String },
    Limited { until: Option<Timestamp> },
}

/// Why a sighting changed nothing. None of these is an error: the world reports late and twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    #[error("it comes from another life")]
    Outdated,
    #[error("that life is over")]
    Over,
    #[error("it was known already")]
    NoNews,
    #[error("a better witness has just said otherwise")]
    Outranked,
    #[error("no session can be called so")]
    Senseless,
}

impl Agent {
    /// Returns a new agent as it is before its first life.
    pub fn new(id: AgentId, new: NewAgent, now: Timestamp) -> Agent {
        let NewAgent { project, name, role, kind, parent, setup } = new;
        Agent {
            id,
            project,
            name,
            role,
            kind,
            parent,
            setup,
            adopted: false,
            created_at: now,
            intent: Intent::Run,
            phase: Phase::Offline,
            since: now,
            reason: None,
            life: None,
            word: None,
            exits: Exits::default(),
            session: None,
            talk: Talk::default(),
            seen_at: None,
        }
    }

    /// Returns whether this is the agent that whoever asks for `new` to be launched means.
    pub fn is_as(&self, new: &NewAgent) -> bool {
        let NewAgent { project, name, role, kind, parent, setup } = new;
        !self.adopted
            && (&self.project, &self.name, &self.role) == (project, name, role)
            && (&self.kind, &self.parent, &self.setup) == (kind, parent, setup)
    }

    /// Returns whether the life of `run` is the agent's present one.
    pub fn is_in(&self, run: RunId) -> bool {
        self.life.as_ref().is_some_and(|life| life.run == run)
    }

    /// Returns the life of which something is left, if there is one.
    pub fn present_life(&self) -> Option<&Life> {
        self.life.as_ref().filter(|life| life.state != LifeState::Over)
    }

    /// Returns the life whose process should be there, or is on its way.
    pub fn live_life(&self) -> Option<&Life> {
        self.life.as_ref().filter(|life| match life.state {
            LifeState::Launching | LifeState::Alive { .. } | LifeState::Ending { .. } => true,
            LifeState::Ended { .. } | LifeState::Over => false,
        })
    }

    /// Returns whether it may be forgotten: nothing of it is left, or what is left is a person's own and
    /// goes on without cmux.
    pub fn may_be_forgotten(&self) -> bool {
        self.adopted || self.present_life().is_none()
    }

    /// Returns whether it can run from now on: it lives, or cmux may launch it.
    pub fn may_run(&self) -> bool {
        !self.adopted || self.live_life().is_some()
    }

    /// Returns the agent as it is once a person has asked for `intent`. Asking forgives its ends.
    #[must_use]
    pub fn asked(&self, intent: Intent, now: Timestamp) -> Agent {
        let asked = Agent { intent, exits: Exits::default(), ..self.clone() };
        match self.phase {
            Phase::Down { .. } | Phase::Failed => asked.in_phase(Phase::Offline, None, now),
            Phase::Offline
            | Phase::Starting { .. }
            | Phase::Idle
            | Phase::Busy
            | Phase::Asking
            | Phase::Limited { .. } => asked,
        }
    }

    /// Returns the agent as it is once a person has asked for another life of it. The present one is told
    /// to end; one that has only just begun is new enough.
    #[must_use]
    pub fn restarted(&self, now: Timestamp) -> Agent {
        let asked = self.asked(Intent::Run, now);
        match asked.life.as_ref().map(|life| &life.state) {
            Some(LifeState::Alive { .. }) => asked.ending(now),
            Some(
                LifeState::Launching
                | LifeState::Ending { .. }
                | LifeState::Ended { .. }
                | LifeState::Over,
            )
            | None => asked,
        }
    }

    /// Returns the agent as it is once its next life is on its way.
    #[must_use]
    pub fn launching(&self, run: RunId, deadline: Timestamp, now: Timestamp) -> Agent {
        let life = Life { run, began_at: now, state: LifeState::Launching };
        let talk = Talk { turn: None, ..self.talk };
        let launching = Agent { life: Some(life), word: None, talk, ..self.clone() };
        launching.in_phase(Phase::Starting { deadline }, None, now)
    }

    /// Returns the agent as it is once its process was told to end.
    #[must_use]
    pub fn ending(&self, deadline: Timestamp) -> Agent {
        let life = self.life.clone().map(|life| match life.state {
            LifeState::Alive { place, process } | LifeState::Ending { place, process, .. } => {
                Life { state: LifeState::Ending { place, process, deadline }, ..life }
            }
            LifeState::Launching | LifeState::Ended { .. } | LifeState::Over => life,
        });
        Agent { life, ..self.clone() }
    }

    /// Returns the agent as it is while what its life left behind is cleared away.
    #[must_use]
    pub fn clearing(&self, deadline: Timestamp) -> Agent {
        let life = self.life.clone().map(|life| match life.state {
            LifeState::Ended { place, .. } => {
                Life { state: LifeState::Ended { place, deadline }, ..life }
            }
            LifeState::Launching
            | LifeState::Alive { .. }
            | LifeState::Ending { .. }
            | LifeState::Over => life,
        });
        Agent { life, ..self.clone() }
    }

    /// Returns the agent with all the time again that a start may take, if it is starting.
    pub fn given_time(&self, now: Timestamp) -> Option<Agent> {
        let life = self.live_life()?.clone();
        let began_at = if life.state == LifeState::Launching { now } else { life.began_at };
        let is_starting = matches!(self.phase, Phase::Starting { .. });
        let phase = Phase::Starting { deadline: now + START_WITHIN };
        let life = Some(Life { began_at, ..life });
        is_starting.then(|| Agent { phase, life, ..self.clone() })
    }

    /// Returns whether there is something that it can be interrupted in.
    pub fn is_interruptible(&self) -> bool {
        match self.phase {
            Phase::Busy | Phase::Asking | Phase::Limited { .. } => true,
            Phase::Offline
            | Phase::Starting { .. }
            | Phase::Idle
            | Phase::Down { .. }
            | Phase::Failed => false,
        }
    }

    fn in_phase(self, phase: Phase, reason: Option<String>, now: Timestamp) -> Agent {
        let since = if phase.name() == self.phase.name() { self.since } else { now };
        Agent { phase, reason, since, ..self }
    }
}

#[cfg(test)]
mod tests;
