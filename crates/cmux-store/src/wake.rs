//! What is due when, as rows.

use cmux_core::plan::Subject;
use cmux_core::time::Timestamp;
use rusqlite::{OptionalExtension, params};

use crate::{StoreError, Tx, View, damaged};

/// The subjects that this cmux plans for. A later one may have left others, which are none of our
/// business.
const KNOWN: &str = "(subject = 'daemon' OR subject GLOB 'project:*' OR subject GLOB 'agent:*')";

/// Remembers to look at `subject` at `at`, or no more if there is no such time.
pub fn set(tx: &Tx<'_>, subject: &Subject, at: Option<Timestamp>) -> Result<(), StoreError> {
    match at {
        Some(at) => tx
            .db
            .prepare_cached(
                "INSERT INTO wake (subject, at) VALUES (?1, ?2)
                 ON CONFLICT (subject) DO UPDATE SET at = excluded.at",
            )?
            .execute(params![subject.to_string(), at.0])?,
        None => tx
            .db
            .prepare_cached("DELETE FROM wake WHERE subject = ?1")?
            .execute([subject.to_string()])?,
    };
    Ok(())
}

/// Returns the subjects that are due at `now`, longest due first, `limit` at most.
pub fn due(view: View<'_>, now: Timestamp, limit: u32) -> Result<Vec<Subject>, StoreError> {
    let mut query = view.db.prepare_cached(&format!(
        "SELECT subject FROM wake WHERE at <= ?1 AND {KNOWN} ORDER BY at LIMIT ?2"
    ))?;
    let texts = query.query_map(params![now.0, limit], |row| row.get::<_, String>(0))?;
    texts
        .map(|text| {
            let text = text?;
            text.parse().map_err(|bad| damaged("wake", &text, bad))
        })
        .collect()
}

/// Returns when the next subject is due.
pub fn next(view: View<'_>) -> Result<Option<Timestamp>, StoreError> {
    let mut query = view
        .db
        .prepare_cached(&format!("SELECT at FROM wake WHERE {KNOWN} ORDER BY at LIMIT 1"))?;
    Ok(query.query_row([], |row| row.get(0).map(Timestamp)).optional()?)
}
