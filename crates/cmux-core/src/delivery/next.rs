//! What to do next with a delivery, by what was last seen of it.
//!
//! Whoever types it asks before every key, with a look that is fresh. What is remembered between looks are
//! times alone: if they are lost in a crash, they begin anew, and nothing is typed that was typed before.

use std::time::Duration;

use super::look::{busy, obstacle, withheld};
use super::{
    ATTEMPTS_MAX, Confirm, Delivery, DeliveryState, Holds, Look, Pace, Sighted, Ticket, Unused,
};
use crate::agent::Doing;
use crate::mail::Waiting;
use crate::message::Evidence;
use crate::time::Timestamp;

/// How long a text may take to be seen at the prompt once it was pasted, …
const SHOWN_WITHIN: Duration = Duration::from_secs(3);

/// … how long one that was submitted may stay there, …
const LEAVES_WITHIN: Duration = Duration::from_secs(1);

/// … and how long an agent may be at an empty prompt before its hook has taken what was submitted. Each
/// further time there is twice as much of it: whoever is slow is not hurried.
const HOOK_WITHIN: Duration = Duration::from_secs(5);

/// How often time is doubled at most.
const DOUBLINGS_MAX: u32 = 4;

/// How long it may be at its prompt before what its hook took is seen to be used.
const USE_WITHIN: Duration = Duration::from_secs(30);

/// After what time the hook's answer is not on its way any more: one that comes later than
/// [`ANSWERS_WITHIN`](super::ANSWERS_WITHIN) after its claim says that the text is not to be read.
const ANSWERED_AFTER: Duration = Duration::from_secs(15);

/// How long a text that the hook had taken must be back at the prompt of an agent that rests. Another copy of it may be
/// there, and that the first was read be written down a little later than its turn ends.
const BACK_AFTER: Duration = Duration::from_secs(3);

/// How long something must have been at the prompt that cmux left there, before it is taken away, and how
/// long that may take. Each further time there is twice as much of it: a CLI that stood still, and finds that
/// it was asked more than once to empty a prompt that is empty, takes it for a wish to end.
pub(super) const STALE_AFTER: Duration = Duration::from_secs(1);
pub(super) const EMPTY_WITHIN: Duration = Duration::from_secs(15);

/// How long something that was typed may be on its way: a CLI that stands still has not taken it.
const COMES_WITHIN: Duration = Duration::from_secs(2);

/// How often it is tried to submit a text that does not leave.
pub const PRESSES_MAX: u32 = 8;

/// How often it is tried to empty the prompt of it.
pub(super) const EMPTIES_MAX: u32 = 3;

/// How much of the time between two looks counts at most: while nobody could look, nobody could work.
pub(super) const GAP_MAX: Duration = Duration::from_secs(1);

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
    /// Take the ticket if it is open, and leave a void one if there is none: whoever comes too late with
    /// the delivery then finds that it is over.
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

/// What is remembered between looks: for how long something has been so, without a break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typing {
    /// Which attempt the times are of.
    attempt: u32,
    looked_at: Option<Timestamp>,
    pasted: Option<Duration>,
    pressed: Option<Duration>,
    emptied: Option<Duration>,
    claimed: Option<Duration>,
    /// The text has been at the prompt.
    ours: Option<Duration>,
    /// The text has been at the prompt of an agent that is at rest.
    back: Option<Duration>,
    /// What cmux left has been at the prompt.
    stale: Option<Duration>,
    /// The agent has been at an empty prompt.
    quiet: Option<Duration>,
    /// Why it is typed again, once its ticket is given back.
    again: Option<String>,
    /// Why it is given up, once its ticket is void.
    gave_up: Option<String>,
    /// Whether something was typed that may not have come to the CLI.
    is_on_its_way: bool,
}

impl Typing {
    /// Returns what to do next with `delivery`.
    pub fn next(&mut self, delivery: &Delivery, look: &Look, pace: &Pace, now: Timestamp) -> Step {
        if self.attempt != delivery.attempt {
            *self = Typing { attempt: delivery.attempt, ..Typing::default() };
        }
        self.note(look, now);
        self.is_on_its_way = self.may_come(look);
        if let Some(evidence) = look.used {
            return Step::Done(Sighted::Used(evidence));
        }
        if !look.is_alive {
            return bereaved(delivery, look, pace);
        }
        let step = match look.ticket {
            Ticket::Claimed => self.claimed(delivery, look, pace),
            Ticket::Void => self.withdrawn(look),
            Ticket::Absent | Ticket::Open => self.unclaimed(delivery, look, pace),
        };
        // Whoever waits for the pane would have it come to a dialog of theirs.
        let lets_go = matches!(step, Step::Wait(_) | Step::Done(_));
        match lets_go && self.is_on_its_way {
            true => Step::Pause(pause(self.pressed.or(self.pasted))),
            false => step,
        }
    }

    /// Returns whether something was typed that nothing shows to have come to the CLI. So long nobody else is let at
    /// the pane.
    pub fn is_on_its_way(&self) -> bool {
        self.is_on_its_way
    }

    fn may_come(&self, look: &Look) -> bool {
        let is_fresh = |since: Option<Duration>| since.is_some_and(|it| it < COMES_WITHIN);
        let is_left = matches!(look.holds, Holds::Ours | Holds::Stale);
        let is_unseen = look.is_pasted && look.presses == 0 && look.holds == Holds::Nothing;
        let is_unsubmitted = look.presses > 0 && look.holds == Holds::Ours;
        (is_unseen && is_fresh(self.pasted))
            || (is_unsubmitted && is_fresh(self.pressed))
            || (look.empties > 0 && is_left && is_fresh(self.emptied))
    }

    /// Takes note of for how long all has been as it is.
    fn note(&mut self, look: &Look, now: Timestamp) {
        let gap = self.looked_at.map_or(Duration::ZERO, |at| now.since(at)).min(GAP_MAX);
        self.looked_at = Some(now);
        let so = |is_so: bool, before: Option<Duration>| {
            is_so.then(|| before.map_or(Duration::ZERO, |before| before + gap))
        };
        let is_quiet = look.holds == Holds::Nothing && look.doing == Some(Doing::AtPrompt);
        self.quiet = so(is_quiet, self.quiet);
        self.ours = so(look.holds == Holds::Ours, self.ours);
        let is_back = look.holds == Holds::Ours && look.doing == Some(Doing::AtPrompt);
        self.back = so(is_back, self.back);
        self.stale = so(look.holds == Holds::Stale, self.stale);
        self.claimed = so(look.ticket == Ticket::Claimed, self.claimed);
        self.pasted = so(look.is_pasted, self.pasted);
        self.pressed = so(look.presses > 0, self.pressed);
        self.emptied = so(look.empties > 0, self.emptied);
    }

    /// The hook has it. It is read when the agent uses it; if that does not come, it was taken in vain.
    fn claimed(&mut self, delivery: &Delivery, look: &Look, pace: &Pace) -> Step {
        if delivery.state != DeliveryState::Claimed {
            return Step::Tell(Sighted::Claimed);
        }
        if let Some(waiting) = obstacle(look).or_else(|| busy(look)) {
            return self.wait(waiting);
        }
        let is_back = lasted(self.claimed, ANSWERED_AFTER) && lasted(self.back, BACK_AFTER);
        // It may have been at its prompt for long before its hook came.
        let is_unused = lasted(self.quiet.min(self.claimed), USE_WITHIN);
        if (is_back || is_unused) && pace.is_once() {
            return unconfirmed();
        }
        if is_back || is_unused {
            let why =
                if is_back { "it came back to the prompt" } else { "it was taken, and not used" };
            // Where a hook takes it, it is void at once; else it is in another attempt, of which nothing is out.
            let is_void = look.is_recalled && pace.confirm == Confirm::Hook;
            self.again = Some(why.to_owned()).filter(|_| !is_void);
            return Step::GiveBack;
        }
        match look.holds {
            Holds::Nothing | Holds::Ours => Step::Pause(pause(self.claimed)),
            Holds::Stale => self.tidied(look),
            Holds::Other => self.wait(Waiting::Draft),
            Holds::Unknown => self.wait(Waiting::Screen),
        }
    }

    /// Nobody will read it. What is left of it at the prompt is taken away as far as nobody is disturbed;
    /// what comes to it later is, when the next is offered.
    fn withdrawn(&mut self, look: &Look) -> Step {
        let over = match self.gave_up.clone() {
            Some(why) => Unused::Failed { why },
            None if look.is_recalled => Unused::Recalled,
            None => Unused::Failed { why: "it was typed often enough, and never read".to_owned() },
        };
        let over = Step::Done(Sighted::Unused(over));
        if !look.is_pasted || busy(look).is_some() {
            return over;
        }
        match look.holds {
            Holds::Ours => {
                if let Some(waiting) = obstacle(look) {
                    return self.wait(waiting);
                }
                match self.empty(look) {
                    Some(step) => step,
                    None => over,
                }
            }
            // It may be drawn late, or be with the hook, which gives it back.
            Holds::Nothing => {
                let within = if look.presses > 0 { HOOK_WITHIN } else { SHOWN_WITHIN };
                match look.empties > 0 || lasted(self.quiet, within) {
                    true => over,
                    false => Step::Pause(LATER),
                }
            }
            Holds::Other | Holds::Stale | Holds::Unknown => over,
        }
    }

    fn unclaimed(&mut self, delivery: &Delivery, look: &Look, pace: &Pace) -> Step {
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
            Holds::Other => Step::Wait(obstacle(look).unwrap_or(Waiting::Draft)),
            Holds::Stale => self.tidied(look),
            Holds::Ours => self.at_prompt(delivery, look, pace),
            // What was submitted may be a copy of an attempt before.
            Holds::Nothing if !look.is_pasted && look.presses == 0 => self.untyped(delivery, look),
            Holds::Nothing => self.left(delivery, look, pace),
        }
    }

    /// Nothing of this attempt was typed.
    fn untyped(&mut self, delivery: &Delivery, look: &Look) -> Step {
        if let Some(waiting) = withheld(look) {
            return Step::Wait(waiting);
        }
        if delivery.state != DeliveryState::Typing {
            return Step::Tell(Sighted::Typing);
        }
        self.pasted = Some(Duration::ZERO);
        Step::Paste
    }

    /// The text is at the prompt, and nothing else is. That it is ours is no reason to disturb anybody.
    fn at_prompt(&mut self, delivery: &Delivery, look: &Look, pace: &Pace) -> Step {
        if let Some(waiting) = withheld(look) {
            return Step::Wait(waiting);
        }
        // What whoever was at it before has told tmux to press may come only now.
        let is_out = look.presses > 0 || delivery.may_be_out();
        if delivery.state != DeliveryState::Typing && !(is_out && pace.is_once()) {
            return Step::Tell(Sighted::Typing);
        }
        let (so, after) = match look.presses {
            // From when it was seen there: a CLI that was slow to read it is not hurried.
            0 if delivery.attempt == 1 => (self.ours.or(self.pasted), pace.submit_after),
            // The copy before may only have been late, and come to this one.
            0 => (self.ours, pace.submit_after.max(STALE_AFTER)),
            presses => (self.pressed.min(self.ours), patience(LEAVES_WITHIN, presses)),
        };
        let waited = so.unwrap_or(Duration::ZERO);
        if waited < after {
            return Step::Pause(after - waited);
        }
        if look.presses >= PRESSES_MAX {
            self.gave_up = Some(format!(
                "it was typed, and its prompt did not take it, though it was submitted {PRESSES_MAX} times"
            ));
            return Step::Void;
        }
        // Where it must not be typed again, it is known before that it may be out.
        if delivery.state != DeliveryState::Submitted && pace.is_once() {
            return Step::Tell(Sighted::Submitted);
        }
        self.pressed = Some(Duration::ZERO);
        Step::Press(look.presses + 1)
    }

    /// The text was pasted, and is not at the prompt: not yet, or not any more.
    fn left(&mut self, delivery: &Delivery, look: &Look, pace: &Pace) -> Step {
        if look.presses > 0 && delivery.state != DeliveryState::Submitted {
            return Step::Tell(Sighted::Submitted);
        }
        let (since, within, why) = match look.presses {
            0 => (self.pasted, SHOWN_WITHIN, "it was pasted, and is not at the prompt"),
            _ => (self.pressed, HOOK_WITHIN, "it was submitted, and nobody took it"),
        };
        if let Some(waiting) = obstacle(look).or_else(|| busy(look)) {
            return match lasted(since, within) {
                true => Step::Wait(waiting),
                false => Step::Pause(pause(since)),
            };
        }
        let within = patience(within, delivery.attempt);
        let is_quiet = lasted(self.quiet.min(since), within);
        let is_blind = !pace.has_prompt && lasted(since, within);
        if !is_quiet && !is_blind {
            return Step::Pause(pause(since));
        }
        // Its turn was shorter than what lies between two looks.
        if look.is_shown && look.presses > 0 && pace.confirm == Confirm::Sight {
            return Step::Done(Sighted::Used(Evidence::Screen));
        }
        if look.presses > 0 && pace.is_once() {
            return unconfirmed();
        }
        self.again(delivery, why.to_owned())
    }

    /// Only what cmux left is at the prompt, and it is in the way.
    fn tidied(&mut self, look: &Look) -> Step {
        if let Some(waiting) = obstacle(look).or_else(|| busy(look)) {
            return Step::Wait(waiting);
        }
        if !lasted(self.stale, STALE_AFTER) {
            return Step::Pause(LATER);
        }
        self.empty(look).unwrap_or(Step::Wait(Waiting::Draft))
    }

    /// Empties the prompt, unless that was tried often enough.
    fn empty(&mut self, look: &Look) -> Option<Step> {
        if look.empties >= EMPTIES_MAX {
            return None;
        }
        if look.empties > 0 && !lasted(self.emptied, patience(EMPTY_WITHIN, look.empties)) {
            return Some(Step::Pause(LATER));
        }
        self.emptied = Some(Duration::ZERO);
        Some(Step::Empty(look.empties + 1))
    }

    /// Waits for something, closely as long as what was typed is fresh.
    fn wait(&self, waiting: Waiting) -> Step {
        let waited = self.pressed.or(self.pasted);
        match waited.is_some_and(|waited| waited < HOOK_WITHIN) {
            true => Step::Pause(pause(waited)),
            false => Step::Wait(waiting),
        }
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

/// The run of a delivery is over: nobody reads it any more. What may have been read is not typed to another
/// where it must not be read twice.
fn bereaved(delivery: &Delivery, look: &Look, pace: &Pace) -> Step {
    let is_out = look.presses > 0 || delivery.may_be_out();
    match look.ticket {
        // Where it must not be read twice, only what is not out is void.
        Ticket::Void if is_out && pace.confirm == Confirm::Sight && !pace.is_once() => {
            Step::Done(Sighted::Unused(Unused::PerhapsRead))
        }
        Ticket::Void => Step::Done(Sighted::Unused(Unused::RunOver)),
        Ticket::Open | Ticket::Claimed if is_out && pace.is_once() => unconfirmed(),
        Ticket::Claimed => Step::GiveBack,
        Ticket::Absent | Ticket::Open => Step::Void,
    }
}

fn unconfirmed() -> Step {
    let why = "unconfirmed: it was submitted, and nothing shows that it was read".to_owned();
    Step::Done(Sighted::Unused(Unused::Failed { why }))
}

/// How soon to look again when something is about to happen, and when it is not.
const SOON: Duration = Duration::from_millis(4);
pub(super) const LATER: Duration = Duration::from_millis(200);

/// Returns how soon to look again: what has just been typed is followed closely.
fn pause(waited: Option<Duration>) -> Duration {
    (waited.unwrap_or(LATER) / 8).clamp(SOON, LATER)
}

/// Returns whether something has been so for that long.
pub(super) fn lasted(so: Option<Duration>, within: Duration) -> bool {
    so.is_some_and(|so| so >= within)
}

/// Returns how much time there is for the so-manieth try, counted from 1.
pub(super) fn patience(within: Duration, time: u32) -> Duration {
    within * 2_u32.pow(time.saturating_sub(1).min(DOUBLINGS_MAX))
}

#[cfg(test)]
mod tests;
