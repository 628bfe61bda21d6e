//! Agents that live: the scripted one, in tmux servers of the test's own home.

use std::fs;
use std::io::Read;
use std::path::Path;
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
fn an_agent_is_launched_shown_restarted_stopped_and_forgotten() {
    let shop = Shop::new();
    let agent = spawn(&shop, "api");
    assert_eq!((&agent["phase"], &agent["intent"]), (&json!("idle"), &json!("run")));
    assert!(agent["pane"].as_str().unwrap().starts_with('%'), "{agent}");
    let listed = shop.here(&["agent", "list"]);
    let pid = agent["pid"].as_u64().unwrap();
    assert!(listed.stdout.contains("idle for ") && listed.stdout.contains(&format!("pid {pid}")));
    assert_eq!(shop.told(&["agent", "spawn", "api", "--kind", "demo"])["run"], agent["run"]);
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
fn what_is_on_its_screen_is_printed_and_followed_and_explained() {
    let shop = Shop::new();
    spawn(&shop, "api");
    let screen = shop.told(&["agent", "output", "api"]);
    assert!(screen["content"].as_str().unwrap().contains(BOX), "{screen}");
    assert_eq!(screen["size"].as_array().unwrap().len(), 2);
    let words = shop.here(&["agent", "output", "api", "-n", "3"]);
    assert_eq!((words.code, words.stdout.contains('\u{1b}')), (Some(0), false), "{words:?}");
    assert!(words.stdout.lines().count() <= 3, "{words:?}");

    let mut follow =
        shop.at(&["agent", "output", "api", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let (mut seen, mut output) = (String::new(), follow.stdout.take().unwrap());
    let mut follows = |text: &str| {
        while !seen.contains(text) {
            let mut bytes = [0; 1024];
            let count = output.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "it ended after {seen:?}");
            seen += &String::from_utf8_lossy(&bytes[..count]);
        }
    };
    follows(BOX);
    type_in(&shop, "api", "hello there");
    follows("echo: hello there");
    kill_process(Pid::from_child(&follow), Signal::INT).unwrap();
    assert!(follow.wait().unwrap().success());

    let why = eventually("it is idle again", || {
        Some(shop.told(&["agent", "why", "api"])).filter(|why| why["phase"] == "idle")
    });
    assert!(!why["sayings"].as_array().unwrap().is_empty(), "{why}");
    eventually("that is told in words", || {
        let words = shop.here(&["agent", "why", "api"]).stdout;
        words.starts_with("api idle for ").then_some(())
    });
}

#[test]
fn what_is_followed_ends_with_the_agent() {
    let shop = Shop::new();
    spawn(&shop, "api");
    let mut follow =
        shop.at(&["agent", "output", "api", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    follow.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    shop.told(&["agent", "stop", "api"]);
    // Somebody reads until it is over.
    std::io::copy(&mut follow.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
    follow.wait().unwrap();
    refused(
        &shop.here(&["agent", "output", "api"]),
        1,
        &["`api` is offline: it has no terminal now"],
    );
}

#[test]
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
fn a_busy_agent_is_interrupted_and_then_idle() {
    let shop = Shop::new();
    let script = shop.folder("scripts").join("long.json");
    let steps = json!([{ "say": "I begin." }, { "think_ms": 3_600_000 }]);
    fs::write(&script, json!({ "rules": [{ "steps": steps }] }).to_string()).unwrap();
    let script = script.display().to_string();
    let words = ["agent", "spawn", "api", "--kind", "demo", "--task", "work", "--"];
    shop.told(&[&words, &["--script", &script][..]].concat());
    eventually("it is at it", || {
        let screen = shop.here(&["agent", "output", "api"]);
        screen.stdout.contains("I begin.").then_some(())
    });
    let busy = shop.in_phase("api", "busy");
    let interrupted = shop.here(&["agent", "interrupt", "api"]);
    assert_eq!(interrupted.stdout, "`api` was interrupted\n", "{interrupted:?}");
    assert_eq!(shop.in_phase("api", "idle")["run"], busy["run"]);
    let screen = shop.here(&["agent", "output", "api"]);
    assert!(screen.stdout.contains("Interrupted"), "{screen:?}");
    refused(&shop.here(&["agent", "interrupt", "api"]), 1, &["there is nothing to interrupt"]);
}

#[test]
fn an_agent_is_visited_from_a_terminal_within_another_tmux_or_without_and_keeps_its_size() {
    let shop = Shop::new();
    spawn(&shop, "api");
    let size = || shop.told(&["agent", "output", "api"])["size"].clone();
    let before = size();
    for (person, leave) in [
        (Person::attach(&shop, &shop.root, "api"), "Ctrl-b Ctrl-b d leaves"),
        (Person::attach_outside(&shop, &shop.root, "api"), " Ctrl-b d leaves"),
    ] {
        person.sees(leave);
        person.sees(BOX);
        assert_eq!(size(), before);
        // Keys that are sent to its pane are not the person's own: the outer prefix takes no part.
        person.tmux(&["send-keys", "C-b", "d"]);
        person.sees("left with 0");
        assert_eq!(shop.told(&["agent", "show", "api"])["phase"], "idle");
    }
    let place = shop.told(&["agent", "attach", "api"]);
    let sessions = tmux(Path::new(place["server"].as_str().unwrap()), &["list-sessions"]);
    assert!(!sessions.contains("view-"), "{sessions}");
}

#[test]
fn an_agent_that_is_not_idle_in_time_exits_6_and_goes_on() {
    let shop = Shop::new();
    let ran = shop.here(&[
        "agent",
        "spawn",
        "hung",
        "--kind",
        "demo",
        "--wait=1",
        "--",
        "--fault",
        "hang-at-start",
    ]);
    refused(&ran, 6, &["`hung` is not idle after 1 s", "`cmux agent attach hung`"]);
    assert_eq!(shop.told(&["agent", "show", "hung"])["intent"], "run");
    assert_eq!(shop.told(&["agent", "stop", "hung"])["run"], Value::Null);
}

#[test]
fn a_program_that_ends_at_once_exits_1_with_its_last_words() {
    let shop = Shop::new();
    let script = "echo cannot find my config; exit 3";
    let ran =
        shop.here(&["agent", "spawn", "brief", "--kind", "shell", "--wait", "--", "-c", script]);
    let told = ["`brief` is ", "it exited with code 3", "`cmux agent why brief`"];
    refused(&ran, 1, &told);
    assert!(!ran.stderr.contains("Pane is dead"), "{ran:?}");
    // tmux may drop what is written in the moment of the end; it is tried again.
    shop.eventually("brief", "told with its words", |agent| {
        agent["reason"].as_str().is_some_and(|reason| reason.contains("cannot find my config"))
    });
    assert_eq!(shop.told(&["agent", "stop", "brief"])["run"], Value::Null);
}

/// Launches the scripted agent, and returns it as it is when it is idle.
#[track_caller]
fn spawn(shop: &Shop, name: &str) -> Value {
    shop.told(&["agent", "spawn", name, "--kind", "demo", "--wait"])
}

/// Types a line into an agent's window, as a person there would.
fn type_in(shop: &Shop, name: &str, text: &str) {
    let place = shop.told(&["agent", "attach", name]);
    let server = Path::new(place["server"].as_str().unwrap());
    let pane = place["pane"].as_str().unwrap();
    tmux(server, &["send-keys", "-t", pane, "-l", "--", text]);
    tmux(server, &["send-keys", "-t", pane, "Enter"]);
}

pub(crate) fn lives(pid: u64) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    test_kill_process(pid).is_ok()
}
