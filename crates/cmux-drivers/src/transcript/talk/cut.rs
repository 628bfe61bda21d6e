//! What is shown of long texts: their beginning, and of what tools say, without the secrets in it.

use cmux_core::hook::redact;
use serde_json::Value;

use super::Text;

/// How much of a text is shown, in bytes.
pub const TEXT_MAX: usize = 16 << 10;

/// How much of a text is looked through for secrets. More than is shown, so that none is cut in half.
const LOOKED_MAX: usize = 4 * TEXT_MAX;

/// How much is shown of each text in what a tool is told, if all of it is too long.
const PART_MAX: usize = 2 << 10;

/// Returns the beginning of `text`, of `max` bytes at most.
pub(super) fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// Returns the beginning of `text`, without the secrets in it.
pub(super) fn redacted(text: &str) -> Text {
    let looked = cut(text, LOOKED_MAX);
    let clean = redact(looked);
    let shown = cut(&clean, TEXT_MAX);
    let is_cut = looked.len() < text.len() || shown.len() < clean.len();
    Text { text: shown.to_owned(), is_cut }
}

/// Returns what a tool is told without the secrets in it, and whether that is not all. Of what is too long, the
/// beginning of each text is shown, and if there are too many, the beginning of how it is written.
pub(super) fn shown_input(input: &Value) -> (Value, bool) {
    let (mut written, mut is_cut) = (input.to_string(), false);
    if written.len() > TEXT_MAX {
        let mut short = input.clone();
        shorten(&mut short);
        (written, is_cut) = (short.to_string(), true);
    }
    let clean = redacted(&written);
    if clean.is_cut {
        return (Value::String(clean.text), true);
    }
    match serde_json::from_str(&clean.text) {
        Ok(value) => (value, is_cut),
        Err(_) => (Value::String(clean.text), is_cut),
    }
}

/// Returns about how long `value` is.
pub(super) fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(all) => all.iter().map(length).sum::<usize>() + all.len(),
        Value::Object(all) => all.iter().map(|(name, value)| name.len() + length(value) + 4).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > PART_MAX => {
            let end = text.floor_char_boundary(PART_MAX);
            text.truncate(end);
            text.push('…');
        }
        Value::Array(all) => all.iter_mut().for_each(shorten),
        Value::Object(all) => all.values_mut().for_each(shorten),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
