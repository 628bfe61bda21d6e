//! Forbidden requests, on their way into the log: each kind at once, and then ever more seldom how often
//! it came again. Whoever knocks a thousand times a second, at a thousand doors, fills little but a number.

use std::collections::BTreeMap;
use std::time::Duration;

use cmux_core::event::{Event, What};
use cmux_core::pace::{Pace, Used};
use cmux_core::report::Report;
use cmux_core::time::Timestamp;
use tokio::sync::mpsc;
use tracing::warn;

use crate::inbox::{Inbox, since_boot};

/// How long the same is not told again, at first and when it goes on and on.
const QUIET_FIRST: Duration = Duration::from_mins(1);
const QUIET_MAX: Duration = Duration::from_mins(60);

/// How often something new is told by itself. The rest is one kind.
const NEWS: Pace = Pace { per_min: 6, burst: 128 };

/// How many may wait to be counted. More are not.
const WAITING_MAX: usize = 1024;

/// A request that was turned away.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refusal {
    /// The problem's name.
    pub(crate) reason: String,
    /// `socket` or `port`.
    pub(crate) door: &'static str,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Who it was, as far as that is known.
    pub(crate) from: String,
}

/// Takes note of what was turned away.
#[derive(Clone, Debug)]
pub(crate) struct Refusals {
    sender: mpsc::Sender<Refusal>,
}

impl Refusals {
    /// Returns where to note them, and what [`tell`] needs.
    pub(crate) fn new() -> (Refusals, mpsc::Receiver<Refusal>) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        (Refusals { sender }, receiver)
    }

    /// Notes one. If there are too many to count, it is one of many.
    pub(crate) fn note(&self, refusal: Refusal) {
        let _ = self.sender.try_send(refusal);
    }
}

/// How often one kind has come since it was last told.
#[derive(Debug)]
struct Told {
    again: u64,
    quiet: Duration,
    until: Timestamp,
}

/// What was told, and of what there may be more.
#[derive(Debug)]
struct Ledger {
    kinds: BTreeMap<Refusal, Told>,
    news: Used,
}

/// Tells the log of each kind as it comes, until nobody can note any more.
pub(crate) async fn tell(mut noted: mpsc::Receiver<Refusal>, inbox: Option<Inbox>) {
    let mut ledger = Ledger::new(since_boot());
    let mut ticks = tokio::time::interval(QUIET_FIRST / 4);
    loop {
        tokio::select! {
            refusal = noted.recv() => match refusal {
                Some(refusal) => {
                    if let Some(first) = ledger.count(refusal, since_boot()) {
                        say(first, 1, inbox.as_ref());
                    }
                }
                None => return,
            },
            _ = ticks.tick() => {
                for (refusal, times) in ledger.due(since_boot()) {
                    say(refusal, times, inbox.as_ref());
                }
            }
        }
    }
}

impl Ledger {
    fn new(now: Timestamp) -> Ledger {
        Ledger { kinds: BTreeMap::new(), news: Used::nothing(now) }
    }

    /// Counts `refusal`, and returns it if it is the first of its kind.
    fn count(&mut self, refusal: Refusal, now: Timestamp) -> Option<Refusal> {
        let is_known = self.kinds.contains_key(&refusal);
        let is_told = is_known || self.news.another(NEWS, now).is_ok();
        let kind = if is_told { refusal } else { the_rest() };
        if let Some(told) = self.kinds.get_mut(&kind) {
            told.again += 1;
            return None;
        }
        let told = Told { again: 0, quiet: QUIET_FIRST, until: now + QUIET_FIRST };
        self.kinds.insert(kind.clone(), told);
        Some(kind)
    }

    /// Returns what came again and is to be told by now, and forgets what did not.
    fn due(&mut self, now: Timestamp) -> Vec<(Refusal, u64)> {
        let mut due = Vec::new();
        self.kinds.retain(|kind, told| {
            if now < told.until {
                return true;
            }
            let again = std::mem::take(&mut told.again);
            if again > 0 {
                due.push((kind.clone(), again));
                told.quiet = (told.quiet * 2).min(QUIET_MAX);
                told.until = now + told.quiet;
            }
            again > 0
        });
        due
    }
}

fn the_rest() -> Refusal {
    Refusal {
        reason: "many-kinds".to_owned(),
        door: "any",
        method: "*".to_owned(),
        path: "*".to_owned(),
        from: "several".to_owned(),
    }
}

fn say(refusal: Refusal, count: u64, inbox: Option<&Inbox>) {
    let Refusal { reason, door, method, path, from } = refusal;
    warn!(reason, door, method, path, from, count, "a request was turned away");
    let door = door.to_owned();
    let what = What::DoorRefused { reason, door, method, path, from, count };
    if let Some(inbox) = inbox {
        inbox.tell(Report::Told { event: Event::own(what) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_each_kind_is_told_and_the_rest_are_counted() {
        let mut ledger = Ledger::new(at(0));
        assert!(ledger.count(refusal(0), at(0)).is_some());
        assert!(ledger.count(refusal(0), at(0)).is_none());
        assert!(ledger.count(refusal(1), at(0)).is_some());
        assert_eq!(ledger.due(at(59)), []);
        assert_eq!(ledger.due(at(60)), [(refusal(0), 1)]);
    }

    #[test]
    fn what_goes_on_is_told_ever_more_seldom_and_what_stops_is_forgotten() {
        let mut ledger = Ledger::new(at(0));
        let mut told = 0;
        for second in 0..86_400 {
            told += usize::from(ledger.count(refusal(0), at(second)).is_some());
            told += ledger.due(at(second)).len();
        }
        assert!((24..40).contains(&told), "{told} a day");
        ledger.due(at(100_000));
        ledger.due(at(200_000));
        assert!(ledger.kinds.is_empty());
    }

    #[test]
    fn a_thousand_kinds_a_second_fill_little() {
        let mut ledger = Ledger::new(at(0));
        let mut told = 0;
        for n in 0..60_000 {
            let now = Timestamp(i64::from(n) * 10);
            told += usize::from(ledger.count(refusal(n), now).is_some()) + ledger.due(now).len();
        }
        // Ten minutes: the burst, six a minute, and the rest now and then.
        assert!(told < 128 + 60 + 10, "{told}");
        assert!(ledger.kinds.len() < 200, "{}", ledger.kinds.len());
    }

    fn at(second: i64) -> Timestamp {
        Timestamp(second * 1000)
    }

    fn refusal(n: u32) -> Refusal {
        Refusal { path: format!("/{n}"), ..the_rest() }
    }
}
