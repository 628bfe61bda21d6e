//! The open database and its one writer.

use std::ffi::c_int;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use cmux_core::agent::{Agent, AgentName, Setup};
use cmux_core::delivery::{Delivery, DeliveryState};
use cmux_core::digest::Digest;
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{EventId, LogId};
use cmux_core::mail;
use cmux_core::message::{Body, MessageKind, NewMessage, Recipient, Sender, TTL_MIN, TYPED_MAX};
use cmux_core::plan::Subject;
use cmux_core::project::{Look, Presence, Project, ProjectId};
use cmux_core::report::NewAgent;
use cmux_core::session::{Link, Session, SessionHow};
use cmux_core::time::Timestamp;
use cmux_core::token::{Token, TokenScope};
use cmux_core::webhook::Taken;
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use serde_json::Value;

use crate::file::at;
use crate::hooks::{self, Heard};
use crate::{
    SQLITE_MIN, StoreError, agents, chain, deliveries, events, links, logs, messages, migrate,
    misread, payloads, projects, sessions, settings, tokens, wake, webhooks,
};

/// How long a statement waits for another process to let go of the file.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// How many pages the write-ahead log has before it is moved into the database.
const PAGES_MAX: i32 = 1000;

/// Names that nothing has, for what is written and taken back.
const REHEARSAL_AGENT: &str = "agt_00000000000000000000000000";
const REHEARSAL_RUN: &str = "run_00000000000000000000000000";
const REHEARSAL_MESSAGE: &str = "msg_00000000000000000000000000";
const REHEARSAL_DELIVERY: &str = "dlv_00000000000000000000000000";
const REHEARSAL_HOOK: &str = "hk_00000000000000000000000000";
const REHEARSAL_TOKEN: &str = "tok_00000000000000000000000000";
const REHEARSAL_SESSION: &str = "ses_00000000000000000000000000";

/// An open database, to write to. There is one in a process, and one process.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    path: PathBuf,
    head: Head,
    log: LogId,
    /// How many pages are in the write-ahead log.
    pages: Arc<AtomicI32>,
}

/// The newest row of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub id: EventId,
    pub hash: [u8; 32],
    /// When it was written, if any was.
    pub at: Option<Timestamp>,
}

/// A database as it is at one moment, to read from.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(crate) db: &'a Connection,
}

/// A turn's writes, which come to be together or not at all.
#[derive(Debug)]
pub struct Tx<'a> {
    pub(crate) db: &'a Connection,
    head: Head,
    parts: Parts,
    /// Whether a part was refused that was not kept apart.
    refused: bool,
}

/// Whether a part of a turn can be undone by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parts {
    Together,
    Apart,
}

/// A turn that came to nothing.
struct Failed {
    error: StoreError,
    /// Whether only a part of it was refused.
    by_a_part: bool,
}

impl<E: Into<StoreError>> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed { error: error.into(), by_a_part: false }
    }
}

impl Store {
    /// Opens the database at `path`, making it if there is none, and migrating it as needed. A copy of
    /// one that is to be migrated goes to `backups` first. `new_log` names the log of a new one.
    pub fn open(
        path: &Path,
        backups: &Path,
        new_log: LogId,
        now: Timestamp,
    ) -> Result<(Store, Option<migrate::Migrated>), StoreError> {
        require_sqlite()?;
        let mut db = connect(path)?;
        let migrated = migrate::run(&mut db, path, backups, now)?;
        migrate::require_described(&db)?;
        let view = View { db: &db };
        let head = events::head(view)?;
        events::require_newest(view, head.id)?;
        let log = match logs::current(view)? {
            Some(log) => log,
            None if head.id > EventId(0) => {
                return Err(StoreError::Damaged { what: "it has events but no log".to_owned() });
            }
            None => logs::begin(&db, new_log, EventId(0), now)?,
        };
        // What cannot be read of the little that every turn needs would stop it again and again.
        projects::all(view)?;
        agents::all(view)?;
        let mut store = Store { db, path: path.to_owned(), head, log, pages: Arc::default() };
        store.rehearse(now)?;
        settle_on_close(&store.db, true)?;
        // A checkpoint that SQLite makes by itself fails without a word.
        let pages = store.pages.clone();
        store.db.wal_hook(Some(move |_: &mut Wal, count: c_int| {
            pages.store(count, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok((store, migrated))
    }

    /// Writes what turns write and takes it back, so that the first of them does not find out.
    fn rehearse(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (parts, refused) = (Parts::Apart, false);
        let mut tx = Tx { db: &transaction, head: self.head, parts, refused };
        tx.append(&Event::own(What::ClockJumped { by_ms: 0 }), now)?;
        wake::set(&tx, &Subject::Daemon, Some(now))?;
        settings::save(&tx, "rehearsal", &Value::Null)?;
        if let Ok(project) = Project::new("/rehearsal", None, now) {
            let (presence, look) =
                (Presence::Missing { since: now }, Look::Underway { deadline: now });
            projects::save(&tx, &project)?;
            projects::save(&tx, &Project { presence, look, ..project.clone() })?;
            rehearse_agent(&tx, project.id.clone(), now)?;
            rehearse_mail(&tx, project.id, now)?;
        }
        rehearse_doors(&tx, now)?;
        Ok(transaction.rollback()?)
    }

    /// Returns the log that is being written.
    pub fn log(&self) -> LogId {
        self.log
    }

    /// Returns the newest row of the log.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns where the database is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the database as it is now.
    pub fn view(&self) -> View<'_> {
        View { db: &self.db }
    }

    /// Does `work` as a whole: either all of it is on the disk when this returns, or none.
    pub fn turn<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.turn_of(Parts::Apart, work).map_err(|failed| failed.error)
    }

    /// Does `work` as a whole, as [`turn`](Store::turn) does, but does not keep its parts apart at
    /// first: that costs more than all else, and hardly ever is one refused. If one is, all of it is
    /// undone and done again with care.
    pub fn quick_turn<T>(
        &mut self,
        mut work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.turn_of(Parts::Together, &mut work) {
            Err(failed) if failed.by_a_part => self.turn(work),
            done => done.map_err(|failed| failed.error),
        }
    }

    fn turn_of<T>(
        &mut self,
        parts: Parts,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
    ) -> Result<T, Failed> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut tx = Tx { db: &transaction, head: self.head, parts, refused: false };
        let done = match work(&mut tx) {
            Ok(done) => done,
            Err(error) if tx.refused => return Err(Failed { error, by_a_part: true }),
            // What no part of the turn was refused for is wrong with the file: our rows fit our tables.
            Err(error) => return Err(misread(error).into()),
        };
        let head = tx.head;
        transaction.commit()?;
        self.head = head;
        Ok(done)
    }

    /// Moves what is in the write-ahead log into the database, as far as readers let it, if it is long.
    pub fn shorten(&mut self) -> Result<(), StoreError> {
        if self.pages.load(Ordering::Relaxed) < PAGES_MAX {
            return Ok(());
        }
        let moved = |row: &rusqlite::Row<'_>| row.get(2);
        let moved: i32 = self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], moved)?;
        self.pages.fetch_sub(moved.max(0), Ordering::Relaxed);
        Ok(())
    }

    /// Leaves the files as they are when the store is closed: they failed, or are damaged.
    pub fn abandon(&self) {
        // If even that fails, there is nothing left to be done about it.
        let _ = settle_on_close(&self.db, false);
    }

    /// Moves what is in the write-ahead log into the database, as far as readers let it. It does not
    /// wait for them.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.db.busy_timeout(Duration::ZERO)?;
        let done = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        self.db.busy_timeout(BUSY_MAX)?;
        Ok(done?)
    }

    /// Makes every commit fail from now on, for tests of a disk that does not take it.
    pub fn refuse_commits(&mut self, refuse: bool) -> Result<(), StoreError> {
        Ok(self.db.commit_hook(refuse.then_some(|| true))?)
    }
}

impl<'a> Tx<'a> {
    /// Returns the database as it is within this turn.
    pub fn view(&self) -> View<'a> {
        View { db: self.db }
    }

    /// Does `work` as a part of the turn that harms no other: if its rows are refused, nothing of it
    /// stays, and the rest of the turn goes on. The outer error is one that the turn does not survive.
    pub fn part<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'a>) -> Result<T, StoreError>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        match self.parts {
            Parts::Apart => self.part_apart(work),
            Parts::Together => {
                let done = work(self);
                self.refused |= matches!(done, Err(StoreError::Sqlite(_)));
                done.map(Ok)
            }
        }
    }

    fn part_apart<T>(
        &mut self,
        work: impl FnOnce(&mut Tx<'a>) -> Result<T, StoreError>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        self.db.prepare_cached("SAVEPOINT part")?.execute([])?;
        let head = self.head;
        let done = match work(self) {
            Err(error @ StoreError::Sqlite(_)) if !self.db.is_autocommit() => {
                self.head = head;
                self.db.prepare_cached("ROLLBACK TO part")?.execute([])?;
                Err(error)
            }
            done => Ok(done?),
        };
        self.db.prepare_cached("RELEASE part")?.execute([])?;
        Ok(done)
    }

    /// Appends `event` to the log, and returns its place there.
    pub fn append(&mut self, event: &Event, now: Timestamp) -> Result<EventId, StoreError> {
        self.append_row(event, None, now)
    }

    /// Appends `event` to the log, lays beside it the raw `payload` that it tells of, and returns its
    /// place there.
    pub fn append_with(
        &mut self,
        event: &Event,
        payload: &[u8],
        now: Timestamp,
    ) -> Result<EventId, StoreError> {
        let digest = payloads::keep(self, payload, now)?;
        self.append_row(event, Some(digest), now)
    }

    fn append_row(
        &mut self,
        event: &Event,
        payload: Option<[u8; 32]>,
        now: Timestamp,
    ) -> Result<EventId, StoreError> {
        let next = chain::next(self.head, event, payload, now);
        events::insert(self.db, &next)?;
        self.head = Head { id: next.id, hash: next.hash, at: Some(now) };
        Ok(next.id)
    }
}

/// Writes an agent of `project`, before and in its life.
fn rehearse_agent(tx: &Tx<'_>, project: ProjectId, now: Timestamp) -> Result<(), StoreError> {
    let named = (REHEARSAL_AGENT.parse(), REHEARSAL_RUN.parse(), AgentName::new("rehearsal"));
    let (Ok(id), Ok(run), Ok(name)) = named else { return Ok(()) };
    let (cwd, args, env) = ("/".to_owned(), Vec::new(), Vec::new());
    let setup = Setup { cwd, task: None, args, env, permanent: false };
    let (role, kind) = ("rehearsal".to_owned(), "rehearsal".to_owned());
    let new = NewAgent { project, name, role, kind, parent: None, setup };
    let agent = Agent::new(id, new, now);
    agents::save(tx, &agent)?;
    agents::save(tx, &agent.launching(run, now, now))
}

/// Writes a message, and the delivery that it is typed in.
fn rehearse_mail(tx: &Tx<'_>, project: ProjectId, now: Timestamp) -> Result<(), StoreError> {
    let named = (REHEARSAL_AGENT.parse(), REHEARSAL_MESSAGE.parse(), REHEARSAL_DELIVERY.parse());
    let (Ok(agent), Ok(id), Ok(delivery)) = named else { return Ok(()) };
    let Ok(run) = REHEARSAL_RUN.parse() else { return Ok(()) };
    let name = || "rehearsal".to_owned();
    let new = NewMessage {
        project,
        from: Sender { actor: Actor::Cmux, name: name() },
        to: Recipient::Agent { id: agent, name: name() },
        kind: MessageKind::System,
        body: Body::new("x".repeat(TYPED_MAX + 1)),
        reply_to: None,
        interrupt: true,
        key: Some(name()),
        ttl: Some(TTL_MIN),
    };
    let message = messages::add(tx, &new, id, None, now)?;
    messages::save(tx, &mail::typed(&message, delivery), now)?;
    let (messages, text, state) = (vec![id], name(), DeliveryState::Typing);
    let (id, attempt, mark, made_at, since) = (delivery, 1, 0, now, now);
    let made = Delivery { id, agent, run, messages, text, attempt, state, mark, made_at, since };
    deliveries::save(tx, &made)
}

/// Writes what is asked for at the doors.
fn rehearse_doors(tx: &Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let secret = Digest::of(b"rehearsal");
    let (source, delivery) = ("rehearsal".to_owned(), String::new());
    webhooks::save(tx, &Taken { source, delivery, digest: secret, event: EventId(0), at: now })?;
    if let Ok(id) = REHEARSAL_HOOK.parse() {
        hooks::save(tx, &Heard { id, event: EventId(0), at: now })?;
    }
    let (Ok(token), Ok(session)) = (REHEARSAL_TOKEN.parse(), REHEARSAL_SESSION.parse()) else {
        return Ok(());
    };
    if let Ok(token) = Token::new(token, "rehearsal", TokenScope::Read, secret, None, now) {
        tokens::save(tx, &token)?;
    }
    sessions::save(tx, &Session::new(session, secret, SessionHow::Link, now))?;
    links::save(tx, &Link { session: Some(session), ..Link::new(secret, now) })
}

/// Opens the file at `path` for writing, with all that makes a commit last.
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )
    .map_err(|error| unwritable(path, error))?;
    db.busy_timeout(BUSY_MAX)?;
    settle_on_close(&db, false)?;
    db.pragma_query_value(None, "schema_version", |_| Ok(()))
        .map_err(|error| unwritable(path, error))?;
    // A file that is not ours is not even changed to our mode.
    migrate::recognise(&db)?;
    let mode: String = db
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(|error| unwritable(path, error))?;
    if mode != "wal" && mode != "memory" {
        let why = format!("its journal mode is {mode} and cannot be changed");
        return Err(StoreError::Unwritable { path: path.to_owned(), why });
    }
    require_writable(&db, path)?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "journal_size_limit", 64 << 20)?;
    tame(&db)?;
    Ok(db)
}

/// Says whether closing `db` moves its write-ahead log into it: not before it was found to be sound, so
/// that a damaged one stays as it is.
pub(crate) fn settle_on_close(db: &Connection, settle: bool) -> Result<(), StoreError> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !settle)?;
    Ok(())
}

/// Refuses a file that SQLite would only read, because it may not or because its header says so.
fn require_writable(db: &Connection, path: &Path) -> Result<(), StoreError> {
    if !db.is_readonly("main")? {
        return Ok(());
    }
    OpenOptions::new().append(true).open(path).map_err(at(path))?;
    Err(StoreError::Damaged { what: "its header says that it is only for reading".to_owned() })
}

/// Trusts nothing that a file may bring with it, and compiles each statement once.
pub(crate) fn tame(db: &Connection) -> Result<(), StoreError> {
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.set_prepared_statement_cache_capacity(128);
    // Else a statement that may use a partial index is compiled anew for every value that is bound to it.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

pub(crate) fn busy_max() -> Duration {
    BUSY_MAX
}

/// Returns what is said of a file that cannot be opened for writing.
fn unwritable(path: &Path, error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    match error.sqlite_error_code() {
        Some(CannotOpen | PermissionDenied | ReadOnly) => {
            // SQLite does not say why it cannot.
            let opened = OpenOptions::new().read(true).append(true).open(path);
            let why = opened.map_or_else(|error| error.to_string(), |_| error.to_string());
            StoreError::Unwritable { path: path.to_owned(), why }
        }
        Some(_) | None => error.into(),
    }
}

/// Refuses to run on a SQLite that can damage its files.
fn require_sqlite() -> Result<(), StoreError> {
    if rusqlite::version_number() >= SQLITE_MIN {
        Ok(())
    } else {
        Err(StoreError::OldSqlite { found: rusqlite::version().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_is_set_so_that_a_commit_lasts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cmux.db");
        let log = LogId::new(ulid::Ulid::from(1_u128));
        let (store, _) = Store::open(&path, folder.path(), log, Timestamp(0)).unwrap();
        let pragma = |name| {
            store
                .db
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
                .unwrap()
        };
        assert_eq!(pragma("journal_mode"), "wal".to_owned().into());
        for (name, value) in [
            ("synchronous", 2),
            ("foreign_keys", 1),
            ("cell_size_check", 1),
            ("trusted_schema", 0),
            ("mmap_size", 0),
            ("journal_size_limit", 64 << 20),
        ] {
            assert_eq!(pragma(name), i64::into(value), "{name}");
        }
    }
}
