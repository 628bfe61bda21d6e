//! Opens the database, and mends it first if it is damaged.
//!
//! The damaged file is moved aside untouched. Its readable rows, or else the last good snapshot, become
//! the database under a new log id; and what is missing is told. Each source is tried once, and the
//! last one, a new database, cannot fail for want of a source: so it never loops.

use std::fs;
use std::path::{Path, PathBuf};

use cmux_core::event::{Actor, What};
use cmux_core::id::{EventId, LogId};
use cmux_core::repair::{Repair, RepairSource, choose};
use cmux_core::time::Timestamp;

use crate::backup::{begin_again, newest_good, newest_known, set_aside};
use crate::check::damage;
use crate::file::{at, beside, remove, settle, stamp, write};
use crate::salvage::{Salvaged, salvage};
use crate::{Store, StoreError, projects};

/// A database that is open, and what there is to tell of its opening.
#[derive(Debug)]
pub struct Opened {
    pub store: Store,
    pub news: Vec<What>,
}

/// Opens the database at `path`, mending it first if it is damaged. Snapshots are in `backups`, and
/// `log` is the id of the log that begins if a log begins.
pub fn open(path: &Path, backups: &Path, log: LogId, now: Timestamp) -> Result<Opened, StoreError> {
    finish(path)?;
    if let Some(what) = marked(path) {
        if let Some(damage) = damage(path).filter(|_| path.exists()) {
            mend(path, backups, log, now, format!("{what}; {damage}"))?;
        }
        remove(&mark_path(path))?;
    }
    match try_open(path, backups, log, now) {
        Err(StoreError::Damaged { what }) => {
            mend(path, backups, log, now, what)?;
            remove(&mark_path(path))?;
            try_open(path, backups, log, now)
        }
        opened => opened,
    }
}

fn try_open(path: &Path, backups: &Path, log: LogId, now: Timestamp) -> Result<Opened, StoreError> {
    let (store, migrated) = Store::open(path, backups, log, now)?;
    // What cannot be read of the little that every turn needs would stop it again and again.
    projects::all(store.view())?;
    let news = migrated.into_iter().map(|migrated| What::StoreMigrated {
        from: migrated.from,
        to: migrated.to,
        snapshot: migrated.snapshot.map(|file| file.to_string_lossy().into_owned()),
    });
    Ok(Opened { store, news: news.collect() })
}

/// Notes that the database at `path` was found damaged, so that the next opening looks at all of it.
pub fn mark(path: &Path, what: &str) -> Result<(), StoreError> {
    write(&mark_path(path), what.as_bytes())
}

fn marked(path: &Path) -> Option<String> {
    fs::read_to_string(mark_path(path)).ok()
}

fn mark_path(path: &Path) -> PathBuf {
    beside(path, ".damaged")
}

fn mended_path(path: &Path) -> PathBuf {
    beside(path, ".mended")
}

/// Finishes a mending that was cut short after the damaged file was moved aside.
fn finish(path: &Path) -> Result<(), StoreError> {
    let mended = mended_path(path);
    if mended.exists() && !path.exists() && marked(path).is_some() {
        settle(&mended, path)?;
        remove(&mark_path(path))?;
    }
    Ok(())
}

/// Puts a sound database in the place of the damaged one at `path`.
fn mend(
    path: &Path,
    backups: &Path,
    log: LogId,
    now: Timestamp,
    what_was_wrong: String,
) -> Result<(), StoreError> {
    mark(path, &what_was_wrong)?;
    fs::create_dir_all(backups).map_err(at(backups))?;
    let mended = mended_path(path);
    clear(&mended)?;
    let saved = salvage_copy(path, &mended, log, now)?;
    let snapshot = newest_good(backups)?;
    let known = newest_known(backups, saved.and_then(|saved| saved.log));
    let rows = saved.map(|saved| saved.events);
    let named = |file: &Path| file.to_string_lossy().into_owned();
    let source = choose(rows, snapshot.as_ref().map(|(file, note)| (note.events, named(file))));
    let kept = match (&source, &snapshot) {
        (RepairSource::Salvage, _) => rows.unwrap_or(0),
        (RepairSource::Snapshot { .. }, Some((file, note))) => {
            clear(&mended)?;
            fs::copy(file, &mended).map_err(at(&mended))?;
            note.events
        }
        (RepairSource::Snapshot { .. }, None) | (RepairSource::Nothing, _) => {
            clear(&mended)?;
            0
        }
    };
    let aside = backups.join(format!("damaged-{}", stamp(now)));
    let repair = Repair {
        what_was_wrong,
        kept_at: named(&aside),
        source,
        events_kept: kept,
        ..account(saved, snapshot.map(|(_, note)| note.head), known, kept)
    };
    let repair = Repair { projects_kept: count_projects(&mended, backups, log, now)?, ..repair };
    begin_again(&mended, backups, log, now, What::StoreRepaired(repair), Actor::Cmux)?;
    set_aside(path, &aside)?;
    settle(&mended, path)
}

/// Works out what is missing, as far as it is known what there was.
fn account(
    saved: Option<Salvaged>,
    snapshot: Option<EventId>,
    known: Option<EventId>,
    kept: u64,
) -> Repair {
    let seen = saved.map(|saved| saved.newest);
    let newest = [seen, snapshot, known].into_iter().flatten().max();
    let archived = saved.map_or(EventId(0), |saved| saved.archived);
    let were = newest.map_or(0, |newest| newest.0.saturating_sub(archived.0));
    Repair {
        what_was_wrong: String::new(),
        kept_at: String::new(),
        source: RepairSource::Nothing,
        newest_known: newest,
        events_kept: kept,
        events_missing: u64::try_from(were).unwrap_or(0).saturating_sub(kept),
        projects_kept: 0,
    }
}

fn count_projects(
    mended: &Path,
    backups: &Path,
    log: LogId,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let (store, _) = Store::open(mended, backups, log, now)?;
    Ok(projects::all(store.view())?.len() as u64)
}

/// Salvages from a copy, since reading a database can change its files.
fn salvage_copy(
    path: &Path,
    to: &Path,
    log: LogId,
    now: Timestamp,
) -> Result<Option<Salvaged>, StoreError> {
    let copy = beside(path, ".examined");
    clear(&copy)?;
    for suffix in ["", "-wal"] {
        let from = beside(path, suffix);
        if from.exists() {
            fs::copy(&from, beside(&copy, suffix)).map_err(at(&from))?;
        }
    }
    let saved = salvage(&copy, to, log, now);
    clear(&copy)?;
    match saved {
        Err(StoreError::Damaged { .. } | StoreError::Sqlite(_)) => {
            clear(to)?;
            Ok(None)
        }
        saved => saved,
    }
}

/// Removes a database that is in nobody's use.
fn clear(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm"] {
        remove(&beside(path, suffix))?;
    }
    Ok(())
}
