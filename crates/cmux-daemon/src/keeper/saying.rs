//! What is said to an agent besides its mail: its first task, and its way out.
//!
//! It is typed as mail is: pasted at a prompt with nothing in it, and submitted if that holds just what was
//! pasted, under the pane's lock, and only if no person has touched a key since it was looked at.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use cmux_core::screen::prompt::{Composer, Whose};
use cmux_core::screen::{Seen as Shown, Sight};
use cmux_drivers::manifest::Paste;
use cmux_drivers::tmux::guard::{Key, What};
use cmux_drivers::{clock, private};
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::desk::Desk;
use super::mail::{Lock, Seen, second};
use super::prepare::UNSAID;
use super::watch::Watch;

/// How long a text may take to be seen at the prompt, and to leave it.
const SHOWN_WITHIN: Duration = Duration::from_secs(3);
const LEFT_WITHIN: Duration = Duration::from_secs(2);

/// How long it is tried in one go, and when again.
const TRIED_FOR: Duration = Duration::from_secs(10);
const TRIED_AGAIN: Duration = Duration::from_secs(1);

/// How often it is looked for meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often it is tried to submit a text that does not leave.
const SUBMITS_MAX: u32 = 4;

/// After what time a text that was pasted and is not there will not be seen any more, in seconds.
const GONE_AFTER_S: u64 = 30;

/// A text that was pasted.
struct Saying<'a> {
    text: &'a str,
    what: &'a str,
    /// The second that it was pasted in, or before which it was not.
    pasted_s: u64,
    presses: u32,
    pressed_at: Option<Instant>,
}

/// What became of what was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It has left the prompt.
    Left,
    /// It has not, or was not even pasted: somebody is there, or it is slow.
    NotYet,
}

/// What was done about a text that was pasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    Left,
    Pressed,
    Nothing,
}

impl Watch {
    /// Says what is to be said first, once the agent is at its prompt.
    pub(super) async fn say_first(&mut self, sight: &Sight, desk: &Desk) {
        let is_there = matches!(sight.seen, Some(Shown::Idle | Shown::Draft { .. }));
        let Some(text) = self.unsaid.clone().filter(|_| is_there) else { return };
        // A CLI takes some first letters for a command of its own, or of a shell.
        let text = if text.starts_with(['/', '!']) { format!(" {text}") } else { text };
        match self.say(&text, "first", desk).await {
            Said::Left => {
                self.unsaid = None;
                let _ = fs::remove_file(self.folder.join(UNSAID));
            }
            // That this is over need not be seen on the screen.
            Said::NotYet => self.look_at = Some(Instant::now() + TRIED_AGAIN),
        }
    }

    /// Pastes a text and submits it, once each in this life.
    pub(super) async fn say(&mut self, text: &str, what: &str, desk: &Desk) -> Said {
        let text = self.as_typed(text);
        let begun = Instant::now();
        let Some(pasted_s) = self.paste(&text, what, desk).await else { return Said::NotYet };
        let mut saying = Saying { text: &text, what, pasted_s, presses: 0, pressed_at: None };
        while begun.elapsed() < TRIED_FOR {
            match self.submit(&saying, desk).await {
                Done::Left => return Said::Left,
                Done::Pressed => {
                    saying.presses += 1;
                    saying.pressed_at = Some(Instant::now());
                }
                Done::Nothing if saying.is_given_up(begun) => break,
                Done::Nothing => {}
            }
            sleep(LOOK_EVERY).await;
        }
        debug!(agent = %self.agent, what, "it was typed, and has not left the prompt");
        Said::NotYet
    }

    /// Returns a text as it is typed.
    fn as_typed(&self, text: &str) -> String {
        // Where each line would be submitted by itself, it is one line.
        let text = match self.kind.manifest.keys.paste {
            Paste::Bracketed | Paste::Wrapped => text.to_owned(),
            Paste::Plain => text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let is_text = |it: &char| !it.is_control() || matches!(it, '\n' | '\t');
        text.chars().filter(is_text).collect()
    }

    /// Pastes a text at a prompt with nothing in it, if that was not done before. Returns the second before
    /// which it was not, once it is.
    async fn paste(&mut self, text: &str, what: &str, desk: &Desk) -> Option<u64> {
        let lock = Lock::take(&desk.home.typing_lock(&self.run.to_string()))?;
        let seen = self.glance(desk).await.ok()?;
        let token = format!("{what}-paste");
        let file = self.folder.join(what);
        if self.has_done(&seen, &token) {
            return Some(written_s(&file));
        }
        let is_free = match seen.sight.composer {
            Composer::Empty => true,
            Composer::Absent => !self.has_prompt(),
            Composer::Holds(_) => false,
        };
        if !is_free || !self.is_at_rest(&seen) {
            return None;
        }
        if let Err(error) = private::write(&file, text.as_bytes()) {
            warn!(%error, agent = %self.agent, "nothing can be said to it");
            return None;
        }
        let at = clock::wall();
        let ends = self.ends();
        if !self.guarded(token, What::Paste { file, ends }, &seen, &lock).await {
            return None;
        }
        drop(lock);
        sleep(Duration::from_millis(self.kind.manifest.keys.submit_after_ms)).await;
        Some(second(at))
    }

    /// Submits what was pasted, if it is at the prompt and nothing else is. What cannot be seen there is
    /// submitted once.
    async fn submit(&mut self, saying: &Saying<'_>, desk: &Desk) -> Done {
        let Some(lock) = Lock::take(&desk.home.typing_lock(&self.run.to_string())) else {
            return Done::Nothing;
        };
        let Ok(seen) = self.glance(desk).await else {
            // A screen that is gone holds nothing.
            return if saying.presses > 0 { Done::Left } else { Done::Nothing };
        };
        let token = |number: u32| format!("{}-submit-{number}", saying.what);
        let number = (0..).find(|it| !self.has_done(&seen, &token(*it))).unwrap_or(u32::MAX);
        let is_touched = seen.is_touched_since(saying.pasted_s);
        let is_ours = match self.kind.manifest.eyes.prompt.whose(&seen.sight.composer, saying.text)
        {
            Whose::Ours => true,
            // It is only as long as ours; it is ours if nobody else can have pasted it.
            Whose::Folded => !is_touched,
            Whose::Unknown => !self.has_prompt() && number == 0,
            Whose::Nobodys | Whose::Repeated | Whose::Somebodys => false,
        };
        if !is_ours {
            let is_empty = match seen.sight.composer {
                Composer::Empty => true,
                Composer::Absent => number > 0,
                Composer::Holds(_) => false,
            };
            // A person has submitted it, or taken it away.
            let is_theirs = is_touched || saying.is_long_ago();
            return match is_empty && (number > 0 || is_theirs) {
                true => Done::Left,
                false => Done::Nothing,
            };
        }
        if !saying.is_due() || number >= SUBMITS_MAX || !self.is_at_rest(&seen) {
            return Done::Nothing;
        }
        let keys = self.kind.manifest.keys.submit.iter().map(|key| key.parse::<Key>());
        match keys.collect() {
            Ok(keys) => {
                let keys = What::Keys(keys);
                match self.guarded(token(number), keys, &seen, &lock).await {
                    true => Done::Pressed,
                    false => Done::Nothing,
                }
            }
            Err(error) => {
                warn!(%error, agent = %self.agent, "its manifest names a key that there is not");
                Done::Nothing
            }
        }
    }

    /// Returns whether a step of this life was done in its pane.
    fn has_done(&self, seen: &Seen, token: &str) -> bool {
        let key = format!("{}.{token}", self.run);
        seen.glance.steps.contains(&key)
    }

    fn has_prompt(&self) -> bool {
        !self.kind.manifest.eyes.prompt.frames.is_empty()
    }
}

/// Returns the second in which a file was written that is pasted from, since 1970.
fn written_s(file: &Path) -> u64 {
    let at = fs::metadata(file).and_then(|about| about.modified()).ok();
    at.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |it| it.as_secs())
}

impl Saying<'_> {
    /// Returns whether it is time to submit it, again if it was before.
    fn is_due(&self) -> bool {
        self.pressed_at.is_none_or(|at| at.elapsed() >= LEFT_WITHIN)
    }

    fn is_given_up(&self, begun: Instant) -> bool {
        match self.presses {
            0 => begun.elapsed() >= SHOWN_WITHIN,
            presses => presses >= SUBMITS_MAX && self.is_due(),
        }
    }

    fn is_long_ago(&self) -> bool {
        second(clock::wall()).saturating_sub(self.pasted_s) >= GONE_AFTER_S
    }
}
