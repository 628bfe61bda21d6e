//! The store: copied, put back, and looked through for what does not fit.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::{home, refused};

#[test]
fn a_backup_overwrites_nothing_and_goes_only_where_there_is_a_folder() {
    let home = home();
    home.json(&["daemon", "start"]);
    let folder = home.folder("copies");
    let (file, note) = (folder.join("copy.db"), folder.join("copy.db.json"));
    let nowhere = folder.join("no/copy.db").display().to_string();
    for _ in ["while the daemon runs", "and without it"] {
        for there in [&file, &note] {
            fs::write(there, "precious").unwrap();
            let ran = home.run(&["db", "backup", &file.display().to_string()]);
            refused(&ran, 1, &["already, and", "is not overwritten"]);
            assert_eq!(fs::read_to_string(there).unwrap(), "precious");
            fs::remove_file(there).unwrap();
        }
        let ran = home.run(&["db", "backup", &nowhere]);
        refused(&ran, 4, &["there is no folder", "copies/no to write to", "make it first"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);

        let copied = home.json(&["db", "backup", &file.display().to_string()]);
        assert_eq!(copied["file"], file.display().to_string());
        fs::remove_file(&file).unwrap();
        fs::remove_file(&note).unwrap();
        home.json(&["daemon", "stop"]);
    }
}

#[test]
fn a_restore_is_refused_while_a_daemon_runs_and_for_what_is_no_backup() {
    let home = home();
    home.json(&["daemon", "start"]);
    let file = home.folder("copies").join("copy.db");
    let text = file.display().to_string();
    home.json(&["db", "backup", &text]);
    let pid = home.noted_pid("cmux.lock").unwrap();
    let told = format!("is in use by process {pid}");
    refused(&home.run(&["db", "restore", &text]), 1, &[&told, "`cmux daemon stop`"]);
    home.json(&["daemon", "stop"]);
    fs::write(&file, "no database at all").unwrap();
    let before = fs::read(home.root().join("cmux.db")).unwrap();
    refused(&home.run(&["db", "restore", &text]), 1, &["copy.db"]);
    refused(&home.run(&["db", "restore", "/no/such/copy.db"]), 1, &["/no/such/copy.db"]);
    assert_eq!(fs::read(home.root().join("cmux.db")).unwrap(), before);
}

#[test]
fn what_was_backed_up_comes_back_and_whoever_follows_is_told_of_the_new_log() {
    let home = home();
    home.json(&["daemon", "start"]);
    add(&home, "before");
    let copy = home.folder("copies").join("copy.db").display().to_string();
    assert_eq!(home.json(&["db", "backup", &copy])["head"], 2);
    add(&home, "lost");
    let follower = Follower::new(&home);
    follower.wait_for(|it| it["kind"] == "project.added" && it["data"]["name"] == "lost");

    home.json(&["daemon", "stop"]);
    let restored = home.json(&["db", "restore", &copy]);
    assert!(fs::exists(restored["replaced"].as_str().unwrap()).unwrap());
    home.json(&["daemon", "start"]);
    assert_eq!(names(&home), ["before"]);
    follower.wait_for(|it| *it == json!({"kind": "reset"}));
    follower.wait_for(|it| it["id"] == 1 && it["kind"] == "daemon.started");
    follower.wait_for(|it| it["id"] == 2 && it["data"]["name"] == "before");
    follower.wait_for(|it| it["id"] == 3 && it["kind"] == "store.restored");
    add(&home, "after");
    follower.wait_for(|it| it["kind"] == "project.added" && it["data"]["name"] == "after");
    assert_eq!(home.json(&["audit", "verify"])["ok"], true);
    let status = home.run(&["status"]).stdout;
    assert!(status.contains(&format!("the store was restored from {copy}")), "{status}");
}

#[test]
fn an_event_that_was_changed_is_found_and_named() {
    let home = home();
    home.json(&["daemon", "start"]);
    add(&home, "untouched");
    add(&home, "victim");
    home.json(&["daemon", "stop"]);
    assert!(!home.root().join("cmux.db-wal").exists(), "the last stop was not clean");
    let whole = home.run(&["audit", "verify"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(whole.stdout.contains("the log is whole: 4 events"), "{whole:?}");

    let path = home.root().join("cmux.db");
    let mut bytes = fs::read(&path).unwrap();
    let needle = br#""name":"victim""#;
    let places: Vec<usize> = bytes
        .windows(needle.len())
        .enumerate()
        .filter_map(|(place, window)| (window == needle).then_some(place))
        .collect();
    assert_eq!(places.len(), 1, "{places:?}");
    bytes[places[0] + needle.len() - 2] = b'n';
    fs::write(&path, bytes).unwrap();

    let found = home.run(&["audit", "verify"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains("event 3 does not fit"), "{found:?}");
    assert!(found.stdout.contains("it was changed"), "{found:?}");
    let found = home.run(&["audit", "verify", "--json"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    let audit: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!((&audit["ok"], &audit["misfit"]["id"]), (&json!(false), &json!(3)));
}

/// Somebody who follows the log.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn new(home: &TestHome) -> Follower {
        let mut command = home.command(&["events", "-f", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in output.lines() {
                // The test may be over.
                let _ = sender.send(line.unwrap());
            }
        });
        Follower { child, lines }
    }

    /// Waits for something that `fits`, and skips what does not.
    #[track_caller]
    fn wait_for(&self, fits: impl Fn(&Value) -> bool) {
        eventually("it is told", || {
            let line = self.lines.try_recv().ok()?;
            fits(&serde_json::from_str(&line).unwrap()).then_some(())
        });
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn add(home: &TestHome, name: &str) {
    home.json(&["project", "add", &home.folder(name).display().to_string()]);
}

#[track_caller]
fn names(home: &TestHome) -> Vec<String> {
    let list = home.json(&["project", "list"]);
    let projects = list["projects"].as_array().unwrap();
    projects.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}
