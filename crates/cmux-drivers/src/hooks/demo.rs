//! The scripted agent's hooks, which are Claude Code's: what answers one answers the other.

use cmux_core::hook::Reply;
use serde_json::Value;

use super::{Said, Understood, claude};

pub(super) fn read(event: &str, body: &Value) -> Understood {
    claude::read(event, body)
}

pub(super) fn answer(event: &str, reply: &Reply) -> Said {
    claude::answer(event, reply)
}
