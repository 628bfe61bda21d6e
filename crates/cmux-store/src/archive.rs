//! Archives: old stretches of the log, written to files and taken out of the store.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use cmux_core::archive::Archive;
use cmux_core::id::EventId;
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use crate::events::{self, Row};
use crate::file::{at, beside, digest, hex, remove, settle};
use crate::{StoreError, Tx, View, logs};

/// Writes all events up to `through` that are in the store to `file`, one JSON object a line, with all
/// that it takes to check the chain again.
pub fn export(view: View<'_>, through: EventId, file: &Path) -> Result<Archive, StoreError> {
    let part = beside(file, ".part");
    let written = write_rows(view, through, &part);
    let (rows, hash) = match written {
        Ok(written) => written,
        Err(error) => {
            remove(&part)?;
            return Err(error);
        }
    };
    let (_, sha256) = digest(&part)?;
    settle(&part, file)?;
    let file = file.to_string_lossy().into_owned();
    Ok(Archive { through, hash, rows, file, sha256 })
}

fn write_rows(
    view: View<'_>,
    through: EventId,
    part: &Path,
) -> Result<(u64, [u8; 32]), StoreError> {
    let mut out = BufWriter::new(File::create(part).map_err(at(part))?);
    let archived = logs::checkpoint(view)?.map_or(EventId(0), |(event, _)| event);
    let (mut rows, mut last, mut failure) = (0, None, None);
    events::each(view, archived, |row| {
        if row.id > through {
            return false;
        }
        if let Err(error) = writeln!(out, "{}", line(&row)) {
            failure = Some(error);
            return false;
        }
        rows += 1;
        last = Some((row.id, row.hash));
        true
    })?;
    match failure {
        Some(error) => return Err(at(part)(error)),
        None => out.flush().map_err(at(part))?,
    }
    match last {
        Some((id, hash)) if id == through => Ok((rows, hash)),
        Some(_) | None => Err(crate::damaged("event", &through.to_string(), "it is not there")),
    }
}

fn line(row: &Row) -> Value {
    let data: Value = serde_json::from_str(&row.data).unwrap_or(Value::Null);
    json!({
        "id": row.id.0, "v": row.v, "at": row.at.0, "kind": row.kind, "project": row.project,
        "agent": row.agent, "run": row.run, "subject": row.subject, "cause": row.cause,
        "actor": row.actor, "data": data, "data_text": row.data,
        "payload": row.payload.map(|digest| hex(&digest)),
        "prev": hex(&row.prev), "hash": hex(&row.hash),
    })
}

/// Returns the newest event from before `before`, if there is one that is not archived yet. The newest
/// of all stays: it tells what time it is.
pub fn newest_before(view: View<'_>, before: Timestamp) -> Result<Option<EventId>, StoreError> {
    // Times never go back, so the first event that is not from before ends the search.
    let sql = "SELECT id FROM events WHERE at < ?1 AND id < (SELECT max(id) FROM events)
               ORDER BY id DESC LIMIT 1";
    let found = view.db.query_row(sql, [before.0], |row| row.get(0).map(EventId)).optional()?;
    let archived = logs::checkpoint(view)?.map_or(EventId(0), |(event, _)| event);
    Ok(found.filter(|id| *id > archived))
}

/// Returns the hash of the event `id`, if it is in the store.
pub fn hash_of(view: View<'_>, id: EventId) -> Result<Option<[u8; 32]>, StoreError> {
    let sql = "SELECT hash FROM events WHERE id = ?1";
    Ok(view.db.query_row(sql, [id.0], |row| row.get(0)).optional()?)
}

/// Notes that the events of `archive` may be taken out of the store.
pub fn note(tx: &Tx<'_>, archive: &Archive, now: Timestamp) -> Result<(), StoreError> {
    tx.db.execute(
        "INSERT OR IGNORE INTO checkpoints (event, hash, at, file) VALUES (?1, ?2, ?3, ?4)",
        params![archive.through.0, archive.hash, now.0, archive.file],
    )?;
    Ok(())
}

/// Returns the oldest event that is in the store.
pub fn oldest(view: View<'_>) -> Result<Option<EventId>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT id FROM events ORDER BY id LIMIT 1")?;
    Ok(query.query_row([], |row| row.get(0).map(EventId)).optional()?)
}

/// Takes the events up to `through` out of the store, none of which lies beyond the checkpoint.
pub fn trim(tx: &Tx<'_>, through: EventId) -> Result<(), StoreError> {
    tx.db.execute(
        "DELETE FROM events WHERE id <= ?1 AND id <= (SELECT max(event) FROM checkpoints)",
        [through.0],
    )?;
    Ok(())
}
