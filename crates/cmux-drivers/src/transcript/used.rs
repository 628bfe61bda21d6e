//! What a transcript tells of a delivery: whether it was said to the agent.
//!
//! Only a record of a prompt counts that begins with the delivery's own header. What a tool returned, what
//! the agent said, and what a subagent was told may have the same text in it, and prove nothing.
//!
//! Claude Code writes a prompt down when it asks its model, and forgets it again, though not in its transcript,
//! if it is taken back before the model answers. There, only what was answered has been read.

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
    /// Whether it was the last thing that was said.
    is_last: bool,
}

impl Search {
    fn of(shape: TranscriptShape, delivery: DeliveryId) -> Search {
        let wanted = delivery.to_string();
        Search { shape, delivery, wanted, said_at: None, is_last: false }
    }

    /// Takes note of the line that begins at the byte `at`. Returns whether the delivery was read.
    fn is_over(&mut self, line: &str, at: u64) -> bool {
        if line.contains(&self.wanted) && tells(self.shape, line, self.delivery) {
            (self.said_at, self.is_last) = (Some(at), true);
            return match self.shape {
                TranscriptShape::Claude => false,
                TranscriptShape::Codex | TranscriptShape::Gemini | TranscriptShape::Demo => true,
            };
        }
        if !self.is_last {
            return false;
        }
        match answer(line) {
            Some(Answer::Answered) => true,
            Some(Answer::Other) => {
                self.is_last = false;
                false
            }
            None => false,
        }
    }

    /// Returns what was found if nothing was answered. What was said is looked at again with what follows it.
    fn unanswered(&self, looked: Looked) -> Looked {
        self.said_at.map_or(looked, |next| Looked { used: Used::Said, next })
    }
}

/// What a line of Claude Code's transcript says of the prompt before it.
enum Answer {
    /// The model has begun to answer, or its answer was cut off: it stays in the conversation.
    Answered,
    /// Something else was asked.
    Other,
}

/// What Claude Code writes down if an answer is cut off.
const INTERRUPTED: &str = "[Request interrupted by user";

fn answer(line: &str) -> Option<Answer> {
    if !line.contains("\"assistant\"") && !line.contains("\"user\"") {
        return None;
    }
    let record: Value = serde_json::from_str(line).ok()?;
    if record.get("isSidechain").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    if text_at(&record, "/type") == "assistant" {
        return Some(Answer::Answered);
    }
    let mut texts = match text_at(&record, "/type") {
        "user" => claude(&record).into_iter(),
        _ => return None,
    };
    let first = texts.next()?;
    match first {
        _ if first.starts_with(INTERRUPTED) => Some(Answer::Answered),
        // What it does for itself stands in a tag.
        _ if first.trim_start().starts_with('<') => None,
        _ => Some(Answer::Other),
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

/// Returns whether a line is the record of a prompt that begins with the header of `delivery`.
fn tells(shape: TranscriptShape, line: &str, delivery: DeliveryId) -> bool {
    let Ok(record) = serde_json::from_str::<Value>(line) else { return false };
    let texts = match shape {
        TranscriptShape::Claude | TranscriptShape::Demo => claude(&record),
        TranscriptShape::Codex => codex(&record),
        TranscriptShape::Gemini => gemini(&record),
    };
    texts.into_iter().any(|text| delivery_of(text) == Some(delivery))
}

/// Returns the texts of a prompt's record in Claude Code's transcript.
fn claude(record: &Value) -> Vec<&str> {
    let is = |value: &Value, name: &str| value.get(name).and_then(Value::as_bool) == Some(true);
    let is_set = |name: &str| record.get(name).is_some_and(|value| !value.is_null());
    if is(record, "isMeta") || is(record, "isSidechain") || is_set("toolUseResult") {
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

/// Returns the texts of a prompt's record in Gemini's session, or of all those that it is set to.
fn gemini(record: &Value) -> Vec<&str> {
    let all = ["/messages", "/$set/messages"].into_iter();
    let all = all.filter_map(|at| record.pointer(at)?.as_array()).flatten();
    let own = all.chain([record]).filter(|it| text_at(it, "/type") == "user");
    own.flat_map(|it| prompt_texts(&it["content"])).collect()
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
mod tests {
    use std::fs::{self, File};
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use serde_json::json;

    use super::*;

    const OURS: &str = "dlv_00000000000000000000000007";
    const OTHER: &str = "dlv_00000000000000000000000008";

    #[test]
    fn a_prompt_that_begins_with_the_header_is_use_and_nothing_else_is() {
        use TranscriptShape::{Claude, Codex, Demo, Gemini};
        let text = format!("[cmux {OURS} from a · task · msg_1]\nhello");
        let user = |content: Value| json!({ "type": "user", "message": { "role": "user", "content": content } });
        let with = |mut record: Value, name: &str, value: Value| {
            record[name] = value;
            record
        };
        let part = |text: &str| json!([{ "type": "text", "text": text }]);
        let result = json!([{ "type": "tool_result", "content": part(&text), "text": text }]);
        let queued = |prompt: &str| json!({ "type": "attachment", "attachment": { "type": "queued_command", "prompt": prompt } });
        let item = |role: &str| json!({ "type": "response_item", "payload": { "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] } });
        let event = |kind: &str| json!({ "type": "event_msg", "payload": { "type": kind, "message": text } });
        let gemini =
            |kind: &str, content: Value| json!({ "id": "m", "type": kind, "content": content });
        for (shape, record, expected) in [
            (Claude, user(json!(text)), true),
            (Demo, user(json!(text)), true),
            (Claude, user(part(&text)), true),
            (Claude, user(json!(format!("  {text}"))), true),
            (Claude, user(json!(format!("he said: {text}"))), false),
            (Claude, user(json!(text.replace(OURS, OTHER))), false),
            (Claude, user(json!(text.replace(OURS, OTHER) + OURS)), false),
            (Claude, user(result), false),
            (Claude, with(user(json!(text)), "toolUseResult", json!({ "x": 1 })), false),
            (Claude, with(user(json!(text)), "isMeta", json!(true)), false),
            (Claude, with(user(json!(text)), "isSidechain", json!(true)), false),
            (Claude, with(user(json!(text)), "isSidechain", json!(false)), true),
            (
                Claude,
                json!({ "type": "assistant", "message": { "role": "assistant", "content": part(&text) } }),
                false,
            ),
            (
                Claude,
                json!({ "type": "queue-operation", "operation": "enqueue", "content": text }),
                false,
            ),
            (Claude, queued(&text), true),
            (Claude, queued("more"), false),
            (
                Claude,
                json!({ "type": "attachment", "attachment": { "type": "file", "prompt": text } }),
                false,
            ),
            (Codex, item("user"), true),
            (Codex, item("assistant"), false),
            (Codex, item("developer"), false),
            (Codex, event("user_message"), true),
            (Codex, event("agent_message"), false),
            (Codex, user(json!(text)), false),
            (Gemini, gemini("user", json!(text)), true),
            (Gemini, gemini("user", part(&text)), true),
            (Gemini, gemini("gemini", json!(text)), false),
            (Gemini, json!({ "$set": { "messages": [gemini("user", json!(text))] } }), true),
            (Gemini, json!({ "sessionId": "s", "messages": [gemini("info", json!(text))] }), false),
            (Claude, json!([text]), false),
            (Claude, json!(text), false),
        ] {
            let (folder, path) = file(&format!("{record}\n"));
            let expected = match shape {
                _ if !expected => Used::NotYet,
                Claude => Used::Said,
                Codex | Demo | Gemini => Used::Yes,
            };
            let looked = used(shape, &path, 0, id()).unwrap();
            assert_eq!(looked.used, expected, "{shape:?} {record}");
            drop(folder);
        }
    }

    #[test]
    fn claude_code_has_read_what_it_answered_and_not_what_was_taken_back() {
        let user = |text: &str| {
            json!({ "type": "user", "message": { "role": "user", "content": text } }).to_string()
        };
        let ours = || user(&format!("[cmux {OURS} from a · task · msg_1]\nhello"));
        let answer = |is_side: bool| {
            json!({ "type": "assistant", "isSidechain": is_side, "message": { "role": "assistant", "content": [] } }).to_string()
        };
        let aside = json!({ "type": "attachment", "attachment": { "type": "date" } }).to_string();
        let command = user("<command-name>/cost</command-name>");
        let cut_off = user("[Request interrupted by user]");
        for (lines, expected) in [
            (vec![ours()], Used::Said),
            (vec![ours(), aside.clone(), answer(true)], Used::Said),
            (vec![ours(), aside.clone(), answer(false)], Used::Yes),
            (vec![ours(), command, answer(false)], Used::Yes),
            (vec![ours(), cut_off], Used::Yes),
            (vec![ours(), user("another"), answer(false)], Used::Said),
            (vec![ours(), user("another"), answer(false), ours()], Used::Said),
            (vec![ours(), user("another"), answer(false), ours(), answer(false)], Used::Yes),
            (vec![ours(), ours(), answer(false)], Used::Yes),
            (vec![answer(false), ours()], Used::Said),
            (vec![answer(false)], Used::NotYet),
        ] {
            let (_folder, path) = file(&(lines.join("\n") + "\n"));
            let looked = used(TranscriptShape::Claude, &path, 0, id()).unwrap();
            assert_eq!(looked.used, expected, "{lines:?}");
            // What was said is not lost from one look to the next.
            let again = used(TranscriptShape::Claude, &path, looked.next, id()).unwrap();
            assert!(expected != Used::Said || again == looked, "{lines:?}: {again:?}");
        }
    }

    #[test]
    fn only_what_is_new_is_read_and_what_is_half_written_is_read_again() {
        let line = prompt(OURS);
        let (_folder, path) = file(&format!("{line}\n{}\n", prompt(OTHER)));
        let mark = fs::metadata(&path).unwrap().len();
        assert_eq!(used(shape(), &path, 0, id()).unwrap().used, Used::Yes);
        let mut looked = used(shape(), &path, mark, id()).unwrap();
        assert_eq!(looked, Looked { used: Used::NotYet, next: mark });
        let mut writer = File::options().append(true).open(&path).unwrap();
        let (half, rest) = line.split_at(line.len() / 2);
        for more in ["x\n", half, rest] {
            writer.write_all(more.as_bytes()).unwrap();
            looked = used(shape(), &path, looked.next, id()).unwrap();
            assert_eq!(looked, Looked { used: Used::NotYet, next: mark + 2 });
        }
        writer.write_all(b"\n").unwrap();
        let looked = used(shape(), &path, looked.next, id()).unwrap();
        let next = fs::metadata(&path).unwrap().len();
        assert_eq!(looked, Looked { used: Used::Yes, next });
    }

    #[test]
    fn a_transcript_that_shrank_is_read_anew() {
        let (_folder, path) = file(&format!("{}\n", prompt(OURS)));
        assert_eq!(used(shape(), &path, 1 << 30, id()).unwrap().used, Used::Yes);
        fs::write(&path, "").unwrap();
        let expected = Looked { used: Used::NotYet, next: 0 };
        assert_eq!(used(shape(), &path, 1 << 30, id()).unwrap(), expected);
    }

    #[test]
    fn a_line_without_end_and_what_is_no_text_are_passed_over() {
        let (_folder, path) = file("");
        let mut writer = File::options().append(true).open(&path).unwrap();
        // A hole in a file is read as so many noughts, and takes no room.
        writer.set_len(LINE_MAX + 5).unwrap();
        let looked = used(shape(), &path, 0, id()).unwrap();
        assert_eq!(looked, Looked { used: Used::Further, next: LINE_MAX + 5 });
        let looked = used(shape(), &path, looked.next, id()).unwrap();
        assert_eq!(looked, Looked { used: Used::NotYet, next: LINE_MAX + 5 });
        writer.write_all(b"\n\xff\xfe{\n").unwrap();
        writer.write_all(format!("{}\n", prompt(OURS)).as_bytes()).unwrap();
        for from in [0, looked.next] {
            assert_eq!(looks(&path, from).last().unwrap().used, Used::Yes, "{from}");
        }
    }

    #[test]
    fn a_look_has_an_end_and_the_next_goes_on_from_there() {
        let (_folder, path) = file("");
        let mut writer = File::options().append(true).open(&path).unwrap();
        writer.set_len(5 * LINE_MAX).unwrap();
        writer.write_all(b"\n").unwrap();
        let short = format!("{}\n", "x".repeat(1 << 20));
        for _ in 0..40 {
            writer.write_all(short.as_bytes()).unwrap();
        }
        writer.write_all(format!("{}\n", prompt(OURS)).as_bytes()).unwrap();
        let all = looks(&path, 0);
        assert!(all.len() > 3, "{all:?}");
        let mut from = 0;
        for looked in &all {
            assert!(looked.next > from && looked.next - from <= LOOK_MAX, "{all:?}");
            from = looked.next;
        }
        let end = fs::metadata(&path).unwrap().len();
        assert_eq!(all.last(), Some(&Looked { used: Used::Yes, next: end }));
    }

    /// Looks on until there is nothing more to be seen.
    fn looks(path: &Path, mut from: u64) -> Vec<Looked> {
        let mut all = Vec::new();
        loop {
            let looked = used(shape(), path, from, id()).unwrap();
            all.push(looked);
            from = looked.next;
            if looked.used != Used::Further {
                return all;
            }
        }
    }

    #[test]
    fn without_a_transcript_nothing_is_known_and_a_link_is_none() {
        let (folder, path) = file(&format!("{}\n", prompt(OURS)));
        let gone = folder.path().join("gone");
        assert_eq!(used(shape(), &gone, 7, id()).unwrap(), Looked { used: Used::Unknown, next: 0 });
        let (link, pipe) = (folder.path().join("link"), folder.path().join("pipe"));
        symlink(&path, &link).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [link.as_path(), pipe.as_path(), folder.path()] {
            assert!(used(shape(), path, 0, id()).is_err(), "{}", path.display());
        }
    }

    fn shape() -> TranscriptShape {
        TranscriptShape::Demo
    }

    fn id() -> DeliveryId {
        OURS.parse().unwrap()
    }

    fn prompt(delivery: &str) -> String {
        let content = format!("[cmux {delivery} from a · task · msg_1]\nhello");
        json!({ "type": "user", "message": { "role": "user", "content": content } }).to_string()
    }

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, text).unwrap();
        (folder, path)
    }
}
