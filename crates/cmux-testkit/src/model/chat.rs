//! OpenAI's chat completions.

use std::time::Duration;

use serde_json::{Value, json};

use super::asked::{Asked, Dialect, Said};
use super::frame::{Frame, Stamp, names, plain, text, texts};
use super::script::{Block, Turn, Usage};

/// Reads a request.
pub(super) fn read(header: impl Fn(&str) -> Option<String>, body: &Value) -> Asked {
    let mut said = Vec::new();
    let mut system = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("system" | "developer") => system.push(text(content)),
            Some("user") => said.extend(texts(content).into_iter().map(Said::User)),
            Some("assistant") => read_answer(message, &mut said),
            Some("tool") => {
                let id = message["tool_call_id"].as_str().unwrap_or_default().to_owned();
                said.push(Said::Result { id, text: text(content) });
            }
            _ => {}
        }
    }
    let schema = &body["response_format"]["json_schema"]["schema"];
    let key = || body["prompt_cache_key"].as_str().map(str::to_owned);
    Asked {
        dialect: Dialect::Chat,
        session: ["x-session-id", "x-session-affinity"].into_iter().find_map(header).or_else(key),
        subagent: None,
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        system: system.join("\n"),
        said,
        tools: names(&body["tools"]),
        schema: Some(schema).filter(|it| it.is_object()).cloned(),
        streams: body["stream"] == true,
    }
}

fn read_answer(message: &Value, said: &mut Vec<Said>) {
    let answer = text(&message["content"]);
    if !answer.is_empty() {
        said.push(Said::Model(answer));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        said.push(Said::Call {
            id: call["id"].as_str().unwrap_or_default().to_owned(),
            tool: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
            input: serde_json::from_str(arguments).unwrap_or(Value::Null),
        });
    }
}

/// Returns an answer in pieces.
pub(super) fn stream(turn: &Turn, stamp: Stamp<'_>) -> Vec<Frame> {
    let piece = |delta: Value, wait| plain(&chunk(stamp, &delta, &Value::Null), wait);
    let mut frames = vec![piece(json!({ "role": "assistant", "content": "" }), Duration::ZERO)];
    let mut calls = 0;
    for (index, block) in turn.blocks.iter().enumerate() {
        let (pieces, wait, key) = match block {
            Block::Say(text) => {
                let (pieces, wait) = turn.pace.pieces(text);
                (pieces, wait, "content")
            }
            Block::Think(text) => {
                let (pieces, wait) = turn.pace.pieces(text);
                (pieces, wait, "reasoning_content")
            }
            Block::Call { tool, input } => {
                let mut call = call(tool, input, index, stamp);
                call["index"] = json!(calls);
                calls += 1;
                frames.push(piece(json!({ "tool_calls": [call] }), turn.pace.chunk));
                continue;
            }
        };
        frames.extend(pieces.iter().map(|it| piece(json!({ key: it }), wait)));
    }
    let end = chunk(stamp, &json!({}), &json!(finish(turn)));
    let mut last = chunk(stamp, &json!({}), &Value::Null);
    last["choices"] = json!([]);
    last["usage"] = usage(turn.usage);
    frames.extend([plain(&end, Duration::ZERO), plain(&last, Duration::ZERO)]);
    frames.push(Frame { text: "data: [DONE]\n\n".to_owned(), wait: Duration::ZERO });
    frames
}

fn chunk(stamp: Stamp<'_>, delta: &Value, finish: &Value) -> Value {
    json!({
        "id": stamp.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1,
        "model": stamp.model,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    })
}

fn call(tool: &str, input: &Value, index: usize, stamp: Stamp<'_>) -> Value {
    let function = json!({ "name": tool, "arguments": input.to_string() });
    json!({ "id": stamp.block_id("call", index), "type": "function", "function": function })
}

/// Returns an answer in one piece.
pub(super) fn whole(turn: &Turn, stamp: Stamp<'_>) -> Value {
    let (mut content, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for (index, block) in turn.blocks.iter().enumerate() {
        match block {
            Block::Say(text) => content += text,
            Block::Think(text) => thoughts += text,
            Block::Call { tool, input } => calls.push(call(tool, input, index, stamp)),
        }
    }
    let mut message = json!({ "role": "assistant", "content": content });
    if !thoughts.is_empty() {
        message["reasoning_content"] = json!(thoughts);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": stamp.id("chatcmpl"), "object": "chat.completion", "created": 1, "model": stamp.model,
        "choices": [{ "index": 0, "message": message, "finish_reason": finish(turn) }],
        "usage": usage(turn.usage),
    })
}

fn finish(turn: &Turn) -> String {
    let by_itself = if turn.calls() { "tool_calls" } else { "stop" };
    turn.stop.clone().unwrap_or_else(|| by_itself.to_owned())
}

/// Here, what came from the cache is part of the input.
fn usage(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": input, "prompt_tokens_details": { "cached_tokens": usage.cache_read },
        "completion_tokens": usage.output, "total_tokens": input + usage.output,
    })
}
