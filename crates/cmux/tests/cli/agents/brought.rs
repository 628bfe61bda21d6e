//! What `cmux up` brings and `cmux down` ends.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::Shop;
use crate::agents::living::lives;
use crate::refused;

#[test]
fn up_makes_an_idle_supervisor_of_nothing_and_says_of_which_kind_it_is() {
    let shop = quiet();
    let up = shop.here(&["up"]);
    assert_eq!((up.code, up.stderr.as_str()), (Some(0), ""), "{up:?}");
    for told in ["ready", "no agent CLI was found", "demo", "dashboard", "cmux agent attach"] {
        assert!(up.stdout.contains(told), "{told} is not in {up:?}");
    }
    let agent = shop.in_phase("supervisor", "idle");
    assert_eq!((&agent["role"], &agent["kind"]), (&json!("supervisor"), &json!("demo")));
    assert_eq!(agent["permanent"], true);
    let again = shop.told(&["up"]);
    assert_eq!(again["supervisor"]["run"], agent["run"]);
    assert_eq!(again["agents"].as_array().unwrap().len(), 1);
    let status = shop.here(&["status"]);
    assert!(status.stdout.contains("1 idle"), "{status:?}");
    let refused_kind = shop.here(&["up", "--kind", "shell"]);
    assert_eq!(refused_kind.code, Some(1), "{refused_kind:?}");
    assert!(refused_kind.stderr.contains("is of the kind `demo`, not `shell`"), "{refused_kind:?}");
}

#[test]
fn what_was_stopped_is_brought_back_and_down_all_leaves_nothing() {
    let shop = quiet();
    let up = shop.told(&["up"]);
    let id = up["supervisor"]["id"].clone();
    let agent = shop.in_phase("supervisor", "idle");
    let down = shop.told(&["down"]);
    assert_eq!((&down["agents"], &down["unstopped"]), (&json!(["supervisor"]), &json!([])));
    assert!(!lives(agent["pid"].as_u64().unwrap()));
    let down = shop.here(&["down"]);
    assert!(down.stdout.contains("nothing to stop"), "{down:?}");

    assert_eq!(shop.told(&["up"])["supervisor"]["id"], id);
    let agent = shop.in_phase("supervisor", "idle");
    let down = shop.told(&["down", "--all"]);
    assert_eq!((&down["agents"], &down["left"]), (&json!(["supervisor"]), &json!([])));
    assert!(!lives(agent["pid"].as_u64().unwrap()));
    nothing_is_left(&shop);
    let down = shop.here(&["down", "--all"]);
    assert_eq!((down.code, down.stdout.as_str()), (Some(0), "no daemon was running\n"), "{down:?}");
}

#[test]
fn down_ends_the_agents_of_this_project_only_and_down_all_everybodys() {
    let shop = quiet();
    shop.told(&["up"]);
    let other = shop.folder("other");
    fs::create_dir(other.join(".git")).unwrap();
    let there = |arguments: &[&str]| -> Value {
        let ran = shop.at(&[&["--json"], arguments].concat()).current_dir(&other).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        serde_json::from_slice(&ran.stdout).unwrap()
    };
    there(&["up"]);
    assert_eq!(shop.told(&["down"])["agents"], json!(["supervisor"]));
    let stays = there(&["agent", "show", "supervisor"]);
    assert_eq!(stays["intent"], "run");
    assert!(lives(stays["pid"].as_u64().unwrap()));
    // From anywhere.
    assert_eq!(shop.json(&["down", "--all"])["agents"], json!(["supervisor"]));
    nothing_is_left(&shop);
}

#[test]
fn agents_that_outlived_their_daemon_are_stopped_as_well() {
    let shop = Shop::new();
    let agent = shop.told(&["agent", "spawn", "api", "--kind", "demo", "--wait"]);
    shop.told(&["daemon", "stop"]);
    let pid = agent["pid"].as_u64().unwrap();
    assert!(lives(pid));
    let down = shop.told(&["down", "--all"]);
    assert_eq!((&down["agents"], &down["left"]), (&json!(["api"]), &json!([])));
    assert!(!lives(pid));
    nothing_is_left(&shop);
}

#[test]
fn a_supervisor_that_does_not_run_exits_1_and_is_told() {
    let shop = Shop::closed(&[]);
    configure(&shop, "--fault", "exit-at-start=3");
    let up = shop.here(&["up"]);
    assert_eq!(up.code, Some(1), "{up:?}");
    for told in ["the supervisor does not run", "code 3", "`cmux agent why supervisor`"] {
        assert!(up.stderr.contains(told), "{told} is not in {up:?}");
    }
    assert!(up.stdout.contains("dashboard"), "{up:?}");
    assert_eq!(shop.told(&["down"])["agents"], json!(["supervisor"]));
    refused(&shop.here(&["agent", "attach", "supervisor", "--json"]), 1, &["nowhere in tmux"]);
}

/// Returns a shop that was never opened, whose scripted agents only echo.
fn quiet() -> Shop {
    let shop = Shop::closed(&[]);
    let script = shop.folder("scripts").join("quiet.json");
    fs::write(&script, "{}").unwrap();
    configure(&shop, "--script", &script.display().to_string());
    shop
}

/// Has scripted agents be started with a flag.
fn configure(shop: &Shop, flag: &str, value: &str) {
    let config = format!("[kinds.demo]\nargs = [{flag:?}, {value:?}]\n");
    fs::write(shop.home.root().join("config.toml"), config).unwrap();
}

/// Checks that of all that ran in the home there is no process, and so no port, and no socket.
#[track_caller]
fn nothing_is_left(shop: &Shop) {
    assert!(!shop.root().join("cmux.db-wal").exists(), "the store is not in one file");
    assert_eq!(shop.processes(), [], "{}", shop.log());
    assert_eq!(sockets(shop), Vec::<PathBuf>::new());
    assert!(!shop.home.root().join("cmux.sock").exists());
    assert_eq!(shop.run(&["daemon", "status"]).code, Some(3));
}

/// Returns the sockets of the tmux servers of a home, whether or not anybody listens there.
fn sockets(shop: &Shop) -> Vec<PathBuf> {
    let files = fs::read_dir(shop.home.root().join("tmux")).into_iter().flatten().flatten();
    let is_socket = |path: &PathBuf| UnixStream::connect(path).is_ok() || !path.is_file();
    files.map(|file| file.path()).filter(is_socket).collect()
}
