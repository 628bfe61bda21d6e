//! The log as it grows, read once and written out once for all who follow it.
//!
//! One task reads each new stretch and hands it to every client, as text that they share. A stretch says
//! which event it follows on, so a client can tell whether it joins on to what it was told last, and reads
//! the log for itself if it does not. Whatever is dropped here is therefore late, and never lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::ws::Utf8Bytes;
use cmux_core::id::EventId;
use cmux_store::events::{self, Filter, Row};
use cmux_store::{StoreError, View};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tracing::warn;

use crate::http::say_event;
use crate::inbox::Signs;
use crate::readers::Readers;

/// How long a batch is at most, in bytes. An event that is longer by itself is not handed out: clients
/// read it one by one.
const BATCH_BYTES: usize = 64 << 10;

/// How many batches are kept for those who are slower than others. With the above, this is what a client
/// that sleeps can make the daemon hold: 16 MiB.
const BATCHES_MAX: usize = 256;

/// How long to wait between batches, so that in a rush each is worth a hundred writes.
const PACE: Duration = Duration::from_millis(5);

/// How long to wait before a log that could not be read is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A stretch of the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The event that it follows on.
    pub(crate) after: EventId,
    /// How far it goes. It is this far even if there is nothing in it: then it only tells that something
    /// is there, to be read from the store.
    pub(crate) through: EventId,
    pub(crate) lines: Vec<Line>,
}

/// An event as it is said, and what it is chosen by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) id: EventId,
    kind: String,
    project: Option<String>,
    agent: Option<String>,
    pub(crate) text: Utf8Bytes,
}

/// Where the log is told.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    sender: broadcast::Sender<Arc<Batch>>,
    readers: Readers,
    /// Takes note of damage that was found. In safe mode nobody does.
    faults: Option<mpsc::Sender<String>>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) limits: Limits,
}

/// What there is to count.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// How many follow now.
    pub(crate) clients: AtomicU64,
    /// How many were let go because they were too slow.
    pub(crate) evicted: AtomicU64,
    /// How many events were told, to each client by itself.
    pub(crate) sent: AtomicU64,
}

/// How much patience there is with clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) clients_max: u64,
    /// How long a client may take to accept a batch.
    pub(crate) accept_within: Duration,
    /// How long one that did not may take to hear that it is let go.
    pub(crate) leave_within: Duration,
    /// How often a connection is tried.
    pub(crate) ping_every: Duration,
    /// How long a client may be silent, of which an answer to a ping is enough.
    pub(crate) silence_max: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            clients_max: 1000,
            accept_within: Duration::from_secs(10),
            leave_within: Duration::from_secs(60),
            ping_every: Duration::from_secs(20),
            silence_max: Duration::from_secs(60),
        }
    }
}

/// A client's place among those who follow, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Counts>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Line {
    fn of(row: Row) -> Result<Line, StoreError> {
        let id = row.id;
        let damaged = |error: serde_json::Error| StoreError::Damaged { what: error.to_string() };
        let (kind, project, agent) = (row.kind.clone(), row.project.clone(), row.agent.clone());
        let text = serde_json::to_string(&say_event(row)?).map_err(damaged)?;
        Ok(Line { id, kind, project, agent, text: text.into() })
    }

    /// Returns whether `filter` lets it through.
    pub(crate) fn fits(&self, filter: &Filter) -> bool {
        filter.lets(&self.kind, self.project.as_deref(), self.agent.as_deref())
    }
}

impl Batch {
    /// Returns whether it tells that somebody is no longer let in, or is too long to tell.
    pub(crate) fn ends_somebody(&self) -> bool {
        let ends = |line: &Line| matches!(line.kind.as_str(), "token.revoked" | "session.over");
        self.lines.is_empty() || self.lines.iter().any(ends)
    }

    /// Returns whether somebody's mail is told of in it.
    pub(crate) fn tells_of_mail(&self) -> bool {
        self.lines.iter().any(|line| line.kind.starts_with("message."))
    }

    /// Reads what comes after `after`: as much as is told at once.
    pub(crate) fn read(
        view: View<'_>,
        after: EventId,
        filter: &Filter,
    ) -> Result<Batch, StoreError> {
        let stretch = events::stretch(view, after, BATCH_BYTES, filter)?;
        let lines = stretch.rows.into_iter().map(Line::of).collect::<Result<_, _>>()?;
        Ok(Batch { after, through: stretch.through, lines })
    }

    /// Returns the batch if it may be kept, or else one that only says how far it goes.
    fn kept_short(self) -> Batch {
        let bytes: usize = self.lines.iter().map(|line| line.text.len()).sum();
        if bytes <= 2 * BATCH_BYTES {
            return self;
        }
        Batch { after: self.through, through: self.through, lines: Vec::new() }
    }
}

impl Feed {
    /// Begins to tell what the kernel stores, of which it gives `signs`. In safe mode, nothing is told.
    pub(crate) fn start(
        signs: Option<&Signs>,
        readers: &Readers,
        faults: mpsc::Sender<String>,
        limits: Limits,
    ) -> Feed {
        let feed = Feed { limits, ..Feed::new(readers, signs.map(|_| faults)) };
        if let Some(signs) = signs {
            // It reads by itself, and waits for no client's reading.
            Feed { readers: readers.another(), ..feed.clone() }.spawn(signs.head.clone());
        }
        feed
    }

    fn new(readers: &Readers, faults: Option<mpsc::Sender<String>>) -> Feed {
        Feed {
            sender: broadcast::Sender::new(BATCHES_MAX),
            readers: readers.another(),
            faults,
            counts: Arc::default(),
            limits: Limits::default(),
        }
    }

    /// Returns a place for one more client, if there is one.
    pub(crate) fn enter(&self) -> Option<Place> {
        let (clients, max) = (&self.counts.clients, self.limits.clients_max);
        let one_more = |now: u64| (now < max).then_some(now + 1);
        let entered = clients.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        entered.ok().map(|_| Place(self.counts.clone()))
    }

    /// Returns what is told from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<Batch>> {
        self.sender.subscribe()
    }

    /// Reads from the store.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(View<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let found = self.readers.read(work).await;
        if let (Err(StoreError::Damaged { what }), Some(faults)) = (&found, &self.faults) {
            // One is enough; the rest would say the same.
            let _ = faults.try_send(what.clone());
        }
        found
    }

    /// Begins to tell what comes after the newest event, which is the newest to those who come from now
    /// on as well.
    fn spawn(self, mut head: watch::Receiver<EventId>) -> JoinHandle<()> {
        let newest = *head.borrow_and_update();
        tokio::spawn(self.live(newest, head))
    }

    /// Tells each event after `cursor` until the kernel is gone.
    async fn live(self, mut cursor: EventId, mut head: watch::Receiver<EventId>) {
        while head.changed().await.is_ok() {
            let newest = *head.borrow_and_update();
            while cursor < newest {
                cursor = self.advance(cursor, newest).await;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Tells some of what is after `cursor`, up to `newest` at least, and returns how far it is told.
    async fn advance(&self, cursor: EventId, newest: EventId) -> EventId {
        if self.sender.receiver_count() == 0 {
            // Whoever comes later reads it from the store.
            return newest;
        }
        match self.read(move |view| Batch::read(view, cursor, &Filter::default())).await {
            Ok(batch) if batch.through > cursor => {
                let through = batch.through;
                // If the last client has just left, nobody has missed it.
                let _ = self.sender.send(Arc::new(batch.kept_short()));
                return through;
            }
            Ok(_) => warn!(%cursor, %newest, "the log does not go on; trying again"),
            Err(error) => warn!(%error, "the log could not be read; trying again"),
        }
        tokio::time::sleep(RETRY_AFTER).await;
        cursor
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    use cmux_core::event::{Event, What};
    use cmux_core::id::LogId;
    use cmux_core::time::Timestamp;
    use cmux_store::Store;
    use tempfile::TempDir;
    use ulid::Ulid;

    use super::*;

    /// A log that grows as a test wants, and its feed.
    pub(crate) struct World {
        pub(crate) folder: TempDir,
        pub(crate) feed: Feed,
        store: Store,
        head: watch::Sender<EventId>,
        live: JoinHandle<()>,
        /// Hears of damage that was found.
        fault: mpsc::Receiver<String>,
    }

    impl World {
        pub(crate) fn new() -> World {
            World::read_at("cmux.db")
        }

        /// Makes a log that its feed, but nobody else, looks for in a file of this name.
        fn read_at(name: &str) -> World {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("cmux.db");
            let log = LogId::new(Ulid::from(1_u128));
            let (store, _) = Store::open(&path, &path, log, Timestamp(0)).unwrap();
            let (faults, fault) = mpsc::channel(1);
            let feed = Feed::new(&Readers::of(&path), Some(faults));
            let readers = Readers::of(&folder.path().join(name));
            let head = watch::Sender::new(EventId(0));
            let live = Feed { readers, ..feed.clone() }.spawn(head.subscribe());
            World { folder, feed, store, head, live, fault }
        }

        pub(crate) fn path(&self) -> PathBuf {
            self.folder.path().join("cmux.db")
        }

        /// Tells of `count` events, each about so long, in one turn.
        pub(crate) fn tell(&mut self, count: usize, bytes: usize) {
            let turn = self.store.turn(|tx| {
                for _ in 0..count {
                    let what = What::ProjectFound { root: "x".repeat(bytes) };
                    tx.append(&Event::own(what), Timestamp(0))?;
                }
                Ok(())
            });
            turn.unwrap();
            self.head.send_replace(self.store.head().id);
        }
    }

    #[tokio::test]
    async fn each_batch_joins_on_to_the_one_before_and_none_is_too_long() {
        let mut world = World::new();
        let mut live = world.feed.subscribe();
        world.tell(2003, 10);
        let (mut cursor, mut told) = (EventId(0), 0);
        while cursor < EventId(2003) {
            let batch = live.recv().await.unwrap();
            assert_eq!(batch.after, cursor);
            assert!(batch.lines.iter().map(|it| it.text.len()).sum::<usize>() <= 2 * BATCH_BYTES);
            let ids: Vec<i64> = batch.lines.iter().map(|line| line.id.0).collect();
            assert!(ids.iter().copied().eq(told + 1..=batch.through.0), "{ids:?}");
            (cursor, told) = (batch.through, batch.through.0);
        }
        // One that is too long is not handed out, but that it is there is said.
        world.tell(1, 3 * BATCH_BYTES);
        let (big, sign) = (EventId(2004), live.recv().await.unwrap());
        assert_eq!(*sign, Batch { after: big, through: big, lines: Vec::new() });
        drop(world.head);
        world.live.await.unwrap();
    }

    #[tokio::test]
    async fn a_log_that_cannot_be_read_is_tried_again_from_where_it_was() {
        let mut world = World::read_at("other.db");
        let other = world.folder.path().join("other.db");
        std::fs::write(&other, [7; 4096]).unwrap();
        let mut live = world.feed.subscribe();
        world.tell(2, 10);
        assert!(world.fault.recv().await.is_some());
        world.tell(1, 10);
        std::fs::remove_file(&other).unwrap();
        std::os::unix::fs::symlink(world.path(), &other).unwrap();
        let batch = live.recv().await.unwrap();
        assert_eq!((batch.after, batch.through), (EventId(0), EventId(3)));
    }

    #[tokio::test]
    async fn a_place_is_free_again_once_it_is_left() {
        let mut feed = World::new().feed;
        feed.limits.clients_max = 2;
        let (one, two) = (feed.enter(), feed.enter());
        assert!(one.is_some() && two.is_some() && feed.enter().is_none());
        drop(one);
        assert!(feed.enter().is_some());
    }
}
