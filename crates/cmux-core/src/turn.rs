//! A turn: one prompt's work, from what began it to how it ended.

use std::time::Duration;

use crate::event::What;
use crate::hook::{Hook, Meaning, Whose};
use crate::id::{AgentId, DeliveryId, RunId, TurnId};
use crate::time::Timestamp;
use crate::usage::Usage;

/// How many tools of a turn are named, and how many deliveries.
pub const NAMED_MAX: usize = 100;

/// How long an agent must have been at its prompt before a turn counts as interrupted of whose end no hook
/// has told.
pub const SILENT_END: Duration = Duration::from_secs(5);

/// One prompt's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub id: TurnId,
    pub agent: AgentId,
    pub run: RunId,
    /// When the first of it was heard of.
    pub began_at: Timestamp,
    /// The same, by the clock on the wall: what a CLI writes down has its times from there.
    pub wall_at: Timestamp,
    /// What was given to it by cmux, if that began it or came while it went on.
    pub deliveries: Vec<DeliveryId>,
    /// The tools that were called in it, the first ones.
    pub tools: Vec<String>,
    /// How many calls there were.
    pub calls: u64,
    pub end: Option<Ended>,
}

/// When and how a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub at: Timestamp,
    pub how: TurnEnd,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// All was said.
    Done,
    Failed,
    /// The provider let it do no more.
    Limited,
    /// Somebody stopped it, or nothing told of its end.
    Interrupted,
    /// Its conversation was left, or its program ended as it was told to.
    Left,
    /// Its program died.
    Died,
}

/// How far a turn has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turned {
    /// A prompt's work began, if it is known by these deliveries.
    Started { turn: TurnId, deliveries: Vec<DeliveryId> },
    /// A prompt's work ended, and used so much as far as that was read.
    Ended { turn: TurnId, how: TurnEnd, calls: u64, took_ms: u64, usage: Usage },
    /// A tool was used in a turn.
    ToolUsed {
        turn: TurnId,
        tool: String,
        call: Option<String>,
        subagent: Option<String>,
        ok: bool,
    },
    /// It was read that an agent used so much more, and how much that makes in its turn and in all.
    Used { turn: Option<TurnId>, more: Usage, in_turn: Usage, in_all: Usage },
}

impl TurnEnd {
    pub const ALL: [TurnEnd; 6] = [
        TurnEnd::Done,
        TurnEnd::Failed,
        TurnEnd::Limited,
        TurnEnd::Interrupted,
        TurnEnd::Left,
        TurnEnd::Died,
    ];

    /// Returns its name, as everybody sees it.
    pub fn name(self) -> &'static str {
        match self {
            TurnEnd::Done => "done",
            TurnEnd::Failed => "failed",
            TurnEnd::Limited => "limited",
            TurnEnd::Interrupted => "interrupted",
            TurnEnd::Left => "left",
            TurnEnd::Died => "died",
        }
    }
}

impl Turn {
    /// Returns the turn `id` as it begins with what `hook` tells at `at`.
    pub fn begun(id: TurnId, agent: AgentId, run: RunId, hook: &Hook, at: Timestamp) -> Turn {
        Turn {
            id,
            agent,
            run,
            began_at: at,
            wall_at: hook.at,
            deliveries: Vec::new(),
            tools: Vec::new(),
            calls: 0,
            end: None,
        }
    }

    /// Returns the turn after what `hook`, which belongs to it, told at `at`. What subagents and other sessions
    /// tell of their own prompts and ends is not the turn's; the tools that they call are.
    #[must_use]
    pub fn after(&self, hook: &Hook, whose: &Whose, at: Timestamp) -> Turn {
        let mut turn = self.clone();
        let is_own = *whose != Whose::Another;
        let ended = |how| Some(Ended { at, how });
        match &hook.means {
            Meaning::Prompted if is_own => {
                turn.add_delivery(hook);
                turn.end = None;
            }
            Meaning::ToolBegan { tool } => {
                turn.calls = turn.calls.saturating_add(1);
                if turn.tools.len() < NAMED_MAX {
                    turn.tools.push(tool.clone());
                }
                turn.end = None;
            }
            Meaning::ToolEnded { .. } | Meaning::Asking { .. } => turn.end = None,
            // What runs on in the background may wake it again.
            Meaning::TurnEnded { .. } if is_own => turn.end = ended(TurnEnd::Done),
            Meaning::TurnFailed if is_own => turn.end = ended(TurnEnd::Failed),
            Meaning::Limited { .. } if is_own => turn.end = ended(TurnEnd::Limited),
            Meaning::SessionEnded if is_own => turn.end = turn.end.or(ended(TurnEnd::Left)),
            Meaning::Prompted
            | Meaning::TurnEnded { .. }
            | Meaning::TurnFailed
            | Meaning::Limited { .. }
            | Meaning::SessionEnded
            | Meaning::SessionBegan { .. }
            | Meaning::SubagentBegan
            | Meaning::SubagentEnded
            | Meaning::Compacting
            | Meaning::Notice
            | Meaning::Other => {}
        }
        turn
    }

    fn add_delivery(&mut self, hook: &Hook) {
        let claim = hook.claim.filter(|claim| !claim.outcome.is_held_back());
        let Some(delivery) = claim.map(|claim| claim.delivery) else { return };
        if self.deliveries.len() < NAMED_MAX && !self.deliveries.contains(&delivery) {
            self.deliveries.push(delivery);
        }
    }

    /// Returns whether `delivery` was read in it, as its end tells. A hook tells of the end of a turn that went its
    /// way, even if nothing was answered; of one whose prompt was taken back, none does.
    pub fn has_read(&self, delivery: DeliveryId) -> bool {
        let is_told = match self.end.map(|end| end.how) {
            Some(TurnEnd::Done | TurnEnd::Failed | TurnEnd::Limited) => true,
            Some(TurnEnd::Interrupted | TurnEnd::Left | TurnEnd::Died) | None => false,
        };
        is_told && self.deliveries.contains(&delivery)
    }

    /// Returns the turn as it is over, `how` unless it is known better.
    #[must_use]
    pub fn over(&self, how: TurnEnd, at: Timestamp) -> Turn {
        Turn { end: self.end.or(Some(Ended { at, how })), ..self.clone() }
    }

    /// Returns what the log tells when it has begun.
    pub fn started(&self) -> What {
        What::Turned(Turned::Started { turn: self.id, deliveries: self.deliveries.clone() })
    }

    /// Returns what the log tells when it has ended, if it has. What it used is told as far as that was read.
    pub fn ended(&self, usage: Usage) -> Option<What> {
        let Ended { at, how } = self.end?;
        let took = at.since(self.began_at).as_millis();
        Some(What::Turned(Turned::Ended {
            turn: self.id,
            how,
            calls: self.calls,
            took_ms: u64::try_from(took).unwrap_or(u64::MAX),
            usage,
        }))
    }
}

#[cfg(test)]
mod tests;
