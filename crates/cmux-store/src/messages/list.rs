//! Messages, page by page.

use cmux_core::id::{AgentId, MessageId};
use cmux_core::message::{Message, MessageState};
use cmux_core::project::ProjectId;
use rusqlite::{OptionalExtension, named_params, params};

use super::{OPEN, read};
use crate::kinds::actor_of;
use crate::{StoreError, View};

/// Which messages are wanted. What is not named is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub project: Option<ProjectId>,
    pub to_agent: Option<AgentId>,
    /// Those to the person.
    pub to_user: bool,
    /// Who sent it, as the log says it or by name.
    pub from: Option<String>,
    pub state: Option<MessageState>,
    pub thread: Option<MessageId>,
    /// Those that the person has not read yet.
    pub unread: bool,
}

/// Returns the messages that `filter` lets through, newest first, `limit` at most: those before the place
/// `before`, or all. Long ones are without their text.
pub fn page(
    view: View<'_>,
    filter: &Filter,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<Message>, StoreError> {
    let (index, is_wanted) = conditions(filter);
    // Places are put in order first, as they are short.
    let mut query = view.db.prepare_cached(&format!(
        "SELECT * FROM messages WHERE seq IN (
             SELECT seq FROM messages {index}
             WHERE seq < :before AND :project IS :project AND :to_agent IS :to_agent
                 AND :from IS :from AND :state IS :state AND :thread IS :thread{is_wanted}
             ORDER BY seq DESC LIMIT :limit)
         ORDER BY seq DESC"
    ))?;
    let rows = query.query_and_then(
        named_params! {
            ":before": before.unwrap_or(i64::MAX),
            ":project": filter.project.as_ref().map(ProjectId::as_str),
            ":to_agent": filter.to_agent.map(|id| id.to_string()),
            ":from": filter.from,
            ":state": filter.state.map(MessageState::name),
            ":thread": filter.thread.map(|id| id.to_string()),
            ":limit": limit,
        },
        read,
    )?;
    rows.collect()
}

/// Returns the beginning of what the message `id` says, of so many letters at most, as far as that is there.
pub fn head_of(
    view: View<'_>,
    id: MessageId,
    letters: usize,
) -> Result<Option<String>, StoreError> {
    let sql = "SELECT substr(coalesce(body, text), 1, ?2)
               FROM messages LEFT JOIN message_bodies ON message = id WHERE id = ?1";
    let mut query = view.db.prepare_cached(sql)?;
    let letters = i64::try_from(letters).unwrap_or(i64::MAX);
    Ok(query.query_row(params![id.to_string(), letters], |row| row.get(0)).optional()?.flatten())
}

/// Returns the index that has the fewest rows to look at, where SQLite would not know, and the conditions
/// that `filter` sets.
fn conditions(filter: &Filter) -> (&'static str, String) {
    let (mut index, mut sql) = ("", String::new());
    let mut also = |condition: &str| {
        sql += " AND ";
        sql += condition;
    };
    if filter.project.is_some() {
        also("project = :project");
    }
    if filter.to_agent.is_some() {
        also("to_agent = :to_agent");
    }
    if filter.to_user {
        also("to_agent IS NULL");
    }
    match filter.from.as_deref().map(actor_of) {
        Some(Some(_)) => also("sender = :from"),
        Some(None) => also("sender_name = :from"),
        None => {}
    }
    match filter.state {
        Some(MessageState::Delivered) => also("state = :state"),
        Some(MessageState::Failed | MessageState::Cancelled | MessageState::Expired) => {
            also("state = :state AND state IN ('failed', 'cancelled', 'expired')");
            index = "INDEXED BY messages_unheard";
        }
        Some(
            MessageState::Queued
            | MessageState::Typing
            | MessageState::Submitted
            | MessageState::Claimed
            | MessageState::InDoubt,
        ) => {
            also(&format!("state = :state AND {OPEN}"));
            index = "INDEXED BY messages_open";
        }
        None => {}
    }
    if filter.thread.is_some() {
        also("thread = :thread");
    }
    if filter.unread {
        also("to_agent IS NULL AND read_at IS NULL");
        index = "INDEXED BY messages_unread";
    }
    (index, sql)
}
