//! What is seen of the agent: on its screen, in its title, and in the file that tells its status.

use cmux_wire::time::Time;

use super::{Armed, Phase, Session};
use crate::demo::dialog::Dialog;
use crate::demo::screen::{Body, View};

/// How often the spinner turns.
const SPIN_MS: u64 = 120;

const SPINNER: [&str; 6] = ["·", "✢", "✳", "✶", "✻", "✽"];

/// What it says of itself to whoever asks for its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It has not begun: it waits to be told whether the folder is trusted.
    Unborn,
    Idle,
    Busy,
    Waiting,
}

impl Session {
    pub(crate) fn status(&self) -> Status {
        if self.aside().is_some() {
            return Status::Waiting;
        }
        match &self.phase {
            Phase::Trust(_) => Status::Unborn,
            Phase::Turn(turn) if turn.dialog().is_some() => Status::Waiting,
            Phase::Idle if self.pending.is_empty() => Status::Idle,
            Phase::Idle
            | Phase::Turn(_)
            | Phase::Taking { .. }
            | Phase::Compacting { .. }
            | Phase::Ending { .. } => Status::Busy,
        }
    }

    /// Returns the terminal's title: a braille sign before the name while it works, as Claude Code's.
    pub(crate) fn title(&self) -> String {
        let mark = match self.status() {
            Status::Busy => "⠂",
            Status::Unborn | Status::Idle | Status::Waiting => "✳",
        };
        format!("{mark} {}", self.setup.name)
    }

    /// Returns when something is to be done, or seen, without anything happening.
    pub(crate) fn next_wake(&self, now: u64) -> Option<u64> {
        let turn = match &self.phase {
            Phase::Turn(turn) => turn.wake(),
            Phase::Trust(_)
            | Phase::Idle
            | Phase::Taking { .. }
            | Phase::Compacting { .. }
            | Phase::Ending { .. } => None,
        };
        let spin = (self.status() == Status::Busy).then_some(now + SPIN_MS);
        let armed = self.armed.map(|(_, until)| until);
        let limit = (now < self.limited_until).then_some(self.limited_until);
        let aside = self.aside_wake(now);
        [turn, spin, armed, limit, aside, self.idle_notice_at].into_iter().flatten().min()
    }

    pub(crate) fn view(&self, now: u64) -> View<'_> {
        let body = self.dialog().map_or(Body::Composer(&self.composer), Body::Dialog);
        let waiting = self.pending.iter().map(|it| &it.prompt).chain(&self.queue);
        // Alone, it is what the spinner is about.
        let is_turn = matches!(self.phase, Phase::Turn(_));
        let queued = waiting.skip(usize::from(!is_turn)).map(|it| it.text.as_str()).collect();
        View { doing: self.doing(now), queued, body, status: self.status_line(now) }
    }

    fn dialog(&self) -> Option<&Dialog> {
        if let Some(dialog) = self.aside() {
            return Some(dialog);
        }
        match &self.phase {
            Phase::Trust(dialog) => Some(dialog),
            Phase::Turn(turn) => turn.dialog(),
            Phase::Idle
            | Phase::Taking { .. }
            | Phase::Compacting { .. }
            | Phase::Ending { .. } => None,
        }
    }

    fn doing(&self, now: u64) -> Option<String> {
        let begun = match &self.phase {
            Phase::Turn(turn) => turn.begun,
            Phase::Trust(_)
            | Phase::Idle
            | Phase::Taking { .. }
            | Phase::Compacting { .. }
            | Phase::Ending { .. } => now,
        };
        let sign = SPINNER[usize::try_from(now / SPIN_MS).unwrap_or(0) % SPINNER.len()];
        let seconds = now.saturating_sub(begun) / 1000;
        let is_busy = self.status() == Status::Busy;
        is_busy.then(|| format!("{sign} Thinking… ({seconds}s · esc to interrupt)"))
    }

    fn status_line(&self, now: u64) -> String {
        match self.armed.map(|(armed, _)| armed) {
            Some(Armed::Quit) => return "Press Ctrl-C again to exit".into(),
            Some(Armed::Clear) => return "Esc again to clear".into(),
            None => {}
        }
        let (before, _) = self.composer.shown();
        if before.starts_with('!') {
            return "! for shell mode".into();
        }
        if now < self.limited_until {
            return self.limit_line();
        }
        format!("{} · demo · {}", self.setup.mode.shown(), self.setup.name)
    }

    /// Returns what is said while the provider's limit is reached.
    pub(super) fn limit_line(&self) -> String {
        let until = i64::try_from(self.limited_until).unwrap_or(i64::MAX);
        let time = Time::from_millis(self.setup.wall_ms.saturating_add(until)).to_string();
        let clock = time.get(11..16).unwrap_or(&time);
        format!("You've hit your limit · resets {clock} (UTC)")
    }
}
