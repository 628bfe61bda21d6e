//! What is asked of tokens.

use std::time::Duration;

use cmux_core::digest::Digest;
use cmux_core::event::{Actor, Event, What};
use cmux_core::id::{NewIds, TokenId};
use cmux_core::report::{Answer, Refused};
use cmux_core::time::Timestamp;
use cmux_core::token::{Token, TokenScope};
use cmux_store::{StoreError, Tx, tokens};

use crate::hear::Heard;

/// A token that somebody wants.
pub(super) struct New<'a> {
    pub(super) secret: Digest,
    pub(super) name: &'a str,
    pub(super) scope: TokenScope,
    pub(super) lasts: Option<Duration>,
}

/// Asking twice is asking once: whoever has the secret is given the token that was made for it.
pub(super) fn create(
    tx: &mut Tx<'_>,
    actor: &Actor,
    new: &New<'_>,
    now: Timestamp,
    ids: &mut dyn NewIds,
) -> Result<Heard, StoreError> {
    let New { secret, name, scope, lasts } = *new;
    if let Some(made) = tokens::find_by_secret(tx.view(), &secret)? {
        return Ok(match made.asked_again(name, scope, lasts) {
            Ok(made) => Heard::told(Answer::Token(made)),
            Err(why) => Heard::refused(why),
        });
    }
    let id = TokenId::new(ids.ulid());
    let expires_at = lasts.map(|lasts| now + lasts);
    let token = match Token::new(id, name, scope, secret, expires_at, now) {
        Ok(token) => token,
        Err(why) => return Ok(Heard::refused(why)),
    };
    tokens::save(tx, &token)?;
    let what = What::TokenCreated { token: id, name: token.name.clone(), scope, expires_at };
    tx.append(&Event { actor: actor.clone(), ..Event::own(what) }, now)?;
    Ok(Heard::told(Answer::Token(token)))
}

/// Revoking twice is revoking once.
pub(super) fn revoke(
    tx: &mut Tx<'_>,
    actor: &Actor,
    id: TokenId,
    now: Timestamp,
) -> Result<Heard, StoreError> {
    let Some(token) = tokens::find(tx.view(), id)? else {
        return Ok(Heard::refused(Refused::NoToken(id)));
    };
    let Some(revoked) = token.revoke(now) else { return Ok(Heard::told(Answer::Token(token))) };
    tokens::save(tx, &revoked)?;
    let what = What::TokenRevoked { token: id, name: revoked.name.clone() };
    tx.append(&Event { actor: actor.clone(), ..Event::own(what) }, now)?;
    Ok(Heard::told(Answer::Token(revoked)))
}
