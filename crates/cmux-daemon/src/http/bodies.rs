//! Room for bodies on their way in.
//!
//! Of what all have together, a body takes as much as has come of it: who promises much and sends little holds
//! up nobody. What it promises it takes of its caller's own share, which is a part of the whole. Short bodies
//! have a place of their own, and never wait for long ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::http::problem::Oops;

/// The longest body that counts as short, in bytes.
pub(crate) const SHORT_MAX: usize = 64 << 10;

/// How much memory bodies may take that are being read, all together, in KiB: short ones, and long ones.
const SHORT_KIB: usize = 16 << 10;
const LONG_KIB: usize = 256 << 10;

/// The how-manieth part of it one caller may take.
const CALLERS: usize = 4;

/// How long a body waits for others to be read before it.
const ROOM_WITHIN: Duration = Duration::from_secs(5);

/// How many callers are remembered before those are forgotten who send nothing.
const REMEMBERED: usize = 256;

/// Room for bodies.
#[derive(Debug)]
pub(crate) struct Room {
    short: Part,
    long: Part,
}

/// Room for bodies of one sort.
#[derive(Debug)]
struct Part {
    all: Arc<Semaphore>,
    share_kib: usize,
    /// What each caller may take. Its lock is held only to look one up.
    shares: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

/// What a body takes, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    all: Arc<Semaphore>,
    bytes: usize,
    taken: OwnedSemaphorePermit,
    _promised: OwnedSemaphorePermit,
}

impl Room {
    pub(crate) fn new() -> Room {
        Room { short: Part::of(SHORT_KIB), long: Part::of(LONG_KIB) }
    }

    /// Waits until `who` may send a body of so many bytes at most.
    pub(crate) async fn enter(&self, who: &str, bytes: usize) -> Result<Taken, Oops> {
        let part = if bytes <= SHORT_MAX { &self.short } else { &self.long };
        let promised = wait(&part.share(who), kib(bytes).min(part.share_kib)).await?;
        // Nothing is always there.
        let taken = wait(&part.all, 0).await?;
        Ok(Taken { all: part.all.clone(), bytes: 0, taken, _promised: promised })
    }
}

impl Part {
    fn of(kib: usize) -> Part {
        let all = Arc::new(Semaphore::new(kib));
        Part { all, share_kib: kib / CALLERS, shares: Mutex::default() }
    }

    fn share(&self, who: &str) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() >= REMEMBERED {
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        let new = || Arc::new(Semaphore::new(self.share_kib));
        shares.entry(who.to_owned()).or_insert_with(new).clone()
    }
}

impl Taken {
    /// Waits until there is room for so many bytes more, which have come.
    pub(crate) async fn more(&mut self, bytes: usize) -> Result<(), Oops> {
        let before = kib(self.bytes);
        self.bytes += bytes;
        match kib(self.bytes) - before {
            0 => Ok(()),
            more => {
                self.taken.merge(wait(&self.all, more).await?);
                Ok(())
            }
        }
    }
}

fn kib(bytes: usize) -> usize {
    bytes.div_ceil(1024)
}

async fn wait(room: &Arc<Semaphore>, kib: usize) -> Result<OwnedSemaphorePermit, Oops> {
    let kib = u32::try_from(kib).unwrap_or(u32::MAX);
    let made = timeout(ROOM_WITHIN, room.clone().acquire_many_owned(kib)).await;
    made.ok().and_then(Result::ok).ok_or_else(Oops::crowded)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::task::unconstrained;

    use super::*;

    /// The longest body of a message, in bytes.
    const LONG: usize = 10 << 20;

    #[tokio::test]
    async fn what_is_promised_and_does_not_come_holds_up_nobody() {
        let room = Room::new();
        let mut promised = Vec::new();
        for n in 0..100 {
            promised.push(enter(&room, &n.to_string(), LONG).unwrap());
        }
        let mut other = enter(&room, "other", LONG).unwrap();
        assert!(more(&mut other, LONG));
        assert_eq!(room.long.all.available_permits(), LONG_KIB - kib(LONG));
    }

    #[tokio::test]
    async fn nobody_takes_more_than_their_share() {
        let room = Room::new();
        for bytes in [LONG, SHORT_MAX] {
            let part = if bytes == LONG { &room.long } else { &room.short };
            let most = part.share_kib / kib(bytes);
            let mut taken: Vec<Taken> =
                (0..most).map(|_| enter(&room, "one", bytes).unwrap()).collect();
            assert!(taken.iter_mut().all(|it| more(it, bytes)));
            assert!(enter(&room, "one", bytes).is_none(), "{bytes}");
            assert!(more(&mut enter(&room, "other", bytes).unwrap(), bytes));
            taken.pop();
            assert!(enter(&room, "one", bytes).is_some(), "{bytes}");
        }
        assert_eq!(room.long.all.available_permits(), LONG_KIB);
    }

    #[tokio::test]
    async fn short_bodies_never_wait_for_long_ones() {
        let room = Room::new();
        let mut taken = Vec::new();
        for n in 0..LONG_KIB / kib(LONG) {
            let mut one = enter(&room, &n.to_string(), LONG).unwrap();
            assert!(more(&mut one, LONG));
            taken.push(one);
        }
        let mut long = enter(&room, "long", LONG).unwrap();
        assert!(!more(&mut long, LONG), "there is no room for it");
        assert!(more(&mut enter(&room, "short", SHORT_MAX).unwrap(), SHORT_MAX));
        taken.pop();
        assert!(more(&mut enter(&room, "long", LONG).unwrap(), LONG));
    }

    #[tokio::test]
    async fn those_who_send_nothing_are_forgotten() {
        let room = Room::new();
        let _kept = enter(&room, "kept", 1).unwrap();
        for n in 0..3 * REMEMBERED {
            enter(&room, &n.to_string(), 1).unwrap();
        }
        let shares = room.short.shares.lock().unwrap();
        assert!(shares.len() <= REMEMBERED && shares.contains_key("kept"), "{}", shares.len());
    }

    /// Enters, unless that takes waiting.
    fn enter(room: &Room, who: &str, bytes: usize) -> Option<Taken> {
        unconstrained(room.enter(who, bytes)).now_or_never()?.ok()
    }

    /// Returns whether there is room for so many bytes more without waiting.
    fn more(taken: &mut Taken, bytes: usize) -> bool {
        unconstrained(taken.more(bytes)).now_or_never().is_some_and(|made| made.is_ok())
    }
}
