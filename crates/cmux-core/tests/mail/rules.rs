//! What must hold, whatever happened.

use cmux_core::delivery::{ATTEMPTS_MAX, PRESSES_MAX};
use cmux_core::id::MessageId;
use cmux_core::message::MessageState;

use crate::world::{Read, World};

impl World {
    /// The model reads a message. Whether its hook had its say decides what may be asked of that.
    pub(crate) fn reads_message(&mut self, id: MessageId, is_hooked: bool) {
        let message = self.store.messages.iter().find(|it| it.id == id).unwrap();
        let (state, seq, from) = (message.state, message.seq, message.from.name.clone());
        let is_first = !self.reads.iter().any(|it| it.message == id);
        // A copy that no hook saw may come from long ago.
        if is_first && (is_hooked || !self.kind.has_hook) {
            let last = self.order.entry(from).or_default();
            let is_late = seq < *last;
            *last = seq.max(*last);
            if is_late {
                self.broken("messages of one sender were read out of order");
            }
        }
        self.reads.push(Read { message: id, is_hooked });
        let of: Vec<bool> =
            self.reads.iter().filter(|it| it.message == id).map(|it| it.is_hooked).collect();
        if of.len() > 1 && of.iter().all(|it| *it) {
            self.broken("a message was read twice");
        }
        if is_hooked && state.is_over() && state != MessageState::Delivered {
            self.broken("a message was read that was over");
        }
        let is_once = !self.kind.has_hook && !self.kind.is_repeated;
        let is_once = is_once && !self.store.retried.contains(&id);
        // A person may submit it themselves, with something of their own.
        if is_once && of.len() > 1 && self.faults.kinds & 2 == 0 {
            self.broken("a message was read twice that was to be read once at most");
        }
    }

    /// Checks what a turn of the kernel made of messages. Where a hook tells what was read, nothing is given up
    /// that was not tried often enough, and whoever sent what is not read hears of it in the same turn.
    pub(crate) fn check_turn(&mut self, failed: &[MessageId], unfair: Option<String>) {
        if let Some(unfair) = unfair {
            self.broken(&unfair);
        }
        for id in failed.iter().filter(|_| self.kind.has_hook) {
            let message = self.store.messages.iter().find(|it| it.id == *id).unwrap();
            let delivery = message.delivery.and_then(|it| self.store.delivery(it)).unwrap();
            let presses = self.tmux.times(delivery.id, delivery.attempt, "press");
            let is_tried = message.attempts >= ATTEMPTS_MAX
                || delivery.attempt >= ATTEMPTS_MAX
                || presses >= PRESSES_MAX;
            if !is_tried {
                let why = message.reason.clone().unwrap_or_default();
                return self.broken(&format!("a message was given up too soon: {why}"));
            }
        }
    }

    /// Checks what is left when all is at rest.
    pub(crate) fn check(&mut self) {
        if self.is_broken.is_some() {
            return;
        }
        let mut wrong = None;
        for message in self.store.messages.iter().filter(|it| it.to.agent().is_some()) {
            let of: Vec<&Read> = self.reads.iter().filter(|it| it.message == message.id).collect();
            let is_sure = self.kind.has_hook && of.iter().all(|it| it.is_hooked);
            let why = match message.state {
                MessageState::Delivered if of.is_empty() => "is delivered and was not read",
                MessageState::Failed | MessageState::Cancelled | MessageState::Expired
                    if !of.is_empty() && is_sure =>
                {
                    "was read and is not delivered"
                }
                MessageState::Queued
                | MessageState::Typing
                | MessageState::Submitted
                | MessageState::Claimed
                | MessageState::InDoubt => "never came to its end",
                MessageState::Delivered
                | MessageState::Failed
                | MessageState::Cancelled
                | MessageState::Expired => continue,
            };
            wrong = Some(format!("{} {why}: {:?}", message.id, message.state));
        }
        if let Some(wrong) = wrong {
            self.broken(&wrong);
        }
    }
}
