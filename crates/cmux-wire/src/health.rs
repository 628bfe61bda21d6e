//! Health, as checkers see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// How cmux is. Degraded is answered with 503.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Health {
    pub status: Condition,
    pub api: Condition,
    pub frontend: Part,
    pub store: Part,
    pub tmux: Part,
    pub router: Part,
    pub kernel: Part,
    pub version: String,
    pub timestamp: Time,
}

/// How a part of cmux is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Part {
    pub status: Condition,
    /// What is wrong with it, if something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Whether something does what it is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    Healthy,
    Degraded,
}

impl Part {
    pub fn healthy() -> Part {
        Part { status: Condition::Healthy, why: None }
    }

    pub fn degraded(why: impl Into<String>) -> Part {
        Part { status: Condition::Degraded, why: Some(why.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_why_only_if_something_is_wrong_with_it() {
        check(&Part::healthy(), r#"{"status":"healthy"}"#);
        check(&Part::degraded("no room"), r#"{"status":"degraded","why":"no room"}"#);
    }

    /// Checks how `part` is written, and that it is read back as it was.
    #[track_caller]
    fn check(part: &Part, wire: &str) {
        assert_eq!(serde_json::to_string(part).unwrap(), wire);
        assert_eq!(serde_json::from_str::<Part>(wire).unwrap(), *part);
    }
}
