//! Claude Code's hooks.

use cmux_core::hook::{Beginning, Ids, Meaning, Reply};
use serde_json::{Value, json};

use super::{Said, Understood, say, text, tool};

/// What a task in the background is called that does not run any more.
const OVER: [&str; 4] = ["completed", "failed", "killed", "stopped"];

pub(super) fn read(event: &str, body: &Value) -> Understood {
    let ids = Ids {
        session: text(body, "session_id"),
        subagent: text(body, "agent_id"),
        prompt: text(body, "prompt_id"),
        call: text(body, "tool_use_id"),
    };
    Understood { means: means(event, body), ids }
}

pub(super) fn means(event: &str, body: &Value) -> Meaning {
    match event {
        "SessionStart" => Meaning::SessionBegan { how: beginning(body) },
        "SessionEnd" => Meaning::SessionEnded,
        "UserPromptSubmit" => Meaning::Prompted,
        "PreToolUse" => Meaning::ToolBegan { tool: tool(body) },
        "PostToolUse" => {
            let interrupted = body.get("tool_response").and_then(|it| it.get("interrupted"));
            let ok = interrupted.and_then(Value::as_bool) != Some(true);
            Meaning::ToolEnded { tool: tool(body), ok }
        }
        "PostToolUseFailure" => Meaning::ToolEnded { tool: tool(body), ok: false },
        "PermissionRequest" => Meaning::Asking { what: asked(body).to_owned() },
        "Stop" => Meaning::TurnEnded { in_background: runs_on(body) },
        "StopFailure" => match text(body, "error").as_deref() {
            Some("rate_limit") => Meaning::Limited { until: None },
            Some(_) | None => Meaning::TurnFailed,
        },
        "SubagentStart" => Meaning::SubagentBegan,
        "SubagentStop" => Meaning::SubagentEnded,
        "PreCompact" => Meaning::Compacting,
        "PostCompact" | "Notification" => Meaning::Notice,
        _ => Meaning::Other,
    }
}

pub(super) fn beginning(body: &Value) -> Beginning {
    match body.get("source").and_then(Value::as_str) {
        Some("resume" | "fork") => Beginning::Resumed,
        Some("clear") => Beginning::Cleared,
        Some("compact") => Beginning::Compacted,
        Some(_) | None => Beginning::New,
    }
}

/// Returns what is asked for, by the same words as its screen is read with.
fn asked(body: &Value) -> &'static str {
    if tool(body) == "AskUserQuestion" { "question" } else { "permission" }
}

/// Returns whether something that the turn began still runs.
fn runs_on(body: &Value) -> bool {
    let tasks = body.get("background_tasks").and_then(Value::as_array);
    let is_over = |task: &Value| {
        task.get("status").and_then(Value::as_str).is_some_and(|status| OVER.contains(&status))
    };
    tasks.is_some_and(|tasks| !tasks.iter().all(is_over))
}

pub(super) fn answer(event: &str, reply: &Reply) -> Said {
    match (event, reply) {
        (_, Reply::Pass) => Said::default(),
        ("PreToolUse", Reply::Block { why } | Reply::Deny { why }) => {
            decided("deny", Some(why.as_str()))
        }
        ("PreToolUse", Reply::Allow) => decided("allow", None),
        ("PreToolUse", Reply::Ask) => decided("ask", None),
        ("PermissionRequest", Reply::Block { why } | Reply::Deny { why }) => {
            permitted(&json!({ "behavior": "deny", "message": why }))
        }
        ("PermissionRequest", Reply::Allow) => permitted(&json!({ "behavior": "allow" })),
        (
            "UserPromptSubmit" | "Stop" | "SubagentStop" | "PostToolUse",
            Reply::Block { why } | Reply::Deny { why },
        ) => say(&json!({ "decision": "block", "reason": why })),
        ("PreCompact", Reply::Block { why } | Reply::Deny { why }) => {
            Said { stderr: why.clone(), code: 2, ..Said::default() }
        }
        ("UserPromptSubmit" | "SessionStart" | "PostToolUse" | "Stop", Reply::Context { text }) => {
            context(event, text)
        }
        // There is no way to say it there.
        (_, Reply::Block { .. } | Reply::Deny { .. } | Reply::Allow | Reply::Ask)
        | (_, Reply::Context { .. }) => Said::default(),
    }
}

pub(super) fn decided(decision: &str, why: Option<&str>) -> Said {
    let mut said = json!({ "hookEventName": "PreToolUse", "permissionDecision": decision });
    if let Some(why) = why {
        said["permissionDecisionReason"] = json!(why);
    }
    say(&json!({ "hookSpecificOutput": said }))
}

pub(super) fn permitted(decision: &Value) -> Said {
    let said = json!({ "hookEventName": "PermissionRequest", "decision": decision });
    say(&json!({ "hookSpecificOutput": said }))
}

pub(super) fn context(event: &str, text: &str) -> Said {
    let said = json!({ "hookEventName": event, "additionalContext": text });
    say(&json!({ "hookSpecificOutput": said }))
}
