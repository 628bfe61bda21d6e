//! Messages, as rows.

mod list;
mod numbers;

use std::fmt::Display;

use cmux_core::digest::Digest;
use cmux_core::event::Actor;
use cmux_core::id::{AgentId, DeliveryId, MessageId};
use cmux_core::message::{
    Body, Evidence, Message, MessageKind, MessageState, NewMessage, Recall, Recipient, Sender,
};
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, Row, named_params, params};

pub use self::list::{Filter, head_of, page};
pub(crate) use self::numbers::read_tally;
use self::numbers::tally;
pub use self::numbers::{Numbers, Waits, loads, numbers, queue_of, told, unread, waits};
use crate::kinds::{actor, actor_of};
use crate::{StoreError, Tx, View, damaged, deliveries};

/// What is not over, in the words of its index. SQLite is told which index to take: it would not know which
/// has the fewest rows.
const OPEN: &str = "state NOT IN ('delivered', 'failed', 'cancelled', 'expired')";

const ADD: &str = "
    INSERT INTO messages (
        id, project, sender, sender_name, to_agent, to_name, kind, body_bytes, body_sha256,
        reply_to, thread, interrupt, key, created_at, expires_at, state, attempts, evidence,
        delivered_at, body)
    VALUES (
        :id, :project, :sender, :sender_name, :to_agent, :to_name, :kind, :body_bytes,
        :body_sha256, :reply_to, :thread, :interrupt, :key, :created_at, :expires_at, :state, 0,
        :evidence, :delivered_at, :body)";

/// What changes of a message. Who says what to whom does not.
const SAVE: &str = "
    UPDATE messages SET
        state = :state, attempts = :attempts, reason = :reason, evidence = :evidence,
        delivered_at = :delivered_at, read_at = :read_at, delivery = :delivery, recall = :recall,
        over_at = CASE WHEN :over_at IS NOT NULL THEN coalesce(over_at, :over_at) END
    WHERE id = :id";

/// Remembers a new message, behind all that were there before, and returns it.
pub fn add(
    tx: &Tx<'_>,
    new: &NewMessage,
    id: MessageId,
    thread: Option<MessageId>,
    now: Timestamp,
) -> Result<Message, StoreError> {
    let message = Message::new(id, 0, new.clone(), thread, now);
    let text = message.body.text.as_ref();
    let text_of = |id: MessageId| id.to_string();
    tx.db.prepare_cached(ADD)?.execute(named_params! {
        ":id": text_of(message.id),
        ":project": message.project.as_str(),
        ":sender": actor(&message.from.actor),
        ":sender_name": message.from.name,
        ":to_agent": message.to.agent().map(|id| id.to_string()),
        ":to_name": message.to.name(),
        ":kind": message.kind.name(),
        ":body_bytes": bytes_of(&message.body),
        ":body_sha256": message.body.sha256.as_bytes(),
        ":reply_to": message.reply_to.map(text_of),
        ":thread": text_of(message.thread),
        ":interrupt": message.interrupt,
        ":key": message.key,
        ":created_at": message.created_at.0,
        ":expires_at": message.expires_at.map(|at| at.0),
        ":state": message.state.name(),
        ":evidence": message.evidence.map(Evidence::name),
        ":delivered_at": message.delivered_at.map(|at| at.0),
        ":body": text.filter(|_| !message.body.is_long()),
    })?;
    let seq = tx.db.last_insert_rowid();
    if let Some(text) = text.filter(|_| message.body.is_long()) {
        let insert = "INSERT INTO message_bodies (message, text) VALUES (?1, ?2)";
        tx.db.prepare_cached(insert)?.execute(params![id.to_string(), text])?;
    }
    tally(tx, message.state)?;
    Ok(Message { seq, ..message })
}

/// Remembers a message that is there as it is from `now` on.
pub fn save(tx: &Tx<'_>, message: &Message, now: Timestamp) -> Result<(), StoreError> {
    let is_over = match &message.to {
        Recipient::Agent { .. } => message.state.is_over(),
        Recipient::User => message.read_at.is_some(),
    };
    let was = "SELECT state FROM messages WHERE id = ?1";
    let mut was = tx.db.prepare_cached(was)?;
    let was: Option<String> =
        was.query_row([message.id.to_string()], |row| row.get(0)).optional()?;
    if was.as_deref() != Some(message.state.name()) {
        tally(tx, message.state)?;
    }
    tx.db.prepare_cached(SAVE)?.execute(named_params! {
        ":id": message.id.to_string(),
        ":state": message.state.name(),
        ":attempts": message.attempts,
        ":reason": message.reason,
        ":evidence": message.evidence.map(Evidence::name),
        ":delivered_at": message.delivered_at.map(|at| at.0),
        ":read_at": message.read_at.map(|at| at.0),
        ":delivery": message.delivery.map(|id| id.to_string()),
        ":recall": message.recall.map(Recall::name),
        ":over_at": is_over.then_some(now.0),
    })?;
    Ok(())
}

/// Remembers a message as it is once it waits again behind all others, and returns it: its time is its
/// own to take.
pub fn requeue(tx: &Tx<'_>, message: &Message, now: Timestamp) -> Result<Message, StoreError> {
    save(tx, message, now)?;
    let next = "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'messages' RETURNING seq";
    let seq: i64 = tx.db.prepare_cached(next)?.query_row([], |row| row.get(0))?;
    let update = "UPDATE messages SET seq = ?2, expires_at = ?3 WHERE id = ?1";
    let expires_at = message.expires_at.map(|at| at.0);
    tx.db.prepare_cached(update)?.execute(params![message.id.to_string(), seq, expires_at])?;
    Ok(Message { seq, ..message.clone() })
}

/// Returns the message with this `id`, with all that it says.
pub fn find(view: View<'_>, id: MessageId) -> Result<Option<Message>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM messages WHERE id = ?1")?;
    let found = query.query_and_then([id.to_string()], read)?.next().transpose()?;
    found.map(|message| with_text(view, message)).transpose()
}

/// Returns the message that `from` sent with this `key`, with all that it says.
pub fn find_by_key(view: View<'_>, from: &Actor, key: &str) -> Result<Option<Message>, StoreError> {
    let sql = "SELECT * FROM messages WHERE sender = ?1 AND key = ?2 AND key IS NOT NULL";
    let mut query = view.db.prepare_cached(sql)?;
    let found = query.query_and_then([&actor(from), key], read)?.next().transpose()?;
    found.map(|message| with_text(view, message)).transpose()
}

/// Returns what the message `id` says, as far as that is there.
pub fn text_of(view: View<'_>, id: MessageId) -> Result<Option<String>, StoreError> {
    let sql = "SELECT coalesce(body, text) FROM messages LEFT JOIN message_bodies ON message = id
               WHERE id = ?1";
    let mut query = view.db.prepare_cached(sql)?;
    Ok(query.query_row([id.to_string()], |row| row.get(0)).optional()?.flatten())
}

/// Returns those that wait for `agent` and would be read first, `limit` at most: as they were sent, but
/// whoever interrupts first, after what they themselves sent before. Long ones are without their text.
pub fn next_up(view: View<'_>, agent: AgentId, limit: u32) -> Result<Vec<Message>, StoreError> {
    let sql = match is_interrupted(view, agent)? {
        false => {
            "SELECT * FROM messages INDEXED BY messages_queued
             WHERE to_agent = ?1 AND state = 'queued' ORDER BY seq LIMIT ?2"
        }
        true => {
            "WITH heads (of, last) AS (
                 SELECT sender, max(seq) FROM messages INDEXED BY messages_interrupting
                 WHERE to_agent = ?1 AND state = 'queued' AND interrupt = 1 GROUP BY sender
             ), early (place) AS (
                 SELECT seq FROM messages INDEXED BY messages_queued LEFT JOIN heads ON of = sender
                 WHERE to_agent = ?1 AND state = 'queued'
                 ORDER BY last IS NULL OR seq > last, seq LIMIT ?2
             )
             SELECT messages.* FROM early JOIN messages ON seq = place LEFT JOIN heads ON of = sender
             ORDER BY last IS NULL OR seq > last, seq"
        }
    };
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then(params![agent.to_string(), limit], read)?.collect()
}

/// Returns the first that waits for `agent` from each sender, the `limit` that were sent first. Long ones are
/// without their text.
pub fn firsts(view: View<'_>, agent: AgentId, limit: u32) -> Result<Vec<Message>, StoreError> {
    let sql = "SELECT * FROM messages WHERE seq IN (
                   SELECT min(seq) FROM messages INDEXED BY messages_queued
                   WHERE to_agent = ?1 AND state = 'queued' GROUP BY sender)
               ORDER BY seq LIMIT ?2";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then(params![agent.to_string(), limit], read)?.collect()
}

fn is_interrupted(view: View<'_>, agent: AgentId) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_interrupting
                              WHERE to_agent = ?1 AND state = 'queued' AND interrupt = 1)";
    Ok(view.db.prepare_cached(sql)?.query_row([agent.to_string()], |row| row.get(0))?)
}

/// Returns whether nothing is to be read before `message`.
pub fn is_next(view: View<'_>, message: &Message) -> Result<bool, StoreError> {
    let Some(agent) = message.to.agent() else { return Ok(true) };
    if message.state != MessageState::Queued {
        return Ok(true);
    }
    let first = next_up(view, agent, 1)?;
    let is_first = first.first().is_some_and(|first| first.id == message.id);
    Ok(is_first && deliveries::open_of(view, agent)?.is_none())
}

/// Returns the messages of a delivery that are there, in its order. Long ones are without their text.
pub fn of_delivery(view: View<'_>, id: DeliveryId) -> Result<Vec<Message>, StoreError> {
    let sql = "SELECT messages.* FROM deliveries, json_each(deliveries.messages) AS part
               JOIN messages ON messages.id = part.value
               WHERE deliveries.id = ?1 ORDER BY part.key";
    view.db.prepare_cached(sql)?.query_and_then([id.to_string()], read)?.collect()
}

/// Returns those whose delivery is not there any more, or is settled, though they are said to be in it.
pub fn astray(view: View<'_>) -> Result<Vec<Message>, StoreError> {
    let sql = format!(
        "SELECT * FROM messages INDEXED BY messages_open
         WHERE {OPEN} AND state <> 'queued' AND delivery NOT IN
             (SELECT id FROM deliveries INDEXED BY deliveries_open
              WHERE state NOT IN ('used', 'unused'))
         ORDER BY seq"
    );
    view.db.prepare_cached(&sql)?.query_and_then([], read)?.collect()
}

/// Returns whether a message waits for `agent`.
pub fn has_queued(view: View<'_>, agent: AgentId) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_queued
                              WHERE to_agent = ?1 AND state = 'queued')";
    Ok(view.db.prepare_cached(sql)?.query_row([agent.to_string()], |row| row.get(0))?)
}

/// Returns whether a message for `agent` is not over.
pub fn has_open(view: View<'_>, agent: AgentId) -> Result<bool, StoreError> {
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM messages INDEXED BY messages_open
                        WHERE to_agent = ?1 AND {OPEN})"
    );
    Ok(view.db.prepare_cached(&sql)?.query_row([agent.to_string()], |row| row.get(0))?)
}

/// Returns those for `agent` that are not over, in the order in which they were sent.
pub fn open_of(view: View<'_>, agent: AgentId) -> Result<Vec<Message>, StoreError> {
    let sql = format!(
        "SELECT * FROM messages INDEXED BY messages_open WHERE to_agent = ?1 AND {OPEN} ORDER BY seq"
    );
    view.db.prepare_cached(&sql)?.query_and_then([agent.to_string()], read)?.collect()
}

/// Returns those for `agent` whose time is over at `now`, and about which nothing was done yet, `limit` at
/// most.
pub fn expired(
    view: View<'_>,
    agent: AgentId,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<Message>, StoreError> {
    let sql = format!(
        "SELECT * FROM messages INDEXED BY messages_expiring
         WHERE to_agent = ?1 AND {OPEN} AND expires_at IS NOT NULL AND recall IS NULL
             AND expires_at <= ?2
         ORDER BY expires_at LIMIT ?3"
    );
    let mut query = view.db.prepare_cached(&sql)?;
    query.query_and_then(params![agent.to_string(), now.0, limit], read)?.collect()
}

/// Returns when the time of the next one for `agent` is over, after `now`.
pub fn next_expiry(
    view: View<'_>,
    agent: AgentId,
    now: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let sql = format!(
        "SELECT min(expires_at) FROM messages INDEXED BY messages_expiring
         WHERE to_agent = ?1 AND {OPEN} AND expires_at IS NOT NULL AND recall IS NULL
             AND expires_at > ?2"
    );
    let mut query = view.db.prepare_cached(&sql)?;
    let at: Option<i64> = query.query_row(params![agent.to_string(), now.0], |row| row.get(0))?;
    Ok(at.map(Timestamp))
}

/// Returns the first that waits for `agent` and for which it is to be interrupted.
pub fn to_interrupt_for(view: View<'_>, agent: AgentId) -> Result<Option<Message>, StoreError> {
    let sql = "SELECT * FROM messages INDEXED BY messages_interrupting
               WHERE to_agent = ?1 AND state = 'queued' AND interrupt = 1
               ORDER BY seq LIMIT 1";
    let mut query = view.db.prepare_cached(sql)?;
    query.query_and_then([agent.to_string()], read)?.next().transpose()
}

/// Returns since when nobody has waited for the message to be read for which that has been so longest.
pub fn oldest_over(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let sql =
        "SELECT min(over_at) FROM messages INDEXED BY messages_over WHERE over_at IS NOT NULL";
    let at: Option<i64> = view.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(at.map(Timestamp))
}

/// Forgets messages for which nobody has waited since before `before`, `limit` at most. Returns how many.
pub fn prune(tx: &Tx<'_>, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
    let delete = "DELETE FROM messages WHERE seq IN
                      (SELECT seq FROM messages INDEXED BY messages_over
                       WHERE over_at < ?1 ORDER BY over_at LIMIT ?2)";
    Ok(tx.db.prepare_cached(delete)?.execute(params![before.0, limit])? as u64)
}

/// Reads every row.
pub(crate) fn all(view: View<'_>) -> Result<(), StoreError> {
    let mut query = view.db.prepare("SELECT * FROM messages")?;
    query.query_and_then([], read)?.try_for_each(|row| row.map(drop))?;
    let mut query = view.db.prepare("SELECT * FROM message_bodies")?;
    query.query_and_then([], read_body)?.try_for_each(|row| row.map(drop))?;
    let mut query = view.db.prepare("SELECT * FROM message_tally")?;
    query.query_and_then([], read_tally)?.try_for_each(|row| row.map(drop))
}

/// Returns `message` with what it says, however long that is.
fn with_text(view: View<'_>, message: Message) -> Result<Message, StoreError> {
    if message.body.text.is_some() {
        return Ok(message);
    }
    let text = text_of(view, message.id)?;
    Ok(Message { body: Body { text, ..message.body }, ..message })
}

pub(crate) fn read(row: &Row<'_>) -> Result<Message, StoreError> {
    let id: String = row.get("id")?;
    let text = |column: &str| row.get::<_, Option<String>>(column);
    let time =
        |column: &str| Ok::<_, StoreError>(row.get::<_, Option<i64>>(column)?.map(Timestamp));
    let project: String = row.get("project")?;
    let named = |column: &'static str| text(column).map(|name| (column, name));
    Ok(Message {
        id: parsed(&id, &id)?,
        seq: row.get("seq")?,
        project: project.parse().map_err(|bad| bad_row(&id, bad))?,
        from: read_sender(row, &id)?,
        to: read_recipient(row, &id)?,
        kind: known(&id, named("kind")?, &MessageKind::ALL, MessageKind::name)?,
        body: Body {
            bytes: row.get::<_, i64>("body_bytes")?.cast_unsigned(),
            sha256: Digest::from_bytes(row.get("body_sha256")?),
            text: row.get("body")?,
        },
        reply_to: text("reply_to")?.map(|it| parsed(&id, &it)).transpose()?,
        thread: parsed(&id, &row.get::<_, String>("thread")?)?,
        interrupt: row.get("interrupt")?,
        key: row.get("key")?,
        created_at: Timestamp(row.get("created_at")?),
        expires_at: time("expires_at")?,
        state: known(&id, named("state")?, &MessageState::ALL, MessageState::name)?,
        attempts: row.get("attempts")?,
        reason: row.get("reason")?,
        evidence: known_if_any(&id, named("evidence")?, &Evidence::ALL, Evidence::name)?,
        delivered_at: time("delivered_at")?,
        read_at: time("read_at")?,
        delivery: text("delivery")?
            .map(|it| it.parse().map_err(|bad| bad_row(&id, bad)))
            .transpose()?,
        recall: known_if_any(&id, named("recall")?, &Recall::ALL, Recall::name)?,
    })
}

pub(crate) fn read_body(row: &Row<'_>) -> Result<MessageId, StoreError> {
    let id: String = row.get("message")?;
    row.get::<_, String>("text")?;
    parsed(&id, &id)
}

fn read_sender(row: &Row<'_>, id: &str) -> Result<Sender, StoreError> {
    let sender: String = row.get("sender")?;
    let actor = actor_of(&sender).ok_or_else(|| bad_row(id, format!("sender {sender}")))?;
    Ok(Sender { actor, name: row.get("sender_name")? })
}

fn read_recipient(row: &Row<'_>, id: &str) -> Result<Recipient, StoreError> {
    match row.get::<_, Option<String>>("to_agent")? {
        Some(agent) => {
            let agent = agent.parse().map_err(|bad| bad_row(id, bad))?;
            Ok(Recipient::Agent { id: agent, name: row.get("to_name")? })
        }
        None => Ok(Recipient::User),
    }
}

fn parsed(id: &str, text: &str) -> Result<MessageId, StoreError> {
    text.parse().map_err(|bad| bad_row(id, bad))
}

/// Returns the one of `all` that is called as the column says.
fn known<T: Copy>(
    id: &str,
    (column, name): (&str, Option<String>),
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<T, StoreError> {
    let found = all.iter().copied().find(|&it| name.as_deref() == Some(name_of(it)));
    found.ok_or_else(|| bad_row(id, format!("{column} {name:?}")))
}

fn known_if_any<T: Copy>(
    id: &str,
    (column, name): (&str, Option<String>),
    all: &[T],
    name_of: fn(T) -> &'static str,
) -> Result<Option<T>, StoreError> {
    match name {
        None => Ok(None),
        name => known(id, (column, name), all, name_of).map(Some),
    }
}

fn bytes_of(body: &Body) -> i64 {
    i64::try_from(body.bytes).unwrap_or(i64::MAX)
}

fn bad_row(id: &str, what: impl Display) -> StoreError {
    damaged("message", id, what)
}
