//! Transcripts as CLIs write them, and what is found in them.

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
    let event =
        |kind: &str| json!({ "type": "event_msg", "payload": { "type": kind, "message": text } });
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
            Claude | Codex | Gemini => Used::Said,
            Demo => Used::Yes,
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
    let queued = json!({ "type": "attachment", "attachment": { "type": "queued_command", "prompt": "more" } }).to_string();
    let command = user("<command-name>/cost</command-name>");
    let summary = json!({ "type": "user", "isCompactSummary": true, "message": { "role": "user", "content": "So far" } }).to_string();
    let cut_off = user("[Request interrupted by user]");
    for (lines, expected) in [
        (vec![ours()], Used::Said),
        (vec![ours(), aside.clone(), answer(true)], Used::Said),
        (vec![ours(), aside.clone(), answer(false)], Used::Yes),
        (vec![ours(), command, answer(false)], Used::Yes),
        (vec![ours(), cut_off], Used::Yes),
        (vec![ours(), summary.clone()], Used::Said),
        (vec![ours(), summary, answer(false)], Used::Yes),
        (vec![ours(), user("another")], Used::TakenBack),
        (vec![ours(), user("another"), answer(false)], Used::TakenBack),
        (vec![ours(), user("another"), answer(false), ours()], Used::Said),
        (vec![ours(), user("another"), answer(false), ours(), answer(false)], Used::Yes),
        (vec![ours(), ours(), answer(false)], Used::Yes),
        (vec![ours(), queued, answer(false)], Used::Yes),
        (vec![answer(false), ours()], Used::Said),
        (vec![answer(false)], Used::NotYet),
    ] {
        let (_folder, path) = file(&(lines.join("\n") + "\n"));
        let looked = used(TranscriptShape::Claude, &path, 0, id()).unwrap();
        assert_eq!(looked.used, expected, "{lines:?}");
        // What was said is not lost from one look to the next.
        let again = used(TranscriptShape::Claude, &path, looked.next, id()).unwrap();
        let is_said = matches!(expected, Used::Said | Used::TakenBack);
        assert!(!is_said || again == looked, "{lines:?}: {again:?}");
    }
}

#[test]
fn codex_and_gemini_have_read_what_was_answered_whatever_was_said_between() {
    use TranscriptShape::{Codex, Gemini};
    let text = |id: &str| format!("[cmux {id} from a · task · msg_1]\nhello");
    let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
    let event = |kind: &str| json!({ "type": "event_msg", "payload": { "type": kind } });
    let said = |role: &str, id: &str| {
        item(
            json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text(id) }] }),
        )
    };
    let (ours, other) = (said("user", OURS), said("user", OTHER));
    let of = |kind: &str, id: &str| json!({ "type": kind, "content": [{ "text": text(id) }] });
    let set = |all: &[&Value]| json!({ "$set": { "messages": all } });
    let (user, model, before) = (of("user", OURS), of("gemini", OTHER), of("user", OTHER));
    let context =
        json!({ "type": "user", "content": [{ "text": "<session_context>\nIt is Monday." }] });
    for (shape, lines, expected) in [
        (Codex, vec![ours.clone(), event("task_started")], Used::Said),
        (Codex, vec![said("assistant", OTHER), ours.clone()], Used::Said),
        (Codex, vec![ours.clone(), said("developer", OTHER)], Used::Said),
        (Codex, vec![ours.clone(), other.clone()], Used::Said),
        (Codex, vec![ours.clone(), other.clone(), said("assistant", OURS)], Used::Yes),
        (Codex, vec![ours.clone(), item(json!({ "type": "reasoning" }))], Used::Yes),
        (Codex, vec![ours.clone(), item(json!({ "type": "function_call" }))], Used::Yes),
        (Codex, vec![ours.clone(), item(json!({ "type": "function_call_output" }))], Used::Said),
        (Codex, vec![ours.clone(), event("task_complete")], Used::Yes),
        (Codex, vec![ours.clone(), event("turn_aborted")], Used::Yes),
        (Codex, vec![event("task_complete")], Used::NotYet),
        (Gemini, vec![user.clone(), json!({ "$set": { "lastUpdated": "now" } })], Used::Said),
        (Gemini, vec![user.clone(), of("user", OTHER), model.clone()], Used::Yes),
        (Gemini, vec![user.clone(), of("info", OTHER), of("error", OTHER)], Used::Said),
        // It was taken back, or refused.
        (Gemini, vec![user.clone(), set(&[&before, &model])], Used::NotYet),
        (Gemini, vec![user.clone(), set(&[&before, &model]), model.clone()], Used::NotYet),
        (Gemini, vec![user.clone(), set(&[&before]), user.clone(), model.clone()], Used::Yes),
        // It begins again.
        (Gemini, vec![user.clone(), set(&[&context])], Used::Said),
        (
            Gemini,
            vec![user.clone(), set(&[&context]), set(&[&before, &user]), model.clone()],
            Used::Yes,
        ),
        (Gemini, vec![set(&[&model, &user])], Used::Said),
        (Gemini, vec![set(&[&user, &model])], Used::Yes),
    ] {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let (_folder, path) = file(&(lines.join("\n") + "\n"));
        let looked = used(shape, &path, 0, id()).unwrap();
        assert_eq!(looked.used, expected, "{lines:#?}");
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
