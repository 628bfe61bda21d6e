//! What becomes of mail, counted as the log tells it from the daemon's start on.

use std::collections::BTreeSet;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cmux_core::id::EventId;
use cmux_core::message::Evidence;
use cmux_store::events::{self, Filter, Row};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;
use tracing::debug;

use crate::readers::Readers;

/// The bounds of the buckets in which it is counted how long messages took, in milliseconds.
const BOUNDS_MS: [u64; 12] =
    [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000];

/// How many events are read at once.
const PAGE: u32 = 1000;

/// How many are remembered of how long messages took lately.
const LATELY_MAX: usize = 10_000;

/// How many deliveries are remembered to have been claimed.
const CLAIMED_MAX: usize = 10_000;

/// How long to wait before what could not be read is tried again, and between stretches in a rush.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const PACE: Duration = Duration::from_millis(200);

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// How often something was typed.
    pub(crate) attempts: AtomicU64,
    /// How often a claim was given back, as its message was not used.
    pub(crate) reclaims: AtomicU64,
    /// How many second copies were kept from agents.
    pub(crate) blocked: AtomicU64,
    /// Messages that were delivered, by what that is known.
    delivered: [AtomicU64; Evidence::ALL.len()],
    buckets: [AtomicU64; BOUNDS_MS.len()],
    count: AtomicU64,
    sum_ms: AtomicU64,
    /// How often an agent was brought back.
    restarts: AtomicU64,
    /// How long messages took since somebody last asked, in milliseconds. Held only to write and to take it.
    lately: Mutex<Vec<u64>>,
}

/// What there is to sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) delivered: u64,
    pub(crate) restarts: u64,
    /// How long messages took since the sample before, in milliseconds.
    pub(crate) lately: Vec<u64>,
}

impl Tally {
    /// Returns how many messages were delivered, by the name of what that is known by.
    pub(crate) fn delivered(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = Evidence::ALL.into_iter().map(Evidence::name);
        names.zip(self.delivered.iter().map(|count| count.load(Ordering::Relaxed)))
    }

    /// Returns each bucket's bound in milliseconds, and how many were within it and beyond the one before.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let load = |bucket: &AtomicU64| bucket.load(Ordering::Relaxed);
        BOUNDS_MS.into_iter().zip(self.buckets.iter().map(load))
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn sum_ms(&self) -> u64 {
        self.sum_ms.load(Ordering::Relaxed)
    }

    /// Returns what was counted so far. How long messages took is told once.
    pub(crate) fn counted(&self) -> Counted {
        Counted {
            delivered: self.delivered().map(|(_, count)| count).sum(),
            restarts: self.restarts.load(Ordering::Relaxed),
            lately: mem::take(&mut *self.lately.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn took(&self, ms: u64) {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        if lately.len() < LATELY_MAX {
            lately.push(ms);
        }
        drop(lately);
        add(&self.count, 1);
        add(&self.sum_ms, ms);
        let mut bounds = BOUNDS_MS.iter().zip(&self.buckets);
        if let Some((_, bucket)) = bounds.find(|(bound, _)| ms <= **bound) {
            add(bucket, 1);
        }
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

/// Begins to count what the log tells from now on, as far as `head` says.
pub(crate) fn start(mut head: watch::Receiver<EventId>, readers: &Readers) -> Arc<Tally> {
    let tally = Arc::new(Tally::default());
    let (counted, readers) = (tally.clone(), readers.another());
    tokio::spawn(async move {
        let mut counter = Counter::default();
        let mut through = *head.borrow_and_update();
        while head.changed().await.is_ok() {
            let newest = *head.borrow_and_update();
            while through < newest {
                let after = through;
                let read =
                    readers.read(move |view| events::after(view, after, PAGE, &Filter::default()));
                match read.await {
                    Ok(rows) => {
                        rows.iter().for_each(|row| counter.hear(row, &counted));
                        through = rows.last().map_or(newest, |row| row.id);
                    }
                    Err(error) => {
                        debug!(%error, "mail is not counted for now");
                        sleep(RETRY_AFTER).await;
                        break;
                    }
                }
            }
            sleep(PACE).await;
        }
    });
    tally
}

/// What must be remembered to count.
#[derive(Debug, Default)]
struct Counter {
    /// The deliveries that were claimed and of which nothing else was told yet.
    claimed: BTreeSet<String>,
    /// The delivery that was last told to be typed, and when: each of its messages tells of it.
    typed: Option<(String, i64)>,
}

impl Counter {
    fn hear(&mut self, row: &Row, tally: &Tally) {
        let kind = row.kind.as_str();
        let is_counted =
            kind.starts_with("message.") || matches!(kind, "hook.received" | "agent.phase");
        if !is_counted {
            return;
        }
        let Ok(data) = serde_json::from_str::<Value>(&row.data) else { return };
        let delivery = data["delivery"].as_str().unwrap_or_default().to_owned();
        match kind {
            "message.typing" => self.typing(delivery, row.at.0, tally),
            "message.claimed" if self.claimed.len() < CLAIMED_MAX => {
                self.claimed.insert(delivery);
            }
            "message.delivered" => {
                self.claimed.remove(&delivery);
                delivered(&data, tally);
            }
            "message.queued" | "message.failed" | "message.cancelled" | "message.expired" => {
                self.claimed.remove(&delivery);
            }
            "agent.phase" if data["from"] == "down" && data["to"] == "starting" => {
                add(&tally.restarts, 1);
            }
            "hook.received" if data["claim"]["outcome"] == "second" => add(&tally.blocked, 1),
            _ => {}
        }
    }

    fn typing(&mut self, delivery: String, at: i64, tally: &Tally) {
        let typed = Some((delivery, at));
        if self.typed == typed {
            return;
        }
        add(&tally.attempts, 1);
        if let Some((delivery, _)) = &typed
            && self.claimed.remove(delivery)
        {
            add(&tally.reclaims, 1);
        }
        self.typed = typed;
    }
}

fn delivered(data: &Value, tally: &Tally) {
    let evidence = data["evidence"].as_str().unwrap_or_default();
    let known = Evidence::ALL.into_iter().position(|it| it.name() == evidence);
    if let Some(count) = known.and_then(|place| tally.delivered.get(place)) {
        add(count, 1);
    }
    // What is for the person takes no time.
    if evidence != Evidence::Stored.name()
        && let Some(ms) = data["took_ms"].as_u64()
    {
        tally.took(ms);
    }
}

#[cfg(test)]
mod tests {
    use cmux_core::time::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_delivery_counts_once_however_many_messages_tell_of_it() {
        let tally = told(&[
            ("message.typing", 1, json!({"delivery": "dlv_1"})),
            ("message.typing", 1, json!({"delivery": "dlv_1"})),
            ("message.claimed", 2, json!({"delivery": "dlv_1"})),
            // It was not used, and is typed again.
            ("message.typing", 3, json!({"delivery": "dlv_1"})),
            ("message.typing", 3, json!({"delivery": "dlv_1"})),
            ("message.claimed", 4, json!({"delivery": "dlv_1"})),
            (
                "message.delivered",
                5,
                json!({"delivery": "dlv_1", "evidence": "turn", "took_ms": 400}),
            ),
            (
                "message.delivered",
                5,
                json!({"delivery": "dlv_1", "evidence": "turn", "took_ms": 90_000_000}),
            ),
            ("message.delivered", 5, json!({"evidence": "stored", "took_ms": 0})),
            ("message.typing", 6, json!({"delivery": "dlv_2"})),
            ("hook.received", 7, json!({"claim": {"outcome": "second"}})),
            // What was taken back is no second copy, nor is what a person has added to.
            ("hook.received", 7, json!({"claim": {"outcome": "blocked"}})),
            ("hook.received", 8, json!({"means": "prompted"})),
            ("agent.phase", 9, json!({})),
            ("agent.phase", 9, json!({"from": "down", "to": "starting"})),
            ("agent.phase", 9, json!({"from": "starting", "to": "idle"})),
        ]);
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        assert_eq!((load(&tally.attempts), load(&tally.reclaims), load(&tally.blocked)), (3, 1, 1));
        let counted = Counted { delivered: 3, restarts: 1, lately: vec![400, 90_000_000] };
        assert_eq!(tally.counted(), counted);
        assert!(tally.counted().lately.is_empty(), "it is told once");
        let by: Vec<_> = tally.delivered().filter(|(_, count)| *count > 0).collect();
        assert_eq!(by, [("turn", 2), ("stored", 1)]);
        assert_eq!((tally.count(), tally.sum_ms()), (2, 90_000_400));
        let within: Vec<_> = tally.buckets().filter(|(_, count)| *count > 0).collect();
        assert_eq!(within, [(500, 1)]);
    }

    fn told(events: &[(&str, i64, Value)]) -> Tally {
        let (tally, mut counter) = (Tally::default(), Counter::default());
        for (kind, at, data) in events {
            let row = Row {
                id: EventId(*at),
                v: 1,
                at: Timestamp(*at),
                kind: (*kind).to_owned(),
                project: None,
                agent: None,
                run: None,
                subject: None,
                cause: None,
                actor: "cmux".to_owned(),
                data: data.to_string(),
                payload: None,
                prev: [0; 32],
                hash: [0; 32],
            };
            counter.hear(&row, &tally);
        }
        tally
    }
}
