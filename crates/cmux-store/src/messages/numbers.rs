//! How many messages there are.

use cmux_core::event::Actor;
use cmux_core::id::AgentId;
use cmux_core::mail::Load;
use cmux_core::message::MessageState;
use cmux_core::time::Timestamp;
use rusqlite::{Row, params};

use super::{OPEN, bad_row, known};
use crate::kinds::actor;
use crate::{StoreError, Tx, View};

/// How many messages there are, as far as that is told without looking at all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The agents for which something is not over, by id.
    pub agents: Vec<Waits>,
    /// How many are in each state that is not an end, if any are.
    pub open: Vec<(MessageState, u64)>,
    /// How many ever came to be in each state, if any did.
    pub totals: Vec<(MessageState, u64)>,
    /// How many the person has not read.
    pub unread: u64,
}

/// What waits for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    pub agent: AgentId,
    /// How many messages to it are not over.
    pub waiting: u64,
    /// When the oldest of them was accepted.
    pub oldest: Timestamp,
}

/// Returns how much is not over: of what is for the agent `to`, or of what the person has not read; from
/// this sender, or from all.
pub fn load(view: View<'_>, to: Option<AgentId>, from: Option<&Actor>) -> Result<Load, StoreError> {
    let whose = match to {
        Some(_) => format!("messages_open WHERE to_agent = ?1 AND {OPEN}"),
        None => {
            "messages_unread WHERE ?1 IS NULL AND to_agent IS NULL AND read_at IS NULL".to_owned()
        }
    };
    let sender = if from.is_some() { "sender = ?2" } else { "?2 IS NULL" };
    let mut query = view.db.prepare_cached(&format!(
        "SELECT count(*), coalesce(sum(body_bytes), 0) FROM messages INDEXED BY {whose} AND {sender}"
    ))?;
    let (to, from) = (to.map(|id| id.to_string()), from.map(actor));
    Ok(query.query_row(params![to, from], |row| {
        Ok(Load { messages: row.get(0)?, bytes: row.get(1)? })
    })?)
}

/// Returns how many messages to `agent` are not over.
pub fn queue_of(view: View<'_>, agent: AgentId) -> Result<u64, StoreError> {
    Ok(load(view, Some(agent), None)?.messages)
}

/// Returns how many messages there are.
pub fn numbers(view: View<'_>) -> Result<Numbers, StoreError> {
    let mut query = view.db.prepare_cached(&format!(
        "SELECT to_agent, count(*), min(created_at) FROM messages INDEXED BY messages_open
         WHERE {OPEN} GROUP BY to_agent"
    ))?;
    let agents = query.query_and_then([], read_waits)?.collect::<Result<_, _>>()?;
    let mut query = view.db.prepare_cached(&format!(
        "SELECT state, count(*) AS messages FROM messages INDEXED BY messages_open
         WHERE {OPEN} GROUP BY state"
    ))?;
    let open = query.query_and_then([], read_tally)?.collect::<Result<_, _>>()?;
    let mut query = view.db.prepare_cached("SELECT * FROM message_tally")?;
    let totals = query.query_and_then([], read_tally)?.collect::<Result<_, _>>()?;
    Ok(Numbers { agents, open, totals, unread: load(view, None, None)?.messages })
}

/// Counts one more message that came to be in `state`.
pub(super) fn tally(tx: &Tx<'_>, state: MessageState) -> Result<(), StoreError> {
    let insert = "INSERT INTO message_tally (state, messages) VALUES (?1, 1)
                  ON CONFLICT (state) DO UPDATE SET messages = messages + 1";
    tx.db.prepare_cached(insert)?.execute([state.name()])?;
    Ok(())
}

fn read_waits(row: &Row<'_>) -> Result<Waits, StoreError> {
    let agent: String = row.get(0)?;
    let agent = agent.parse().map_err(|bad| bad_row(&agent, bad))?;
    Ok(Waits { agent, waiting: row.get(1)?, oldest: Timestamp(row.get(2)?) })
}

pub(crate) fn read_tally(row: &Row<'_>) -> Result<(MessageState, u64), StoreError> {
    let state =
        known("tally", ("state", row.get("state")?), &MessageState::ALL, MessageState::name)?;
    Ok((state, row.get("messages")?))
}
