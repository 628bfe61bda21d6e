//! Deliveries: what is typed at an agent's prompt, until it is known that it was read, or will not be.
//!
//! A delivery is recorded before anything of it is typed, and is the only one under way to its agent. Its
//! messages and its text stay as they are until it is settled, however often it has to be typed: whoever
//! reads it can then tell a second copy from the first. A *ticket* lies on the disk for it, which the
//! agent's hook takes when the text is submitted, and cmux when it takes the text back. Only one of them
//! gets it.

mod look;
mod next;
mod offer;
mod person;
mod post;
mod signs;
mod text;

pub use self::look::{Confirm, Holds, Look, Pace, Ticket, Traces};
pub use self::next::{PRESSES_MAX, Step, Typing};
pub use self::offer::{Offer, Offering};
pub use self::person::Person;
pub use self::post::{ABSENT_AFTER, Came, Door, Listed, PostLook, PostStep, Posting};
pub use self::signs::{Record, Signed, Signs};
pub use self::text::{
    HEAD, Part, Said, begins_with, delivery_of, letters_of, messages_of, normal, print_of, text,
};

use std::time::Duration;

use crate::id::{AgentId, DeliveryId, MessageId, RunId};
use crate::message::{Evidence, MessageState};
use crate::time::Timestamp;

pub(crate) use self::text::room_for;

/// How often a delivery is typed before it is given up.
pub const ATTEMPTS_MAX: u32 = 20;

/// How long after its claim the agent's hook may still answer that a text is to be read. What it took longer
/// ago may have been given back meanwhile.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// What is typed in one go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub id: DeliveryId,
    pub agent: AgentId,
    /// The life of the agent that it is typed to.
    pub run: RunId,
    /// In the order in which they are in the text.
    pub messages: Vec<MessageId>,
    pub text: String,
    /// Which time it is typed, from 1 on.
    pub attempt: u32,
    pub state: DeliveryState,
    /// How long the agent's transcript was before the first of it was typed, in bytes.
    pub mark: u64,
    pub made_at: Timestamp,
    /// Since when it is in that state.
    pub since: Timestamp,
}

/// How far a delivery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    Typing,
    Submitted,
    Claimed,
    /// Whoever was at it is gone: it is being found out how far it came.
    InDoubt,
    /// It was read.
    Used,
    /// It was not, and will not be.
    Unused,
}

impl DeliveryState {
    pub const ALL: [DeliveryState; 6] = [
        DeliveryState::Typing,
        DeliveryState::Submitted,
        DeliveryState::Claimed,
        DeliveryState::InDoubt,
        DeliveryState::Used,
        DeliveryState::Unused,
    ];

    pub fn name(self) -> &'static str {
        match self {
            DeliveryState::Typing => "typing",
            DeliveryState::Submitted => "submitted",
            DeliveryState::Claimed => "claimed",
            DeliveryState::InDoubt => "in_doubt",
            DeliveryState::Used => "used",
            DeliveryState::Unused => "unused",
        }
    }

    /// Returns whether it is known what became of it.
    pub fn is_settled(self) -> bool {
        match self {
            DeliveryState::Used | DeliveryState::Unused => true,
            DeliveryState::Typing
            | DeliveryState::Submitted
            | DeliveryState::Claimed
            | DeliveryState::InDoubt => false,
        }
    }

    /// Returns the state of its messages meanwhile. Once it is settled, each has its own.
    pub fn of_messages(self) -> Option<MessageState> {
        match self {
            DeliveryState::Typing => Some(MessageState::Typing),
            DeliveryState::Submitted => Some(MessageState::Submitted),
            DeliveryState::Claimed => Some(MessageState::Claimed),
            DeliveryState::InDoubt => Some(MessageState::InDoubt),
            DeliveryState::Used => Some(MessageState::Delivered),
            DeliveryState::Unused => None,
        }
    }
}

/// What was seen of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighted {
    /// It is at it: it is about to be typed, or at the prompt.
    Typing,
    /// It has left the prompt.
    Submitted,
    /// The agent's hook has its ticket.
    Claimed,
    /// It was not taken, for this reason, and is typed once more.
    Again {
        why: String,
    },
    Used(Evidence),
    /// It was not read and will not be, as its ticket is void: for this reason.
    Unused(Unused),
}

/// Why a delivery is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unused {
    /// The life that it was typed to is over. Its messages wait for the next.
    RunOver,
    /// The same, of one that may have been read, as nothing tells that of its kind. What was taken back of it is
    /// not said to be unread.
    PerhapsRead,
    /// Some of its messages were taken back. The others wait again.
    Recalled,
    /// It cannot be done, for this reason.
    Failed { why: String },
}

/// Why a sighting changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    #[error("the delivery is settled")]
    Settled,
    #[error("it comes from an earlier attempt")]
    Outdated,
    #[error("it was known already")]
    NoNews,
}

impl Delivery {
    /// Returns the delivery as it is after a sighting of its `attempt`.
    pub fn after(&self, attempt: u32, seen: &Sighted, now: Timestamp) -> Result<Delivery, Ignored> {
        if self.state.is_settled() {
            return Err(Ignored::Settled);
        }
        // That it was read, or never will be, holds for all of them.
        let is_last = matches!(seen, Sighted::Used(_) | Sighted::Unused(_));
        if attempt != self.attempt && !is_last {
            return Err(Ignored::Outdated);
        }
        let (state, attempt) = match seen {
            Sighted::Typing => (DeliveryState::Typing, self.attempt),
            Sighted::Submitted => (DeliveryState::Submitted, self.attempt),
            Sighted::Claimed => (DeliveryState::Claimed, self.attempt),
            Sighted::Again { .. } => (DeliveryState::Typing, self.attempt + 1),
            Sighted::Used(_) => (DeliveryState::Used, self.attempt),
            Sighted::Unused(_) => (DeliveryState::Unused, self.attempt),
        };
        if (state, attempt) == (self.state, self.attempt) {
            return Err(Ignored::NoNews);
        }
        Ok(Delivery { state, attempt, since: now, ..self.clone() })
    }

    /// Returns whether it may have been submitted, by what is known of it.
    pub fn may_be_out(&self) -> bool {
        match self.state {
            DeliveryState::Typing | DeliveryState::Unused => false,
            DeliveryState::Submitted
            | DeliveryState::Claimed
            | DeliveryState::InDoubt
            | DeliveryState::Used => true,
        }
    }

    /// Returns the delivery as it is once whoever was at it is gone.
    pub fn doubted(&self, now: Timestamp) -> Option<Delivery> {
        let is_open = !self.state.is_settled() && self.state != DeliveryState::InDoubt;
        is_open.then(|| Delivery { state: DeliveryState::InDoubt, since: now, ..self.clone() })
    }
}

#[cfg(test)]
mod tests;
