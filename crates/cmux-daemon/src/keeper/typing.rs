//! Keys that are pressed at an agent. Each is a guarded step.

use std::slice;
use std::time::{Duration, SystemTime};

use cmux_drivers::clock;
use cmux_drivers::tmux::guard::{self, Key, Outcome};
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::house::ANSWER_WITHIN;
use super::watch::Watch;

/// How long after a key its effect is looked for.
pub(super) const LOOK_AFTER_KEY: Duration = Duration::from_millis(400);

/// How long apart keys are that mean something each.
pub(super) const KEYS_APART: Duration = Duration::from_millis(150);

/// How long a key may wait in a server that stands still.
const KEY_WITHIN: Duration = Duration::from_secs(3);

impl Watch {
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
