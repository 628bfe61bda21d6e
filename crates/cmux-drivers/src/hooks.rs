//! The hooks of each CLI: how they are configured, what they are told, and how they are answered.
//!
//! A payload is whatever its CLI made of it. One that cannot be read means nothing, and is no failure.

mod claude;
mod codex;
mod demo;
mod gemini;
mod settings;

use cmux_core::digest::Digest;
use cmux_core::hook::{Ids, Meaning, Reply, TEXT_MAX, cut};
use cmux_core::id::HookId;
use serde_json::Value;

use crate::manifest::HookShape;

pub use self::settings::{Content, File, Files, Lasts, settings, theirs};

/// The longest payload that is read, in bytes. Of a longer one nothing is understood.
pub const READ_MAX: usize = 4 << 20;

/// How much is left of a text that is shortened, in bytes.
const LONG: usize = 4 << 10;

/// The longest name of an event, in bytes.
const EVENT_MAX: usize = 64;

/// What a payload says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    pub means: Meaning,
    pub ids: Ids,
}

/// How a hook's process answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub stdout: String,
    pub stderr: String,
    pub code: u8,
}

/// Returns the hooks that are called so, if that CLI has any that are answered by a command.
pub fn shape(name: &str) -> Option<HookShape> {
    let found = HookShape::ALL.iter().copied().find(|shape| shape.name() == name)?;
    match found {
        HookShape::Claude | HookShape::Codex | HookShape::Gemini | HookShape::Demo => Some(found),
        HookShape::Hermes | HookShape::Opencode => None,
    }
}

/// Returns whether an event can be called so.
pub fn is_event(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=EVENT_MAX).contains(&name.len()) && name.chars().all(is_letter)
}

/// Returns what `event` was told by `payload`.
pub fn read(shape: HookShape, event: &str, payload: &str) -> Understood {
    let body = match payload.len() {
        0..=READ_MAX => serde_json::from_str(payload).ok(),
        _ => None,
    };
    let Some(body @ Value::Object(_)) = body else {
        return Understood { means: Meaning::Other, ids: Ids::default() };
    };
    match shape {
        HookShape::Claude => claude::read(event, &body),
        HookShape::Codex => codex::read(event, &body),
        HookShape::Gemini => gemini::read(event, &body),
        HookShape::Demo => demo::read(event, &body),
        HookShape::Hermes | HookShape::Opencode => {
            Understood { means: Meaning::Other, ids: Ids::default() }
        }
    }
}

/// Returns the prompt that `payload` tells of, in full, if it can be read.
pub fn prompt(payload: &str) -> Option<String> {
    match serde_json::from_str(payload).ok()? {
        Value::Object(mut body) => match body.remove("prompt")? {
            Value::String(prompt) => Some(prompt),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
            Value::Array(_) | Value::Object(_) => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

/// Returns what a call of a prompt's hook is known by, where `own` is its own id. Two calls are known to be for
/// the same prompt only where the CLI says so: what most of them call a prompt by, a second one that comes
/// while the first is at work has, too.
pub fn event_of(shape: HookShape, payload: &str, own: HookId) -> Digest {
    let is_stamped = match shape {
        HookShape::Gemini => payload.contains("\"timestamp\""),
        HookShape::Claude
        | HookShape::Codex
        | HookShape::Demo
        | HookShape::Hermes
        | HookShape::Opencode => false,
    };
    match is_stamped {
        true => Digest::of(payload.as_bytes()),
        false => Digest::of(own.to_string().as_bytes()),
    }
}

/// Returns `payload` with what is long in it shortened, so that it has `max` bytes at most and still means the
/// same, if that can be done.
pub fn shorten(payload: String, max: usize) -> String {
    if payload.len() <= max {
        return payload;
    }
    let Ok(mut body) = serde_json::from_str(&payload) else { return cut(payload, max) };
    shorten_texts(&mut body);
    cut(body.to_string(), max)
}

fn shorten_texts(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONG => *text = cut(std::mem::take(text), LONG),
        Value::Array(values) => values.iter_mut().for_each(shorten_texts),
        Value::Object(fields) => fields.values_mut().for_each(shorten_texts),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns how `reply` is said to a CLI that waits at `event`. What cannot be said there is not.
pub fn answer(shape: HookShape, event: &str, reply: &Reply) -> Said {
    match shape {
        HookShape::Claude => claude::answer(event, reply),
        HookShape::Codex => codex::answer(event, reply),
        HookShape::Gemini => gemini::answer(event, reply),
        HookShape::Demo => demo::answer(event, reply),
        HookShape::Hermes | HookShape::Opencode => Said::default(),
    }
}

/// Returns the text of a field, as far as it is short and can be shown.
fn text(body: &Value, field: &str) -> Option<String> {
    let text = body.get(field)?.as_str()?;
    let text: String = text.chars().filter(|c| !c.is_control()).take(TEXT_MAX).collect();
    Some(text).filter(|text| !text.is_empty())
}

fn tool(body: &Value) -> String {
    text(body, "tool_name").unwrap_or_default()
}

fn say(value: &Value) -> Said {
    Said { stdout: value.to_string(), ..Said::default() }
}

#[cfg(test)]
mod tests;
