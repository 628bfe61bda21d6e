//! Clears away what let people in and is over, and what was remembered of webhooks, hooks, mail and
//! turns, a little at a time.

use std::time::Duration;

use crate::hook::HOOK_KEEP;
use crate::message::MESSAGE_KEEP;
use crate::plan::{Plan, Record};
use crate::run::RUN_TOKEN_KEEP;
use crate::session::SESSION_KEEP;
use crate::time::Timestamp;
use crate::usage::USAGE_KEEP;
use crate::webhook::REPLAY_WINDOW;

/// How many rows of a kind are cleared away in one turn.
pub const CLEAR_MAX: u32 = 1_000;

/// How long what is over is left, so that much of it goes at once.
const LAG: Duration = Duration::from_mins(10);

/// What the plan depends on: of each kind, the time of the one whose turn comes first.
#[derive(Clone, Copy, Debug, Default)]
pub struct World {
    /// When a link expires.
    pub link: Option<Timestamp>,
    /// When a session ended or will.
    pub session: Option<Timestamp>,
    /// When a delivery was taken.
    pub webhook: Option<Timestamp>,
    /// When a hook was heard.
    pub hook: Option<Timestamp>,
    /// When a run ended.
    pub run: Option<Timestamp>,
    /// When a message, or its delivery, came to its end.
    pub message: Option<Timestamp>,
    /// When a turn began, or it was read what an answer took.
    pub turn: Option<Timestamp>,
}

/// Returns what is due at `now`.
pub fn plan(world: World, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let mut clear = |oldest, keep, record: fn(Timestamp) -> Record| {
        plan.clear(oldest, keep, LAG, now, record);
    };
    clear(world.link, Duration::ZERO, |before| Record::LinksCleared { before });
    clear(world.session, SESSION_KEEP, |before| Record::SessionsCleared { before });
    clear(world.webhook, REPLAY_WINDOW, |before| Record::WebhooksCleared { before });
    clear(world.hook, HOOK_KEEP, |before| Record::HooksCleared { before });
    clear(world.run, RUN_TOKEN_KEEP, |before| Record::RunTokensCleared { before });
    clear(world.message, MESSAGE_KEEP, |before| Record::MessagesCleared { before });
    clear(world.turn, USAGE_KEEP, |before| Record::TurnsCleared { before });
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;
    const LAG_MS: i64 = 600_000;
    const NOW: Timestamp = Timestamp(100 * DAY);

    #[test]
    fn nothing_is_cleared_away_before_its_time() {
        let nothing = World::default();
        check(nothing, None, None);
        for (world, due) in [
            (World { link: Some(NOW), ..nothing }, NOW.0 + LAG_MS),
            (World { session: Some(Timestamp(99 * DAY)), ..nothing }, 129 * DAY + LAG_MS),
            (World { webhook: Some(Timestamp(99 * DAY)), ..nothing }, 106 * DAY + LAG_MS),
            (World { run: Some(Timestamp(70 * DAY)), ..nothing }, NOW.0 + LAG_MS),
            (World { hook: Some(Timestamp(71 * DAY)), ..nothing }, 101 * DAY + LAG_MS),
            (World { message: Some(Timestamp(11 * DAY)), ..nothing }, 101 * DAY + LAG_MS),
            (World { turn: Some(Timestamp(11 * DAY)), ..nothing }, 101 * DAY + LAG_MS),
            // The one that comes first is woken for.
            (World { link: Some(NOW), webhook: Some(NOW), ..nothing }, NOW.0 + LAG_MS),
        ] {
            check(world, None, Some(Timestamp(due)));
        }
    }

    #[test]
    fn what_has_had_its_time_goes_and_the_rest_is_looked_for_at_once() {
        let nothing = World::default();
        for (world, record) in [
            (
                World { link: Some(Timestamp(NOW.0 - LAG_MS)), ..nothing },
                Record::LinksCleared { before: NOW },
            ),
            (
                World { session: Some(Timestamp(69 * DAY)), ..nothing },
                Record::SessionsCleared { before: Timestamp(70 * DAY) },
            ),
            (
                World { webhook: Some(Timestamp(0)), ..nothing },
                Record::WebhooksCleared { before: Timestamp(93 * DAY) },
            ),
            (
                World { hook: Some(Timestamp(0)), ..nothing },
                Record::HooksCleared { before: Timestamp(70 * DAY) },
            ),
            (
                World { run: Some(Timestamp(1)), ..nothing },
                Record::RunTokensCleared { before: Timestamp(70 * DAY) },
            ),
            (
                World { message: Some(Timestamp(9 * DAY)), ..nothing },
                Record::MessagesCleared { before: Timestamp(10 * DAY) },
            ),
        ] {
            check(world, Some(record), Some(NOW));
        }
    }

    /// Checks what is cleared away at `NOW`, and when to look again.
    #[track_caller]
    fn check(world: World, record: Option<Record>, wake_at: Option<Timestamp>) {
        let plan = plan(world, NOW);
        let records: Vec<Record> = plan.steps.into_iter().filter_map(|step| step.record).collect();
        assert_eq!(records, Vec::from_iter(record), "{world:?}");
        assert_eq!(plan.wake_at, wake_at, "{world:?}");
    }
}
