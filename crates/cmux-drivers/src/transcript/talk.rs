//! What was said in a transcript: prompts, answers, and the tools that were called, page by page from its end.
//!
//! A file is read backwards, so much at once and no more. What makes no sense in it is passed over, and so is a
//! line that is too long and one that is half written. What tools were told and what they returned is shown
//! without the secrets in it.

mod back;
mod claude;
mod codex;
mod cut;
mod gemini;

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cmux_core::delivery::messages_of;
use cmux_core::id::MessageId;
use cmux_core::time::Timestamp;
use serde_json::Value;

use self::back::{Back, Step};
pub use self::cut::TEXT_MAX;
use self::cut::{cut, redacted, shown_input};
use super::usage::open;
use crate::manifest::TranscriptShape;

/// How many bytes of text a page has at most, more or less.
const PAGE_BYTES: usize = 1 << 20;

/// How long the name of a tool or of a call may be, in bytes.
const NAME_MAX: usize = 200;

/// Something that was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is known by in its transcript.
    pub id: String,
    pub at: Option<Timestamp>,
    /// Whether it was said to a subagent, or by one.
    pub subagent: bool,
    pub what: What,
}

/// What was said.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// To the agent, with the messages of cmux that it has in it.
    Prompt { text: Text, messages: Vec<MessageId> },
    /// By the agent.
    Answer(Text),
    /// By the agent, to itself.
    Thinking(Text),
    /// To a tool.
    Call { call: String, tool: String, input: Value, is_cut: bool },
    /// By a tool, and whether it did what it was told, if that is known.
    Result { call: String, text: Text, ok: Option<bool> },
    /// What befell the conversation.
    Note(String),
}

/// The beginning of a text, and whether there was more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub text: String,
    pub is_cut: bool,
}

/// A place in a transcript, before which a page ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file that it is a place in.
    pub file: u64,
    /// Where the line ends that comes next.
    pub end: u64,
    /// How many entries at the end of that line are on the page after.
    pub skip: usize,
}

/// What a look found.
#[derive(Clone, Debug, PartialEq)]
pub enum Talked {
    /// There is no such file.
    Nothing,
    /// The place is not in this file.
    Elsewhere,
    /// What was said before the place, oldest first, and where to go on, if there is more.
    Page { entries: Vec<Entry>, next: Option<Place> },
}

/// Returns what was said last in the transcript at `path`, or last before a place in it, `limit` entries at most.
pub fn read_back(
    shape: TranscriptShape,
    path: &Path,
    before: Option<Place>,
    limit: usize,
) -> io::Result<Talked> {
    let Some((file, about)) = open(path)? else { return Ok(Talked::Nothing) };
    let from = match before {
        Some(place) if place.file != about.ino() || place.end > about.len() => {
            return Ok(Talked::Elsewhere);
        }
        Some(place) => place,
        None => Place { file: about.ino(), end: about.len(), skip: 0 },
    };
    let mut lines = Back::from(file, from.end);
    let (mut page, mut skip) = (Page::of(limit), from.skip);
    let next = loop {
        match lines.previous()? {
            Step::Line { at, end, bytes } => {
                let record = record(&bytes).unwrap_or_default();
                if let Some(skip) = page.take(at, pieces(shape, &record), skip) {
                    break Some(Place { end, skip, ..from });
                }
                if shape == TranscriptShape::Gemini && gemini::is_all(&record) {
                    break None;
                }
                skip = 0;
            }
            Step::Passed => skip = 0,
            Step::Tired { end } => break Some(Place { end, skip: 0, ..from }),
            Step::Start => break None,
        }
    };
    page.entries.reverse();
    Ok(Talked::Page { entries: page.entries, next })
}

/// A page, filled from its end.
struct Page {
    entries: Vec<Entry>,
    limit: usize,
    bytes: usize,
    /// The messages of which a later line has told: an earlier one is not what they came to.
    told: BTreeSet<String>,
}

impl Page {
    fn of(limit: usize) -> Page {
        Page { entries: Vec::new(), limit, bytes: 0, told: BTreeSet::new() }
    }

    /// Takes what the line at the byte `at` says, but for as many at its end as there are to `skip`. If not all of
    /// it has room, returns how many there are to skip next time.
    fn take(&mut self, at: u64, said: Vec<Piece>, skip: usize) -> Option<usize> {
        let count = said.len();
        let keys: Vec<String> = said.iter().filter_map(|it| it.message.clone()).collect();
        let left = said.into_iter().enumerate().rev().skip(skip);
        for (index, piece) in left {
            if piece.message.as_ref().is_some_and(|it| self.told.contains(it)) {
                continue;
            }
            if self.entries.len() >= self.limit || self.bytes >= PAGE_BYTES {
                return Some(count - 1 - index);
            }
            self.bytes += piece.what.bytes();
            let id = match &piece.message {
                Some(message) => format!("{message}.{}", piece.number),
                None => format!("{at}.{index}"),
            };
            let Piece { at, subagent, what, .. } = piece;
            self.entries.push(Entry { id, at, subagent, what });
        }
        self.told.extend(keys);
        None
    }
}

/// What a line says, or a part of it.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    /// The message that it is a part of, where lines tell of one again and again, and which part it is.
    message: Option<String>,
    number: usize,
    at: Option<Timestamp>,
    subagent: bool,
    what: What,
}

impl What {
    /// Returns what somebody was told, with the messages of cmux in it.
    fn prompt(text: &str) -> What {
        What::Prompt { text: Text::of(text), messages: messages_of(text) }
    }

    fn call(call: &str, tool: &str, input: &Value) -> What {
        let (input, is_cut) = shown_input(input);
        What::Call { call: name(call), tool: name(tool), input, is_cut }
    }

    fn result(call: &str, text: &str, ok: Option<bool>) -> What {
        What::Result { call: name(call), text: redacted(text), ok }
    }

    fn note(text: &str) -> What {
        What::Note(cut(text, TEXT_MAX).to_owned())
    }

    /// Returns about how long it is.
    fn bytes(&self) -> usize {
        match self {
            What::Prompt { text, .. } | What::Answer(text) | What::Thinking(text) => {
                text.text.len()
            }
            What::Result { text, .. } => text.text.len(),
            What::Call { input, .. } => cut::length(input),
            What::Note(text) => text.len(),
        }
    }
}

impl Text {
    fn of(text: &str) -> Text {
        let shown = cut(text, TEXT_MAX);
        Text { text: shown.to_owned(), is_cut: shown.len() < text.len() }
    }
}

fn name(text: &str) -> String {
    cut(text, NAME_MAX).chars().filter(|letter| !letter.is_control()).collect()
}

fn record(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().filter(Value::is_object)
}

/// Returns what a record says.
fn pieces(shape: TranscriptShape, record: &Value) -> Vec<Piece> {
    match shape {
        TranscriptShape::Claude | TranscriptShape::Demo => claude::pieces(record),
        TranscriptShape::Codex => codex::pieces(record),
        TranscriptShape::Gemini => gemini::pieces(record),
    }
}

/// Returns the text at a place in a record, or none.
fn text_at<'a>(value: &'a Value, at: &str) -> &'a str {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the texts of something that may have parts, one after the other.
fn texts(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests;
