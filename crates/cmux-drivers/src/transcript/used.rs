//! What a transcript tells of a delivery: whether it was said to the agent.
//!
//! Only a record of a prompt counts that begins with the delivery's own header. What a tool returned, what
//! the agent said, and what a subagent was told may have the same text in it, and prove nothing.

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
    /// Nothing says so as yet.
    NotYet,
    /// There is no transcript that could say so.
    Unknown,
}

/// Looks whether a `delivery` was said to an agent, in what its transcript has from the byte `from` on. A
/// transcript that is shorter than that has begun anew, and is read from its first.
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
    let (mut reader, mut line, wanted) = (BufReader::new(file), Vec::new(), delivery.to_string());
    loop {
        line.clear();
        let length = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        let is_whole = line.last() == Some(&b'\n');
        if is_whole {
            next += length as u64;
            let text = str::from_utf8(&line).unwrap_or_default();
            if text.contains(&wanted) && tells(shape, text, delivery) {
                return Ok(Looked { used: Used::Yes, next });
            }
        } else if length as u64 == LINE_MAX {
            next += length as u64 + skip_line(&mut reader)?;
        } else {
            // What is half written is read again when it is whole.
            return Ok(Looked { used: Used::NotYet, next });
        }
    }
}

/// Passes over the rest of a line, and returns how long it was as far as it is written.
fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
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
            let expected = if expected { Used::Yes } else { Used::NotYet };
            let looked = used(shape, &path, 0, id()).unwrap();
            assert_eq!(looked.used, expected, "{shape:?} {record}");
            drop(folder);
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
        writer.set_len(3 * LINE_MAX + 5).unwrap();
        let looked = used(shape(), &path, 0, id()).unwrap();
        assert_eq!(looked, Looked { used: Used::NotYet, next: 3 * LINE_MAX + 5 });
        writer.write_all(b"\n\xff\xfe{\n").unwrap();
        writer.write_all(format!("{}\n", prompt(OURS)).as_bytes()).unwrap();
        for from in [0, looked.next] {
            assert_eq!(used(shape(), &path, from, id()).unwrap().used, Used::Yes, "{from}");
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
        TranscriptShape::Claude
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
