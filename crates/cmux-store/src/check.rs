//! Whether a database is sound.

use std::path::Path;

use cmux_core::id::EventId;
use cmux_core::time::Timestamp;

use crate::events::Row;
use crate::{
    Reader, StoreError, View, agents, chain, cursors, deliveries, events, hooks, links, logs,
    messages, migrate, misread, projects, runs, sessions, settings, snapshots, tokens, trust, wake,
    webhooks,
};

/// The most problems that are told.
const PROBLEMS_MAX: usize = 20;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is wrong, in SQLite's words and ours. Empty if all is well.
    pub problems: Vec<String>,
    pub events: u64,
    pub pages: u64,
    pub page_bytes: u64,
}

/// Checks every page, every index and every reference.
pub fn check(view: View<'_>) -> Result<Check, StoreError> {
    let mut problems = Vec::new();
    let mut query = view.db.prepare("PRAGMA integrity_check(20)")?;
    for line in query.query_map([], |row| row.get::<_, String>(0))? {
        let line = line?;
        if line != "ok" {
            problems.push(line);
        }
    }
    let mut query = view.db.prepare("PRAGMA foreign_key_check")?;
    for broken in query.query_map([], |row| Ok((row.get(0)?, row.get(2)?)))?.take(PROBLEMS_MAX) {
        let (table, parent): (String, String) = broken?;
        problems.push(format!("a row of {table} refers to a missing row of {parent}"));
    }
    Ok(Check {
        problems,
        events: events::count(view)?,
        pages: view.db.pragma_query_value(None, "page_count", |row| row.get(0))?,
        page_bytes: view.db.pragma_query_value(None, "page_size", |row| row.get(0))?,
    })
}

/// Returns what is wrong with the file at `path`, looking at all of it and at each row of the log by
/// itself. Nothing, if all is well.
pub(crate) fn damage(path: &Path) -> Result<Option<String>, StoreError> {
    let looked = Reader::open(path).and_then(|mut reader| reader.read(problem));
    match looked.map_err(misread) {
        Err(StoreError::Damaged { what }) => Ok(Some(what)),
        looked => looked,
    }
}

fn problem(view: View<'_>) -> Result<Option<String>, StoreError> {
    let mut problems = check(view)?.problems;
    read_all(view)?;
    let fits = |row: Row| {
        let fits = chain::hash(&row) == row.hash;
        if !fits {
            problems.push(format!("event {}: its hash does not fit", row.id));
        }
        fits
    };
    events::each(view, EventId(0), fits)?;
    Ok(problems.into_iter().next())
}

/// Reads each row of the nouns as a turn would, so that none can stop one.
fn read_all(view: View<'_>) -> Result<(), StoreError> {
    logs::lives(view)?;
    logs::checkpoint(view)?;
    projects::all(view)?;
    snapshots::all(view)?;
    settings::all(view)?;
    cursors::all(view)?;
    wake::due(view, Timestamp(i64::MAX), u32::MAX)?;
    // A file that is not migrated yet may be looked at, too.
    if migrate::version(view.db)? >= 2 {
        tokens::all(view)?;
        sessions::all(view)?;
        links::all(view)?;
        runs::all(view)?;
        webhooks::all(view)?;
    }
    if migrate::version(view.db)? >= 3 {
        agents::all(view)?;
    }
    if migrate::version(view.db)? >= 6 {
        hooks::all(view)?;
        trust::all(view)?;
    }
    if migrate::version(view.db)? >= 7 {
        messages::all(view)?;
        deliveries::all(view)?;
    }
    Ok(())
}
