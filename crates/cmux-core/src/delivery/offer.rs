//! Whether an agent can be given its mail, by what was last seen of it.
//!
//! Asked before a delivery is made, so that what is recorded is typed at once. What cmux itself left at the
//! prompt is taken away first; what a person left there never is.

use std::time::Duration;

use super::look::{busy, obstacle};
use super::next::{EMPTIES_MAX, EMPTY_WITHIN, GAP_MAX, LATER, STALE_AFTER, lasted, patience};
use super::{Holds, Look, Pace};
use crate::mail::Waiting;
use crate::time::Timestamp;

/// What to do about an agent whose mail waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It can take its mail.
    Ready,
    /// Empty the prompt of what cmux left there, for the so-manieth time since its last delivery.
    Empty(u32),
    /// Look again after this time.
    Pause(Duration),
    /// Look again later, or when something changes: it waits for this.
    Wait(Waiting),
}

/// What is remembered between looks: for how long something has been so, without a break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offering {
    looked_at: Option<Timestamp>,
    stale: Option<Duration>,
    emptied: Option<Duration>,
}

impl Offering {
    /// Returns what to do about an agent that looks so. What the look says of a delivery is of its last one:
    /// `empties` counts on from there.
    pub fn next(&mut self, look: &Look, pace: &Pace, now: Timestamp) -> Offer {
        let gap = self.looked_at.map_or(Duration::ZERO, |at| now.since(at)).min(GAP_MAX);
        self.looked_at = Some(now);
        let is_stale = matches!(look.holds, Holds::Stale | Holds::Ours);
        self.stale = is_stale.then(|| self.stale.map_or(Duration::ZERO, |it| it + gap));
        self.emptied =
            (look.empties > 0).then(|| self.emptied.map_or(Duration::ZERO, |it| it + gap));
        let Some(in_the_way) = look.obstacle(pace) else { return Offer::Ready };
        if look.is_paused || !is_stale || !look.is_at_rest() || look.empties >= EMPTIES_MAX {
            return Offer::Wait(in_the_way);
        }
        let is_early =
            look.empties > 0 && !lasted(self.emptied, patience(EMPTY_WITHIN, look.empties));
        if is_early || !lasted(self.stale, STALE_AFTER) {
            return Offer::Pause(LATER);
        }
        self.emptied = Some(Duration::ZERO);
        Offer::Empty(look.empties + 1)
    }
}

impl Look {
    /// Returns whether the agent is at its prompt and nobody else is.
    fn is_at_rest(&self) -> bool {
        obstacle(self).or_else(|| busy(self)).is_none()
    }
}

#[cfg(test)]
mod tests;
