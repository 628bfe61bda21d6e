//! How many messages there are.

use cmux_core::event::Actor;
use cmux_core::id::{AgentId, MessageId};
use cmux_core::mail::Load;
use cmux_core::message::MessageState;
use cmux_core::project::ProjectId;
use cmux_core::time::Timestamp;
use rusqlite::{Row, params};

use super::{OPEN, bad_row, known};
use crate::kinds::{actor, actor_of};
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

/// Returns how much is not over of what is for the agent `to`, or what of `project` the person has not read, from
/// each sender.
pub fn loads(
    view: View<'_>,
    to: Option<AgentId>,
    project: &ProjectId,
) -> Result<Vec<(Actor, Load)>, StoreError> {
    let whose = match to {
        Some(_) => format!("messages_open WHERE to_agent = ?1 AND ?2 IS ?2 AND {OPEN}"),
        None => "messages_unread WHERE ?1 IS NULL AND to_agent IS NULL AND read_at IS NULL AND project = ?2"
            .to_owned(),
    };
    let mut query = view.db.prepare_cached(&format!(
        "SELECT sender, count(*), sum(body_bytes) FROM messages INDEXED BY {whose} GROUP BY sender"
    ))?;
    let to = to.map(|id| id.to_string());
    query.query_and_then(params![to, project.as_str()], read_load)?.collect()
}

/// Returns how often cmux has told the reader `to`, in words that are still to be read, of a message of this
/// `thread` that came to be in `state`: `most` if it was more often.
pub fn told(
    view: View<'_>,
    to: Option<AgentId>,
    thread: MessageId,
    state: MessageState,
    most: u32,
) -> Result<u32, StoreError> {
    // What was told is among the newest of the conversation.
    let sql = format!(
        "SELECT count(*) FROM (
             SELECT 1 FROM messages AS notice INDEXED BY messages_by_thread
             CROSS JOIN messages AS about ON about.id = notice.reply_to
             WHERE notice.thread = ?1 AND notice.sender = ?2 AND notice.to_agent IS ?3
                 AND iif(notice.to_agent IS NULL, notice.read_at IS NULL, notice.{OPEN})
                 AND about.state = ?4
             ORDER BY notice.seq DESC LIMIT ?5)"
    );
    let to = to.map(|id| id.to_string());
    let told = params![thread.to_string(), actor(&Actor::Cmux), to, state.name(), most];
    Ok(view.db.prepare_cached(&sql)?.query_row(told, |row| row.get(0))?)
}

/// Returns how many messages the person has not read.
pub fn unread(view: View<'_>) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM messages INDEXED BY messages_unread
               WHERE to_agent IS NULL AND read_at IS NULL";
    Ok(view.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Returns how many messages to `agent` are not over.
pub fn queue_of(view: View<'_>, agent: AgentId) -> Result<u64, StoreError> {
    let sql = format!(
        "SELECT count(*) FROM messages INDEXED BY messages_open WHERE to_agent = ?1 AND {OPEN}"
    );
    Ok(view.db.prepare_cached(&sql)?.query_row([agent.to_string()], |row| row.get(0))?)
}

/// Returns what waits for each agent for which something is not over.
pub fn waits(view: View<'_>) -> Result<Vec<Waits>, StoreError> {
    let mut query = view.db.prepare_cached(&format!(
        "SELECT to_agent, count(*), min(created_at) FROM messages INDEXED BY messages_open
         WHERE {OPEN} GROUP BY to_agent"
    ))?;
    query.query_and_then([], read_waits)?.collect()
}

/// Returns how many messages there are.
pub fn numbers(view: View<'_>) -> Result<Numbers, StoreError> {
    let agents = waits(view)?;
    let mut query = view.db.prepare_cached(&format!(
        "SELECT state, count(*) AS messages FROM messages INDEXED BY messages_open
         WHERE {OPEN} GROUP BY state"
    ))?;
    let open = query.query_and_then([], read_tally)?.collect::<Result<_, _>>()?;
    let mut query = view.db.prepare_cached("SELECT * FROM message_tally")?;
    let totals = query.query_and_then([], read_tally)?.collect::<Result<_, _>>()?;
    Ok(Numbers { agents, open, totals, unread: unread(view)? })
}

/// Counts one more message that came to be in `state`.
pub(super) fn tally(tx: &Tx<'_>, state: MessageState) -> Result<(), StoreError> {
    let insert = "INSERT INTO message_tally (state, messages) VALUES (?1, 1)
                  ON CONFLICT (state) DO UPDATE SET messages = messages + 1";
    tx.db.prepare_cached(insert)?.execute([state.name()])?;
    Ok(())
}

fn read_load(row: &Row<'_>) -> Result<(Actor, Load), StoreError> {
    let sender: String = row.get(0)?;
    let from = actor_of(&sender).ok_or_else(|| bad_row("load", format!("sender {sender}")))?;
    Ok((from, Load { messages: row.get(1)?, bytes: row.get(2)? }))
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
