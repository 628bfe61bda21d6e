//! What OpenCode tells of an answer of its model: what it took, and what that cost by what it knows of prices.

use cmux_core::time::Timestamp;
use cmux_core::usage::{KEY_MAX, Money, Spent, TOKENS_MAX, Tokens};
use serde_json::Value;

/// Returns what a message of its list took, if it is an answer that is over and took anything.
pub(super) fn spent(message: &Value) -> Option<Spent> {
    let info = &message["info"];
    if info["role"].as_str() != Some("assistant") {
        return None;
    }
    let at = Timestamp(info["time"]["completed"].as_i64()?);
    let count = |at: &str| match info.pointer(at) {
        None | Some(Value::Null) => Some(0),
        Some(number) => number.as_u64().filter(|&number| number <= TOKENS_MAX),
    };
    let tokens = Tokens {
        input: count("/tokens/input")?,
        // What was thought is told beside what was said.
        output: count("/tokens/output")? + count("/tokens/reasoning")?,
        cache_read: count("/tokens/cache/read")?,
        cache_write: count("/tokens/cache/write")?,
        ..Tokens::default()
    };
    let word = |at: &str| {
        let text = info.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let is_plain = text.len() <= KEY_MAX && !text.contains(char::is_control);
        is_plain.then(|| text.to_owned())
    };
    let key = word("/id").filter(|key| !key.is_empty())?;
    let cost = info["cost"].as_f64().and_then(money);
    let spent = Spent { key, at, model: word("/modelID")?, tokens, cost };
    (spent.tokens.total() > 0).then_some(spent)
}

/// Returns an amount of dollars. It says nought of a model whose price it does not know, too.
fn money(dollars: f64) -> Option<Money> {
    let nanos = (dollars * 1e9).round();
    let is_one = (1.0..=1e15).contains(&nanos);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
    let nanos = nanos as u64;
    is_one.then_some(Money(nanos))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_is_over_tells_what_it_took() {
        let tokens = json!({
            "total": 3057, "input": 1000, "output": 30, "reasoning": 20,
            "cache": { "read": 2000, "write": 7 },
        });
        let message = |role: &str, time: Value, tokens: &Value, cost: f64| {
            json!({ "info": {
                "id": "msg_1", "sessionID": "ses_1", "role": role, "modelID": "gpt-9",
                "time": time, "cost": cost, "tokens": tokens,
            }, "parts": [] })
        };
        let over = || json!({ "created": 5, "completed": 9 });
        let told = Spent {
            key: "msg_1".to_owned(),
            at: Timestamp(9),
            model: "gpt-9".to_owned(),
            tokens: Tokens {
                input: 1000,
                output: 50,
                cache_read: 2000,
                cache_write: 7,
                ..Tokens::default()
            },
            cost: Some(Money(12_500_000)),
        };
        let free = Spent { cost: None, ..told.clone() };
        let mut nonsense = tokens.clone();
        nonsense["input"] = json!(-1);
        let nothing = json!({ "input": 0, "output": 0, "cache": { "read": 0, "write": 0 } });
        for (message, expected) in [
            (message("assistant", over(), &tokens, 0.0125), Some(told)),
            (message("assistant", over(), &tokens, 0.0), Some(free.clone())),
            (message("assistant", over(), &tokens, -1.0), Some(free)),
            (message("assistant", json!({ "created": 5 }), &tokens, 0.1), None),
            (message("user", over(), &tokens, 0.1), None),
            (message("assistant", over(), &nonsense, 0.1), None),
            (message("assistant", over(), &nothing, 0.1), None),
            (json!({ "info": { "role": "assistant" } }), None),
            (json!(7), None),
        ] {
            assert_eq!(spent(&message), expected, "{message}");
        }
    }
}
