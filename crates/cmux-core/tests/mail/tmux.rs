//! tmux: it does what it is sent when it can, looks at a step's conditions itself, and does it once.

use std::collections::BTreeSet;

use cmux_core::agent::Sighting;
use cmux_core::id::{DeliveryId, RunId};
use cmux_core::time::Timestamp;

use crate::cli::Input;
use crate::mistakes::Mistake;
use crate::tally::Fault;
use crate::world::{Happens, World};

/// What tells a step from all others: of which attempt of which delivery it is, what it does, and for the
/// so-manieth time.
pub(crate) type Token = (DeliveryId, u32, &'static str, u32);

/// A step that is to be done in the pane.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// Which server it was sent to.
    pub(crate) server: u64,
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
    /// Which server it is: one after another.
    pub(crate) server: u64,
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
        if command.server != self.tmux.server {
            return self.look_soon(command.life, command.tick);
        }
        if self.now < self.tmux.stalled_until {
            self.struck(Fault::TmuxStalls);
            let at = Timestamp(self.tmux.stalled_until.0 + self.dice.between(0, 200));
            return self.later_at(at, Happens::Command { command });
        }
        let is_met = self.cli.is_alive
            && (self.cli.run == command.run || self.makes(Mistake::IgnoresRun))
            && (self.is_met(&command) || self.makes(Mistake::TypesUnguarded));
        self.trace(|_| format!("tmux does {:?}: {is_met}", command.token));
        if is_met {
            self.tmux.done.insert(command.token);
            self.type_in(command.input);
        }
        self.look_soon(command.life, command.tick);
    }

    /// The server is gone, with all that it knew, what it was sent, and what ran in it.
    pub(crate) fn tmux_dies(&mut self) {
        self.struck_amid(Fault::TmuxDies);
        self.tmux = Tmux { server: self.tmux.server + 1, ..Tmux::default() };
        if self.cli.is_alive {
            let run = self.cli.run;
            self.end(run);
            self.tell_agent(run, Sighting::Ended { how: "its terminal is gone".to_owned() });
        }
    }

    /// Returns whether a step is still to be done, as things are in the server.
    fn is_met(&self, command: &Command) -> bool {
        let tmux = &self.tmux;
        let is_in_time = self.now < command.deadline || self.makes(Mistake::TypesLate);
        let is_untouched = tmux.keys == command.keys || self.makes(Mistake::IgnoresKeys);
        !tmux.done.contains(&command.token) && is_in_time && is_untouched && !tmux.is_scrolled
    }
}
