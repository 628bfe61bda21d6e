//! What a CLI says of itself, where it does: in a file of each of its processes, or in a stream of events.
//!
//! Both are a CLI's own affair and may be another tomorrow. What cannot be understood says nothing.

mod events;
mod session;
mod stream;

use cmux_core::agent::Doing;
use cmux_core::time::Timestamp;

pub use self::session::session_file;
pub use self::stream::follow;

/// The longest name of a session that is taken, in characters.
const SESSION_MAX: usize = 128;

/// What a look at a CLI's own word came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It has not said anything: there is no file of this process, or nobody at the address.
    Absent,
    /// It may have said something, and that cannot be read.
    Unknown,
    Said(State),
}

/// What a CLI said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub doing: Doing,
    /// The session that it is in, by its own name for it.
    pub session: Option<String>,
    /// Since when, if it tells.
    pub since: Option<Timestamp>,
}

/// Returns the name of a session, if it is one that can be a part of a path or an address.
pub(crate) fn session_name(text: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let is_name = !text.is_empty() && text.len() <= SESSION_MAX && text.chars().all(is_plain);
    is_name.then(|| text.to_owned())
}
