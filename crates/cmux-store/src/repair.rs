//! Opens the database, and mends it first if it is damaged.
//!
//! The damaged file is moved aside untouched. Its readable rows, or else the last good snapshot, become
//! the database under a new log id; and what is missing is told. Each source is tried once, and the
//! last one, a new database, cannot fail for want of a source: so it never loops.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use cmux_core::event::{Actor, What};
use cmux_core::id::{EventId, LogId};
use cmux_core::repair::{Repair, RepairSource, choose, may_stand_in};
use cmux_core::time::Timestamp;

use crate::backup::{begin_again, files, newest_good, newest_known};
use crate::check::damage;
use crate::file::{at, beside, clear, clear_failed, copy, remove, stamp, write};
use crate::salvage::{Salvaged, salvage};
use crate::{Store, StoreError, View, logs, migrate, misread, projects, swap};

/// More versions than the store will ever have had: such a number is damage, and no later cmux's.
const VERSIONS_MAX: u32 = 10_000;

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
        let what = if path.exists() { "the file is empty" } else { "the file is gone" };
        return Err(StoreError::Damaged { what: what.to_owned() });
    }
    let (store, migrated) = Store::open(path, backups, log, now).map_err(misread)?;
    let news = migrated.into_iter().map(|migrated| What::StoreMigrated {
        from: migrated.from,
        to: migrated.to,
        snapshot: migrated.snapshot.map(|file| file.to_string_lossy().into_owned()),
    });
    Ok(Opened { store, news: news.collect() })
}

/// Returns whether the file at `path` is empty or gone and was not always so. SQLite would make a new
/// one, and throw away what belongs to it.
fn is_emptied(path: &Path, backups: &Path) -> Result<bool, StoreError> {
    let length = |path: &Path| fs::metadata(path).map(|file| file.len()).ok();
    let was_more = || Ok(length(&beside(path, "-wal")) > Some(0) || !files(backups)?.is_empty());
    if length(path).unwrap_or(0) == 0 { was_more() } else { Ok(false) }
}

/// Notes that the database at `path` was found damaged, so that the next opening looks at all of it.
pub fn mark(path: &Path, what: &str) -> Result<(), StoreError> {
    write(&mark_path(path), what.as_bytes())
}

fn marked(path: &Path) -> Option<String> {
    let mark = fs::read(mark_path(path)).ok()?;
    Some(String::from_utf8_lossy(&mark).into_owned())
}

/// Forgets that the database was found damaged, and what was copied to look at it.
fn unmark(path: &Path) -> Result<(), StoreError> {
    clear(&examined_path(path))?;
    remove(&mark_path(path))
}

fn mark_path(path: &Path) -> PathBuf {
    beside(path, ".damaged")
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
    require_ours(path)?;
    mark(path, &what_was_wrong)?;
    fs::create_dir_all(backups).map_err(at(backups))?;
    let aside = swap::unused(backups, &format!("damaged-{}", stamp(now)));
    let kept_at = named(&backups.join(&aside));
    let mended = swap::draft_path(path);
    let made = make(path, &mended, backups, log, now).and_then(|repair| {
        let repair = Repair { what_was_wrong, kept_at, ..repair };
        begin_again(&mended, backups, log, now, What::StoreRepaired(repair), Actor::Cmux)
    });
    clear_failed(&mended, made)?;
    swap::replace(path, backups, &aside)
}

/// Refuses to mend what a later cmux wrote: what this one does not know of it would be lost. It goes by
/// the bytes alone, since opening a database can change its files.
fn require_ours(path: &Path) -> Result<(), StoreError> {
    let mut header = [0; 72];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    // What is too short for a header is nobody's.
    let is_cmux =
        read.is_ok() && header.starts_with(b"SQLite format 3\0") && header.ends_with(b"cmux");
    let needed = header.get(60..64).and_then(|bytes| bytes.try_into().ok());
    match needed.map(u32::from_be_bytes) {
        Some(needed) if is_cmux && (migrate::KNOWN + 1..VERSIONS_MAX).contains(&needed) => {
            Err(StoreError::TooNew { path: path.to_owned(), needed, known: migrate::KNOWN })
        }
        Some(_) | None => Ok(()),
    }
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
    let (rows, life) = saved.map_or((0, None), |saved| (saved.events, saved.log));
    let snapshot = newest_good(backups)?.filter(|(_, note)| may_stand_in(note.log, rows, life));
    let newest_known = [
        saved.map(|saved| saved.newest),
        newest_known(backups, life),
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
    let newest_known = newest_known.into_iter().flatten().filter(|id| *id > EventId(0)).max();
    account(store.view(), source, newest_known)
}

/// Works out what there is in a mended database, and what is missing as far as it is known.
fn account(
    view: View<'_>,
    source: RepairSource,
    newest_known: Option<EventId>,
) -> Result<Repair, StoreError> {
    let archived = logs::checkpoint(view)?.map_or(0, |(event, _)| event.0);
    let were = newest_known.map_or(0, |newest| newest.0.saturating_sub(archived));
    let kept = "SELECT count(*) FROM events WHERE id > ?1";
    let events_kept: u64 = view.db.query_row(kept, [archived], |row| row.get(0))?;
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
    if !path.exists() {
        return Ok(None);
    }
    let examined = examined_path(path);
    clear(&examined)?;
    let saved = copy_all(path, &examined).and_then(|()| salvage(&examined, to, log, now));
    let saved = match clear_failed(&examined, saved) {
        Err(StoreError::Damaged { .. } | StoreError::Sqlite(_)) => None,
        saved => saved?,
    };
    clear(&examined)?;
    Ok(saved)
}

fn copy_all(path: &Path, to: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal"] {
        let file = beside(path, suffix);
        if file.exists() {
            copy(&file, &beside(to, suffix))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use cmux_core::event::Event;
    use cmux_core::project::Project;
    use serde_json::Value;
    use tempfile::TempDir;
    use ulid::Ulid;

    use super::*;
    use crate::events::Filter;
    use crate::file::power;
    use crate::{backup, chain, events};

    const NOW: Timestamp = Timestamp(1_000);
    const LATER: Timestamp = Timestamp(2_000);

    #[test]
    fn a_mending_may_stop_before_any_change_of_a_file() {
        let stops = (0..).take_while(|&steps| mend_for(steps)).count();
        assert!(stops >= 20, "{stops}");
    }

    #[test]
    fn a_restore_may_stop_before_any_change_of_a_file() {
        let stops = (0..).take_while(|&steps| restore_for(steps)).count();
        assert!(stops >= 10, "{stops}");
    }

    /// Opens a damaged store on a machine that stops after so many changes of files, and again on one
    /// that does not. Returns whether it stopped.
    fn mend_for(steps: u32) -> bool {
        let home = Home::new();
        let damaged = home.damage();
        power::for_steps(Some(steps));
        let stopped = home.open(2, NOW).is_err();
        power::for_steps(None);
        home.check_kept(&damaged);
        let opened = home.open(3, LATER).unwrap();
        let rows = events::newest(opened.store.view(), 50, &Filter::default()).unwrap();
        assert_eq!(
            rows.iter().map(|row| row.id.0).collect::<Vec<_>>(),
            (1..=26).collect::<Vec<_>>()
        );
        assert_eq!(chain::verify(opened.store.view(), &[]).unwrap().misfit, None);
        let told: Value = serde_json::from_str(&rows[25].data).unwrap();
        assert_eq!((&told["events_kept"], &told["events_missing"]), (&25.into(), &0.into()));
        let aside = PathBuf::from(told["kept_at"].as_str().unwrap());
        assert_eq!(Home::files(&aside.join("cmux.db")), damaged, "after {steps} changes");
        home.check_tidy(opened);
        stopped
    }

    /// Puts back a backup on a machine that stops after so many changes of files, and opens what is
    /// there. Returns whether it stopped.
    fn restore_for(steps: u32) -> bool {
        let home = Home::new();
        let was = Home::files(&home.path());
        let from = home.backups().join("backup.db");
        power::for_steps(Some(steps));
        let restored = backup::restore(&from, &home.path(), &home.backups(), log(2), NOW);
        power::for_steps(None);
        home.check_kept(&was);
        let opened = home.open(3, LATER).unwrap();
        let (head, life) = (opened.store.head().id.0, opened.store.log());
        assert!((head, life) == (25, log(1)) || (head, life) == (21, log(2)), "{head}, {life}");
        assert!(restored.is_err() || life == log(2));
        home.check_tidy(opened);
        restored.is_err()
    }

    /// A folder as a daemon that was killed leaves it: with a backup of 20 events, and a store of 25,
    /// the last 5 of them beside the file and not yet in it.
    struct Home(TempDir);

    impl Home {
        fn new() -> Home {
            let (alive, home) =
                (Home(tempfile::tempdir().unwrap()), Home(tempfile::tempdir().unwrap()));
            let mut store = alive.open(1, NOW).unwrap().store;
            store.turn(|tx| projects::save(tx, &project())).unwrap();
            tell(&mut store, 20);
            store.checkpoint().unwrap();
            fs::create_dir(home.backups()).unwrap();
            let backup = home.backups().join("backup.db");
            backup::copy(&alive.path(), &backup, NOW).unwrap();
            // It is for the restore, and of no use to the mending.
            fs::remove_file(backup::note_path(&backup)).unwrap();
            tell(&mut store, 5);
            for suffix in ["", "-wal"] {
                fs::copy(beside(&alive.path(), suffix), beside(&home.path(), suffix)).unwrap();
            }
            home
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("cmux.db")
        }

        fn backups(&self) -> PathBuf {
            self.0.path().join("backups")
        }

        fn open(&self, new_log: u128, now: Timestamp) -> Result<Opened, StoreError> {
            open(&self.path(), &self.backups(), log(new_log), now)
        }

        /// Makes the project's row one that no cmux can read, and returns the files as they are then.
        fn damage(&self) -> [Option<Vec<u8>>; 2] {
            let mut bytes = fs::read(self.path()).unwrap();
            let id = project().id.as_str().as_bytes().to_vec();
            let places: Vec<usize> =
                (0..bytes.len() - id.len()).filter(|&at| bytes[at..].starts_with(&id)).collect();
            assert!(!places.is_empty());
            places.into_iter().for_each(|place| bytes[place] = b'!');
            fs::write(self.path(), bytes).unwrap();
            Home::files(&self.path())
        }

        /// Returns the database at `path` and its write-ahead log, as far as they are there.
        fn files(path: &Path) -> [Option<Vec<u8>>; 2] {
            ["", "-wal"].map(|suffix| fs::read(beside(path, suffix)).ok())
        }

        /// Checks that each file of a store is in its place or set aside, and as it was.
        fn check_kept(&self, files: &[Option<Vec<u8>>; 2]) {
            let asides = fs::read_dir(self.backups()).unwrap();
            let mut places: Vec<PathBuf> =
                asides.map(|aside| aside.unwrap().path().join("cmux.db")).collect();
            places.push(self.path());
            for (n, file) in files.iter().enumerate() {
                assert!(places.iter().any(|place| Home::files(place)[n] == *file));
            }
        }

        /// Checks that nothing lies about once the store is closed, but for a note that was begun.
        fn check_tidy(&self, opened: Opened) {
            drop(opened);
            let entries = fs::read_dir(self.0.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names.retain(|name| !name.to_string_lossy().ends_with(".part"));
            assert_eq!(names, ["backups", "cmux.db"]);
        }
    }

    fn log(n: u128) -> LogId {
        LogId::new(Ulid::from(n))
    }

    fn project() -> Project {
        Project::new("/proj/unmistakable", None, NOW).unwrap()
    }

    fn tell(store: &mut Store, count: i64) {
        let event = |by_ms| Event::own(What::ClockJumped { by_ms });
        store
            .turn(|tx| (0..count).try_for_each(|n| tx.append(&event(n), NOW).map(|_| ())))
            .unwrap();
    }
}
