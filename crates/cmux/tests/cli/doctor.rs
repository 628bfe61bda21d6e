//! The doctor: what is wrong, and what to do about it.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use cmux_testkit::home::{Ran, TestHome};
use serde_json::Value;

use crate::{PROGRAM, home};

#[test]
fn on_a_machine_in_order_nothing_is_bad() {
    let home = home();
    let path = machine(&home);
    symlink(PROGRAM, path.join("cmux")).unwrap();
    let ran = doctor(&home, &path, "0");
    let report = report(&ran);
    assert_eq!((ran.code, &report["ok"]), (Some(0), &Value::Bool(true)), "{ran:?}");
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 11);
    for check in checks {
        let status = check["status"].as_str().unwrap();
        assert!(["ok", "warning"].contains(&status), "{check}");
        assert!(check["name"].is_string() && check["detail"].is_string(), "{check}");
        assert_eq!(check["remedy"].is_null(), status == "ok", "{check}");
    }
    assert_eq!(find(&report, "agents")["status"], "warning");
    let (tmux, path) = (find(&report, "tmux"), find(&report, "path"));
    assert_eq!((&tmux["detail"], &path["status"]), (&"tmux 3.5".into(), &"ok".into()));
}

#[test]
fn another_program_of_the_name_is_told() {
    let home = home();
    let path = machine(&home);
    program(&path, "cmux", "some other cmux 9");
    let ran = doctor(&home, &path, "0");
    let found = find(&report(&ran), "path");
    assert_eq!((ran.code, &found["status"]), (Some(0), &"warning".into()), "{ran:?}");
    let detail = found["detail"].as_str().unwrap();
    assert!(detail.contains(&path.join("cmux").display().to_string()), "{found}");
    assert!(detail.contains(PROGRAM), "{found}");
    assert!(found["remedy"].as_str().unwrap().contains("PATH"), "{found}");
}

#[test]
fn a_port_that_is_taken_is_bad_unless_the_daemon_has_it() {
    let home = home();
    let path = machine(&home);
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = doctor(&home, &path, &port);
    let found = find(&report(&ran), "port");
    assert_eq!((ran.code, &found["status"]), (Some(1), &"bad".into()), "{ran:?}");
    let told = format!("(process {})", std::process::id());
    assert!(found["detail"].as_str().unwrap().contains(&told), "{found}");
    assert!(found["remedy"].as_str().unwrap().contains("CMUX_PORT"), "{found}");
    drop(taken);

    let started: Ran =
        home.command(&["daemon", "start"]).env("CMUX_PORT", &port).output().unwrap().into();
    assert_eq!(started.code, Some(0), "{started:?}");
    let ran = doctor(&home, &path, &port);
    let report = report(&ran);
    assert_eq!(find(&report, "port")["status"], "ok", "{ran:?}");
    assert_eq!(find(&report, "daemon")["status"], "ok", "{ran:?}");
}

#[test]
fn what_is_missing_is_bad_and_comes_with_a_remedy() {
    let home = home();
    let path = home.folder("empty");
    fs::write(home.root().join("config.toml"), "prot = 1\n").unwrap();
    let ran = doctor(&home, &path, "0");
    let report = report(&ran);
    assert_eq!((ran.code, &report["ok"]), (Some(1), &Value::Bool(false)), "{ran:?}");
    for name in ["tmux", "git", "configuration"] {
        let found = find(&report, name);
        assert_eq!(found["status"], "bad", "{found}");
        assert!(found["remedy"].is_string(), "{found}");
    }
    let mut words = home.command(&["doctor"]);
    let words: Ran = words.env("PATH", &path).output().unwrap().into();
    assert_eq!((words.code, words.stderr.as_str()), (Some(1), ""), "{words:?}");
    assert!(words.stdout.contains("✗   tmux"), "{words:?}");
    assert!(words.stdout.contains("→ install it"), "{words:?}");
}

/// Returns a folder with all the programs that cmux needs, and nothing else.
fn machine(home: &TestHome) -> PathBuf {
    let path = home.folder("programs");
    program(&path, "tmux", "tmux 3.5");
    program(&path, "git", "git version 2.40");
    path
}

fn program(folder: &Path, name: &str, says: &str) {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
}

fn doctor(home: &TestHome, path: &Path, port: &str) -> Ran {
    let mut doctor = home.command(&["doctor", "--json"]);
    doctor.env("PATH", path).env("CMUX_PORT", port).output().unwrap().into()
}

#[track_caller]
fn report(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

#[track_caller]
fn find(report: &Value, name: &str) -> Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap().clone()
}
