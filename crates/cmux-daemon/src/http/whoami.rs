//! Who asks, told to whoever asks.

use axum::Json;
use cmux_core::principal::{Need, Principal};
use cmux_wire::token::TokenScope;
use cmux_wire::who as wire;

use crate::http::gate::Caller;

pub(crate) async fn show(Caller(principal): Caller) -> Json<wire::Whoami> {
    let scopes = [
        (Need::Read, TokenScope::Read),
        (Need::Send, TokenScope::Send),
        (Need::Operate, TokenScope::Operate),
    ];
    let scopes =
        scopes.into_iter().filter(|(need, _)| principal.may(*need).is_ok()).map(|(_, it)| it);
    let (kind, id) = match &principal {
        Principal::Operator => (wire::Principal::Operator, None),
        Principal::Browser { session } => (wire::Principal::Operator, Some(session.to_string())),
        Principal::Token { id, .. } => (wire::Principal::Token, Some(id.to_string())),
        Principal::Agent { agent, .. } => (wire::Principal::Agent, Some(agent.to_string())),
        Principal::Nobody => (wire::Principal::Stranger, None),
    };
    Json(wire::Whoami { principal: kind, id, scopes: scopes.collect() })
}
