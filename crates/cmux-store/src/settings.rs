//! What cmux itself has set, as rows: a name and a JSON value.

use rusqlite::{OptionalExtension, params};
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
    let mut query = view.db.prepare_cached("SELECT value FROM settings WHERE name = ?1")?;
    let text: Option<String> = query.query_row([name], |row| row.get(0)).optional()?;
    let parse =
        |text: String| serde_json::from_str(&text).map_err(|bad| damaged("setting", name, bad));
    text.map(parse).transpose()
}
