//! The session file: `sessions/<pid>.json`, in which Claude Code and its kin say how they are.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use cmux_core::agent::Doing;
use cmux_core::time::Timestamp;
use rustix::fs::OFlags;
use serde_json::Value;

use super::{Reading, State, session_name};
use crate::process::Process;

/// The longest file that is read, in bytes.
const FILE_MAX: u64 = 64 << 10;

/// The longest text of what it waits for, in characters.
const WHAT_MAX: usize = 64;

/// Returns what the file at `path` says of `process`. One that was killed leaves its file behind, and
/// another may have its number by now: the file must tell when its process began, and that process live.
pub fn session_file(path: &Path, process: Process) -> Reading {
    let text = match read(path) {
        Ok(Some(text)) => text,
        Ok(None) => return Reading::Absent,
        Err(_) => return Reading::Unknown,
    };
    let Ok(said) = serde_json::from_slice::<Value>(&text) else { return Reading::Unknown };
    let (pid, start) = (number(&said["pid"]), number(&said["procStart"]));
    let (Some(pid), Some(start)) = (pid, start) else { return Reading::Unknown };
    let is_its = pid == u64::from(process.pid) && start == process.start && process.is_alive();
    if !is_its {
        return Reading::Absent;
    }
    state(&said).map_or(Reading::Unknown, Reading::Said)
}

/// Returns what a file says, if it says what is known.
fn state(said: &Value) -> Option<State> {
    let doing = match said["status"].as_str()? {
        "idle" => Doing::AtPrompt,
        "busy" => Doing::Working,
        "waiting" => Doing::Asking { what: what(said["waitingFor"].as_str()) },
        _ => return None,
    };
    let since = said["statusUpdatedAt"].as_i64().filter(|&at| at > 0).map(Timestamp);
    Some(State { doing, session: said["sessionId"].as_str().and_then(session_name), since })
}

/// Returns what it waits for, in the words of manifests.
fn what(told: Option<&str>) -> String {
    match told {
        Some("permission prompt") => "permission".to_owned(),
        Some("input needed") => "question".to_owned(),
        Some("dialog open") | None => "dialog".to_owned(),
        Some(other) => other.chars().filter(|it| !it.is_control()).take(WHAT_MAX).collect(),
    }
}

/// Returns a number, which some write as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns what the file holds, or nothing if there is none.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Opening a pipe would wait for whoever writes to it.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let found = file.metadata()?;
    if !found.is_file() || found.len() > FILE_MAX {
        return Err(io::Error::other("it is no file of a session"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_MAX).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_it_says_is_told_in_the_words_of_manifests() {
        let asking = |what: &str| Doing::Asking { what: what.to_owned() };
        check(&json!({ "status": "idle" }), Some(&Doing::AtPrompt));
        check(&json!({ "status": "busy" }), Some(&Doing::Working));
        for (told, what) in [
            (json!("permission prompt"), "permission"),
            (json!("input needed"), "question"),
            (json!("dialog open"), "dialog"),
            (json!(null), "dialog"),
            (json!("a\u{1b}new\nthing"), "anewthing"),
        ] {
            check(&json!({ "status": "waiting", "waitingFor": told }), Some(&asking(what)));
        }
        for status in [json!("asleep"), json!(1), json!(null), json!({ "status": "idle" })] {
            check(&json!({ "status": status }), None);
        }
    }

    #[test]
    fn what_claude_code_writes_is_read() {
        let text = r#"{"pid":1771,"sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/repo",
            "startedAt":1794798752471,"procStart":"2443297","version":"2.1.325","peerProtocol":1,
            "peerFeatures":["notify_idle"],"kind":"interactive","entrypoint":"cli","name":"api",
            "nameSource":"user","updatedAt":1794798755940,"status":"idle",
            "statusUpdatedAt":1794798755940}"#;
        let said: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            (number(&said["pid"]), number(&said["procStart"])),
            (Some(1771), Some(2_443_297))
        );
        let state = state(&said).unwrap();
        assert_eq!(state.doing, Doing::AtPrompt);
        assert_eq!(state.session.as_deref(), Some("11111111-2222-4333-8444-555555555555"));
        assert_eq!(state.since, Some(Timestamp(1_794_798_755_940)));
    }

    #[test]
    fn its_session_is_told_if_it_can_be_a_name() {
        for (session, expected) in [
            (json!("1111-aa_b"), Some("1111-aa_b")),
            (json!("../x"), None),
            (json!("a*"), None),
            (json!(""), None),
            (json!("x".repeat(129)), None),
            (json!(7), None),
        ] {
            let said = json!({ "status": "idle", "sessionId": session, "statusUpdatedAt": 5 });
            let state = state(&said).unwrap();
            assert_eq!((state.session.as_deref(), state.since), (expected, Some(Timestamp(5))));
        }
    }

    #[test]
    fn a_file_that_a_killed_process_left_says_nothing_of_another() {
        let myself = Process::myself();
        let Process { pid, start } = myself;
        let text = |pid: u32, start: &Value| {
            json!({ "pid": pid, "procStart": start, "status": "idle" }).to_string()
        };
        let said = Reading::Said(State { doing: Doing::AtPrompt, session: None, since: None });
        for (text, process, expected) in [
            (text(pid, &json!(start.to_string())), myself, said.clone()),
            (text(pid, &json!(start)), myself, said),
            (text(pid, &json!((start + 1).to_string())), myself, Reading::Absent),
            (text(pid + 1, &json!(start)), myself, Reading::Absent),
            // It says the right thing, and nobody is there any more.
            (text(pid, &json!(start + 1)), Process { pid, start: start + 1 }, Reading::Absent),
            (text(pid, &json!(null)), myself, Reading::Unknown),
            ("{".to_owned(), myself, Reading::Unknown),
            ("[".repeat(100_000), myself, Reading::Unknown),
            (String::new(), myself, Reading::Unknown),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("1.json");
            fs::write(&path, &text).unwrap();
            assert_eq!(session_file(&path, process), expected, "{}", &text[..text.len().min(80)]);
        }
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), 0o600.into()).unwrap();
        fs::create_dir(path("folder")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path("link")).unwrap();
        for (name, expected) in [
            ("gone", Reading::Absent),
            ("pipe", Reading::Unknown),
            ("folder", Reading::Unknown),
            ("link", Reading::Unknown),
        ] {
            assert_eq!(session_file(&path(name), Process::myself()), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_written_there_does_harm(text in ".{0,200}") {
            let said: Value = serde_json::from_str(&text).unwrap_or(json!({ "status": text }));
            prop_assert!(state(&said).is_none_or(|state| state.session.is_none()));
        }
    }

    #[track_caller]
    fn check(said: &Value, expected: Option<&Doing>) {
        assert_eq!(state(said).map(|state| state.doing).as_ref(), expected, "{said}");
    }
}
