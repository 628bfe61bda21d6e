//! Who asks, as the daemon sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::token::TokenScope;

/// Whom the daemon takes the asker for, and what that one may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Whoami {
    pub principal: Principal,
    /// The agent's, token's or session's, if it is one.
    pub id: Option<String>,
    pub scopes: Vec<TokenScope>,
}

/// A kind of asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Principal {
    /// The person, at a terminal or in a browser.
    Operator,
    Agent,
    /// A script with a token.
    Token,
    /// Anybody else.
    Stranger,
}
