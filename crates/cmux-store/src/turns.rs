//! Turns, as rows.

use std::fmt::Display;

use cmux_core::id::{AgentId, DeliveryId, TurnId};
use cmux_core::time::Timestamp;
use cmux_core::turn::{Ended, Turn, TurnEnd};
use rusqlite::{OptionalExtension, Row, named_params, params};
use serde_json::json;

use crate::{StoreError, Tx, View, damaged};

/// What is written of each turn. When and whose it is is written once.
const SAVE: &str = "
    INSERT INTO turns (id, agent, run, began_at, wall_at, ended_at, how, deliveries, tools, calls)
    VALUES (:id, :agent, :run, :began_at, :wall_at, :ended_at, :how, :deliveries, :tools, :calls)
    ON CONFLICT (id) DO UPDATE SET
        ended_at = excluded.ended_at, how = excluded.how, deliveries = excluded.deliveries,
        tools = excluded.tools, calls = excluded.calls";

/// Remembers `turn` as it is now.
pub fn save(tx: &Tx<'_>, turn: &Turn) -> Result<(), StoreError> {
    let deliveries: Vec<String> = turn.deliveries.iter().map(ToString::to_string).collect();
    tx.db.prepare_cached(SAVE)?.execute(named_params! {
        ":id": turn.id.to_string(),
        ":agent": turn.agent.to_string(),
        ":run": turn.run.to_string(),
        ":began_at": turn.began_at.0,
        ":wall_at": turn.wall_at.0,
        ":ended_at": turn.end.map(|end| end.at.0),
        ":how": turn.end.map(|end| end.how.name()),
        ":deliveries": json!(deliveries).to_string(),
        ":tools": json!(turn.tools).to_string(),
        ":calls": i64::try_from(turn.calls).unwrap_or(i64::MAX),
    })?;
    Ok(())
}

/// Returns the turn with this `id`.
pub fn find(view: View<'_>, id: TurnId) -> Result<Option<Turn>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM turns WHERE id = ?1")?;
    query.query_and_then([id.to_string()], read)?.next().transpose()
}

/// Returns the turns of `agent` that began in that time, the newest first, `limit` at most.
pub fn between(
    view: View<'_>,
    agent: AgentId,
    from: Timestamp,
    until: Timestamp,
    limit: u32,
) -> Result<Vec<Turn>, StoreError> {
    let sql = "SELECT * FROM turns WHERE agent = ?1 AND began_at >= ?2 AND began_at < ?3
               ORDER BY wall_at DESC, rowid DESC LIMIT ?4";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then(params![agent.to_string(), from.0, until.0, limit], read)?.collect()
}

/// Returns the last turns of `agent`, the newest first, `limit` at most.
pub fn last(view: View<'_>, agent: AgentId, limit: u32) -> Result<Vec<Turn>, StoreError> {
    let sql = "SELECT * FROM turns WHERE agent = ?1 ORDER BY wall_at DESC, rowid DESC LIMIT ?2";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then(params![agent.to_string(), limit], read)?.collect()
}

/// Returns the turn of `agent` that something belongs to which happened at `at`, by the wall.
pub fn at(view: View<'_>, agent: AgentId, at: Timestamp) -> Result<Option<Turn>, StoreError> {
    let sql = "SELECT * FROM turns WHERE agent = ?1 AND wall_at <= ?2
               ORDER BY wall_at DESC, rowid DESC LIMIT 1";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then(params![agent.to_string(), at.0], read)?.next().transpose()
}

/// Returns when the turn after `turn` began, by the wall, if there is one.
pub fn next_at(view: View<'_>, turn: &Turn) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT min(wall_at) FROM turns WHERE agent = ?1 AND wall_at > ?2";
    let mut query = view.db.prepare_cached(sql)?;
    let at = query.query_row(params![turn.agent.to_string(), turn.wall_at.0], |row| row.get(0))?;
    Ok(Option::map(at, Timestamp))
}

/// Returns when the turn began that did so first.
pub fn oldest(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let mut query =
        view.db.prepare_cached("SELECT began_at FROM turns ORDER BY began_at LIMIT 1")?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}

/// Forgets turns that began before `before`, oldest first, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let mut query = tx.db.prepare_cached(
        "DELETE FROM turns WHERE rowid IN
             (SELECT rowid FROM turns WHERE began_at < ?1 ORDER BY began_at LIMIT ?2)",
    )?;
    Ok(query.execute(params![before.0, limit])? as u64)
}

pub(crate) fn read(row: &Row<'_>) -> Result<Turn, StoreError> {
    let id: String = row.get("id")?;
    let (agent, run): (String, String) = (row.get("agent")?, row.get("run")?);
    let calls: i64 = row.get("calls")?;
    Ok(Turn {
        id: id.parse().map_err(|bad| bad_row(&id, bad))?,
        agent: agent.parse().map_err(|bad| bad_row(&id, bad))?,
        run: run.parse().map_err(|bad| bad_row(&id, bad))?,
        began_at: Timestamp(row.get("began_at")?),
        wall_at: Timestamp(row.get("wall_at")?),
        deliveries: deliveries(row, &id)?,
        tools: list(row, &id, "tools")?,
        calls: u64::try_from(calls).map_err(|bad| bad_row(&id, bad))?,
        end: end(row, &id)?,
    })
}

fn deliveries(row: &Row<'_>, id: &str) -> Result<Vec<DeliveryId>, StoreError> {
    let named = list(row, id, "deliveries")?;
    named.iter().map(|it| it.parse().map_err(|bad| bad_row(id, bad))).collect()
}

fn list(row: &Row<'_>, id: &str, column: &str) -> Result<Vec<String>, StoreError> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|bad| bad_row(id, bad))
}

fn end(row: &Row<'_>, id: &str) -> Result<Option<Ended>, StoreError> {
    let how: Option<String> = row.get("how")?;
    let Some((how, at)) = how.zip(row.get::<_, Option<i64>>("ended_at")?) else {
        return Ok(None);
    };
    let known = TurnEnd::ALL.into_iter().find(|it| it.name() == how);
    let how = known.ok_or_else(|| bad_row(id, format!("how {how}")))?;
    Ok(Some(Ended { at: Timestamp(at), how }))
}

fn bad_row(id: &str, what: impl Display) -> StoreError {
    damaged("turn", id, what)
}
