//! What mail waits for, and that the kernel knows.

use std::time::Duration;

use cmux_core::mail::Waiting;
use cmux_core::report::Report;
use tokio::time::Instant;

use super::super::desk::Desk;
use super::super::watch::Watch;

/// How long to wait for what is in the way to be gone: not long at first, then longer.
const WAIT_FIRST: Duration = Duration::from_millis(50);
pub(super) const WAIT_MAX: Duration = Duration::from_secs(1);

/// When the kernel is told again what it was told: that may have been turned away, or undone.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// What the kernel was last told that mail waits for, and when.
#[derive(Debug, Default)]
pub(super) struct Held {
    told: Option<(Option<Waiting>, Instant)>,
}

impl Held {
    /// Returns whether the kernel is to be told at `now` that mail waits for this.
    fn is_to_be_told(&self, held: Option<Waiting>, now: Instant) -> bool {
        self.told.is_none_or(|(told, at)| told != held || now.duration_since(at) >= TELL_AGAIN)
    }
}

impl Watch {
    /// Waits for something to be out of the way.
    pub(super) fn wait(&mut self, waiting: Waiting, desk: &Desk) {
        self.hold(Some(waiting), desk);
        let pause = WAIT_FIRST.saturating_mul(1 << self.mail.waits.min(5)).min(WAIT_MAX);
        self.mail.waits += 1;
        self.mail.soon(pause.max(self.look_apart()));
    }

    /// Tells the kernel what mail waits for, if that is news to it.
    pub(super) fn hold(&mut self, held: Option<Waiting>, desk: &Desk) {
        if held.is_none() {
            self.mail.waits = 0;
        }
        let now = Instant::now();
        if self.mail.held.is_to_be_told(held, now) {
            let (agent, run) = (self.agent, self.run);
            let is_taken = desk.inbox.tell(Report::MailHeld { agent, run, held });
            self.mail.held.told = is_taken.then_some((held, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_may_not_have_heard_is_told_again() {
        let now = Instant::now();
        let told = Held { told: Some((Some(Waiting::Draft), now)) };
        for (held, waiting, after, expected) in [
            (&Held::default(), None, Duration::ZERO, true),
            (&told, Some(Waiting::Draft), Duration::ZERO, false),
            (&told, Some(Waiting::Draft), TELL_AGAIN, true),
            (&told, Some(Waiting::Person), Duration::ZERO, true),
            (&told, None, Duration::ZERO, true),
        ] {
            assert_eq!(held.is_to_be_told(waiting, now + after), expected, "{waiting:?} {after:?}");
        }
    }
}
