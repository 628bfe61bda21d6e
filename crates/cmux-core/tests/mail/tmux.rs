//! tmux: it does what it is sent when it can, looks at a step's conditions itself, and does it once.

use std::collections::BTreeSet;

use cmux_core::id::{DeliveryId, RunId};
use cmux_core::time::Timestamp;

use crate::cli::Input;
use crate::world::{Happens, World};

/// What tells a step from all others: of which attempt of which delivery it is, what it does, and for the
/// so-manieth time.
pub(crate) type Token = (DeliveryId, u32, &'static str, u32);

/// A step that is to be done in the pane.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) run: RunId,
    pub(crate) token: Token,
    pub(crate) input: Input,
    pub(crate) deadline: Timestamp,
    /// How many keys of a person's had come to the pane when it was looked at.
    pub(crate) keys: u64,
    /// Whom to tell.
    pub(crate) life: u64,
    pub(crate) tick: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tmux {
    pub(crate) stalled_until: Timestamp,
    pub(crate) done: BTreeSet<Token>,
    pub(crate) keys: u64,
    pub(crate) key_at: Timestamp,
    pub(crate) is_scrolled: bool,
}

impl Tmux {
    /// Returns how many steps of this sort were done for an attempt.
    pub(crate) fn times(&self, delivery: DeliveryId, attempt: u32, what: &'static str) -> u32 {
        let of = (delivery, attempt, what, 0)..=(delivery, attempt, what, u32::MAX);
        u32::try_from(self.done.range(of).count()).unwrap()
    }

    /// Returns whether anything of a delivery was ever pasted.
    pub(crate) fn has_pasted(&self, delivery: DeliveryId) -> bool {
        self.done.iter().any(|(of, _, what, _)| *of == delivery && *what == "paste")
    }
}

impl World {
    /// A step's time has come in the server.
    pub(crate) fn command_runs(&mut self, command: Command) {
        if self.now < self.tmux.stalled_until {
            let at = Timestamp(self.tmux.stalled_until.0 + self.dice.between(0, 200));
            return self.later_at(at, Happens::Command { command });
        }
        let tmux = &self.tmux;
        let is_met = self.cli.run == command.run
            && self.cli.is_alive
            && !tmux.done.contains(&command.token)
            && self.now < command.deadline
            && tmux.keys == command.keys
            && !tmux.is_scrolled;
        self.trace(|_| format!("tmux does {:?}: {is_met}", command.token));
        if is_met {
            if !self.tmux.done.insert(command.token) {
                self.broken("a step was done twice");
            }
            self.type_in(command.input);
        }
        self.look_soon(command.life, command.tick);
    }
}
