//! A folder with a store in it, and something to put into it.

use std::fs;
use std::path::{Path, PathBuf};

use cmux_core::event::{Event, What};
use cmux_core::id::{EventId, LogId, SnapshotId};
use cmux_core::project::Project;
use cmux_core::time::Timestamp;
use cmux_store::chain::Walk;
use cmux_store::events::{Filter, PAGE_MAX, Row};
use cmux_store::repair::{self, Opened};
use cmux_store::{Reader, Store, StoreError, View, backup, chain, events, projects};
use rusqlite::Connection;
use tempfile::TempDir;
use ulid::Ulid;

pub(crate) const NOW: Timestamp = Timestamp(1_767_225_600_000);
pub(crate) const LATER: Timestamp = Timestamp(NOW.0 + 60_000);
pub(crate) const EVEN_LATER: Timestamp = Timestamp(NOW.0 + 120_000);

/// SQLite's page, as cmux's files have it.
pub(crate) const PAGE: usize = 4096;

/// A folder of its own, gone when this is.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    /// Returns an empty folder.
    pub(crate) fn new() -> World {
        World { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns a folder in which this is the database.
    pub(crate) fn with(database: &[u8]) -> World {
        let world = World::new();
        fs::write(world.path(), database).unwrap();
        world
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder().join("cmux.db")
    }

    /// Returns a file that belongs to the database.
    pub(crate) fn beside(&self, suffix: &str) -> PathBuf {
        self.folder().join(format!("cmux.db{suffix}"))
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.folder().join("backups")
    }

    /// Opens the store as the daemon does. If a log begins, it is `log(1)`.
    pub(crate) fn open(&self) -> Store {
        self.open_at(1, NOW).unwrap().store
    }

    /// Opens the store as the daemon does. If a log begins, it is `log(new_log)`.
    pub(crate) fn open_at(&self, new_log: u128, now: Timestamp) -> Result<Opened, StoreError> {
        repair::open(&self.path(), &self.backups(), log(new_log), now)
    }

    pub(crate) fn reader(&self) -> Reader {
        Reader::open(&self.path()).unwrap()
    }

    /// Opens the file without asking cmux.
    pub(crate) fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Does `sql` without asking cmux.
    pub(crate) fn tamper(&self, sql: &str) {
        self.raw().execute_batch(sql).unwrap();
    }

    /// Returns the folders in `backups` that a store was moved into.
    pub(crate) fn asides(&self, prefix: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.backups()) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        let named =
            |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(prefix);
        let mut found: Vec<PathBuf> = paths.filter(|path| path.is_dir() && named(path)).collect();
        found.sort();
        found
    }
}

pub(crate) fn log(n: u128) -> LogId {
    LogId::new(Ulid::from(n))
}

pub(crate) fn snapshot_id(n: u128) -> SnapshotId {
    SnapshotId::new(Ulid::from(n))
}

pub(crate) fn project(n: u32) -> Project {
    Project::new(&format!("/proj/project-{n}"), None, NOW).unwrap()
}

pub(crate) fn jump(by_ms: i64) -> Event {
    Event::own(What::ClockJumped { by_ms })
}

/// Appends `count` events in one turn.
pub(crate) fn tell(store: &mut Store, count: i64) {
    store
        .turn(|tx| {
            for n in 0..count {
                tx.append(&jump(n), NOW)?;
            }
            Ok(())
        })
        .unwrap();
}

/// Returns a closed store's file with `events` events, each tenth of one of the `projects` projects.
pub(crate) fn filled(events: i64, projects_count: u32) -> Vec<u8> {
    let world = World::new();
    let mut store = world.open();
    store
        .turn(|tx| {
            for n in 0..projects_count {
                projects::save(tx, &project(n))?;
            }
            for n in 0..events {
                let of = project(u32::try_from(n).unwrap() % projects_count.max(1));
                let added = What::ProjectAdded { name: of.name.clone(), root: of.root.clone() };
                let event = if n % 10 == 0 { Event::own_in(&of.id, added) } else { jump(n) };
                tx.append(&event, NOW)?;
            }
            Ok(())
        })
        .unwrap();
    drop(store);
    assert!(!world.beside("-wal").exists());
    fs::read(world.path()).unwrap()
}

/// Returns the file of a program that also uses SQLite.
pub(crate) fn theirs() -> Vec<u8> {
    let world = World::new();
    world.tamper("CREATE TABLE theirs (id TEXT); INSERT INTO theirs VALUES ('x')");
    fs::read(world.path()).unwrap()
}

/// Returns the whole log.
pub(crate) fn all(view: View<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    loop {
        let last = rows.last().map_or(EventId(0), |row| row.id);
        let page = events::after(view, last, PAGE_MAX, &Filter::default()).unwrap();
        if page.is_empty() {
            return rows;
        }
        rows.extend(page);
    }
}

pub(crate) fn ids(rows: &[Row]) -> Vec<i64> {
    rows.iter().map(|row| row.id.0).collect()
}

/// Returns what the newest event says.
pub(crate) fn said(store: &Store, kind: &str) -> serde_json::Value {
    let rows = events::newest(store.view(), 1, &Filter::default()).unwrap();
    assert_eq!(rows[0].kind, kind);
    serde_json::from_str(&rows[0].data).unwrap()
}

/// Walks the chain, with all that the snapshots know of it.
pub(crate) fn walk(world: &World) -> Walk {
    let anchored = |view: View<'_>| chain::verify(view, &backup::anchors(&world.backups(), view)?);
    world.reader().read(anchored).unwrap()
}

/// Checks that the whole log is there and fits.
#[track_caller]
pub(crate) fn check_whole(world: &World, rows: u64) {
    let walked = walk(world);
    assert_eq!((walked.rows, walked.misfit), (rows, None));
}

/// Checks that the file holds these bytes, without printing them all.
#[track_caller]
pub(crate) fn check_bytes(file: &Path, bytes: &[u8]) {
    assert!(fs::read(file).unwrap() == bytes, "{} was changed", file.display());
}

/// A row of dice that falls the same way each time: what fails once fails again.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    /// Returns a byte that is not zero.
    pub(crate) fn mask(&mut self) -> u8 {
        u8::try_from(1 + self.below(255)).unwrap()
    }
}
