//! What a transcript tells of a delivery: whether it was said to the agent.
//!
//! Only a record of a prompt counts that begins with the delivery's own header. What a tool returned, what
//! the agent said, and what a subagent was told may have the same text in it, and prove nothing.
//!
//! A prompt is written down when the model is asked. That is no proof yet: a CLI that dies before the answer does not
//! ask again by itself, and Claude Code and Gemini CLI forget what is taken back before the model answers. Only what
//! was answered has been read.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cmux_core::delivery::delivery_of;
use cmux_core::id::DeliveryId;
use rustix::fs::OFlags;
use serde_json::Value;

use crate::manifest::TranscriptShape;

/// The longest line that is read, in bytes. A longer one is passed over: nothing that cmux types is.
const LINE_MAX: u64 = 16 << 20;

/// How much is read in one look, in bytes. What an agent writes has no limit, and others wait meanwhile.
const LOOK_MAX: u64 = 32 << 20;

/// What a look into a transcript found, and where the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    pub used: Used,
    pub next: u64,
}

/// Whether a delivery was said to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    Yes,
    /// It was said, and may still be taken back: nothing was answered as yet.
    Said,
    /// It was said, and taken back before anything was answered. Who goes on with the conversation in another life
    /// may find it there all the same.
    TakenBack,
    /// Nothing says so as yet.
    NotYet,
    /// Nothing says so as far as it was read: there is more than one look takes.
    Further,
    /// There is no transcript that could say so.
    Unknown,
}

/// Looks whether a `delivery` was said to an agent, in what its transcript has from the byte `from` on. A
/// transcript that is shorter than that has begun anew, and is read from its first. It may take a while: no
/// task of many should wait for it.
pub fn used(
    shape: TranscriptShape,
    path: &Path,
    from: u64,
    delivery: DeliveryId,
) -> io::Result<Looked> {
    // To open a pipe would wait for whoever writes to it, and a link may lead anywhere.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Looked { used: Used::Unknown, next: 0 });
        }
        file => file?,
    };
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("the transcript is not a file"));
    }
    let mut next = if about.len() < from { 0 } else { from };
    file.seek(SeekFrom::Start(next))?;
    let end = next.saturating_add(LOOK_MAX);
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    let mut search = Search::of(shape, delivery);
    loop {
        if next > end - LINE_MAX {
            return Ok(search.unanswered(Looked { used: Used::Further, next }));
        }
        line.clear();
        let length = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        let is_whole = line.last() == Some(&b'\n');
        if is_whole {
            let at = next;
            next += length as u64;
            if search.is_over(str::from_utf8(&line).unwrap_or_default(), at) {
                return Ok(Looked { used: Used::Yes, next });
            }
        } else if length as u64 == LINE_MAX {
            next += length as u64;
            next += skip_line(&mut reader.by_ref().take(end - next))?;
        } else {
            // What is half written is read again when it is whole.
            return Ok(search.unanswered(Looked { used: Used::NotYet, next }));
        }
    }
}

/// A search for a delivery, line by line.
struct Search {
    shape: TranscriptShape,
    delivery: DeliveryId,
    wanted: String,
    /// Where it was said last.
    said_at: Option<u64>,
    /// Whether what is answered next answers it.
    is_open: bool,
}

impl Search {
    fn of(shape: TranscriptShape, delivery: DeliveryId) -> Search {
        let wanted = delivery.to_string();
        Search { shape, delivery, wanted, said_at: None, is_open: false }
    }

    /// Takes note of the line that begins at the byte `at`. Returns whether the delivery was read.
    fn is_over(&mut self, line: &str, at: u64) -> bool {
        let may_tell = line.contains(&self.wanted);
        if !may_tell && !self.is_open {
            return false;
        }
        let Ok(record) = serde_json::from_str::<Value>(line) else { return false };
        marks(self.shape, &record).into_iter().any(|mark| match mark {
            Mark::Prompt { texts, is_beside } => {
                let is_it = texts.iter().any(|it| delivery_of(it) == Some(self.delivery));
                self.said_at = if is_it { Some(at) } else { self.said_at };
                self.is_open = is_it || (self.is_open && is_beside);
                is_it && self.shape == TranscriptShape::Demo
            }
            Mark::Answer => self.is_open,
            Mark::Anew => {
                (self.said_at, self.is_open) = (None, false);
                false
            }
        })
    }

    /// Returns what was found if nothing was answered. What was said is looked at again with what follows it.
    fn unanswered(&self, looked: Looked) -> Looked {
        let used = if self.is_open { Used::Said } else { Used::TakenBack };
        self.said_at.map_or(looked, |next| Looked { used, next })
    }
}

/// What a part of a transcript tells.
enum Mark<'a> {
    /// Something was said to the agent, in these texts: beside what was said before and is not answered, or in its
    /// place.
    Prompt { texts: Vec<&'a str>, is_beside: bool },
    /// Its model has begun to answer, or its answer was cut off: what was said before stays in the conversation.
    Answer,
    /// The conversation is what follows, and nothing that was said before.
    Anew,
}

/// Returns what a record of a transcript tells, in the order in which it happened.
fn marks(shape: TranscriptShape, record: &Value) -> Vec<Mark<'_>> {
    match shape {
        TranscriptShape::Claude | TranscriptShape::Demo => claude_mark(record),
        TranscriptShape::Codex => codex_mark(record),
        TranscriptShape::Gemini => return gemini_marks(record),
    }
    .into_iter()
    .collect()
}

/// What Claude Code writes down if an answer is cut off.
const INTERRUPTED: &str = "[Request interrupted by user";

fn claude_mark(record: &Value) -> Option<Mark<'_>> {
    if record.get("isSidechain").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    if text_at(record, "/type") == "assistant" {
        return Some(Mark::Answer);
    }
    let texts = claude(record);
    // What came while a turn ran is laid into that turn.
    let is_beside = text_at(record, "/type") != "user";
    match texts.first()? {
        first if first.starts_with(INTERRUPTED) => Some(Mark::Answer),
        // What it does for itself stands in a tag.
        first if first.trim_start().starts_with('<') => None,
        _ => Some(Mark::Prompt { texts, is_beside }),
    }
}

fn codex_mark(record: &Value) -> Option<Mark<'_>> {
    let texts = codex(record);
    if !texts.is_empty() {
        return Some(Mark::Prompt { texts, is_beside: true });
    }
    let payload = &record["payload"];
    let is_answer = match (text_at(record, "/type"), text_at(payload, "/type")) {
        ("response_item", "message") => text_at(payload, "/role") == "assistant",
        ("response_item", kind) => kind == "reasoning" || kind.ends_with("_call"),
        // Its turn is over, whatever came of it.
        ("event_msg", kind) => {
            ["agent_message", "agent_reasoning", "task_complete", "turn_aborted"].contains(&kind)
        }
        _ => false,
    };
    is_answer.then_some(Mark::Answer)
}

/// Its session is a line for each message, or one for all those that it is set to: what is taken back, or refused, is
/// not among them. When it begins again, it is set to what it tells of itself first, which is no conversation yet.
fn gemini_marks(record: &Value) -> Vec<Mark<'_>> {
    let all = ["/messages", "/$set/messages"].into_iter().find_map(|at| record.pointer(at));
    let Some(all) = all.and_then(Value::as_array) else {
        return gemini_mark(record).into_iter().collect();
    };
    let texts = |it: &Value| prompt_texts(&it["content"]).concat();
    let is_own = all.iter().all(|it| texts(it).trim_start().starts_with(CONTEXT));
    let anew = [Mark::Anew].into_iter().filter(|_| !is_own);
    anew.chain(all.iter().filter_map(gemini_mark)).collect()
}

/// How Gemini CLI begins to tell its model of itself.
const CONTEXT: &str = "<session_context>";

fn gemini_mark(message: &Value) -> Option<Mark<'_>> {
    match text_at(message, "/type") {
        "user" => Some(Mark::Prompt { texts: prompt_texts(&message["content"]), is_beside: true }),
        "gemini" => Some(Mark::Answer),
        _ => None,
    }
}

/// Passes over the rest of a line, and returns how long it was as far as it is written and may be read.
pub(super) fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        let end = buffer.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
        let length = end.unwrap_or(buffer.len());
        reader.consume(length);
        skipped += length as u64;
        if end.is_some() || length == 0 {
            return Ok(skipped);
        }
    }
}

/// Returns the texts of a prompt's record in Claude Code's transcript.
fn claude(record: &Value) -> Vec<&str> {
    let is = |value: &Value, name: &str| value.get(name).and_then(Value::as_bool) == Some(true);
    let is_set = |name: &str| record.get(name).is_some_and(|value| !value.is_null());
    // A conversation that is made shorter before it is answered goes on with what was asked.
    let is_own = ["isMeta", "isSidechain", "isCompactSummary"].into_iter().any(|it| is(record, it));
    if is_own || is_set("toolUseResult") {
        return Vec::new();
    }
    match text_at(record, "/type") {
        "user" if text_at(record, "/message/role") == "user" => {
            record.pointer("/message/content").map(prompt_texts).unwrap_or_default()
        }
        // What came while a turn ran is laid into that turn.
        "attachment" if text_at(record, "/attachment/type") == "queued_command" => {
            match is(&record["attachment"], "isMeta") {
                true => Vec::new(),
                false => record.pointer("/attachment/prompt").map(prompt_texts).unwrap_or_default(),
            }
        }
        _ => Vec::new(),
    }
}

/// Returns the texts of a prompt's record in Codex's rollout.
fn codex(record: &Value) -> Vec<&str> {
    let payload = &record["payload"];
    match (text_at(record, "/type"), text_at(payload, "/type")) {
        ("event_msg", "user_message") => vec![text_at(payload, "/message")],
        ("response_item", "message") if text_at(payload, "/role") == "user" => {
            prompt_texts(&payload["content"])
        }
        _ => Vec::new(),
    }
}

/// Returns the texts of what was said: one, or those of its parts. Of what a tool returned, there are none.
fn prompt_texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => {
            let is_result = |part: &Value| text_at(part, "/type") == "tool_result";
            if parts.iter().any(is_result) {
                return Vec::new();
            }
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn text_at<'a>(value: &'a Value, at: &str) -> &'a str {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
