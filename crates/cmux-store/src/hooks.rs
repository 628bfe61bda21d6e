//! Hooks that were heard, as rows: each is known again by its id.

use cmux_core::id::{EventId, HookId};
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use crate::{StoreError, Tx, View, damaged};

/// A hook that was heard, as far as it takes to know it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    pub id: HookId,
    /// The event that tells of it.
    pub event: EventId,
    pub at: Timestamp,
}

/// Remembers that a hook was heard.
pub fn save(tx: &Tx<'_>, heard: &Heard) -> Result<(), StoreError> {
    tx.db
        .prepare_cached("INSERT INTO hooks (id, event, at) VALUES (?1, ?2, ?3)")?
        .execute(params![heard.id.to_string(), heard.event.0, heard.at.0])?;
    Ok(())
}

/// Returns the event that tells of the hook `id`, if it was heard.
pub fn find(view: View<'_>, id: HookId) -> Result<Option<EventId>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT event FROM hooks WHERE id = ?1")?;
    Ok(query.query_row([id.to_string()], |row| row.get(0).map(EventId)).optional()?)
}

/// Returns when the hook was heard that was so first.
pub fn oldest(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT at FROM hooks ORDER BY at LIMIT 1")?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}

/// Forgets hooks that were heard before `before`, oldest first, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = tx.db.prepare_cached(
        "DELETE FROM hooks WHERE rowid IN
             (SELECT rowid FROM hooks WHERE at < ?1 ORDER BY at LIMIT ?2)",
    )?;
    Ok(query.execute(params![before.0, limit])? as u64)
}

/// Returns every hook that was heard, oldest first.
pub(crate) fn all(view: View<'_>) -> Result<Vec<Heard>, StoreError> {
    let mut query = view.db.prepare("SELECT * FROM hooks ORDER BY at")?;
    query.query_and_then([], read)?.collect()
}

pub(crate) fn read(row: &Row<'_>) -> Result<Heard, StoreError> {
    let id: String = row.get("id")?;
    Ok(Heard {
        id: id.parse().map_err(|bad| damaged("hook", &id, bad))?,
        event: EventId(row.get("event")?),
        at: Timestamp(row.get("at")?),
    })
}
