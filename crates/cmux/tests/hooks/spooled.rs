//! What a hook tells while no daemon listens, or while one is killed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use cmux_drivers::clock;
use cmux_testkit::daemon::Daemon;
use cmux_testkit::wait::eventually;
use cmux_wire::time::Time;
use serde_json::{Value, json};

use crate::yard::{Yard, id};

#[test]
fn what_is_told_while_no_daemon_runs_is_heard_once_by_the_next() {
    let mut yard = Yard::new();
    yard.daemon.take().unwrap().kill();
    yard.tell("UserPromptSubmit", &json!({ "session_id": "s", "prompt": "x" }));
    yard.tell("Stop", &json!({ "session_id": "s" }));
    let spooled = yard.spooled();
    assert_eq!(spooled.len(), 2);
    let file = yard.home.root().join(format!("spool/{}.json", spooled[0]));
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    for _ in 0..2 {
        yard.daemon = Some(yard.home.daemon());
        let told = yard.heard(2);
        let names: Vec<&Value> = told.iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["UserPromptSubmit", "Stop"]);
        assert_eq!(told[0]["turn"], told[1]["turn"]);
        yard.is("idle");
        yard.daemon.take().unwrap().kill();
    }
}

#[test]
fn what_is_both_stored_and_spooled_is_heard_once() {
    let mut yard = Yard::new();
    yard.tell("UserPromptSubmit", &json!({ "session_id": "s" }));
    let told = yard.heard(1);
    let id = told[0]["hook"].as_str().unwrap();
    // Whoever stored it died before it was removed, or whoever told it did not hear the answer.
    for _ in 0..2 {
        yard.reborn(|yard| yard.spool(id, "UserPromptSubmit", 0, &json!({ "session_id": "s" })));
        assert_eq!(yard.heard(1), told);
    }
}

#[test]
fn a_daemon_that_is_killed_while_it_empties_the_spool_hears_nothing_twice_and_loses_nothing() {
    const COUNT: usize = 600;
    let mut yard = Yard::new();
    yard.daemon.take().unwrap().kill();
    for n in 0..COUNT {
        let payload = json!({ "session_id": "s", "tool_name": "T", "tool_use_id": n.to_string() });
        yard.spool(&id(n + 1), "PreToolUse", 0, &payload);
    }
    for left in [COUNT, COUNT - 1, COUNT / 2] {
        let daemon = Daemon::launch(&yard.home, yard.home.command(&["daemon", "run"]));
        eventually("it has begun", || {
            let is_there = yard.spooled().len() <= left || yard.socket().exists();
            is_there.then_some(())
        });
        daemon.kill();
    }
    yard.daemon = Some(yard.home.daemon());
    let told = yard.heard(COUNT);
    let calls: BTreeSet<String> = told.iter().map(|it| it["call"].to_string()).collect();
    assert_eq!(calls.len(), COUNT);
}

#[test]
fn what_is_damaged_or_from_nobody_is_set_aside() {
    let mut yard = Yard::new();
    let folder = yard.home.root().join("spool");
    let nobody = "0".repeat(64);
    let body = json!({
        "hook": id(4), "kind": "demo", "event": "Stop", "at": Time::from_millis(clock::wall().0),
        "since_boot_ms": 0, "payload": "{}",
    });
    yard.reborn(|yard| {
        yard.spool(&id(1), "Stop", 0, &json!({}));
        for (n, text) in [
            (2, "not an entry".to_owned()),
            (3, format!("cmux-hook 1 {nobody} -\n{{")),
            (4, format!("cmux-hook 1 {nobody} -\n{body}")),
        ] {
            fs::write(folder.join(format!("{}.json", id(n))), text).unwrap();
        }
    });
    let told = yard.heard(1);
    assert_eq!(told[0]["hook"], id(1));
    for n in 2..=4 {
        assert!(folder.join(format!("aside/{}.json", id(n))).exists(), "{n}");
    }
}
