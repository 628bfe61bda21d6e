//! Whoever else is there: a person at the keyboard, senders of mail, and what goes wrong.

use cmux_core::agent::Sighting;
use cmux_core::time::Timestamp;

use crate::cli::{By, Chunk, Input};
use crate::kernel::Heard;
use crate::tally::Fault;
use crate::world::{FAULTS, Faults, Happens, Inside, Loop, World};

impl World {
    /// A person looks at the terminal, and may do something.
    pub(crate) fn person(&mut self) {
        if self.now < self.tmux.stalled_until {
            let at = self.tmux.stalled_until;
            return self.later_at(at, Happens::Person);
        }
        let next = match self.is_calm {
            true => self.tidy_up(),
            false => self.play(),
        };
        self.later(next, Happens::Person);
    }

    /// Does anything at all, and returns when they are here again.
    fn play(&mut self) -> i64 {
        if self.cli.has_dialog && self.dice.permille(300) {
            self.key(Input::Enter(By::Person));
            return self.dice.between(1000, 5000);
        }
        if self.faults.kinds & 2 == 0 {
            return self.dice.between(2000, 8000);
        }
        if let Some(input) = self.instead.pop() {
            self.key(input);
            return self.dice.between(80, 400);
        }
        match self.dice.between(0, 11) {
            0..=5 => {
                self.keys += 1;
                self.key(Input::Key(self.keys));
            }
            6 | 7 => self.key(Input::Enter(By::Person)),
            8 => self.key(Input::Empty(By::Person)),
            9 if self.faults.kinds & (1 << 15) != 0 => self.key(Input::Escape(By::Person)),
            10 => {
                self.struck_amid(Fault::PersonScrolls);
                self.tmux.is_scrolled = !self.tmux.is_scrolled;
            }
            _ => {}
        }
        match self.dice.permille(500) {
            true => self.dice.between(80, 500),
            false => self.dice.between(1000, 12_000),
        }
    }

    /// Answers what is asked, and leaves nothing of their own half done.
    fn tidy_up(&mut self) -> i64 {
        let is_key = |it: &Chunk| matches!(it, Chunk::Key(_));
        self.tmux.is_scrolled = false;
        let prompt = &self.cli.prompt;
        let is_own = !prompt.is_empty() && prompt.iter().all(is_key);
        if self.cli.has_dialog || is_own {
            self.key(Input::Enter(By::Person));
        } else if prompt.iter().any(is_key) {
            self.key(Input::Empty(By::Person));
        }
        5000
    }

    fn key(&mut self, input: Input) {
        if !self.cli.is_alive {
            return;
        }
        self.trace(|_| format!("person types {input:?}"));
        self.struck_amid(Fault::PersonTypes);
        self.tmux.keys += 1;
        self.tmux.key_at = self.now;
        match self.tmux.is_scrolled {
            true => self.tmux.is_scrolled = false,
            false => self.type_in(input),
        }
    }

    /// Somebody sends, takes back, or wants to have sent after all.
    pub(crate) fn sender(&mut self) {
        if self.daemon.is_none() || self.is_disk_full() {
            return self.later(300, Happens::Sender);
        }
        let count = i64::try_from(self.store.messages.len()).unwrap();
        let any = usize::try_from(self.dice.between(0, count.max(1) - 1)).unwrap();
        let message = self.store.messages.get(any).map(|it| it.id);
        let heard = match (self.dice.between(0, 9), message) {
            (0, Some(message)) => Heard::Cancelled { message },
            (1, Some(message)) if !self.is_calm => Heard::Retried { message },
            _ => {
                self.sends_left -= 1;
                Heard::Sent {
                    from: self.dice.between(0, 2).unsigned_abs().into(),
                    interrupt: self.dice.permille(150),
                    ttl_ms: self
                        .dice
                        .permille(200)
                        .then(|| self.dice.between(1000, 40_000).unsigned_abs()),
                }
            }
        };
        // What was acknowledged is stored, so it is taken at once or not at all.
        self.inside(0, Inside::Turn { heard, tick: None });
        if self.sends_left > 0 {
            let next = self.dice.time(9000, 50, 300);
            self.later(next, Happens::Sender);
        }
    }

    /// Something goes wrong.
    pub(crate) fn fault(&mut self) {
        if self.is_calm {
            return;
        }
        let kind = self.dice.between(0, FAULTS - 1);
        if self.faults.kinds & (1 << kind) != 0 {
            self.trace(|_| format!("fault {kind}"));
            self.strike(kind);
        }
        let next = self.dice.time(300, 4000, 700);
        self.later(next, Happens::Fault);
    }

    /// Something goes wrong just when tmux was sent something, and tmux is slow to do it.
    pub(crate) fn strike_in_between(&mut self) {
        let may = |world: &mut World, kinds: i64| {
            !world.is_calm && world.faults.kinds & kinds == kinds && world.dice.permille(60)
        };
        let (crashes, restarts) = (may(self, 1 << 2 | 1 << 3), may(self, 1 << 3 | 1 << 5));
        if may(self, 1 << 0 | 1 << 3) {
            let until = Timestamp(self.now.0 + self.dice.between(100, 5000));
            self.tmux.stalled_until = until.max(self.tmux.stalled_until);
            let after = self.dice.between(0, 1000);
            self.in_loop(after, Loop::DialogHook { since: None });
        }
        if crashes || restarts {
            let until = Timestamp(self.now.0 + self.dice.between(100, 1400));
            self.tmux.stalled_until = until.max(self.tmux.stalled_until);
        }
        if restarts {
            self.restarts();
        } else if crashes {
            self.crash();
        }
    }

    /// A person takes back what has just been submitted.
    pub(crate) fn take_back_in_between(&mut self) {
        let may_press = !self.is_calm && self.faults.kinds & (1 << 15) != 0;
        if may_press && self.dice.permille(50) {
            self.key(Input::Escape(By::Person));
        }
    }

    /// A person takes back what was written down, and says something of their own in its place.
    pub(crate) fn say_instead(&mut self) {
        let may_press = !self.is_calm && self.faults.kinds & (1 << 15) != 0;
        if may_press && self.kind.says_first && self.dice.permille(200) {
            self.keys += 1;
            let (own, by) = (Input::Key(self.keys), By::Person);
            self.instead = vec![Input::Enter(by), own, Input::Empty(by), Input::Escape(by)];
        }
    }

    fn restarts(&mut self) {
        self.struck_amid(Fault::AgentRestarts);
        self.inside(0, Inside::Turn { heard: Heard::Restarted, tick: None });
    }

    /// A dialog is about to come just when nobody types for a moment.
    pub(crate) fn ask_in_between(&mut self) {
        let may_ask = !self.is_calm && self.faults.kinds & 1 == 1 && !self.is_locked();
        if may_ask && self.dice.permille(10) {
            self.in_loop(0, Loop::DialogHook { since: None });
        }
    }

    fn strike(&mut self, kind: i64) {
        let some = u32::try_from(self.dice.between(1, 3)).unwrap();
        match kind {
            // Work in the background is about to ask something.
            0 => self.in_loop(0, Loop::DialogHook { since: None }),
            2 => self.crash(),
            3 => {
                let until = Timestamp(self.now.0 + self.dice.between(50, 5000));
                self.tmux.stalled_until = until.max(self.tmux.stalled_until);
            }
            4 => {
                let until = Timestamp(self.now.0 + self.dice.time(2000, 8000, 200));
                self.cli.stalled_until = until.max(self.cli.stalled_until);
            }
            5 if self.dice.permille(400) && self.cli.is_alive => {
                self.struck_amid(Fault::AgentExits);
                let run = self.cli.run;
                self.end(run);
                self.tell_agent(run, Sighting::Ended { how: "exit 1".to_owned() });
            }
            5 => self.restarts(),
            6 => self.faults.full_until = Timestamp(self.now.0 + self.dice.between(50, 5000)),
            7 => self.faults.loses_enter = some,
            8 => self.faults.delays_hook = some,
            9 => self.faults.kills_hook = some,
            10 => self.faults.kills_hook_late = some,
            11 => self.faults.delays_answer = some,
            12 => self.faults.doubles_hook = some,
            13 => self.faults.draws_late = 20,
            16 => self.tmux_dies(),
            14 => self.faults.blind_until = Timestamp(self.now.0 + self.dice.between(50, 3000)),
            _ => {}
        }
    }

    /// Nothing goes wrong from now on, and a person sees to what only they can.
    pub(crate) fn calm(&mut self) {
        self.trace(|_| "from now on all goes well".to_owned());
        self.is_calm = true;
        self.faults = Faults { kinds: self.faults.kinds, ..Faults::default() };
        self.wanted_again();
    }

    /// Has the agent run again if it ended too often.
    fn wanted_again(&mut self) {
        match self.daemon {
            Some(_) => self.inside(0, Inside::Turn { heard: Heard::Wanted, tick: None }),
            None => self.later(500, Happens::Calm),
        }
    }
}
