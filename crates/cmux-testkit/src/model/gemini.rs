//! Google's generateContent API.

use std::time::Duration;

use serde_json::{Value, json};

use super::asked::{Asked, Dialect, Said};
use super::frame::{Frame, Stamp, plain, text};
use super::script::{Block, Turn, Usage};

/// Reads a request for `model`, which is in the path.
pub(super) fn read(
    header: impl Fn(&str) -> Option<String>,
    body: &Value,
    model: &str,
    streams: bool,
) -> Asked {
    let mut said = Vec::new();
    for content in body["contents"].as_array().into_iter().flatten() {
        let is_model = content["role"] == "model";
        for part in content["parts"].as_array().into_iter().flatten() {
            said.extend(read_part(part, is_model));
        }
    }
    let settings = &body["generationConfig"];
    let schema = [&settings["responseJsonSchema"], &settings["responseSchema"]];
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools = tools.flat_map(|it| it["functionDeclarations"].as_array().into_iter().flatten());
    Asked {
        dialect: Dialect::Gemini,
        session: header("x-session-id"),
        subagent: None,
        model: model.to_owned(),
        system: text(&body["systemInstruction"]["parts"]),
        said,
        tools: tools.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect(),
        schema: schema.into_iter().find(|it| it.is_object()).cloned(),
        streams,
    }
}

fn read_part(part: &Value, is_model: bool) -> Option<Said> {
    if part["thought"] == true {
        return None;
    }
    if let Some(call) = part.get("functionCall") {
        let tool = call["name"].as_str().unwrap_or_default().to_owned();
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        return Some(Said::Call { id, tool, input: call["args"].clone() });
    }
    if let Some(answer) = part.get("functionResponse") {
        let id = answer["id"].as_str().unwrap_or_default().to_owned();
        let response = &answer["response"];
        let told = response["output"].as_str().or_else(|| response["error"].as_str());
        let text = told.map_or_else(|| response.to_string(), str::to_owned);
        return Some(Said::Result { id, text });
    }
    let text = part["text"].as_str()?.to_owned();
    Some(if is_model { Said::Model(text) } else { Said::User(text) })
}

/// Returns an answer in pieces.
pub(super) fn stream(turn: &Turn, stamp: Stamp<'_>) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (index, block) in turn.blocks.iter().enumerate() {
        let (pieces, wait) = match block {
            Block::Say(text) | Block::Think(text) => turn.pace.pieces(text),
            Block::Call { .. } => (vec![String::new()], turn.pace.chunk),
        };
        for piece in pieces {
            let part = match block {
                Block::Say(_) => json!({ "text": piece }),
                Block::Think(_) => json!({ "text": piece, "thought": true }),
                Block::Call { .. } => part(block, index, stamp),
            };
            frames.push(plain(&answer(&json!([part]), stamp), wait));
        }
    }
    let mut last = answer(&json!([{ "text": "" }]), stamp);
    finish(&mut last, turn);
    frames.push(plain(&last, Duration::ZERO));
    frames
}

/// Returns an answer in one piece.
pub(super) fn whole(turn: &Turn, stamp: Stamp<'_>) -> Value {
    let parts = turn.blocks.iter().enumerate().map(|(index, block)| part(block, index, stamp));
    let mut whole = answer(&parts.collect(), stamp);
    finish(&mut whole, turn);
    whole
}

fn part(block: &Block, index: usize, stamp: Stamp<'_>) -> Value {
    match block {
        Block::Say(text) => json!({ "text": text }),
        Block::Think(text) => json!({ "text": text, "thought": true }),
        Block::Call { tool, input } => {
            let id = stamp.block_id("call", index);
            json!({ "functionCall": { "id": id, "name": tool, "args": input } })
        }
    }
}

fn answer(parts: &Value, stamp: Stamp<'_>) -> Value {
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }],
        "modelVersion": stamp.model, "responseId": stamp.id("resp"),
    })
}

fn finish(answer: &mut Value, turn: &Turn) {
    answer["candidates"][0]["finishReason"] = json!(turn.stop.as_deref().unwrap_or("STOP"));
    answer["usageMetadata"] = usage(turn.usage);
}

/// Returns how it is refused.
pub(super) fn refusal(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        400..=499 => "INVALID_ARGUMENT",
        503 | 529 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": status, "message": message, "status": kind } })
}

/// Returns what is told of a refusal besides its message: when to come again, and which quota is used up.
pub(super) fn details(retry_after_s: Option<u64>, quota: Option<&str>) -> Value {
    let retry = retry_after_s.map(|seconds| {
        json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s") })
    });
    let quota = quota.map(|id| {
        let violations = json!([{ "quotaId": id, "quotaMetric": "scripted/requests" }]);
        json!({ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations })
    });
    quota.into_iter().chain(retry).collect()
}

/// Here, what came from the cache is part of the input, and what was thought no part of what was said.
fn usage(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    let mut told = json!({
        "promptTokenCount": input, "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output.saturating_sub(usage.thought),
        "totalTokenCount": input + usage.output,
    });
    if usage.thought > 0 {
        told["thoughtsTokenCount"] = json!(usage.thought);
    }
    told
}
