//! How far each reader of the log has come, as rows.

use cmux_core::id::{EventId, LogId};
use cmux_core::time::Timestamp;
use rusqlite::{Row, params};

use crate::{StoreError, Tx, View, damaged, logs};

/// A reader's place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub log: LogId,
    pub event: EventId,
}

/// Remembers that `reader` has dealt with everything up to `cursor`. It never goes back within a log.
pub fn save(tx: &Tx<'_>, reader: &str, cursor: Cursor, now: Timestamp) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO cursors (reader, log, event, at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (reader) DO UPDATE SET
                 log = excluded.log, event = excluded.event, at = excluded.at
             WHERE excluded.log <> log OR excluded.event > event",
        )?
        .execute(params![reader, cursor.log.to_string(), cursor.event.0, now.0])?;
    Ok(())
}

/// Returns how far `reader` has come. A place in a log that is over counts for nothing.
pub fn find(view: View<'_>, reader: &str) -> Result<Option<Cursor>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM cursors WHERE reader = ?1")?;
    let found = query.query_and_then([reader], read)?.next().transpose()?;
    let current = logs::current(view)?;
    Ok(found.filter(|cursor| Some(cursor.log) == current))
}

/// Returns how far each reader has come, in whichever log.
pub(crate) fn all(view: View<'_>) -> Result<Vec<Cursor>, StoreError> {
    let mut query = view.db.prepare("SELECT * FROM cursors ORDER BY reader")?;
    query.query_and_then([], read)?.collect()
}

fn read(row: &Row<'_>) -> Result<Cursor, StoreError> {
    let reader: String = row.get("reader")?;
    let log: String = row.get("log")?;
    let log = log.parse().map_err(|bad| damaged("cursor", &reader, bad))?;
    Ok(Cursor { log, event: EventId(row.get("event")?) })
}
