//! Gemini CLI's hooks. A turn ends with `AfterAgent` even if it was interrupted or failed.

use cmux_core::hook::{Ids, Meaning, Reply};
use serde_json::{Value, json};

use super::{Said, Understood, claude, say, text, tool};

pub(super) fn read(event: &str, body: &Value) -> Understood {
    let means = match event {
        "SessionStart" => Meaning::SessionBegan { how: claude::beginning(body) },
        "SessionEnd" => Meaning::SessionEnded,
        "BeforeAgent" => Meaning::Prompted,
        "AfterAgent" => Meaning::TurnEnded { in_background: false },
        "BeforeTool" => Meaning::ToolBegan { tool: tool(body) },
        "AfterTool" => {
            let error = body.get("tool_response").and_then(|it| it.get("error"));
            let ok = error.is_none_or(Value::is_null);
            Meaning::ToolEnded { tool: tool(body), ok }
        }
        "Notification" => match text(body, "notification_type").as_deref() {
            Some("ToolPermission") => Meaning::Asking { what: "permission".to_owned() },
            Some(_) | None => Meaning::Notice,
        },
        // It comes before every call of the model, whether or not anything is made shorter.
        "PreCompress" => Meaning::Compacting,
        _ => Meaning::Other,
    };
    let ids = Ids {
        session: text(body, "session_id"),
        call: text(body, "tool_use_id"),
        ..Ids::default()
    };
    Understood { means, ids }
}

/// Answers. To allow a tool does not keep Gemini from asking, so that is not said.
pub(super) fn answer(event: &str, reply: &Reply) -> Said {
    match (event, reply) {
        ("BeforeTool", Reply::Block { why } | Reply::Deny { why }) => {
            say(&json!({ "decision": "deny", "reason": why }))
        }
        ("BeforeTool", Reply::Ask) => say(&json!({ "decision": "ask" })),
        ("BeforeAgent" | "AfterAgent", Reply::Block { why } | Reply::Deny { why }) => {
            say(&json!({ "decision": "block", "reason": why }))
        }
        ("BeforeAgent" | "AfterTool" | "SessionStart", Reply::Context { text }) => {
            claude::context(event, text)
        }
        (_, Reply::Pass | Reply::Block { .. } | Reply::Deny { .. } | Reply::Allow | Reply::Ask)
        | (_, Reply::Context { .. }) => Said::default(),
    }
}
