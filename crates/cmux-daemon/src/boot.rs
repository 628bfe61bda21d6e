//! The daemon's life, from taking its home's lock to leaving it.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cmux_core::clock::Clock;
use cmux_core::event::StopReason;
use cmux_core::id::{LogId, NewIds};
use cmux_core::report::Report;
use cmux_core::settings::{Settings, may_listen};
use cmux_core::snapshot::SnapshotKind;
use cmux_core::time::Timestamp;
use cmux_drivers::clock;
use cmux_drivers::home::{Home, HomeError};
use cmux_drivers::lock::{Holder, Lock, LockError, Role};
use cmux_drivers::password;
use cmux_drivers::process::Process;
use cmux_drivers::spool::Spool;
use cmux_drivers::tls::Acceptor;
use cmux_store::{StoreError, backup, repair};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tracing::{error, info, warn};

use crate::descriptors;
use crate::feed::{self, Feed};
use crate::hands::Hands;
use crate::heartbeat::Heartbeat;
use crate::http::{self, App, Awake, Facts, WaysOut};
use crate::inbox::{self, End, Inbox, Kit, Signs};
use crate::keeper::{self, Desk, Orders};
use crate::kernel::Kernel;
use crate::names::Names;
use crate::readers::Readers;
use crate::refusals::{self, Refusals};
use crate::room::Disk;
use crate::serve::{Doors, House};
use crate::shelf::Shelf;
use crate::{spool, tally};

/// How many actions may wait for the hands.
const ACTIONS_MAX: usize = 1024;

/// How long clients may take to leave when the daemon stops.
const DRAIN_WITHIN: Duration = Duration::from_secs(8);

/// How long the kernel may take for its last words, and to end.
const FAREWELL_WITHIN: Duration = Duration::from_secs(20);

/// How a daemon is to live.
#[derive(Clone, Debug)]
pub struct Life {
    pub home: Home,
    pub settings: Settings,
    pub version: String,
    /// Whether a guard listens on standard output.
    pub guarded: bool,
    /// Why nothing but reading is to be possible, if that is so.
    pub safe_mode: Option<String>,
}

/// Why a daemon ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Only a person can mend it: starting again would not help.
    #[error("{0}")]
    Config(String),
    /// The surroundings are at fault: port, disk, permissions, another daemon.
    #[error("{0}")]
    Environment(String),
    /// cmux itself is at fault.
    #[error("{0}")]
    Crash(String),
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Failure {
        match error {
            HomeError::TooLong { .. } | HomeError::Networked { .. } => {
                Failure::Config(error.to_string())
            }
            HomeError::Unusable { .. } => Failure::Environment(error.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::TooNew { .. } | StoreError::OldSqlite { .. } => {
                Failure::Config(error.to_string())
            }
            StoreError::Damaged { .. }
            | StoreError::Full
            | StoreError::Unwritable { .. }
            | StoreError::Broken(_)
            | StoreError::File { .. }
            | StoreError::BadBackup { .. }
            | StoreError::Sqlite(_) => Failure::Environment(error.to_string()),
        }
    }
}

/// Lives until it is told to stop or cannot go on.
pub fn run(life: Life) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Environment(error.to_string());
    life.home.prepare()?;
    may_open(&life.home, &life.settings)?;
    let files_max = descriptors::allowed();
    let limits = descriptors::make_room(life.settings.limits);
    let life = Life { settings: Settings { limits, ..life.settings }, ..life };
    let mut disk = Disk::under(&life.home, life.settings.store.ballast_bytes);
    let lock = take_lock(&life, &mut disk)?;
    let heartbeat = match life.guarded {
        true => Some(Heartbeat::start(life.settings.guard.heartbeat).map_err(failed)?),
        false => None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(64)
        .enable_all()
        .build()
        .map_err(failed)?;
    let ended = runtime.block_on(live(life, lock, disk, heartbeat, files_max));
    // What still hangs on a dead disk must not hold up the end.
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended
}

/// Checks that the doors may be opened as they are set: others may not reach what is not guarded, and
/// a certificate must be of use.
pub fn may_open(home: &Home, settings: &Settings) -> Result<(), Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::Config(error.to_string());
    if let Some(files) = &settings.tls {
        Acceptor::load(files).map_err(|error| wrong(&error))?;
    }
    // Where no password is needed, one that cannot be read is no reason not to start.
    if may_listen(settings.host, false, false).is_ok() {
        return Ok(());
    }
    let has_password = password::is_set(home).map_err(|error| wrong(&error))?;
    may_listen(settings.host, settings.tls.is_some(), has_password).map_err(|error| wrong(&error))
}

/// Takes the home's lock, or says who has it.
fn take_lock(life: &Life, disk: &mut Disk) -> Result<Lock, Failure> {
    let home = life.home.root().display();
    let mut lock = Lock::take(&life.home.lock()).map_err(|error| match error {
        LockError::Held { holder } => {
            let who = holder.map_or_else(
                || "another process".to_owned(),
                |holder| format!("process {}", holder.process.pid),
            );
            Failure::Environment(format!(
                "{who} serves {home} already. `cmux daemon status` tells more; for a second daemon, \
                 give it a CMUX_HOME of its own"
            ))
        }
        LockError::File(error) => {
            let path = life.home.lock();
            Failure::Environment(format!("{} cannot be used: {error}", path.display()))
        }
    })?;
    let holder = holder(life, None);
    let is_full = |error: &std::io::Error| error.kind() == std::io::ErrorKind::StorageFull;
    disk.make_way(is_full, || lock.note(&holder)).map_err(|error| match is_full(&error) {
        true => no_room(life),
        false => Failure::Environment(format!("{home}: {error}")),
    })?;
    Ok(lock)
}

fn no_room(life: &Life) -> Failure {
    let home = life.home.root().display();
    Failure::Environment(format!(
        "there is no room left on the disk under {home}: make room, then start cmux again"
    ))
}

fn holder(life: &Life, port: Option<u16>) -> Holder {
    let (process, version) = (Process::myself(), life.version.clone());
    Holder { role: Role::Daemon, process, since: clock::wall(), version, port }
}

async fn live(
    life: Life,
    mut lock: Lock,
    disk: Disk,
    heartbeat: Option<Heartbeat>,
    files_max: Option<u64>,
) -> Result<(), Failure> {
    let environment = |error: &dyn std::fmt::Display| Failure::Environment(error.to_string());
    let mut term = signal(SignalKind::terminate()).map_err(|error| environment(&error))?;
    let mut int = signal(SignalKind::interrupt()).map_err(|error| environment(&error))?;
    let (doors, tls) = open_doors(&life).await?;
    let port = doors.port();
    let (closing, closing_seen) = watch::channel(false);
    let (stop, mut stop_asked) = mpsc::channel(1);
    let (faults, mut fault) = mpsc::channel(1);
    let (clients, clients_gone) = mpsc::channel(1);
    let ways_out = WaysOut { closing: closing_seen.clone(), stop, faults, clients };
    let (refusals, refused) = Refusals::new();
    let app = Arc::new(App::new(facts(&life, port), &life.settings, refusals, ways_out));
    let house = House {
        router: http::router(&app),
        site: app.site.clone(),
        connections_max: life.settings.limits.connections as usize,
        tls,
        closing: closing_seen,
    };
    // Health is told from now on, however long the store takes to be opened and mended.
    let serving = tokio::spawn(doors.serve(house));
    let awakened = tokio::select! {
        awakened = awaken(&life, disk, files_max) => awakened,
        // What the store's opening leaves undone is done again by the next.
        _ = term.recv() => return leave_early(&life),
        _ = int.recv() => return leave_early(&life),
        Some(()) = stop_asked.recv() => return leave_early(&life),
    };
    let mind = awakened.inspect_err(|_| leave_socket(&life))?;
    let noted = lock.note(&holder(&life, Some(port))).inspect_err(|_| leave_socket(&life));
    noted.map_err(|error| environment(&error))?;
    app.wake(awake(&life, &app, mind.as_ref()));
    tokio::spawn(http::vitals::sample(Arc::downgrade(&app)));
    let inbox = mind.as_ref().map(|mind| mind.inbox.clone());
    tokio::spawn(refusals::tell(refused, inbox.clone()));
    if let Some(inbox) = inbox.clone() {
        let spool = Spool::at(life.home.spool());
        tokio::spawn(spool::tend(inbox, spool, app.ranks.clone()));
    }
    let beating = heartbeat.map(|heartbeat| tokio::spawn(heartbeat.live(inbox.clone())));
    info!(port, home = %life.home.root().display(), "ready");
    let (mut kernel_end, kept) = mind.map(|mind| (mind.end, mind.readers)).unzip();
    let end = tokio::select! {
        _ = term.recv() => Ending::Stop(StopReason::Signal),
        _ = int.recv() => Ending::Stop(StopReason::Signal),
        Some(()) = stop_asked.recv() => Ending::Stop(StopReason::Asked),
        Some(what) = fault.recv() => Ending::Damaged(what),
        end = wait_for(&mut kernel_end) => Ending::Kernel(end),
    };
    // Whoever still has something to tell of a request does not keep the store open.
    let readers = app.awake().map(|awake| awake.readers.clone());
    let kept = kept.into_iter().chain(readers).collect();
    drop(app);
    let left = Leaving { closing, serving, clients_gone, inbox, kept, kernel_end };
    let ended = left.leave(end, &life).await;
    if let Some(beating) = beating {
        beating.abort();
    }
    ended
}

/// Opens the doors, and reads what the one at the port is locked with.
async fn open_doors(life: &Life) -> Result<(Doors, Option<Acceptor>), Failure> {
    let tls = life.settings.tls.as_ref().map(Acceptor::load).transpose();
    let tls = tls.map_err(|error| Failure::Config(error.to_string()))?;
    let address = SocketAddr::new(life.settings.host, life.settings.port);
    let doors = Doors::open(address, &life.home.socket(), &life.home.config()).await;
    Ok((doors.map_err(|error| Failure::Environment(error.to_string()))?, tls))
}

/// Returns what routes need of the open store.
fn awake(life: &Life, app: &App, mind: Option<&Mind>) -> Awake {
    let readers = Readers::of(&life.home.database());
    let faults = app.ways_out.faults.clone();
    let clients_max = life.settings.limits.websockets.into();
    let limits = feed::Limits { clients_max, ..feed::Limits::default() };
    Awake {
        tally: mind.map_or_else(Arc::default, |it| tally::start(it.signs.head.clone(), &readers)),
        feed: Feed::start(mind.map(|mind| &mind.signs), &readers, faults, limits),
        readers,
        mind: mind.map(|mind| http::Mind {
            inbox: mind.inbox.clone(),
            signs: mind.signs.clone(),
            hands: mind.hands.clone(),
            keeper: mind.keeper.clone(),
        }),
    }
}

/// Leaves no socket behind at which nobody listens.
fn leave_socket(life: &Life) {
    let _ = std::fs::remove_file(life.home.socket());
}

/// Ends before there is anything to take leave of.
fn leave_early(life: &Life) -> Result<(), Failure> {
    info!("stopping before the start was over");
    leave_socket(life);
    Ok(())
}

/// Why the daemon ends.
enum Ending {
    Stop(StopReason),
    /// A reader found the store damaged.
    Damaged(String),
    Kernel(End),
}

/// The kernel, awake.
struct Mind {
    inbox: Inbox,
    signs: Signs,
    hands: AbortHandle,
    keeper: Orders,
    /// What the keeper reads by.
    readers: Readers,
    end: oneshot::Receiver<End>,
}

/// Opens the store, mending it if it must be, and starts the kernel and its hands. In safe mode, neither.
async fn awaken(life: &Life, disk: Disk, files_max: Option<u64>) -> Result<Option<Mind>, Failure> {
    if life.safe_mode.is_some() {
        return Ok(None);
    }
    let reading = clock::read();
    let (home, settings) = (&life.home, life.settings.store);
    let opening = life.clone();
    // To mend a store can take minutes, in which health is to be told.
    let opened = tokio::task::spawn_blocking(move || open_store(&opening, disk, reading.wall));
    let opened = opened.await.map_err(|error| Failure::Crash(error.to_string()))?;
    let (opened, disk) = opened?;
    let start = Report::Started {
        version: life.version.clone(),
        pid: std::process::id(),
        guarded: life.guarded,
        news: opened.news,
    };
    let kernel = Kernel::new(opened.store, settings, start);
    let (hands, actions) = mpsc::channel(ACTIONS_MAX);
    let clock = Clock::start(kernel.head().1, reading);
    let kit = Kit { kernel, clock, hands, disk, database: home.database() };
    let started = inbox::start(kit).map_err(|error| Failure::Environment(error.to_string()));
    let (inbox, signs, end) = started?;
    let readers = Readers::of(&home.database());
    let kinds = Arc::new(Shelf::of(home.agents(), life.settings.kinds.clone()));
    for known in kinds.kinds().all() {
        let (kind, commanded) =
            (known.manifest.kind.to_string(), known.manifest.runs_what_it_is_told());
        inbox.tell(Report::KindIs { kind, commanded });
    }
    let keeper =
        keeper::start(Desk::new(home, &inbox, &readers, &kinds, &life.settings, files_max, clock));
    let hands = Hands {
        inbox: inbox.clone(),
        database: home.database(),
        backups: home.backups(),
        snapshots_keep: settings.snapshots_keep as usize,
        agents: Some(keeper.clone()),
    };
    let hands = tokio::spawn(hands.work(actions)).abort_handle();
    // A password that was changed while no daemon ran puts out who came in by it.
    let digest = password::digest(home).unwrap_or_else(|error| {
        warn!(%error, "the password cannot be read: nobody gets in by one");
        None
    });
    // A store that cannot be written can still be read: it says so instead of ending.
    if let Err(denied) = inbox.ask(Report::PasswordIs { digest }).await {
        warn!(%denied, "the start could not be stored");
    }
    Ok(Some(Mind { inbox, signs, hands, keeper, readers, end }))
}

fn open_store(
    life: &Life,
    mut disk: Disk,
    now: Timestamp,
) -> Result<(repair::Opened, Disk), Failure> {
    let (home, database) = (&life.home, life.home.database());
    let open = || repair::open(&database, &home.backups(), LogId::new(Names.ulid()), now);
    let is_full = |error: &StoreError| matches!(error, StoreError::Full);
    let opened = disk.make_way(is_full, open).map_err(|error| match is_full(&error) {
        true => no_room(life),
        false => error.into(),
    })?;
    sweep(home, life.settings.store.snapshots_keep as usize);
    Ok((opened, disk))
}

/// Clears away what earlier lives left in the backups.
fn sweep(home: &Home, keep: usize) {
    let swept = backup::sweep(&home.backups())
        .and_then(|()| backup::prune(&home.backups(), SnapshotKind::Migration, keep));
    if let Err(error) = swept {
        warn!(%error, "old backups could not be cleared away");
    }
}

fn facts(life: &Life, port: u16) -> Facts {
    Facts {
        home: life.home.clone(),
        version: life.version.clone(),
        pid: std::process::id(),
        port,
        started_at: clock::wall(),
        safe_mode: life.safe_mode.clone(),
    }
}

/// Waits for the kernel to end by itself.
async fn wait_for(kernel: &mut Option<oneshot::Receiver<End>>) -> End {
    let Some(thread) = kernel else { return pending().await };
    let ended = thread.await;
    *kernel = None;
    ended.unwrap_or(End::Panicked)
}

/// What is to be closed, in order.
struct Leaving {
    closing: watch::Sender<bool>,
    serving: tokio::task::JoinHandle<()>,
    clients_gone: mpsc::Receiver<()>,
    inbox: Option<Inbox>,
    /// What is read by until the end.
    kept: Vec<Readers>,
    kernel_end: Option<oneshot::Receiver<End>>,
}

impl Leaving {
    async fn leave(mut self, why: Ending, life: &Life) -> Result<(), Failure> {
        let ended = match why {
            Ending::Stop(why) => {
                info!(?why, "stopping");
                if let Some(inbox) = &self.inbox {
                    let _ = timeout(FAREWELL_WITHIN, inbox.ask(Report::Stopping { why })).await;
                }
                Ok(())
            }
            Ending::Damaged(what) => {
                error!(what, "the store is damaged: ending, to mend it at the next start");
                if let Err(error) = repair::mark(&life.home.database(), &what) {
                    error!(%error, "the damage could not be noted");
                }
                Err(Failure::Environment(format!("the store is damaged: {what}")))
            }
            Ending::Kernel(End::Told) => Ok(()),
            Ending::Kernel(End::Broken(why)) => Err(Failure::Environment(why)),
            Ending::Kernel(End::Panicked) => {
                Err(Failure::Crash("the kernel panicked; its last words are above".to_owned()))
            }
        };
        self.closing.send_replace(true);
        let drained = async {
            let _ = (&mut self.serving).await;
            let _ = self.clients_gone.recv().await;
        };
        if timeout(DRAIN_WITHIN, drained).await.is_err() {
            warn!("not every client left in time");
        }
        for readers in self.kept {
            readers.close();
        }
        if let Some(inbox) = self.inbox {
            // It waits while the inbox is full.
            tokio::task::spawn_blocking(move || inbox.end());
        }
        if let Some(thread) = self.kernel_end
            && timeout(FAREWELL_WITHIN, thread).await.is_err()
        {
            warn!("the kernel did not end in time; what it had acknowledged is stored");
        }
        leave_socket(life);
        ended
    }
}
