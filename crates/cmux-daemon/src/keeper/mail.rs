//! Mail: asked for when an agent can take it, and typed as the rules say, one look and one step at a time.
//!
//! What is known here can be lost at any moment: the store has the delivery, the disk its ticket, and the
//! pane which of its steps were done.

mod disk;
mod held;
mod interrupt;
mod left;
mod lock;
mod posting;
mod proof;
mod sight;
mod steps;

use std::time::Duration;

use cmux_core::delivery::{
    Delivery, DeliveryState, Offer, Offering, Person, Sighted, Step, Ticket, Typing,
};
use cmux_core::id::DeliveryId;
use cmux_core::kind::Channel;
use cmux_core::mail::Waiting;
use cmux_core::report::{Answer, Report};
use cmux_core::time::Timestamp;
use cmux_drivers::failpoint;
use cmux_drivers::tmux::TmuxError;
use cmux_drivers::typing_lock::is_dialog_near;
use tokio::time::Instant;
use tracing::{debug, warn};

pub(super) use self::disk::{Ended, put_away};
use self::disk::{NotFiled, file};
use self::held::Held;
use self::left::Last;
pub(super) use self::lock::Lock;
use self::posting::Posts;
use self::proof::Proof;
pub(super) use self::proof::Whereabouts;
pub(crate) use self::proof::transcript_of;
pub(super) use self::sight::{Seen, answered, second};
use self::steps::lay;
use super::desk::Desk;
use super::watch::Watch;

/// How soon to try again what the disk or the kernel would not take.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How many deliveries are remembered of which a copy may be left.
const BEFORE_MAX: usize = 4;

/// What an agent's mail has come to.
#[derive(Debug, Default)]
pub(super) struct Mail {
    is_offered: bool,
    /// Whether the kernel knows what this kind of agent does with what it is told.
    is_kind_told: bool,
    /// Whether nothing is to be given to the agent for now.
    is_paused: bool,
    under_way: Option<UnderWay>,
    held: Held,
    /// When to look next.
    at: Option<Instant>,
    /// How often in a row something was in the way.
    waits: u32,
    /// How long the last look took.
    look_took: Duration,
    offering: Offering,
    /// Deliveries to this life that are settled and of which a copy may be left, the last one last.
    before: Vec<Delivery>,
    /// The last that the store was asked about.
    recalled: Option<Last>,
    /// Whoever else types in its pane.
    person: Person,
}

/// A delivery that is being typed.
#[derive(Debug)]
pub(super) struct UnderWay {
    delivery: Delivery,
    typing: Typing,
    is_recalled: bool,
    /// Whether it was made just now, and nothing was done with it yet.
    is_new: bool,
    /// Whether what is too long to be typed lies where it can be read.
    is_filed: bool,
    lock: Option<Lock>,
    /// When it was pasted in this life of the daemon, by the wall.
    pasted_at: Option<Timestamp>,
    /// Whether anything of it was ever pasted.
    was_pasted: bool,
    /// Whether the next thing to do is to be typed, and waits for the lock.
    wants_lock: bool,
    proof: Proof,
    posts: Posts,
}

impl Mail {
    /// Returns when to look next.
    pub(super) fn at(&self) -> Option<Instant> {
        self.at
    }

    fn soon(&mut self, after: Duration) {
        self.at = Some(Instant::now() + after);
    }

    /// Remembers a delivery of which a copy may be left.
    fn remember(&mut self, delivery: Delivery) {
        self.before.push(delivery);
        let many = self.before.len().saturating_sub(BEFORE_MAX);
        self.before.drain(..many);
    }
}

impl Watch {
    /// Hears that mail waits.
    pub(super) fn offer_mail(&mut self) {
        (self.mail.is_offered, self.mail.is_paused) = (true, false);
        if self.mail.under_way.is_none() {
            self.mail.soon(Duration::ZERO);
        }
    }

    /// Goes on with a delivery that is recorded already, unless it is at it, and takes it back if it is
    /// `is_recalled`. While its agent `is_paused`, nothing of it is typed.
    pub(super) fn take_up(&mut self, delivery: Delivery, is_recalled: bool, is_paused: bool) {
        if delivery.run != self.run {
            return;
        }
        self.mail.is_paused = is_paused;
        let id = delivery.id;
        if self.mail.under_way.as_ref().is_none_or(|it| it.delivery.id != id) {
            let proof = Proof::inherited();
            self.mail.under_way = Some(UnderWay { proof, ..UnderWay::new(delivery) });
            self.mail.soon(Duration::ZERO);
        }
        if is_recalled {
            self.recall_mail(id);
        }
    }

    /// Takes a delivery back, if it is at it.
    pub(super) fn recall_mail(&mut self, delivery: DeliveryId) {
        let way = self.mail.under_way.as_mut().filter(|it| it.delivery.id == delivery);
        if let Some(way) = way.filter(|it| !it.is_recalled) {
            way.is_recalled = true;
            self.mail.soon(Duration::ZERO);
        }
    }

    /// Looks at once, if there is mail: something has happened.
    pub(super) fn nudge_mail(&mut self) {
        if self.mail.at.is_some() {
            self.mail.soon(Duration::ZERO);
        }
    }

    /// Takes the next step with what is being typed, or asks for what waits.
    pub(super) async fn deliver(&mut self, desk: &Desk) {
        self.mail.at = None;
        let is_wanted = self.mail.is_offered || self.mail.under_way.is_some();
        if !is_wanted || self.is_ending {
            return;
        }
        if self.starts_by.is_some() {
            return self.mail.soon(held::WAIT_MAX);
        }
        let mut way = self.mail.under_way.take();
        if let Some(after) = way.as_mut().and_then(|way| self.lock(way, desk)) {
            self.mail.under_way = way;
            return self.mail.soon(after);
        }
        match self.glance_while_laying(way.as_mut(), desk).await {
            Ok(seen) => match way {
                Some(way) => self.mail.under_way = self.go_on(way, &seen, desk).await,
                None => self.ask_for_mail(&seen, desk).await,
            },
            Err(error) => {
                debug!(%error, agent = %self.agent, "its pane was not seen");
                self.mail.under_way = way.map(UnderWay::unlocked);
                self.wait(Waiting::Tmux, desk);
            }
        }
    }

    /// Looks at the pane. The ticket of a delivery that is new is laid meanwhile: it lies before anything is
    /// typed, and the look is the fresher for it.
    async fn glance_while_laying(
        &mut self,
        way: Option<&mut UnderWay>,
        desk: &Desk,
    ) -> Result<Seen, TmuxError> {
        let new = way.filter(|way| way.is_new && self.channel == Channel::Paste);
        let ticket = new.map(|way| {
            way.is_new = false;
            self.ticket_of(&way.delivery)
        });
        let laying = async {
            match ticket {
                Some(ticket) => lay(ticket, desk).await,
                None => Ok(()),
            }
        };
        let (seen, laid) = tokio::join!(self.glance(desk), laying);
        if let Err(error) = laid {
            // As it is not there, it is tried again.
            debug!(%error, "a ticket could not be laid");
        }
        seen
    }

    /// Holds the pane's lock while something is typed. Returns when to try again, if it cannot be had now.
    fn lock(&self, way: &mut UnderWay, desk: &Desk) -> Option<Duration> {
        if self.channel == Channel::Api || !(way.is_typing() || way.wants_lock) {
            return None;
        }
        let is_on_its_way = way.typing.is_on_its_way();
        if way.lock.as_ref().is_some_and(|lock| lock.is_old(is_on_its_way)) {
            way.lock = None;
            return Some(lock::GAP);
        }
        if way.lock.is_none() {
            way.lock = Lock::take(&desk.home.typing_lock(&self.run.to_string()));
        }
        way.wants_lock &= way.lock.is_none();
        way.lock.is_none().then_some(lock::BUSY)
    }

    /// Asks for the next delivery, if nothing stands against typing it.
    async fn ask_for_mail(&mut self, seen: &Seen, desk: &Desk) {
        // What it was launched to do comes first.
        if self.unsaid.is_some() {
            return self.wait(Waiting::Starting, desk);
        }
        self.recall_left(seen, desk).await;
        let (look, pace, now) = (self.free_look(seen), self.pace(), self.now());
        match self.mail.offering.next(&look, &pace, now) {
            Offer::Ready => {}
            Offer::Pause(pause) => return self.mail.soon(pause.max(self.look_apart())),
            Offer::Wait(waiting) => return self.wait(waiting, desk),
            Offer::Empty(number) => return self.tidy(number, seen, desk).await,
        }
        if !self.tell_kind(desk).await {
            return self.mail.soon(RETRY_AFTER);
        }
        let mark = self.transcript_size().await;
        let (agent, run) = (self.agent, self.run);
        failpoint::hit("mail.ask");
        match desk.inbox.ask(Report::MailWanted { agent, run, mark }).await {
            Ok(Answer::Delivery(Some(delivery))) => {
                failpoint::hit("mail.asked");
                self.mail.under_way = Some(UnderWay { is_new: true, ..UnderWay::new(*delivery) });
                self.mail.soon(Duration::ZERO);
            }
            // Nothing waits any more, or it is not for this life.
            Ok(_) => self.mail.is_offered = false,
            Err(error) => {
                debug!(%error, agent = %self.agent, "its mail could not be had");
                self.mail.soon(RETRY_AFTER);
            }
        }
    }

    /// Sees to it that the kernel knows whether what it hands out would be run.
    async fn tell_kind(&mut self, desk: &Desk) -> bool {
        if !self.mail.is_kind_told {
            let manifest = &self.kind.manifest;
            let (kind, commanded) = (manifest.kind.to_string(), manifest.runs_what_it_is_told());
            self.mail.is_kind_told =
                desk.inbox.ask(Report::KindIs { kind, commanded }).await.is_ok();
        }
        self.mail.is_kind_told
    }

    /// Empties the prompt of what is left there of the last delivery.
    async fn tidy(&mut self, number: u32, seen: &Seen, desk: &Desk) {
        let Some(last) = self.mail.before.last() else { return };
        let path = desk.home.typing_lock(&self.run.to_string());
        // It was looked without the lock: the hook of a dialog may have gone on since.
        let Some(lock) = Lock::take(&path).filter(|_| !is_dialog_near(&path)) else {
            return self.mail.soon(lock::BUSY);
        };
        let token = format!("{}-{}-empty-{number}", last.id, last.attempt);
        let keys = self.kind.manifest.keys.empty.clone();
        failpoint::hit("mail.tidy");
        self.type_keys(&keys, token, seen, &lock).await;
        failpoint::hit("mail.tidied");
    }

    /// Goes on with a delivery once what is too long to be typed is at hand. Returns it, if it is not settled.
    async fn go_on(&mut self, mut way: UnderWay, seen: &Seen, desk: &Desk) -> Option<UnderWay> {
        if !way.is_filed {
            match file(&mut way, desk).await {
                Ok(()) => {}
                Err(NotFiled::Settled) => {
                    self.mail.soon(Duration::ZERO);
                    return None;
                }
                Err(not_filed) => return self.go_on_without(way, not_filed, seen, desk).await,
            }
        }
        self.take_steps(way, seen, desk).await
    }

    /// Takes steps with a delivery for as long as one look is good for them.
    async fn take_steps(
        &mut self,
        mut way: UnderWay,
        seen: &Seen,
        desk: &Desk,
    ) -> Option<UnderWay> {
        if self.channel == Channel::Api {
            return self.post(way, seen, desk).await;
        }
        let mut look = match self.look_of(&mut way, seen, desk).await {
            Ok(look) => look,
            Err(error) => {
                warn!(%error, agent = %self.agent, "its ticket could not be looked at");
                self.mail.soon(RETRY_AFTER);
                return Some(way.unlocked());
            }
        };
        loop {
            let step = way.typing.next(&way.delivery, &look, &self.pace(), self.now());
            match step {
                Step::Lay => match lay(self.ticket_of(&way.delivery), desk).await {
                    Ok(()) => look.ticket = Ticket::Open,
                    Err(error) => {
                        warn!(%error, agent = %self.agent, "a ticket could not be laid");
                        self.wait(Waiting::Disk, desk);
                        return Some(way.unlocked());
                    }
                },
                Step::Tell(again @ Sighted::Again { .. }) => {
                    return self.recorded(way, again, desk).await;
                }
                // Before the key is pressed it must be known that it may have been.
                Step::Tell(Sighted::Submitted) if self.pace().is_once() => {
                    return self.recorded(way, Sighted::Submitted, desk).await;
                }
                Step::Tell(seen) => self.tell_of(&mut way, seen, desk),
                Step::Done(seen) => return self.done(way, seen, desk).await,
                step @ (Step::Paste
                | Step::Press(_)
                | Step::Empty(_)
                | Step::Void
                | Step::GiveBack
                | Step::Pause(_)
                | Step::Wait(_)) => {
                    return Some(self.take_step(way, step, &look, seen, desk).await);
                }
            }
        }
    }

    /// Tells what was seen of a delivery, and goes on.
    fn tell_of(&self, way: &mut UnderWay, seen: Sighted, desk: &Desk) {
        failpoint::hit("mail.tell");
        let (delivery, attempt) = (way.delivery.id, way.delivery.attempt);
        if let Ok(after) = way.delivery.after(attempt, &seen, self.now()) {
            way.delivery = after;
        }
        if !way.is_typing() {
            way.lock = None;
        }
        desk.inbox.tell(Report::DeliverySeen { delivery, attempt, seen });
    }

    /// Has it recorded what was seen of a delivery, and goes on once it is.
    async fn recorded(
        &mut self,
        mut way: UnderWay,
        seen: Sighted,
        desk: &Desk,
    ) -> Option<UnderWay> {
        debug!(?seen, agent = %self.agent, "what was seen of its mail is recorded");
        let (delivery, attempt) = (way.delivery.id, way.delivery.attempt);
        failpoint::hit("mail.again");
        match desk.inbox.ask(Report::DeliverySeen { delivery, attempt, seen }).await {
            Ok(Answer::Delivery(Some(delivery))) if !delivery.state.is_settled() => {
                way.delivery = *delivery;
                self.mail.soon(Duration::ZERO);
                Some(way)
            }
            Ok(_) => None,
            Err(error) => {
                debug!(%error, agent = %self.agent, "it could not be recorded");
                self.mail.soon(RETRY_AFTER);
                Some(way.unlocked())
            }
        }
    }

    /// Has it recorded what became of a delivery. Only then does its ticket go.
    async fn done(&mut self, way: UnderWay, seen: Sighted, desk: &Desk) -> Option<UnderWay> {
        let (delivery, attempt) = (way.delivery.id, way.delivery.attempt);
        let is_used = matches!(seen, Sighted::Used(_));
        failpoint::hit("mail.done");
        if let Err(error) = desk.inbox.ask(Report::DeliverySeen { delivery, attempt, seen }).await {
            debug!(%error, agent = %self.agent, "it could not be recorded");
            self.mail.soon(RETRY_AFTER);
            return Some(way.unlocked());
        }
        self.hold(None, desk);
        if is_used {
            self.goes_on(desk);
        }
        failpoint::hit("mail.put-away");
        let ended = match (is_used, way.was_pasted) {
            (true, _) => Ended::Used,
            (false, true) => Ended::Typed,
            (false, false) => Ended::Untyped,
        };
        put_away(desk, &way.delivery, ended).await;
        failpoint::hit("mail.over");
        self.mail.offering = Offering::default();
        // One that was typed once and read is nowhere else.
        if !is_used || way.delivery.attempt > 1 {
            self.mail.remember(way.delivery);
        }
        if self.mail.is_offered {
            self.mail.soon(Duration::ZERO);
        }
        None
    }
}

impl UnderWay {
    fn new(delivery: Delivery) -> UnderWay {
        UnderWay {
            delivery,
            typing: Typing::default(),
            is_recalled: false,
            is_new: false,
            is_filed: false,
            lock: None,
            pasted_at: None,
            was_pasted: false,
            wants_lock: false,
            proof: Proof::default(),
            posts: Posts::default(),
        }
    }

    /// Returns the second that it was pasted in, or before which it certainly was not.
    fn pasted_s(&self) -> u64 {
        sight::second(self.pasted_at.unwrap_or(self.delivery.made_at))
    }

    fn unlocked(self) -> UnderWay {
        UnderWay { lock: None, ..self }
    }

    /// Returns whether it may be at the prompt, or is about to be.
    fn is_typing(&self) -> bool {
        match self.delivery.state {
            DeliveryState::Typing | DeliveryState::InDoubt => true,
            DeliveryState::Submitted
            | DeliveryState::Claimed
            | DeliveryState::Used
            | DeliveryState::Unused => false,
        }
    }
}
