//! How cmux does: a sample every few seconds, kept in memory for an hour, and told to who follows.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::extract::ws::Utf8Bytes;
use cmux_drivers::memory::{self, Memory};
use cmux_drivers::{clock, disk};
use cmux_store::{StoreError, View, agents, events, messages};
use cmux_wire::event::Notice;
use cmux_wire::health::Health;
use cmux_wire::vitals::{Vital, Vitals};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::http::status::store_bytes;
use crate::http::{App, health};
use crate::tally::Counted;

/// How often a sample is taken, and how many are kept.
const EVERY: Duration = Duration::from_secs(5);
const KEPT: usize = 720;

/// How long the store and the disk may take to tell their numbers. Without them, the last ones are told again.
const WITHIN: Duration = Duration::from_secs(2);

/// The samples of the last hour.
#[derive(Debug)]
pub(crate) struct Pulse {
    kept: watch::Sender<Kept>,
}

#[derive(Debug, Default)]
pub(crate) struct Kept {
    samples: VecDeque<Vital>,
    /// The newest, as it is told to who follows.
    pub(crate) told: Utf8Bytes,
}

/// What is known of the store and the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    agents: u64,
    waiting: u64,
    oldest_ms: Option<i64>,
    head: i64,
    store_bytes: u64,
    free_bytes: u64,
    memory: Memory,
}

impl Pulse {
    pub(crate) fn none() -> Pulse {
        Pulse { kept: watch::Sender::new(Kept::default()) }
    }

    /// Returns what is told of each sample from now on.
    pub(crate) fn follow(&self) -> watch::Receiver<Kept> {
        self.kept.subscribe()
    }

    fn samples(&self) -> Vec<Vital> {
        self.kept.borrow().samples.iter().cloned().collect()
    }

    fn keep(&self, sample: Vital, health: Health) {
        let word = Notice::Vitals { sample: Box::new(sample.clone()), health: Box::new(health) };
        // Words and numbers can always be written down.
        let told = serde_json::to_string(&word).unwrap_or_default().into();
        self.kept.send_modify(|kept| {
            if kept.samples.len() == KEPT {
                kept.samples.pop_front();
            }
            kept.samples.push_back(sample);
            kept.told = told;
        });
    }
}

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Caller(principal): Caller,
) -> Result<Json<Vitals>, Oops> {
    principal.may_watch().map_err(|_| not_for_agents())?;
    let health = health::assess(&app, true).await;
    let every_ms = u64::try_from(EVERY.as_millis()).unwrap_or(u64::MAX);
    Ok(Json(Vitals { every_ms, samples: app.pulse.samples(), health }))
}

pub(crate) fn not_for_agents() -> Oops {
    let detail = "how cmux does is for the person, and for who may read everything";
    Oops::new(axum::http::StatusCode::FORBIDDEN, "not-allowed", detail)
}

/// Takes a sample every few seconds for as long as there is an `app`.
pub(crate) async fn sample(app: Weak<App>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut seen, mut counted) = (Seen::default(), None);
    loop {
        ticks.tick().await;
        let Some(app) = app.upgrade() else { return };
        let (last, before) = (seen, counted);
        seen = look(&app, last).await;
        let now = app.awake().map(|awake| awake.tally.counted()).unwrap_or_default();
        // What came before the first sample was not since another.
        if let Some(before) = before {
            // To have the disk written to only to see whether it can be is for those who look.
            let health = health::assess(&app, app.pulse.kept.receiver_count() > 0).await;
            let events = seen.head.saturating_sub(last.head);
            let vital = vital(&health, &seen, &before, &now, u64::try_from(events).unwrap_or(0));
            app.pulse.keep(vital, health);
        }
        counted = Some(now);
    }
}

fn vital(health: &Health, seen: &Seen, before: &Counted, now: &Counted, events: u64) -> Vital {
    let mut took = now.lately.clone();
    took.sort_unstable();
    let waited = |since: i64| u64::try_from(clock::wall().0 - since).unwrap_or(0);
    Vital {
        at: health.timestamp,
        status: health.status,
        agents: seen.agents,
        waiting: seen.waiting,
        oldest_waiting_ms: seen.oldest_ms.map(waited),
        delivered: now.delivered.saturating_sub(before.delivered),
        took_p50_ms: share(&took, 50),
        took_p95_ms: share(&took, 95),
        events,
        restarts: now.restarts.saturating_sub(before.restarts),
        rss_bytes: seen.memory.own,
        store_bytes: seen.store_bytes,
        free_bytes: seen.free_bytes,
        memory_available_bytes: seen.memory.available,
        memory_total_bytes: seen.memory.total,
    }
}

/// Returns what so many in a hundred of these are not more than, in order.
fn share(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Looks at the store and the machine. What cannot be told in time is as it was `last`.
async fn look(app: &App, last: Seen) -> Seen {
    let home = app.facts.home.clone();
    let files = spawn_blocking(move || {
        let free_bytes = disk::free_bytes(home.root()).unwrap_or(last.free_bytes);
        let memory = memory::look().unwrap_or(last.memory);
        Seen { store_bytes: store_bytes(&home), free_bytes, memory, ..last }
    });
    let files = timeout(WITHIN, files).await.ok().and_then(Result::ok).unwrap_or(last);
    let Some(awake) = app.awake() else { return files };
    let stored = timeout(WITHIN, awake.readers.read(stored)).await;
    let Ok(Ok(Seen { agents, waiting, oldest_ms, head, .. })) = stored else { return files };
    Seen { agents, waiting, oldest_ms, head, ..files }
}

fn stored(view: View<'_>) -> Result<Seen, StoreError> {
    let waits = messages::waits(view)?;
    Ok(Seen {
        agents: agents::with_process(view)?,
        waiting: waits.iter().map(|it| it.waiting).sum(),
        oldest_ms: waits.iter().map(|it| it.oldest.0).min(),
        head: events::newest_id(view)?.map_or(0, |id| id.0),
        ..Seen::default()
    })
}

#[cfg(test)]
mod tests {
    use cmux_wire::health::{Condition, Part};
    use cmux_wire::time::Time;

    use super::*;

    #[test]
    fn a_share_is_what_so_many_are_not_more_than() {
        for (sorted, p50, p95) in [
            (&[][..], None, None),
            (&[7], Some(7), Some(7)),
            (&[1, 2], Some(1), Some(2)),
            (&[1, 2, 3], Some(2), Some(3)),
            (&(1..=100).collect::<Vec<_>>(), Some(50), Some(95)),
        ] {
            assert_eq!((share(sorted, 50), share(sorted, 95)), (p50, p95), "{sorted:?}");
        }
    }

    #[test]
    fn a_sample_tells_what_happened_since_the_one_before() {
        let seen = Seen { agents: 2, waiting: 3, oldest_ms: Some(0), ..Seen::default() };
        let before = Counted { delivered: 10, restarts: 1, lately: vec![9] };
        let now = Counted { delivered: 12, restarts: 1, lately: vec![300, 100] };
        let vital = vital(&health(), &seen, &before, &now, 7);
        assert_eq!((vital.delivered, vital.restarts, vital.events), (2, 0, 7));
        assert_eq!((vital.took_p50_ms, vital.took_p95_ms), (Some(100), Some(300)));
        assert_eq!((vital.agents, vital.waiting), (2, 3));
        assert!(vital.oldest_waiting_ms.is_some_and(|ms| ms > 0));
    }

    #[test]
    fn an_hour_is_kept_and_who_follows_is_told_of_the_newest() {
        let pulse = Pulse::none();
        let mut followed = pulse.follow();
        for n in 0..KEPT as u64 + 3 {
            let seen = Seen { agents: n, ..Seen::default() };
            let none = Counted::default();
            pulse.keep(vital(&health(), &seen, &none, &none, 0), health());
        }
        let samples = pulse.samples();
        assert_eq!((samples.len(), samples[0].agents), (KEPT, 3));
        assert!(followed.has_changed().unwrap());
        let told = followed.borrow_and_update().told.clone();
        let told: Notice = serde_json::from_str(&told).unwrap();
        let Notice::Vitals { sample, .. } = told else { panic!("it is a sample") };
        assert_eq!(Some(&*sample), samples.last());
    }

    fn health() -> Health {
        let part = Part::healthy;
        Health {
            status: Condition::Healthy,
            api: Condition::Healthy,
            frontend: part(),
            store: part(),
            tmux: part(),
            router: part(),
            kernel: part(),
            version: "1".to_owned(),
            timestamp: Time::from_millis(7),
        }
    }
}
