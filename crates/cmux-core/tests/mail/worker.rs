//! The worker of an agent in the daemon: it looks, asks the rules what to do, does that, and tells the
//! kernel. All that it remembers is gone when the daemon is.

use std::convert::Infallible;
use std::time::Duration;

use cmux_core::agent::Doing;
use cmux_core::delivery::{
    Confirm, Delivery, DeliveryState, Holds, Look, Offer, Offering, Pace, Person, Sighted, Signed,
    Step, Ticket, Typing,
};
use cmux_core::id::{DeliveryId, RunId};
use cmux_core::plan::Action;
use cmux_core::time::Timestamp;

use crate::cli::{By, Chunk, Input, View};
use crate::kernel::Heard;
use crate::mistakes::Mistake;
use crate::tally::Fault;
use crate::tmux::Command;
use crate::world::{Happens, Inside, World};

/// How long after its look a step may still be done, in milliseconds. A dialog's hook waits longer.
const STEP_WITHIN: i64 = 1500;

/// How long it has the lock at most once it has typed something, in milliseconds.
const LOCKED_MAX: i64 = 2000;

#[derive(Clone, Debug, Default)]
pub(crate) struct Worker {
    pub(crate) job: Job,
    /// Tells the look that is awaited from those that are not any more.
    pub(crate) tick: u64,
    /// Whether it waits for an answer, or for tmux.
    is_awaiting: bool,
    /// Since when it has the pane's lock.
    locked_at: Option<Timestamp>,
    /// What tmux told when it was last looked at the pane.
    glance: Option<Glance>,
    /// What was typed last, as long as nothing shows that it has come to the CLI, and when.
    on_its_way: Option<(&'static str, Timestamp)>,
    /// Whoever else types.
    person: Person,
    /// What was seen of whether it was read.
    pub(crate) signed: Signed,
}

/// What tmux tells of a pane at one moment. All else is looked at after it.
#[derive(Clone, Debug)]
struct Glance {
    view: View,
    is_blind: bool,
    is_pasted: bool,
    presses: u32,
    empties: u32,
    is_scrolled: bool,
    /// Whether a dialog was about to come before tmux was asked.
    is_near: bool,
    /// How many keys of a person's had come, and when the last one did.
    keys: u64,
    key_at: Timestamp,
}

#[derive(Clone, Debug, Default)]
pub(crate) enum Job {
    #[default]
    None,
    Offer {
        run: RunId,
        offering: Offering,
    },
    Deliver {
        delivery: Box<Delivery>,
        typing: Box<Typing>,
        is_recalled: bool,
    },
}

impl World {
    pub(crate) fn is_locked(&self) -> bool {
        let is_held = self.daemon.is_some() && self.worker.locked_at.is_some();
        (is_held || self.now < self.locked_until) && !self.makes(Mistake::TypesUnlocked)
    }

    /// Whoever dies with the lock leaves it as it is for as long as tmux may still do what it was sent.
    pub(crate) fn die_locked(&mut self) {
        if let Some(at) = self.worker.locked_at {
            let until = Timestamp(at.0 + STEP_WITHIN + 100);
            self.locked_until = until.max(self.locked_until);
        }
    }

    pub(crate) fn take_mail_action(&mut self, action: Action) {
        match (action, &self.worker.job) {
            (Action::OfferMail { run, .. }, Job::None) => {
                self.worker.job = Job::Offer { run, offering: Offering::default() };
                self.look_after(0);
            }
            (
                Action::Deliver { delivery, .. } | Action::SettleDelivery { delivery, .. },
                Job::None | Job::Offer { .. },
            ) => self.take(delivery),
            (Action::Deliver { delivery, is_recalled: true, .. }, Job::Deliver { .. }) => {
                self.recall(delivery.id);
            }
            (Action::Recall { delivery, .. }, Job::Deliver { .. }) => {
                // It may be lost: what is to be taken back is told again.
                match self.is_calm || !self.dice.permille(200) {
                    true => self.recall(delivery),
                    false => self.struck(Fault::RecallLost),
                }
            }
            (_, Job::None | Job::Offer { .. } | Job::Deliver { .. }) => {}
        }
    }

    /// Hears that a delivery is to be taken back.
    fn recall(&mut self, id: DeliveryId) {
        let Job::Deliver { delivery, is_recalled, .. } = &mut self.worker.job else { return };
        if delivery.id == id && !*is_recalled {
            *is_recalled = true;
            if !self.worker.is_awaiting {
                self.look_after(0);
            }
        }
    }

    /// Goes on with a delivery. One that is settled by now was handed out too late.
    fn take(&mut self, delivery: Box<Delivery>) {
        if self.store.delivery(delivery.id).is_none_or(|it| it.state.is_settled()) {
            return;
        }
        let is_recalled = self.store.is_recalled(&delivery);
        self.worker.job = Job::Deliver { delivery, typing: Box::default(), is_recalled };
        self.worker.signed = Signed::default();
        self.look_after(0);
    }

    /// Plans the next look. Any other that was planned counts no more.
    fn look_after(&mut self, after_ms: i64) {
        self.worker.tick += 1;
        self.worker.is_awaiting = false;
        let tick = self.worker.tick;
        let delay = self.dice.between(0, 3);
        self.inside(after_ms + delay, Inside::Glance { tick });
    }

    /// A step was done, or was not: it is looked again.
    pub(crate) fn look_soon(&mut self, life: u64, tick: u64) {
        if self.daemon == Some(life) && self.worker.tick == tick {
            self.look_after(1);
        }
    }

    /// Begins to look: takes the lock, and has tmux tell what it knows.
    pub(crate) fn glance(&mut self, tick: u64) {
        if tick != self.worker.tick {
            return;
        }
        if self.now < self.tmux.stalled_until {
            let after = self.tmux.stalled_until.0 - self.now.0 + self.dice.between(0, 50);
            return self.inside(after, Inside::Glance { tick });
        }
        self.worker.locked_at = Some(self.now);
        let of = match &self.worker.job {
            Job::None => return,
            Job::Offer { run, .. } => self.store.last_of(*run).map(|it| (it.id, it.attempt)),
            Job::Deliver { delivery, .. } => Some((delivery.id, delivery.attempt)),
        };
        let is_blind = self.now < self.faults.blind_until;
        if is_blind {
            self.struck_amid(Fault::ScreenUnseen);
        }
        let times = |what| of.map_or(0, |(id, attempt)| self.tmux.times(id, attempt, what));
        let (is_pasted, presses, empties) = (times("paste") > 0, times("press"), times("empty"));
        self.worker.glance = Some(Glance {
            view: self.cli.seen(self.now),
            is_blind,
            is_pasted,
            presses,
            empties,
            is_scrolled: self.tmux.is_scrolled,
            is_near: self.cli.dialogs_near > 0 && !self.makes(Mistake::LooksForDialogsLast),
            keys: self.tmux.keys,
            key_at: self.tmux.key_at,
        });
        match self.dice.permille(120) {
            true => {
                let after = 1 + self.dice.time(40, 400, 100);
                self.inside(after, Inside::Look { tick });
            }
            false => self.look(tick),
        }
    }

    /// Looks at the rest, and does what is to be done.
    pub(crate) fn look(&mut self, tick: u64) {
        if tick != self.worker.tick {
            return;
        }
        let Some(glance) = self.worker.glance.take() else { return };
        let keys = glance.keys;
        match std::mem::take(&mut self.worker.job) {
            Job::None => {}
            Job::Offer { run, mut offering } => {
                let look = self.look_of(None, run, glance);
                self.follow(look.holds);
                let offer = offering.next(&look, &self.pace(), self.now);
                self.worker.job = Job::Offer { run, offering };
                self.trace(|_| format!("offer {:?} {:?}: {offer:?}", look.holds, look.doing));
                self.offer(offer, run, look.is_alive, keys);
            }
            Job::Deliver { delivery, mut typing, is_recalled } => {
                let look = self.look_of(Some(&delivery), delivery.run, glance);
                let look = Look { is_recalled, ..look };
                self.follow(look.holds);
                let step = match self.recovers_blindly(&delivery, &look) {
                    Some(step) => step,
                    None => typing.next(&delivery, &look, &self.pace(), self.now),
                };
                self.trace(|_| {
                    format!(
                        "{} {} {:?}, ticket {:?}, {:?} {:?}, pasted {} presses {}: {step:?}",
                        delivery.id,
                        delivery.attempt,
                        delivery.state,
                        look.ticket,
                        look.holds,
                        look.doing,
                        look.is_pasted,
                        look.presses
                    )
                });
                let of = (delivery.id, delivery.run, delivery.attempt);
                self.worker.job = Job::Deliver { delivery, typing, is_recalled };
                self.step(step, of, keys);
            }
        }
    }

    fn pace(&self) -> Pace {
        Pace {
            submit_after: Duration::from_millis(50),
            confirm: if self.kind.has_hook { Confirm::Hook } else { Confirm::Sight },
            has_prompt: true,
            is_repeated: self.kind.is_repeated,
        }
    }

    /// Returns what is seen of a delivery, or of an agent that is free: after what tmux told, whether the run
    /// goes on, whose the ticket is, and what shows that it was read.
    fn look_of(&mut self, delivery: Option<&Delivery>, run: RunId, glance: Glance) -> Look {
        let key = (glance.keys > 0).then_some(glance.key_at);
        let is_person_here = self.worker.person.is_here(key, glance.view.made_at, self.now);
        let Glance { view, is_blind, is_pasted, presses, empties, is_scrolled, is_near, .. } =
            glance;
        let is_ours = |it: &Chunk| matches!(it, Chunk::Mail(_));
        let holds = match &view.prompt[..] {
            _ if is_blind => Holds::Unknown,
            [] => Holds::Nothing,
            [Chunk::Mail(it)] if delivery.is_some_and(|delivery| delivery.id == *it) => Holds::Ours,
            prompt if prompt.iter().all(is_ours) => Holds::Stale,
            _ => Holds::Other,
        };
        let is_shown = delivery.is_some_and(|it| view.shown.contains(&it.id));
        let is_alone = delivery.is_some_and(|it| key.is_none_or(|key| key < it.since));
        let doing = match is_near || self.cli.dialogs_near > 0 {
            true => Doing::Asking { what: String::new() },
            false => view.doing.clone(),
        };
        let shown = Look {
            is_alive: true,
            ticket: Ticket::Absent,
            used: None,
            is_pasted,
            presses,
            empties,
            holds,
            is_shown: is_shown && is_alone && presses > 0 && holds == Holds::Nothing,
            doing: (!is_blind).then_some(doing),
            is_person_here,
            is_scrolled,
            is_deaf: false,
            is_in_front: true,
            is_recalled: false,
            is_paused: false,
        };
        let is_alive = || run == self.cli.run && self.cli.is_alive;
        let ticket = || Ok::<_, Infallible>(self.ticket_of(delivery));
        let Ok(look) = shown.seen_through(is_alive, ticket);
        let may_be_read = delivery.is_some_and(|it| self.record(it).may_be_read());
        let look = Look { is_shown: look.is_shown && may_be_read, ..look };
        let used = delivery.and_then(|it| self.used(it, &view, &look));
        self.mistaken(Look { used, ..look })
    }

    fn ticket_of(&self, delivery: Option<&Delivery>) -> Ticket {
        delivery.map_or(Ticket::Absent, |it| self.claims.state(it.id))
    }

    fn offer(&mut self, offer: Offer, run: RunId, is_alive: bool, keys: u64) {
        if !is_alive {
            self.worker.job = Job::None;
            self.worker.locked_at = None;
            return;
        }
        match offer {
            Offer::Ready => {
                let mark = u64::try_from(self.cli.transcript.len()).unwrap();
                self.ask(Heard::MailWanted { run, mark });
            }
            Offer::Empty(time) => {
                let last = self.store.last_of(run).map(|it| (it.id, run, it.attempt));
                self.send("empty", time, Input::Empty(By::Cmux), last.unwrap(), keys);
            }
            Offer::Pause(pause) => self.rest(pause),
            Offer::Wait(_) => self.rest(Duration::from_secs(1)),
        }
    }

    fn step(&mut self, step: Step, of: (DeliveryId, RunId, u32), keys: u64) {
        let (delivery, run, attempt) = of;
        match step {
            Step::Lay | Step::Void | Step::GiveBack if self.is_disk_full() => {
                self.rest(Duration::from_secs(1));
            }
            Step::Lay => {
                self.claims.lay(delivery, run);
                self.look_after(1);
            }
            Step::Void => {
                self.claims.void(delivery, run);
                self.look_after(1);
            }
            Step::GiveBack => {
                self.claims.give_back(delivery);
                self.look_after(1);
            }
            Step::Paste => self.send("paste", 1, Input::Paste(delivery), of, keys),
            Step::Press(time) => self.send("press", time, Input::Enter(By::Cmux), of, keys),
            Step::Empty(time) => self.send("empty", time, Input::Empty(By::Cmux), of, keys),
            Step::Pause(pause) => self.rest(pause),
            Step::Wait(_) => self.rest(Duration::from_secs(1)),
            Step::Tell(seen) | Step::Done(seen) => {
                self.check_seen(delivery, &seen);
                self.ask(Heard::Seen { delivery, attempt, seen });
            }
        }
    }

    /// Gives the lock back, unless something is on its way that must not come to a dialog.
    fn unlock(&mut self) {
        let is_long_ago = |at: Timestamp| self.now.0 - at.0 >= LOCKED_MAX;
        if self.worker.on_its_way.is_none_or(|(_, at)| is_long_ago(at)) {
            self.worker.on_its_way = None;
            self.worker.locked_at = None;
        }
    }

    /// Takes note of whether what was typed last has come to the CLI.
    fn follow(&mut self, holds: Holds) {
        let has_come = match self.worker.on_its_way {
            Some(("paste", _)) => holds != Holds::Nothing,
            Some(("press", _)) => holds != Holds::Ours,
            Some(_) => holds == Holds::Nothing,
            None => false,
        };
        if has_come {
            self.worker.on_its_way = None;
        }
    }

    fn rest(&mut self, pause: Duration) {
        self.unlock();
        self.ask_in_between();
        self.look_after(i64::try_from(pause.as_millis()).unwrap());
    }

    fn ask(&mut self, heard: Heard) {
        self.unlock();
        self.worker.tick += 1;
        self.worker.is_awaiting = true;
        let tick = Some(self.worker.tick);
        let delay = self.dice.time(3, 100, 50);
        self.inside(delay, Inside::Turn { heard, tick });
    }

    fn send(
        &mut self,
        what: &'static str,
        time: u32,
        input: Input,
        of: (DeliveryId, RunId, u32),
        keys: u64,
    ) {
        let (delivery, run, attempt) = of;
        let Some(life) = self.daemon else { return };
        self.worker.tick += 1;
        self.worker.is_awaiting = true;
        self.worker.on_its_way = Some((what, self.now));
        let (token, tick) = ((delivery, attempt, what, time), self.worker.tick);
        let deadline = Timestamp(self.worker.locked_at.unwrap_or(self.now).0 + STEP_WITHIN);
        let server = self.tmux.server;
        let command = Command { server, run, token, input, deadline, keys, life, tick };
        let delay = self.dice.time(10, 300, 50);
        self.later(delay, Happens::Command { command });
        self.strike_in_between();
    }

    /// The kernel answers.
    pub(crate) fn answered(&mut self, tick: u64, delivery: Option<Delivery>, is_taken: bool) {
        if tick != self.worker.tick {
            return;
        }
        if !is_taken {
            return self.rest(Duration::from_secs(1));
        }
        let Some(after) = delivery else {
            self.worker = Worker { tick, person: self.worker.person, ..Worker::default() };
            return;
        };
        if after.state.is_settled() {
            self.put_away(&after);
            self.worker = Worker { tick, person: self.worker.person, ..Worker::default() };
            return;
        }
        match &mut self.worker.job {
            Job::Deliver { delivery, .. } => {
                **delivery = after;
                self.look_after(0);
            }
            Job::None | Job::Offer { .. } => self.take(Box::new(after)),
        }
    }

    /// Puts away the ticket of a delivery that is settled. A copy of what was not read may be with the hook for
    /// as long as its run goes on.
    fn put_away(&mut self, settled: &Delivery) {
        let is_there = settled.run == self.cli.run && self.cli.is_alive;
        let may_come = is_there && self.tmux.has_pasted(settled.id);
        if settled.state == DeliveryState::Used {
            self.claims.settle(settled.id, settled.run, settled.attempt > 1);
        } else if !may_come || self.makes(Mistake::ForgetsAtOnce) {
            self.claims.forget(settled.id);
        }
    }

    /// What is told of a delivery must be so.
    fn check_seen(&mut self, delivery: DeliveryId, seen: &Sighted) {
        let of = self.store.delivery(delivery).unwrap().messages.clone();
        let is_read =
            |world: &World| of.iter().all(|it| world.reads.iter().any(|at| at.message == *it));
        if matches!(seen, Sighted::Used(_)) && !is_read(self) {
            self.broken("it is told that something was read that was not");
        }
    }
}
