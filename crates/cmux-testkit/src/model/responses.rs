//! OpenAI's Responses API.

use std::time::Duration;

use serde_json::{Value, json};

use super::asked::{Asked, Dialect, Said};
use super::frame::{Frame, Stamp, named, names, text, texts};
use super::script::{Block, Turn, Usage};

/// Reads a request.
pub(super) fn read(header: impl Fn(&str) -> Option<String>, body: &Value) -> Asked {
    let mut said = Vec::new();
    if let Some(text) = body["input"].as_str() {
        said.push(Said::User(text.to_owned()));
    }
    for item in body["input"].as_array().into_iter().flatten() {
        read_item(item, &mut said);
    }
    let session = ["session_id", "session-id", "thread-id", "conversation_id"];
    let key = || body["prompt_cache_key"].as_str().map(str::to_owned);
    Asked {
        dialect: Dialect::Responses,
        session: session.into_iter().find_map(header).or_else(key),
        subagent: None,
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        system: text(&body["instructions"]),
        said,
        tools: names(&body["tools"]),
        schema: Some(&body["text"]["format"]["schema"]).filter(|it| it.is_object()).cloned(),
        streams: body["stream"] == true,
    }
}

fn read_item(item: &Value, said: &mut Vec<Said>) {
    let of = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    match item["type"].as_str().unwrap_or("message") {
        "message" if item["role"] == "user" => {
            said.extend(texts(&item["content"]).into_iter().map(Said::User));
        }
        "message" if item["role"] == "assistant" => said.push(Said::Model(text(&item["content"]))),
        "function_call" => {
            let input = serde_json::from_str(&of("arguments")).unwrap_or(Value::Null);
            said.push(Said::Call { id: of("call_id"), tool: of("name"), input });
        }
        "function_call_output" => {
            said.push(Said::Result { id: of("call_id"), text: text(&item["output"]) });
        }
        _ => {}
    }
}

/// Returns an answer in pieces.
pub(super) fn stream(turn: &Turn, stamp: Stamp<'_>) -> Vec<Frame> {
    let mut begun = whole(turn, stamp);
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut frames = vec![now(&json!({ "type": "response.created", "response": begun }))];
    for (index, block) in turn.blocks.iter().enumerate() {
        stream_block(block, index, turn, stamp, &mut frames);
    }
    frames.push(now(&json!({ "type": "response.completed", "response": whole(turn, stamp) })));
    frames
}

fn stream_block(
    block: &Block,
    index: usize,
    turn: &Turn,
    stamp: Stamp<'_>,
    frames: &mut Vec<Frame>,
) {
    let done = item(block, index, stamp);
    let id = done["id"].clone();
    let (empty, kind, text) = match block {
        Block::Say(text) => (("content", json!([])), "response.output_text.delta", text.clone()),
        Block::Think(text) => {
            (("summary", json!([])), "response.reasoning_summary_text.delta", text.clone())
        }
        Block::Call { input, .. } => {
            (("arguments", json!("")), "response.function_call_arguments.delta", input.to_string())
        }
    };
    let pace = match block {
        Block::Say(_) | Block::Think(_) => turn.pace.clone(),
        Block::Call { .. } => turn.pace.clone().unfilled(),
    };
    let mut begun = done.clone();
    begun[empty.0] = empty.1;
    frames.push(now(
        &json!({ "type": "response.output_item.added", "output_index": index, "item": begun }),
    ));
    let (pieces, wait) = pace.pieces(&text);
    for piece in pieces {
        let delta = json!({
            "type": kind, "item_id": id, "output_index": index, "content_index": 0,
            "summary_index": 0, "delta": piece,
        });
        frames.push(named(&delta, wait));
    }
    frames.push(now(
        &json!({ "type": "response.output_item.done", "output_index": index, "item": done }),
    ));
}

fn item(block: &Block, index: usize, stamp: Stamp<'_>) -> Value {
    match block {
        Block::Say(text) => json!({
            "type": "message", "id": stamp.block_id("msg", index), "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Block::Think(text) => json!({
            "type": "reasoning", "id": stamp.block_id("rs", index),
            "summary": [{ "type": "summary_text", "text": text }],
        }),
        Block::Call { tool, input } => {
            let mut item = json!({
                "type": "function_call", "id": stamp.block_id("fc", index),
                "call_id": stamp.block_id("call", index), "name": tool,
                "arguments": input.to_string(), "status": "completed",
            });
            if let Some((namespace, name)) = tool.split_once('/') {
                item["namespace"] = json!(namespace);
                item["name"] = json!(name);
            }
            item
        }
    }
}

/// Returns an answer in one piece.
pub(super) fn whole(turn: &Turn, stamp: Stamp<'_>) -> Value {
    let items = turn.blocks.iter().enumerate().map(|(index, block)| item(block, index, stamp));
    json!({
        "id": stamp.id("resp"), "object": "response", "status": "completed", "model": stamp.model,
        "output": items.collect::<Vec<_>>(), "usage": usage(turn.usage),
    })
}

/// Returns how it is refused.
pub(super) fn refusal(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_exceeded",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}

/// Here, what came from the cache is part of the input.
fn usage(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input, "input_tokens_details": { "cached_tokens": usage.cache_read },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": usage.thought },
        "total_tokens": input + usage.output,
    })
}

fn now(data: &Value) -> Frame {
    named(data, Duration::ZERO)
}
