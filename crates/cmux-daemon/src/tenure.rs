//! Whether somebody who was let in still is: what they showed may be revoked or expire while they stay.

use cmux_core::principal::Principal;
use cmux_core::session::SessionStanding;
use cmux_core::time::Timestamp;
use cmux_core::token::TokenStanding;
use cmux_store::{StoreError, View, runs, sessions, tokens};

/// Returns whether `who` would be let in again at `now`.
pub(crate) fn is_let_in(
    view: View<'_>,
    who: &Principal,
    now: Timestamp,
) -> Result<bool, StoreError> {
    Ok(match who {
        Principal::Operator => true,
        Principal::Nobody => false,
        Principal::Browser { session } => sessions::find(view, *session)?
            .is_some_and(|session| session.standing(now) == SessionStanding::Good),
        Principal::Token { id, .. } => {
            tokens::find(view, *id)?.is_some_and(|token| token.standing(now) == TokenStanding::Good)
        }
        Principal::Agent { run, .. } => {
            runs::find_by_run(view, *run)?.is_some_and(|token| token.is_good())
        }
    })
}
