//! What can be done to the store of a home where no daemon runs.
//!
//! Each takes the home's lock first, so that none can start meanwhile.

use std::path::Path;

use cmux_core::id::{LogId, NewIds};
use cmux_drivers::clock;
use cmux_drivers::home::Home;
use cmux_drivers::lock::{Holder, Lock, LockError, Role};
use cmux_drivers::process::Process;
use cmux_store::{Reader, StoreError, View, backup, chain, check, logs, repair};
use cmux_wire::store::{Audit, Backup, Check, Misfit, Restored};

use crate::names::Names;

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// A daemon runs after all: ask it.
    #[error("{} is in use{}", home, holder.as_ref().map_or(String::new(), |it| format!(" by process {}", it.process.pid)))]
    InUse { home: String, holder: Option<Holder> },
    #[error("there is no store at {0} yet")]
    NoStore(String),
    #[error("{0}")]
    Lock(std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks the store.
pub fn check(home: &Home) -> Result<Check, OfflineError> {
    let (_lock, mut reader) = open(home)?;
    Ok(say_check(home, reader.read(check::check)?))
}

/// Walks the log's hashes.
pub fn audit(home: &Home) -> Result<Audit, OfflineError> {
    let (_lock, mut reader) = open(home)?;
    let backups = home.backups();
    Ok(reader.read(|view| audit_view(view, &backups))?)
}

/// Copies the store to `file`.
pub fn back_up(home: &Home, file: &Path) -> Result<Backup, OfflineError> {
    let (_lock, _reader) = open(home)?;
    Ok(copy(home, file)?)
}

/// Puts the backup at `file` in the store's place.
pub fn restore(home: &Home, file: &Path) -> Result<Restored, OfflineError> {
    let _lock = lock(home)?;
    let log = LogId::new(Names.ulid());
    let now = clock::wall();
    let replaced = backup::restore(file, &home.database(), &home.backups(), log, now)?;
    let head = Reader::open(&home.database())?.read(cmux_store::events::head)?;
    Ok(Restored {
        file: file.display().to_string(),
        log: log.to_string(),
        head: head.id.0,
        replaced: replaced.map(|path| path.display().to_string()),
    })
}

fn open(home: &Home) -> Result<(Lock, Reader), OfflineError> {
    let lock = lock(home)?;
    if !home.database().exists() {
        return Err(OfflineError::NoStore(home.root().display().to_string()));
    }
    Ok((lock, Reader::open(&home.database())?))
}

fn lock(home: &Home) -> Result<Lock, OfflineError> {
    let root = home.root().display().to_string();
    if !home.root().exists() {
        return Err(OfflineError::NoStore(root));
    }
    let mut lock = Lock::take(&home.lock()).map_err(|error| match error {
        LockError::Held { holder } => OfflineError::InUse { home: root, holder },
        LockError::File(error) => OfflineError::Lock(error),
    })?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let (role, process) = (Role::Command, Process::myself());
    let me = Holder { role, process, since: clock::wall(), version, port: None };
    lock.note(&me).map_err(OfflineError::Lock)?;
    Ok(lock)
}

/// Copies the store to `file`, at which there must be nothing.
pub(crate) fn copy(home: &Home, file: &Path) -> Result<Backup, StoreError> {
    for place in [file, &backup::note_path(file)] {
        if place.symlink_metadata().is_ok() {
            let source = std::io::Error::other("it is there already, and is not overwritten");
            return Err(StoreError::File { path: place.to_owned(), source });
        }
    }
    let copied = backup::copy(&home.database(), file, clock::wall())?;
    Ok(Backup {
        file: copied.file,
        bytes: copied.bytes,
        sha256: copied.sha256,
        head: copied.head.0,
    })
}

/// Returns what a check found. If that is damage, the next start looks at the whole file and mends it.
pub(crate) fn say_check(home: &Home, check: check::Check) -> Check {
    if let Some(problem) = check.problems.first() {
        // That it could not be noted changes nothing of what was found.
        let _ = repair::mark(&home.database(), problem);
    }
    Check {
        ok: check.problems.is_empty(),
        problems: check.problems,
        events: check.events,
        bytes: check.pages * check.page_bytes,
    }
}

/// Walks the log's hashes, and holds the notes of the backups against it.
pub(crate) fn audit_view(view: View<'_>, backups: &Path) -> Result<Audit, StoreError> {
    let anchors = backup::anchors(backups, view)?;
    let walk = chain::verify(view, &anchors)?;
    Ok(Audit {
        ok: walk.misfit.is_none(),
        log: logs::current(view)?.map(|log| log.to_string()),
        events: walk.rows,
        head: walk.head.0,
        anchors: anchors.len(),
        misfit: walk.misfit.map(|misfit| Misfit { id: misfit.id.0, why: misfit.why }),
    })
}
