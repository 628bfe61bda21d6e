//! The lives of the log, and how far it may be archived.

use cmux_core::id::{EventId, LogId};
use cmux_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use crate::{StoreError, View, damaged};

/// Returns the log that is being written, or nothing in a store that is new.
pub fn current(view: View<'_>) -> Result<Option<LogId>, StoreError> {
    let newest = "SELECT id FROM logs ORDER BY rowid DESC LIMIT 1";
    let id: Option<String> = view.db.query_row(newest, [], |row| row.get(0)).optional()?;
    id.map(|id| id.parse().map_err(|bad| damaged("log", &id, bad))).transpose()
}

/// Returns when the store began.
pub fn since(view: View<'_>) -> Result<Timestamp, StoreError> {
    let first = "SELECT began_at FROM logs ORDER BY rowid LIMIT 1";
    Ok(Timestamp(view.db.query_row(first, [], |row| row.get(0))?))
}

/// Begins another life of the log, in which `after` is the newest event that was there already.
pub(crate) fn begin(
    db: &Connection,
    log: LogId,
    after: EventId,
    now: Timestamp,
) -> Result<LogId, StoreError> {
    db.execute(
        "INSERT INTO logs (id, began_at, after_event) VALUES (?1, ?2, ?3)",
        params![log.to_string(), now.0, after.0],
    )?;
    Ok(log)
}

/// Returns the newest event that may be archived, and its hash, from which the chain is checked.
pub fn checkpoint(view: View<'_>) -> Result<Option<(EventId, [u8; 32])>, StoreError> {
    let newest = "SELECT event, hash FROM checkpoints ORDER BY event DESC LIMIT 1";
    let found = view.db.query_row(newest, [], |row| Ok((EventId(row.get(0)?), row.get(1)?)));
    Ok(found.optional()?)
}

/// Returns every life of the log, oldest first, with the newest event that was there before it.
pub(crate) fn lives(view: View<'_>) -> Result<Vec<(LogId, EventId)>, StoreError> {
    let mut query = view.db.prepare("SELECT id, after_event FROM logs ORDER BY rowid")?;
    let rows = query.query_map([], |row| Ok((row.get::<_, String>(0)?, EventId(row.get(1)?))))?;
    rows.map(|row| {
        let (id, after) = row?;
        Ok((id.parse().map_err(|bad| damaged("log", &id, bad))?, after))
    })
    .collect()
}
