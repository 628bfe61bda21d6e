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

use crate::backup::{Note, begin_again, files, newest_good, newest_known};
use crate::check::damage;
use crate::file::{at, beside, clear, copy, remove, stamp, write};
use crate::salvage::{Salvaged, salvage};
use crate::{Store, StoreError, View, events, logs, misread, projects, swap};

/// A database that is open, and what there is to tell of its opening.
#[derive(Debug)]
pub struct Opened {
    pub store: Store,
    pub news: Vec<What>,
}

/// Opens the database at `path`, mending it first if it is damaged. Snapshots are in `backups`, and
/// `log` is the id of the log that begins if a log begins.
pub fn open(path: &Path, backups: &Path, log: LogId, now: Timestamp) -> Result<Opened, StoreError> {
    swap::finish(path, backups)?;
    if let Some(what) = marked(path) {
        if path.exists()
            && let Some(damage) = damage(path)?
        {
            mend(path, backups, log, now, format!("{what}; {damage}"))?;
        }
        unmark(path)?;
    }
    match try_open(path, backups, log, now) {
        Err(StoreError::Damaged { what }) => {
            mend(path, backups, log, now, what)?;
            unmark(path)?;
            try_open(path, backups, log, now)
        }
        opened => opened,
    }
}

fn try_open(path: &Path, backups: &Path, log: LogId, now: Timestamp) -> Result<Opened, StoreError> {
    if is_emptied(path, backups)? {
        return Err(StoreError::Damaged { what: "the file is empty".to_owned() });
    }
    let (store, migrated) = Store::open(path, backups, log, now).map_err(misread)?;
    let news = migrated.into_iter().map(|migrated| What::StoreMigrated {
        from: migrated.from,
        to: migrated.to,
        snapshot: migrated.snapshot.map(|file| file.to_string_lossy().into_owned()),
    });
    Ok(Opened { store, news: news.collect() })
}

/// Returns whether the file at `path` is empty and was not always so. SQLite would take it for a new
/// one, and throw away what belongs to it.
fn is_emptied(path: &Path, backups: &Path) -> Result<bool, StoreError> {
    let length = |path: &Path| fs::metadata(path).map(|file| file.len()).ok();
    let was_more = || Ok(length(&beside(path, "-wal")) > Some(0) || !files(backups)?.is_empty());
    if length(path) == Some(0) { was_more() } else { Ok(false) }
}

/// Notes that the database at `path` was found damaged, so that the next opening looks at all of it.
pub fn mark(path: &Path, what: &str) -> Result<(), StoreError> {
    write(&mark_path(path), what.as_bytes())
}

fn marked(path: &Path) -> Option<String> {
    let mark = fs::read(mark_path(path)).ok()?;
    Some(String::from_utf8_lossy(&mark).into_owned())
}

/// Forgets that the database was found damaged, and what a mending that was cut short left behind.
fn unmark(path: &Path) -> Result<(), StoreError> {
    clear(&mended_path(path))?;
    clear(&examined_path(path))?;
    remove(&mark_path(path))
}

fn mark_path(path: &Path) -> PathBuf {
    beside(path, ".damaged")
}

fn mended_path(path: &Path) -> PathBuf {
    beside(path, ".mended")
}

fn examined_path(path: &Path) -> PathBuf {
    beside(path, ".examined")
}

/// Puts a sound database in the place of the damaged one at `path`, which is not touched before there is
/// one.
fn mend(
    path: &Path,
    backups: &Path,
    log: LogId,
    now: Timestamp,
    what_was_wrong: String,
) -> Result<(), StoreError> {
    mark(path, &what_was_wrong)?;
    fs::create_dir_all(backups).map_err(at(backups))?;
    let aside = swap::unused(backups, &format!("damaged-{}", stamp(now)));
    let kept_at = named(&backups.join(&aside));
    let mended = mended_path(path);
    let made = make(path, &mended, backups, log, now).and_then(|repair| {
        let repair = Repair { what_was_wrong, kept_at, ..repair };
        begin_again(&mended, backups, log, now, What::StoreRepaired(repair), Actor::Cmux)
    });
    if let Err(error) = made {
        clear(&mended)?;
        return Err(error);
    }
    swap::replace(&mended, path, backups, &aside)
}

/// Makes a sound database at `mended` from the best there is, and returns what that was.
fn make(
    path: &Path,
    mended: &Path,
    backups: &Path,
    log: LogId,
    now: Timestamp,
) -> Result<Repair, StoreError> {
    clear(mended)?;
    let saved = salvage_copy(path, mended, log, now)?;
    let snapshot = newest_good(backups)?.filter(|(_, note)| may_stand_in(note, saved));
    let newest_known = [
        saved.map(|saved| saved.newest),
        newest_known(backups, saved.and_then(|saved| saved.log)),
        snapshot.as_ref().map(|(_, note)| note.head),
    ];
    let copied = snapshot.as_ref().map(|(file, note)| (note.events, named(file)));
    let source = choose(saved.map(|saved| saved.events), copied);
    match (&source, snapshot) {
        (RepairSource::Salvage, _) => {}
        (RepairSource::Snapshot { .. }, Some((file, _))) => {
            clear(mended)?;
            copy(&file, mended)?;
        }
        (RepairSource::Snapshot { .. }, None) | (RepairSource::Nothing, _) => clear(mended)?,
    }
    let (store, _) = Store::open(mended, backups, log, now)?;
    account(store.view(), source, newest_known.into_iter().flatten().max())
}

/// Returns whether a snapshot may be preferred to what was saved: not if it is of another log, since
/// that may have been given up for this one.
fn may_stand_in(note: &Note, saved: Option<Salvaged>) -> bool {
    match saved {
        Some(Salvaged { events: 1.., log: Some(log), .. }) => note.log == log,
        Some(_) | None => true,
    }
}

/// Works out what there is in a mended database, and what is missing as far as it is known.
fn account(
    view: View<'_>,
    source: RepairSource,
    newest_known: Option<EventId>,
) -> Result<Repair, StoreError> {
    let archived = logs::checkpoint(view)?.map_or(0, |(event, _)| event.0);
    let were = newest_known.map_or(0, |newest| newest.0.saturating_sub(archived));
    let events_kept = events::count(view)?;
    Ok(Repair {
        what_was_wrong: String::new(),
        kept_at: String::new(),
        source,
        newest_known,
        events_kept,
        events_missing: u64::try_from(were).unwrap_or(0).saturating_sub(events_kept),
        projects_kept: projects::all(view)?.len() as u64,
    })
}

fn named(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// Salvages from a copy, since reading a database can change its files.
fn salvage_copy(
    path: &Path,
    to: &Path,
    log: LogId,
    now: Timestamp,
) -> Result<Option<Salvaged>, StoreError> {
    let examined = examined_path(path);
    clear(&examined)?;
    let mut copied = Ok(());
    for suffix in ["", "-wal"] {
        let from = beside(path, suffix);
        if copied.is_ok() && from.exists() {
            copied = copy(&from, &beside(&examined, suffix));
        }
    }
    let saved = copied.and_then(|()| salvage(&examined, to, log, now));
    clear(&examined)?;
    match saved {
        Err(StoreError::Damaged { .. } | StoreError::Sqlite(_)) => Ok(None),
        saved => saved,
    }
}
