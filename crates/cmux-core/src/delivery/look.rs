//! What is seen of a delivery and of its agent, and what stands against typing.

use std::time::Duration;

use crate::agent::Doing;
use crate::mail::Waiting;
use crate::message::Evidence;
use crate::screen::prompt::Whose;

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
    /// Whether it is shown above a prompt that is empty, and nobody has touched a key since it was typed.
    pub is_shown: bool,
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
    /// Whether nothing is to be given to the agent for now.
    pub is_paused: bool,
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
    /// Texts that cmux typed in this life of the agent and nothing else, but not just that of the delivery:
    /// what its agent would not take, or took too late.
    Stale,
    /// Anything else: a person's, even if ours is in it.
    Other,
}

/// How what is at a prompt can have come there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// The text was pasted in this attempt, and nobody has touched a key since.
    pub is_pasted_alone: bool,
    /// It was pasted in this attempt or one before.
    pub was_pasted: bool,
    /// Nobody has touched a key since the delivery was made.
    pub is_untouched: bool,
    /// It is what is left of other deliveries to this life of the agent.
    pub is_left: bool,
}

impl Holds {
    /// Returns what is at the prompt, by whose it seems to be. What is folded is only as long as ours: it is ours if
    /// nobody else can have pasted it, be it drawn so late that it is about to be typed again.
    pub fn of(whose: &Whose, traces: Traces) -> Holds {
        let Traces { is_pasted_alone, was_pasted, is_untouched, is_left } = traces;
        match whose {
            Whose::Unknown => Holds::Unknown,
            Whose::Nobodys => Holds::Nothing,
            Whose::Ours => Holds::Ours,
            Whose::Folded if is_pasted_alone || (was_pasted && is_untouched) => Holds::Ours,
            Whose::Repeated if is_untouched => Holds::Stale,
            Whose::Folded | Whose::Repeated | Whose::Somebodys if is_left => Holds::Stale,
            Whose::Folded | Whose::Repeated | Whose::Somebodys => Holds::Other,
        }
    }
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

impl Pace {
    /// Returns whether a text must not be typed again once it may have been read.
    pub fn is_once(&self) -> bool {
        self.confirm == Confirm::Sight && !self.is_repeated
    }
}

/// How it is known that an agent has taken a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// Its hook takes the ticket.
    Hook,
    /// It can only be seen.
    Sight,
}

impl Look {
    /// Returns this look at a screen with what is looked at after it: whether the run goes on, and only then
    /// whose the ticket is. What is seen later is never older: a hook that took the ticket of what has left the
    /// prompt meanwhile is not overlooked, and of a run that is seen to be over nothing more can come.
    pub fn seen_through<E>(
        self,
        is_alive: impl FnOnce() -> bool,
        ticket: impl FnOnce() -> Result<Ticket, E>,
    ) -> Result<Look, E> {
        let is_alive = is_alive();
        Ok(Look { is_alive, ticket: ticket()?, ..self })
    }

    /// Returns what stands against typing to an agent that has nothing at its prompt, if anything does.
    pub fn obstacle(&self, pace: &Pace) -> Option<Waiting> {
        let prompt = match self.holds {
            Holds::Nothing => None,
            Holds::Unknown if !pace.has_prompt => None,
            Holds::Unknown => Some(Waiting::Screen),
            Holds::Ours | Holds::Stale | Holds::Other => Some(Waiting::Draft),
        };
        withheld(self).or(prompt)
    }
}

/// Returns what stands against giving anything to an agent.
pub(super) fn withheld(look: &Look) -> Option<Waiting> {
    let paused = look.is_paused.then_some(Waiting::Paused);
    paused.or_else(|| obstacle(look)).or_else(|| busy(look))
}

/// Returns what must not be typed into, whatever is at the prompt.
pub(super) fn obstacle(look: &Look) -> Option<Waiting> {
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
pub(super) fn busy(look: &Look) -> Option<Waiting> {
    match look.doing {
        Some(Doing::AtPrompt) => None,
        Some(Doing::Working) => Some(Waiting::Busy),
        Some(Doing::Asking { .. }) => Some(Waiting::Asking),
        Some(Doing::Limited { .. }) => Some(Waiting::Limited),
        None => Some(Waiting::Screen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_folded_is_ours_if_nobody_else_can_have_pasted_it() {
        let none = Traces::default();
        let alone = Traces { is_pasted_alone: true, was_pasted: true, ..none };
        let late = Traces { was_pasted: true, is_untouched: true, ..none };
        let before = Traces { is_untouched: true, ..none };
        let touched = Traces { was_pasted: true, ..none };
        let left = Traces { is_left: true, ..none };
        for (traces, expected) in [
            (none, Holds::Other),
            (alone, Holds::Ours),
            (late, Holds::Ours),
            (before, Holds::Other),
            (touched, Holds::Other),
            (left, Holds::Stale),
        ] {
            assert_eq!(Holds::of(&Whose::Folded, traces), expected, "{traces:?}");
        }
    }

    #[test]
    fn what_is_at_a_prompt_is_as_it_seems_or_somebody_elses() {
        let none = Traces::default();
        let untouched = Traces { is_untouched: true, was_pasted: true, ..none };
        let left = Traces { is_left: true, ..none };
        for (whose, traces, expected) in [
            (Whose::Unknown, untouched, Holds::Unknown),
            (Whose::Nobodys, untouched, Holds::Nothing),
            (Whose::Ours, none, Holds::Ours),
            (Whose::Repeated, untouched, Holds::Stale),
            (Whose::Repeated, none, Holds::Other),
            (Whose::Repeated, left, Holds::Stale),
            (Whose::Somebodys, untouched, Holds::Other),
            (Whose::Somebodys, left, Holds::Stale),
        ] {
            assert_eq!(Holds::of(&whose, traces), expected, "{whose:?} {traces:?}");
        }
    }
}
