//! The transcript: all that was said in a session, line by line, as Claude Code writes it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::record::append;
use super::screen::Said;
use super::session::{Note, Resumed};

/// How much of an earlier conversation is shown again.
const SHOWN_MAX: usize = 100;

/// The file of one session.
#[derive(Clone, Debug)]
pub(crate) struct Transcript {
    pub(crate) path: PathBuf,
    session: String,
    folder: String,
    lines: u64,
}

impl Transcript {
    pub(crate) fn new(state: &Path, session: &str, folder: &str) -> Transcript {
        let path = state.join(format!("{session}.jsonl"));
        Transcript { path, session: session.to_owned(), folder: folder.to_owned(), lines: 0 }
    }

    /// Writes down a prompt, with the id of the message that it came as, if any.
    pub(crate) fn prompt(&mut self, text: &str, id: Option<&str>, at: &str) -> io::Result<()> {
        let message = json!({ "role": "user", "content": text });
        self.write(json!({ "type": "user", "message": message, "messageId": id }), at)
    }

    pub(crate) fn note(&mut self, note: Note, at: &str) -> io::Result<()> {
        // An answer is known by its id wherever it is copied to.
        let id = format!("msg_{}_{:08}", self.session, self.lines + 1);
        self.write(line(note, &id), at)
    }

    fn write(&mut self, mut line: Value, at: &str) -> io::Result<()> {
        self.lines += 1;
        line["sessionId"] = json!(self.session);
        line["cwd"] = json!(self.folder);
        line["timestamp"] = json!(at);
        line["version"] = json!(env!("CARGO_PKG_VERSION"));
        append(&self.path, &line)
    }

    /// Returns what was said so far, or nothing if there is no such session. What cannot be read of it
    /// is passed over.
    pub(crate) fn read(&mut self) -> io::Result<Option<Resumed>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut resumed = Resumed::default();
        for line in BufReader::new(file).split(b'\n') {
            self.lines += 1;
            let Ok(line) = serde_json::from_slice::<Value>(&line?) else { continue };
            hear(&line, &mut resumed.said, &mut resumed.turns, &mut resumed.taken);
        }
        let hidden = resumed.said.len().saturating_sub(SHOWN_MAX);
        resumed.said.drain(..hidden);
        Ok(Some(resumed))
    }
}

fn line(note: Note, id: &str) -> Value {
    let assistant = |content: Value, tokens_in: u64, tokens_out: u64| {
        let usage = json!({
            "input_tokens": tokens_in,
            "output_tokens": tokens_out,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        });
        let message = json!({
            "id": id, "role": "assistant", "model": "demo", "content": [content], "usage": usage,
        });
        json!({ "type": "assistant", "message": message })
    };
    let user = |content: Value| json!({ "type": "user", "message": { "role": "user", "content": [content] } });
    match note {
        Note::Said { text, tokens_in, tokens_out } => {
            assistant(json!({ "type": "text", "text": text }), tokens_in, tokens_out)
        }
        Note::Failed { text } => {
            let mut line = assistant(json!({ "type": "text", "text": text }), 0, 0);
            line["isApiErrorMessage"] = json!(true);
            line
        }
        Note::ToolUse { id, tool, tokens_in, tokens_out } => {
            let content =
                json!({ "type": "tool_use", "id": id, "name": tool.name, "input": tool.input });
            assistant(content, tokens_in, tokens_out)
        }
        Note::ToolResult { id, text, is_error } => user(json!({
            "type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error,
        })),
        Note::Interrupted => user(json!({
            "type": "text", "text": "[Request interrupted by user]",
        })),
        Note::Context { event, text } => {
            json!({ "type": "system", "subtype": "hook_context", "event": event, "content": text })
        }
        Note::Compacted { tokens } => {
            let metadata = json!({ "trigger": "manual", "preTokens": tokens });
            json!({ "type": "system", "subtype": "compact_boundary", "compactMetadata": metadata })
        }
    }
}

fn hear(line: &Value, said: &mut Vec<Said>, turns: &mut u64, taken: &mut BTreeSet<String>) {
    let message = &line["message"];
    match (line["type"].as_str(), &message["content"]) {
        (Some("user"), Value::String(text)) => {
            *turns += 1;
            taken.extend(line["messageId"].as_str().map(str::to_owned));
            said.push(Said::Person(text.clone()));
        }
        (Some("user" | "assistant"), Value::Array(parts)) => {
            for part in parts {
                let text = |name: &str| part[name].as_str().unwrap_or_default().to_owned();
                match part["type"].as_str() {
                    Some("text") => said.push(Said::Agent(text("text"))),
                    Some("tool_use") => said.push(Said::Agent(text("name"))),
                    Some("tool_result") => said.push(Said::Result(text("content"))),
                    Some(_) | None => {}
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[cfg(feature = "kit")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_written_is_read_again_but_for_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut transcript = Transcript::new(folder.path(), "abc", "/repo");
        assert_eq!(transcript.read().unwrap(), None);
        transcript.prompt("one", Some("m1"), "2026-01-01T00:00:00.000Z").unwrap();
        let note = Note::Said { text: "two".into(), tokens_in: 3, tokens_out: 4 };
        transcript.note(note, "2026-01-01T00:00:00.000Z").unwrap();
        let whole = fs::read_to_string(&transcript.path).unwrap();
        let lines: Vec<Value> =
            whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["message"]["content"], "one");
        assert_eq!(lines[1]["message"]["usage"]["output_tokens"], 4);
        assert_eq!(lines[1]["sessionId"], "abc");

        fs::write(&transcript.path, format!("{whole}{{\"type\":\"user\",\"mess")).unwrap();
        let resumed = transcript.read().unwrap().unwrap();
        assert_eq!(resumed.said, [Said::Person("one".into()), Said::Agent("two".into())]);
        assert_eq!((resumed.turns, resumed.taken), (1, BTreeSet::from(["m1".to_owned()])));
    }
}
