//! Whose word counts: which kind an agent is of which nobody says it, and whether there is a supervisor.

use std::fs;

use serde_json::{Value, json};

use crate::agents::person::Person;
use crate::agents::{Shop, program};
use crate::{PROGRAM, refused};

#[test]
fn the_kind_is_what_is_said_or_the_projects_or_the_users_or_the_first_that_is_here() {
    let shop = Shop::with(&["gemini", "codex", "opencode"]);
    let kind = |name: &str, more: &[&str]| {
        shop.told(&[&["agent", "spawn", name], more].concat())["kind"].clone()
    };
    assert_eq!(kind("a", &[]), "codex");
    fs::write(shop.home.root().join("config.toml"), "[agents]\nkind = 'gemini'\n").unwrap();
    assert_eq!(kind("b", &[]), "gemini");
    project_says(&shop, "[agents]\nkind = 'opencode'\n");
    assert_eq!(kind("c", &[]), "gemini", "nobody trusts it");
    shop.told(&["up", "--no-supervisor", "--trust"]);
    assert_eq!(kind("d", &[]), "opencode");
    assert_eq!(kind("e", &["--kind", "demo"]), "demo");
}

#[test]
fn a_kind_that_is_not_to_be_had_is_refused_with_who_wants_it() {
    let shop = Shop::new();
    let config = shop.home.root().join("config.toml");
    for (text, code, told) in [
        ("[agents]\nkind = 'claude'\n", 1, "`agents.kind` in your config.toml asks for it"),
        ("[agents]\nkind = 'cluade'\n", 4, "did you mean `claude`?"),
        ("[agents]\nkidn = 'x'\n", 1, "config.toml:2: there is no setting `agents.kidn`"),
    ] {
        fs::write(&config, text).unwrap();
        refused(&shop.here(&["agent", "spawn", "api"]), code, &[told]);
    }
    fs::remove_file(&config).unwrap();
    project_says(&shop, "[agents]\nkind = 'claude'\n");
    shop.told(&["project", "trust", "--yes"]);
    let told = ["the project's .cmux/config.toml asks for it", "or say another with --kind"];
    refused(&shop.here(&["agent", "spawn", "api"]), 1, &told);
    assert_eq!(shop.told(&["agent", "list"])["agents"], json!([]));
}

#[test]
fn a_project_that_wants_no_supervisor_has_none_once_it_is_trusted() {
    let shop = Shop::new();
    project_says(&shop, "[agents]\nsupervisor = false\n");
    let up = shop.told(&["up", "--trust"]);
    assert_eq!((&up["supervisor"], &up["agents"]), (&Value::Null, &json!([])));
    let up = shop.here(&["up"]);
    assert_eq!((up.code, up.stderr.as_str()), (Some(0), ""), "{up:?}");
    assert!(up.stdout.contains("none, as the project's own .cmux/config.toml says"), "{up:?}");
    assert!(up.stdout.contains("cmux agent spawn NAME"), "{up:?}");
}

#[test]
fn whoever_has_the_built_in_supervisor_is_told_when_there_is_a_better_one() {
    let shop = Shop::new();
    shop.told(&["up"]);
    let up = shop.here(&["up"]);
    assert!(!up.stdout.contains("note"), "{up:?}");
    program(&shop.path.join("codex"));
    let up = shop.here(&["up"]);
    assert_eq!(up.code, Some(0), "{up:?}");
    for told in ["`codex` is on this machine", "`cmux agent rm --force supervisor`", "demo, "] {
        assert!(up.stdout.contains(told), "{told} is not in {up:?}");
    }
    let up = shop.here(&["up", "--kind", "demo"]);
    assert!(!up.stdout.contains("note"), "{up:?}");
}

#[test]
fn a_script_that_says_nothing_of_trust_is_told_so_and_goes_on() {
    let shop = Shop::new();
    project_says(&shop, "[agents]\nsupervisor = false\n");
    for more in [&[][..], &["--json"]] {
        let up = shop.here(&[&["up", "--no-supervisor"], more].concat());
        assert_eq!(up.code, Some(0), "{up:?}");
        for told in ["nobody could be asked", "is not used", "`cmux up --trust` agrees"] {
            assert!(up.stderr.contains(told), "{told} is not in {up:?}");
        }
    }
    let trust = shop.told(&["project", "trust", "--show"]);
    assert_eq!((&trust["folder"], &trust["files"][0]["standing"]), (&json!(false), &json!("new")));
}

#[test]
fn on_a_terminal_up_asks_once_and_goes_on_whatever_the_answer_is() {
    let shop = Shop::new();
    project_says(&shop, "[agents]\nsupervisor = false\n");
    let path = shop.path.display();
    let up = format!("PATH='{path}' '{PROGRAM}' up --no-supervisor");
    for (socket, answer, told) in [
        ("no.sock", "n", "you do not trust this project, so what its own files say"),
        ("yes.sock", "y", "you trust this folder, and 1 file in it"),
    ] {
        let person = Person::at(socket, &shop, &shop.root, &up);
        person.sees("supervisor = false");
        person.sees("Trust this? [y/N]");
        person.tmux(&["send-keys", answer, "Enter"]);
        person.sees(told);
        person.sees("left with 0");
    }
    let person = Person::at("again.sock", &shop, &shop.root, &up);
    person.sees("left with 0");
    assert!(!person.tmux(&["capture-pane", "-p"]).contains("Trust this?"));
}

fn project_says(shop: &Shop, text: &str) {
    fs::create_dir_all(shop.root.join(".cmux")).unwrap();
    fs::write(shop.root.join(".cmux/config.toml"), text).unwrap();
}
