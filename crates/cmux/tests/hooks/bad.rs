//! What makes no sense, and who may not: neither makes an agent fail.

use std::fs;

use serde_json::{Value, json};

use crate::yard::{OTHER_TOKEN, TOKEN, Yard, id};

#[test]
fn what_makes_no_sense_is_stored_as_it_is_and_means_nothing() {
    let yard = Yard::new();
    let deep = "[".repeat(100_000);
    let long = json!({ "tool_name": "T", "tool_response": "x".repeat(5 << 20) }).to_string();
    let inputs: [&[u8]; 6] =
        [b"", b"not JSON", b"\xff\xfe{", b"[1]", deep.as_bytes(), long.as_bytes()];
    for (n, input) in inputs.iter().enumerate() {
        let ran = yard.call(&["hook", "demo", "PreToolUse"], input, TOKEN);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
        let told = yard.heard(n + 1);
        assert_eq!(told[n]["means"], "other", "{}", told[n]);
    }
    let size = fs::metadata(yard.home.root().join("cmux.db-wal")).unwrap().len();
    assert!(size < 4 << 20, "it kept {size} bytes");
    yard.is("starting");
}

#[test]
fn what_is_long_and_makes_sense_is_understood_and_cut() {
    let yard = Yard::new();
    let long = json!({ "tool_response": "x".repeat(1 << 20), "tool_name": "T", "session_id": "s" });
    yard.tell("PostToolUse", &long);
    let told = yard.heard(1);
    assert_eq!((&told[0]["means"], &told[0]["tool"]), (&json!("tool_ended"), &json!("T")));
}

#[test]
fn words_that_name_no_hook_are_told_and_harm_nobody() {
    let yard = Yard::new();
    for words in [
        &["hook"][..],
        &["hook", "demo"],
        &["hook", "demo", "Stop", "more"],
        &["hook", "vim", "Stop"],
        &["hook", "hermes", "Stop"],
        &["hook", "demo", "../../x"],
        &["hook", "demo", ""],
    ] {
        let ran = yard.call(words, b"{}", TOKEN);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{words:?} {ran:?}");
        assert!(ran.stderr.contains("usage: cmux hook KIND EVENT"), "{words:?} {ran:?}");
    }
    assert_eq!((yard.told(), yard.spooled()), (Vec::<Value>::new(), Vec::new()));
    let help = yard.home.run(&["hook", "--help"]);
    assert!(help.stdout.contains("cmux hook claude Stop"), "{help:?}");
}

#[test]
fn a_person_s_own_cli_passes_in_silence() {
    let yard = Yard::new();
    let mut command = yard.home.command(&["hook", "claude", "Stop"]);
    let ran = command.env("CMUX_SOCKET", yard.socket()).output().unwrap();
    assert_eq!((ran.status.code(), ran.stdout, ran.stderr), (Some(0), Vec::new(), Vec::new()));
    assert_eq!((yard.told(), yard.spooled()), (Vec::<Value>::new(), Vec::new()));
}

#[test]
fn a_token_of_another_run_is_refused_and_nothing_is_kept() {
    let yard = Yard::new();
    let body = json!({
        "hook": id(1), "kind": "demo", "event": "Stop", "at": "2026-01-01T00:00:00Z",
        "since_boot_ms": 0, "payload": "{}",
    });
    let socket = yard.socket();
    for (token, status) in [(OTHER_TOKEN, "401"), ("cmuxrun_made-up", "401"), (TOKEN, "201")] {
        let shown = format!("Authorization: Bearer {token}");
        let (socket, body) = (socket.to_str().unwrap(), body.to_string());
        let ran = yard.launch(
            &[
                "curl",
                "-q",
                "-s",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                "--unix-socket",
                socket,
                "-H",
                &shown,
                "-H",
                "Content-Type: application/json",
                "-d",
                &body,
                "http://localhost/api/hooks",
            ],
            b"",
            TOKEN,
        );
        assert_eq!(ran.stdout, status, "{token}");
        assert_eq!(yard.told().len(), usize::from(status == "201"), "{token}");
    }
    // The person is no agent either, and an agent's token is good below its launcher only.
    let new = serde_json::from_value(body).unwrap();
    let client = yard.home.client();
    let refused = yard.home.ask(|_| async move { client.take_hook(&new).await }).unwrap_err();
    assert!(refused.to_string().contains("hooks are called by agents"), "{refused}");
}
