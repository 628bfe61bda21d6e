//! Asides: what other work of the agent's asks for while it is at its prompt. The question stands where the
//! prompt was, and takes the keys that were meant for that.

use serde_json::json;

use super::{Effect, Phase, Session};
use crate::demo::dialog::{Choice, Dialog, Question};
use crate::demo::fault::Moment;
use crate::demo::hook::{Answer, Verdict};
use crate::demo::screen::Said;
use crate::demo::script::ToolUse;

/// What other work asks for.
pub(super) enum Aside {
    /// Hooks may object, or allow it.
    Before { token: u64 },
    /// Somebody is asked, on the screen and by a hook.
    Asking { token: u64, dialog: Dialog },
}

impl Session {
    /// Takes that a moment has come. If something was to be asked then, it is.
    pub(super) fn reach(&mut self, moment: Moment, now: u64) {
        if self.setup.faults.dialog_after == Some(moment) {
            self.setup.faults.dialog_after = None;
            self.ask_aside();
        }
        if let Some((each, after_ms)) = self.setup.faults.dialogs_after
            && each == moment
        {
            self.aside_after = Some(now + after_ms);
        }
    }

    /// Begins what is to be asked by now.
    pub(super) fn wake_aside(&mut self, now: u64) {
        if let Some(moment @ Moment::At(at)) = self.setup.faults.dialog_after
            && at <= now
            && !matches!(self.phase, Phase::Trust(_))
        {
            self.reach(moment, now);
        }
        if self.aside_after.is_some_and(|at| at <= now) {
            self.aside_after = None;
            self.ask_aside();
        }
        if self.next_aside(now).is_some_and(|at| at <= now) {
            self.aside_at = None;
            self.ask_aside();
        }
    }

    /// Returns when something is to be asked next.
    pub(super) fn aside_wake(&self, now: u64) -> Option<u64> {
        let once = match self.setup.faults.dialog_after {
            Some(Moment::At(at)) if !matches!(self.phase, Phase::Trust(_)) => Some(at),
            Some(Moment::At(_) | Moment::Paste | Moment::Enter) | None => None,
        };
        [once, self.aside_after, self.next_aside(now)].into_iter().flatten().min()
    }

    /// Returns when other work asks for something that does so again and again while the agent rests.
    fn next_aside(&self, now: u64) -> Option<u64> {
        let every = self.setup.faults.dialogs_every_ms;
        let is_resting = matches!(self.phase, Phase::Idle) && self.pending.is_empty();
        let is_next = every > 0 && is_resting && self.aside.is_none();
        is_next.then(|| self.aside_at.unwrap_or(now + every))
    }

    fn ask_aside(&mut self) {
        if self.aside.is_some() {
            return;
        }
        let token = self.aside_hook("PreToolUse");
        self.aside = Some(Aside::Before { token });
    }

    fn aside_hook(&mut self, event: &'static str) -> u64 {
        let tool = tool();
        let fields = json!({
            "tool_name": tool.name,
            "tool_input": tool.input,
            "tool_use_id": "toolu_aside",
        });
        self.hook(event, Some(&tool.name), fields)
    }

    /// Takes what the hooks of an aside have answered, if it was they.
    pub(super) fn aside_hooked(&mut self, token: u64, answer: &Answer) -> bool {
        match (&self.aside, &answer.verdict) {
            (Some(Aside::Before { token: asked }), verdict) if *asked == token => {
                match verdict {
                    Some(Verdict::Allow | Verdict::Deny(_)) => self.aside = None,
                    Some(Verdict::Ask) | None => {
                        let token = self.aside_hook("PermissionRequest");
                        let dialog = Dialog::new(Question::Permission(tool()));
                        self.aside = Some(Aside::Asking { token, dialog });
                    }
                }
                true
            }
            (Some(Aside::Asking { token: asked, .. }), verdict) if *asked == token => {
                if matches!(verdict, Some(Verdict::Allow | Verdict::Deny(_))) {
                    self.aside = None;
                }
                true
            }
            (Some(Aside::Before { .. } | Aside::Asking { .. }) | None, _) => false,
        }
    }

    /// Takes what somebody has answered an aside with, knowing what it was or not.
    pub(super) fn answer_aside(&mut self, choice: Choice, now: u64) {
        let Some(Aside::Asking { token, .. }) = self.aside.take() else { return };
        self.effects.push(Effect::Cancel { token });
        self.aside_at = Some(now + self.setup.faults.dialogs_every_ms);
        match choice {
            Choice::Yes | Choice::Always => {
                self.effects.push(Effect::Approved(tool()));
                self.said.push(Said::Result("Other work goes on".into()));
            }
            Choice::No => self.said.push(Said::Result("Other work was not allowed to".into())),
        }
    }

    /// Returns the question of other work, if it is that which stands on the screen.
    pub(super) fn aside(&self) -> Option<&Dialog> {
        match (&self.aside, &self.phase) {
            (Some(Aside::Asking { .. }), Phase::Trust(_) | Phase::Ending { .. }) => None,
            (Some(Aside::Asking { .. }), Phase::Turn(turn)) if turn.dialog().is_some() => None,
            (Some(Aside::Asking { dialog, .. }), _) => Some(dialog),
            (Some(Aside::Before { .. }) | None, _) => None,
        }
    }
}

/// Returns what other work asks for.
fn tool() -> ToolUse {
    let input = json!({ "command": "echo aside", "description": "Go on with other work" });
    ToolUse { name: "Bash".into(), input, ask: Some(true) }
}
