//! The door: a second way in, for messages that come whole.
//!
//! On a unix socket, each line is `{"id":"…","text":"…"}`, and each is answered by a line:
//! `{"id","state":"taken"}` once the message is on the disk and its turn begins, `queued` if the same id
//! waits already, or `refused` with the `reason`. The same id is never taken twice.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use serde_json::{Value, json};

/// The longest line that is read, in bytes.
const LINE_MAX: u64 = 16 << 20;

/// How many may be at the door at once.
const CALLERS_MAX: usize = 16;

/// A message, and who waits for what becomes of it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    pub(crate) text: String,
    pub(crate) reply: SyncSender<Value>,
}

/// Opens the door at `path`, and passes every message on to `take`, which returns whether anybody is
/// still there to take it.
pub(crate) fn open(
    path: &Path,
    take: impl Fn(Call) -> bool + Send + Sync + 'static,
) -> io::Result<()> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "somebody else listens there"));
    }
    // What nobody listens at was left behind.
    let is_socket = fs::symlink_metadata(path)
        .is_ok_and(|it| std::os::unix::fs::FileTypeExt::is_socket(&it.file_type()));
    if is_socket {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let take = Arc::new(take);
    let places = Arc::new(());
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            let (take, place) = (Arc::clone(&take), Arc::clone(&places));
            if Arc::strong_count(&place) > CALLERS_MAX + 1 {
                continue;
            }
            thread::spawn(move || {
                // Who hangs up is not waited for.
                let _ = attend(&caller, &*take);
                drop(place);
            });
        }
    });
    Ok(())
}

fn attend(caller: &UnixStream, take: &dyn Fn(Call) -> bool) -> io::Result<()> {
    let mut lines = BufReader::new(caller.take(u64::MAX));
    let mut answers = caller;
    loop {
        let mut line = Vec::new();
        lines.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let answer = match read(&line) {
            Ok((id, text)) => {
                let (reply, answer) = sync_channel(1);
                if !take(Call { id, text, reply }) {
                    return Ok(());
                }
                answer.recv().unwrap_or_else(|_| refused("it has ended"))
            }
            Err(reason) => refused(reason),
        };
        answers.write_all(format!("{answer}\n").as_bytes())?;
        if !line.ends_with(b"\n") {
            return Ok(());
        }
    }
}

fn refused(reason: &str) -> Value {
    json!({ "id": null, "state": "refused", "reason": reason })
}

fn read(line: &[u8]) -> Result<(Option<String>, String), &'static str> {
    if !line.ends_with(b"\n") {
        return Err("the line does not end, or is longer than 16 MiB");
    }
    let line: Value = serde_json::from_slice(line).map_err(|_| "the line is not JSON")?;
    let text = line["text"].as_str().ok_or("it has no `text`")?;
    Ok((line["id"].as_str().map(str::to_owned), text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_or_is_refused() {
        for (line, expected) in [
            ("{\"id\":\"a\",\"text\":\"b\\nc\"}\n", Ok((Some("a"), "b\nc"))),
            ("{\"text\":\"b\"}\n", Ok((None, "b"))),
            ("{\"text\":\"b\"}", Err("the line does not end, or is longer than 16 MiB")),
            ("{\"id\":\"a\"}\n", Err("it has no `text`")),
            ("hello\n", Err("the line is not JSON")),
        ] {
            let expected = expected
                .map(|(id, text): (Option<&str>, &str)| (id.map(str::to_owned), text.to_owned()));
            assert_eq!(read(line.as_bytes()), expected, "{line}");
        }
    }
}
