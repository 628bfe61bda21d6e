//! Projects: folders and names as the world has them.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use cmux_testkit::home::{Ran, TestHome};
use serde_json::{Value, json};

use crate::{home, refused};

#[test]
fn a_name_that_could_play_tricks_is_refused() {
    let home = running();
    let root = home.folder("shop").display().to_string();
    let long = "x".repeat(101);
    for (name, why) in [
        ("\u{1b}[31mred", "control character"),
        ("two\nlines", "control character"),
        ("a\rb", "control character"),
        ("a\tb", "control character"),
        ("\u{9b}31m", "control character"),
        ("\u{7f}", "control character"),
        ("", "1 to 100 characters"),
        ("   ", "1 to 100 characters"),
        (&long, "1 to 100 characters"),
    ] {
        let ran = home.run(&["project", "add", &root, "--name", name]);
        refused(&ran, 1, &[why]);
    }
    let config = Path::new(&root).join(".cmux/config.toml");
    fs::create_dir(config.parent().unwrap()).unwrap();
    fs::write(&config, r#"name = "\u001b[2J""#).unwrap();
    refused(&home.run(&["project", "add", &root]), 1, &["control character"]);
    assert_eq!(home.json(&["project", "list"])["projects"], json!([]));
}

#[test]
fn a_name_that_only_looks_dangerous_is_kept_as_it_is_and_shown_clean() {
    let home = running();
    let names = [
        "#{pane_pid}",
        "$(reboot)",
        "`reboot`",
        "it's \"quoted\"",
        "-rf",
        "日本語",
        "a;b|c&d",
        "%s%n",
        "\u{202e}dlog",
    ];
    for (number, name) in names.iter().enumerate() {
        let root = home.folder(&format!("p{number}")).display().to_string();
        let added = home.json(&["project", "add", &root, &format!("--name={name}")]);
        assert_eq!(added["name"], *name);
        let shown = home.run(&["project", "show", "--json", "--", name]);
        assert_eq!(value(&shown), added);
    }
    for command in [&["project", "list"][..], &["status"], &["events"]] {
        let shown = home.run(command).stdout;
        for name in names {
            let clean = name.replace('\u{202e}', "\u{fffd}");
            assert!(shown.contains(&clean), "{command:?} does not show {clean}: {shown}");
        }
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
    }
}

#[test]
fn a_folder_may_be_called_anything_that_can_be_written() {
    let home = running();
    let parent = home.folder("places");
    for name in ["with space", "quo'te\"s", "größe 日本", "-dash", "#{x};$(y)", "a\\b", "%41"] {
        let folder = parent.join(name);
        fs::create_dir(&folder).unwrap();
        let text = folder.display().to_string();
        let added = home.json(&["project", "add", &text]);
        assert_eq!((&added["root"], &added["name"]), (&json!(text), &json!(name)));
        assert_eq!(added, value(&within(&home, &folder, &["project", "add", "--json"])));
        assert_eq!(added, value(&within(&home, &folder, &["project", "show", "--json"])));
        assert_eq!(
            added,
            value(&within(&home, &parent, &["project", "show", "--json", "--", name]))
        );
    }
    let dashed = within(&home, &parent, &["project", "add", "--json", "--", "-dash"]);
    assert_eq!(value(&dashed)["name"], "-dash");
    let meant = within(&home, &parent, &["project", "add", "-dash"]);
    assert_eq!(meant.code, Some(2), "{meant:?}");
    assert!(meant.stderr.contains("'-- -d"), "{meant:?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let home = running();
    let parent = home.folder("places");
    for (name, why) in [(&b"new\nline"[..], "control character"), (b"not\xfftext", "not UTF-8")] {
        let folder = parent.join(OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        let ran = within(&home, &folder, &["project", "add"]);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
    }
    let file = parent.join("file");
    fs::write(&file, "").unwrap();
    refused(&home.run(&["project", "add", &file.display().to_string()]), 4, &["is not a folder"]);
}

#[test]
fn a_linked_worktree_belongs_to_its_main_repository() {
    let home = running();
    let parent = home.folder("repositories");
    git(&parent, &["init", "-q", "main"]);
    let main = parent.join("main");
    git(&main, &["commit", "-q", "--allow-empty", "-m", "one"]);
    git(&main, &["worktree", "add", "-q", "../linked"]);
    let added = value(&within(&home, &parent.join("linked"), &["project", "add", "--json"]));
    assert_eq!(added["root"], main.display().to_string());
    assert_eq!(
        added,
        value(&within(&home, &main, &["up", "--no-supervisor", "--json"]))["projects"][0]
    );
}

#[test]
fn two_folders_of_one_name_are_two_projects() {
    let home = running();
    let roots = ["a/src", "b/src"].map(|name| home.folder(name).display().to_string());
    let ids = roots.each_ref().map(|root| home.json(&["project", "add", root])["id"].clone());
    assert_ne!(ids[0], ids[1]);
    let both = ids.each_ref().map(|id| id.as_str().unwrap());
    refused(&home.run(&["project", "show", "src"]), 1, &[both[0], both[1], "by its id"]);
    for (id, root) in both.iter().zip(&roots) {
        assert_eq!(home.json(&["project", "show", id])["root"], *root);
    }
}

#[test]
fn a_project_is_added_once_and_forgotten_without_harm() {
    let home = running();
    let root = home.folder("shop");
    fs::write(root.join("precious"), "mine").unwrap();
    let text = root.display().to_string();
    let first = home.json(&["project", "add", &text, "--name", "Shop"]);
    assert_eq!(home.json(&["project", "add", &text]), first);
    let removed = home.run(&["project", "remove", "Shop"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(removed.stdout.contains("its files are untouched"), "{removed:?}");
    assert_eq!(fs::read_to_string(root.join("precious")).unwrap(), "mine");
    refused(&home.run(&["project", "remove", "Shop"]), 4, &["there is no project `Shop`"]);
}

#[test]
fn up_starts_everything_once_and_down_stops_it() {
    let home = home();
    let shop = home.folder("shop");
    fs::create_dir(shop.join(".git")).unwrap();
    fs::create_dir(shop.join("deep")).unwrap();
    let first = within(&home, &shop.join("deep"), &["up", "--no-supervisor"]);
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""), "{first:?}");
    let status = home.json(&["status"]);
    let address = format!("http://127.0.0.1:{}/", status["daemon"]["port"]);
    for told in ["ready", "next:", &shop.display().to_string(), &address] {
        assert!(first.stdout.contains(told), "{told} is not in {first:?}");
    }
    let second = value(&within(&home, &shop, &["up", "--no-supervisor", "--json"]));
    assert_eq!(second["supervisor"], Value::Null);
    assert_eq!(second["daemon"]["pid"], status["daemon"]["pid"]);
    assert_eq!(second["projects"], status["projects"]);

    let down = within(&home, &shop, &["down"]);
    assert_eq!((down.code, down.stderr.as_str()), (Some(0), ""), "{down:?}");
    assert!(down.stdout.contains("nothing to stop"), "{down:?}");
    assert!(down.stdout.contains("`cmux down --all`"), "{down:?}");
    assert_eq!(home.json(&["daemon", "status"])["pid"], status["daemon"]["pid"]);

    let down = within(&home, &shop, &["down", "--all"]);
    assert!(down.stdout.contains("has stopped"), "{down:?}");
    assert_eq!(home.run(&["daemon", "status"]).code, Some(3));
    let down = within(&home, &shop, &["down", "--all"]);
    assert_eq!((down.code, down.stdout.as_str()), (Some(0), "no daemon was running\n"));
}

/// Returns a home in which a daemon runs.
fn running() -> TestHome {
    let home = home();
    home.json(&["daemon", "start"]);
    home
}

/// Runs the program as a person in `folder` would.
fn within(home: &TestHome, folder: &Path, arguments: &[&str]) -> Ran {
    home.command(arguments).current_dir(folder).output().unwrap().into()
}

#[track_caller]
fn value(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn git(folder: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let mut git = Command::new("git");
    let done = git.current_dir(folder).args(who).args(arguments).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}
