//! The open database and its one writer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cmux_core::event::Event;
use cmux_core::id::{EventId, LogId};
use cmux_core::time::Timestamp;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::{SQLITE_MIN, StoreError, chain, events, logs, migrate};

/// How long a statement waits for another process to let go of the file.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// An open database, to write to. There is one in a process, and one process.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    path: PathBuf,
    head: Head,
    log: LogId,
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
        let log = logs::current(View { db: &db })?;
        let log = match log {
            Some(log) => log,
            None => logs::begin(&db, new_log, EventId(0), now)?,
        };
        let head = events::head(View { db: &db })?;
        Ok((Store { db, path: path.to_owned(), head, log }, migrated))
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
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut tx = Tx { db: &transaction, head: self.head };
        let done = work(&mut tx)?;
        let head = tx.head;
        transaction.commit()?;
        self.head = head;
        Ok(done)
    }

    /// Moves what is in the write-ahead log into the database, as far as readers let it.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        let done = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
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
        let next = chain::next(self.head, event, now);
        events::insert(self.db, &next)?;
        self.head = Head { id: next.id, hash: next.hash, at: Some(now) };
        Ok(next.id)
    }
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
    let mode: String = db
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(|error| unwritable(path, error))?;
    if mode != "wal" && mode != "memory" {
        let why = format!("its journal mode is {mode} and cannot be changed");
        return Err(StoreError::Unwritable { path: path.to_owned(), why });
    }
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "journal_size_limit", 64 << 20)?;
    tame(&db)?;
    Ok(db)
}

/// Trusts nothing that a file may bring with it.
pub(crate) fn tame(db: &Connection) -> Result<(), StoreError> {
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "mmap_size", 0)?;
    db.set_prepared_statement_cache_capacity(128);
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
            StoreError::Unwritable { path: path.to_owned(), why: error.to_string() }
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
