//! What agents are called.

use std::fmt;

use crate::id::AgentId;

/// The longest name that is taken, in characters.
pub const NAME_MAX: usize = 48;

/// What nobody may be called, as it is how others are spoken of, or what is asked for in an agent's place.
const RESERVED: [&str; 5] = ["user", "operator", "cmux", "all", "register"];

/// What an agent is called in its project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentName(String);

/// Why nobody can be called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be an agent's name: letters, digits, `-` and `_`, {NAME_MAX} at most, beginning with a \
     letter, and not a word that means something else"
)]
pub struct BadName(String);

impl AgentName {
    /// Returns `text` as a name.
    pub fn new(text: &str) -> Result<AgentName, BadName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_name = (1..=NAME_MAX).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(allowed)
            && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
            // What looks like an id is taken for one.
            && text.parse::<AgentId>().is_err();
        match is_name {
            true => Ok(AgentName(text.to_owned())),
            false => Err(BadName(text.chars().take(NAME_MAX).collect())),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
