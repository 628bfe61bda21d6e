//! Reads what can still be read of a damaged database.

use std::path::Path;

use cmux_core::id::{EventId, LogId};
use cmux_core::time::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use crate::chain::{self, GENESIS};
use crate::events::{self, Row};
use crate::store::connect;
use crate::{StoreError, View, logs, migrate};

/// The most stretches of a table that are skipped before the rest of it is given up.
const SKIPS_MAX: u32 = 1000;

/// Tables whose rows are carried over as they are. The log is carried over row by row; what is due when
/// is planned anew, and cursors belong to the log that is over.
const TABLES: [&str; 4] = ["projects", "settings", "snapshots", "payloads"];

/// What was saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Salvaged {
    pub(crate) events: u64,
    /// The newest event that was seen, saved or not.
    pub(crate) newest: EventId,
    /// Events up to here were archived, and are not missing.
    pub(crate) archived: EventId,
    pub(crate) log: Option<LogId>,
}

/// Carries all that can be read of the database `from` into a new one at `to`, under the log id `log`.
/// Returns nothing if `from` has nothing to give.
pub(crate) fn salvage(
    from: &Path,
    to: &Path,
    log: LogId,
    now: Timestamp,
) -> Result<Option<Salvaged>, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let Ok(old) = Connection::open_with_flags(from, flags) else { return Ok(None) };
    if old.query_row("SELECT count(*) FROM events", [], |_| Ok(())).is_err()
        && old.prepare("SELECT * FROM events").is_err()
    {
        return Ok(None);
    }
    let mut new = connect(to)?;
    migrate::run(&mut new, to, to, now)?;
    let tx = new.transaction()?;
    let saved = salvage_events(&old, &tx)?;
    logs::begin(&tx, log, saved.newest, now)?;
    for table in TABLES {
        salvage_table(&old, &tx, table)?;
    }
    tx.commit()?;
    new.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(Some(saved))
}

/// Carries over every event that says what it was written with, in a chain of its own.
fn salvage_events(old: &Connection, new: &Connection) -> Result<Salvaged, StoreError> {
    let checkpoint = logs::checkpoint(View { db: old }).unwrap_or(None);
    let (archived, mut prev) = checkpoint.unwrap_or((EventId(0), GENESIS));
    if let Some((event, hash)) = checkpoint {
        let insert = "INSERT INTO checkpoints (event, hash, at) VALUES (?1, ?2, 0)";
        new.execute(insert, rusqlite::params![event.0, hash])?;
    }
    let log = logs::current(View { db: old }).unwrap_or(None);
    let mut saved = Salvaged { events: 0, newest: archived, archived, log };
    each_readable(old, "events", |row| {
        let Ok(row) = events::read(row) else { return Ok(()) };
        let is_next = row.id > saved.newest;
        if is_next {
            saved.newest = row.id;
        }
        if !is_next || chain::hash(&row) != row.hash {
            return Ok(());
        }
        let mut row = Row { prev, ..row };
        row.hash = chain::hash(&row);
        prev = row.hash;
        saved.events += 1;
        events::insert(new, &row)
    })?;
    Ok(saved)
}

/// Carries over every row of `table` that can be read and makes sense.
fn salvage_table(old: &Connection, new: &Connection, table: &str) -> Result<(), StoreError> {
    each_readable(old, table, |row| {
        let names: Vec<String> = row.as_ref().column_names().map(ToOwned::to_owned).collect();
        let mut values = Vec::new();
        for column in 1..names.len() {
            match row.get::<_, Value>(column) {
                Ok(value) => values.push(value),
                Err(_) => return Ok(()),
            }
        }
        let marks = vec!["?"; values.len()].join(", ");
        let columns = names[1..].join(", ");
        let insert = format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})");
        let inserted = new.prepare_cached(&insert)?.execute(params_from_iter(values));
        match inserted.map_err(StoreError::from) {
            Err(StoreError::Full) => Err(StoreError::Full),
            // A row that no cmux could have written is left behind.
            Ok(_) | Err(_) => Ok(()),
        }
    })
}

/// Shows every row of `table` that can be reached to `take`, in the order of their row ids. A stretch
/// that cannot be read is skipped.
fn each_readable(
    db: &Connection,
    table: &str,
    mut take: impl FnMut(&rusqlite::Row<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut last = i64::MIN;
    for _ in 0..SKIPS_MAX {
        if scan(db, table, &mut last, &mut take)? {
            return Ok(());
        }
        match skip(db, table, last) {
            Some(next) => last = next,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Shows the rows after `last` to `take`. Returns whether it came to the end, rather than to a row that
/// cannot be read.
fn scan(
    db: &Connection,
    table: &str,
    last: &mut i64,
    take: &mut impl FnMut(&rusqlite::Row<'_>) -> Result<(), StoreError>,
) -> Result<bool, StoreError> {
    let sql = format!("SELECT rowid AS row_number, * FROM {table} WHERE rowid > ?1 ORDER BY rowid");
    let Ok(mut query) = db.prepare(&sql) else { return Ok(true) };
    let Ok(mut rows) = query.query([*last]) else { return Ok(true) };
    loop {
        match rows.next() {
            Ok(None) => return Ok(true),
            Ok(Some(row)) => {
                if let Ok(number) = row.get(0) {
                    *last = number;
                }
                take(row)?;
            }
            Err(_) => return Ok(false),
        }
    }
}

/// Returns the least row id from which `table` can be read again, beyond `last`.
fn skip(db: &Connection, table: &str, last: i64) -> Option<i64> {
    let base = last.max(0);
    let mut good = None;
    let mut bad = base;
    for power in 0..62 {
        let place = base.checked_add(1_i64 << power)?;
        if reads_from(db, table, place) {
            good = Some(place);
            break;
        }
        bad = place;
    }
    let mut good = good?;
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        if reads_from(db, table, middle) { good = middle } else { bad = middle }
    }
    Some(good)
}

/// Returns whether there is a row of `table` to be read after the row id `place`.
fn reads_from(db: &Connection, table: &str, place: i64) -> bool {
    let sql = format!("SELECT * FROM {table} WHERE rowid > ?1 ORDER BY rowid LIMIT 1");
    db.query_row(&sql, [place], |_| Ok(())).is_ok()
}
