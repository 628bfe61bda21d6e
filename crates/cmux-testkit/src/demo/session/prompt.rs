//! Prompts: from the composer or the door, past the hook, onto the disk, to their turn.

use serde_json::{Value, json};

use super::{Effect, Input, Phase, Session};
use crate::demo::fault::{Crash, TakeBack};
use crate::demo::hook::Answer;
use crate::demo::screen::Said;

/// How many prompts may wait.
const WAITING_MAX: usize = 100;

/// Something that was said to the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// Where a prompt came from, and who is told what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Composer,
    Door { door: u64, id: Option<String> },
}

/// A prompt whose hook runs.
pub(super) struct Pending {
    pub(super) token: u64,
    pub(super) prompt: Prompt,
    pub(super) answer: Option<Answer>,
}

impl Prompt {
    fn id(&self) -> Option<&String> {
        match &self.origin {
            Origin::Composer => None,
            Origin::Door { id, .. } => id.as_ref(),
        }
    }
}

impl Session {
    /// Takes what an Enter has said.
    pub(super) fn submit(&mut self, text: String) {
        if text.starts_with('!') {
            self.complain("There is no shell here: the demo agent runs only what its script says");
            self.composer.set(&text);
        } else if let Some(command) = text.strip_prefix('/') {
            self.command(command.trim());
        } else {
            self.ask_hook(Prompt { text, origin: Origin::Composer });
        }
    }

    /// Takes a message that came whole. One that came before is told what became of it.
    pub(super) fn message(&mut self, door: u64, id: Option<String>, text: String) {
        let waiting = self.pending.iter().map(|it| &it.prompt).chain(&self.queue);
        let is_waiting =
            id.is_some() && waiting.chain(self.taking()).any(|it| it.id() == id.as_ref());
        let refused = match &self.phase {
            Phase::Trust(_) => Some("it waits to be told whether the folder is trusted"),
            Phase::Ending { .. } => Some("it is about to end"),
            Phase::Idle | Phase::Taking { .. } | Phase::Turn(_) | Phase::Compacting { .. } => {
                text.trim().is_empty().then_some("there is nothing in it")
            }
        };
        if id.as_ref().is_some_and(|id| self.taken.contains(id)) {
            self.answer(door, json!({ "id": id, "state": "taken" }));
        } else if is_waiting {
            self.answer(door, json!({ "id": id, "state": "queued" }));
        } else if let Some(reason) = refused {
            self.answer(door, json!({ "id": id, "state": "refused", "reason": reason }));
        } else {
            self.ask_hook(Prompt { text, origin: Origin::Door { door, id } });
        }
    }

    fn taking(&self) -> Option<&Prompt> {
        match &self.phase {
            Phase::Taking { prompt, .. } => Some(prompt),
            Phase::Trust(_)
            | Phase::Idle
            | Phase::Turn(_)
            | Phase::Compacting { .. }
            | Phase::Ending { .. } => None,
        }
    }

    fn ask_hook(&mut self, prompt: Prompt) {
        if self.pending.len() + self.queue.len() >= WAITING_MAX {
            return self.give_back(prompt, "too much waits already");
        }
        self.idle_notice_at = None;
        let token = self.hook("UserPromptSubmit", None, json!({ "prompt": prompt.text }));
        self.pending.push_back(Pending { token, prompt, answer: None });
        if self.setup.faults.take_back == Some(TakeBack::Hooking) {
            self.setup.faults.take_back = None;
            self.take_back();
        }
    }

    /// Takes those whose hook has answered, in the order in which they were said.
    pub(super) fn let_through(&mut self) {
        while let Some(Pending { answer: Some(_), .. }) = self.pending.front() {
            let Some(Pending { prompt, answer, .. }) = self.pending.pop_front() else { return };
            match answer.and_then(|answer| answer.block) {
                Some(reason) => self.give_back(prompt, &format!("blocked by a hook: {reason}")),
                None => self.queue.push_back(prompt),
            }
        }
    }

    /// Refuses a prompt. Nothing of it is lost: it goes back to where it came from.
    fn give_back(&mut self, prompt: Prompt, reason: &str) {
        match prompt.origin {
            Origin::Door { door, id } => {
                self.answer(door, json!({ "id": id, "state": "refused", "reason": reason }));
            }
            Origin::Composer if self.composer.is_empty() => {
                self.complain(&format!("UserPromptSubmit {reason}"));
                self.composer.set(&prompt.text);
            }
            Origin::Composer => {
                let text = &prompt.text;
                self.complain(&format!("UserPromptSubmit {reason}\nOriginal prompt: {text}"));
            }
        }
    }

    /// Begins with the next prompt, if there is one and nothing else is being done.
    pub(super) fn take_next(&mut self) {
        if !matches!(self.phase, Phase::Idle) {
            return;
        }
        let Some(prompt) = self.queue.pop_front() else { return };
        if self.setup.faults.crash == Some(Crash::Hooked) {
            return self.effects.push(Effect::Crash);
        }
        if self.setup.faults.take_back == Some(TakeBack::Hooked) {
            self.setup.faults.take_back = None;
            return self.give_back(prompt, "was interrupted");
        }
        let token = self.token();
        let (text, id) = (prompt.text.clone(), prompt.id().cloned());
        self.effects.push(Effect::Take { token, prompt: text, id });
        self.phase = Phase::Taking { token, prompt };
    }

    /// Takes that a prompt is on the disk, or is not.
    pub(super) fn taken(&mut self, token: u64, done: Result<(), String>, now: u64) {
        let Phase::Taking { token: expected, prompt } = &self.phase else { return };
        if *expected != token {
            return;
        }
        let prompt = prompt.clone();
        self.phase = Phase::Idle;
        if let Err(why) = done {
            return self.give_back(prompt, &format!("could not be recorded: {why}"));
        }
        self.taken.extend(prompt.id().cloned());
        if let Origin::Door { door, id } = &prompt.origin {
            self.answer(*door, json!({ "id": id, "state": "taken" }));
        }
        self.said.push(Said::Person(prompt.text.clone()));
        self.start_turn(prompt.text, now);
    }

    fn answer(&mut self, door: u64, said: Value) {
        self.effects.push(Effect::Answer { door, said });
    }

    pub(super) fn complain(&mut self, what: &str) {
        self.said.push(Said::Result(what.to_owned()));
    }

    fn command(&mut self, command: &str) {
        let is_idle = matches!(self.phase, Phase::Idle) && self.pending.is_empty();
        match command.split_whitespace().next().unwrap_or_default() {
            "exit" | "quit" => self.quit(0, "prompt_input_exit"),
            "clear" | "compact" if !is_idle => {
                self.complain(&format!("/{command} has to wait until the agent is at rest"));
            }
            "clear" => self.clear(),
            "compact" => {
                let fields = json!({ "trigger": "manual", "custom_instructions": null });
                let token = self.hook("PreCompact", None, fields);
                self.phase = Phase::Compacting { token };
            }
            "help" => self.complain("/clear, /compact, /exit; \\ and Enter for a new line"),
            // As in Claude Code, it is gone.
            other => self.complain(&format!("Unknown command: /{other}")),
        }
    }

    fn clear(&mut self) {
        self.tell("SessionEnd", json!({ "reason": "clear" }));
        self.setup.id = (self.setup.new_id)();
        self.effects.push(Effect::Session(self.setup.id.clone()));
        self.turns = 0;
        self.complain("(no content)");
        self.tell("SessionStart", json!({ "source": "clear", "model": "demo" }));
    }

    pub(super) fn compact(&mut self, answer: Answer) {
        self.phase = Phase::Idle;
        if let Some(reason) = answer.block {
            return self.complain(&format!("Compaction blocked by PreCompact hook: {reason}"));
        }
        let tokens = self.turns * 100;
        self.effects.push(Effect::Note(super::Note::Compacted { tokens }));
        self.complain("Compacted");
        self.tell("SessionStart", json!({ "source": "compact", "model": "demo" }));
        let summary = format!("a summary of {} turns", self.turns);
        self.tell("PostCompact", json!({ "trigger": "manual", "compact_summary": summary }));
    }

    /// Takes back the prompts whose hook still runs: they were not said.
    pub(super) fn take_back(&mut self) {
        for Pending { token, prompt, .. } in std::mem::take(&mut self.pending) {
            self.effects.push(Effect::Cancel { token });
            self.give_back(prompt, "was interrupted");
        }
    }
}

impl Input {
    /// Returns a message as it comes through the door.
    #[cfg(test)]
    pub(crate) fn message(door: u64, id: &str, text: &str) -> Input {
        Input::Message { door, id: Some(id.to_owned()), text: text.to_owned() }
    }
}
