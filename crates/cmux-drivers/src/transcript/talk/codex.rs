//! What Codex writes down: items as its model is told them, and events as a person is shown them. Prompts are
//! taken from the events, as the items have all that Codex lays beside them; the rest is taken from the items.

use serde_json::Value;

use super::super::usage::time;
use super::{Piece, Text, What, text_at, texts};

pub(super) fn pieces(record: &Value) -> Vec<Piece> {
    let payload = record.get("payload").unwrap_or(&Value::Null);
    let said = match (text_at(record, "/type"), text_at(payload, "/type")) {
        ("event_msg", kind) => event(kind, payload),
        ("response_item", kind) => item(kind, payload),
        ("compacted", _) => Some(What::note("The conversation was compacted.")),
        _ => None,
    };
    let piece = |what| Piece { message: None, number: 0, at: time(record), subagent: false, what };
    said.into_iter().map(piece).collect()
}

fn event(kind: &str, payload: &Value) -> Option<What> {
    let text = text_at(payload, "/message");
    match kind {
        "user_message" if !text.trim().is_empty() => Some(What::prompt(text)),
        "turn_aborted" => Some(What::note("It was interrupted.")),
        "error" if !text.is_empty() => Some(What::note(text)),
        _ => None,
    }
}

fn item(kind: &str, payload: &Value) -> Option<What> {
    let call = text_at(payload, "/call_id");
    match kind {
        "message" if text_at(payload, "/role") == "assistant" => {
            said(&texts(&payload["content"])).map(What::Answer)
        }
        "reasoning" => {
            let (long, short) = (texts(&payload["content"]), texts(&payload["summary"]));
            said(&long).or_else(|| said(&short)).map(What::Thinking)
        }
        "function_call" => {
            // It is JSON in a text, as the model wrote it.
            let written = text_at(payload, "/arguments");
            let input = serde_json::from_str(written).unwrap_or_else(|_| Value::from(written));
            Some(What::call(call, text_at(payload, "/name"), &input))
        }
        "custom_tool_call" => Some(What::call(call, text_at(payload, "/name"), &payload["input"])),
        "local_shell_call" => Some(What::call(call, "shell", &payload["action"])),
        "web_search_call" => Some(What::call(call, "web_search", &payload["action"])),
        "function_call_output" | "custom_tool_call_output" => {
            let (text, ok) = output(&payload["output"]);
            Some(What::result(call, &text, ok))
        }
        _ => None,
    }
}

fn said(text: &str) -> Option<Text> {
    (!text.trim().is_empty()).then(|| Text::of(text))
}

/// Returns what a tool returned, and whether it did what it was told, if that is said.
fn output(output: &Value) -> (String, Option<bool>) {
    if let Value::Object(_) = output {
        let text = output.get("content").map(texts).unwrap_or_default();
        return (text, output.get("success").and_then(Value::as_bool));
    }
    let text = texts(output);
    let inner = Some(&text).filter(|it| it.starts_with('{'));
    let inner = inner.and_then(|it| serde_json::from_str::<Value>(it).ok());
    match inner.as_ref().and_then(|it| it.get("output")?.as_str().map(ToOwned::to_owned)) {
        Some(said) => {
            let code = inner.as_ref().and_then(|it| it.pointer("/metadata/exit_code")?.as_i64());
            (said, code.map(|code| code == 0))
        }
        None => {
            let ok = exit_code(&text).map(|code| code == 0);
            (text, ok)
        }
    }
}

/// Returns how a command ended, by the lines that come before what it printed.
fn exit_code(text: &str) -> Option<i64> {
    let code = |line: &str| {
        let said = line.strip_prefix("Exit code: ");
        said.or_else(|| line.strip_prefix("Process exited with code "))?.trim().parse().ok()
    };
    text.lines().take(5).find_map(code)
}
