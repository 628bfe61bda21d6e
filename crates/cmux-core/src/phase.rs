//! What an agent is doing, as far as it was seen.

use crate::time::Timestamp;

/// What an agent was last seen doing. Only sightings change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No process, and none on its way.
    Offline,
    /// Launched, and not yet at its prompt. Taken for dead at `deadline`.
    Starting { deadline: Timestamp },
    /// At its prompt: the only phase in which it is given a message.
    Idle,
    /// In the middle of a turn.
    Busy,
    /// A question is on its screen that somebody must answer.
    Asking,
    /// Its provider lets it do no more, until then if that is known.
    Limited { until: Option<Timestamp> },
    /// Ended unasked. Launched again at `retry_at`.
    Down { retry_at: Timestamp },
    /// Ended too often. Left alone until somebody asks for it again.
    Failed,
}

impl Phase {
    /// Returns its name, as everybody sees it.
    pub fn name(&self) -> &'static str {
        match self {
            Phase::Offline => "offline",
            Phase::Starting { .. } => "starting",
            Phase::Idle => "idle",
            Phase::Busy => "busy",
            Phase::Asking => "asking",
            Phase::Limited { .. } => "limited",
            Phase::Down { .. } => "down",
            Phase::Failed => "failed",
        }
    }

    /// Returns by when it is over of itself, where that is known: a provider's limit, or the wait before a new start.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Phase::Limited { until } => *until,
            Phase::Down { retry_at } => Some(*retry_at),
            Phase::Offline
            | Phase::Starting { .. }
            | Phase::Idle
            | Phase::Busy
            | Phase::Asking
            | Phase::Failed => None,
        }
    }

    /// Returns whether a process should be there.
    pub fn has_process(&self) -> bool {
        match self {
            Phase::Starting { .. }
            | Phase::Idle
            | Phase::Busy
            | Phase::Asking
            | Phase::Limited { .. } => true,
            Phase::Offline | Phase::Down { .. } | Phase::Failed => false,
        }
    }
}
