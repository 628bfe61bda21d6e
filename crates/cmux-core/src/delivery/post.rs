//! What to do next with a delivery that goes in by an agent's own door, by what was last seen of it.
//!
//! A door takes a text whole, past the screen. Its answer may be lost, or come late: then its list is asked,
//! and nothing is sent a second time before that. What is remembered between looks is lost in a crash; a
//! ticket that was taken before tells that the text may be out.

use std::time::Duration;

use super::{ATTEMPTS_MAX, Confirm, Delivery, DeliveryState, Sighted, Ticket, Unused};
use crate::agent::Doing;
use crate::mail::Waiting;
use crate::message::Evidence;
use crate::time::Timestamp;

/// How long an agent must be at its prompt, with nothing of a text in its list, before it does not have it.
/// A request that was cut off is dealt with by then, or never will be.
pub const ABSENT_AFTER: Duration = Duration::from_secs(15);

/// How long an agent may be at its prompt while nobody can tell whether it has a text.
const UNKNOWN_WITHIN: Duration = Duration::from_mins(10);

/// How soon a door that knows what it was sent before is sent the same again.
const SAME_AFTER: Duration = Duration::from_secs(1);

/// How long to wait after a refusal, at first and at most.
const REFUSED_FIRST: Duration = Duration::from_secs(1);
const REFUSED_MAX: Duration = Duration::from_secs(60);

/// How soon to look again when something is about to happen, and when it is not.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_secs(1);

/// What was seen of a delivery, its door and its agent, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostLook {
    /// Whether its run goes on. What is seen of one that is over is final.
    pub is_alive: bool,
    pub ticket: Ticket,
    /// By what it is known that it was read, if it is.
    pub used: Option<Evidence>,
    /// What its witnesses say that it does.
    pub doing: Option<Doing>,
    /// Whether some of its messages are to be taken back.
    pub is_recalled: bool,
    /// Whether nothing is to be given to the agent for now.
    pub is_paused: bool,
    /// What the last post of this attempt came to, if whoever looks made one.
    pub came: Option<Came>,
    /// What its list said when it was last asked, if whoever looks asked.
    pub listed: Option<Listed>,
    pub door: Door,
}

/// What a post came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// The agent has it.
    Taken,
    /// It waits there.
    Queued,
    /// It was not taken, for this reason.
    Refused { why: String },
    /// It is not known whether it was taken.
    Unknown,
}

/// What an agent's list said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// When it was asked.
    pub at: Timestamp,
    /// Whether the delivery is in it; nothing if that could not be told.
    pub has: Option<bool>,
}

/// What is known of a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Door {
    /// Who takes the ticket: the agent's hook when the text comes by, or else whoever posts it, before.
    pub confirm: Confirm,
    /// Whether it takes the same delivery once, however often it is sent, and says that it has it.
    pub knows_again: bool,
    /// Whether what nobody confirms is sent again, at the risk of being read twice.
    pub is_repeated: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PostStep {
    /// Lay the ticket.
    Lay,
    /// Take the ticket as the hook would.
    Claim,
    /// Send the text.
    Post,
    /// Ask for the list.
    Ask,
    /// Take the ticket, if it is open, so that nobody reads it.
    Void,
    /// Give a ticket back that was taken in vain.
    GiveBack,
    /// Look again after this time.
    Pause(Duration),
    /// Look again later, or when something changes: it waits for this.
    Wait(Waiting),
    /// Tell what was seen.
    Tell(Sighted),
    /// Tell what became of it. That is all.
    Done(Sighted),
}

/// What is remembered between looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posting {
    /// Which attempt all of this is of.
    attempt: u32,
    begun_at: Option<Timestamp>,
    /// Whether whoever was at it before may have sent it.
    is_doubtful: bool,
    /// Whether the ticket was taken here, in this life.
    has_claimed: bool,
    posted_at: Option<Timestamp>,
    /// When it was first seen what the post came to.
    came_at: Option<Timestamp>,
    /// When something was last seen to be out, besides the last post, of which it is not known what became.
    loose_at: Option<Timestamp>,
    asked_at: Option<Timestamp>,
    /// Since when the agent has been at its prompt without a break.
    quiet_since: Option<Timestamp>,
    /// Why it is sent again, once its ticket is given back.
    again: Option<String>,
    /// Why it is given up, once its ticket is void.
    gave_up: Option<String>,
}

impl Posting {
    /// Returns what to do next with `delivery`.
    pub fn next(&mut self, delivery: &Delivery, look: &PostLook, now: Timestamp) -> PostStep {
        if self.attempt != delivery.attempt {
            *self = Posting { attempt: delivery.attempt, ..Posting::default() };
        }
        self.note(delivery, look, now);
        if let Some(evidence) = look.used {
            return PostStep::Done(Sighted::Used(evidence));
        }
        let is_listed = look.listed.is_some_and(|it| it.has == Some(true));
        if is_listed || look.came == Some(Came::Taken) {
            return PostStep::Done(Sighted::Used(Evidence::Answer));
        }
        if !look.is_alive {
            return self.bereaved(delivery, look);
        }
        match look.ticket {
            Ticket::Void => PostStep::Done(Sighted::Unused(match self.gave_up.clone() {
                Some(why) => Unused::Failed { why },
                None if look.is_recalled => Unused::Recalled,
                // Whoever gave it up died before that was told.
                None => {
                    Unused::Failed { why: "it was sent often enough, and never taken".to_owned() }
                }
            })),
            Ticket::Absent if look.is_recalled => PostStep::Void,
            Ticket::Absent => PostStep::Lay,
            Ticket::Open => self.open(delivery, look, now),
            Ticket::Claimed => self.claimed(delivery, look, now),
        }
    }

    fn note(&mut self, delivery: &Delivery, look: &PostLook, now: Timestamp) {
        if self.begun_at.is_none() {
            self.begun_at = Some(now);
            self.is_doubtful = delivery.state != DeliveryState::Typing;
            self.loose_at = Some(now).filter(|_| self.is_doubtful);
        }
        let is_quiet = look.doing == Some(Doing::AtPrompt);
        self.quiet_since = is_quiet.then(|| self.quiet_since.unwrap_or(now));
        if look.came.is_some() && self.posted_at.is_some() {
            self.came_at.get_or_insert(now);
        }
    }

    /// The run is over, and its door with it.
    fn bereaved(&self, delivery: &Delivery, look: &PostLook) -> PostStep {
        let is_out = delivery.may_be_out() || self.posted_at.is_some();
        match look.ticket {
            Ticket::Void
                if is_out && look.door.confirm == Confirm::Sight && look.door.is_repeated =>
            {
                PostStep::Done(Sighted::Unused(Unused::PerhapsRead))
            }
            Ticket::Void => PostStep::Done(Sighted::Unused(Unused::RunOver)),
            Ticket::Claimed if !look.door.is_repeated && !self.is_surely_not_out(look) => {
                unconfirmed()
            }
            Ticket::Claimed => PostStep::GiveBack,
            Ticket::Absent | Ticket::Open => PostStep::Void,
        }
    }

    /// Nobody has the ticket. Where the hook takes it, the text may be out all the same.
    fn open(&mut self, delivery: &Delivery, look: &PostLook, now: Timestamp) -> PostStep {
        if look.is_recalled || self.gave_up.is_some() {
            return PostStep::Void;
        }
        if let Some(why) = self.again.take() {
            return PostStep::Tell(Sighted::Again { why });
        }
        let is_hooked = look.door.confirm == Confirm::Hook;
        if is_hooked && (self.is_doubtful || self.posted_at.is_some()) {
            return self.doubt(delivery, look, now);
        }
        if let Some(waiting) = withheld(look) {
            return PostStep::Wait(waiting);
        }
        if delivery.state != DeliveryState::Typing {
            return PostStep::Tell(Sighted::Typing);
        }
        match look.door.confirm {
            Confirm::Hook => self.post(now),
            Confirm::Sight => {
                self.has_claimed = true;
                PostStep::Claim
            }
        }
    }

    /// The ticket is taken: by the hook, which has seen the text, or here, so that it can be sent.
    fn claimed(&mut self, delivery: &Delivery, look: &PostLook, now: Timestamp) -> PostStep {
        match look.door.confirm {
            Confirm::Hook if delivery.state != DeliveryState::Claimed => {
                PostStep::Tell(Sighted::Claimed)
            }
            Confirm::Sight if self.is_surely_not_out(look) => {
                if look.is_recalled || self.again.is_some() || self.gave_up.is_some() {
                    return PostStep::GiveBack;
                }
                match withheld(look) {
                    Some(waiting) => PostStep::Wait(waiting),
                    None => self.post(now),
                }
            }
            Confirm::Hook | Confirm::Sight => self.doubt(delivery, look, now),
        }
    }

    /// Returns whether it was not sent since its ticket was taken.
    fn is_surely_not_out(&self, look: &PostLook) -> bool {
        let is_own = look.door.confirm == Confirm::Sight && self.has_claimed;
        is_own && self.posted_at.is_none()
    }

    fn post(&mut self, now: Timestamp) -> PostStep {
        // Another one may still be on its way.
        self.loose_at = self.loose_at.max(self.came_at);
        self.posted_at = Some(now);
        self.came_at = None;
        PostStep::Post
    }

    /// Returns why the text was not taken, if that is certain: neither this time, nor one before that was on
    /// its way meanwhile. What a hook turns away may be a second copy.
    fn refusal<'a>(&self, look: &'a PostLook) -> Option<&'a str> {
        let is_alone = match (self.loose_at, self.came_at) {
            (None, _) => true,
            (Some(loose), Some(came)) => came.since(loose) >= ABSENT_AFTER,
            (Some(_), None) => false,
        };
        let is_first = match look.door.confirm {
            Confirm::Sight => true,
            Confirm::Hook => look.door.knows_again || look.ticket == Ticket::Open,
        };
        match &look.came {
            Some(Came::Refused { why }) if is_first && is_alone => Some(why),
            Some(Came::Refused { .. } | Came::Taken | Came::Queued | Came::Unknown) | None => None,
        }
    }

    /// The text may be out, and may have been taken.
    fn doubt(&mut self, delivery: &Delivery, look: &PostLook, now: Timestamp) -> PostStep {
        if self.again.is_some() || self.gave_up.is_some() {
            return PostStep::GiveBack;
        }
        if let Some(why) = self.refusal(look).filter(|_| self.posted_at.is_some()) {
            return self.refused(delivery, look, why, now);
        }
        if self.posted_at.is_some() && delivery.state == DeliveryState::Typing {
            return PostStep::Tell(Sighted::Submitted);
        }
        let since = self.came_at.or(self.posted_at).or(self.begun_at);
        let is_idle = withheld(look).is_none();
        let is_unknown = has_lasted(self.begun_at.max(self.quiet_since), UNKNOWN_WITHIN, now);
        if look.door.knows_again {
            return match is_idle && has_lasted(since, SAME_AFTER, now) {
                true if is_unknown => unconfirmed(),
                true => self.post(now),
                false => PostStep::Pause(pause(now, since)),
            };
        }
        // What it says counts if it was asked long after whatever could still be on its way.
        let settled = since.max(self.quiet_since).map(|it| it + ABSENT_AFTER);
        let told = look.listed.filter(|it| settled.is_some_and(|settled| it.at >= settled));
        match told.map(|it| it.has) {
            Some(Some(false)) if is_idle => {
                let why = "it was sent, and its reader does not have it";
                self.unread(delivery, look, why.to_owned())
            }
            Some(None) if is_idle && is_unknown => unconfirmed(),
            Some(_) | None => self.ask(since, now),
        }
    }

    /// Asks for the list, unless that was done just now: at first soon, and then ever more seldom.
    fn ask(&mut self, since: Option<Timestamp>, now: Timestamp) -> PostStep {
        let pause = pause(now, since);
        match self.asked_at.map(|at| now.since(at)) {
            Some(waited) if waited < pause => PostStep::Pause((pause - waited).max(SOON)),
            Some(_) | None => {
                self.asked_at = Some(now);
                PostStep::Ask
            }
        }
    }

    /// It was not taken. It is tried again, ever more seldom.
    fn refused(
        &mut self,
        delivery: &Delivery,
        look: &PostLook,
        why: &str,
        now: Timestamp,
    ) -> PostStep {
        let times = delivery.attempt.saturating_sub(1).min(6);
        let delay = (REFUSED_FIRST * 2_u32.pow(times)).min(REFUSED_MAX);
        let waited = self.came_at.map_or(Duration::ZERO, |at| now.since(at));
        if waited < delay && !look.is_recalled {
            return PostStep::Pause(delay - waited);
        }
        self.once_more(delivery, look, format!("its reader refused it: {why}"))
    }

    /// It was not taken as far as can be found out.
    fn unread(&mut self, delivery: &Delivery, look: &PostLook, why: String) -> PostStep {
        match look.door.confirm {
            Confirm::Sight if !look.door.is_repeated => unconfirmed(),
            Confirm::Hook | Confirm::Sight => self.once_more(delivery, look, why),
        }
    }

    /// Has it sent once more, unless that was tried often enough. The ticket is given back first.
    fn once_more(&mut self, delivery: &Delivery, look: &PostLook, why: String) -> PostStep {
        if delivery.attempt >= ATTEMPTS_MAX {
            self.gave_up =
                Some(format!("it was sent {ATTEMPTS_MAX} times, and never taken: {why}"));
        } else {
            self.again = Some(why);
        }
        match look.ticket {
            Ticket::Claimed => PostStep::GiveBack,
            Ticket::Open if look.is_recalled || self.gave_up.is_some() => PostStep::Void,
            Ticket::Absent | Ticket::Open | Ticket::Void => {
                let why = self.again.take().unwrap_or_default();
                PostStep::Tell(Sighted::Again { why })
            }
        }
    }
}

/// Returns what stands against giving anything to an agent.
fn withheld(look: &PostLook) -> Option<Waiting> {
    look.is_paused.then_some(Waiting::Paused).or_else(|| busy(look.doing.as_ref()))
}

/// Returns what an agent does that is not at its prompt.
fn busy(doing: Option<&Doing>) -> Option<Waiting> {
    match doing {
        Some(Doing::AtPrompt) => None,
        Some(Doing::Working) => Some(Waiting::Busy),
        Some(Doing::Asking { .. }) => Some(Waiting::Asking),
        Some(Doing::Limited { .. }) => Some(Waiting::Limited),
        None => Some(Waiting::Screen),
    }
}

/// Returns how soon to look again: what has just been sent is followed closely.
fn pause(now: Timestamp, since: Option<Timestamp>) -> Duration {
    let waited = since.map_or(LATER, |since| now.since(since));
    (waited / 8).clamp(SOON, LATER)
}

fn has_lasted(since: Option<Timestamp>, within: Duration, now: Timestamp) -> bool {
    since.is_some_and(|since| now.since(since) >= within)
}

fn unconfirmed() -> PostStep {
    let why = "unconfirmed: it was sent, and nothing shows that it was read".to_owned();
    PostStep::Done(Sighted::Unused(Unused::Failed { why }))
}

#[cfg(test)]
mod tests;
