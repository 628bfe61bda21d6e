//! What to do next with a delivery, by what was last seen of it.
//!
//! Whoever types it asks before every key, with a look that is fresh. What is remembered between looks are
//! times alone: if they are lost in a crash, they begin anew, and nothing is typed that was typed before.

use std::time::Duration;

use super::{ATTEMPTS_MAX, Delivery, DeliveryState, Sighted, Unused};
use crate::agent::Doing;
use crate::mail::Waiting;
use crate::message::Evidence;
use crate::time::Timestamp;

/// How long a text may take to be seen at the prompt once it was pasted.
const SHOWN_WITHIN: Duration = Duration::from_secs(3);

/// How long a text that was submitted may stay at the prompt.
const LEAVES_WITHIN: Duration = Duration::from_secs(1);

/// How long an agent may be at an empty prompt before its hook has taken what was submitted.
const HOOK_WITHIN: Duration = Duration::from_secs(5);

/// How long it may be at its prompt before what its hook took is seen to be used.
const USE_WITHIN: Duration = Duration::from_secs(30);

/// How long a text must be back at the prompt that the hook had taken.
const BACK_AFTER: Duration = Duration::from_secs(1);

/// How often it is tried to submit a text that does not leave, and to empty the prompt of it.
const PRESSES_MAX: u32 = 8;
const EMPTIES_MAX: u32 = 4;

/// What was seen of a delivery and of its agent, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether its run goes on. What is seen of one that is over is final.
    pub is_alive: bool,
    pub ticket: Ticket,
    /// By what it is known that it was read, if it is.
    pub used: Option<Evidence>,
    /// What of this attempt was done in the pane: the paste, …
    pub is_pasted: bool,
    /// … how often it was submitted, …
    pub presses: u32,
    /// … and how often the prompt was emptied of it.
    pub empties: u32,
    pub holds: Holds,
    /// What its witnesses say that it does.
    pub doing: Option<Doing>,
    /// Whether a person has typed in the pane just now.
    pub is_person_here: bool,
    /// Whether the pane is scrolled, or something is chosen in it.
    pub is_scrolled: bool,
    /// Whether the pane takes no input.
    pub is_deaf: bool,
    /// Whether the agent's own program is in front of all others in the pane.
    pub is_in_front: bool,
    /// Whether some of its messages are to be taken back.
    pub is_recalled: bool,
}

/// Whose ticket it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticket {
    /// There is none, and never was one as far as can be seen.
    Absent,
    /// Nobody's yet.
    Open,
    /// The hook's.
    Claimed,
    /// cmux's own: nobody else can have it any more.
    Void,
}

/// What is at the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It is not to be seen.
    Unknown,
    Nothing,
    /// Exactly the text of the delivery.
    Ours,
    /// Exactly the text of one before, which its agent would not take.
    Stale,
    /// Anything else: a person's.
    Other,
}

/// How an agent takes what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long to wait between the paste and the key that submits it.
    pub submit_after: Duration,
    pub confirm: Confirm,
    /// Whether its prompt can be read from its screen.
    pub has_prompt: bool,
    /// Whether what nobody confirms is typed again, at the risk of being read twice.
    pub is_repeated: bool,
}

/// How it is known that an agent has taken a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// Its hook takes the ticket.
    Hook,
    /// It can only be seen.
    Sight,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Lay the ticket.
    Lay,
    /// Paste the text.
    Paste,
    /// Submit what is at the prompt, for the so-manieth time of this attempt.
    Press(u32),
    /// Empty the prompt, for the so-manieth time of this attempt.
    Empty(u32),
    /// Take the ticket, if it is open.
    Void,
    /// Give a ticket back that the hook had taken in vain.
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
pub struct Typing {
    /// Which attempt the times are of.
    attempt: u32,
    pasted_at: Option<Timestamp>,
    pressed_at: Option<Timestamp>,
    emptied_at: Option<Timestamp>,
    /// Since when the text has been at the prompt without a break.
    ours_since: Option<Timestamp>,
    /// Since when the agent has been at an empty prompt without a break.
    quiet_since: Option<Timestamp>,
    /// Why it is typed again, once its ticket is given back.
    again: Option<String>,
    /// Why it is given up, once its ticket is void.
    gave_up: Option<String>,
}

impl Typing {
    /// Returns what to do next with `delivery`.
    pub fn next(&mut self, delivery: &Delivery, look: &Look, pace: &Pace, now: Timestamp) -> Step {
        if self.attempt != delivery.attempt {
            *self = Typing { attempt: delivery.attempt, ..Typing::default() };
        }
        self.note(look, now);
        if let Some(evidence) = look.used {
            return Step::Done(Sighted::Used(evidence));
        }
        if !look.is_alive {
            return match look.ticket {
                Ticket::Void => Step::Done(Sighted::Unused(Unused::RunOver)),
                Ticket::Claimed => Step::GiveBack,
                Ticket::Absent | Ticket::Open => Step::Void,
            };
        }
        match look.ticket {
            Ticket::Claimed => self.claimed(delivery, look, now),
            Ticket::Void => self.withdrawn(look, now),
            Ticket::Absent | Ticket::Open => self.unclaimed(delivery, look, pace, now),
        }
    }

    /// Takes note of since when the prompt has been as it is.
    fn note(&mut self, look: &Look, now: Timestamp) {
        let is_quiet = look.holds == Holds::Nothing && look.doing == Some(Doing::AtPrompt);
        self.quiet_since = is_quiet.then(|| self.quiet_since.unwrap_or(now));
        let is_ours = look.holds == Holds::Ours;
        self.ours_since = is_ours.then(|| self.ours_since.unwrap_or(now));
        if look.is_pasted {
            self.pasted_at.get_or_insert(now);
        }
        if look.presses > 0 {
            self.pressed_at.get_or_insert(now);
        }
    }

    /// The hook has it. It is read when the agent uses it; if that does not come, it was taken in vain.
    fn claimed(&mut self, delivery: &Delivery, look: &Look, now: Timestamp) -> Step {
        if delivery.state != DeliveryState::Claimed {
            return Step::Tell(Sighted::Claimed);
        }
        let is_idle = look.doing == Some(Doing::AtPrompt) && obstacle(look).is_none();
        let lasts = |since: Option<Timestamp>, within| is_idle && has_lasted(since, within, now);
        if lasts(self.ours_since, BACK_AFTER) {
            self.again = Some("it came back to the prompt".to_owned());
            return Step::GiveBack;
        }
        if lasts(self.quiet_since, USE_WITHIN) {
            self.again = Some("it was taken, and not used".to_owned());
            return Step::GiveBack;
        }
        Step::Pause(pause(now, self.pressed_at))
    }

    /// Nobody will read it. What is left of it at the prompt is taken away.
    fn withdrawn(&mut self, look: &Look, now: Timestamp) -> Step {
        let over = match self.gave_up.clone() {
            Some(why) => Unused::Failed { why },
            None => Unused::Recalled,
        };
        let over = Step::Done(Sighted::Unused(over));
        if !look.is_pasted {
            return over;
        }
        match look.holds {
            Holds::Ours => {
                if let Some(waiting) = obstacle(look) {
                    return Step::Wait(waiting);
                }
                if look.empties >= EMPTIES_MAX {
                    return over;
                }
                if !has_lasted(self.emptied_at, LEAVES_WITHIN, now) && self.emptied_at.is_some() {
                    return Step::Pause(SOON);
                }
                self.emptied_at = Some(now);
                Step::Empty(look.empties + 1)
            }
            // It may be drawn late, or be with the hook, which gives it back.
            Holds::Nothing => {
                let within = if look.presses > 0 { HOOK_WITHIN } else { SHOWN_WITHIN };
                match look.empties > 0 || has_lasted(self.quiet_since, within, now) {
                    true => over,
                    false => Step::Pause(LATER),
                }
            }
            Holds::Other | Holds::Stale => over,
            Holds::Unknown => Step::Wait(Waiting::Screen),
        }
    }

    fn unclaimed(&mut self, delivery: &Delivery, look: &Look, pace: &Pace, now: Timestamp) -> Step {
        if let Some(why) = self.again.take() {
            return self.again(delivery, why);
        }
        let is_ours_alone = pace.confirm == Confirm::Sight && look.presses > 0;
        if (look.is_recalled || self.gave_up.is_some()) && !is_ours_alone {
            return Step::Void;
        }
        if look.ticket == Ticket::Absent {
            return Step::Lay;
        }
        let holds = match look.holds {
            // Who has no prompt that can be seen has in it what was pasted and not submitted.
            Holds::Unknown if !pace.has_prompt => match look.is_pasted && look.presses == 0 {
                true => Holds::Ours,
                false => Holds::Nothing,
            },
            Holds::Unknown | Holds::Nothing | Holds::Ours | Holds::Stale | Holds::Other => {
                look.holds
            }
        };
        match holds {
            Holds::Unknown => Step::Wait(obstacle(look).unwrap_or(Waiting::Screen)),
            Holds::Other | Holds::Stale => Step::Wait(obstacle(look).unwrap_or(Waiting::Draft)),
            Holds::Ours => self.at_prompt(delivery, look, pace, now),
            Holds::Nothing if !look.is_pasted => self.untyped(delivery, look, now),
            Holds::Nothing => self.left(delivery, look, pace, now),
        }
    }

    /// Nothing of this attempt was typed.
    fn untyped(&mut self, delivery: &Delivery, look: &Look, now: Timestamp) -> Step {
        if let Some(waiting) = obstacle(look).or_else(|| busy(look)) {
            return Step::Wait(waiting);
        }
        if delivery.state != DeliveryState::Typing {
            return Step::Tell(Sighted::Typing);
        }
        self.pasted_at = Some(now);
        Step::Paste
    }

    /// The text is at the prompt, and nothing else is. That it is ours is no reason to disturb anybody.
    fn at_prompt(&mut self, delivery: &Delivery, look: &Look, pace: &Pace, now: Timestamp) -> Step {
        if let Some(waiting) = obstacle(look).or_else(|| busy(look)) {
            return Step::Wait(waiting);
        }
        if delivery.state != DeliveryState::Typing {
            return Step::Tell(Sighted::Typing);
        }
        let (since, after) = match look.presses {
            0 => (self.pasted_at.or(self.ours_since), pace.submit_after),
            _ => (self.pressed_at.max(self.ours_since), LEAVES_WITHIN),
        };
        let waited = since.map_or(Duration::ZERO, |since| now.since(since));
        if waited < after {
            return Step::Pause(after - waited);
        }
        if look.presses >= PRESSES_MAX {
            self.gave_up = Some(format!(
                "it was typed, and its prompt did not take it, though it was submitted {PRESSES_MAX} times"
            ));
            return Step::Void;
        }
        self.pressed_at = Some(now);
        Step::Press(look.presses + 1)
    }

    /// The text was pasted, and is not at the prompt: not yet, or not any more.
    fn left(&mut self, delivery: &Delivery, look: &Look, pace: &Pace, now: Timestamp) -> Step {
        if look.presses > 0 && delivery.state != DeliveryState::Submitted {
            return Step::Tell(Sighted::Submitted);
        }
        let (within, why) = match look.presses {
            0 => (SHOWN_WITHIN, "it was pasted, and is not at the prompt"),
            _ => (HOOK_WITHIN, "it was submitted, and nobody took it"),
        };
        let since = match look.presses {
            0 => self.pasted_at,
            _ => self.pressed_at,
        };
        let is_quiet = obstacle(look).is_none()
            && has_lasted(
                self.quiet_since.max(since).filter(|_| self.quiet_since.is_some()),
                within,
                now,
            );
        let is_blind = !pace.has_prompt
            && look.doing == Some(Doing::AtPrompt)
            && has_lasted(since, within, now);
        if !is_quiet && !is_blind {
            return Step::Pause(pause(now, since));
        }
        if look.presses > 0 && pace.confirm == Confirm::Sight && !pace.is_repeated {
            let why =
                "unconfirmed: it was submitted, and nothing shows that it was read".to_owned();
            return Step::Done(Sighted::Unused(Unused::Failed { why }));
        }
        self.again(delivery, why.to_owned())
    }

    /// Has it typed once more, unless that was tried often enough.
    fn again(&mut self, delivery: &Delivery, why: String) -> Step {
        if delivery.attempt >= ATTEMPTS_MAX {
            self.gave_up =
                Some(format!("it was typed {ATTEMPTS_MAX} times, and never read: {why}"));
            return Step::Void;
        }
        Step::Tell(Sighted::Again { why })
    }
}

impl Look {
    /// Returns what stands against typing to an agent that has nothing at its prompt, if anything does.
    pub fn obstacle(&self, pace: &Pace) -> Option<Waiting> {
        let prompt = match self.holds {
            Holds::Nothing => None,
            Holds::Unknown if !pace.has_prompt => None,
            Holds::Unknown => Some(Waiting::Screen),
            Holds::Ours | Holds::Stale | Holds::Other => Some(Waiting::Draft),
        };
        obstacle(self).or_else(|| busy(self)).or(prompt)
    }
}

/// How soon to look again when something is about to happen, and when it is not.
const SOON: Duration = Duration::from_millis(4);
const LATER: Duration = Duration::from_millis(200);

/// Returns how soon to look again: what has just been typed is followed closely.
fn pause(now: Timestamp, since: Option<Timestamp>) -> Duration {
    let waited = since.map_or(LATER, |since| now.since(since));
    (waited / 8).clamp(SOON, LATER)
}

fn has_lasted(since: Option<Timestamp>, within: Duration, now: Timestamp) -> bool {
    since.is_some_and(|since| now.since(since) >= within)
}

/// Returns what must not be typed into, whatever is at the prompt.
fn obstacle(look: &Look) -> Option<Waiting> {
    let asked = match look.doing {
        Some(Doing::Asking { .. }) => Some(Waiting::Asking),
        Some(Doing::AtPrompt | Doing::Working | Doing::Limited { .. }) | None => None,
    };
    asked
        .or(look.is_scrolled.then_some(Waiting::Scrolling))
        .or(look.is_deaf.then_some(Waiting::Deaf))
        .or((!look.is_in_front).then_some(Waiting::Behind))
        .or(look.is_person_here.then_some(Waiting::Person))
}

/// Returns what an agent does that is not at its prompt.
fn busy(look: &Look) -> Option<Waiting> {
    match look.doing {
        Some(Doing::AtPrompt) => None,
        Some(Doing::Working) => Some(Waiting::Busy),
        Some(Doing::Asking { .. }) => Some(Waiting::Asking),
        Some(Doing::Limited { .. }) => Some(Waiting::Limited),
        None => Some(Waiting::Screen),
    }
}
