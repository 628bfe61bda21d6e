//! Guarded steps: what is typed into a pane only if all is as expected, once, and not too late.
//!
//! A server that stood still does all that it was sent when it goes on, and what was given up and sent
//! again is there twice. So each step carries its conditions, and the server itself looks at them at
//! the very moment. Not to look would be worse than wrong: tmux before 3.4 dies of a paste into a pane
//! whose program has ended, and every agent in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cmux_core::id::RunId;

use super::command::Command;
use super::control::Control;
use super::glance::{TYPED, Touch, untouched};
use super::pane::{PaneId, STEPS};
use super::quote::plain;
use super::{TmuxError, shorten};
use crate::private;

/// The longest token, in bytes.
pub const TOKEN_MAX: usize = 100;

/// How much a pane remembers of the steps that were done before the newest, in characters: a few of
/// them. What is sent again comes soon, and has its deadline.
const STEPS_KEPT: usize = 4000;

/// The pane option that tells the time where the server's does not, for as long as a step takes.
pub(super) const NOW: &str = "@cmux_now";

/// By what a server tells what time it is: an option that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// An option of the server's, which is set in those of cmux's own.
    Server,
    /// One of the pane's. Nothing but the agent's pane is touched in a person's server.
    Pane,
}

impl Clock {
    fn of(control: &Control) -> Clock {
        if control.is_visit() { Clock::Pane } else { Clock::Server }
    }

    fn option(self) -> &'static str {
        match self {
            Clock::Server => "@now",
            Clock::Pane => NOW,
        }
    }
}

/// A step that is to be done in a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub pane: PaneId,
    pub pane_pid: u32,
    pub run: RunId,
    /// Tells the step from all others of this run: letters, digits, `_`, `-` and `.`.
    pub token: String,
    /// The wall clock's time from which on the step is not done, in whole seconds; what is over a
    /// second is cut off.
    pub deadline: SystemTime,
    /// The last that a person may have touched, if it matters that nobody has touched a key since.
    pub untouched_since: Option<Touch>,
    pub what: What,
}

/// When a program is told where a paste begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// If it has asked for that.
    IfAsked,
    /// In any case.
    Always,
}

/// What begins and ends a paste.
const BEGIN: &[u8] = b"\x1b[200~";
const END: &[u8] = b"\x1b[201~";

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The text in a file, which nobody else may read, is pasted. What it must not hold is left out
    /// already.
    Paste {
        file: PathBuf,
        ends: Ends,
    },
    Keys(Vec<Key>),
    /// Bytes as a person's terminal sends them. They are not counted among the steps: a person types
    /// more than a pane remembers, and what has no answer is typed again by the person.
    Typed(Vec<u8>),
}

/// A key, by a name that tmux knows: what it does not know it would type letter by letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Enter,
    Escape,
    Tab,
    ShiftTab,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    /// A letter from a to z with the control key.
    Ctrl(char),
    /// A letter or digit of ASCII.
    Letter(char),
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Nothing was done, for this reason before all others.
    NotMet(Unmet),
}

/// What was not as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// The pane is another run's by now, or nobody's.
    OtherRun,
    /// The step was done already.
    AlreadyDone,
    PastDeadline,
    /// The program has ended.
    Dead,
    /// Another process was started in the pane.
    OtherProcess,
    /// A person scrolls in it, or chooses something.
    InMode,
    InputOff,
    /// A person has touched a key.
    Touched,
}

/// What a condition that is not met means, in the order in which they are looked at. The first is that
/// there is such a pane.
const UNMET: [Unmet; 8] = [
    Unmet::OtherRun,
    Unmet::AlreadyDone,
    Unmet::PastDeadline,
    Unmet::Dead,
    Unmet::OtherProcess,
    Unmet::InMode,
    Unmet::InputOff,
    Unmet::Touched,
];

impl Step {
    /// Does the step if its conditions are met. If it is not known whether it was done, it may be tried
    /// again: it is done once at most.
    pub async fn take(&self, control: &Control, within: Duration) -> Result<Outcome, TmuxError> {
        let reply = control.command(&self.command(Clock::of(control))?, within).await?;
        let said = match Clock::of(control) {
            Clock::Server => String::from_utf8_lossy(reply.last()).into_owned(),
            // All but the outcome says nothing.
            Clock::Pane => reply.text(),
        };
        self.read(said.trim()).ok_or_else(|| TmuxError::Garbled(shorten(&said)))?
    }

    /// Returns how the step is called in the pane that it was done in.
    pub fn key(&self) -> String {
        format!("{}.{}", self.run, self.token)
    }

    /// Returns the whole step as tmux does it. To load a text takes tmux a while, in which other things
    /// happen: the conditions come after it, in one go with what they guard.
    fn command(&self, clock: Clock) -> Result<Command, TmuxError> {
        let target = self.pane.to_string();
        let command = self.guarded(clock, &target)?;
        Ok(match clock {
            Clock::Server => command,
            Clock::Pane => {
                let set = || Command::new("set-option").flag("-p").flag("-q").with("-t", &target);
                let wind = set().flag(NOW).word("%s");
                wind.then(command).then(set().flag("-u").flag(NOW))
            }
        })
    }

    fn guarded(&self, clock: Clock, target: &str) -> Result<Command, TmuxError> {
        let key = self.key();
        plain("the token of a step", &self.token, TOKEN_MAX)?;
        let conditions = self.conditions(clock);
        let all = conditions
            .iter()
            .rev()
            .fold("1".to_owned(), |rest, condition| format!("#{{&&:{condition},{rest}}}"));
        let steps = format!("|{key}#{{={STEPS_KEPT}:{STEPS}}}");
        // The bar at the end belongs to the oldest of all.
        let steps = format!("#{{?{STEPS},{steps},|{key}|}}");
        let done = Command::new("set-option")
            .flag("-p")
            .flag("-F")
            .with("-t", target)
            .flag(STEPS)
            .word(&steps)
            .then(Command::new("display-message").with("-p", "cmux-step done"));
        let told = format!("cmux-step {}", conditions.join(" "));
        let refuse = Command::new("display-message").with("-t", target).with("-p", &told);
        let guarded = Command::new("if-shell").flag("-F").with("-t", target).word(&all);
        match &self.what {
            What::Keys(keys) => {
                let mut send = Command::new("send-keys").with("-t", target);
                for key in keys {
                    send = send.word(&key.name()?);
                }
                Ok(guarded.block(send.then(done)).block(refuse))
            }
            What::Typed(bytes) => {
                let send = sent(target, bytes);
                let note = Command::new("set-option").flag("-p").flag("-F").with("-t", target);
                let note = note.flag(TYPED).word(&format!("#{{T:{}}}", clock.option()));
                let done = Command::new("display-message").with("-p", "cmux-step done");
                Ok(guarded.block(send.then(note).then(done)).block(refuse))
            }
            What::Paste { file, ends } => {
                let buffer = format!("cmux-{key}");
                let paste = Command::new("paste-buffer").flag("-r").flag("-d");
                let paste = paste.with("-b", &buffer).with("-t", target);
                let paste = match ends {
                    Ends::IfAsked => paste.flag("-p"),
                    Ends::Always => sent(target, BEGIN).then(paste).then(sent(target, END)),
                };
                // Some versions delete another buffer in the place of one that is not there.
                let discard = Command::new("set-buffer")
                    .with("-b", &buffer)
                    .word("x")
                    .then(Command::new("delete-buffer").with("-b", &buffer));
                let load = Command::new("load-buffer").with("-b", &buffer);
                Ok(load
                    .word(checked(file)?)
                    .then(guarded.block(paste.then(done)).block(discard.then(refuse))))
            }
        }
    }

    /// Returns the conditions as formats that stand for 1 or 0.
    fn conditions(&self, clock: Clock) -> [String; 9] {
        let (key, now) = (self.key(), clock.option());
        let deadline_s = self.deadline.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        [
            // What is displayed has its percent signs taken for parts of a date.
            format!("#{{m:?{},#{{pane_id}}}}", self.pane.0),
            format!("#{{==:#{{@cmux_run}},{}}}", self.run),
            format!("#{{?#{{m:*|{key}|*,#{{{STEPS}}}}},0,1}}"),
            format!("#{{e|<:#{{T:{now}}},{deadline_s}}}"),
            "#{?pane_dead,0,1}".to_owned(),
            format!("#{{==:#{{pane_pid}},{}}}", self.pane_pid),
            "#{?pane_in_mode,0,1}".to_owned(),
            "#{?pane_input_off,0,1}".to_owned(),
            self.untouched_since.map_or_else(|| "1".to_owned(), untouched),
        ]
    }

    /// Reads what tmux said last.
    fn read(&self, said: &str) -> Option<Result<Outcome, TmuxError>> {
        let said = said.strip_prefix("cmux-step ")?;
        if said == "done" {
            return Some(Ok(Outcome::Done));
        }
        let met: Vec<&str> = said.split(' ').collect();
        if met.len() != UNMET.len() + 1 {
            return None;
        }
        // What stands for nothing, as the time where nobody tells it, is not met.
        match met.iter().position(|&it| it != "1")? {
            0 => Some(Err(TmuxError::NoPane(self.pane))),
            index => Some(Ok(Outcome::NotMet(*UNMET.get(index - 1)?))),
        }
    }
}

impl Key {
    fn name(self) -> Result<String, TmuxError> {
        let name = match self {
            Key::Enter => "Enter",
            Key::Escape => "Escape",
            Key::Tab => "Tab",
            Key::ShiftTab => "BTab",
            Key::Backspace => "BSpace",
            Key::Up => "Up",
            Key::Down => "Down",
            Key::Left => "Left",
            Key::Right => "Right",
            Key::Ctrl(letter) if letter.is_ascii_lowercase() => return Ok(format!("C-{letter}")),
            Key::Letter(letter) if letter.is_ascii_alphanumeric() => return Ok(letter.to_string()),
            Key::Ctrl(_) | Key::Letter(_) => {
                return Err(TmuxError::Refused(format!("there is no such key: {self:?}")));
            }
        };
        Ok(name.to_owned())
    }
}

/// Text that should have named a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no key that cmux presses")]
pub struct BadKey(String);

impl FromStr for Key {
    type Err = BadKey;

    /// Returns the key that tmux calls so.
    fn from_str(name: &str) -> Result<Key, BadKey> {
        let one = |text: &str| text.chars().next().filter(|_| text.chars().count() == 1);
        let bad = || BadKey(shorten(name));
        let key = match name {
            "Enter" => Key::Enter,
            "Escape" => Key::Escape,
            "Tab" => Key::Tab,
            "BTab" => Key::ShiftTab,
            "BSpace" => Key::Backspace,
            "Up" => Key::Up,
            "Down" => Key::Down,
            "Left" => Key::Left,
            "Right" => Key::Right,
            name => match name.strip_prefix("C-") {
                Some(letter) => Key::Ctrl(one(letter).ok_or_else(bad)?),
                None => Key::Letter(one(name).ok_or_else(bad)?),
            },
        };
        key.name().map(|_| key).map_err(|_| bad())
    }
}

/// Returns the command that sends bytes as they are.
fn sent(target: &str, bytes: &[u8]) -> Command {
    let send = Command::new("send-keys").with("-t", target).flag("-H");
    bytes.iter().fold(send, |send, byte| send.word(&format!("{byte:02x}")))
}

/// Checks that a file to paste from can be named to tmux, and be read by nobody else.
fn checked(file: &Path) -> Result<&str, TmuxError> {
    let unusable = |source| TmuxError::Unusable { path: file.to_owned(), source };
    // To open a pipe would wait for whoever writes to it.
    if !fs::metadata(file).map_err(unusable)?.is_file() {
        return Err(unusable(io::Error::other("it is not a file")));
    }
    let found = File::open(file).map_err(unusable)?;
    private::check(file, &found).map_err(|error| unusable(io::Error::other(error)))?;
    let path = file.to_str().filter(|_| file.is_absolute());
    path.ok_or_else(|| unusable(io::Error::other("it must be an absolute path in UTF-8")))
}
