//! What Codex writes down: after each answer, what that took and what all of the conversation took so far. It
//! repeats itself when it has news of limits, and a fork of a conversation begins with a copy of its records:
//! what all took so far is the same then, so it is the key.

use cmux_core::time::Timestamp;
use cmux_core::usage::{Cursor, Spent, Tokens};
use serde_json::Value;

use super::{count, word};

pub(super) fn spent(record: &Value, at: Timestamp, cursor: &mut Cursor) -> Option<Spent> {
    let payload = record.get("payload")?;
    match record.get("type").and_then(Value::as_str)? {
        "session_meta" => {
            // A copy tells of the conversation that it is a copy of, after its own.
            let root = word(payload, "/forked_from_id").or_else(|| word(payload, "/id"));
            cursor.root = cursor.root.take().or(root);
            None
        }
        "turn_context" => {
            cursor.model = word(payload, "/model").or(cursor.model.take());
            None
        }
        "event_msg" if word(payload, "/type").as_deref() == Some("token_count") => {
            let info = payload.get("info")?;
            let all = info.get("total_token_usage")?;
            let last = tokens(info.get("last_token_usage")?)?;
            let root = cursor.root.as_deref().unwrap_or(&cursor.file);
            let (input, output) = (count(all, "/input_tokens")?, count(all, "/output_tokens")?);
            let key = format!("{root}/{input}/{output}");
            let model = cursor.model.clone().unwrap_or_default();
            Some(Spent { key, at, model, tokens: last, cost: None })
        }
        _ => None,
    }
}

/// Returns what is told with what was kept apart from what was not, and with what was thought as said.
fn tokens(usage: &Value) -> Option<Tokens> {
    let (input, kept) = (count(usage, "/input_tokens")?, count(usage, "/cached_input_tokens")?);
    Some(Tokens {
        input: input.checked_sub(kept)?,
        output: count(usage, "/output_tokens")?,
        cache_read: kept,
        ..Tokens::default()
    })
}
