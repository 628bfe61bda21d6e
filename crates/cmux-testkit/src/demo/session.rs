//! The agent itself: a machine that is fed keys, answers and time, and says what is to be done.

mod aside;
#[cfg(test)]
mod played;
mod prompt;
#[cfg(test)]
mod tests;
mod turn;
mod view;

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use self::aside::Aside;
use self::prompt::{Pending, Prompt};
use self::turn::Turn;
pub(crate) use self::view::Status;
use super::composer::{Composer, Entered};
use super::dialog::{Choice, Dialog, Question};
use super::fault::{Faults, Moment};
use super::hook::Answer;
use super::key::Key;
use super::permission::Mode;
use super::screen::Said;
use super::script::{Script, ToolUse};

/// How long a second Ctrl-C or Esc has to follow the first.
const AGAIN_MS: u64 = 2_000;

/// How long it is at rest before it says so by a hook.
const IDLE_NOTICE_MS: u64 = 60_000;

/// What a session begins with.
pub(crate) struct Setup {
    pub(crate) id: String,
    /// Makes the id of another session.
    pub(crate) new_id: Box<dyn FnMut() -> String>,
    pub(crate) name: String,
    pub(crate) folder: String,
    pub(crate) script: Script,
    pub(crate) faults: Faults,
    pub(crate) mode: Mode,
    pub(crate) allow: Vec<String>,
    /// An Enter that comes this soon after a paste belongs to it.
    pub(crate) gap_ms: u64,
    pub(crate) is_trusted: bool,
    pub(crate) resumed: Option<Resumed>,
    /// The prompt that it was started with.
    pub(crate) first: Option<String>,
    /// What the clock on the wall shows at the time 0, in milliseconds since 1970.
    pub(crate) wall_ms: i64,
}

/// What is known of a session that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resumed {
    pub(crate) said: Vec<Said>,
    pub(crate) turns: u64,
    /// The messages that came whole, and are not taken twice.
    pub(crate) taken: BTreeSet<String>,
}

/// What happens to it.
pub(crate) enum Input {
    Begin,
    Key(Key),
    Hooked {
        token: u64,
        answer: Answer,
    },
    /// A prompt is on the disk, or why it is not.
    Taken {
        token: u64,
        done: Result<(), String>,
    },
    Tooled {
        token: u64,
        result: ToolResult,
    },
    /// A message came whole, through the door of this number.
    Message {
        door: u64,
        id: Option<String>,
        text: String,
    },
    /// It is to end, with this code.
    Signal(u8),
}

/// What came of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolResult {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    pub(crate) duration_ms: u64,
}

/// What is to be written into the transcript.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Note {
    Said { text: String, tokens_in: u64, tokens_out: u64 },
    Failed { text: String },
    ToolUse { id: String, tool: ToolUse, tokens_in: u64, tokens_out: u64 },
    ToolResult { id: String, text: String, is_error: bool },
    Interrupted,
    Context { event: String, text: String },
    Compacted { tokens: u64 },
}

/// What is to be done. Hooks, tools and prompts answer by their token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Hook {
        token: u64,
        session: String,
        event: &'static str,
        tool: Option<String>,
        fields: Value,
    },
    Tool {
        token: u64,
        tool: ToolUse,
    },
    /// A hook or tool is not wanted any more.
    Cancel {
        token: u64,
    },
    Take {
        token: u64,
        prompt: String,
        id: Option<String>,
    },
    Note(Note),
    Answer {
        door: u64,
        said: Value,
    },
    /// Somebody has allowed this, by a key.
    Approved(ToolUse),
    /// The folder is trusted from here on.
    Trust,
    /// Another session begins, with this id.
    Session(String),
    Flood {
        bytes: u64,
    },
    Repaint,
    Hang,
    Crash,
    Exit(u8),
}

/// What it is at.
enum Phase {
    Trust(Dialog),
    Idle,
    /// A prompt is being written to the disk.
    Taking {
        token: u64,
        prompt: Prompt,
    },
    Turn(Box<Turn>),
    Compacting {
        token: u64,
    },
    Ending {
        token: u64,
        code: u8,
    },
}

/// A key that ends something when it is pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    Quit,
    Clear,
}

/// One agent, from its start to its end.
pub(crate) struct Session {
    setup: Setup,
    phase: Phase,
    composer: Composer,
    /// Prompts whose hook runs, in the order in which they were said.
    pending: VecDeque<Pending>,
    /// Prompts that were let through, and wait for their turn.
    queue: VecDeque<Prompt>,
    taken: BTreeSet<String>,
    turns: u64,
    tokens: u64,
    uses: u64,
    armed: Option<(Armed, u64)>,
    deaf_until: u64,
    drop_enters: u64,
    limited_until: u64,
    idle_notice_at: Option<u64>,
    /// What other work asks for, and when it does so next.
    aside: Option<Aside>,
    aside_at: Option<u64>,
    /// When it asks for something because of a key.
    aside_after: Option<u64>,
    said: Vec<Said>,
    effects: Vec<Effect>,
}

impl Session {
    pub(crate) fn new(setup: Setup) -> Session {
        let resumed = setup.resumed.clone().unwrap_or_default();
        let mut composer = Composer::default();
        composer.set(setup.faults.draft.as_deref().unwrap_or_default());
        Session {
            phase: Phase::Idle,
            composer,
            pending: VecDeque::new(),
            queue: VecDeque::new(),
            taken: resumed.taken,
            turns: resumed.turns,
            tokens: 0,
            uses: 0,
            armed: None,
            deaf_until: setup.faults.deaf_ms,
            drop_enters: setup.faults.drop_enters,
            limited_until: setup.faults.limited_s.saturating_mul(1000),
            idle_notice_at: None,
            aside: None,
            aside_at: Some(setup.faults.dialogs_every_ms),
            aside_after: None,
            said: resumed.said,
            effects: Vec::new(),
            setup,
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.setup.id
    }

    /// Takes what happened, and returns what is to be done about it.
    pub(crate) fn hear(&mut self, input: Input, now: u64) -> Vec<Effect> {
        match input {
            Input::Begin => self.begin(),
            Input::Key(key) => self.press(key, now),
            Input::Hooked { token, answer } => self.hooked(token, answer, now),
            Input::Taken { token, done } => self.taken(token, done, now),
            Input::Tooled { token, result } => self.tooled(token, result),
            Input::Message { door, id, text } => self.message(door, id, text),
            Input::Signal(code) => self.quit(code, "other"),
        }
        self.wake(now)
    }

    /// Does what its time has come for, and returns what is to be done about it.
    pub(crate) fn wake(&mut self, now: u64) -> Vec<Effect> {
        if self.armed.is_some_and(|(_, until)| until <= now) {
            self.armed = None;
        }
        if self.idle_notice_at.is_some_and(|at| at <= now) {
            self.idle_notice_at = None;
            self.notify("idle_prompt", "The agent is waiting for your input");
        }
        self.wake_aside(now);
        self.go_on(now);
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn has_said(&self) -> bool {
        !self.said.is_empty()
    }

    /// Returns what was said since this was last asked for.
    pub(crate) fn take_said(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }

    fn begin(&mut self) {
        if self.setup.faults.trust && !self.setup.is_trusted {
            let folder = self.setup.folder.clone();
            self.phase = Phase::Trust(Dialog::new(Question::Trust { folder }));
        } else {
            self.welcome();
        }
    }

    fn welcome(&mut self) {
        self.phase = Phase::Idle;
        let source = if self.setup.resumed.is_some() { "resume" } else { "startup" };
        let text = "Demo agent · a script, and no model\n/exit ends it";
        self.said.insert(0, Said::Agent(text.into()));
        self.tell("SessionStart", json!({ "source": source, "model": "demo" }));
        if let Some(first) = self.setup.first.take() {
            self.submit(first);
        }
    }

    /// Runs the hooks of an event, and returns the token by which they answer.
    fn hook(&mut self, event: &'static str, tool: Option<&str>, fields: Value) -> u64 {
        let token = self.token();
        let (session, tool) = (self.setup.id.clone(), tool.map(str::to_owned));
        self.effects.push(Effect::Hook { token, session, event, tool, fields });
        token
    }

    /// Runs the hooks of an event that nobody waits for.
    fn tell(&mut self, event: &'static str, fields: Value) {
        self.hook(event, None, fields);
    }

    fn notify(&mut self, kind: &str, message: &str) {
        self.tell("Notification", json!({ "message": message, "notification_type": kind }));
    }

    fn token(&mut self) -> u64 {
        self.tokens += 1;
        self.tokens
    }

    fn hooked(&mut self, token: u64, answer: Answer, now: u64) {
        for text in &answer.context {
            let note = Note::Context { event: "hook".into(), text: text.clone() };
            self.effects.push(Effect::Note(note));
        }
        if self.aside_hooked(token, &answer) {
            return;
        }
        if let Some(pending) = self.pending.iter_mut().find(|it| it.token == token) {
            pending.answer = Some(answer);
            return self.let_through();
        }
        match &self.phase {
            Phase::Ending { token: last, code } if *last == token => {
                self.effects.push(Effect::Exit(*code));
            }
            Phase::Compacting { token: first } if *first == token => self.compact(answer),
            Phase::Turn(_) => self.turn_hooked(token, answer, now),
            Phase::Trust(_)
            | Phase::Idle
            | Phase::Taking { .. }
            | Phase::Compacting { .. }
            | Phase::Ending { .. } => {}
        }
    }

    /// Ends it, after its last hook. Asked twice, it ends at once.
    fn quit(&mut self, code: u8, reason: &str) {
        if matches!(self.phase, Phase::Ending { .. } | Phase::Trust(_)) {
            return self.effects.push(Effect::Exit(code));
        }
        if let Some(token) = self.working_token() {
            self.effects.push(Effect::Cancel { token });
        }
        let token = self.hook("SessionEnd", None, json!({ "reason": reason }));
        self.phase = Phase::Ending { token, code };
    }

    fn press(&mut self, key: Key, now: u64) {
        if now < self.deaf_until || matches!(self.phase, Phase::Ending { .. }) {
            return;
        }
        let moment = Moment::of(&key);
        if key == Key::Enter && self.drop_enters > 0 {
            self.drop_enters -= 1;
        } else {
            self.take_key(key, now);
        }
        moment.into_iter().for_each(|moment| self.reach(moment, now));
    }

    fn take_key(&mut self, key: Key, now: u64) {
        if let Some(dialog) = self.dialog_mut() {
            if let Some(choice) = dialog.press(&key) {
                self.choose(choice, now);
            }
            return;
        }
        let armed = self.armed.take().map(|(armed, _)| armed);
        match key {
            Key::Enter => match self.composer.enter(now, self.setup.gap_ms) {
                Entered::Text(text) => self.submit(text),
                Entered::Line | Entered::Nothing => {}
            },
            Key::Esc => self.escape(armed, now),
            Key::CtrlC if !self.composer.is_empty() => self.composer.clear(),
            Key::CtrlC if self.is_working() => self.interrupt(now),
            Key::CtrlC | Key::CtrlD if !self.composer.is_empty() => {}
            Key::CtrlC | Key::CtrlD if armed == Some(Armed::Quit) => {
                self.quit(0, "prompt_input_exit");
            }
            Key::CtrlC | Key::CtrlD => self.armed = Some((Armed::Quit, now + AGAIN_MS)),
            Key::CtrlL => self.effects.push(Effect::Repaint),
            Key::Up | Key::Down | Key::Other => {}
            edit @ (Key::Char(_)
            | Key::Newline
            | Key::Paste(_)
            | Key::TooLong
            | Key::Backspace
            | Key::Delete
            | Key::DeleteWord
            | Key::ClearLine
            | Key::Left
            | Key::Right
            | Key::Home
            | Key::End) => self.edit(edit, now),
        }
    }

    fn escape(&mut self, armed: Option<Armed>, now: u64) {
        if self.is_working() {
            self.interrupt(now);
        } else if armed == Some(Armed::Clear) {
            self.composer.clear();
        } else if !self.composer.is_empty() {
            self.armed = Some((Armed::Clear, now + AGAIN_MS));
        }
    }

    fn edit(&mut self, key: Key, now: u64) {
        let composer = &mut self.composer;
        match key {
            Key::Char(letter) => composer.insert(letter),
            Key::Newline => composer.insert('\n'),
            Key::Paste(text) => composer.paste(&text, now),
            Key::TooLong => {
                self.said
                    .push(Said::Result("That paste is too long, and none of it was taken".into()));
            }
            Key::Backspace => composer.backspace(),
            Key::Delete => composer.delete(),
            Key::DeleteWord => composer.delete_word(),
            Key::ClearLine => composer.clear_line(),
            Key::Left => composer.left(),
            Key::Right => composer.right(),
            Key::Home => composer.home(),
            Key::End => composer.end(),
            Key::Up
            | Key::Down
            | Key::Enter
            | Key::Esc
            | Key::CtrlC
            | Key::CtrlD
            | Key::CtrlL
            | Key::Other => {}
        }
    }

    fn dialog_mut(&mut self) -> Option<&mut Dialog> {
        if self.aside().is_some() {
            return match &mut self.aside {
                Some(Aside::Asking { dialog, .. }) => Some(dialog),
                Some(Aside::Before { .. }) | None => None,
            };
        }
        match &mut self.phase {
            Phase::Trust(dialog) => Some(dialog),
            Phase::Turn(turn) => turn.dialog_mut(),
            Phase::Idle
            | Phase::Taking { .. }
            | Phase::Compacting { .. }
            | Phase::Ending { .. } => None,
        }
    }

    fn choose(&mut self, choice: Choice, now: u64) {
        if self.aside().is_some() {
            return self.answer_aside(choice, now);
        }
        match (&self.phase, choice) {
            (Phase::Trust(_), Choice::Yes | Choice::Always) => {
                self.effects.push(Effect::Trust);
                self.welcome();
            }
            (Phase::Trust(_), Choice::No) => self.effects.push(Effect::Exit(1)),
            (Phase::Turn(_), choice) => self.permit(choice, now),
            (
                Phase::Idle
                | Phase::Taking { .. }
                | Phase::Compacting { .. }
                | Phase::Ending { .. },
                _,
            ) => {}
        }
    }

    /// Whether there is anything to interrupt.
    fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Turn(_)) || !self.pending.is_empty()
    }
}
