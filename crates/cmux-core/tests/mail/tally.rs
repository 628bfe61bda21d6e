//! What happened in many schedules together: how much of the mail was read, and how often each fault struck.
//! Where nothing goes wrong, or nothing is read, the rules hold as well.

use std::collections::BTreeMap;

use cmux_core::message::MessageState;

use crate::world::{Faults, World};

/// Of a thousand schedules, in how many a fault must have struck at least.
const STRUCK_PERMILLE: u64 = 5;

/// How many schedules there must be to say anything of that.
const SCHEDULES_MIN: u64 = 2_000;

/// Of a hundred messages that nobody took back and whose time was not over, how many must have been read at
/// least by agents with a hook, and how many by others.
const READ_PERCENT: (u64, u64) = (99, 95);

/// Something that went wrong, and was felt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    EnterLost,
    PasteLate,
    ScreenStale,
    ScreenUnseen,
    HookTwice,
    HookLate,
    HookLost,
    HookLostAfterClaim,
    AnswerLate,
    AgentExits,
    AgentRestarts,
    AgentStalls,
    DialogComes,
    PersonTypes,
    PersonTakesBack,
    PersonScrolls,
    DaemonDies,
    TmuxStalls,
    TmuxDies,
    DiskFull,
    RecallLost,
}

impl Fault {
    const ALL: [Fault; 21] = [
        Fault::EnterLost,
        Fault::PasteLate,
        Fault::ScreenStale,
        Fault::ScreenUnseen,
        Fault::HookTwice,
        Fault::HookLate,
        Fault::HookLost,
        Fault::HookLostAfterClaim,
        Fault::AnswerLate,
        Fault::AgentExits,
        Fault::AgentRestarts,
        Fault::AgentStalls,
        Fault::DialogComes,
        Fault::PersonTypes,
        Fault::PersonTakesBack,
        Fault::PersonScrolls,
        Fault::DaemonDies,
        Fault::TmuxStalls,
        Fault::TmuxDies,
        Fault::DiskFull,
        Fault::RecallLost,
    ];
}

/// How many messages were to be read, and how many were.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    wanted: u64,
    read: u64,
}

/// What happened in one schedule, or in many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    schedules: u64,
    struck: BTreeMap<Fault, u64>,
    hooked: Share,
    others: Share,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.schedules += 1;
        for (fault, times) in &other.struck {
            *self.struck.entry(*fault).or_default() += u64::from(*times > 0);
        }
        for (to, from) in [(&mut self.hooked, other.hooked), (&mut self.others, other.others)] {
            to.wanted += from.wanted;
            to.read += from.read;
        }
    }

    /// Checks that enough was read, and that each fault struck, if there were schedules enough.
    #[track_caller]
    pub(crate) fn check(&self) {
        if self.schedules < SCHEDULES_MIN {
            return;
        }
        for fault in Fault::ALL {
            let times = self.struck.get(&fault).copied().unwrap_or(0);
            assert!(times * 1000 >= self.schedules * STRUCK_PERMILLE, "{fault:?}: {self:?}");
        }
        for (share, percent) in [(self.hooked, READ_PERCENT.0), (self.others, READ_PERCENT.1)] {
            assert!(share.wanted > 0 && share.read * 100 >= share.wanted * percent, "{self:?}");
        }
    }
}

impl World {
    /// Notes that a fault struck.
    pub(crate) fn struck(&mut self, fault: Fault) {
        *self.tally.struck.entry(fault).or_default() += 1;
    }

    /// Notes that a fault struck, if something is on its way to the agent.
    pub(crate) fn struck_amid(&mut self, fault: Fault) {
        if self.store.open().is_some() {
            self.struck(fault);
        }
    }

    /// Returns whether a fault strikes now that was to do so some times.
    pub(crate) fn strikes(&mut self, fault: Fault, pick: fn(&mut Faults) -> &mut u32) -> bool {
        let left = pick(&mut self.faults);
        let is_struck = *left > 0;
        *left = left.saturating_sub(1);
        if is_struck {
            self.struck(fault);
        }
        is_struck
    }

    /// Counts what became of the messages, when all is at rest.
    pub(crate) fn count(&mut self) {
        let share = match self.kind.has_hook {
            true => &mut self.tally.hooked,
            false => &mut self.tally.others,
        };
        for message in &self.store.messages {
            match message.state {
                MessageState::Cancelled | MessageState::Expired => {}
                MessageState::Delivered => {
                    share.wanted += 1;
                    share.read += 1;
                }
                MessageState::Queued
                | MessageState::Typing
                | MessageState::Submitted
                | MessageState::Claimed
                | MessageState::InDoubt
                | MessageState::Failed => share.wanted += 1,
            }
        }
    }
}
