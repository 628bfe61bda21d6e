//! The log, as rows.

mod search;

use cmux_core::id::EventId;
use cmux_core::time::Timestamp;
use rusqlite::{Connection, params};

pub use self::search::{Search, Searched, Way, search};
use crate::{Head, StoreError, View, archive, chain, logs};

/// The version of the shape in which events are written.
pub(crate) const VERSION: u32 = 1;

/// The most rows that are read at once.
pub const PAGE_MAX: u32 = 1000;

/// About how long a row is besides its data, in bytes.
const ROW_BYTES: usize = 256;

/// An event, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub id: EventId,
    pub v: u32,
    pub at: Timestamp,
    pub kind: String,
    pub project: Option<String>,
    pub agent: Option<String>,
    pub run: Option<String>,
    pub subject: Option<String>,
    pub cause: Option<String>,
    pub actor: String,
    /// JSON.
    pub data: String,
    pub payload: Option<[u8; 32]>,
    pub prev: [u8; 32],
    pub hash: [u8; 32],
}

/// Which events are wanted. What is not named is not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub project: Option<String>,
    pub agent: Option<String>,
    pub kind: Option<String>,
    /// Of mail, only what is to or from this agent.
    pub mail_of: Option<String>,
}

impl Filter {
    /// Returns whether an event of this kind, project and agent is let through, which is what
    /// `conditions` asks of SQLite. Whose mail it is, only the store knows.
    pub fn lets(&self, kind: &str, project: Option<&str>, agent: Option<&str>) -> bool {
        let is_wanted = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        let is_kind = match self.kind.as_deref() {
            Some(start) if start.ends_with('.') => {
                kind.strip_prefix(start).is_some_and(|rest| !rest.starts_with(char::MAX))
            }
            Some(_) | None => is_wanted(&self.kind, Some(kind)),
        };
        is_kind && is_wanted(&self.project, project) && is_wanted(&self.agent, agent)
    }
}

/// A part of the log that is not too long to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Oldest first.
    pub rows: Vec<Row>,
    /// How far it goes: there is nothing else up to this event that was asked for.
    pub through: EventId,
}

pub(crate) fn insert(db: &Connection, row: &Row) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO events (id, v, at, kind, project, agent, run, subject, cause, actor, data,
                             payload, prev, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        row.id.0,
        row.v,
        row.at.0,
        row.kind,
        row.project,
        row.agent,
        row.run,
        row.subject,
        row.cause,
        row.actor,
        row.data,
        row.payload,
        row.prev,
        row.hash
    ])?;
    Ok(())
}

/// Returns the newest row of the log, having seen that it says what it was written with.
pub fn head(view: View<'_>) -> Result<Head, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM events ORDER BY id DESC LIMIT 1")?;
    let newest = query.query_and_then([], read)?.next().transpose()?;
    if let Some(row) = newest {
        if chain::hash(&row) != row.hash {
            return Err(crate::damaged("event", &row.id.to_string(), "its hash does not fit"));
        }
        return Ok(Head { id: row.id, hash: row.hash, at: Some(row.at) });
    }
    let (id, hash) = logs::checkpoint(view)?.unwrap_or((EventId(0), chain::GENESIS));
    Ok(Head { id, hash, at: None })
}

/// Refuses a log of which an index knows a newer event than `head`, the newest of the table: the next
/// would be written in its place.
pub(crate) fn require_newest(view: View<'_>, head: EventId) -> Result<(), StoreError> {
    // One look at the end of each kind's stretch of the index, however long the log is. The limit is
    // for a damaged index, in which kinds may come again and again.
    let newest: Option<i64> = view.db.query_row(
        "WITH RECURSIVE kinds (kind) AS (
             SELECT min(kind) FROM events
             UNION ALL
             SELECT (SELECT min(kind) FROM events WHERE kind > kinds.kind) FROM kinds
             WHERE kinds.kind IS NOT NULL LIMIT 1000
         )
         SELECT max((SELECT max(id) FROM events WHERE kind = kinds.kind)) FROM kinds",
        [],
        |row| row.get(0),
    )?;
    match newest.filter(|&newest| newest > head.0) {
        None => Ok(()),
        Some(newest) => {
            let what = format!("its table ends at event {head}, and its index at {newest}");
            Err(StoreError::Damaged { what })
        }
    }
}

/// Returns the events after `since` that `filter` lets through, oldest first, `limit` at most.
pub fn after(
    view: View<'_>,
    since: EventId,
    limit: u32,
    filter: &Filter,
) -> Result<Vec<Row>, StoreError> {
    let mut query = view.db.prepare_cached(&format!(
        "SELECT * FROM events WHERE id > ?1{} ORDER BY id LIMIT ?5",
        conditions(filter)
    ))?;
    let limit = limit.min(PAGE_MAX);
    let Filter { project, agent, kind, mail_of } = filter;
    let rows =
        query.query_and_then(params![since.0, project, agent, kind, limit, mail_of], read)?;
    rows.collect()
}

/// Returns the events after `since` that `filter` lets through, as many as are no longer than `bytes_max`
/// together. If there is one, one is returned, however long it is.
pub fn stretch(
    view: View<'_>,
    since: EventId,
    bytes_max: usize,
    filter: &Filter,
) -> Result<Stretch, StoreError> {
    let mut query = view.db.prepare_cached(&format!(
        "SELECT * FROM events WHERE id > ?1{} ORDER BY id LIMIT ?5",
        conditions(filter)
    ))?;
    let Filter { project, agent, kind, mail_of } = filter;
    let found =
        query.query_and_then(params![since.0, project, agent, kind, PAGE_MAX, mail_of], read)?;
    let (mut rows, mut bytes, mut is_cut) = (Vec::new(), 0, false);
    for row in found {
        let row = row?;
        bytes += ROW_BYTES + row.data.len();
        if bytes > bytes_max && !rows.is_empty() {
            is_cut = true;
            break;
        }
        rows.push(row);
    }
    is_cut |= rows.len() == PAGE_MAX as usize;
    let last = rows.last().map_or(since, |last| last.id);
    // What the filter held back need not be looked at again.
    let through =
        if is_cut { last } else { newest_id(view)?.map_or(last, |newest| newest.max(last)) };
    Ok(Stretch { rows, through })
}

/// Returns the newest event that is not in the store any more because it was archived, if it is after
/// `since`: whoever has read up to there has missed something.
pub fn archived_after(view: View<'_>, since: EventId) -> Result<Option<EventId>, StoreError> {
    let Some((archived, _)) = logs::checkpoint(view)?.filter(|(archived, _)| *archived > since)
    else {
        return Ok(None);
    };
    // Rows are taken out a little at a time.
    let gone =
        archive::oldest(view)?.map_or(archived, |oldest| archived.min(EventId(oldest.0 - 1)));
    Ok(Some(gone).filter(|gone| *gone > since))
}

/// Returns the newest event that is in the store, taking its word for it.
pub fn newest_id(view: View<'_>) -> Result<Option<EventId>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT max(id) FROM events")?;
    Ok(query.query_row([], |row| row.get::<_, Option<i64>>(0))?.map(EventId))
}

/// Returns the newest events that `filter` lets through, oldest first, `limit` at most.
pub fn newest(view: View<'_>, limit: u32, filter: &Filter) -> Result<Vec<Row>, StoreError> {
    let mut query = view.db.prepare_cached(&format!(
        "SELECT * FROM events WHERE id > ?1{} ORDER BY id DESC LIMIT ?5",
        conditions(filter)
    ))?;
    let limit = limit.min(PAGE_MAX);
    let Filter { project, agent, kind, mail_of } = filter;
    let rows = query.query_and_then(params![0, project, agent, kind, limit, mail_of], read)?;
    let mut rows = rows.collect::<Result<Vec<Row>, _>>()?;
    rows.reverse();
    Ok(rows)
}

/// Returns the conditions that `filter` sets. A name is looked up through its index, a prefix such as
/// `project.` walks a stretch of it.
fn conditions(filter: &Filter) -> String {
    let mut sql = String::new();
    for (column, number, wanted) in
        [("project", 2, &filter.project), ("agent", 3, &filter.agent), ("kind", 4, &filter.kind)]
    {
        match wanted {
            Some(text) if column == "kind" && text.ends_with('.') => {
                sql += &format!(" AND kind >= ?{number} AND kind < ?{number} || char(1114111)");
            }
            Some(_) => sql += &format!(" AND {column} = ?{number}"),
            // An unused parameter must be named all the same.
            None => sql += &format!(" AND ?{number} IS NULL"),
        }
    }
    sql += match &filter.mail_of {
        Some(_) => {
            " AND (kind NOT GLOB 'message.*' OR agent = ?6 OR EXISTS (
                  SELECT 1 FROM messages
                  WHERE messages.id = substr(events.subject, 9) AND messages.sender = ?6))"
        }
        None => " AND ?6 IS NULL",
    };
    sql
}

/// Shows every row after `since` to `look`, oldest first, until it has seen enough.
pub(crate) fn each(
    view: View<'_>,
    since: EventId,
    mut look: impl FnMut(Row) -> bool,
) -> Result<(), StoreError> {
    let mut query = view.db.prepare("SELECT * FROM events WHERE id > ?1 ORDER BY id")?;
    for row in query.query_and_then([since.0], read)? {
        if !look(row?) {
            break;
        }
    }
    Ok(())
}

/// Returns how many events there are.
pub fn count(view: View<'_>) -> Result<u64, StoreError> {
    Ok(view.db.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?)
}

pub(crate) fn read(row: &rusqlite::Row<'_>) -> Result<Row, StoreError> {
    read_from(row, 0)
}

/// Reads a row of `SELECT …, * FROM events`, in which the first column of an event is at the place
/// `first`. To look columns up by their names would take longer; migrations only add some after these.
pub(crate) fn read_from(row: &rusqlite::Row<'_>, first: usize) -> Result<Row, StoreError> {
    Ok(Row {
        id: EventId(row.get(first)?),
        v: row.get(first + 1)?,
        at: Timestamp(row.get(first + 2)?),
        kind: row.get(first + 3)?,
        project: row.get(first + 4)?,
        agent: row.get(first + 5)?,
        run: row.get(first + 6)?,
        subject: row.get(first + 7)?,
        cause: row.get(first + 8)?,
        actor: row.get(first + 9)?,
        data: row.get(first + 10)?,
        payload: row.get(first + 11)?,
        prev: row.get(first + 12)?,
        hash: row.get(first + 13)?,
    })
}
