//! Reads what can still be read of a damaged database.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use cmux_core::id::{EventId, LogId};
use cmux_core::time::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params, params_from_iter};

use crate::chain::{self, GENESIS};
use crate::events::{self, Filter, PAGE_MAX};
use crate::file::at;
use crate::store::{connect, settle_on_close, tame};
use crate::{
    StoreError, View, agents, deliveries, hooks, links, logs, messages, migrate, payloads,
    projects, runs, sessions, settings, snapshots, tokens, trust, turns, usage, webhooks,
};

/// The most stretches of a table that are skipped before the rest of it is given up.
const SKIPS_MAX: u32 = 1000;

/// Whether the core can express a row.
type MakesSense = fn(&rusqlite::Row<'_>) -> bool;

/// Tables whose rows are carried over as they are. The log is carried over row by row; what is due when
/// is planned anew, and cursors belong to the log that is over.
const TABLES: [(&str, MakesSense); 22] = [
    ("projects", |row| projects::read(row).is_ok()),
    // Projects come before the agents that work in them, and before what is trusted of them.
    ("agents", |row| agents::read(row).is_ok()),
    ("trusted_files", |row| trust::read_file(row).is_ok()),
    ("trusted_folders", |row| trust::read_folder(row).is_ok()),
    ("settings", |row| settings::read(row).is_ok()),
    ("snapshots", |row| snapshots::read(row).is_ok()),
    ("payloads", |row| payloads::fits(row).unwrap_or(false)),
    ("tokens", |row| tokens::read(row).is_ok()),
    // Sessions come before the links that opened them.
    ("sessions", |row| sessions::read(row).is_ok()),
    ("links", |row| links::read(row).is_ok()),
    ("run_tokens", |row| runs::read(row).is_ok()),
    ("webhooks", |row| webhooks::read(row).is_ok()),
    ("hooks", |row| hooks::read(row).is_ok()),
    // Messages come before the bodies that are too long for their rows.
    ("messages", |row| messages::read(row).is_ok()),
    ("message_bodies", |row| messages::read_body(row).is_ok()),
    ("message_tally", |row| messages::read_tally(row).is_ok()),
    ("deliveries", |row| deliveries::read(row).is_ok()),
    ("turns", |row| turns::read(row).is_ok()),
    ("spent", |row| usage::read_spent(row).is_ok()),
    ("usage_cursors", |row| usage::read_cursor(row).is_ok()),
    ("agent_usage", usage::reads_sums),
    ("kind_usage", usage::reads_sums),
];

/// What the header of a database of ours says at these places. The length of the file, at 28, is left
/// for SQLite to find out.
const HEADER: [(u64, &[u8]); 5] = [
    (0, b"SQLite format 3\0"),
    (18, &[2, 2, 0, 64, 32, 32]),
    (28, &[0; 4]),
    (44, &[0, 0, 0, 4]),
    (56, &[0, 0, 0, 1]),
];

/// What was saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Salvaged {
    pub(crate) events: u64,
    /// The newest event that was seen, saved or not.
    pub(crate) newest: EventId,
    pub(crate) log: Option<LogId>,
}

/// Carries all that can be read of the database `from` into a new one at `to`, under the log id `log`.
/// Returns nothing if `from` has nothing to give. What is known better than `from` has it, its header
/// and its tables, is put right in it first: it is a copy.
pub(crate) fn salvage(
    from: &Path,
    to: &Path,
    log: LogId,
    now: Timestamp,
) -> Result<Option<Salvaged>, StoreError> {
    let mut new = connect(to)?;
    migrate::run(&mut new, to, to, now)?;
    let Some(old) = open_damaged(from)? else { return Ok(None) };
    let tx = new.transaction()?;
    let saved = salvage_events(&old, &tx)?;
    logs::begin(&tx, log, events::head(View { db: &tx })?.id, now)?;
    for (table, makes_sense) in TABLES {
        salvage_table(&old, &tx, table, makes_sense)?;
    }
    tx.commit()?;
    settle_on_close(&new, true)?;
    Ok(Some(saved))
}

/// Opens a copy of a damaged database, in which every table of its version should be found.
fn open_damaged(path: &Path) -> Result<Option<Connection>, StoreError> {
    let mut file = OpenOptions::new().write(true).open(path).map_err(at(path))?;
    for (place, bytes) in HEADER {
        let written = file.seek(SeekFrom::Start(place)).and_then(|_| file.write_all(bytes));
        written.map_err(at(path))?;
    }
    drop(file);
    let open = || -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags)?;
        tame(&db)?;
        // One bad table must not hide the others.
        db.pragma_update(None, "writable_schema", true)?;
        db.prepare("SELECT * FROM sqlite_schema")?;
        Ok(db)
    };
    let Ok(db) = open() else { return Ok(None) };
    // Its own word for its version may be what is damaged.
    for version in (1..=migrate::KNOWN).rev() {
        let known = tables(&migrate::sound(version)?)?;
        if tables(&db).is_ok_and(|found| name_tables(&db, found, known).unwrap_or(false)) {
            drop(db);
            return Ok(open().ok());
        }
    }
    Ok(Some(db))
}

/// A table or an index as the database describes it: its type, name, table and SQL, if those are texts.
type Described = [Option<Vec<u8>>; 4];

fn tables(db: &Connection) -> Result<Vec<(i64, Described)>, StoreError> {
    let mut query = db.prepare("SELECT rowid, type, name, tbl_name, sql FROM sqlite_schema")?;
    let rows = query.query_map([], |row| {
        let bytes = |column: usize| Some(row.get_ref(column).ok()?.as_bytes().ok()?.to_vec());
        Ok((row.get(0)?, [bytes(1), bytes(2), bytes(3), bytes(4)]))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Describes the table anew that is described as none of ours is, if it is clear which it is. Returns
/// whether there was one.
fn name_tables(
    db: &Connection,
    mut found: Vec<(i64, Described)>,
    mut known: Vec<(i64, Described)>,
) -> Result<bool, StoreError> {
    let all = found.clone();
    found.retain(|(_, table)| known.iter().all(|(_, other)| other != table));
    known.retain(|(_, table)| all.iter().all(|(_, other)| other != table));
    let ([(row, _)], [(_, [kind, name, of, sql])]) = (found.as_slice(), known.as_slice()) else {
        return Ok(false);
    };
    let update = "UPDATE sqlite_schema
                  SET type = CAST(?2 AS TEXT), name = CAST(?3 AS TEXT),
                      tbl_name = CAST(?4 AS TEXT), sql = CAST(?5 AS TEXT)
                  WHERE rowid = ?1";
    db.execute(update, params![row, kind, name, of, sql])?;
    Ok(true)
}

/// Carries over every event that says what it was written with, in a chain of its own.
fn salvage_events(old: &Connection, new: &Connection) -> Result<Salvaged, StoreError> {
    let mut newest = EventId(0);
    each_readable(old, "events", |row| {
        let Ok(row) = events::read_from(row, 1) else { return Ok(()) };
        let fits = chain::hash(&row) == row.hash;
        // An id that its row does not vouch for is believed only where it is the next.
        if fits || row.id.0.checked_sub(1) == Some(newest.0) {
            newest = newest.max(row.id);
        }
        if !fits {
            return Ok(());
        }
        match events::insert(new, &row) {
            // A page that was read in the place of another shows its rows twice.
            Err(StoreError::Sqlite(_)) => Ok(()),
            inserted => inserted,
        }
    })?;
    let start = salvage_checkpoints(old, new)?;
    chain_up(new, start)?;
    let log = logs::current(View { db: old }).unwrap_or(None);
    Ok(Salvaged { events: events::count(View { db: new })?, newest: newest.max(start.0), log })
}

/// Carries over how far the log was archived, leaves what is in the archive to it, and returns the last
/// place and its hash.
fn salvage_checkpoints(
    old: &Connection,
    new: &Connection,
) -> Result<(EventId, [u8; 32]), StoreError> {
    let mut last = (EventId(0), GENESIS);
    salvage_table(old, new, "checkpoints", |_| true)?;
    let mut query = new.prepare("SELECT event, hash FROM checkpoints ORDER BY event")?;
    let checkpoints = query.query_map([], |row| Ok((EventId(row.get(0)?), row.get(1)?)))?;
    for checkpoint in checkpoints.collect::<Result<Vec<_>, _>>()? {
        if is_vouched_for(new, checkpoint)? {
            last = checkpoint;
        }
    }
    new.execute("DELETE FROM checkpoints WHERE event > ?1", [last.0.0])?;
    new.execute("DELETE FROM events WHERE id <= ?1", [last.0.0])?;
    Ok(last)
}

/// Returns whether the events that were saved have come to a checkpoint: whether it has the hash of its
/// event, or the one that the next event follows. If neither was saved, none before it must be.
fn is_vouched_for(
    new: &Connection,
    (event, hash): (EventId, [u8; 32]),
) -> Result<bool, StoreError> {
    let (at, before) = (
        "SELECT hash FROM events WHERE id = ?1 UNION ALL SELECT prev FROM events WHERE id = ?1 + 1",
        "SELECT count(*) FROM events WHERE id <= ?1",
    );
    let known: Option<[u8; 32]> = new.query_row(at, [event.0], |row| row.get(0)).optional()?;
    match known {
        Some(known) => Ok(known == hash),
        None => Ok(new.query_row(before, [event.0], |row| row.get::<_, u64>(0))? == 0),
    }
}

/// Lets each event after `start` follow from the one before it, where some between are missing.
fn chain_up(db: &Connection, start: (EventId, [u8; 32])) -> Result<(), StoreError> {
    let (mut id, mut prev) = start;
    let mut update = db.prepare("UPDATE events SET prev = ?2, hash = ?3 WHERE id = ?1")?;
    loop {
        let rows = events::after(View { db }, id, PAGE_MAX, &Filter::default())?;
        if rows.is_empty() {
            return Ok(());
        }
        for mut row in rows {
            if row.prev != prev {
                row.prev = prev;
                row.hash = chain::hash(&row);
                update.execute(params![row.id.0, row.prev, row.hash])?;
            }
            (id, prev) = (row.id, row.hash);
        }
    }
}

/// Carries over every row of `table` that can be read and makes sense, in the columns that we know.
fn salvage_table(
    old: &Connection,
    new: &Connection,
    table: &str,
    makes_sense: MakesSense,
) -> Result<(), StoreError> {
    let known = new.prepare(&format!("SELECT * FROM {table}"))?;
    let known: Vec<&str> = known.column_names().collect();
    each_readable(old, table, |row| {
        if !makes_sense(row) {
            return Ok(());
        }
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for name in &known {
            if let Ok(value) = row.get::<_, Value>(*name) {
                columns.push(*name);
                values.push(value);
            }
        }
        let marks = vec!["?"; values.len()].join(", ");
        let columns = columns.join(", ");
        let insert = format!("INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})");
        let inserted = new.prepare_cached(&insert)?.execute(params_from_iter(values));
        match inserted.map_err(StoreError::from) {
            // A row that no cmux could have written is left behind.
            Err(StoreError::Sqlite(_)) => Ok(()),
            inserted => inserted.map(|_| ()),
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
    let mut from = i64::MIN;
    for _ in 0..SKIPS_MAX {
        if scan(db, table, &mut from, &mut take)? {
            return Ok(());
        }
        match skip(db, table, from) {
            Some(next) => from = next,
            None => return Ok(()),
        }
    }
    Ok(())
}

/// Shows the rows from `from` on to `take`, and moves it behind them. Returns whether it came to the
/// end, rather than to a row that cannot be read.
fn scan(
    db: &Connection,
    table: &str,
    from: &mut i64,
    take: &mut impl FnMut(&rusqlite::Row<'_>) -> Result<(), StoreError>,
) -> Result<bool, StoreError> {
    let sql =
        format!("SELECT rowid AS row_number, * FROM {table} WHERE rowid >= ?1 ORDER BY rowid");
    let Ok(mut query) = db.prepare(&sql) else { return Ok(true) };
    let Ok(mut rows) = query.query([*from]) else { return Ok(true) };
    loop {
        match rows.next() {
            Ok(None) => return Ok(true),
            Ok(Some(row)) => {
                let number: i64 = row.get(0)?;
                *from = number.saturating_add(1).max(*from);
                take(row)?;
            }
            Err(_) => return Ok(false),
        }
    }
}

/// Returns the least row id beyond `from` from which `table` can be read again.
fn skip(db: &Connection, table: &str, from: i64) -> Option<i64> {
    let mut bad = from.max(0);
    let mut good = (0..62).find_map(|power| {
        let place = from.max(0).checked_add(1 << power)?;
        if reads_from(db, table, place) {
            return Some(place);
        }
        bad = place;
        None
    })?;
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        if reads_from(db, table, middle) { good = middle } else { bad = middle }
    }
    Some(good)
}

/// Returns whether there is a row of `table` to be read at the row id `place` or beyond.
fn reads_from(db: &Connection, table: &str, place: i64) -> bool {
    let sql = format!("SELECT * FROM {table} WHERE rowid >= ?1 ORDER BY rowid LIMIT 1");
    db.query_row(&sql, [place], |_| Ok(())).is_ok()
}
