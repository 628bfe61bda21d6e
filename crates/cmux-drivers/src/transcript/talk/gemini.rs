//! What Gemini CLI writes down: each message, again whenever there is more to it, and from time to time all of
//! them. What was written last is what it came to.

use cmux_core::usage::KEY_MAX;
use serde_json::Value;

use super::super::usage::time;
use super::{Piece, Text, What, text_at, texts};

/// Where all messages are, if a record has them.
const ALL: [&str; 2] = ["/messages", "/$set/messages"];

/// Returns whether a record has all messages, so that those before it are no longer what they came to.
pub(super) fn is_all(record: &Value) -> bool {
    ALL.iter().any(|at| record.pointer(at).is_some_and(Value::is_array))
}

pub(super) fn pieces(record: &Value) -> Vec<Piece> {
    let all = ALL.iter().filter_map(|at| record.pointer(at)?.as_array()).flatten();
    all.chain([record]).flat_map(of).collect()
}

fn of(message: &Value) -> Vec<Piece> {
    let id = text_at(message, "/id");
    let is_name = !id.is_empty() && id.len() <= KEY_MAX && !id.contains(char::is_control);
    let (key, at) = (is_name.then(|| id.to_owned()), time(message));
    let piece = |(number, what)| Piece { message: key.clone(), number, at, subagent: false, what };
    said(message).into_iter().enumerate().map(piece).collect()
}

fn said(message: &Value) -> Vec<What> {
    let text = message.get("content").map(texts).unwrap_or_default();
    let text = Some(text).filter(|text| !text.trim().is_empty());
    match text_at(message, "/type") {
        "user" => text.map(|text| What::prompt(&text)).into_iter().collect(),
        "gemini" => {
            let thoughts = list(message, "thoughts").filter_map(thought);
            let calls = list(message, "toolCalls").flat_map(call);
            let answer = text.map(|text| What::Answer(Text::of(&text)));
            thoughts.chain(answer).chain(calls).collect()
        }
        "info" | "warning" | "error" => text.map(|text| What::note(&text)).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn list<'a>(message: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    message.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn thought(thought: &Value) -> Option<What> {
    let parts = [text_at(thought, "/subject"), text_at(thought, "/description")];
    let text = parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then(|| What::Thinking(Text::of(&text)))
}

/// Returns what a tool was told, and what it returned, if it has.
fn call(call: &Value) -> Vec<What> {
    let id = text_at(call, "/id");
    let told = What::call(id, text_at(call, "/name"), call.get("args").unwrap_or(&Value::Null));
    let ok = match text_at(call, "/status") {
        "success" => Some(true),
        "error" | "cancelled" => Some(false),
        _ => None,
    };
    let returned = call.get("result").filter(|result| !result.is_null());
    let text = returned.map(result);
    let result =
        (text.is_some() || ok.is_some()).then(|| What::result(id, &text.unwrap_or_default(), ok));
    [Some(told), result].into_iter().flatten().collect()
}

/// Returns what a tool returned: parts, each of which is a text or has one somewhere.
fn result(result: &Value) -> String {
    let parts = result.as_array().map_or_else(|| vec![result], |parts| parts.iter().collect());
    let text = |part: &&Value| {
        let response = part.pointer("/functionResponse/response");
        let said = ["output", "error"].iter().find_map(|name| response?.get(name)?.as_str());
        let said = said.or_else(|| part.get("text")?.as_str()).or_else(|| part.as_str());
        said.map(ToOwned::to_owned).or_else(|| response.map(ToString::to_string))
    };
    parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}
