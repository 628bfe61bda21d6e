//! Deliveries that were taken, as rows.

use cmux_core::digest::Digest;
use cmux_core::id::EventId;
use cmux_core::time::Timestamp;
use cmux_core::webhook::Taken;
use rusqlite::{OptionalExtension, Row, params};

use crate::{StoreError, Tx, View};

/// Remembers what was `taken`, in the place of one that its source called the same.
pub fn save(tx: &Tx<'_>, taken: &Taken) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO webhooks (source, delivery, digest, event, at)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (source, delivery) DO UPDATE SET
                 digest = excluded.digest, event = excluded.event, at = excluded.at",
        )?
        .execute(params![
            taken.source,
            taken.delivery,
            taken.digest.as_bytes(),
            taken.event.0,
            taken.at.0
        ])?;
    Ok(())
}

/// Returns what was taken that `source` called `delivery`.
pub fn find(view: View<'_>, source: &str, delivery: &str) -> Result<Option<Taken>, StoreError> {
    let mut query =
        view.db.prepare_cached("SELECT * FROM webhooks WHERE source = ?1 AND delivery = ?2")?;
    query.query_and_then(params![source, delivery], read)?.next().transpose()
}

/// Returns what was last taken from `source` with a body of this digest.
pub fn find_by_body(
    view: View<'_>,
    source: &str,
    digest: &Digest,
) -> Result<Option<Taken>, StoreError> {
    let mut query = view.db.prepare_cached(
        "SELECT * FROM webhooks WHERE source = ?1 AND digest = ?2 ORDER BY at DESC LIMIT 1",
    )?;
    query.query_and_then(params![source, digest.as_bytes()], read)?.next().transpose()
}

/// Returns when the delivery was taken that was so first.
pub fn oldest(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT at FROM webhooks ORDER BY at LIMIT 1")?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}

/// Forgets deliveries that were taken before `before`, oldest first, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = tx.db.prepare_cached(
        "DELETE FROM webhooks WHERE rowid IN
             (SELECT rowid FROM webhooks WHERE at < ?1 ORDER BY at LIMIT ?2)",
    )?;
    Ok(query.execute(params![before.0, limit])? as u64)
}

/// Returns every delivery that was taken, oldest first.
pub(crate) fn all(view: View<'_>) -> Result<Vec<Taken>, StoreError> {
    let mut query = view.db.prepare("SELECT * FROM webhooks ORDER BY at")?;
    query.query_and_then([], read)?.collect()
}

pub(crate) fn read(row: &Row<'_>) -> Result<Taken, StoreError> {
    Ok(Taken {
        source: row.get("source")?,
        delivery: row.get("delivery")?,
        digest: Digest::from_bytes(row.get("digest")?),
        event: EventId(row.get("event")?),
        at: Timestamp(row.get("at")?),
    })
}
