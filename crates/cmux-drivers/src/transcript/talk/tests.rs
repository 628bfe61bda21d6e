//! What is read of conversations: all that was said, once and in order, however it is cut or broken.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::back::{LINE_MAX, LOOK_MAX};
use super::*;

/// A conversation of Claude Code 2.1.325, as it was written.
const CLAUDE: &str = include_str!("../../../tests/usage/claude.jsonl");

#[test]
fn what_claude_code_wrote_is_what_was_said() {
    let said = all(TranscriptShape::Claude, CLAUDE);
    let words: Vec<String> = said.iter().map(|entry| brief(&entry.what)).collect();
    assert_eq!(
        words,
        [
            "prompt hello",
            "answer ok 1",
            "prompt DOTASK now",
            "answer ok 2",
            "call toolu_2 Agent",
            "result toolu_2 true",
            "answer ok 4",
            "note",
            "answer ok 5",
        ]
    );
    assert_eq!(said[0].at, Some(Timestamp(1_794_853_434_612)));
    assert!(said.iter().all(|entry| !entry.subagent));
    let ids: BTreeSet<&str> = said.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids.len(), said.len());
}

#[test]
fn each_part_of_claude_code_s_records_is_told_as_what_it_is() {
    let user = |content: Value| json!({ "type": "user", "message": { "role": "user", "content": content } });
    let agent = |part: Value| json!({ "type": "assistant", "message": { "role": "assistant", "content": [part] } });
    let with = |mut record: Value, name: &str, value: Value| {
        record[name] = value;
        record
    };
    let result = |content: Value| json!([{ "type": "tool_result", "tool_use_id": "t", "content": content, "is_error": true }]);
    for (record, expected) in [
        (user(json!("hello")), "prompt hello"),
        (user(json!([{ "type": "text", "text": "a" }, { "type": "image" }])), "prompt a, note"),
        (user(json!("<div> is no tag of its own")), "prompt <div> is no tag of its own"),
        (user(json!("<command-name>/cost</command-name>")), "note"),
        (user(json!("[Request interrupted by user]")), "note"),
        (user(json!(" ")), ""),
        (user(result(json!("bad"))), "result t false"),
        (user(result(json!([{ "type": "text", "text": "bad" }]))), "result t false"),
        (with(user(json!("x")), "isMeta", json!(true)), ""),
        (with(user(json!("summary")), "isCompactSummary", json!(true)), "note"),
        (agent(json!({ "type": "text", "text": "hi" })), "answer hi"),
        (agent(json!({ "type": "thinking", "thinking": "hm", "signature": "x" })), "thinking hm"),
        (agent(json!({ "type": "thinking", "thinking": "" })), ""),
        (
            agent(json!({ "type": "tool_use", "id": "t", "name": "Bash", "input": {} })),
            "call t Bash",
        ),
        (
            with(agent(json!({ "type": "text", "text": "no" })), "isApiErrorMessage", json!(true)),
            "note",
        ),
        (json!({ "type": "system", "subtype": "compact_boundary" }), "note"),
        (
            json!({ "type": "attachment", "attachment": { "type": "queued_command", "prompt": "q" } }),
            "prompt q",
        ),
        (json!({ "type": "summary", "summary": "x" }), ""),
    ] {
        check(TranscriptShape::Claude, &record, expected);
    }
    let aside = with(user(json!("do it")), "isSidechain", json!(true));
    assert!(all(TranscriptShape::Demo, &format!("{aside}\n"))[0].subagent);
}

#[test]
fn each_record_of_codex_is_told_as_what_it_is() {
    let item = |payload: Value| json!({ "timestamp": "2026-11-16T18:23:54.709Z", "type": "response_item", "payload": payload });
    let event = |payload: Value| json!({ "type": "event_msg", "payload": payload });
    let message = |role: &str| {
        item(
            json!({ "type": "message", "role": role, "content": [{ "type": "output_text", "text": "hi" }] }),
        )
    };
    let output = |output: Value| {
        item(json!({ "type": "function_call_output", "call_id": "c", "output": output }))
    };
    for (record, expected) in [
        (event(json!({ "type": "user_message", "message": "hello" })), "prompt hello"),
        (event(json!({ "type": "agent_message", "message": "hi" })), ""),
        (event(json!({ "type": "turn_aborted", "reason": "interrupted" })), "note"),
        (event(json!({ "type": "token_count", "info": null })), ""),
        (message("assistant"), "answer hi"),
        (message("user"), ""),
        (message("developer"), ""),
        (
            item(
                json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "hm" }], "content": null }),
            ),
            "thinking hm",
        ),
        (item(json!({ "type": "reasoning", "summary": [], "encrypted_content": "x" })), ""),
        (
            item(
                json!({ "type": "function_call", "name": "shell", "call_id": "c", "arguments": "{\"command\":[\"ls\"]}" }),
            ),
            "call c shell",
        ),
        (
            item(
                json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": "*** Begin" }),
            ),
            "call c apply_patch",
        ),
        (
            item(
                json!({ "type": "local_shell_call", "call_id": "c", "action": { "command": ["ls"] } }),
            ),
            "call c shell",
        ),
        (output(json!("done")), "result c"),
        (output(json!("Exit code: 1\nWall time: 0 s\nOutput:\nno")), "result c false"),
        (output(json!("{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}")), "result c true"),
        (output(json!({ "content": "x", "success": false })), "result c false"),
        (output(json!([{ "type": "input_text", "text": "x" }])), "result c"),
        (json!({ "type": "compacted", "payload": { "message": "x" } }), "note"),
        (json!({ "type": "session_meta", "payload": { "id": "x" } }), ""),
    ] {
        check(TranscriptShape::Codex, &record, expected);
    }
    let call = item(
        json!({ "type": "function_call", "name": "shell", "call_id": "c", "arguments": "{\"command\":[\"ls\"]}" }),
    );
    let said = all(TranscriptShape::Codex, &format!("{call}\n"));
    assert_eq!(said[0].at, Some(Timestamp(1_794_853_434_709)));
    assert!(
        matches!(&said[0].what, What::Call { input, .. } if *input == json!({ "command": ["ls"] }))
    );
}

#[test]
fn gemini_tells_again_of_what_it_has_told_and_it_is_shown_once() {
    let user = json!({ "id": "u", "type": "user", "content": [{ "text": "hello" }] });
    let answer = |text: &str, calls: Value| {
        json!({ "id": "a", "type": "gemini", "timestamp": "2026-11-16T18:23:54.709Z", "content": text,
                "thoughts": [{ "subject": "Plan", "description": "hm" }], "toolCalls": calls })
    };
    let call = json!([{ "id": "c", "name": "read_file", "args": { "path": "x" }, "status": "success",
        "result": [{ "functionResponse": { "response": { "output": "text" } } }] }]);
    let (half, whole) = (answer("", json!([])), answer("done", call));
    let info = json!({ "id": "i", "type": "info", "content": "note" });
    let expected = [
        "prompt hello",
        "thinking Plan\nhm",
        "answer done",
        "call c read_file",
        "result c true",
        "note",
    ];
    for lines in [
        vec![user.clone(), half.clone(), whole.clone(), info.clone()],
        vec![user.clone(), half.clone(), json!({ "$set": { "messages": [user, whole, info] } })],
        vec![
            json!({ "id": "gone", "type": "user", "content": "taken back" }),
            json!({ "$set": { "messages": [user, half] } }),
            json!({ "$set": { "lastUpdated": "x" } }),
            whole.clone(),
            info.clone(),
        ],
    ] {
        let text: String = lines.iter().map(|it| format!("{it}\n")).collect();
        let said = all(TranscriptShape::Gemini, &text);
        let words: Vec<String> = said.iter().map(|entry| brief(&entry.what)).collect();
        assert_eq!(words, expected, "{text}");
        assert_eq!((said[1].id.as_str(), said[2].id.as_str()), ("a.0", "a.1"));
    }
}

#[test]
fn pages_follow_on_one_another_however_short_they_are() {
    let part = |n: usize| json!({ "type": "text", "text": format!("{n}") });
    let mut text = String::new();
    for n in (0..60).step_by(3) {
        let content = [part(n), part(n + 1), part(n + 2)];
        text += &format!("{}\n", json!({ "type": "assistant", "message": { "content": content } }));
        text += "garbage\n\n[1]\n\u{0}\n";
    }
    let expected: Vec<String> = (0..60).map(|n| format!("answer {n}")).collect();
    let (_folder, path) = file(text.as_bytes());
    for limit in [1, 2, 3, 7, 59, 60, 61, 200] {
        let (mut words, mut before) = (Vec::new(), None);
        loop {
            let (entries, next) = page(TranscriptShape::Claude, &path, before, limit);
            assert!(entries.len() <= limit);
            words.splice(0..0, entries.iter().map(|entry| brief(&entry.what)));
            before = next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(words, expected, "{limit}");
    }
}

#[test]
fn what_is_half_written_is_shown_when_it_is_whole() {
    let line =
        |text: &str| format!("{}\n", json!({ "type": "user", "message": { "content": text } }));
    let (_folder, path) = file(line("one").as_bytes());
    let words = || {
        let (entries, next) = page(TranscriptShape::Claude, &path, None, 10);
        assert_eq!(next, None);
        entries.iter().map(|entry| brief(&entry.what)).collect::<Vec<_>>()
    };
    assert_eq!(words(), ["prompt one"]);
    let (two, mut writer) = (line("two"), File::options().append(true).open(&path).unwrap());
    for at in [1, 10, two.len() - 1] {
        writer.set_len(line("one").len() as u64).unwrap();
        writer.write_all(&two.as_bytes()[..at]).unwrap();
        assert_eq!(words(), ["prompt one"], "{at}");
    }
    writer.write_all(b"\n").unwrap();
    assert_eq!(words(), ["prompt one", "prompt two"]);
    fs::write(&path, "").unwrap();
    assert_eq!(words(), [""; 0]);
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_no_look_takes_longer_than_its_share() {
    let line =
        |text: &str| format!("{}\n", json!({ "type": "user", "message": { "content": text } }));
    for long in [LINE_MAX - 100, LINE_MAX + 1, 2 * LINE_MAX + 3, 3 * LOOK_MAX as usize] {
        let huge = line(&"x".repeat(long));
        let (_folder, path) = file([line("one"), huge.clone(), line("two")].concat().as_bytes());
        let (mut words, mut before, mut looks) = (Vec::new(), None, 0);
        loop {
            let (entries, next) = page(TranscriptShape::Claude, &path, before, 10);
            words.splice(0..0, entries.iter().map(|entry| brief(&entry.what)));
            (before, looks) = (next, looks + 1);
            if before.is_none() {
                break;
            }
        }
        words.retain(|it| it.len() < 100);
        assert_eq!(words, ["prompt one", "prompt two"], "{long}");
        assert!(looks <= 2 + long as u64 / LOOK_MAX, "{looks} looks for {long}");
    }
}

#[test]
fn no_link_and_no_pipe_is_read_and_a_place_in_another_file_is_none() {
    let (folder, path) = file(CLAUDE.as_bytes());
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(read_back(TranscriptShape::Claude, &link, None, 10).is_err());
    assert!(read_back(TranscriptShape::Claude, folder.path(), None, 10).is_err());
    let absent = folder.path().join("absent");
    assert_eq!(read_back(TranscriptShape::Claude, &absent, None, 10).unwrap(), Talked::Nothing);
    let (_, next) = page(TranscriptShape::Claude, &path, None, 2);
    let place = next.unwrap();
    let elsewhere = [
        Place { file: place.file + 1, ..place },
        Place { end: CLAUDE.len() as u64 + 1, ..place },
        Place { end: u64::MAX, ..place },
    ];
    for place in elsewhere {
        let found = read_back(TranscriptShape::Claude, &path, Some(place), 10).unwrap();
        assert_eq!(found, Talked::Elsewhere, "{place:?}");
    }
    // Wherever somebody says that it is, nothing is told that is not there.
    let known: BTreeSet<String> =
        all(TranscriptShape::Claude, CLAUDE).into_iter().map(|it| it.id).collect();
    for end in (0..CLAUDE.len() as u64).step_by(97) {
        let (entries, _) =
            page(TranscriptShape::Claude, &path, Some(Place { end, skip: 1, ..place }), 50);
        assert!(entries.iter().all(|entry| known.contains(&entry.id)));
    }
}

#[test]
fn long_texts_are_cut_and_secrets_are_taken_out() {
    let long = "ä".repeat(TEXT_MAX);
    let secret = "ghp_aaaabbbbccccddddeeeeffff";
    let call = |input: &Value| json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": "t", "name": "Bash", "input": input }] } });
    let said = |record: &Value| all(TranscriptShape::Claude, &format!("{record}\n")).remove(0).what;
    let prompt = said(&json!({ "type": "user", "message": { "content": long } }));
    assert!(
        matches!(&prompt, What::Prompt { text, .. } if text.is_cut && text.text.len() == TEXT_MAX)
    );
    let told = said(&call(
        &json!({ "command": format!("curl -u {secret}"), "password": "hunter2", "n": 7 }),
    ));
    let clean = json!({ "command": "curl -u [redacted]", "password": "[redacted]", "n": 7 });
    assert!(
        matches!(&told, What::Call { input, is_cut: false, .. } if *input == clean),
        "{told:?}"
    );
    let What::Call { input, is_cut: true, .. } =
        said(&call(&json!({ "path": "a", "content": long })))
    else {
        panic!("it is cut");
    };
    assert_eq!(input["path"], "a");
    assert!(input["content"].as_str().unwrap().ends_with('…'));
    let many: Vec<&str> = vec!["0123456789"; TEXT_MAX];
    let What::Call { input, is_cut: true, .. } = said(&call(&json!(many))) else {
        panic!("it is cut")
    };
    assert!(input.as_str().unwrap().len() <= TEXT_MAX);
    for before in [0, TEXT_MAX - 10, TEXT_MAX + 10, 4 * TEXT_MAX - 10] {
        let text = format!("{} {secret} {long}", "x".repeat(before));
        let part = json!([{ "type": "tool_result", "tool_use_id": "t", "content": text }]);
        let What::Result { text, .. } =
            said(&json!({ "type": "user", "message": { "content": part } }))
        else {
            panic!("it is a result");
        };
        assert!(
            text.is_cut && text.text.len() <= TEXT_MAX && !text.text.contains("ghp_"),
            "{before}"
        );
    }
}

#[test]
fn the_messages_of_a_prompt_are_those_that_its_own_headers_name() {
    let (delivery, other) = ("dlv_00000000000000000000000007", "dlv_00000000000000000000000008");
    let message = |n: u32| format!("msg_0000000000000000000000000{n}");
    let text = format!(
        "[cmux {delivery} from a · task · {}]\nhello\n[cmux and {other} from b · task · {}]\n\n\
         [cmux and {delivery} from b · x · question · {}]\nmore {}",
        message(1),
        message(2),
        message(3),
        message(4)
    );
    let record = json!({ "type": "user", "message": { "content": text } });
    let said = all(TranscriptShape::Claude, &format!("{record}\n")).remove(0).what;
    let What::Prompt { messages, .. } = said else { panic!("it is a prompt") };
    let named: Vec<String> = messages.iter().map(ToString::to_string).collect();
    assert_eq!(named, [message(1), message(3)]);
}

/// Checks what one record says, in brief.
#[track_caller]
fn check(shape: TranscriptShape, record: &Value, expected: &str) {
    let said = all(shape, &format!("{record}\n"));
    let words: Vec<String> = said.iter().map(|entry| brief(&entry.what)).collect();
    assert_eq!(words.join(", "), expected, "{record}");
}

fn brief(what: &What) -> String {
    match what {
        What::Prompt { text, .. } => format!("prompt {}", text.text),
        What::Answer(text) => format!("answer {}", text.text),
        What::Thinking(text) => format!("thinking {}", text.text),
        What::Call { call, tool, .. } => format!("call {call} {tool}"),
        What::Result { call, ok: Some(ok), .. } => format!("result {call} {ok}"),
        What::Result { call, ok: None, .. } => format!("result {call}"),
        What::Note(_) => "note".to_owned(),
    }
}

fn all(shape: TranscriptShape, text: &str) -> Vec<Entry> {
    let (_folder, path) = file(text.as_bytes());
    let (entries, next) = page(shape, &path, None, 1000);
    assert_eq!(next, None);
    entries
}

#[track_caller]
fn page(
    shape: TranscriptShape,
    path: &Path,
    before: Option<Place>,
    limit: usize,
) -> (Vec<Entry>, Option<Place>) {
    match read_back(shape, path, before, limit).unwrap() {
        Talked::Page { entries, next } => (entries, next),
        Talked::Nothing | Talked::Elsewhere => panic!("there is a page"),
    }
}

fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}
