//! The tickets on the disk, and what the agent's hook makes of a prompt: it needs no daemon.

use std::collections::BTreeMap;

use cmux_core::delivery::{ANSWERS_WITHIN, Ticket};
use cmux_core::id::{DeliveryId, RunId};
use cmux_core::time::Timestamp;

use crate::cli::Chunk;

/// What lies on the disk for a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lies {
    Open,
    Claimed {
        event: u64,
        at: Timestamp,
    },
    Void,
    /// It was read, and may be at the prompt once more.
    Used,
}

/// The folder of tickets. It outlives every process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    tickets: BTreeMap<DeliveryId, (RunId, Lies)>,
}

/// What the hook answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The prompt is read. The claim, if there is one, must still stand when that is said.
    Pass {
        claim: Option<DeliveryId>,
    },
    Block,
}

impl Claims {
    pub(crate) fn state(&self, delivery: DeliveryId) -> Ticket {
        match self.tickets.get(&delivery) {
            None => Ticket::Absent,
            Some((_, Lies::Open)) => Ticket::Open,
            Some((_, Lies::Claimed { .. })) => Ticket::Claimed,
            Some((_, Lies::Void | Lies::Used)) => Ticket::Void,
        }
    }

    pub(crate) fn lay(&mut self, delivery: DeliveryId, run: RunId) {
        self.tickets.entry(delivery).or_insert((run, Lies::Open));
    }

    /// Takes a ticket that is open, or was never laid. Of this and a claim, one comes first.
    pub(crate) fn void(&mut self, delivery: DeliveryId, run: RunId) {
        let (_, lies) = self.tickets.entry(delivery).or_insert((run, Lies::Open));
        if *lies == Lies::Open {
            *lies = Lies::Void;
        }
    }

    pub(crate) fn give_back(&mut self, delivery: DeliveryId) {
        if let Some((_, lies)) = self.tickets.get_mut(&delivery)
            && matches!(lies, Lies::Claimed { .. })
        {
            *lies = Lies::Open;
        }
    }

    /// Notes that a delivery was read. If it was typed more than once, a further copy is still blocked.
    pub(crate) fn settle(&mut self, delivery: DeliveryId, run: RunId, is_repeated: bool) {
        if is_repeated {
            self.tickets.insert(delivery, (run, Lies::Used));
        } else {
            self.tickets.remove(&delivery);
        }
    }

    /// Removes the ticket of a delivery that was not read.
    pub(crate) fn forget(&mut self, delivery: DeliveryId) {
        self.tickets.remove(&delivery);
    }

    /// Returns what the hook of `run` makes of what was submitted as `event`.
    pub(crate) fn judge(
        &mut self,
        prompt: &[Chunk],
        run: RunId,
        event: u64,
        now: Timestamp,
    ) -> Verdict {
        let is_known = |it: &Chunk| match it {
            Chunk::Mail(delivery) => self.tickets.get(delivery).is_some_and(|it| it.0 == run),
            Chunk::Key(_) => false,
        };
        let [Chunk::Mail(delivery)] = prompt else {
            // Nothing may be merged with what is still to be read, or never to be.
            return match prompt.iter().any(is_known) {
                true => Verdict::Block,
                false => Verdict::Pass { claim: None },
            };
        };
        match self.tickets.get_mut(delivery) {
            Some((of, lies)) if *of == run => match *lies {
                Lies::Open => {
                    *lies = Lies::Claimed { event, at: now };
                    Verdict::Pass { claim: Some(*delivery) }
                }
                Lies::Claimed { event: by, .. } if by == event => {
                    Verdict::Pass { claim: Some(*delivery) }
                }
                Lies::Claimed { .. } | Lies::Void | Lies::Used => Verdict::Block,
            },
            Some(_) | None => Verdict::Pass { claim: None },
        }
    }

    /// Returns whether the claim of `event` still stands, and is young enough to be answered by.
    pub(crate) fn stands(&self, delivery: DeliveryId, event: u64, now: Timestamp) -> bool {
        match self.tickets.get(&delivery) {
            Some((_, Lies::Claimed { event: by, at })) => {
                *by == event && now.since(*at) < ANSWERS_WITHIN
            }
            Some((_, Lies::Open | Lies::Void | Lies::Used)) | None => false,
        }
    }
}
