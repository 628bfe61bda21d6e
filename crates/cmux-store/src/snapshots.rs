//! Snapshots, as rows.

use cmux_core::id::{EventId, SnapshotId};
use cmux_core::snapshot::{Copied, Snapshot, SnapshotKind, SnapshotState};
use cmux_core::time::Timestamp;
use rusqlite::{Row, params};

use crate::kinds::snapshot_kind;
use crate::{StoreError, Tx, View, damaged};

/// Remembers `snapshot` as it is now.
pub fn save(tx: &Tx<'_>, snapshot: &Snapshot) -> Result<(), StoreError> {
    let (state, at, copied, why) = match &snapshot.state {
        SnapshotState::Underway { deadline } => ("underway", deadline, None, None),
        SnapshotState::Taken { at, copied } => ("taken", at, Some(copied), None),
        SnapshotState::Failed { at, why } => ("failed", at, None, Some(why)),
    };
    let bytes = copied.map(|copied| i64::try_from(copied.bytes).unwrap_or(i64::MAX));
    tx.db
        .prepare_cached(
            "INSERT INTO snapshots (id, kind, state, at, file, bytes, sha256, head, why)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (id) DO UPDATE SET
                 state = excluded.state, at = excluded.at, file = excluded.file,
                 bytes = excluded.bytes, sha256 = excluded.sha256, head = excluded.head,
                 why = excluded.why",
        )?
        .execute(params![
            snapshot.id.to_string(),
            snapshot_kind(snapshot.kind),
            state,
            at.0,
            copied.map(|copied| &copied.file),
            bytes,
            copied.map(|copied| &copied.sha256),
            copied.map(|copied| copied.head.0),
            why
        ])?;
    Ok(())
}

/// Returns the snapshot called `id`.
pub fn find(view: View<'_>, id: SnapshotId) -> Result<Option<Snapshot>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM snapshots WHERE id = ?1")?;
    query.query_and_then([id.to_string()], read)?.next().transpose()
}

/// Returns the snapshot of `kind` that was begun last. Ids do not tell: they follow the clock on the
/// wall, which may be set back.
pub fn newest(view: View<'_>, kind: SnapshotKind) -> Result<Option<Snapshot>, StoreError> {
    let mut query = view
        .db
        .prepare_cached("SELECT * FROM snapshots WHERE kind = ?1 ORDER BY rowid DESC LIMIT 1")?;
    query.query_and_then([snapshot_kind(kind)], read)?.next().transpose()
}

/// Returns when the newest snapshot that came to be was taken.
pub fn taken_at(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT max(at) FROM snapshots WHERE state = 'taken'";
    Ok(view.db.query_row(sql, [], |row| row.get::<_, Option<i64>>(0))?.map(Timestamp))
}

/// Returns every snapshot, oldest first.
pub(crate) fn all(view: View<'_>) -> Result<Vec<Snapshot>, StoreError> {
    let mut query = view.db.prepare("SELECT * FROM snapshots ORDER BY id")?;
    query.query_and_then([], read)?.collect()
}

pub(crate) fn read(row: &Row<'_>) -> Result<Snapshot, StoreError> {
    let id: String = row.get("id")?;
    let at = Timestamp(row.get("at")?);
    let state: String = row.get("state")?;
    let state = match state.as_str() {
        "underway" => SnapshotState::Underway { deadline: at },
        "taken" => SnapshotState::Taken { at, copied: copied(row)? },
        "failed" => SnapshotState::Failed { at, why: row.get("why")? },
        state => return Err(damaged("snapshot", &id, format!("state {state}"))),
    };
    let kind: String = row.get("kind")?;
    let kind = match kind.as_str() {
        "daily" => SnapshotKind::Daily,
        "migration" => SnapshotKind::Migration,
        kind => return Err(damaged("snapshot", &id, format!("kind {kind}"))),
    };
    Ok(Snapshot { id: id.parse().map_err(|bad| damaged("snapshot", &id, bad))?, kind, state })
}

fn copied(row: &Row<'_>) -> Result<Copied, StoreError> {
    let bytes: i64 = row.get("bytes")?;
    Ok(Copied {
        file: row.get("file")?,
        bytes: u64::try_from(bytes).unwrap_or(0),
        sha256: row.get("sha256")?,
        head: EventId(row.get("head")?),
    })
}
