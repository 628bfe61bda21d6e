//! What the worker sees of whether a delivery was read: the agent's own record, which comes late, hooks that tell of
//! the end of a turn, if they do, and the screen. The truth is not among it.

use cmux_core::agent::Doing;
use cmux_core::delivery::{Confirm, Delivery, Holds, Look, Record, Signs, Ticket};
use cmux_core::id::DeliveryId;
use cmux_core::message::Evidence;
use cmux_core::time::Timestamp;

use crate::cli::{Chunk, Cli, View};
use crate::mistakes::Mistake;
use crate::world::World;

impl Cli {
    /// Takes note of the end of a turn that a hook tells of.
    pub(crate) fn tell_answered(&mut self) {
        self.answered.extend(self.read_in_turn.take());
    }

    /// Returns what is shown of what was submitted: not every CLI shows what its hooks have not passed.
    pub(crate) fn shown(&self, shows_hooks: bool) -> Vec<DeliveryId> {
        let read = self.transcript.iter().map(|(_, content)| content);
        let waits = self.submitted.iter().filter(|_| shows_hooks).map(|it| &it.content);
        let of = |it: &Chunk| match it {
            Chunk::Mail(delivery) => Some(*delivery),
            Chunk::Key(_) => None,
        };
        read.chain(waits).flatten().filter_map(of).collect()
    }
}

impl World {
    /// Returns by what it is known that a delivery was read, if it is.
    pub(crate) fn used(
        &mut self,
        delivery: &Delivery,
        view: &View,
        look: &Look,
    ) -> Option<Evidence> {
        let is_taken = look.ticket == Ticket::Claimed;
        let is_out = look.presses > 0 || delivery.attempt > 1;
        if look.is_alive && !is_out && !is_taken {
            return None;
        }
        let record = self.record(delivery);
        let is_answered = self.life_of(delivery).is_some_and(|it| it.has_answered(delivery.id));
        if !look.is_alive {
            return record.of_the_dead(is_taken, is_answered);
        }
        let is_empty = look.holds == Holds::Nothing;
        let is_working = look.doing == Some(Doing::Working);
        let signs = Signs {
            confirm: if self.kind.has_hook { Confirm::Hook } else { Confirm::Sight },
            record,
            is_answered: is_answered && !is_working,
            rests_since: self.life_of(delivery).and_then(|it| it.rests_since),
            is_taken: is_taken && is_empty,
            is_left: look.presses > 0 && matches!(look.holds, Holds::Nothing | Holds::Unknown),
            is_shown: view.shown.contains(&delivery.id),
            is_answering: self.makes(Mistake::TrustsWorkOnWhatIsSaid) && is_working,
            doing: look.doing.clone(),
        };
        if self.makes(Mistake::TrustsWork) && signs.is_taken && is_working {
            return Some(Evidence::Turn);
        }
        let is_said = signs.is_taken && record == Record::Said;
        let rests = |since| since > delivery.made_at;
        if self.makes(Mistake::TrustsAnyRest) && is_said && signs.rests_since.is_some_and(rests) {
            return Some(Evidence::Turn);
        }
        self.worker.signed.by(&signs, self.now)
    }

    pub(crate) fn record(&self, delivery: &Delivery) -> Record {
        let Some(cli) = self.life_of(delivery).filter(|_| self.kind.is_recorded) else {
            return Record::Untold;
        };
        match cli.has_used(delivery.id, delivery.mark, self.now) {
            true => Record::Read,
            false if self.is_said(cli, delivery.id) => Record::Said,
            false if cli.transcript.is_empty() => Record::Missing,
            false => Record::Without,
        }
    }

    /// Returns whether a delivery was passed to the model, which is yet to begin with it.
    fn is_said(&self, cli: &Cli, delivery: DeliveryId) -> bool {
        let stands = |(it, until): (DeliveryId, Timestamp)| it == delivery && self.now < until;
        let is_it = cli.said == Some(delivery) || cli.said_before.is_some_and(stands);
        self.kind.says_first && cli.is_alive && is_it
    }

    fn life_of(&self, delivery: &Delivery) -> Option<&Cli> {
        self.past.iter().chain([&self.cli]).find(|it| it.run == delivery.run)
    }
}
