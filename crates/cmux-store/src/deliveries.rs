//! Deliveries of mail, as rows.

use std::fmt::Display;

use cmux_core::delivery::{Delivery, DeliveryState};
use cmux_core::id::{AgentId, DeliveryId, MessageId, RunId};
use cmux_core::time::Timestamp;
use rusqlite::{Row, named_params, params};
use serde_json::json;

use crate::{StoreError, Tx, View, damaged};

/// What is not settled, in the words of its index.
const OPEN: &str = "state NOT IN ('used', 'unused')";

/// What is written of each delivery. What is typed, and to whom, is written once.
const SAVE: &str = "
    INSERT INTO deliveries (id, agent, run, messages, attempt, state, mark, made_at, since, text)
    VALUES (:id, :agent, :run, :messages, :attempt, :state, :mark, :made_at, :since, :text)
    ON CONFLICT (id) DO UPDATE SET
        attempt = excluded.attempt, state = excluded.state, since = excluded.since";

/// Remembers `delivery` as it is now.
pub fn save(tx: &Tx<'_>, delivery: &Delivery) -> Result<(), StoreError> {
    let messages: Vec<String> = delivery.messages.iter().map(ToString::to_string).collect();
    tx.db.prepare_cached(SAVE)?.execute(named_params! {
        ":id": delivery.id.to_string(),
        ":agent": delivery.agent.to_string(),
        ":run": delivery.run.to_string(),
        ":messages": json!(messages).to_string(),
        ":attempt": delivery.attempt,
        ":state": delivery.state.name(),
        ":mark": i64::try_from(delivery.mark).unwrap_or(i64::MAX),
        ":made_at": delivery.made_at.0,
        ":since": delivery.since.0,
        ":text": delivery.text,
    })?;
    Ok(())
}

/// Returns the delivery with this `id`.
pub fn find(view: View<'_>, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM deliveries WHERE id = ?1")?;
    query.query_and_then([id.to_string()], read)?.next().transpose()
}

/// Returns the delivery that is under way to `agent`.
pub fn open_of(view: View<'_>, agent: AgentId) -> Result<Option<Delivery>, StoreError> {
    let sql =
        format!("SELECT * FROM deliveries INDEXED BY deliveries_open WHERE agent = ?1 AND {OPEN}");
    let mut query = view.db.prepare_cached(&sql)?;
    query.query_and_then([agent.to_string()], read)?.next().transpose()
}

/// Returns every delivery that is under way, by agent.
pub fn open(view: View<'_>) -> Result<Vec<Delivery>, StoreError> {
    let sql =
        format!("SELECT * FROM deliveries INDEXED BY deliveries_open WHERE {OPEN} ORDER BY agent");
    view.db.prepare_cached(&sql)?.query_and_then([], read)?.collect()
}

/// Returns the last deliveries to the life `run` of `agent`, the newest first, `limit` at most.
pub fn recent_of(
    view: View<'_>,
    agent: AgentId,
    run: RunId,
    limit: u32,
) -> Result<Vec<Delivery>, StoreError> {
    let sql = "SELECT * FROM deliveries WHERE agent = ?1 AND run = ?2 ORDER BY rowid DESC LIMIT ?3";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then(params![agent.to_string(), run.to_string(), limit], read)?.collect()
}

/// Returns when the delivery was settled that was so first.
pub fn oldest_settled(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let sql = "SELECT min(since) FROM deliveries INDEXED BY deliveries_settled
               WHERE state IN ('used', 'unused')";
    let at: Option<i64> = view.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(at.map(Timestamp))
}

/// Forgets deliveries that were settled before `before`, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let delete = "DELETE FROM deliveries WHERE rowid IN
                      (SELECT rowid FROM deliveries INDEXED BY deliveries_settled
                       WHERE state IN ('used', 'unused') AND since < ?1 ORDER BY since LIMIT ?2)";
    Ok(tx.db.prepare_cached(delete)?.execute(params![before.0, limit])? as u64)
}

/// Reads every row.
pub(crate) fn all(view: View<'_>) -> Result<(), StoreError> {
    let mut query = view.db.prepare("SELECT * FROM deliveries")?;
    query.query_and_then([], read)?.try_for_each(|row| row.map(drop))
}

pub(crate) fn read(row: &Row<'_>) -> Result<Delivery, StoreError> {
    let id: String = row.get("id")?;
    let agent: String = row.get("agent")?;
    let run: String = row.get("run")?;
    let state: String = row.get("state")?;
    let known = DeliveryState::ALL.into_iter().find(|it| it.name() == state);
    Ok(Delivery {
        id: id.parse().map_err(|bad| bad_row(&id, bad))?,
        agent: agent.parse().map_err(|bad| bad_row(&id, bad))?,
        run: run.parse().map_err(|bad| bad_row(&id, bad))?,
        messages: read_messages(row, &id)?,
        text: row.get("text")?,
        attempt: row.get("attempt")?,
        state: known.ok_or_else(|| bad_row(&id, format!("state {state}")))?,
        mark: row.get::<_, i64>("mark")?.cast_unsigned(),
        made_at: Timestamp(row.get("made_at")?),
        since: Timestamp(row.get("since")?),
    })
}

fn read_messages(row: &Row<'_>, id: &str) -> Result<Vec<MessageId>, StoreError> {
    let list: String = row.get("messages")?;
    let list: Vec<String> = serde_json::from_str(&list).map_err(|bad| bad_row(id, bad))?;
    list.iter().map(|it| it.parse().map_err(|bad| bad_row(id, bad))).collect()
}

fn bad_row(id: &str, what: impl Display) -> StoreError {
    damaged("delivery", id, what)
}
