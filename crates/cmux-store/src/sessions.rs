//! Sessions of browsers, as rows.

use cmux_core::digest::Digest;
use cmux_core::id::SessionId;
use cmux_core::session::{Over, OverWhy, Session, SessionHow};
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use crate::kinds::{over_why, session_how};
use crate::{StoreError, Tx, View, damaged};

/// Remembers `session` as it is now.
pub fn save(tx: &Tx<'_>, session: &Session) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO sessions (id, secret, how, opened_at, expires_at, over_at, over_why)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (id) DO UPDATE SET
                 over_at = excluded.over_at, over_why = excluded.over_why",
        )?
        .execute(params![
            session.id.to_string(),
            session.secret.as_bytes(),
            session_how(session.how),
            session.opened_at.0,
            session.expires_at.0,
            session.over.map(|over| over.at.0),
            session.over.map(|over| over_why(over.why))
        ])?;
    Ok(())
}

/// Returns the session called `id`.
pub fn find(view: View<'_>, id: SessionId) -> Result<Option<Session>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM sessions WHERE id = ?1")?;
    query.query_and_then([id.to_string()], read)?.next().transpose()
}

/// Returns the session with this secret, good or not.
pub fn find_by_secret(view: View<'_>, secret: &Digest) -> Result<Option<Session>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM sessions WHERE secret = ?1")?;
    query.query_and_then([secret.as_bytes()], read)?.next().transpose()
}

/// Returns the sessions after the one called `after` in the order of their ids, `limit` at most.
pub fn page(
    view: View<'_>,
    after: Option<SessionId>,
    limit: u32,
) -> Result<Vec<Session>, StoreError> {
    let mut query =
        view.db.prepare_cached("SELECT * FROM sessions WHERE id > ?1 ORDER BY id LIMIT ?2")?;
    let after = after.map_or_else(String::new, |id| id.to_string());
    query.query_and_then(params![after, limit], read)?.collect()
}

/// Returns the sessions that a password opened and that are not over.
pub fn by_password(view: View<'_>) -> Result<Vec<Session>, StoreError> {
    let sql = "SELECT * FROM sessions WHERE how = 'password' AND over_at IS NULL ORDER BY id";
    view.db.prepare_cached(sql)?.query_and_then([], read)?.collect()
}

/// Ends every session that is not over, and every link.
pub(crate) fn end_all(tx: &Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE sessions SET over_at = ?1, over_why = 'revoked' WHERE over_at IS NULL";
    tx.db.execute(sql, [now.0])?;
    tx.db.execute("DELETE FROM links", [])?;
    Ok(())
}

/// Returns when the session that ends first did so or will.
pub fn oldest(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT coalesce(over_at, expires_at) FROM sessions
               ORDER BY coalesce(over_at, expires_at) LIMIT 1";
    let mut query = view.db.prepare_cached(sql)?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}

/// Forgets sessions that ended before `before`, oldest first, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = tx.db.prepare_cached(
        "DELETE FROM sessions WHERE rowid IN
             (SELECT rowid FROM sessions WHERE coalesce(over_at, expires_at) < ?1
              ORDER BY coalesce(over_at, expires_at) LIMIT ?2)",
    )?;
    Ok(query.execute(params![before.0, limit])? as u64)
}

/// Returns every session, by id.
pub(crate) fn all(view: View<'_>) -> Result<Vec<Session>, StoreError> {
    page(view, None, u32::MAX)
}

pub(crate) fn read(row: &Row<'_>) -> Result<Session, StoreError> {
    let id: String = row.get("id")?;
    let how: String = row.get("how")?;
    let how = match how.as_str() {
        "link" => SessionHow::Link,
        "password" => SessionHow::Password,
        how => return Err(damaged("session", &id, format!("how {how}"))),
    };
    let (at, why): (Option<i64>, Option<String>) = (row.get("over_at")?, row.get("over_why")?);
    let over = |why| at.map(|at| Over { at: Timestamp(at), why });
    let over = match (at, why.as_deref()) {
        (None, None) => None,
        (Some(_), Some("closed")) => over(OverWhy::Closed),
        (Some(_), Some("link_reused")) => over(OverWhy::LinkReused),
        (Some(_), Some("revoked")) => over(OverWhy::Revoked),
        (at, why) => return Err(damaged("session", &id, format!("over {at:?}, {why:?}"))),
    };
    Ok(Session {
        id: id.parse().map_err(|bad| damaged("session", &id, bad))?,
        secret: Digest::from_bytes(row.get("secret")?),
        how,
        opened_at: Timestamp(row.get("opened_at")?),
        expires_at: Timestamp(row.get("expires_at")?),
        over,
    })
}
