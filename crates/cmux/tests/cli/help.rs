//! What the program says of itself: help, completions, and the nearest word to a wrong one.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::home;

#[test]
fn every_command_says_what_it_does_and_gives_something_to_go_by() {
    let all = all_help();
    for (command, help) in &all {
        let (does, rest) = help.split_once("\n\n").unwrap();
        assert!(does.len() > 8, "{command}: {does}");
        assert!(rest.starts_with("Usage: cmux"), "{command}: {rest}");
        assert!(rest.contains("--json") && rest.contains("--home"), "{command}: {rest}");
        let is_leaf = !rest.contains("\nCommands:\n");
        // The last option that each has; what follows was written for this one.
        let (_, after) = rest.split_once("      --home <DIR>").unwrap();
        let after: String = after.lines().skip(1).collect();
        assert!(after.len() > 20 || !is_leaf, "{command} gives nothing to go by: {help}");
        let longest = help.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= 100, "{command} has a line of {longest}");
    }
    for command in [
        "up",
        "open",
        "daemon run",
        "project add",
        "agent spawn",
        "agent why",
        "agent adopt",
        "send",
        "inbox",
        "reply",
        "report",
        "message cancel",
        "token create",
        "db restore",
        "audit verify",
        "completions",
    ] {
        assert!(all.contains_key(command), "{command} is missing from {:?}", all.keys());
    }
    assert!(!all.contains_key("guard"), "the guard is nobody's to start");
}

/// Returns what each command says of itself, by its name.
fn all_help() -> BTreeMap<String, String> {
    let home = home();
    let (mut all, mut waiting) = (BTreeMap::new(), vec![String::new()]);
    while let Some(command) = waiting.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let ran = home.run(&words);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command}: {ran:?}");
        let listed = ran.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty());
        let names = listed.filter_map(|line| line.split_whitespace().next());
        waiting
            .extend(names.filter(|name| *name != "help").map(|name| format!("{command} {name}")));
        all.insert(command.trim().to_owned(), ran.stdout);
    }
    all
}

#[test]
fn a_wrong_word_is_refused_with_the_one_that_was_meant() {
    for (arguments, meant) in [
        (&["statsu"][..], "'status'"),
        (&["daemon", "strat"], "'start'"),
        (&["project", "lsit"], "'list'"),
        (&["agent", "swapn"], "'spawn'"),
        (&["status", "--jsno"], "'--json'"),
        (&["events", "--folow"], "'--follow'"),
        (&["completions", "zhs"], "bash, elvish, fish, powershell, zsh"),
    ] {
        let ran = home().run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(meant), "{ran:?}");
    }
}

#[test]
fn wrong_usage_exits_2_and_says_what_is_right() {
    for (arguments, right) in [
        (&[][..], "Start here:"),
        (&["daemon"], "restart"),
        (&["project"], "remove"),
        (&["db", "backup"], "<FILE>"),
        (&["events", "-n", "0"], "1..=1000"),
        (&["events", "--since", "yesterday"], "--since <ID>"),
        (&["project", "remove"], "<PROJECT>"),
        (&["down", "everything"], "Usage:"),
        (&["token", "create"], "--scope <SCOPE>"),
        (&["token", "create", "--scope", "all"], "read, send, operate"),
        (&["token", "create", "--scope", "read", "--expires", "5y"], "30d"),
        (&["token", "revoke"], "<ID>"),
        (&["status", "--home", ""], "--home <DIR>"),
        (&["agent"], "spawn"),
        (&["agent", "spawn"], "<NAME>"),
        (&["agent", "spawn", "x", "--wait=0"], "1..=86400"),
        (&["agent", "spawn", "x", "--resume", "--kind", "demo"], "cannot be used with"),
        (&["agent", "list", "--all", "--project", "x"], "cannot be used with"),
        (&["agent", "output", "x", "-n", "0"], "1..=5000"),
        (&["agent", "output", "x", "-f", "-n", "5"], "cannot be used with"),
        (&["agent", "adopt", "work:1.2", "--name", "x", "--kind", "demo"], "named like %7"),
        (&["agent", "adopt", "%1", "--name", "x"], "--kind <KIND>"),
        (&["up", "--kind", "demo", "--no-supervisor"], "cannot be used with"),
        (&["send", "api"], "<TEXT>"),
        (&["send", "api", "x", "--kind", "shout"], "task, status, response"),
        (&["send", "api", "x", "--ttl", "soon"], "say it as 90s, 10m"),
        (&["send", "api", "x", "--wait=0"], "1..=86400"),
        (&["send", "api", "-x"], "-- -x"),
        (&["reply", "msg_1"], "<TEXT>"),
        (&["report", "finished", "x"], "done, blocked, status, question"),
        (&["message", "cancel"], "<ID>"),
        (&["inbox", "-n", "101"], "1..=100"),
    ] {
        let ran = home().run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(right), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn completions_are_scripts_that_each_shell_can_read() {
    let home = home();
    for (shell, word) in
        [("bash", "complete -F _cmux"), ("zsh", "#compdef cmux"), ("fish", "complete -c cmux")]
    {
        let ran = home.run(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
        for word in [word, "follow", "restart"] {
            assert!(ran.stdout.contains(word), "{shell} lacks {word}: {}", ran.stdout);
        }
        for hidden in ["--heartbeat-s", "--safe-mode"] {
            assert!(!ran.stdout.contains(hidden), "{shell} offers {hidden}");
        }
        let file = home.folder("completions").join(shell);
        fs::write(&file, &ran.stdout).unwrap();
        // A shell that is not here cannot be asked.
        if let Ok(read) = Command::new(shell).arg("-n").arg(&file).output() {
            assert!(read.status.success(), "{shell}: {read:?}");
        }
    }
}

#[test]
fn the_version_is_told() {
    let ran = home().run(&["--version"]);
    assert_eq!(ran.stdout, format!("cmux {}\n", env!("CARGO_PKG_VERSION")));
}
