//! What is left at an agent's prompt of what cmux typed, and who left it there.

use cmux_core::id::DeliveryId;
use cmux_core::screen::prompt::Composer;
use cmux_store::deliveries;
use tracing::debug;

use super::super::desk::Desk;
use super::super::watch::Watch;
use super::sight::Seen;

impl Watch {
    /// Remembers the last delivery if cmux itself interrupted the agent in it: a CLI gives back what it was
    /// asked and has not begun to answer. What a person takes back is theirs.
    pub(super) async fn recall_interrupted(&mut self, seen: &Seen, desk: &Desk) {
        if !matches!(seen.sight.composer, Composer::Holds(_)) {
            return;
        }
        let Some(id) = interrupted(&seen.glance.steps, &self.run.to_string()) else { return };
        if self.mail.before.iter().any(|it| it.id == id) {
            return;
        }
        match desk.readers.read(move |view| deliveries::find(view, id)).await {
            Ok(Some(delivery)) if delivery.state.is_settled() => self.mail.remember(delivery),
            Ok(_) => {}
            Err(error) => debug!(%error, agent = %self.agent, "its last delivery was not found"),
        }
    }
}

/// Returns the delivery that was typed last before cmux interrupted the life `run`, if nothing was typed
/// since. What was done last comes first in `steps`.
fn interrupted(steps: &[String], run: &str) -> Option<DeliveryId> {
    let of_run = |step: &String| step.strip_prefix(run)?.strip_prefix('.').map(ToOwned::to_owned);
    let mut steps = steps.iter().filter_map(of_run);
    let delivery = |step: &str| step.split('-').next()?.parse::<DeliveryId>().ok();
    let mut was_interrupted = false;
    steps.find_map(|step| {
        was_interrupted |= step.starts_with("interrupt-");
        delivery(&step).map(|id| was_interrupted.then_some(id))
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "dlv_00000000000000000000000001";

    #[test]
    fn what_was_typed_last_before_an_interrupt_is_what_comes_back() {
        let pasted = format!("r.{ONE}-1-paste");
        let pressed = format!("r.{ONE}-1-enter-1");
        for (steps, expected) in [
            (vec!["r.interrupt-msg_1-0", &pressed, &pasted], true),
            (vec!["r.interrupt-7-1", "r.interrupt-7-0", &pressed], true),
            (vec!["r.key-1-1", "r.interrupt-7-0", "r.key-1-0", &pressed], true),
            (vec![&pressed, "r.interrupt-7-0", &pasted], false),
            (vec!["s.interrupt-7-0", &pressed], false),
            (vec![&pressed, &pasted], false),
            (vec!["r.interrupt-7-0"], false),
            (vec![], false),
        ] {
            let steps: Vec<String> = steps.into_iter().map(ToOwned::to_owned).collect();
            let found = interrupted(&steps, "r");
            assert_eq!(found, expected.then(|| ONE.parse().unwrap()), "{steps:?}");
        }
    }
}
