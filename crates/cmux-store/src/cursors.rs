//! How far each reader of the log has come, as rows.

use cmux_core::id::{EventId, LogId};
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{StoreError, Tx, View, damaged};

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
    let mut query = view.db.prepare_cached("SELECT log, event FROM cursors WHERE reader = ?1")?;
    let found: Option<(String, i64)> =
        query.query_row([reader], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((log, event)) = found else { return Ok(None) };
    let log = log.parse().map_err(|bad| damaged("cursor", reader, bad))?;
    let current = crate::logs::current(view)?;
    Ok((current == Some(log)).then_some(Cursor { log, event: EventId(event) }))
}
