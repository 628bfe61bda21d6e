//! What is left at an agent's prompt of what cmux typed, and who left it there.

use cmux_core::delivery::{Delivery, DeliveryState};
use cmux_core::id::DeliveryId;
use cmux_core::screen::prompt::Composer;
use cmux_store::deliveries;
use tracing::debug;

use super::super::desk::Desk;
use super::super::watch::Watch;
use super::sight::Seen;

/// The delivery that was typed last, as its pane tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Last {
    id: DeliveryId,
    /// Whether cmux interrupted the agent since.
    was_interrupted: bool,
}

impl Watch {
    /// Remembers the delivery that was typed last if a copy of it may be at the prompt, whether or not a daemon
    /// before this one typed it.
    pub(super) async fn recall_left(&mut self, seen: &Seen, desk: &Desk) {
        if !matches!(seen.sight.composer, Composer::Holds(_)) {
            return;
        }
        let Some(last) = last_typed(&seen.glance.steps, &self.run.to_string()) else { return };
        let is_known = self.mail.before.iter().any(|it| it.id == last.id);
        if is_known || self.mail.recalled == Some(last) {
            return;
        }
        match desk.readers.read(move |view| deliveries::find(view, last.id)).await {
            Ok(found) => {
                self.mail.recalled = Some(last);
                if let Some(delivery) = found.filter(|it| is_left(it, last.was_interrupted)) {
                    self.mail.remember(delivery);
                }
            }
            Err(error) => debug!(%error, agent = %self.agent, "its last delivery was not found"),
        }
    }
}

/// Returns whether a copy of a delivery may be left: of one that was not read, or was typed more than once. One
/// that was read comes back if its agent is interrupted before it begins to answer; then it is cmux's to take
/// away if cmux did that, and else the person's.
fn is_left(delivery: &Delivery, was_interrupted: bool) -> bool {
    match delivery.state {
        DeliveryState::Used => delivery.attempt > 1 || was_interrupted,
        DeliveryState::Unused => true,
        DeliveryState::Typing
        | DeliveryState::Submitted
        | DeliveryState::Claimed
        | DeliveryState::InDoubt => false,
    }
}

/// Returns the delivery that was typed last to the life `run`. What was done last comes first in `steps`.
fn last_typed(steps: &[String], run: &str) -> Option<Last> {
    let mut was_interrupted = false;
    steps.iter().filter_map(|step| step.strip_prefix(run)?.strip_prefix('.')).find_map(|step| {
        was_interrupted |= step.starts_with("interrupt-");
        let id = step.split('-').next()?.parse().ok()?;
        Some(Last { id, was_interrupted })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "dlv_00000000000000000000000001";

    #[test]
    fn the_pane_tells_what_was_typed_last_and_whether_it_was_interrupted() {
        let pasted = format!("r.{ONE}-1-paste");
        let pressed = format!("r.{ONE}-1-enter-1");
        for (steps, expected) in [
            (vec!["r.interrupt-msg_1-0", &pressed, &pasted], Some(true)),
            (vec!["r.interrupt-7-1", "r.interrupt-7-0", &pressed], Some(true)),
            (vec!["r.key-1-1", "r.interrupt-7-0", "r.key-1-0", &pressed], Some(true)),
            (vec![&pressed, "r.interrupt-7-0", &pasted], Some(false)),
            (vec!["s.interrupt-7-0", &pressed], Some(false)),
            (vec![&pressed, &pasted], Some(false)),
            (vec!["r.interrupt-7-0"], None),
            (vec![], None),
        ] {
            let steps: Vec<String> = steps.into_iter().map(ToOwned::to_owned).collect();
            let id = ONE.parse().unwrap();
            let expected = expected.map(|was_interrupted| Last { id, was_interrupted });
            assert_eq!(last_typed(&steps, "r"), expected, "{steps:?}");
        }
    }
}
