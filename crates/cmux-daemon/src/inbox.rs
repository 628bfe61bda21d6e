//! The kernel's inbox, and the thread that empties it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use cmux_core::clock::Clock;
use cmux_core::event::Event;
use cmux_core::id::EventId;
use cmux_core::plan::Action;
use cmux_core::report::{Answer, Report};
use cmux_core::time::Timestamp;
use cmux_drivers::clock;
use cmux_store::{StoreError, repair};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, warn};

use crate::commits::Commits;
use crate::kernel::{Denied, Kernel, Turn};
use crate::names::Names;
use crate::room::{Disk, Turned};

/// How many reports may wait. More are turned away, not kept.
const WAITING_MAX: usize = 4096;

/// How many reports go into one commit at most.
const BATCH_MAX: usize = 512;

/// The longest sleep: the disk is looked at now and then, whatever else happens.
const SLEEP_MAX: Duration = Duration::from_secs(5);

/// How long to wait after a commit that failed before what is due is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How long to wait for the next of those who were answered to ask again.
const LINGER: Duration = Duration::from_micros(50);

/// A way to the kernel.
#[derive(Clone, Debug)]
pub struct Inbox {
    sender: SyncSender<Letter>,
}

/// What is put into the inbox.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "every letter but the last is a report")]
enum Letter {
    Report(Report, Option<oneshot::Sender<Result<Answer, Denied>>>),
    /// The last letter: what comes after it is not read.
    End,
}

/// What others may know of the kernel without asking it.
#[derive(Clone, Debug)]
pub struct Signs {
    /// The newest event that is on the disk.
    pub head: watch::Receiver<EventId>,
    /// Why nothing can be written, if that is so.
    pub trouble: watch::Receiver<Option<String>>,
    /// When the kernel last finished a turn, in milliseconds since boot.
    pub turned_at: Arc<AtomicU64>,
    /// When a write of its last reached the disk, in milliseconds since boot.
    pub stored_at: Arc<AtomicU64>,
    pub commits: Arc<Commits>,
}

/// Why the kernel ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// It was told to.
    Told,
    /// The disk failed or the file is damaged: the process must end too, and start from the file.
    Broken(String),
    /// It has a fault of its own.
    Panicked,
}

/// Everything the kernel's thread needs.
#[derive(Debug)]
pub struct Kit {
    pub kernel: Kernel,
    pub clock: Clock,
    pub hands: mpsc::Sender<Action>,
    pub disk: Disk,
    pub database: PathBuf,
}

impl Inbox {
    /// Reports and waits until it is stored, or it is known that it is not.
    pub async fn ask(&self, report: Report) -> Result<Answer, Denied> {
        let (reply, answer) = oneshot::channel();
        self.put(Letter::Report(report, Some(reply)))?;
        answer.await.unwrap_or(Err(Denied::Stopping))
    }

    /// Reports all of `reports`, in their order, and waits until it is known of each whether it is stored.
    pub async fn ask_all(&self, reports: Vec<Report>) -> Vec<Result<Answer, Denied>> {
        let put = |report| {
            let (reply, answer) = oneshot::channel();
            self.put(Letter::Report(report, Some(reply))).map(|()| answer)
        };
        let waiting: Vec<_> = reports.into_iter().map(put).collect();
        let mut answers = Vec::with_capacity(waiting.len());
        for waiting in waiting {
            answers.push(match waiting {
                Ok(answer) => answer.await.unwrap_or(Err(Denied::Stopping)),
                Err(denied) => Err(denied),
            });
        }
        answers
    }

    /// Reports and waits, on a thread that may be blocked.
    pub fn ask_blocking(&self, report: Report) -> Result<Answer, Denied> {
        let (reply, answer) = oneshot::channel();
        self.put(Letter::Report(report, Some(reply)))?;
        answer.blocking_recv().unwrap_or(Err(Denied::Stopping))
    }

    /// Reports without waiting, and returns whether it waits to be heard. What is turned away is planned for
    /// again when it is missed.
    pub fn tell(&self, report: Report) -> bool {
        let put = self.put(Letter::Report(report, None));
        put.inspect_err(|denied| warn!(%denied, "a report was turned away")).is_ok()
    }

    /// Ends the kernel once it has dealt with what came before.
    pub fn end(&self) {
        // If it is full or gone, it ends all the same: with the process.
        let _ = self.sender.send(Letter::End);
    }

    fn put(&self, letter: Letter) -> Result<(), Denied> {
        self.sender.try_send(letter).map_err(|error| match error {
            TrySendError::Full(_) => Denied::Busy,
            TrySendError::Disconnected(_) => Denied::Stopping,
        })
    }
}

/// Starts the kernel on a thread of its own.
///
/// Its end is told last of all, when the store is closed; if it panics, it never is.
pub fn start(kit: Kit) -> std::io::Result<(Inbox, Signs, oneshot::Receiver<End>)> {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    let (head, head_seen) = watch::channel(kit.kernel.head().0);
    let (trouble, trouble_seen) = watch::channel(None);
    let signs = Signs {
        head: head_seen,
        trouble: trouble_seen,
        turned_at: Arc::new(AtomicU64::new(since_boot_ms())),
        stored_at: Arc::default(),
        commits: Arc::default(),
    };
    let shown = signs.clone();
    let life = Life { kit, receiver, head, trouble, shown, wake_at: None, answered: 0 };
    let (ended, end) = oneshot::channel();
    thread::Builder::new().name("kernel".to_owned()).spawn(move || {
        // Nobody waits for it if the daemon ends in a hurry.
        let _ = ended.send(life.live());
    })?;
    Ok((Inbox { sender }, signs, end))
}

/// Returns the time since boot as a moment, for what must not jump with the wall clock and need not last.
pub(crate) fn since_boot() -> Timestamp {
    Timestamp(i64::try_from(since_boot_ms()).unwrap_or(i64::MAX))
}

/// Returns the milliseconds since boot.
pub(crate) fn since_boot_ms() -> u64 {
    u64::try_from(clock::read().since_boot.as_millis()).unwrap_or(u64::MAX)
}

struct Life {
    kit: Kit,
    receiver: Receiver<Letter>,
    head: watch::Sender<EventId>,
    trouble: watch::Sender<Option<String>>,
    shown: Signs,
    wake_at: Option<Timestamp>,
    /// How many were answered just now.
    answered: usize,
}

/// The reports of a batch, and who waits for an answer to each.
#[derive(Default)]
struct Batch {
    reports: Vec<Report>,
    replies: Vec<Option<oneshot::Sender<Result<Answer, Denied>>>>,
    is_last: bool,
}

impl Batch {
    fn add(&mut self, letter: Letter) {
        match letter {
            Letter::Report(report, reply) => {
                self.reports.push(report);
                self.replies.push(reply);
            }
            Letter::End => self.is_last = true,
        }
    }
}

impl Life {
    fn live(mut self) -> End {
        loop {
            let mut batch = self.gather();
            let (now, jump) = self.kit.clock.read(clock::read());
            if let Some(jump) = jump {
                batch.add(Letter::Report(Report::ClockJumped { by_ms: jump.by_ms }, None));
            }
            for what in self.kit.disk.tend() {
                batch.add(Letter::Report(Report::Told { event: Event::own(what) }, None));
            }
            if !self.kit.disk.admits() {
                batch = turn_away_asks(batch);
            }
            let (begun, head) = (Instant::now(), self.kit.kernel.head().0);
            let turned = self.kit.kernel.turn(&batch.reports, now, &mut Names);
            let failed = match turned {
                Ok(turn) => {
                    if self.kit.kernel.head().0 != head || batch.reports.contains(&Report::Probe) {
                        self.shown.commits.took(begun.elapsed());
                        self.shown.stored_at.store(since_boot_ms(), Ordering::Relaxed);
                    }
                    self.finish(turn, batch.replies);
                    self.kit.kernel.shorten().err().and_then(|it| self.fail(&it, Vec::new(), now))
                }
                Err(error) => self.fail(&error, batch.replies, now),
            };
            if let Some(end) = failed {
                self.kit.kernel.abandon();
                return end;
            }
            self.shown.turned_at.store(since_boot_ms(), Ordering::Relaxed);
            if batch.is_last {
                if let Err(error) = self.kit.kernel.settle() {
                    warn!(%error, "the write-ahead log could not be emptied");
                }
                return End::Told;
            }
        }
    }

    /// Takes all that waits, or waits until something is due.
    fn gather(&mut self) -> Batch {
        let (now, _) = { self.kit.clock }.read(clock::read());
        let wait = self.wake_at.map_or(SLEEP_MAX, |at| at.since(now)).min(SLEEP_MAX);
        let mut batch = Batch::default();
        self.linger(&mut batch);
        if batch.reports.is_empty() && !batch.is_last {
            self.sleep(wait, &mut batch);
        }
        while batch.reports.len() < BATCH_MAX && !batch.is_last {
            match self.receiver.try_recv() {
                Ok(letter) => batch.add(letter),
                Err(_) => break,
            }
        }
        batch
    }

    /// Waits for a moment without going to sleep: those who were just answered often ask again at once.
    /// To be woken for the first of them takes longer than that, and one commit for all costs less than
    /// one for the first and one for the rest.
    fn linger(&mut self, batch: &mut Batch) {
        let expected = std::mem::take(&mut self.answered).min(BATCH_MAX);
        if expected == 0 {
            return;
        }
        let mut last = Instant::now();
        while batch.reports.len() < expected && !batch.is_last && last.elapsed() < LINGER {
            match self.receiver.try_recv() {
                Ok(letter) => {
                    batch.add(letter);
                    last = Instant::now();
                }
                Err(_) => std::hint::spin_loop(),
            }
        }
    }

    fn sleep(&self, wait: Duration, batch: &mut Batch) {
        match self.receiver.recv_timeout(wait) {
            Ok(letter) => batch.add(letter),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => batch.is_last = true,
        }
    }

    /// Answers everybody, and hands out what is to be done.
    fn finish(
        &mut self,
        turn: Turn,
        replies: Vec<Option<oneshot::Sender<Result<Answer, Denied>>>>,
    ) {
        self.kit.disk.stored();
        self.wake_at = turn.wake_at;
        self.head.send_if_modified(|head| {
            let newest = self.kit.kernel.head().0;
            std::mem::replace(head, newest) != newest
        });
        for (reply, answer) in replies.into_iter().zip(turn.answers) {
            if let Some(reply) = reply {
                // Whoever asked may have left.
                self.answered += usize::from(reply.send(answer).is_ok());
            }
        }
        for (subject, why) in turn.left {
            error!(%subject, why, "could not be planned for");
        }
        for action in turn.actions {
            if let Err(error) = self.kit.hands.try_send(action) {
                warn!(%error, "an action was dropped; it is planned again when it is missed");
            }
        }
        self.say_trouble();
    }

    fn say_trouble(&mut self) {
        let trouble = self.kit.disk.trouble();
        self.trouble.send_if_modified(|said| {
            let changed = *said != trouble;
            said.clone_from(&trouble);
            changed
        });
    }

    /// Tells everybody that nothing was stored. Returns how the kernel ends, if it cannot go on.
    fn fail(
        &mut self,
        error: &StoreError,
        replies: Vec<Option<oneshot::Sender<Result<Answer, Denied>>>>,
        now: Timestamp,
    ) -> Option<End> {
        let (denied, end) = match error {
            StoreError::Full => (Denied::Full, None),
            StoreError::Damaged { what } => {
                if let Err(error) = repair::mark(&self.kit.database, what) {
                    error!(%error, "the damage could not be noted");
                }
                (Denied::Broken(what.clone()), Some(End::Broken(error.to_string())))
            }
            StoreError::Broken(why) => {
                (Denied::Broken(why.clone()), Some(End::Broken(error.to_string())))
            }
            StoreError::TooNew { .. }
            | StoreError::Unwritable { .. }
            | StoreError::OldSqlite { .. }
            | StoreError::File { .. }
            | StoreError::BadBackup { .. }
            | StoreError::Sqlite(_) => (Denied::Unstored(error.to_string()), None),
        };
        error!(%error, "a turn could not be stored");
        for reply in replies.into_iter().flatten() {
            let _ = reply.send(Err(denied.clone()));
        }
        let turned = if denied == Denied::Full { Turned::Full } else { Turned::Failed };
        self.kit.disk.failed(turned, &error.to_string());
        self.wake_at = Some(now + RETRY_AFTER);
        self.say_trouble();
        end
    }
}

/// Turns away what people ask for and hooks tell, while there is no room. What cmux itself must note stays.
fn turn_away_asks(batch: Batch) -> Batch {
    let mut kept = Batch { is_last: batch.is_last, ..Batch::default() };
    for (report, reply) in batch.reports.into_iter().zip(batch.replies) {
        match (report, reply) {
            (Report::Asked { .. } | Report::Hooked { .. }, Some(reply)) => {
                let _ = reply.send(Err(Denied::Full));
            }
            (report, reply) => kept.add(Letter::Report(report, reply)),
        }
    }
    kept
}
