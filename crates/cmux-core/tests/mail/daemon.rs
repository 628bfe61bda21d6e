//! The daemon around its worker: turns of the kernel, what they have done, and who watches the agent.

use cmux_core::agent::{Doing, Pid, Place, Sighting};
use cmux_core::id::{DeliveryId, RunId};
use cmux_core::plan::Action;
use cmux_core::time::Timestamp;
use ulid::Ulid;

use crate::cli::{By, Cli, Input};
use crate::kernel::Heard;
use crate::tally::Fault;
use crate::tmux::Command;
use crate::worker::Worker;
use crate::world::{Happens, Inside, World};

impl World {
    /// The daemon begins to live. All that the one before had in memory is gone.
    pub(crate) fn boot(&mut self) {
        self.lives += 1;
        self.trace(|_| "daemon starts".to_owned());
        self.daemon = Some(self.lives);
        self.worker = Worker::default();
        self.told = None;
        self.is_watching = false;
        self.launching = None;
        self.forget_wake();
        self.inside(0, Inside::Turn { heard: Heard::Started, tick: None });
        self.inside(60, Inside::Survey);
    }

    pub(crate) fn crash(&mut self) {
        if self.daemon.take().is_some() {
            self.trace(|_| "daemon dies".to_owned());
            self.struck_amid(Fault::DaemonDies);
            self.die_locked();
            self.lose_unrecorded();
            let back = self.dice.time(500, 6000, 300);
            self.later(back + 20, Happens::Boot);
        }
    }

    pub(crate) fn in_daemon(&mut self, life: u64, what: Inside) {
        match what {
            Inside::Turn { heard, tick } => self.turn(life, heard, tick),
            Inside::Answer { tick, delivery, is_taken } => self.answered(tick, delivery, is_taken),
            Inside::Act(action) => self.act(action),
            Inside::Due => {
                self.forget_wake();
                self.inside(0, Inside::Turn { heard: Heard::Due, tick: None });
            }
            Inside::Survey => self.survey(),
            Inside::Watch => self.watch(),
            Inside::Glance { tick } => self.glance(tick),
            Inside::Look { tick } => self.look(tick),
        }
    }

    fn turn(&mut self, life: u64, heard: Heard, tick: Option<u64>) {
        let is_taken = !self.is_disk_full();
        if !is_taken {
            self.struck_amid(Fault::DiskFull);
        }
        let mut delivery = None;
        if is_taken {
            if !matches!(heard, Heard::Due) {
                self.trace(|_| format!("kernel hears {heard:?}"));
            }
            let dice = self.dice.between(0, 1000).unsigned_abs();
            let turn = self.store.turn(heard, self.now, dice);
            delivery = turn.delivery;
            for action in turn.actions {
                if let Action::LaunchAgent { run, .. } = &action {
                    self.launching = Some(*run);
                }
                let delay = self.dice.between(1, 5);
                self.inside(delay, Inside::Act(action));
            }
            self.wake(life);
            self.check_turn(&turn.failed, turn.unfair);
        } else if matches!(heard, Heard::Started | Heard::Due) {
            self.inside(500, Inside::Turn { heard, tick: None });
        }
        if let Some(tick) = tick {
            self.inside(0, Inside::Answer { tick, delivery, is_taken });
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::LaunchAgent { run, .. } => self.launch(run),
            Action::EndAgent { run, .. } => {
                self.end(run);
                self.tell_agent(run, Sighting::Ended { how: "ended".to_owned() });
            }
            Action::ClearRun { run, .. } => {
                self.end(run);
                self.tell_agent(run, Sighting::Cleared);
            }
            Action::InterruptAgent { run, step, .. } => self.interrupt(run, &step),
            Action::OfferMail { .. }
            | Action::Deliver { .. }
            | Action::SettleDelivery { .. }
            | Action::Recall { .. } => self.take_mail_action(action),
            Action::LookAtProject { .. }
            | Action::ForgetAgent { .. }
            | Action::TakeSnapshot { .. } => panic!("{action:?}"),
        }
    }

    fn launch(&mut self, run: RunId) {
        self.launching = None;
        if run == self.cli.run {
            return;
        }
        if self.cli.is_alive {
            return self.broken("two lives at once");
        }
        self.trace(|_| format!("cli starts as {run}"));
        let before = std::mem::replace(&mut self.cli, Cli::new(run, self.now));
        self.past.push(before);
        self.tmux.is_scrolled = false;
        self.told = None;
        let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
        let process = Pid { pid: 7, start: 1 };
        self.tell_agent(run, Sighting::Launched { place, process });
        self.inside(400, Inside::Watch);
    }

    pub(crate) fn end(&mut self, run: RunId) {
        if run == self.cli.run && self.cli.is_alive {
            self.trace(|_| format!("cli ends as {run}"));
            self.cli.is_alive = false;
        }
    }

    pub(crate) fn tell_agent(&mut self, run: RunId, sighting: Sighting) {
        let delay = self.dice.between(1, 200);
        let heard = Heard::Agent { run, sighting };
        self.inside(delay, Inside::Turn { heard, tick: None });
    }

    /// Has the agent stop in what it does, unless that could be an answer to a dialog.
    fn interrupt(&mut self, run: RunId, step: &str) {
        let doing = self.cli.seen(self.now).doing;
        let is_safe = self.cli.dialogs_near == 0 && doing == Doing::Working && !self.is_locked();
        let Some(life) = self.daemon.filter(|_| is_safe && run == self.cli.run) else { return };
        let words: Vec<&str> = step.trim_start_matches("interrupt-msg_").split('-').collect();
        let [of, begun, time] = words[..] else { panic!("{step}") };
        let of = DeliveryId::new(Ulid::from_string(of).unwrap());
        let token = (of, begun.parse().unwrap(), "escape", time.parse().unwrap());
        self.locked_until = Timestamp(self.now.0 + 1600);
        let deadline = Timestamp(self.now.0 + 1500);
        let (input, keys) = (Input::Escape(By::Cmux), self.tmux.keys);
        let server = self.tmux.server;
        let command = Command { server, run, token, input, deadline, keys, life, tick: u64::MAX };
        self.later(5, Happens::Command { command });
    }

    /// Looks after all that may have been missed.
    fn survey(&mut self) {
        self.inside(10_000, Inside::Survey);
        self.told = None;
        self.inside(1, Inside::Watch);
        let Some((run, is_launching)) = self.store.live_run() else { return };
        let is_there = run == self.cli.run && self.cli.is_alive;
        match (is_there, is_launching) {
            (true, true) => {
                let place = Place { server: "/tmux/a".to_owned(), pane: "%1".to_owned() };
                let process = Pid { pid: 7, start: 1 };
                self.tell_agent(run, Sighting::Launched { place, process });
            }
            (true, false) => {}
            // Whoever is about to launch it tells what came of that.
            (false, true) if self.launching == Some(run) => {}
            (false, _) => self.tell_agent(run, Sighting::NotLaunched { why: "gone".to_owned() }),
        }
    }

    pub(crate) fn note_soon(&mut self) {
        if !self.is_watching {
            self.is_watching = true;
            let delay = self.dice.time(60, 1500, 100);
            self.inside(delay, Inside::Watch);
        }
    }

    /// Tells the kernel what the agent is seen to do, if that is news.
    fn watch(&mut self) {
        self.is_watching = false;
        if !self.cli.is_alive || self.now < self.faults.blind_until {
            return;
        }
        let doing = self.cli.seen(self.now).doing;
        if self.cli.views.len() > 1 {
            self.note_soon();
        }
        if self.told.as_ref() != Some(&doing) {
            self.told = Some(doing.clone());
            let run = self.cli.run;
            self.tell_agent(run, Sighting::Told { doing, rank: 0 });
        }
    }
}
