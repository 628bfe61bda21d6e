//! Turns, as hooks tell of them: each begins with a prompt, and what is told until it is over belongs to it.

use super::{Hook, Meaning, Whose};
use crate::id::{RunId, TurnId};
use crate::phase::Phase;

/// What an agent's hooks have told of its conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// The turn that it is in.
    pub turn: Option<TurnId>,
    /// The run in which its session was last heard of.
    pub heard_in: Option<RunId>,
}

/// Which turn a hook belongs to, and which one the agent is in after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    pub of: Option<TurnId>,
    pub after: Option<TurnId>,
}

impl Hook {
    /// Returns which turn it belongs to, if `open` is the one that the agent is in, and `new` the name of
    /// another. A prompt that is given to a busy agent waits for its turn to end, and is told of before.
    pub fn turns(&self, whose: &Whose, open: Option<TurnId>, phase: &Phase, new: TurnId) -> Turns {
        if *whose == Whose::Another {
            return Turns { of: open, after: open };
        }
        let is_busy = matches!(phase, Phase::Busy | Phase::Asking);
        match &self.means {
            Meaning::Prompted => {
                let of = open.filter(|_| is_busy).or(Some(new));
                Turns { of, after: of }
            }
            // The hook that told of its beginning may be lost, and a prompt that waited tells of it once.
            Meaning::ToolBegan { .. } | Meaning::ToolEnded { .. } | Meaning::Asking { .. } => {
                let of = open.or(Some(new));
                Turns { of, after: of }
            }
            Meaning::TurnEnded { in_background: false }
            | Meaning::TurnFailed
            | Meaning::Limited { .. }
            | Meaning::SessionEnded => Turns { of: open, after: None },
            Meaning::TurnEnded { in_background: true }
            | Meaning::SessionBegan { .. }
            | Meaning::SubagentBegan
            | Meaning::SubagentEnded
            | Meaning::Compacting
            | Meaning::Notice
            | Meaning::Other => Turns { of: open, after: open },
        }
    }
}
