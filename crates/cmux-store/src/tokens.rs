//! Tokens, as rows.

use cmux_core::digest::Digest;
use cmux_core::id::TokenId;
use cmux_core::time::Timestamp;
use cmux_core::token::Token;
use rusqlite::{Row, params};

use crate::{StoreError, Tx, View, damaged};

/// Remembers `token` as it is now.
pub fn save(tx: &Tx<'_>, token: &Token) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO tokens (id, name, scope, secret, created_at, expires_at, revoked_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (id) DO UPDATE SET revoked_at = excluded.revoked_at",
        )?
        .execute(params![
            token.id.to_string(),
            token.name,
            token.scope.to_string(),
            token.secret.as_bytes(),
            token.created_at.0,
            token.expires_at.map(|at| at.0),
            token.revoked_at.map(|at| at.0)
        ])?;
    Ok(())
}

/// Returns the token called `id`.
pub fn find(view: View<'_>, id: TokenId) -> Result<Option<Token>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM tokens WHERE id = ?1")?;
    query.query_and_then([id.to_string()], read)?.next().transpose()
}

/// Returns the token with this secret, good or not.
pub fn find_by_secret(view: View<'_>, secret: &Digest) -> Result<Option<Token>, StoreError> {
    let mut query = view.db.prepare_cached("SELECT * FROM tokens WHERE secret = ?1")?;
    query.query_and_then([secret.as_bytes()], read)?.next().transpose()
}

/// Returns the tokens after the one called `after` in the order of their ids, `limit` at most.
pub fn page(view: View<'_>, after: Option<TokenId>, limit: u32) -> Result<Vec<Token>, StoreError> {
    let mut query =
        view.db.prepare_cached("SELECT * FROM tokens WHERE id > ?1 ORDER BY id LIMIT ?2")?;
    let after = after.map_or_else(String::new, |id| id.to_string());
    query.query_and_then(params![after, limit], read)?.collect()
}

/// Returns every token, by id.
pub(crate) fn all(view: View<'_>) -> Result<Vec<Token>, StoreError> {
    page(view, None, u32::MAX)
}

pub(crate) fn read(row: &Row<'_>) -> Result<Token, StoreError> {
    let id: String = row.get("id")?;
    let scope: String = row.get("scope")?;
    let (expires_at, revoked_at): (Option<i64>, Option<i64>) =
        (row.get("expires_at")?, row.get("revoked_at")?);
    Ok(Token {
        id: id.parse().map_err(|bad| damaged("token", &id, bad))?,
        name: row.get("name")?,
        scope: scope.parse().map_err(|bad| damaged("token", &id, bad))?,
        secret: Digest::from_bytes(row.get("secret")?),
        created_at: Timestamp(row.get("created_at")?),
        expires_at: expires_at.map(Timestamp),
        revoked_at: revoked_at.map(Timestamp),
    })
}
