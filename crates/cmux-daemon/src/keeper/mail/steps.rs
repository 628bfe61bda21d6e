//! The steps of a delivery: what is done in its agent's pane, and with its ticket.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use cmux_core::delivery::{Confirm, Delivery, Look, Step, letters_of, print_of};
use cmux_core::id::DeliveryId;
use cmux_drivers::claims::{Claims, TicketText};
use cmux_drivers::manifest::Paste;
use cmux_drivers::process::children;
use cmux_drivers::tmux::guard::{self, Key, Outcome, Unmet};
use cmux_drivers::{clock, failpoint, private};
use tokio::task::spawn_blocking;
use tracing::{debug, warn};

use super::super::desk::Desk;
use super::super::house::ANSWER_WITHIN;
use super::super::watch::Watch;
use super::lock::Lock;
use super::sight::Seen;
use super::{RETRY_AFTER, UnderWay};

/// How soon to look after a step, and how soon if it was not done.
const SOON: Duration = Duration::from_millis(2);
const NOT_DONE: Duration = Duration::from_millis(20);

impl Watch {
    /// Takes a step after which it is looked anew.
    pub(super) async fn take_step(
        &mut self,
        mut way: UnderWay,
        step: Step,
        look: &Look,
        seen: &Seen,
        desk: &Desk,
    ) -> UnderWay {
        let (id, attempt) = (way.delivery.id, way.delivery.attempt);
        let token = |what: &str| format!("{id}-{attempt}-{what}");
        let is_typed = matches!(step, Step::Paste | Step::Press(_) | Step::Empty(_));
        let Some(lock) = way.lock.as_ref().filter(|_| is_typed) else {
            return self.take_other(way, step, look, desk).await;
        };
        match step {
            Step::Paste => {
                failpoint::hit("mail.paste");
                self.hold(None, desk);
                let pasted = match self.write(&way.delivery) {
                    Ok(file) => {
                        let what = guard::What::Paste { file, ends: self.ends() };
                        self.guarded(token("paste"), what, seen, lock).await
                    }
                    Err(error) => {
                        warn!(%error, agent = %self.agent, "nothing can be typed to it");
                        false
                    }
                };
                failpoint::hit("mail.pasted");
                if pasted {
                    way.pasted_at = Some(clock::wall());
                    way.was_pasted = true;
                }
                self.mail.soon(if pasted { SOON } else { NOT_DONE });
            }
            Step::Press(number) => {
                failpoint::hit("mail.press");
                self.hold(None, desk);
                let keys = self.kind.manifest.keys.submit.clone();
                self.type_keys(&keys, token(&format!("enter-{number}")), seen, lock).await;
                failpoint::hit("mail.pressed");
            }
            Step::Empty(number) => {
                failpoint::hit("mail.empty");
                let keys = self.kind.manifest.keys.empty.clone();
                self.type_keys(&keys, token(&format!("empty-{number}")), seen, lock).await;
                failpoint::hit("mail.emptied");
            }
            Step::Void
            | Step::GiveBack
            | Step::Pause(_)
            | Step::Wait(_)
            | Step::Lay
            | Step::Tell(_)
            | Step::Done(_) => {}
        }
        way
    }

    /// Takes a step that types nothing. One that would waits for the pane's lock, and for a look under it.
    async fn take_other(
        &mut self,
        way: UnderWay,
        step: Step,
        look: &Look,
        desk: &Desk,
    ) -> UnderWay {
        let id = way.delivery.id;
        match step {
            Step::Void => self.change_ticket(desk, id, Claims::void).await,
            Step::GiveBack => self.change_ticket(desk, id, Claims::give_back).await,
            Step::Pause(pause) => self.mail.soon(pause.max(self.look_apart())),
            Step::Wait(waiting) => {
                debug!(?waiting, ?look, agent = %self.agent, "what is typed to it waits");
                self.wait(waiting, desk);
                return way.unlocked();
            }
            Step::Paste | Step::Press(_) | Step::Empty(_) => {
                self.mail.soon(Duration::ZERO);
                return UnderWay { wants_lock: true, ..way };
            }
            Step::Lay | Step::Tell(_) | Step::Done(_) => {}
        }
        way
    }

    pub(super) async fn type_keys(
        &mut self,
        keys: &[String],
        token: String,
        seen: &Seen,
        lock: &Lock,
    ) {
        let keys: Result<Vec<Key>, _> = keys.iter().map(|key| key.parse()).collect();
        let is_done = match keys {
            Ok(keys) => self.guarded(token, guard::What::Keys(keys), seen, lock).await,
            Err(error) => {
                warn!(%error, agent = %self.agent, "its manifest names a key that there is not");
                false
            }
        };
        self.mail.soon(if is_done { SOON } else { NOT_DONE });
    }

    /// Takes a guarded step, if nobody has touched a key since the last look.
    pub(in super::super) async fn guarded(
        &self,
        token: String,
        what: guard::What,
        seen: &Seen,
        lock: &Lock,
    ) -> bool {
        let step = guard::Step {
            pane: self.pane,
            pane_pid: self.pane_pid,
            run: self.run,
            token,
            deadline: lock.until(),
            untouched_since: Some(seen.glance.touch),
            what,
        };
        let taken = match self.house.control().await {
            Ok(control) => step.take(&control, ANSWER_WITHIN).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(Outcome::Done | Outcome::NotMet(Unmet::AlreadyDone)) => true,
            Ok(Outcome::NotMet(unmet)) => {
                debug!(?unmet, agent = %self.agent, "nothing was typed");
                false
            }
            Err(error) => {
                debug!(%error, agent = %self.agent, "it is not known whether it was typed");
                false
            }
        }
    }

    /// Writes what is pasted where tmux reads it.
    fn write(&self, delivery: &Delivery) -> Result<PathBuf, String> {
        let file = self.folder.join("delivery");
        // Where each line would be submitted by itself, it is one line.
        let text = match self.kind.manifest.keys.paste {
            Paste::Bracketed | Paste::Wrapped => delivery.text.clone(),
            Paste::Plain => delivery.text.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        private::write(&file, text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(file)
    }

    /// Returns when the CLI is told where a paste ends.
    pub(in super::super) fn ends(&self) -> guard::Ends {
        match self.kind.manifest.keys.paste {
            Paste::Wrapped => guard::Ends::Always,
            Paste::Bracketed | Paste::Plain => guard::Ends::IfAsked,
        }
    }

    /// Returns the ticket that the agent's hook takes.
    pub(super) fn ticket_of(&self, delivery: &Delivery) -> TicketText {
        let cli = children(self.process.pid).first().copied().filter(|_| !self.is_adopted);
        TicketText {
            delivery: delivery.id,
            run: self.run,
            process: cli.unwrap_or(self.process),
            print: print_of(&delivery.text),
            letters: letters_of(&delivery.text),
            blocks: self.pace().confirm == Confirm::Hook,
            channel: self.channel,
            unconfirmed: self.unconfirmed,
            messages: delivery.messages.clone(),
        }
    }

    pub(super) async fn change_ticket(
        &mut self,
        desk: &Desk,
        id: DeliveryId,
        change: fn(&Claims, DeliveryId) -> io::Result<bool>,
    ) {
        let claims = desk.claims.clone();
        failpoint::hit("mail.change");
        let changed = spawn_blocking(move || change(&claims, id)).await;
        failpoint::hit("mail.changed");
        match changed.map_err(io::Error::other).and_then(|it| it) {
            Ok(_) => self.mail.soon(Duration::ZERO),
            Err(error) => {
                warn!(%error, agent = %self.agent, "its ticket could not be changed");
                self.mail.soon(RETRY_AFTER);
            }
        }
    }
}

/// Lays a ticket.
pub(super) async fn lay(ticket: TicketText, desk: &Desk) -> io::Result<()> {
    let claims = desk.claims.clone();
    failpoint::hit("mail.lay");
    let laid = spawn_blocking(move || claims.lay(&ticket)).await;
    failpoint::hit("mail.laid");
    laid.map_err(io::Error::other)?
}
