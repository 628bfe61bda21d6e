//! What commands print: JSON for scripts, exit codes that tell failures apart, errors that help.

use std::io;

use serde_json::{Value, json};

use crate::{document, home, refused};

#[test]
fn each_command_prints_one_json_document_and_nothing_else() {
    let home = home();
    let root = home.folder("shop").display().to_string();
    let copy = home.folder("copies").join("copy.db").display().to_string();
    let commands: [(&[&str], &[&str]); 20] = [
        (&["daemon", "start"], &["running", "ready", "pid", "version", "home"]),
        (&["up", "--no-supervisor"], &["daemon", "store", "projects", "agents", "supervisor"]),
        (&["status"], &["daemon", "store", "projects", "agents"]),
        (&["daemon", "status"], &["running", "pid", "guard_pid", "port", "started_at"]),
        (&["project", "add", &root], &["id", "name", "root", "created_at"]),
        (&["project", "show", &root], &["id", "name", "root", "created_at"]),
        (&["project", "list"], &["projects", "next"]),
        (&["doctor"], &["ok", "checks"]),
        (&["audit", "verify"], &["ok", "events", "head", "misfit"]),
        (&["db", "check"], &["ok", "problems", "events", "bytes"]),
        (&["db", "backup", &copy], &["file", "bytes", "sha256", "head"]),
        (&["project", "remove", "shop"], &["id", "name", "root"]),
        (&["agent", "list", "--all"], &["agents", "next"]),
        (&["agent", "kinds"], &["kinds", "refused", "next"]),
        (&["down"], &["agents", "unstopped", "pid", "forced", "left"]),
        (&["daemon", "restart"], &["running", "pid"]),
        (&["daemon", "stop"], &["pid", "forced", "left"]),
        (&["down", "--all"], &["agents", "unstopped", "pid", "forced", "left"]),
        (&["db", "restore", &copy], &["file", "log", "head", "replaced"]),
        (&["db", "check"], &["ok"]),
    ];
    for (command, fields) in commands {
        let ran = home.run(&[command, &["--json"]].concat());
        let found = document(&ran);
        for field in fields {
            assert!(found.get(field).is_some(), "{command:?} has no {field}: {found}");
        }
    }
}

#[test]
fn events_are_one_json_document_a_line() {
    let home = home();
    home.json(&["daemon", "start"]);
    home.json(&["up", "--no-supervisor"]);
    let ran = home.run(&["events", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> = events.iter().map(|it| (it["id"].clone(), it["kind"].clone())).collect();
    assert_eq!(found, [(json!(1), json!("daemon.started")), (json!(2), json!("project.added"))]);
    let one = home.run(&["events", "--json", "--since", "1", "--kind", "project."]);
    assert_eq!(document(&one), events[1]);
    assert_eq!(home.run(&["events", "--kind", "no.such"]).stdout, "");
}

#[test]
fn without_a_daemon_commands_exit_3_and_say_how_to_start_one() {
    let home = home();
    for command in [
        &["status"][..],
        &["status", "--json"],
        &["events"],
        &["events", "-f"],
        &["project", "list"],
        &["project", "show"],
        &["project", "add"],
        &["project", "remove", "x"],
        &["daemon", "status"],
        &["open"],
        &["open", "--json"],
        &["token", "list"],
        &["token", "create", "--scope", "read"],
        &["token", "revoke", "x"],
        &["agent", "list"],
        &["agent", "list", "--all"],
        &["agent", "spawn", "x"],
        &["agent", "show", "x"],
        &["agent", "why", "x"],
        &["agent", "stop", "x"],
        &["agent", "restart", "x"],
        &["agent", "pause", "x"],
        &["agent", "resume", "x"],
        &["agent", "rm", "x"],
        &["agent", "interrupt", "x"],
        &["agent", "output", "x"],
        &["agent", "attach", "x"],
    ] {
        refused(&home.run(command), 3, &["no daemon is running", "`cmux up`", "cmux daemon start"]);
    }
    let left = std::fs::read_dir(home.root()).unwrap().count();
    assert_eq!(left, 0, "asking has left something in the home");
}

#[test]
fn what_is_not_there_exits_4_and_names_what_was_probably_meant() {
    let home = home();
    refused(&home.run(&["db", "check"]), 4, &["there is no store at"]);
    refused(&home.run(&["audit", "verify"]), 4, &["there is no store at"]);
    home.json(&["daemon", "start"]);
    home.json(&["project", "add", &home.folder("shop").display().to_string()]);
    refused(&home.run(&["project", "show", "shpo"]), 4, &["`shpo`", "did you mean `shop`?"]);
    refused(&home.run(&["project", "remove", "zzz"]), 4, &["`zzz`", "`cmux project list`"]);
    refused(&home.run(&["project", "show"]), 4, &["the folder here", "`cmux project add`"]);
    refused(&home.run(&["project", "add", "/no/such/folder"]), 4, &["/no/such/folder"]);
    let hostile = home.run(&["project", "show", "\u{1b}]0;x\u{7}\u{202e}"]);
    refused(&hostile, 4, &["there is no project"]);
    assert!(!hostile.stderr.contains('\u{202e}'), "{hostile:?}");
}

#[test]
fn a_wrong_configuration_is_told_with_its_line() {
    let home = home();
    std::fs::write(home.root().join("config.toml"), "port = 0\n[gaurd]\n").unwrap();
    let told = ["config.toml:2: there is no setting `gaurd`", "Did you mean"];
    refused(&home.run(&["up"]), 1, &told[..1]);
    refused(&home.run(&["daemon", "start"]), 1, &told[..1]);
    refused(&home.run(&["daemon", "run"]), 78, &told[..1]);
    std::fs::write(home.root().join("config.toml"), "prot = 0\n").unwrap();
    refused(&home.run(&["daemon", "run"]), 78, &told[1..]);
}

#[test]
fn a_home_that_is_set_to_nothing_is_refused() {
    let home = home();
    let ran = home.command(&["status"]).env("CMUX_HOME", "").output().unwrap().into();
    refused(&ran, 1, &["set, but to nothing"]);
}

#[test]
fn whoever_stops_listening_makes_nothing_panic() {
    let home = home();
    home.json(&["daemon", "start"]);
    for command in [
        &["events"][..],
        &["events", "--json"],
        &["status"],
        &["doctor"],
        &["project", "list"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let ran = home.command(command).stdout(deaf()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!((ran.status.code(), said.as_str()), (Some(0), ""), "{command:?}");
    }
    let ran = home.command(&["project", "show", "nosuch"]).stderr(deaf()).output().unwrap();
    assert_eq!(ran.status.code(), Some(4), "{ran:?}");
}

/// Returns a pipe from which nobody reads.
fn deaf() -> io::PipeWriter {
    io::pipe().unwrap().1
}
