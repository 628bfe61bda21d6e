//! What a transcript tells of tokens: each answer of the model, and what it took.
//!
//! A file is read on from where it was left, as far as its lines are whole. What makes no sense in it is
//! passed over. The same answer may be told of several times, in one file or in a copy of it; its key is the
//! same each time.

mod claude;
mod codex;
mod gemini;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use cmux_core::time::Timestamp;
use cmux_core::usage::{Cursor, KEY_MAX, Read, Spent, TOKENS_MAX};
use rustix::fs::OFlags;
use serde_json::Value;

use super::used::skip_line;
use crate::manifest::TranscriptShape;

/// The longest line that is read, in bytes.
const LINE_MAX: u64 = 16 << 20;

/// How much is read of a file at once, in bytes, and how many entries are taken from it.
pub const READ_MAX: u64 = 8 << 20;
const SPENT_MAX: usize = 2000;

/// What a look at a file found, and whether there is more in it already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub read: Read,
    pub is_more: bool,
}

/// Reads on in the file at `path` from where `cursor` is, `max` bytes at most but one line at least. Returns
/// nothing if there is no such file or nothing new in it. What has no time was at `now`.
pub fn read_on(
    shape: TranscriptShape,
    path: &Path,
    cursor: Option<&Cursor>,
    max: u64,
    now: Timestamp,
) -> io::Result<Option<Found>> {
    let Some((mut file, about)) = open(path)? else { return Ok(None) };
    let mut cursor = match cursor {
        Some(it) if it.is_of(&about) => it.clone(),
        // Another file is in its place, or it has begun anew.
        Some(_) | None => Cursor {
            file: path.display().to_string(),
            device: about.dev(),
            inode: about.ino(),
            place: 0,
            model: None,
            root: None,
        },
    };
    let begun_at = cursor.place;
    if about.len() == begun_at {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(begun_at))?;
    let (mut reader, mut line, mut spent) = (BufReader::new(file), Vec::new(), Vec::new());
    let mut is_more = false;
    loop {
        if cursor.place - begun_at >= max || spent.len() >= SPENT_MAX {
            is_more = true;
            break;
        }
        line.clear();
        let length = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)? as u64;
        if line.last() == Some(&b'\n') {
            cursor.place += length;
            hear(shape, &line, &mut cursor, now, &mut spent);
        } else if length == LINE_MAX {
            cursor.place += length + skip_line(&mut reader)?;
        } else {
            // What is half written is read again when it is whole.
            break;
        }
    }
    if cursor.place == begun_at {
        return Ok(None);
    }
    Ok(Some(Found { read: Read { cursor, spent }, is_more }))
}

/// Opens a file and no pipe or link, if it is there.
pub(super) fn open(path: &Path) -> io::Result<Option<(File, std::fs::Metadata)>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("the transcript is not a file"));
    }
    Ok(Some((file, about)))
}

/// Whether a place in a file is one in this file.
trait Of {
    fn is_of(&self, about: &std::fs::Metadata) -> bool;
}

impl Of for Cursor {
    fn is_of(&self, about: &std::fs::Metadata) -> bool {
        (self.device, self.inode) == (about.dev(), about.ino()) && self.place <= about.len()
    }
}

/// Takes from a line what it tells.
fn hear(
    shape: TranscriptShape,
    line: &[u8],
    cursor: &mut Cursor,
    now: Timestamp,
    spent: &mut Vec<Spent>,
) {
    let marks: &[&str] = match shape {
        TranscriptShape::Claude | TranscriptShape::Demo => &["\"usage\""],
        TranscriptShape::Codex => &["token_count", "turn_context", "session_meta"],
        TranscriptShape::Gemini => &["\"tokens\""],
    };
    // Most lines are long and tell nothing of tokens.
    let Ok(text) = str::from_utf8(line) else { return };
    if !marks.iter().any(|mark| text.contains(mark)) {
        return;
    }
    let Ok(record) = serde_json::from_str::<Value>(text) else { return };
    let at = time(&record).unwrap_or(now);
    let told: Vec<Spent> = match shape {
        TranscriptShape::Claude | TranscriptShape::Demo => {
            claude::spent(&record, at).into_iter().collect()
        }
        TranscriptShape::Codex => codex::spent(&record, at, cursor).into_iter().collect(),
        TranscriptShape::Gemini => gemini::spent(&record, at),
    };
    spent.extend(told.into_iter().filter(|it| it.key.len() <= KEY_MAX && it.tokens.total() > 0));
}

/// Returns when a record was written, by its own word.
pub(super) fn time(record: &Value) -> Option<Timestamp> {
    let text = record.get("timestamp")?.as_str()?;
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp(at.as_millisecond()))
}

/// Returns a number of tokens. One that is not there is none; one that no model gives makes the whole entry
/// worth nothing.
fn count(value: &Value, at: &str) -> Option<u64> {
    match value.pointer(at) {
        None | Some(Value::Null) => Some(0),
        Some(number) => number.as_u64().filter(|&number| number <= TOKENS_MAX),
    }
}

/// Returns a short text that can be shown.
fn word(value: &Value, at: &str) -> Option<String> {
    let text = value.pointer(at)?.as_str()?;
    let is_plain = !text.is_empty() && text.len() <= KEY_MAX && !text.contains(char::is_control);
    is_plain.then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
