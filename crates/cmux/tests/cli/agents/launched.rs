//! Launching: what is taken when nothing is said, and what is refused before anything is launched.

use std::fs;

use serde_json::{Value, json};

use crate::agents::{NO_KIND, Shop};
use crate::refused;

#[test]
fn the_kind_is_the_first_of_the_usual_ones_that_is_on_the_machine() {
    let shop = Shop::with(&["gemini", "codex"]);
    let agent = shop.told(&["agent", "spawn", "api", "--task", "wait"]);
    assert_eq!((&agent["kind"], &agent["role"]), (&json!("codex"), &json!("worker")));
    assert_eq!(agent["cwd"], shop.root.display().to_string());
    for field in [
        "id",
        "name",
        "project",
        "role",
        "kind",
        "parent",
        "intent",
        "phase",
        "since",
        "reason",
        "permanent",
        "pid",
        "pane",
        "run",
        "session_id",
        "cwd",
        "started_at",
        "last_seen_at",
        "queue",
    ] {
        assert!(agent.get(field).is_some(), "there is no {field} in {agent}");
    }
    let named = shop.told(&["agent", "spawn", "ui", "--kind", "gemini", "--role", "reviewer"]);
    assert_eq!((&named["kind"], &named["role"]), (&json!("gemini"), &json!("reviewer")));
}

#[test]
fn without_an_agent_cli_the_built_in_one_is_taken_and_that_is_said() {
    let shop = Shop::new();
    let ran = shop.here(&["agent", "spawn", "api", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let agent: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(agent["kind"], "demo");
    assert!(ran.stderr.contains("no agent CLI was found"), "{ran:?}");
    assert!(ran.stderr.contains("`cmux agent kinds`"), "{ran:?}");
    // To ask for the same one again changes nothing.
    assert_eq!(shop.told(&["agent", "spawn", "api", "--kind", "demo"])["id"], agent["id"]);
}

#[test]
fn what_cannot_be_launched_is_refused_with_what_to_do() {
    let shop = Shop::new();
    let file = shop.root.join("file").display().to_string();
    fs::write(&file, "").unwrap();
    for (arguments, code, told) in [
        (&["--kind", "cluade"][..], 4, "did you mean `claude`?"),
        (&["--kind", NO_KIND], 4, "`cmux agent kinds`"),
        (&["--kind", "claude"], 1, "npm install -g @anthropic-ai/claude-code"),
        (&["--cwd", "/no/such/folder"], 4, "there is no folder /no/such/folder"),
        (&["--cwd", &file], 4, "is not a folder"),
        (&["--env", "NO_SUCH_VARIABLE"], 1, "no such variable is set here"),
        (&["--env", "CMUX_TOKEN=x"], 1, "CMUX_TOKEN"),
        (&["--role", "a/b"], 1, "role"),
        (&["--project", "shpo"], 4, "`shpo`"),
        (&["--resume"], 4, "there is no agent `api`"),
    ] {
        let ran = shop.here(&[&["agent", "spawn", "api"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{arguments:?}: {ran:?}");
    }
    for name in ["user", "a b", "1", "ä"] {
        let ran = shop.here(&["agent", "spawn", name, "--kind", "demo"]);
        refused(&ran, 1, &["cannot be an agent's name"]);
    }
    assert_eq!(shop.told(&["agent", "list"])["agents"], json!([]));
    shop.add("api", "worker");
    let ran = shop.here(&["agent", "spawn", "api", "--kind", "demo"]);
    refused(&ran, 1, &["there is an agent `api`", "`cmux agent spawn api --resume`"]);
}

#[test]
fn a_secret_of_the_environment_is_told_to_nobody() {
    let shop = Shop::new();
    let mut spawn = shop.command(&["agent", "spawn", "api", "--kind", "demo", "--env", "KEY"]);
    let spawned = spawn.current_dir(&shop.root).env("KEY", "hush-hush").output().unwrap();
    assert!(spawned.status.success(), "{spawned:?}");
    let mut said = format!("{spawned:?}");
    for command in [&["agent", "show", "api"][..], &["agent", "list"], &["events"], &["status"]] {
        said += &shop.here(&[command, &["--json"]].concat()).stdout;
        said += &shop.here(command).stdout;
    }
    said += &shop.log();
    assert!(!said.contains("hush-hush"), "{said}");
}

#[test]
fn an_agent_that_ends_instead_of_being_idle_exits_1_with_its_reason() {
    let shop = Shop::new();
    shop.add("api", "worker");
    let ran = shop.here(&["agent", "spawn", "api", "--resume", "--wait=100"]);
    refused(&ran, 1, &["`api` is ", "`cmux agent why api`"]);
    let ran = shop.here(&["agent", "restart", "api", "--wait=100"]);
    refused(&ran, 1, &["`api` is "]);
}

#[test]
fn up_refuses_a_kind_that_is_not_there_and_another_than_there_is() {
    let shop = Shop::new();
    let ran = shop.here(&["up", "--kind", "cluade"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.stderr.contains("did you mean `claude`?"), "{ran:?}");
    shop.add("supervisor", "supervisor");
    let ran = shop.here(&["up", "--kind", "demo"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("`cmux agent rm --force supervisor`"), "{ran:?}");
}

#[test]
fn a_pane_is_adopted_only_from_a_server_that_is_there() {
    let shop = Shop::new();
    let pane = format!("{}/none:%1", shop.root.display());
    let ran = shop.here(&["agent", "adopt", &pane, "--name", "x", "--kind", "demo"]);
    refused(&ran, 4, &["there is no tmux server at", "display -p"]);
}
