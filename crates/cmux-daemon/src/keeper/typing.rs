//! What is typed at an agent: its first task, its way out, a key. Each is a guarded step.

use std::slice;
use std::time::{Duration, SystemTime};

use cmux_core::screen::prompt::Composer;
use cmux_core::screen::{Seen, Sight};
use cmux_drivers::manifest::Paste;
use cmux_drivers::tmux::guard::{self, Key, Outcome};
use cmux_drivers::{clock, private};
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::desk::Desk;
use super::house::ANSWER_WITHIN;
use super::prepare::UNSAID;
use super::watch::Watch;

/// How long after a key its effect is looked for.
const LOOK_AFTER_KEY: Duration = Duration::from_millis(400);

/// How long apart keys are that mean something each.
const KEYS_APART: Duration = Duration::from_millis(150);

/// How long a key may wait in a server that stands still.
const KEY_WITHIN: Duration = Duration::from_secs(3);

/// How long a text may take to be seen at the prompt, and to leave it.
const SHOWN_WITHIN: Duration = Duration::from_secs(3);
const LEFT_WITHIN: Duration = Duration::from_secs(2);

/// How often it is looked for meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often it is tried to submit a text that does not leave.
const SUBMITS_MAX: u32 = 4;

impl Watch {
    /// Says what is to be said first, once the agent is at its prompt with nothing in it.
    pub(super) async fn say_first(&mut self, sight: &Sight) {
        let is_free =
            sight.seen == Some(Seen::Idle) && !matches!(sight.composer, Composer::Holds(_));
        let Some(text) = self.unsaid.clone().filter(|_| is_free) else { return };
        // A CLI takes some first letters for a command of its own, or of a shell.
        let text = if text.starts_with(['/', '!']) { format!(" {text}") } else { text };
        if self.say(&text, "first").await {
            self.unsaid = None;
            let _ = std::fs::remove_file(self.folder.join(UNSAID));
        }
    }

    /// Pastes a text and submits it, once each in this life. Returns whether it has left the prompt.
    pub(super) async fn say(&mut self, text: &str, what: &str) -> bool {
        let file = self.folder.join(what);
        // Where each line would be submitted by itself, it is one line.
        let text = match self.kind.manifest.keys.paste {
            Paste::Bracketed => text.to_owned(),
            Paste::Plain => text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let is_text = |it: &char| !it.is_control() || matches!(it, '\n' | '\t');
        let text: String = text.chars().filter(is_text).collect();
        if let Err(error) = private::write(&file, text.as_bytes()) {
            warn!(%error, agent = %self.agent, "nothing can be said to it");
            return false;
        }
        if !self.take(format!("{what}-paste"), guard::What::Paste { file }).await {
            return false;
        }
        let is_shown = self.holds_text(true, SHOWN_WITHIN).await;
        self.submit(what, is_shown).await
    }

    /// Submits what is at the prompt, and again if it does not leave. What cannot be seen there is
    /// submitted once.
    async fn submit(&mut self, what: &str, is_shown: bool) -> bool {
        let keys = &self.kind.manifest.keys;
        let (submit, pause) = (keys.submit.clone(), keys.submit_after_ms);
        sleep(Duration::from_millis(pause)).await;
        for attempt in 0..SUBMITS_MAX {
            if !self.press(&submit, Some(format!("{what}-submit-{attempt}"))).await {
                return false;
            }
            if !is_shown || self.holds_text(false, LEFT_WITHIN).await {
                return true;
            }
        }
        warn!(agent = %self.agent, what, "it was typed, and does not leave the prompt");
        false
    }

    /// Waits until there is text at the prompt, or none any more. Returns whether that came to be. A screen
    /// that is gone holds none.
    async fn holds_text(&self, wanted: bool, within: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < within {
            let holds = match self.screen().await {
                Ok(screen) => {
                    let sight = self.kind.manifest.eyes.look(&screen, self.now(), 0);
                    matches!(sight.composer, Composer::Holds(_))
                }
                Err(_) => false,
            };
            if holds == wanted {
                return true;
            }
            sleep(LOOK_EVERY).await;
        }
        false
    }

    /// Interrupts what it does for a message, if it still does something: the same key would answer a
    /// question, or take away what a person has begun to write.
    pub(super) async fn interrupt_for_mail(&mut self, step: String, desk: &Desk) {
        if self.is_seen_working(desk).await {
            self.interrupt(step).await;
        }
    }

    /// Interrupts what it does, at most once for each `step`.
    pub(super) async fn interrupt(&mut self, step: String) {
        let keys = self.kind.manifest.keys.interrupt.clone();
        for (number, key) in keys.iter().enumerate() {
            // Two in one breath would be another key: Escape, and anything after it.
            if number > 0 {
                sleep(KEYS_APART).await;
            }
            self.press(slice::from_ref(key), Some(format!("{step}-{number}"))).await;
        }
        self.look_at = Some(Instant::now() + LOOK_AFTER_KEY);
    }

    /// Presses keys, if the pane is still this life's. Returns whether they were pressed.
    pub(super) async fn press(&mut self, keys: &[String], token: Option<String>) -> bool {
        self.keys_pressed += 1;
        let number = self.keys_pressed;
        let token = token.unwrap_or_else(|| format!("key-{}-{number}", clock::wall().0));
        let keys: Result<Vec<Key>, _> = keys.iter().map(|key| key.parse()).collect();
        let what = match keys {
            Ok(keys) => guard::What::Keys(keys),
            Err(error) => {
                warn!(%error, agent = %self.agent, "its manifest names a key that there is not");
                return false;
            }
        };
        self.take(token, what).await
    }

    /// Takes a guarded step. Returns whether it is done.
    async fn take(&self, token: String, what: guard::What) -> bool {
        let deadline = SystemTime::now() + KEY_WITHIN;
        let (pane, pane_pid, run) = (self.pane, self.pane_pid, self.run);
        let untouched_since = None;
        let step = guard::Step { pane, pane_pid, run, token, deadline, untouched_since, what };
        let taken = match self.house.control().await {
            Ok(control) => step.take(&control, ANSWER_WITHIN).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(Outcome::Done | Outcome::NotMet(guard::Unmet::AlreadyDone)) => true,
            Ok(Outcome::NotMet(unmet)) => {
                debug!(?unmet, agent = %self.agent, "nothing was typed");
                false
            }
            Err(error) => {
                warn!(%error, agent = %self.agent, "it is not known whether it was typed");
                false
            }
        }
    }
}
