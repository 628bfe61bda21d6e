//! What is sent, and what came of it.

use std::io::Write;
use std::process::Stdio;

use cmux_testkit::home::Ran;
use serde_json::{Value, json};

use super::shop;
use crate::agents::Shop;
use crate::refused;

#[test]
fn what_is_sent_is_told_in_a_line_with_what_it_waits_for() {
    let shop = shop();
    let ran = shop.here(&["send", "worker", "count", "to", "ten"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let (id, rest) = ran.stdout.trim_end().split_once(' ').unwrap();
    assert!(id.starts_with("msg_"), "{ran:?}");
    let waits = "queued (its reader is stopped: `cmux agent restart` starts it)";
    assert_eq!(rest, format!("to worker: {waits}"));
    let shown = shop.here(&["message", "show", id]);
    for told in ["from    user", "waits   its reader is stopped", "  queued", "count to ten"] {
        assert!(shown.stdout.contains(told), "{told}: {shown:?}");
    }
    assert_eq!(shop.told(&["message", "show", id])["body"], "count to ten");
    let listed = shop.here(&["agent", "list"]);
    assert!(listed.stdout.contains("1 message waiting"), "{listed:?}");
    let status = shop.here(&["status"]);
    assert!(status.stdout.contains("1 waiting, oldest "), "{status:?}");
    assert!(status.stdout.contains("  none unread"), "{status:?}");

    let taken = shop.here(&["message", "cancel", id]);
    assert_eq!(taken.stdout, format!("{id} to worker: cancelled\n"));
    let again = shop.here(&["message", "retry", id]);
    assert_eq!(again.stdout, format!("{id} to worker: {waits}\n"));
}

#[test]
fn a_text_is_sent_as_it_is_said() {
    let shop = shop();
    for (words, expected) in [
        (&["--", "-x", "--help"][..], "-x --help"),
        (&["--kind", "task", "do", "$(this)"], "do $(this)"),
        (&["a\nb", "ü"], "a\nb ü"),
        (&["--", "- a list", "of one"], "- a list of one"),
    ] {
        let sent = shop.told(&[&["send", "worker"], words].concat());
        assert_eq!(sent["body"], expected, "{words:?}");
    }
    let sent = piped(&shop, &["--json", "send", "worker", "-"], b"from\na pipe\n");
    let sent: Value = serde_json::from_str(&sent.stdout).unwrap();
    assert_eq!(sent["body"], "from\na pipe\n");
    let sent = shop.told(&["send", "worker", "x", "--ttl", "10m", "--kind", "question"]);
    assert!(sent["expires_at"].is_string() && sent["kind"] == "question", "{sent}");
    let key = ["send", "worker", "x", "--key", "k"];
    assert_eq!(shop.told(&key)["id"], shop.told(&key)["id"]);
    let project = shop.told(&["project", "list"])["projects"][0].clone();
    let far = format!("worker@{}", project["name"].as_str().unwrap());
    assert_eq!(shop.told(&["send", &far, "x"])["to"], "worker");
    // A name that only one has is known from everywhere.
    let mut elsewhere = shop.at(&["--json", "send", "worker", "x"]);
    let ran = Ran::from(elsewhere.current_dir("/").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn what_cannot_be_sent_is_refused_with_the_reason_and_its_exit_code() {
    let shop = shop();
    for (words, code, told) in [
        (&["send", "wroker", "x"][..], 4, "did you mean `worker`?"),
        (&["send", "worker@nowhere", "x"], 4, "there is no project `nowhere`"),
        (&["send", "worker", " "], 1, "there is nothing in the message"),
        (&["send", "worker", "x", "--key", "a b"], 1, "a key has"),
        (&["send", "worker", "x", "--kind", "system"], 5, "what cmux itself says"),
        (&["send", "worker", "x", "--project", "nowhere"], 4, "there is no project"),
        (&["reply", "msg_00000000000000000000000001", "x"], 4, "there is no message"),
        (&["message", "show", "msg_00000000000000000000000001"], 4, "there is no message"),
        (&["message", "cancel", "worker"], 1, "worker"),
        (&["report", "done", "x"], 5, "this is no agent"),
        (&["inbox", "wroker"], 4, "did you mean `worker`?"),
    ] {
        refused(&shop.here(words), code, &[told]);
    }
    refused(&piped(&shop, &["send", "worker", "-"], b""), 1, &["nothing in the message"]);
    refused(&piped(&shop, &["send", "worker", "-"], b"\xff"), 1, &["not UTF-8"]);
    let long = vec![b'x'; (10 << 20) + 1];
    refused(&piped(&shop, &["send", "worker", "-"], &long), 1, &["longer than the 10 MiB"]);
    assert_eq!(shop.told(&["inbox", "worker"]), json!({ "messages": [], "next": null }));
}

#[test]
fn whoever_waits_is_told_what_for_or_why_in_vain() {
    let shop = shop();
    let ran = shop.here(&["send", "worker", "x", "--wait=1"]);
    refused(&ran, 6, &["is not delivered after 1 s, but queued: its reader is stopped", "msg_"]);
    let ran = shop.here(&["send", "worker", "x", "--ttl", "1s", "--wait=60"]);
    refused(&ran, 1, &["to worker: expired", "was not read", "cmux message retry msg_"]);
    let ran = shop.here(&["send", "user", "x", "--wait"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with(" to user: delivered\n"), "{ran:?}");
    refused(&crate::home().run(&["send", "worker", "x"]), 3, &["no daemon is running"]);
}

/// Runs the program in the project's folder with this on its standard input.
fn piped(shop: &Shop, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = shop.at(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever has read enough does not read the rest.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap().into()
}
