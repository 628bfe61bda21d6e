//! Whether something was said in a transcript, so that a CLI goes on with it.
//!
//! Claude Code writes down what a session is called before anything is said in it, and refuses to go on with one
//! that has nothing else.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use serde_json::Value;

use crate::manifest::TranscriptShape;

/// How much is read, in bytes. Where there is more, something was said.
const LOOK_MAX: u64 = 8 << 20;

/// Returns whether something was said in the transcript at `path`.
pub fn is_begun(shape: TranscriptShape, path: &Path) -> io::Result<bool> {
    match shape {
        TranscriptShape::Claude => {}
        TranscriptShape::Codex | TranscriptShape::Gemini | TranscriptShape::Demo => {
            return Ok(true);
        }
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.len() > LOOK_MAX {
        return Ok(true);
    }
    for line in BufReader::new(file.take(LOOK_MAX)).split(b'\n') {
        let record: Value = serde_json::from_slice(&line?).unwrap_or_default();
        let kind = record.get("type").and_then(Value::as_str);
        if matches!(kind, Some("user" | "assistant")) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn claude_code_goes_on_where_something_was_said() {
        let title = r#"{"type":"custom-title","customTitle":"user","sessionId":"s"}"#;
        let user = r#"{"type":"user","message":{"role":"user","content":"hello"}}"#;
        for (text, expected) in [
            (String::new(), false),
            (format!("{title}\n"), false),
            (format!("{title}\n{}", &user[..user.len() - 1]), false),
            (format!("{title}\n{user}\n"), true),
            (format!("{user}\n{title}\n"), true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s.jsonl");
            fs::write(&path, &text).unwrap();
            assert_eq!(is_begun(TranscriptShape::Claude, &path).unwrap(), expected, "{text}");
            assert!(is_begun(TranscriptShape::Codex, &path).unwrap());
        }
    }
}
