//! Codex's hooks: Claude Code's, with one more for an interrupt, and fewer ways to answer.

use cmux_core::hook::{Ids, Meaning, Reply};
use serde_json::{Value, json};

use super::{Said, Understood, claude, say, text};

pub(super) fn read(event: &str, body: &Value) -> Understood {
    let ids = Ids {
        session: text(body, "session_id"),
        subagent: text(body, "agent_id"),
        prompt: text(body, "turn_id"),
        call: text(body, "tool_use_id"),
    };
    let means = match event {
        "Interrupt" => Meaning::TurnEnded { in_background: false },
        event => claude::means(event, body),
    };
    Understood { means, ids }
}

/// Answers as far as Codex was seen to listen.
pub(super) fn answer(event: &str, reply: &Reply) -> Said {
    match (event, reply) {
        ("PreToolUse", Reply::Block { why } | Reply::Deny { why }) => {
            claude::decided("deny", Some(why.as_str()))
        }
        ("PermissionRequest", Reply::Block { why } | Reply::Deny { why }) => {
            claude::permitted(&json!({ "behavior": "deny", "message": why }))
        }
        ("PermissionRequest", Reply::Allow) => claude::permitted(&json!({ "behavior": "allow" })),
        ("Stop" | "UserPromptSubmit", Reply::Block { why } | Reply::Deny { why }) => {
            say(&json!({ "decision": "block", "reason": why }))
        }
        ("PostToolUse" | "SessionStart" | "UserPromptSubmit", Reply::Context { text }) => {
            claude::context(event, text)
        }
        (_, Reply::Pass | Reply::Block { .. } | Reply::Deny { .. } | Reply::Allow | Reply::Ask)
        | (_, Reply::Context { .. }) => Said::default(),
    }
}
