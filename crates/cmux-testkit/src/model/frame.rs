//! An answer in the pieces in which it is sent.

use std::time::Duration;

use serde_json::Value;

/// A piece of an answer, as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) text: String,
    /// How long it is waited before it.
    pub(super) wait: Duration,
}

/// What tells one answer from another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp<'a> {
    pub(super) serial: u64,
    /// The model that was asked for.
    pub(super) model: &'a str,
}

impl Stamp<'_> {
    /// Returns an id that no other answer has.
    pub(super) fn id(&self, prefix: &str) -> String {
        format!("{prefix}_{:012}", self.serial)
    }

    /// Returns an id for the block with this number.
    pub(super) fn block_id(&self, prefix: &str, number: usize) -> String {
        format!("{prefix}_{:012}{number:03}", self.serial)
    }
}

/// Returns a server-sent event that has a name.
pub(super) fn named(data: &Value, wait: Duration) -> Frame {
    let event = data["type"].as_str().unwrap_or("message");
    Frame { text: format!("event: {event}\ndata: {data}\n\n"), wait }
}

/// Returns a server-sent event without a name.
pub(super) fn plain(data: &Value, wait: Duration) -> Frame {
    Frame { text: format!("data: {data}\n\n"), wait }
}

/// Returns a text, or the texts of a list of blocks, which APIs take alike.
pub(super) fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// Returns the texts of a content as one.
pub(super) fn text(content: &Value) -> String {
    texts(content).join("\n")
}

/// Returns the names of tools, wherever an API has them.
pub(super) fn names(tools: &Value) -> Vec<String> {
    let name = |tool: &Value| {
        let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str())?;
        Some(name.to_owned())
    };
    tools.as_array().into_iter().flatten().filter_map(name).collect()
}
