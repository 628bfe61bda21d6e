//! An agent that is played with by tests: its time is turned by hand, and what it wants done is noted.

use super::{Effect, Input, Note, Resumed, Session, Setup, ToolResult};
use crate::demo::fault::Faults;
use crate::demo::hook::Answer;
use crate::demo::key::{Key, Keys};
use crate::demo::permission::Mode;
use crate::demo::screen::{Said, Size};
use crate::demo::script::Script;

/// An agent, and all that it wanted to be done.
pub(super) struct Played {
    pub(super) session: Session,
    pub(super) now: u64,
    keys: Keys,
    hooks: Vec<(u64, &'static str)>,
    answered: usize,
    pub(super) tools: Vec<u64>,
    pub(super) taken: Vec<String>,
    pub(super) notes: Vec<Note>,
    pub(super) doors: Vec<(u64, String)>,
    pub(super) approved: Vec<String>,
    said: Vec<Said>,
    pub(super) exit: Option<u8>,
    pub(super) crashed: bool,
    pub(super) hung: bool,
    pub(super) is_full: bool,
}

pub(super) fn setup(script: &str, faults: &[&str], resumed: Option<Resumed>) -> Setup {
    let mut asked = Faults::default();
    faults.iter().try_for_each(|fault| asked.add(fault)).unwrap();
    let script = if script.is_empty() { "{}" } else { script };
    Setup {
        id: "first".into(),
        new_id: Box::new(|| "next".into()),
        name: "demo".into(),
        folder: "/repo".into(),
        script: Script::parse(script, false).unwrap(),
        faults: asked,
        mode: Mode::Ask,
        allow: Vec::new(),
        gap_ms: 8,
        is_trusted: false,
        resumed,
        first: None,
        wall_ms: 0,
    }
}

impl Played {
    pub(super) fn new(script: &str, faults: &[&str]) -> Played {
        Played::with(setup(script, faults, None))
    }

    pub(super) fn with(setup: Setup) -> Played {
        let mut agent = Played {
            session: Session::new(setup),
            now: 0,
            keys: Keys::default(),
            hooks: Vec::new(),
            answered: 0,
            tools: Vec::new(),
            taken: Vec::new(),
            notes: Vec::new(),
            doors: Vec::new(),
            approved: Vec::new(),
            said: Vec::new(),
            exit: None,
            crashed: false,
            hung: false,
            is_full: false,
        };
        agent.hear(Input::Begin);
        agent
    }

    pub(super) fn hear(&mut self, input: Input) {
        let effects = self.session.hear(input, self.now);
        self.note(effects);
    }

    fn note(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Hook { token, event, .. } => self.hooks.push((token, event)),
                Effect::Tool { token, .. } => self.tools.push(token),
                Effect::Take { token, prompt, .. } => {
                    let done = if self.is_full { Err("full".into()) } else { Ok(()) };
                    self.taken.extend(done.is_ok().then_some(prompt));
                    self.hear(Input::Taken { token, done });
                }
                Effect::Note(note) => self.notes.push(note),
                Effect::Answer { door, said } => {
                    self.doors.push((door, said["state"].as_str().unwrap().to_owned()));
                }
                Effect::Approved(tool) => self.approved.push(tool.name),
                Effect::Crash => self.crashed = true,
                Effect::Hang => self.hung = true,
                Effect::Exit(code) => self.exit = Some(code),
                Effect::Cancel { .. }
                | Effect::Trust
                | Effect::Session(_)
                | Effect::Flood { .. }
                | Effect::Repaint => {}
            }
        }
        self.said.extend(self.session.take_said());
    }

    pub(super) fn press(&mut self, key: Key) {
        self.hear(Input::Key(key));
    }

    pub(super) fn type_in(&mut self, bytes: &str) {
        for key in self.keys.feed(bytes.as_bytes(), self.now) {
            self.press(key);
        }
    }

    /// Lets time pass, moment by moment.
    pub(super) fn pass(&mut self, ms: u64) {
        let until = self.now + ms;
        while let Some(at) = self.session.next_wake(self.now).filter(|&at| at <= until) {
            self.now = at.max(self.now + 1);
            let effects = self.session.wake(self.now);
            self.note(effects);
        }
        self.now = until;
        let effects = self.session.wake(self.now);
        self.note(effects);
    }

    /// Answers every hook that was run, and those that follow, with no objection.
    pub(super) fn answer_all(&mut self) {
        while let Some(&(token, _)) = self.hooks.get(self.answered) {
            self.answered += 1;
            self.hear(Input::Hooked { token, answer: Answer::default() });
        }
    }

    /// Answers the last hook of an event.
    #[track_caller]
    pub(super) fn answer(&mut self, event: &str, answer: Answer) {
        let token = *self.tokens(event).last().unwrap();
        self.hear(Input::Hooked { token, answer });
    }

    pub(super) fn tokens(&self, event: &str) -> Vec<u64> {
        self.hooks.iter().filter(|(_, it)| *it == event).map(|(token, _)| *token).collect()
    }

    pub(super) fn finish_tool(&mut self, text: &str) {
        let token = *self.tools.last().unwrap();
        let result = ToolResult { text: text.into(), is_error: false, duration_ms: 1 };
        self.hear(Input::Tooled { token, result });
    }

    pub(super) fn hooks(&self) -> Vec<&'static str> {
        self.hooks.iter().map(|(_, event)| *event).collect()
    }

    pub(super) fn composed(&self) -> String {
        self.session.composer.text()
    }

    pub(super) fn said(&self) -> Vec<Said> {
        self.said.clone()
    }

    pub(super) fn said_text(&self) -> String {
        self.said.iter().flat_map(|said| said.lines(200)).collect::<Vec<String>>().join("\n")
    }

    pub(super) fn shown(&self) -> String {
        self.session.view(self.now).frame(Size::new(80, 24)).lines.join("\n")
    }
}
