//! Kinds of agents: those that cmux comes with, and what a person adds.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::{home, refused};

/// A CLI that nobody has heard of.
const MADE_UP: &str = "kind = 'askme'\ntitle = 'Ask me'\n\
    [find]\nprogram = 'askme'\nversion = '-v'\ninstall = 'write it'\n\
    [launch]\ncommand = ['--as', '{name}']\n[launch.ask]\nargs = []\n\
    [prompt]\nmark = ['ask>']\n\
    [[rules]]\nname = 'prompt'\nphase = 'idle'\nregion = 'last 1'\nall = ['^ask>']\n\
    [keys]\nexit = 'bye'\n";

#[test]
fn all_kinds_are_listed_with_what_they_can_and_cannot() {
    let home = home();
    let _daemon = home.daemon();
    let said = home.json(&["agent", "kinds"]);
    let kinds = said["kinds"].as_array().unwrap();
    let names: Vec<&str> = kinds.iter().map(|kind| kind["name"].as_str().unwrap()).collect();
    let expected = ["agy", "claude", "codex", "demo", "gemini", "hermes", "opencode", "shell"];
    assert_eq!(names, expected);
    for kind in kinds {
        let count = |key: &str| kind[key].as_array().unwrap().len();
        assert_eq!(count("can") + count("cannot"), 12, "{kind}");
        assert!(count("witnesses") > 0 && kind["install"].is_string(), "{kind}");
    }
    assert_eq!(find(&said, "demo")["program"], home.program().display().to_string());
    assert_eq!((&said["refused"], &said["next"]), (&Value::Array(Vec::new()), &Value::Null));
    let told = home.run(&["agent", "kinds"]);
    assert!(told.stdout.contains("claude") && told.stdout.contains("Claude Code"), "{told:?}");
}

#[test]
fn a_manifest_of_the_users_is_a_kind_and_a_bad_one_is_told_with_its_line() {
    let home = home();
    let folder = home.root().join("agents");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("bad.toml"), MADE_UP.replace("[keys]", "[kees]")).unwrap();
    let program = home.folder("bin").join("askme");
    fs::write(&program, "#!/bin/sh\necho 'askme 3.2'\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command =
        format!("[kinds.askme]\ncommand = ['{}']\npermissions = 'ask'\n", program.display());
    fs::write(home.root().join("config.toml"), command).unwrap();
    let _daemon = home.daemon();
    let said = home.json(&["agent", "kinds"]);
    let refused = said["refused"].as_array().unwrap();
    let expected = "bad.toml:18: there is no setting `kees`. Did you mean `keys`?";
    assert!(refused[0].as_str().unwrap().ends_with(expected), "{refused:?}");
    assert!(refused[1].as_str().unwrap().contains("[kinds.askme] is about no kind"), "{refused:?}");
    let told = home.run(&["agent", "kinds"]);
    assert!(told.stdout.contains(expected), "{told:?}");

    // What is mended is there at once.
    fs::write(folder.join("bad.toml"), MADE_UP).unwrap();
    let said = home.json(&["agent", "kinds"]);
    assert_eq!(said["refused"], Value::Array(Vec::new()));
    let askme = find(&said, "askme");
    assert_eq!(askme["program"], program.display().to_string());
    assert_eq!(askme["file"], folder.join("bad.toml").display().to_string());
    assert_eq!(askme["permissions"], "ask");
    assert_eq!(askme["can"], serde_json::json!(["exit"]));
}

#[test]
fn without_a_daemon_nobody_can_be_asked() {
    refused(&home().run(&["agent", "kinds"]), 3, &["no daemon is running"]);
}

fn find<'a>(said: &'a Value, name: &str) -> &'a Value {
    said["kinds"].as_array().unwrap().iter().find(|kind| kind["name"] == name).unwrap()
}
