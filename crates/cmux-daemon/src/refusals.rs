//! Forbidden requests, on their way into the log: each kind at once, and then once a minute how often it
//! came again, so that whoever knocks a thousand times a second fills nothing but a number.

use std::collections::BTreeMap;
use std::time::Duration;

use cmux_core::event::{Event, What};
use cmux_core::report::Report;
use tokio::sync::mpsc;
use tracing::warn;

use crate::inbox::Inbox;

/// How long the same is not told again.
const QUIET: Duration = Duration::from_mins(1);

/// How many kinds are told apart within that time. The rest is one kind.
const KINDS_MAX: usize = 256;

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

/// Tells the log of each kind as it comes, until nobody can note any more.
pub(crate) async fn tell(mut noted: mpsc::Receiver<Refusal>, inbox: Option<Inbox>) {
    let mut again: BTreeMap<Refusal, u64> = BTreeMap::new();
    let mut minutes = tokio::time::interval(QUIET);
    loop {
        tokio::select! {
            refusal = noted.recv() => match refusal {
                Some(refusal) => {
                    if let Some(first) = count(&mut again, refusal) {
                        say(first, 1, inbox.as_ref());
                    }
                }
                None => return,
            },
            _ = minutes.tick() => {
                for (refusal, times) in std::mem::take(&mut again) {
                    if times > 0 {
                        say(refusal, times, inbox.as_ref());
                    }
                }
            }
        }
    }
}

/// Counts `refusal`, and returns it if it is the first of its kind.
fn count(again: &mut BTreeMap<Refusal, u64>, refusal: Refusal) -> Option<Refusal> {
    let is_new = !again.contains_key(&refusal);
    let kind = if is_new && again.len() >= KINDS_MAX { the_rest() } else { refusal };
    match again.entry(kind.clone()) {
        std::collections::btree_map::Entry::Vacant(entry) => {
            entry.insert(0);
            Some(kind)
        }
        std::collections::btree_map::Entry::Occupied(mut entry) => {
            *entry.get_mut() += 1;
            None
        }
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
        let mut again = BTreeMap::new();
        assert!(count(&mut again, refusal(0)).is_some());
        assert!(count(&mut again, refusal(0)).is_none());
        assert!(count(&mut again, refusal(1)).is_some());
        assert_eq!(again.values().copied().collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn too_many_kinds_are_one() {
        let mut again = BTreeMap::new();
        let told = (0..10_000).filter_map(|n| count(&mut again, refusal(n))).count();
        assert_eq!((told, again.len()), (KINDS_MAX + 1, KINDS_MAX + 1));
        assert_eq!(again[&the_rest()], 10_000 - KINDS_MAX as u64 - 1);
    }

    fn refusal(n: u32) -> Refusal {
        Refusal { path: format!("/{n}"), ..the_rest() }
    }
}
