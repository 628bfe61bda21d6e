//! What came in from outside, as it came. It may be pruned: the log keeps the digest.

use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};
use sha2::{Digest, Sha256};

use crate::{StoreError, Tx, View};

/// Keeps `body` and returns the digest that names it. The same body is kept once.
pub fn keep(tx: &Tx<'_>, body: &[u8], now: Timestamp) -> Result<[u8; 32], StoreError> {
    let digest: [u8; 32] = Sha256::digest(body).into();
    tx.db
        .prepare_cached(
            "INSERT INTO payloads (digest, at, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (digest) DO UPDATE SET at = excluded.at",
        )?
        .execute(params![digest, now.0, body])?;
    Ok(digest)
}

/// Returns the body that `digest` names, unless it was pruned.
pub fn find(view: View<'_>, digest: &[u8; 32]) -> Result<Option<Vec<u8>>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT body FROM payloads WHERE digest = ?1")?;
    Ok(query.query_row([digest], |row| row.get(0)).optional()?)
}

/// Returns whether a row is named by the digest of what it holds.
pub(crate) fn fits(row: &Row<'_>) -> Result<bool, StoreError> {
    let (digest, body): ([u8; 32], Vec<u8>) = (row.get("digest")?, row.get("body")?);
    Ok(digest == <[u8; 32]>::from(Sha256::digest(body)))
}

/// Returns when the body was last kept that has not been for the longest.
pub fn oldest(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT at FROM payloads ORDER BY at LIMIT 1")?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}

/// Drops what was last kept before `before`, oldest first, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = tx.db.prepare_cached(
        "DELETE FROM payloads WHERE rowid IN
             (SELECT rowid FROM payloads WHERE at < ?1 ORDER BY at LIMIT ?2)",
    )?;
    Ok(query.execute(params![before.0, limit])? as u64)
}
