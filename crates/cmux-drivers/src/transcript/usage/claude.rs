//! What Claude Code writes down: a record for each part of an answer, each with what the whole has taken so
//! far. Subagents have files of their own, and a fork of a conversation begins with a copy of its records.

use cmux_core::time::Timestamp;
use cmux_core::usage::{Spent, Tokens};
use serde_json::Value;

use super::{count, word};

pub(super) fn spent(record: &Value, at: Timestamp) -> Option<Spent> {
    let is_answer = record.get("type").and_then(Value::as_str) == Some("assistant");
    let is_error = record.get("isApiErrorMessage").and_then(Value::as_bool) == Some(true);
    if !is_answer || is_error {
        return None;
    }
    let message = record.get("message")?;
    let usage = message.get("usage")?;
    let tokens = Tokens {
        input: count(usage, "/input_tokens")?,
        output: count(usage, "/output_tokens")?,
        cache_read: count(usage, "/cache_read_input_tokens")?,
        cache_write: count(usage, "/cache_creation_input_tokens")?,
        cache_write_long: count(usage, "/cache_creation/ephemeral_1h_input_tokens")?,
        searches: count(usage, "/server_tool_use/web_search_requests")?,
    };
    let model = word(message, "/model").unwrap_or_default();
    Some(Spent { key: word(message, "/id")?, at, model: named(model, usage), tokens, cost: None })
}

/// Returns the name by which a model has its price: another, if it answers faster or in one country alone.
fn named(model: String, usage: &Value) -> String {
    let said =
        |at: &str, usual: &[&str]| word(usage, at).filter(|it| !usual.contains(&it.as_str()));
    let more =
        [said("/speed", &["standard"]), said("/inference_geo", &["global", "not_available"])];
    more.into_iter().flatten().fold(model, |name, more| format!("{name} {more}"))
}
