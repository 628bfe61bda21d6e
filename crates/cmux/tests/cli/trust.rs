//! `cmux project trust`: what a repository says is shown as it is, and acts once the person agrees.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use cmux_testkit::home::TestHome;
use cmux_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::{PROGRAM, home, refused};

const CONFIG: &str = ".cmux/config.toml";
const WORKER: &str = ".cmux/roles/worker.md";

#[test]
fn files_are_trusted_as_they_are_until_they_change_or_it_is_taken_back() {
    let (home, root) = running();
    write(&root, CONFIG, "[agents]\nkind = 'demo'\n[kinds.demo]\nenv = { KEY = 's3cret' }\n");
    write(&root, WORKER, "Work, {name}!\n");
    let before = trust(&home, &["--show"]);
    assert_eq!(standings(&before), ["new", "new"], "{before}");
    assert_eq!((&before["folder"], &before["kind"]), (&json!(false), &Value::Null));

    let given = trust(&home, &["--yes"]);
    assert_eq!(standings(&given), ["trusted", "trusted"], "{given}");
    assert_eq!((&given["folder"], &given["kind"]), (&json!(true), &json!("demo")));
    assert_eq!(trust(&home, &[]), given, "there is nothing to ask any more");

    write(&root, WORKER, "Obey, {name}!\n");
    let changed = trust(&home, &["--show"]);
    assert_eq!(standings(&changed), ["trusted", "changed"], "{changed}");
    let told = home.run(&["project", "trust", "shop", "--show"]);
    assert!(told.stdout.contains("changed since you trusted it: not used"), "{told:?}");
    assert_eq!(standings(&trust(&home, &["--yes"])), ["trusted", "trusted"]);

    let taken = trust(&home, &["--revoke"]);
    assert_eq!((standings(&taken), &taken["folder"]), (vec!["new", "new"], &json!(false)));
    assert_eq!(trust(&home, &["--revoke"]), taken);
    let kinds = events(&home);
    assert_eq!(kinds, ["project.trusted", "project.trusted", "project.untrusted"]);
    let log = home.run(&["events", "--since", "0", "--json"]).stdout + &home.log();
    assert!(!log.contains("s3cret") && !log.contains("Obey"), "{log}");
}

#[test]
fn whoever_cannot_be_asked_must_say_so() {
    let (home, root) = running();
    write(&root, CONFIG, "[kinds.demo]\nargs = ['x']\n");
    for more in [&[][..], &["--json"]] {
        let ran = home.run(&[&["project", "trust", "shop"], more].concat());
        refused(&ran, 5, &["this is no terminal, and nothing was trusted", "`--yes` agrees"]);
    }
    assert_eq!(standings(&trust(&home, &["--show"])), ["new"]);
    refused(&home.run(&["project", "trust", "nobody"]), 4, &["there is no project `nobody`"]);
    for both in [["--yes", "--revoke"], ["--show", "--yes"], ["--show", "--revoke"]] {
        assert_eq!(home.run(&[&["project", "trust"], &both[..]].concat()).code, Some(2));
    }
    assert_eq!(events(&home), [""; 0]);
}

#[test]
fn what_cannot_be_used_is_told_and_the_rest_can_be_trusted() {
    let (home, root) = running();
    write(&root, CONFIG, "[kinds.demo]\nagrs = []\n");
    fs::create_dir_all(root.join(".cmux/roles")).unwrap();
    symlink("/etc/passwd", root.join(WORKER)).unwrap();
    let given = trust(&home, &["--yes"]);
    assert_eq!(standings(&given), ["trusted"], "{given}");
    let told = given["refused"].to_string();
    for part in ["it is a link", "Did you mean `kinds.demo.args`?", "config.toml:2:"] {
        assert!(told.contains(part) && !told.contains("root:"), "{told}");
    }
}

#[test]
fn on_a_terminal_all_of_it_is_shown_and_asked_about_once() {
    let (home, root) = running();
    let tricks = "name = 'x' # \u{1b}[2J\u{1b}[H\u{202e}trusted\n";
    write(&root, CONFIG, tricks);
    let seen = Terminal::open(&home).answer("n");
    for part in [
        ".cmux/config.toml (new, 1 line)",
        "   1 │ name = 'x' # \\x1b[2J\\x1b[H\\u{202e}trusted",
        "agents may tell their CLI that you trust this folder",
        "you did not agree, and nothing was trusted",
    ] {
        assert!(seen.contains(part), "{part} is not in {seen}");
    }
    assert!(!seen.contains(['\u{1b}', '\u{202e}']), "{seen:?}");
    assert_eq!(standings(&trust(&home, &["--show"])), ["new"]);
    let seen = Terminal::open(&home).answer("y");
    assert!(seen.contains("trusted: agents may tell their CLI so"), "{seen}");
    assert_eq!(standings(&trust(&home, &["--show"])), ["trusted"]);
    assert_eq!(seen.matches("[y/N]").count(), 1, "{seen}");
}

#[test]
fn a_file_that_changes_while_the_person_reads_is_not_trusted() {
    let (home, root) = running();
    write(&root, CONFIG, "name = 'good'\n");
    let terminal = Terminal::open(&home);
    write(&root, CONFIG, "name = 'evil'\n");
    let seen = terminal.answer("y");
    assert!(seen.contains("`.cmux/config.toml` is not as it was shown"), "{seen}");
    let now = trust(&home, &["--show"]);
    assert_eq!((standings(&now), &now["folder"]), (vec!["new"], &json!(false)));
    assert_eq!(events(&home), [""; 0]);
}

/// `cmux project trust` on a terminal, which waits for an answer.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    seen: String,
}

impl Terminal {
    /// Returns once the question is asked.
    fn open(home: &TestHome) -> Terminal {
        let mut script = Command::new("script");
        home.equip(&mut script);
        let command = format!("'{PROGRAM}' project trust shop");
        script.args(["-qec", &command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = script.spawn().unwrap();
        let keys = script.stdin.take().unwrap();
        let mut terminal = Terminal { script, keys, seen: String::new() };
        let mut bytes = Vec::new();
        eventually("the question is asked", || {
            let mut some = [0; 4096];
            let count = terminal.script.stdout.as_mut().unwrap().read(&mut some).unwrap();
            bytes.extend(&some[..count]);
            assert_ne!(count, 0, "{}", String::from_utf8_lossy(&bytes));
            String::from_utf8_lossy(&bytes).contains("[y/N] ").then_some(())
        });
        terminal.seen = String::from_utf8(bytes).unwrap();
        terminal
    }

    /// Returns all that was seen, once it has ended.
    fn answer(self, answer: &str) -> String {
        let Terminal { mut script, mut keys, mut seen } = self;
        keys.write_all(format!("{answer}\r").as_bytes()).unwrap();
        script.stdout.take().unwrap().read_to_string(&mut seen).unwrap();
        script.wait().unwrap();
        seen
    }
}

/// Returns a home in which a daemon runs, and a project called shop.
fn running() -> (TestHome, PathBuf) {
    let home = home();
    home.json(&["daemon", "start"]);
    let root = home.folder("shop");
    home.json(&["project", "add", &root.display().to_string()]);
    (home, root)
}

/// Runs `cmux project trust shop`, sees that it did well, and returns what it printed.
#[track_caller]
fn trust(home: &TestHome, more: &[&str]) -> Value {
    home.json(&[&["project", "trust", "shop"], more].concat())
}

fn standings(trust: &Value) -> Vec<&str> {
    let files = trust["files"].as_array().unwrap();
    files.iter().map(|file| file["standing"].as_str().unwrap()).collect()
}

/// Returns the kinds of the events that tell of trust.
fn events(home: &TestHome) -> Vec<String> {
    let log = home.run(&["events", "--since", "0", "--json"]).stdout;
    let told = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kinds = told.map(|event| event["kind"].as_str().unwrap().to_owned());
    kinds.filter(|kind| kind.ends_with("trusted")).collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
