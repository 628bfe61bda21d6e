//! API tokens over HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use cmux_core::digest::Digest;
use cmux_core::id::{BadId, TokenId};
use cmux_core::report::{Answer, Ask, Report};
use cmux_core::token::{Token, TokenScope};
use cmux_store::tokens;
use cmux_wire::time::Time;
use cmux_wire::token as wire;

use crate::http::App;
use crate::http::extract::{Body, Named, Query};
use crate::http::gate::Caller;
use crate::http::problem::Oops;
use crate::http::projects::Paging;
use crate::http::secrets::secret;
use crate::http::sessions::unexpected;

/// How many tokens a page has.
const PAGE: u32 = 100;

/// What every token begins with, so that scanners of repositories know one when they see it.
const TOKEN: &str = "cmux_";

pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Query(paging): Query<Paging>,
) -> Result<Json<wire::Tokens>, Oops> {
    let after = paging.cursor.as_deref().map(parse).transpose()?;
    let page = app.read(move |view| tokens::page(view, after, PAGE)).await?;
    let next = (page.len() == PAGE as usize).then(|| page.last().map(|last| last.id.to_string()));
    Ok(Json(wire::Tokens { tokens: page.iter().map(say).collect(), next: next.flatten() }))
}

/// Makes a token. Its secret is said now and never again: only its digest is stored.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    Body(new): Body<wire::NewToken>,
) -> Result<(StatusCode, Json<wire::MadeToken>), Oops> {
    if new.expires_in_s.is_some_and(|span_s| !(1..=wire::EXPIRES_IN_S_MAX).contains(&span_s)) {
        let detail =
            format!("`expires_in_s` must be 1 to {}, or null for ever", wire::EXPIRES_IN_S_MAX);
        return Err(Oops::bad_request(detail));
    }
    let secret = secret(TOKEN)?;
    let scope = match new.scope {
        wire::TokenScope::Read => TokenScope::Read,
        wire::TokenScope::Send => TokenScope::Send,
        wire::TokenScope::Operate => TokenScope::Operate,
    };
    let ask = Ask::CreateToken {
        secret: Digest::of(secret.as_bytes()),
        name: new.name.unwrap_or_else(|| format!("a {} token", new.scope)),
        scope,
        lasts: new.expires_in_s.map(Duration::from_secs),
    };
    let answer = app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    let Answer::Token(token) = answer else { return Err(unexpected(&answer)) };
    Ok((StatusCode::CREATED, Json(wire::MadeToken { token: say(&token), secret })))
}

pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<StatusCode, Oops> {
    let ask = Ask::RevokeToken { id: parse(&id)? };
    app.ask(Report::Asked { actor: caller.actor(), ask }).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn parse(id: &str) -> Result<TokenId, Oops> {
    id.parse().map_err(|error: BadId| Oops::bad_request(error.to_string()))
}

fn say(token: &Token) -> wire::Token {
    let time = |at: cmux_core::time::Timestamp| Time::from_millis(at.0);
    wire::Token {
        id: token.id.to_string(),
        name: token.name.clone(),
        scope: match token.scope {
            TokenScope::Read => wire::TokenScope::Read,
            TokenScope::Send => wire::TokenScope::Send,
            TokenScope::Operate => wire::TokenScope::Operate,
        },
        created_at: time(token.created_at),
        expires_at: token.expires_at.map(time),
        revoked_at: token.revoked_at.map(time),
    }
}
