//! Which API is spoken where, and an answer in the words of each.

use serde_json::{Value, json};

use super::asked::{Asked, Dialect};
use super::frame::{Frame, Stamp};
use super::script::Turn;
use super::{chat, gemini, messages, responses};

/// What is wanted at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Answer(Dialect),
    /// An answer by the model in the path, in pieces or whole.
    Generated {
        model: String,
        streams: bool,
    },
    /// How many tokens something has.
    Count(Dialect),
    Models,
    /// Whether anybody is there.
    Hello,
}

/// Returns what is wanted at a path, if it is known.
pub(super) fn wanted(method: &str, path: &str) -> Option<Wanted> {
    if method == "GET" || method == "HEAD" {
        return match path {
            "/" | "/api/hello" => Some(Wanted::Hello),
            _ if path.ends_with("/models") => Some(Wanted::Models),
            _ => None,
        };
    }
    let generated = |model: &str, streams| Wanted::Generated { model: model.to_owned(), streams };
    let last = path.rsplit('/').next().unwrap_or_default();
    match last.rsplit_once(':') {
        Some((model, "streamGenerateContent")) => Some(generated(model, true)),
        Some((model, "generateContent")) => Some(generated(model, false)),
        Some((_, "countTokens")) => Some(Wanted::Count(Dialect::Gemini)),
        Some(_) => None,
        None if path.ends_with("/messages") => Some(Wanted::Answer(Dialect::Messages)),
        None if path.ends_with("/messages/count_tokens") => Some(Wanted::Count(Dialect::Messages)),
        None if path.ends_with("/responses") => Some(Wanted::Answer(Dialect::Responses)),
        None if path.ends_with("/chat/completions") => Some(Wanted::Answer(Dialect::Chat)),
        None => None,
    }
}

/// Returns the key that a request came with, in whichever way its API has it.
pub(super) fn key(header: impl Fn(&str) -> Option<String>, query: Option<&str>) -> Option<String> {
    let bearer = || header("authorization")?.strip_prefix("Bearer ").map(str::to_owned);
    let asked = || query?.split('&').find_map(|it| it.strip_prefix("key=")).map(str::to_owned);
    header("x-api-key").or_else(|| header("x-goog-api-key")).or_else(bearer).or_else(asked)
}

/// Reads a request in this dialect, to whose model the path says nothing.
pub(super) fn read(
    dialect: Dialect,
    header: impl Fn(&str) -> Option<String>,
    body: &Value,
) -> Asked {
    match dialect {
        Dialect::Messages => messages::read(header, body),
        Dialect::Responses => responses::read(header, body),
        Dialect::Chat => chat::read(header, body),
        Dialect::Gemini => gemini::read(header, body, "", false),
    }
}

pub(super) fn stream(dialect: Dialect, turn: &Turn, stamp: Stamp<'_>) -> Vec<Frame> {
    match dialect {
        Dialect::Messages => messages::stream(turn, stamp),
        Dialect::Responses => responses::stream(turn, stamp),
        Dialect::Chat => chat::stream(turn, stamp),
        Dialect::Gemini => gemini::stream(turn, stamp),
    }
}

pub(super) fn whole(dialect: Dialect, turn: &Turn, stamp: Stamp<'_>) -> Value {
    match dialect {
        Dialect::Messages => messages::whole(turn, stamp),
        Dialect::Responses => responses::whole(turn, stamp),
        Dialect::Chat => chat::whole(turn, stamp),
        Dialect::Gemini => gemini::whole(turn, stamp),
    }
}

pub(super) fn refusal(dialect: Dialect, status: u16, message: &str) -> Value {
    match dialect {
        Dialect::Messages => messages::refusal(status, message),
        Dialect::Responses | Dialect::Chat => responses::refusal(status, message),
        Dialect::Gemini => gemini::refusal(status, message),
    }
}

/// Returns how many tokens this many bytes are said to have.
pub(super) fn count(dialect: Dialect, bytes: usize) -> Value {
    let tokens = bytes.div_ceil(4);
    match dialect {
        Dialect::Gemini => json!({ "totalTokens": tokens }),
        Dialect::Messages | Dialect::Responses | Dialect::Chat => json!({ "input_tokens": tokens }),
    }
}

/// Returns the models there are, in a shape that all take.
pub(super) fn models() -> Value {
    let model = json!({ "id": "scripted", "slug": "scripted", "name": "models/scripted", "object": "model" });
    json!({ "object": "list", "data": [model.clone()], "models": [model] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_api_is_found_at_its_path() {
        let model = |streams| Wanted::Generated { model: "gemini-9".into(), streams };
        for (method, path, expected) in [
            ("POST", "/v1/messages", Some(Wanted::Answer(Dialect::Messages))),
            ("POST", "/v1/messages/count_tokens", Some(Wanted::Count(Dialect::Messages))),
            ("POST", "/v1/responses", Some(Wanted::Answer(Dialect::Responses))),
            ("POST", "/v1/chat/completions", Some(Wanted::Answer(Dialect::Chat))),
            ("POST", "/v1beta/models/gemini-9:streamGenerateContent", Some(model(true))),
            ("POST", "/v1beta/models/gemini-9:generateContent", Some(model(false))),
            ("POST", "/v1beta/models/gemini-9:countTokens", Some(Wanted::Count(Dialect::Gemini))),
            ("GET", "/v1/models", Some(Wanted::Models)),
            ("HEAD", "/api/hello", Some(Wanted::Hello)),
            ("POST", "/v1/telemetry", None),
            ("GET", "/v1/messages", None),
        ] {
            assert_eq!(wanted(method, path), expected, "{path}");
        }
    }
}
