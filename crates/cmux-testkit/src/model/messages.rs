//! Anthropic's Messages API.

use std::time::Duration;

use serde_json::{Value, json};

use super::asked::{Asked, Dialect, Said};
use super::frame::{Frame, Stamp, named, names, text};
use super::script::{Block, Turn, Usage};

/// Reads a request.
pub(super) fn read(header: impl Fn(&str) -> Option<String>, body: &Value) -> Asked {
    let mut said = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let is_model = message["role"] == "assistant";
        // Others are no part of the conversation: Claude Code has messages of the system among them.
        if is_model || message["role"] == "user" {
            read_content(&message["content"], is_model, &mut said);
        }
    }
    let schema = [&body["output_config"]["format"]["schema"], &body["output_format"]["schema"]];
    Asked {
        dialect: Dialect::Messages,
        session: header("x-claude-code-session-id"),
        subagent: header("x-claude-code-agent-id"),
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        system: text(&body["system"]),
        said,
        tools: names(&body["tools"]),
        schema: schema.into_iter().find(|it| it.is_object()).cloned(),
        streams: body["stream"] == true,
    }
}

fn read_content(content: &Value, is_model: bool, said: &mut Vec<Said>) {
    let say = |text: &str| {
        let text = text.to_owned();
        if is_model { Said::Model(text) } else { Said::User(text) }
    };
    if let Some(text) = content.as_str() {
        said.push(say(text));
    }
    for block in content.as_array().into_iter().flatten() {
        let of = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("text") => said.push(say(&of("text"))),
            Some("tool_use") => {
                let input = block["input"].clone();
                said.push(Said::Call { id: of("id"), tool: of("name"), input });
            }
            Some("tool_result") => {
                said.push(Said::Result { id: of("tool_use_id"), text: text(&block["content"]) });
            }
            _ => {}
        }
    }
}

/// Returns an answer in pieces.
pub(super) fn stream(turn: &Turn, stamp: Stamp<'_>) -> Vec<Frame> {
    let mut message = whole(turn, stamp);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    let start = json!({ "type": "message_start", "message": message });
    let mut frames = vec![now(&start), now(&json!({ "type": "ping" }))];
    for (index, block) in turn.blocks.iter().enumerate() {
        stream_block(block, index, turn, stamp, &mut frames);
    }
    let delta = json!({ "stop_reason": stop(turn), "stop_sequence": null });
    let end = json!({ "type": "message_delta", "delta": delta, "usage": usage(turn.usage) });
    frames.extend([now(&end), now(&json!({ "type": "message_stop" }))]);
    frames
}

fn stream_block(
    block: &Block,
    index: usize,
    turn: &Turn,
    stamp: Stamp<'_>,
    frames: &mut Vec<Frame>,
) {
    let (empty, deltas, wait) = match block {
        Block::Say(text) => {
            let (pieces, wait) = turn.pace.pieces(text);
            let delta = |piece: &String| json!({ "type": "text_delta", "text": piece });
            (json!({ "type": "text", "text": "" }), pieces.iter().map(delta).collect(), wait)
        }
        Block::Think(text) => {
            let (pieces, wait) = turn.pace.pieces(text);
            let delta = |piece: &String| json!({ "type": "thinking_delta", "thinking": piece });
            let mut deltas: Vec<Value> = pieces.iter().map(delta).collect();
            deltas.push(json!({ "type": "signature_delta", "signature": signature(text) }));
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas, wait)
        }
        Block::Call { tool, input } => {
            let (pieces, wait) = turn.pace.clone().unfilled().pieces(&input.to_string());
            let delta =
                |piece: &String| json!({ "type": "input_json_delta", "partial_json": piece });
            let id = stamp.block_id("toolu", index);
            let empty = json!({ "type": "tool_use", "id": id, "name": tool, "input": {} });
            (empty, pieces.iter().map(delta).collect::<Vec<_>>(), wait)
        }
    };
    frames.push(now(
        &json!({ "type": "content_block_start", "index": index, "content_block": empty }),
    ));
    for delta in deltas {
        let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
        frames.push(named(&delta, wait));
    }
    frames.push(now(&json!({ "type": "content_block_stop", "index": index })));
}

/// Returns an answer in one piece.
pub(super) fn whole(turn: &Turn, stamp: Stamp<'_>) -> Value {
    let blocks = turn.blocks.iter().enumerate().map(|(index, block)| match block {
        Block::Say(text) => json!({ "type": "text", "text": text }),
        Block::Think(text) => {
            json!({ "type": "thinking", "thinking": text, "signature": signature(text) })
        }
        Block::Call { tool, input } => {
            let id = stamp.block_id("toolu", index);
            json!({ "type": "tool_use", "id": id, "name": tool, "input": input })
        }
    });
    json!({
        "id": stamp.id("msg"), "type": "message", "role": "assistant", "model": stamp.model,
        "content": blocks.collect::<Vec<_>>(), "stop_reason": stop(turn), "stop_sequence": null,
        "usage": usage(turn.usage),
    })
}

/// Returns how it is refused.
pub(super) fn refusal(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

fn stop(turn: &Turn) -> String {
    let by_itself = if turn.calls() { "tool_use" } else { "end_turn" };
    turn.stop.clone().unwrap_or_else(|| by_itself.to_owned())
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    })
}

/// Returns what stands for a signature: nobody can check it here.
fn signature(thought: &str) -> String {
    format!("scripted{}", thought.len())
}

fn now(data: &Value) -> Frame {
    named(data, Duration::ZERO)
}
