//! The team that is seen on a machine without an agent CLI: a supervisor and two workers, who play.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::PROGRAM;
use crate::agents::Shop;
use crate::agents::person::Person;

const WORKERS: [&str; 2] = ["worker-1", "worker-2"];

#[test]
fn a_supervisor_launches_two_workers_who_work_and_come_to_rest_once_and_for_all() {
    let shop = Shop::closed(&[]);
    fs::write(shop.root.join("a file"), "as it was").unwrap();
    let up = shop.here(&["up"]);
    assert_eq!(up.code, Some(0), "{up:?}");
    assert!(up.stdout.contains("no agent CLI was found"), "{up:?}");
    for name in WORKERS {
        eventually(name, || (shop.here(&["agent", "show", name]).code == Some(0)).then_some(()));
        shop.eventually(name, "at rest after work", |agent| {
            agent["phase"] == "idle" && phases(&shop, agent).iter().any(|it| it == "busy")
        });
    }
    let supervisor = shop.eventually("supervisor", "at rest", |agent| {
        agent["phase"] == "idle" && said(&shop, "supervisor").contains("That was all.")
    });
    let agents = shop.told(&["agent", "list"])["agents"].clone();
    let agents = agents.as_array().unwrap();
    assert_eq!(agents.len(), 3, "{agents:?}");
    for agent in agents {
        assert_eq!(agent["kind"], "demo");
        let is_worker = agent["role"] == "worker";
        let parent = if is_worker { supervisor["id"].clone() } else { Value::Null };
        assert_eq!(agent["parent"], parent, "{agent}");
        eventually("it stays idle", || {
            (phases(&shop, agent).last().map(String::as_str) == Some("idle")).then_some(())
        });
    }
    assert!(said(&shop, "worker-1").contains("⎿  1 entries"), "{}", said(&shop, "worker-1"));
    check_untouched(&shop);

    let shown = shop.here(&["agent", "show", "worker-1"]).stdout;
    let is_told = |line: &str| line.starts_with("launched by ") && line.ends_with(" supervisor");
    assert!(shown.lines().any(is_told), "{shown}");
    let log = shop.here(&["events", "--since", "0", "--agent", "worker-1"]).stdout;
    assert!(log.lines().all(|line| line.contains("  worker-1  ")), "{log}");
    assert!(log.contains("to=busy"), "{log}");

    // Neither asked again nor in another life does it begin all over.
    assert_eq!(shop.told(&["up"])["supervisor"]["run"], supervisor["run"]);
    shop.told(&["agent", "restart", "supervisor", "--wait"]);
    assert_eq!(said(&shop, "supervisor").matches("> Give a demonstration.").count(), 1);
    let spawned = shop.json(&["status"])["agents"].as_array().unwrap().len();
    assert_eq!(spawned, 3);
    let down = shop.told(&["down", "--all"]);
    assert_eq!(down["agents"].as_array().unwrap().len(), 3, "{down}");
    assert_eq!(shop.processes(), []);
}

#[test]
fn a_worker_does_as_it_was_told_and_changes_nothing() {
    let shop = Shop::new();
    for (name, task, told) in [
        ("one", "Count what is in this folder.", "0 entries"),
        ("two", "Look at the latest commit.", "there is no commit here"),
    ] {
        shop.told(&["agent", "spawn", name, "--kind", "demo", "--task", task]);
        shop.eventually(name, "done", |agent| {
            agent["phase"] == "idle" && said(&shop, name).contains("● Done: ")
        });
        assert!(said(&shop, name).contains(told), "{}", said(&shop, name));
    }
    assert_eq!(entries(&shop), [".git"]);
}

#[test]
fn a_person_who_follows_sees_how_the_team_changes_until_they_have_seen_enough() {
    let shop = Shop::new();
    let person = Person::at("f.sock", &shop, &shop.root, &format!("'{PROGRAM}' status -f"));
    person.sees("no agents");
    person.sees("Ctrl-C leaves");
    shop.told(&["agent", "spawn", "api", "--kind", "demo", "--wait"]);
    person.sees("api  demo  idle for ");
    shop.told(&["agent", "stop", "api"]);
    person.sees("1 stopped");
    person.tmux(&["send-keys", "C-c"]);
    person.sees("left with 0");
    person.sees("1 stopped");
}

#[test]
fn whoever_follows_elsewhere_is_told_what_is_new_until_the_daemon_is_gone() {
    let shop = Shop::new();
    let mut follow = shop.at(&["status", "-f", "--json"]);
    let mut follow = follow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    let mut next =
        || lines.next().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(next().unwrap()["agents"], json!([]));
    shop.told(&["agent", "spawn", "api", "--kind", "demo", "--wait"]);
    shop.told(&["down", "--all"]);
    let mut last = Value::Null;
    while let Some(status) = next() {
        last = status["agents"][0]["name"].clone();
    }
    assert_eq!(last, "api");
    let ended = follow.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(told.contains("the daemon has stopped"), "{told}");
}

/// Returns what is on an agent's screen, and what has scrolled off.
fn said(shop: &Shop, name: &str) -> String {
    shop.here(&["agent", "output", name, "-n", "500"]).stdout
}

/// Returns the phases that an agent came to be in, as the log tells them.
fn phases(shop: &Shop, agent: &Value) -> Vec<String> {
    let id = agent["id"].as_str().unwrap();
    let log = shop.here(&["events", "--since", "0", "--agent", id, "--json"]).stdout;
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let phases = events.filter(|event| event["kind"] == "agent.phase");
    phases.map(|event| event["data"]["to"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn check_untouched(shop: &Shop) {
    assert_eq!(entries(shop), [".git", "a file"]);
    assert_eq!(fs::read_to_string(shop.root.join("a file")).unwrap(), "as it was");
    assert_eq!(fs::read_dir(shop.root.join(".git")).unwrap().count(), 0);
}

fn entries(shop: &Shop) -> Vec<String> {
    let files = fs::read_dir(&shop.root).unwrap().flatten();
    let mut names: Vec<String> =
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
