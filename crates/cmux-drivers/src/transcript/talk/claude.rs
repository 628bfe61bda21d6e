//! What Claude Code writes down: a record for each prompt and each part of an answer. What tools return is said
//! to the model as a person would say it.

use serde_json::Value;

use super::super::usage::time;
use super::{Piece, Text, What, text_at, texts};

/// What is written down if an answer is cut off.
const INTERRUPTED: &str = "[Request interrupted by user";

/// How a text begins that no person has written: what a command printed, or what it tells itself.
const OWN: [&str; 6] = [
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<system-reminder",
    "<user-memory-input",
];

pub(super) fn pieces(record: &Value) -> Vec<Piece> {
    let is = |name: &str| record.get(name).and_then(Value::as_bool) == Some(true);
    let content = record.pointer("/message/content").unwrap_or(&Value::Null);
    let said = match text_at(record, "/type") {
        _ if is("isMeta") => Vec::new(),
        "user" if is("isCompactSummary") => vec![What::note(&texts(content))],
        "user" => user(content),
        "assistant" if is("isApiErrorMessage") => vec![What::note(&texts(content))],
        "assistant" => parts(content).filter_map(answer).collect(),
        // What came while a turn ran is laid into that turn.
        "attachment" if text_at(record, "/attachment/type") == "queued_command" => {
            let is_own = record.pointer("/attachment/isMeta") == Some(&Value::Bool(true));
            let prompt = record.pointer("/attachment/prompt").filter(|_| !is_own);
            prompt.map(user).unwrap_or_default()
        }
        "system" if text_at(record, "/subtype") == "compact_boundary" => {
            vec![What::note("The conversation was compacted.")]
        }
        _ => Vec::new(),
    };
    let (at, subagent) = (time(record), is("isSidechain"));
    said.into_iter().map(|what| Piece { message: None, number: 0, at, subagent, what }).collect()
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}

/// Returns what is said to the model.
fn user(content: &Value) -> Vec<What> {
    match content {
        Value::String(text) => prompt(text).into_iter().collect(),
        Value::Array(parts) => parts.iter().filter_map(heard).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn heard(part: &Value) -> Option<What> {
    match text_at(part, "/type") {
        "text" => prompt(text_at(part, "/text")),
        "tool_result" => {
            let text = part.get("content").map(texts).unwrap_or_default();
            let failed = part.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            Some(What::result(text_at(part, "/tool_use_id"), &text, Some(!failed)))
        }
        "image" => Some(What::note("A picture.")),
        _ => None,
    }
}

fn prompt(text: &str) -> Option<What> {
    let begins = text.trim_start();
    if begins.is_empty() {
        return None;
    }
    if begins.starts_with(INTERRUPTED) {
        return Some(What::note("It was interrupted."));
    }
    let is_own = OWN.iter().any(|own| begins.starts_with(own));
    Some(if is_own { What::note(text) } else { What::prompt(text) })
}

/// Returns what a part of an answer says.
fn answer(part: &Value) -> Option<What> {
    let said = |at: &str| Some(text_at(part, at)).filter(|text| !text.trim().is_empty());
    match text_at(part, "/type") {
        "text" => said("/text").map(|text| What::Answer(Text::of(text))),
        "thinking" => said("/thinking").map(|text| What::Thinking(Text::of(text))),
        "tool_use" | "server_tool_use" => {
            let input = part.get("input").unwrap_or(&Value::Null);
            Some(What::call(text_at(part, "/id"), text_at(part, "/name"), input))
        }
        _ => None,
    }
}
