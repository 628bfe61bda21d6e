//! What Gemini CLI writes down: with each of its messages what that took, and all messages again when it
//! sets them anew.

use cmux_core::time::Timestamp;
use cmux_core::usage::{Spent, Tokens};
use serde_json::Value;

use super::{count, time, word};

pub(super) fn spent(record: &Value, at: Timestamp) -> Vec<Spent> {
    let all = ["/messages", "/$set/messages"].into_iter();
    let all = all.filter_map(|at| record.pointer(at)?.as_array()).flatten();
    all.chain([record]).filter_map(|message| of(message, time(message).unwrap_or(at))).collect()
}

fn of(message: &Value, at: Timestamp) -> Option<Spent> {
    let tokens = message.get("tokens").filter(|tokens| tokens.is_object())?;
    let (input, kept) = (count(tokens, "/input")?, count(tokens, "/cached")?);
    let tokens = Tokens {
        input: input.checked_sub(kept)?.saturating_add(count(tokens, "/tool")?),
        output: count(tokens, "/output")?.saturating_add(count(tokens, "/thoughts")?),
        cache_read: kept,
        ..Tokens::default()
    };
    let model = word(message, "/model").unwrap_or_default();
    Some(Spent { key: word(message, "/id")?, at, model, tokens, cost: None })
}
