//! Links that let a browser in, as rows.

use cmux_core::digest::Digest;
use cmux_core::session::Link;
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use crate::{StoreError, Tx, View, damaged};

/// Remembers `link` as it is now.
pub fn save(tx: &Tx<'_>, link: &Link) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO links (secret, made_at, expires_at, session) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (secret) DO UPDATE SET session = excluded.session",
        )?
        .execute(params![
            link.secret.as_bytes(),
            link.made_at.0,
            link.expires_at.0,
            link.session.map(|id| id.to_string())
        ])?;
    Ok(())
}

/// Returns the link with this secret, followed or not, expired or not.
pub fn find(view: View<'_>, secret: &Digest) -> Result<Option<Link>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM links WHERE secret = ?1")?;
    query.query_and_then([secret.as_bytes()], read)?.next().transpose()
}

/// Returns when the link expires that does so first.
pub fn oldest(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT expires_at FROM links ORDER BY expires_at LIMIT 1";
    let mut query = view.db.prepare_cached(sql)?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}

/// Forgets links that expired before `before`, oldest first, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = tx.db.prepare_cached(
        "DELETE FROM links WHERE rowid IN
             (SELECT rowid FROM links WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)",
    )?;
    Ok(query.execute(params![before.0, limit])? as u64)
}

/// Returns every link, in the order in which they expire.
pub(crate) fn all(view: View<'_>) -> Result<Vec<Link>, StoreError> {
    let mut query = view.db.prepare("SELECT * FROM links ORDER BY expires_at")?;
    query.query_and_then([], read)?.collect()
}

pub(crate) fn read(row: &Row<'_>) -> Result<Link, StoreError> {
    let secret = Digest::from_bytes(row.get("secret")?);
    let session: Option<String> = row.get("session")?;
    let bad = |bad| damaged("link", &format!("{secret:?}"), bad);
    Ok(Link {
        secret,
        made_at: Timestamp(row.get("made_at")?),
        expires_at: Timestamp(row.get("expires_at")?),
        session: session.map(|id| id.parse()).transpose().map_err(bad)?,
    })
}
