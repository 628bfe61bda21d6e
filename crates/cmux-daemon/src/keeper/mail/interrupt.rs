//! Interrupting an agent for a message that cannot wait.
//!
//! The same key would answer a question, or take away what a person has begun to write. So it is pressed as mail
//! is typed: under the pane's lock, after a look under it, and only if nobody has touched a key since.

use std::time::Duration;

use cmux_core::agent::Doing;
use cmux_drivers::tmux::guard::{Key, What};
use cmux_drivers::typing_lock::is_dialog_near;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::super::desk::Desk;
use super::super::typing::{KEYS_APART, LOOK_AFTER_KEY};
use super::super::watch::Watch;
use super::lock::{BUSY, Lock};

/// For how long it is tried to find a moment in which nothing is about to be asked.
const TRIED_FOR: Duration = Duration::from_secs(3);

/// What a try came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    Pressed,
    /// It could not be told, or something else may come of it, which passes.
    NotNow,
    /// There is nothing to interrupt, or somebody else is at it.
    NotWanted,
}

impl Watch {
    /// Interrupts what it does for a message, if it still does something. If it cannot be done, it is planned
    /// again.
    pub(in super::super) async fn interrupt_for_mail(&mut self, step: &str, desk: &Desk) {
        let begun = Instant::now();
        loop {
            let tried = self.try_to_interrupt(step, desk).await;
            debug!(?tried, step, agent = %self.agent, "it is interrupted for its mail");
            let is_over = match tried {
                Tried::Pressed | Tried::NotWanted => true,
                Tried::NotNow => begun.elapsed() >= TRIED_FOR,
            };
            if is_over {
                break;
            }
            sleep(BUSY).await;
        }
        self.look_at = Some(Instant::now() + LOOK_AFTER_KEY);
    }

    async fn try_to_interrupt(&mut self, step: &str, desk: &Desk) -> Tried {
        let path = desk.home.typing_lock(&self.run.to_string());
        let Some(lock) = Lock::take(&path) else { return Tried::NotNow };
        if is_dialog_near(&path) {
            return Tried::NotNow;
        }
        let Ok(seen) = self.glance(desk).await else { return Tried::NotNow };
        if !self.is_alone(&seen, &Doing::Working) {
            return Tried::NotWanted;
        }
        let keys = self.kind.manifest.keys.interrupt.clone();
        for (number, key) in keys.iter().enumerate() {
            let key: Key = match key.parse() {
                Ok(key) => key,
                Err(error) => {
                    warn!(%error, agent = %self.agent, "its manifest names a key that there is not");
                    return Tried::NotWanted;
                }
            };
            // Two in one breath would be another key: Escape, and anything after it.
            if number > 0 {
                sleep(KEYS_APART).await;
            }
            let what = What::Keys(vec![key]);
            if !self.guarded(format!("{step}-{number}"), what, &seen, &lock).await {
                return Tried::NotNow;
            }
        }
        Tried::Pressed
    }
}
