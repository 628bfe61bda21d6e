//! The versions of the database: a list that only grows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cmux_core::snapshot::SnapshotKind;
use cmux_core::time::Timestamp;
use rusqlite::Connection;

use crate::{StoreError, backup, misread};

/// Each takes the database one version further. Released ones are never edited.
const MIGRATIONS: [&str; KNOWN as usize] = [
    include_str!("../migrations/0001_ground.sql"),
    include_str!("../migrations/0002_doors.sql"),
    include_str!("../migrations/0003_agents.sql"),
    include_str!("../migrations/0004_adopted.sql"),
    include_str!("../migrations/0005_hooks.sql"),
    include_str!("../migrations/0006_trust.sql"),
    include_str!("../migrations/0007_mail.sql"),
    include_str!("../migrations/0008_usage.sql"),
    include_str!("../migrations/0009_search.sql"),
    include_str!("../migrations/0010_disk.sql"),
];

/// The version that this cmux writes.
pub(crate) const KNOWN: u32 = 10;

/// Marks a file as cmux's: "cmux" in ASCII.
const APPLICATION: i32 = 0x636d_7578;

/// A database that was brought to a later version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    pub from: u32,
    pub to: u32,
    /// The copy that was taken before, unless there was nothing to copy.
    pub snapshot: Option<PathBuf>,
}

/// Brings the database to this version, or finds that this cmux can run on a later one.
///
/// The latter is what lets a bad release be rolled back: what came later has only added.
pub(crate) fn run(
    db: &mut Connection,
    path: &Path,
    backups: &Path,
    now: Timestamp,
) -> Result<Option<Migrated>, StoreError> {
    run_list(db, path, backups, now, &MIGRATIONS)
}

fn run_list(
    db: &mut Connection,
    path: &Path,
    backups: &Path,
    now: Timestamp,
    migrations: &[&str],
) -> Result<Option<Migrated>, StoreError> {
    let to = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    let from = recognise(db)?;
    if from >= to {
        require_known(db, path, from, to)?;
        return Ok(None);
    }
    let snapshot = match from {
        0 => None,
        _ => Some(copy_first(path, backups, now)?),
    };
    let tx = db.transaction()?;
    for migration in migrations.iter().skip(from as usize) {
        // One that was tried on what it was made for can only fail on something else.
        tx.execute_batch(migration).map_err(|error| misread(error.into()))?;
    }
    tx.pragma_update(None, "user_version", to)?;
    tx.pragma_update(None, "application_id", APPLICATION)?;
    tx.commit()?;
    Ok((from > 0).then_some(Migrated { from, to, snapshot }))
}

/// Refuses a database of this version in which a table or an index is described as no cmux describes it:
/// one letter of a column's name would stop one turn or another, and no check of SQLite's would tell.
pub(crate) fn require_described(db: &Connection) -> Result<(), StoreError> {
    if version(db)? != KNOWN {
        // What a later one has added is not known here.
        return Ok(());
    }
    let sound = sound(KNOWN)?;
    let (found, known) = (described(db)?, described(&sound)?);
    match known.symmetric_difference(&found).next() {
        None => Ok(()),
        Some((kind, name, _, _)) => {
            let what = format!("the {kind} {name} is not described as it was made");
            Err(StoreError::Damaged { what })
        }
    }
}

/// Returns an empty database of that version, to compare another with.
pub(crate) fn sound(version: u32) -> Result<Connection, StoreError> {
    let sound = Connection::open_in_memory()?;
    for migration in MIGRATIONS.iter().take(version as usize) {
        sound.execute_batch(migration)?;
    }
    Ok(sound)
}

/// The type, name, table and SQL of a table or an index.
type Description = (String, String, String, Option<String>);

fn described(db: &Connection) -> Result<BTreeSet<Description>, StoreError> {
    let mut query = db.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let rows =
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the version of a file that is ours or empty, and refuses another.
pub(crate) fn recognise(db: &Connection) -> Result<u32, StoreError> {
    let version = version(db)?;
    if version > 0 {
        require_ours(db)?;
    } else if !is_empty(db)? {
        return Err(StoreError::Damaged { what: "it has tables but no version".to_owned() });
    }
    Ok(version)
}

/// Copies the database before it is changed. A fresh copy can only be bad if the database is.
fn copy_first(path: &Path, backups: &Path, now: Timestamp) -> Result<PathBuf, StoreError> {
    match backup::snapshot(path, backups, SnapshotKind::Migration, now) {
        Err(StoreError::BadBackup { why, .. }) => Err(StoreError::Damaged { what: why }),
        copied => Ok(copied?.0),
    }
}

/// Refuses a file that this cmux cannot read.
pub(crate) fn require_readable(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let from = version(db)?;
    if from == 0 {
        return Err(StoreError::Damaged { what: "it has no version".to_owned() });
    }
    require_ours(db)?;
    require_known(db, path, from, KNOWN)
}

fn require_known(db: &Connection, path: &Path, from: u32, known: u32) -> Result<(), StoreError> {
    if from <= known {
        return Ok(());
    }
    let needed: u32 = db.query_row("SELECT oldest_reader FROM schema", [], |row| row.get(0))?;
    if needed <= known {
        return Ok(());
    }
    Err(StoreError::TooNew { path: path.to_owned(), needed, known })
}

fn require_ours(db: &Connection) -> Result<(), StoreError> {
    let found: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if found == APPLICATION {
        return Ok(());
    }
    Err(StoreError::Damaged { what: "it is not marked as cmux's".to_owned() })
}

pub(crate) fn version(db: &Connection) -> Result<u32, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn is_empty(db: &Connection) -> Result<bool, StoreError> {
    let tables: u32 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::store::connect;
    use cmux_core::id::LogId;
    use ulid::Ulid;

    const NOW: Timestamp = Timestamp(1_000);

    #[test]
    fn a_later_version_that_only_added_can_be_run_on() {
        assert!(open_later(KNOWN).is_ok());
    }

    #[test]
    fn a_later_version_that_took_something_away_is_refused_with_a_sentence() {
        let refused = open_later(KNOWN + 1).unwrap_err();
        assert!(matches!(refused, StoreError::TooNew { .. }));
        assert!(refused.to_string().contains("later cmux"), "{refused}");
    }

    #[test]
    fn a_copy_is_kept_before_a_migration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cmux.db");
        let log = LogId::new(Ulid::from(1_u128));
        assert_eq!(Store::open(&path, folder.path(), log, NOW).unwrap().1, None);
        let mut db = connect(&path).unwrap();
        let more = [&MIGRATIONS[..], &["CREATE TABLE later (id TEXT) STRICT;"]].concat();
        let migrated = run_list(&mut db, &path, folder.path(), NOW, &more).unwrap().unwrap();
        assert_eq!((migrated.from, migrated.to), (KNOWN, KNOWN + 1));
        let copy = Connection::open(migrated.snapshot.unwrap()).unwrap();
        assert_eq!(version(&copy).unwrap(), KNOWN);
        assert_eq!(version(&db).unwrap(), KNOWN + 1);
        assert_eq!(run_list(&mut db, &path, folder.path(), NOW, &more).unwrap(), None);
    }

    #[test]
    fn a_file_of_another_program_is_not_migrated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cmux.db");
        let mut db = connect(&path).unwrap();
        db.execute_batch("CREATE TABLE theirs (id TEXT)").unwrap();
        let refused = run(&mut db, &path, folder.path(), NOW);
        assert!(matches!(refused, Err(StoreError::Damaged { .. })));
    }

    /// Opens a database of a later version that only `oldest_reader` and its successors can read.
    fn open_later(oldest_reader: u32) -> Result<Option<Migrated>, StoreError> {
        let mut db = Connection::open_in_memory().unwrap();
        let path = Path::new("test");
        run(&mut db, path, path, NOW).unwrap();
        db.execute("UPDATE schema SET oldest_reader = ?1", [oldest_reader]).unwrap();
        db.pragma_update(None, "user_version", KNOWN + 1).unwrap();
        run(&mut db, path, path, NOW)
    }
}
