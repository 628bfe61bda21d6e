//! What cmux itself has set, as rows: a name and a JSON value.

use rusqlite::{Row, params};
use serde_json::Value;

use crate::{StoreError, Tx, View, damaged};

/// Remembers that `name` is set to `value`.
pub fn save(tx: &Tx<'_>, name: &str, value: &Value) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO settings (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?
        .execute(params![name, value.to_string()])?;
    Ok(())
}

/// Returns what `name` is set to.
pub fn find(view: View<'_>, name: &str) -> Result<Option<Value>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM settings WHERE name = ?1")?;
    let found = query.query_and_then([name], read)?.next().transpose()?;
    Ok(found.map(|(_, value)| value))
}

/// Returns all that is set, by name.
pub(crate) fn all(view: View<'_>) -> Result<Vec<(String, Value)>, StoreError> {
    let mut query = view.db.prepare("SELECT * FROM settings ORDER BY name")?;
    query.query_and_then([], read)?.collect()
}

pub(crate) fn read(row: &Row<'_>) -> Result<(String, Value), StoreError> {
    let name: String = row.get("name")?;
    let text: String = row.get("value")?;
    let value = serde_json::from_str(&text).map_err(|bad| damaged("setting", &name, bad))?;
    Ok((name, value))
}
