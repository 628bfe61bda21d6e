//! API tokens, as clients see them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{BLANK, ULID, UNPRINTED};
use crate::time::Time;
use crate::whole;

/// How long a token is good for if nobody says, in seconds: 30 days.
pub const EXPIRES_IN_S: u64 = 30 * 24 * 60 * 60;

/// How long a token is good for at most, in seconds, unless it is good for ever: ten years.
pub const EXPIRES_IN_S_MAX: u64 = 3_652 * 24 * 60 * 60;

/// Returns how an id looks.
pub fn id() -> String {
    format!("^tok_{ULID}$")
}

/// How a name looks: what leaves no mark of its own could make one look like another. Blanks around it
/// do not count.
fn name() -> String {
    const UNSEEN: &str = r"\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb";
    let edge = format!("[^{BLANK}{UNPRINTED}{UNSEEN}]");
    format!("^[{BLANK}]*{edge}([^{UNPRINTED}{UNSEEN}]{{0,62}}{edge})?[{BLANK}]*$")
}

/// A token, without what proves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Token {
    #[schemars(regex(pattern = id()))]
    pub id: String,
    pub name: String,
    pub scope: TokenScope,
    pub created_at: Time,
    /// From when on it is refused. Without it, never.
    pub expires_at: Option<Time>,
    pub revoked_at: Option<Time>,
}

/// What a token lets its bearer do. Each lets it do what those before it do, too.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Look, and change nothing.
    Read,
    /// Send messages.
    Send,
    /// Run agents and projects.
    Operate,
}

/// Asks for a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is for; the daemon finds a name unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = name()))]
    pub name: Option<String>,
    pub scope: TokenScope,
    /// For how long it is good: 30 days unless it is said, and `null` for ever.
    #[serde(default = "expires_in_s", deserialize_with = "whole::read_if_any")]
    #[schemars(range(min = 1, max = EXPIRES_IN_S_MAX))]
    #[cfg_attr(feature = "typescript", ts(optional = nullable))]
    pub expires_in_s: Option<u64>,
}

/// A token that was made, with what proves it. Nobody can be told that again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct MadeToken {
    pub token: Token,
    /// What is sent as `Authorization: Bearer …`.
    pub secret: String,
}

/// A page of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Tokens {
    pub tokens: Vec<Token>,
    /// What to ask for to get the next page, if there is one.
    pub next: Option<String>,
}

/// To leave it out must not make a token that is good for ever.
#[expect(clippy::unnecessary_wraps, reason = "it stands for the field, which may be null")]
fn expires_in_s() -> Option<u64> {
    Some(EXPIRES_IN_S)
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TokenScope::Read => "read",
            TokenScope::Send => "send",
            TokenScope::Operate => "operate",
        })
    }
}

impl fmt::Debug for MadeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeToken").field("token", &self.token).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whoever_says_so_gets_a_token_for_ever() {
        check(r#"{"scope":"read"}"#, Some(EXPIRES_IN_S));
        check(r#"{"scope":"read","expires_in_s":60}"#, Some(60));
        check(r#"{"scope":"read","expires_in_s":null}"#, None);
        let forever = NewToken { name: None, scope: TokenScope::Send, expires_in_s: None };
        let wire = r#"{"scope":"send","expires_in_s":null}"#;
        assert_eq!(serde_json::to_string(&forever).unwrap(), wire);
    }

    /// Checks for how long the token that is asked for so is good.
    #[track_caller]
    fn check(wire: &str, expected: Option<u64>) {
        assert_eq!(serde_json::from_str::<NewToken>(wire).unwrap().expires_in_s, expected);
    }

    #[test]
    fn what_a_token_may_not_say_is_refused() {
        for wire in [
            r"{}",
            r#"{"scope":"all"}"#,
            r#"{"scope":"read","expires":60}"#,
            r#"{"scope":"read","expires_in_s":-1}"#,
            r#"{"scope":"read","expires_in_s":"30d"}"#,
        ] {
            assert!(serde_json::from_str::<NewToken>(wire).is_err(), "{wire}");
        }
    }

    #[test]
    fn a_scope_is_said_as_it_is_written() {
        for scope in [TokenScope::Read, TokenScope::Send, TokenScope::Operate] {
            assert_eq!(serde_json::to_string(&scope).unwrap(), format!("\"{scope}\""));
        }
    }
}
