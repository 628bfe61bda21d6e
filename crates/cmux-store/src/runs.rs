//! What runs of agents show to be known, as rows.

use cmux_core::digest::Digest;
use cmux_core::id::RunId;
use cmux_core::run::RunToken;
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

use crate::{StoreError, Tx, View, damaged};

/// Remembers `token` as it is now.
pub fn save(tx: &Tx<'_>, token: &RunToken) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO run_tokens (secret, run, agent, project, made_at, ended_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (secret) DO UPDATE SET ended_at = excluded.ended_at",
        )?
        .execute(params![
            token.secret.as_bytes(),
            token.run.to_string(),
            token.agent.to_string(),
            token.project.as_str(),
            token.made_at.0,
            token.ended_at.map(|at| at.0)
        ])?;
    Ok(())
}

/// Returns the token with this secret, good or not.
pub fn find(view: View<'_>, secret: &Digest) -> Result<Option<RunToken>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM run_tokens WHERE secret = ?1")?;
    query.query_and_then([secret.as_bytes()], read)?.next().transpose()
}

/// Returns the token of `run`, if it has one.
pub fn find_by_run(view: View<'_>, run: RunId) -> Result<Option<RunToken>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM run_tokens WHERE run = ?1")?;
    query.query_and_then([run.to_string()], read)?.next().transpose()
}

/// Remembers that `run` has ended, and all that it could show with it. A run ends once.
pub fn end(tx: &Tx<'_>, run: RunId, now: Timestamp) -> Result<(), StoreError> {
    tx.db
        .prepare_cached("UPDATE run_tokens SET ended_at = ?2 WHERE run = ?1 AND ended_at IS NULL")?
        .execute(params![run.to_string(), now.0])?;
    Ok(())
}

/// Returns when the run ended that did so first.
pub fn oldest(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT ended_at FROM run_tokens WHERE ended_at IS NOT NULL
               ORDER BY ended_at LIMIT 1";
    let mut query = view.db.prepare_cached(sql)?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}

/// Forgets tokens of runs that ended before `before`, oldest first, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = tx.db.prepare_cached(
        "DELETE FROM run_tokens WHERE rowid IN
             (SELECT rowid FROM run_tokens WHERE ended_at < ?1 ORDER BY ended_at LIMIT ?2)",
    )?;
    Ok(query.execute(params![before.0, limit])? as u64)
}

/// Returns every token, oldest first.
pub(crate) fn all(view: View<'_>) -> Result<Vec<RunToken>, StoreError> {
    let mut query = view.db.prepare("SELECT * FROM run_tokens ORDER BY made_at")?;
    query.query_and_then([], read)?.collect()
}

pub(crate) fn read(row: &Row<'_>) -> Result<RunToken, StoreError> {
    let run: String = row.get("run")?;
    let (agent, project): (String, String) = (row.get("agent")?, row.get("project")?);
    let ended_at: Option<i64> = row.get("ended_at")?;
    Ok(RunToken {
        secret: Digest::from_bytes(row.get("secret")?),
        run: run.parse().map_err(|bad| damaged("run token", &run, bad))?,
        agent: agent.parse().map_err(|bad| damaged("run token", &run, bad))?,
        project: project.parse().map_err(|bad| damaged("run token", &run, bad))?,
        made_at: Timestamp(row.get("made_at")?),
        ended_at: ended_at.map(Timestamp),
    })
}
