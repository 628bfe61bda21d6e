//! Agents that live: the scripted one, in tmux servers of the test's own home.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cmux_testkit::wait::eventually;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::agents::Shop;
use crate::agents::person::{Person, tmux};
use crate::refused;

/// The end of the scripted agent's composer.
const BOX: &str = "╰──";

#[test]
#[ignore = "agents cannot be launched by this build"]
fn an_agent_is_launched_shown_restarted_stopped_and_forgotten() {
    let shop = Shop::new();
    let agent = spawn(&shop, "api");
    assert_eq!((&agent["phase"], &agent["intent"]), (&json!("idle"), &json!("run")));
    assert!(agent["pane"].as_str().unwrap().starts_with('%'), "{agent}");
    let listed = shop.here(&["agent", "list"]);
    let pid = agent["pid"].as_u64().unwrap();
    assert!(listed.stdout.contains("idle for ") && listed.stdout.contains(&format!("pid {pid}")));
    refused(&shop.here(&["agent", "rm", "api"]), 1, &["`api` still runs", "`--force`"]);

    let restarted = shop.told(&["agent", "restart", "api", "--wait"]);
    assert_eq!((&restarted["id"], &restarted["phase"]), (&agent["id"], &json!("idle")));
    assert_ne!(restarted["run"], agent["run"]);
    assert!(!lives(pid));

    let stopped = shop.told(&["agent", "stop", "api"]);
    assert_eq!((&stopped["phase"], &stopped["run"]), (&json!("offline"), &Value::Null));
    assert!(!lives(restarted["pid"].as_u64().unwrap()));
    let resumed = shop.told(&["agent", "spawn", "api", "--resume", "--wait"]);
    assert_eq!((&resumed["id"], &resumed["phase"]), (&agent["id"], &json!("idle")));
    shop.told(&["agent", "rm", "--force", "api"]);
    assert!(!lives(resumed["pid"].as_u64().unwrap()));
    assert_eq!(shop.told(&["agent", "list"])["agents"], json!([]));
}

#[test]
#[ignore = "agents cannot be launched by this build"]
fn what_is_on_its_screen_is_printed_and_followed_and_explained() {
    let shop = Shop::new();
    spawn(&shop, "api");
    let screen = shop.told(&["agent", "output", "api"]);
    assert!(screen["content"].as_str().unwrap().contains(BOX), "{screen}");
    assert_eq!(screen["size"].as_array().unwrap().len(), 2);
    let words = shop.here(&["agent", "output", "api", "-n", "3"]);
    assert_eq!((words.code, words.stdout.contains('\u{1b}')), (Some(0), false), "{words:?}");
    assert!(words.stdout.lines().count() <= 3, "{words:?}");

    let mut follow = shop.command(&["agent", "output", "api", "-f"]);
    let mut follow = follow.current_dir(&shop.root).stdout(Stdio::piped()).spawn().unwrap();
    let (mut seen, mut output) = (String::new(), follow.stdout.take().unwrap());
    eventually("its screen is followed", || {
        let mut bytes = [0; 1024];
        let count = output.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "it ended after {seen:?}");
        seen += &String::from_utf8_lossy(&bytes[..count]);
        seen.contains(BOX).then_some(())
    });
    let pid = Pid::from_child(&follow);
    kill_process(pid, Signal::INT).unwrap();
    assert!(follow.wait().unwrap().success());

    let why = shop.told(&["agent", "why", "api"]);
    assert_eq!(why["phase"], "idle");
    assert!(!why["sayings"].as_array().unwrap().is_empty(), "{why}");
    let words = shop.here(&["agent", "why", "api"]);
    assert!(words.stdout.starts_with("api idle for "), "{words:?}");
}

#[test]
#[ignore = "agents cannot be launched by this build"]
fn a_paused_agent_stays_and_one_that_does_nothing_is_not_interrupted() {
    let shop = Shop::new();
    let agent = spawn(&shop, "api");
    let paused = shop.told(&["agent", "pause", "api"]);
    assert_eq!((&paused["intent"], &paused["pid"]), (&json!("pause"), &agent["pid"]));
    let listed = shop.here(&["agent", "list"]);
    assert!(listed.stdout.contains("idle, paused for "), "{listed:?}");
    let resumed = shop.told(&["agent", "resume", "api", "--wait"]);
    assert_eq!((&resumed["intent"], &resumed["pid"]), (&json!("run"), &agent["pid"]));
    refused(&shop.here(&["agent", "interrupt", "api"]), 1, &["there is nothing to interrupt"]);
    assert_eq!(shop.told(&["agent", "show", "api"])["run"], agent["run"]);
}

#[test]
#[ignore = "agents cannot be launched by this build"]
fn an_agent_is_visited_from_within_another_tmux_and_keeps_its_size() {
    let shop = Shop::new();
    spawn(&shop, "api");
    let size = || shop.told(&["agent", "output", "api"])["size"].clone();
    let before = size();
    let person = Person::attach(&shop, &shop.root, "api");
    person.sees("Ctrl-b Ctrl-b d leaves");
    person.sees(BOX);
    assert_eq!(size(), before);
    // Keys that are sent to its pane are not the person's own: the outer prefix takes no part.
    person.tmux(&["send-keys", "C-b", "d"]);
    person.sees("left with 0");
    assert_eq!(shop.told(&["agent", "show", "api"])["phase"], "idle");
    let place = shop.told(&["agent", "attach", "api"]);
    let sessions = tmux(Path::new(place["server"].as_str().unwrap()), &["list-sessions"]);
    assert!(!sessions.contains("view-"), "{sessions}");
}

#[test]
#[ignore = "agents cannot be launched by this build"]
fn up_launches_a_supervisor_once_and_brings_it_back_and_down_leaves_nothing() {
    let shop = Shop::new();
    let up = shop.told(&["up"]);
    let supervisor = &up["supervisor"];
    assert_eq!((&supervisor["role"], &supervisor["kind"]), (&json!("supervisor"), &json!("demo")));
    eventually("it is idle", || {
        let agent = shop.told(&["agent", "show", "supervisor"]);
        (agent["phase"] == "idle").then_some(())
    });
    let again = shop.told(&["up"]);
    assert_eq!(again["supervisor"]["run"], supervisor["run"]);
    let status = shop.run(&["status"]);
    assert!(status.stdout.contains("1 idle"), "{status:?}");

    let down = shop.told(&["down"]);
    assert_eq!(down["agents"], json!(["supervisor"]));
    assert!(!lives(again["supervisor"]["pid"].as_u64().unwrap()));
    let back = shop.here(&["up"]);
    assert_eq!(back.code, Some(0), "{back:?}");
    for told in ["demo", "dashboard", "cmux agent attach supervisor"] {
        assert!(back.stdout.contains(told), "{told} is not in {back:?}");
    }
    let agent = shop.told(&["agent", "show", "supervisor"]);
    assert_eq!(agent["id"], supervisor["id"]);

    let down = shop.told(&["down", "--all"]);
    assert_eq!((&down["agents"], &down["left"]), (&json!(["supervisor"]), &json!([])));
    assert!(!agent["pid"].as_u64().is_some_and(lives));
    assert_eq!(sockets(&shop), Vec::<PathBuf>::new());
    assert_eq!(shop.run(&["daemon", "status"]).code, Some(3));
}

#[test]
#[ignore = "agents cannot be launched by this build"]
fn agents_that_outlived_their_daemon_are_stopped_as_well() {
    let shop = Shop::new();
    let agent = spawn(&shop, "api");
    shop.json(&["daemon", "stop"]);
    let pid = agent["pid"].as_u64().unwrap();
    assert!(lives(pid));
    let down = shop.told(&["down", "--all"]);
    assert_eq!((&down["agents"], &down["left"]), (&json!(["api"]), &json!([])));
    assert!(!lives(pid));
    assert_eq!(sockets(&shop), Vec::<PathBuf>::new());
}

#[test]
#[ignore = "agents cannot be launched by this build"]
fn an_agent_that_is_not_idle_in_time_or_ends_is_told_with_its_screen() {
    let shop = Shop::new();
    let spawn = |name, wait, fault| {
        shop.here(&["agent", "spawn", name, "--kind", "demo", wait, "--", "--fault", fault])
    };
    let ran = spawn("hung", "--wait=3", "hang-at-start");
    refused(&ran, 6, &["`hung` is not idle after 3 s", "`cmux agent attach hung`"]);
    let ran = spawn("brief", "--wait", "exit-at-start=3");
    refused(&ran, 1, &["`brief` is ", "`cmux agent why brief`"]);
    for name in ["hung", "brief"] {
        assert_eq!(shop.told(&["agent", "stop", name])["run"], Value::Null);
    }
}

/// Launches the scripted agent, and returns it as it is when it is idle.
#[track_caller]
fn spawn(shop: &Shop, name: &str) -> Value {
    shop.told(&["agent", "spawn", name, "--kind", "demo", "--wait"])
}

fn lives(pid: u64) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}

/// Returns the sockets of the tmux servers of a home.
fn sockets(shop: &Shop) -> Vec<PathBuf> {
    let files = std::fs::read_dir(shop.root().join("tmux")).into_iter().flatten().flatten();
    let is_server = |path: &PathBuf| std::os::unix::net::UnixStream::connect(path).is_ok();
    files.map(|file| file.path()).filter(is_server).collect()
}
